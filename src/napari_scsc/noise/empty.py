"""Noise where there is nothing else: in a dark frame, or in an area that was marked as empty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import fft

from napari_scsc._types import Array
from napari_scsc.checks import check_float
from napari_scsc.errors import UserError
from napari_scsc.noise.correlation import N_LAGS
from napari_scsc.noise.model import FLOOR_SHARE, Noise, Rows, rounded_rows, rows_of

_MIN_PIXELS = 400  # that say how large the noise is within about 4 %
_MIN_CORRELATION = 0.05  # of neighbours, from which on noise is not white
_MIN_STANDARD_ERRORS = 4.0  # of a correlation, the same
_MIN_STRIPES = 2.0  # variance of the means of rows, beside that of white noise


@dataclass(frozen=True, slots=True)
class EmptyNoise:
    """The noise without light, in the units of the image.

    Attributes
    ----------
    black : float
        The mean value.
    sigma : float
        Standard deviation.
    lags, rows, columns
        See ``Noise``.
    """

    black: float
    sigma: float
    lags: Rows = ()
    rows: float = 0.0
    columns: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``from_json`` undoes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EmptyNoise:
        """What ``to_json`` wrote down."""
        return cls(
            black=check_float("black", values["black"]),
            sigma=check_float("sigma", values["sigma"], least=0),
            lags=rows_of(values["lags"]),
            rows=check_float("rows", values["rows"], least=0),
            columns=check_float("columns", values["columns"], least=0),
        )

    def as_noise(self) -> Noise:
        """Noise that is the same at all brightnesses."""
        return Noise(
            sigma=self.sigma,
            gain=0.0,
            offset=self.sigma**2,
            correlated=bool(self.lags or self.rows or self.columns),
            sure=True,
            remarks=(),
            lags=self.lags,
            rows=self.rows,
            columns=self.columns,
            mean=self.black,
        )

    def with_photons(self, found: Noise) -> Noise:
        """With the noise of photons, whose gain is read from the noise found in an image."""
        gain = 0.0
        light = found.mean - self.black
        extra = found.sigma**2 - self.sigma**2
        if light > 0 and extra > 0 and (found.depends_on_signal or extra > 0.2 * self.sigma**2):
            gain = extra / light
        if gain == 0:
            return self.as_noise()
        return Noise(
            sigma=found.sigma,
            gain=gain,
            offset=self.sigma**2 - gain * self.black,
            correlated=found.correlated,
            sure=found.sure,
            remarks=found.remarks,
            # Photons know nothing of each other: what is alike is as the image shows it.
            lags=found.lags,
            rows=found.rows,
            columns=found.columns,
            mean=found.mean,
            floor=FLOOR_SHARE * self.sigma,
        )


def measure_dark(frames: Any) -> EmptyNoise:
    """The noise of a dark frame (y, x), or of several (n, y, x)."""
    values = np.asarray(frames)
    if values.dtype.kind not in "fiu" or values.ndim not in (2, 3) or values.size < _MIN_PIXELS:
        raise UserError(
            f"must be a number, 'auto', 'white', 'correlated', a Noise, or a dark frame (y, x) or "
            f"(n, y, x) of at least {_MIN_PIXELS} pixels, but has the shape {values.shape} and the "
            f"type {values.dtype}",
            argument="noise",
        )
    if not np.isfinite(values).all():
        raise UserError("is a dark frame with NaN or infinite values", argument="noise")
    planes = values.astype(np.float64).reshape(-1, *values.shape[-2:])
    if len(planes) > 1:
        # What all frames share is no noise of a frame.
        planes = (planes - planes.mean(axis=0)) * math.sqrt(len(planes) / (len(planes) - 1))
        planes += values.mean(dtype=np.float64)
    return _measure(planes, np.ones(planes.shape, bool))


def measure_empty(planes: Array, empty: Array) -> EmptyNoise:
    """The noise of planes (n, y, x) where ``empty`` is True."""
    count = int(np.count_nonzero(empty))
    if count < _MIN_PIXELS:
        raise UserError(f"holds {count} pixels, and {_MIN_PIXELS} are needed", argument="empty")
    return _measure(planes.astype(np.float64), empty)


def _measure(planes: Array, empty: Array) -> EmptyNoise:
    black = float(planes[empty].mean())
    rest = np.where(empty, planes - black, 0.0)
    rest -= np.where(empty, _slope(rest, empty), 0.0)
    rows = _stripes(rest, empty)
    columns = _stripes(rest.swapaxes(1, 2), empty.swapaxes(1, 2))
    sigma = float(np.sqrt(np.mean(rest[empty] ** 2)))
    shape = [fft.next_fast_len(n + N_LAGS) for n in rest.shape[1:]]
    products, pairs = (
        fft.irfft2(np.abs(fft.rfft2(x, shape)) ** 2, shape).sum(axis=0)[:N_LAGS, :N_LAGS]
        for x in (rest, empty.astype(np.float64))
    )
    lags = products / np.maximum(pairs, 1)
    lags[0, :] -= rows**2
    lags[:, 0] -= columns**2
    lags /= lags[0, 0]
    error = 1 / math.sqrt(np.count_nonzero(empty))
    largest = max(abs(lags[0, 1]), abs(lags[1, 0]), abs(lags[1, 1]))
    is_white = largest < max(_MIN_CORRELATION, _MIN_STANDARD_ERRORS * error)
    return EmptyNoise(black, sigma, () if is_white else rounded_rows(lags), rows, columns)


def _slope(values: Array, empty: Array) -> Array:
    """The plane through all planes that fits best: background is hardly ever even."""
    y, x = (np.broadcast_to(a, values.shape) for a in np.ogrid[tuple(map(slice, values.shape))][1:])
    terms = np.stack([np.ones(np.count_nonzero(empty)), y[empty], x[empty]], axis=1)
    a, b, c = np.linalg.lstsq(terms, values[empty], rcond=None)[0]
    return np.asarray(a + b * y + c * x)


def _stripes(values: Array, empty: Array) -> float:
    """Level of the errors that rows share."""
    counts = empty.sum(axis=2)
    full = counts > values.shape[2] // 2
    if np.count_nonzero(full) < N_LAGS:
        return 0.0
    means = values.sum(axis=2)[full] / counts[full]
    white = float(np.mean(values[empty] ** 2)) / float(counts[full].mean())
    variance = float(np.mean(means**2)) - white
    return math.sqrt(variance) if variance > _MIN_STRIPES * white else 0.0
