"""Planes of an image made ready to look for noise: in common units, without clipped pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.errors import UserError
from napari_scsc.noise.stripes import row_errors

_MAX_PIXELS = 3_000_000  # looked at, however large the data are
_PIECE_SIDE = 512  # pixels along a side of the pieces that are looked at of larger data
_CROWD_SIDE, _MAX_CLIPPED_SHARE = 25, 0.02  # pixels along a window, and the share clipped in it
_MIN_CLIPPED, _MIN_PILED_SHARE = 10.0, 5e-4  # pixels, and the share, that a pile at a limit has


class PlaneValues(NamedTuple):
    """Planes in units of their own spread, about zero, with what is known of their values."""

    planes: list[Array]
    measured: list[Array]
    usable: list[Array]  # measured, and with hardly any clipped pixel around
    centre: float  # the mean
    spread: float  # the standard deviation
    step: float  # between two values of quantised data, in their own units; 0 for continuous ones
    is_binary: bool  # no more than two values
    clipped: float  # share of the measured pixels

    def without_stripes(self, sigma: float, rows: float, columns: float) -> PlaneValues:
        """The same without errors of these levels that rows, and columns, share.

        ``sigma`` is the level of the other noise, in spreads as these are.
        """
        planes = self.planes
        if rows:
            planes = [plane - row_errors(plane, sigma, rows) for plane in planes]
        if columns:
            planes = [plane - row_errors(plane.T, sigma, columns).T for plane in planes]
        return self._replace(planes=planes)


def prepare_planes(
    planes: Sequence[Array], known: Sequence[Array] | None = None
) -> PlaneValues | None:
    """Make planes ready; None if all measured pixels have the same value.

    See ``estimate_from_planes`` for what they are.
    """
    arrays, given = _check_planes(planes, known)
    pieces = _choose_pieces([array.shape for array in arrays])
    masks = [
        np.isfinite(arrays[number][window])
        & (True if (mask := given[number]) is None else mask[window].astype(bool))
        for number, window in pieces
    ]
    arrays = [arrays[number][window] for number, window in pieces]
    measured = np.concatenate([a[m] for a, m in zip(arrays, masks, strict=True)])
    if measured.size == 0:
        raise UserError("is False everywhere: nothing was measured", argument="known")
    measured = measured.astype(np.float64)
    centre, spread = float(measured.mean()), float(measured.std())
    if measured.max() == measured.min() or spread == 0:
        return None
    step, n_levels, low, high = _find_quantisation(measured)
    usable, n_clipped = [], 0
    for array, mask in zip(arrays, masks, strict=True):
        at_limit = mask & ((array <= low) | (array >= high))
        count = int(np.count_nonzero(at_limit))
        n_clipped += count
        if count:
            # Patches are dropped by the clipped pixels around them, not by their own: dropping
            # those that the noise pushes to the limit would keep the others, where it is weak.
            crowd = ndimage.uniform_filter(at_limit.astype(np.float32), _CROWD_SIDE, mode="nearest")
            mask = mask & (crowd < _MAX_CLIPPED_SHARE)
        usable.append(mask)
    scaled = [
        np.where(mask, (array - centre) / spread, 0).astype(np.float32)
        for array, mask in zip(arrays, masks, strict=True)
    ]
    share = n_clipped / measured.size
    return PlaneValues(scaled, masks, usable, centre, spread, step, n_levels <= 2, share)


def _check_planes(
    planes: Sequence[Array], known: Sequence[Array] | None
) -> tuple[list[Array], list[Array | None]]:
    """The planes with two axes each, and their masks, if they fit."""
    arrays = [np.atleast_2d(np.asarray(plane)) for plane in planes]
    if not arrays:
        raise UserError("must hold at least one plane, but is empty", argument="planes")
    for array in arrays:
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise UserError(
                "must hold arrays of real numbers with one or two axes, but one has the "
                f"shape {array.shape} and the type {array.dtype}",
                argument="planes",
            )
    masks: list[Array | None] = [None] * len(arrays)
    if known is not None:
        masks = [np.atleast_2d(mask) for mask in known]
    if len(masks) != len(arrays):
        raise UserError(f"holds {len(masks)} arrays, but planes {len(arrays)}", argument="known")
    for array, mask in zip(arrays, masks, strict=True):
        if mask is not None and mask.shape != array.shape:
            raise UserError(
                f"holds an array of the shape {mask.shape}, but its plane has {array.shape}",
                argument="known",
            )
    return arrays, masks


def _choose_pieces(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[slice, slice]]]:
    """Parts of the planes to look at: all, or as many as the limit allows, spread evenly."""
    pieces = [
        (number, (slice(row, row + _PIECE_SIDE), slice(column, column + _PIECE_SIDE)))
        for number, (rows, columns) in enumerate(shapes)
        for row in range(0, rows, _PIECE_SIDE)
        for column in range(0, columns, _PIECE_SIDE)
    ]
    total = sum(rows * columns for rows, columns in shapes)
    if total <= _MAX_PIXELS:
        return [(number, (slice(None), slice(None))) for number in range(len(shapes))]
    order = np.random.default_rng(0).permutation(len(pieces))
    return [pieces[i] for i in np.sort(order[: math.ceil(len(pieces) * _MAX_PIXELS / total)])]


def _find_quantisation(measured: Array) -> tuple[float, int, float, float]:
    """The step between values (0: continuous), their number, and limits where they pile up.

    Where they do not, the limit is infinite.

    Values pile up at a limit if there are far more of them than at each of the next three levels,
    and these do not thin out quickly: few photons give many zeros, but then fewer ones and twos.
    """
    ordered = np.sort(measured)
    levels, counts = np.unique(ordered, return_counts=True)
    least = max(_MIN_CLIPPED, _MIN_PILED_SHARE * measured.size)
    step = float(np.diff(levels).min()) if len(levels) * 4 < measured.size else 0.0
    limits = []
    for sign, levels_in, counts_in in ((-1, levels, counts), (1, levels[::-1], counts[::-1])):
        piled = counts_in[0] >= least
        if step:
            away = np.round(abs(levels_in[:8] - levels_in[0]) / step)
            near = [int(counts_in[:8][away == k].sum()) for k in (1, 2, 3)]
            piled = piled and counts_in[0] > 3 * max(near) and near[0] <= 2 * max(near[1:])
        limits.append(float(levels_in[0]) if piled else sign * math.inf)
    return step, len(levels), limits[0], limits[1]


def guess_sigma(values: PlaneValues) -> float:
    """Sigma from the differences of neighbours, for want of anything better."""
    jumps = [
        abs(np.diff(plane, axis=axis)[np.diff(mask.astype(int), axis=axis) == 0])
        for plane, mask in zip(values.planes, values.usable, strict=True)
        for axis in (0, 1)
    ]
    pooled = np.concatenate(jumps)
    if not pooled.size:
        return 0.0
    return float(np.median(pooled)) / (0.6745 * math.sqrt(2)) * values.spread
