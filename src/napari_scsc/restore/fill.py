"""A first guess at missing values, from their neighbours along the axes that tell most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array, Region

_HELD_BACK = 0.05  # share of the known values that are guessed too, to learn how good guesses are
_ONE_SIDED = 0.1  # how much a guess from one neighbour counts beside one between two


@dataclass(frozen=True, slots=True)
class AxisErrors:
    """Mean square errors of guesses along each axis of a sample, and of all axes together."""

    along: tuple[float, ...]
    together: float

    @classmethod
    def of(cls, tiles: list[tuple[Array, Array]], seed: int = 0) -> AxisErrors:
        """Measure on tiles (values, known): guess some of the known values from the others."""
        n_axes = tiles[0][0].ndim
        squares = np.zeros(n_axes)
        counts = np.zeros(n_axes)
        tries = []
        for number, (values, known) in enumerate(tiles):
            chance = np.random.default_rng([seed, 3, number]).random(known.shape)
            held = known & (chance < _HELD_BACK)
            tries.append((values, known & ~held, held))
            for axis in range(n_axes):
                guess, trust = _along(values, known & ~held, axis)
                usable = held & (trust > 0)
                squares[axis] += np.sum((guess - values)[usable] ** 2, dtype=np.float64)
                counts[axis] += np.count_nonzero(usable)
        scale = max(float(np.mean([np.var(v[k]) for v, k in tiles if k.any()])), 1e-30)
        along = [s / c if c else scale for s, c in zip(squares, counts, strict=True)]
        floor = max(1e-8 * scale, 1e-30)  # no axis is trusted without limit
        errors = cls(tuple(max(a, floor) for a in along), 0.0)
        square = count = 0.0
        for values, known, held in tries:
            guess = first_fill(values, known, errors)
            square += float(np.sum((guess - values)[held] ** 2, dtype=np.float64))
            count += np.count_nonzero(held)
        return cls(errors.along, max(square / count if count else scale, floor))


def first_fill(values: Array, known: Array, errors: AxisErrors) -> Array:
    """Fill a sample (C, *shift) where it is not known.

    Linear interpolation along each axis; the axes that guess best, and the nearest neighbours,
    count most. What has no known neighbour on any axis is filled smoothly.
    """
    total = np.zeros(values.shape, np.float64)
    trust = np.zeros(values.shape, np.float64)
    for axis, error in enumerate(errors.along):
        if values.shape[axis] == 1:
            continue
        guess, own = _along(values, known, axis)
        total += guess * (own / error)
        trust += own / error
    reached = known | (trust > 0)
    filled = np.where(known, values, total / np.where(trust > 0, trust, 1)).astype(np.float32)
    return filled if reached.all() else smooth_fill(filled, reached)


def smooth_fill(values: Array, known: Array) -> Array:
    """Fill a sample (C, *shift) smoothly: from means over ever larger neighbourhoods."""
    return np.stack([_pull(v, k) for v, k in zip(values, known, strict=True)])


def distance_to_known(known: Array) -> Array:
    """How many points it is from each point of (C, *shift) to one that is known, (*shift,)."""
    unknown: Array = np.asarray(~known.any(axis=0))
    if unknown.all():
        return np.full(unknown.shape, max(unknown.shape))
    distances: Any = ndimage.distance_transform_cdt(unknown, metric="chessboard")
    return np.asarray(distances)


def surrounding_boxes(wanted: Array, around: tuple[int, ...]) -> Iterator[Region]:
    """Boxes that hold all that is wanted, (*shift,), with so many points around each.

    Cut where that leaves something out: boxes may share what lies around, and nothing wanted.
    """
    for core in _cut_boxes(wanted, tuple(slice(0, n) for n in wanted.shape), around):
        yield tuple(
            slice(max(0, s.start - a), min(n, s.stop + a))
            for s, a, n in zip(core, around, wanted.shape, strict=True)
        )


def _cut_boxes(wanted: Array, box: Region, around: tuple[int, ...]) -> Iterator[Region]:
    """The smallest boxes with all that is wanted, no two closer than what lies around both."""
    inside = wanted[box]
    for axis, margin in enumerate(around):
        others = tuple(i for i in range(wanted.ndim) if i != axis)
        places = np.flatnonzero(inside.any(axis=others))
        if not len(places):
            return
        gaps = np.flatnonzero(np.diff(places) > 2 * margin)
        firsts, lasts = places[[0, *(gaps + 1)]], places[[*gaps, -1]]
        cuts = [(int(first), int(last) + 1) for first, last in zip(firsts, lasts, strict=True)]
        if cuts != [(0, inside.shape[axis])]:
            start = box[axis].start
            for first, last in cuts:
                part = slice(start + first, start + last)
                yield from _cut_boxes(wanted, (*box[:axis], part, *box[axis + 1 :]), around)
            return
    yield box


def _along(values: Array, known: Array, axis: int) -> tuple[Array, Array]:
    """Interpolate along one axis; return the guesses, and how far each can be trusted."""
    v, k = np.moveaxis(values, axis, -1), np.moveaxis(known, axis, -1)
    n = v.shape[-1]
    here = np.arange(n)
    before = np.maximum.accumulate(np.where(k, here, -1), axis=-1)
    after = np.minimum.accumulate(np.where(k, here, n)[..., ::-1], axis=-1)[..., ::-1]
    has_before, has_after = before >= 0, after < n
    low = np.take_along_axis(v, np.maximum(before, 0), -1)
    high = np.take_along_axis(v, np.minimum(after, n - 1), -1)
    # At least 1, so that known points, which are not guessed, divide by no zero.
    to_before = np.maximum(here - before, 1)
    to_after = np.maximum(after - here, 1)
    between = has_before & has_after
    share = to_before / (to_before + to_after)
    nearest = np.where(has_before, low, high)
    guess = np.where(between, (1 - share) * low + share * high, nearest)
    distance = np.where(has_before, to_before, to_after).astype(np.float64)
    one_sided = np.where(has_before | has_after, _ONE_SIDED / distance**2, 0)
    trust = np.where(between, 1 / (to_before * to_after), one_sided)
    return np.moveaxis(guess, -1, axis), np.moveaxis(trust, -1, axis)


def _pull(values: Array, known: Array) -> Array:
    """Fill (*shift,) from a coarser copy of itself, down to where everything is known."""
    if known.all() or not known.any():
        return np.asarray(values, np.float32)
    pairs = [(0, n % 2) for n in values.shape]
    weights = np.pad(known.astype(np.float64), pairs)
    sums = np.pad(np.where(known, values, 0).astype(np.float64), pairs)
    for axis in range(values.ndim):
        weights, sums = (
            np.add.reduceat(a, np.arange(0, a.shape[axis], 2), axis=axis) for a in (weights, sums)
        )
    coarse = _pull(sums / np.where(weights > 0, weights, 1), weights > 0)
    # Coarse points lie between two fine ones: a quarter point beyond the first.
    places = [(np.arange(n) - 0.5) / 2 for n in values.shape]
    grid = np.meshgrid(*places, indexing="ij")
    fine = ndimage.map_coordinates(coarse, grid, order=1, mode="nearest")
    return np.where(known, values, fine).astype(np.float32)
