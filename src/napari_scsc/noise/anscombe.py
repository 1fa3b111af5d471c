"""Photon noise made even: the generalised Anscombe transform and its exact unbiased inverse.

Values are ``gain * photons`` plus read noise and a pedestal, so that the variance of the noise is
``gain * value + offset``. In units of photons, with y = (value - pedestal) / gain, that is a
Poisson variable plus normal noise of variance s^2, and f(y) = 2 sqrt(y + 3/8 + s^2) has a standard
deviation of nearly 1. As f is curved, the mean of f(y) is not f of the mean; the inverse undoes the
mean of f (Mäkitalo and Foi 2013), so that smoothing between the two brings in no bias.

Below the least variance, f goes on as its tangent: values that are darker than the law of the noise
allows for are kept apart, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from napari_scsc._types import Array
from napari_scsc.checks import check_float

_MIN_SERIES_VARIANCE = 60.0  # in photons: from there on the series is exact enough
_N_KNOTS = 600  # of the table below it


@dataclass(frozen=True, slots=True)
class Anscombe:
    """The transform for noise of the variance ``gain * value + offset``.

    A positive offset is taken for the variance of the read noise, a negative one for a pedestal
    that shifts the values, without read noise. Darker values than those where the variance is
    ``least`` have noise as there.

    Attributes
    ----------
    gain : float
        Above 0: what one photon adds to the value.
    offset : float
        Variance of the noise at the value 0.
    least : float
        Variance that the noise has at least.
    """

    gain: float
    offset: float
    least: float = 0.0

    def __post_init__(self) -> None:
        check_float("gain", self.gain, above=0)
        check_float("offset", self.offset)
        check_float("least", self.least, least=0)

    def forward(self, values: Array) -> Array:
        """Stabilise: the noise of the result has a standard deviation of about 1."""
        values = np.asarray(values)
        variance = values.astype(np.float64) / self.gain + self.offset / self.gain**2
        return np.asarray(_stabilise(variance, self._least), _float_type(values))

    def inverse(self, stabilised: Array) -> Array:
        """Undo ``forward`` without bias, for stabilised values whose noise was averaged away."""
        stabilised = np.asarray(stabilised)
        read = max(self.offset, 0.0) / self.gain**2
        variance = _variance_of_mean(stabilised.astype(np.float64), read, self._least)
        return np.asarray(self.gain * variance - self.offset / self.gain, _float_type(stabilised))

    def inverse_slope(self, stabilised: Array) -> Array:
        """How much ``inverse`` grows with the stabilised values; f^-1 has the slope gain f / 2.

        Between its table and its series, and below both, the exact inverse has kinks: this is the
        slope of the plain one, but no less than where the noise is least.
        """
        return np.asarray(
            self.gain * np.maximum(stabilised, 2 * math.sqrt(self._least + 3 / 8)) / 2
        )

    @property
    def _least(self) -> float:
        """The least variance in photons."""
        return self.least / self.gain**2


def _stabilise(variance: Array, least: float) -> Array:
    """f at values whose noise has that variance, in photons; its tangent below the least."""
    root = math.sqrt(least + 3 / 8)
    curve = 2 * np.sqrt(np.maximum(variance, least) + 3 / 8)
    return np.asarray(np.where(variance < least, 2 * root + (variance - least) / root, curve))


def _float_type(array: Array) -> Any:
    return array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)


def _variance_of_mean(means: Array, read: float, least: float) -> Array:
    """The variance, in photons, at which the stabilised values have these means.

    ``read`` is the part of it that is read noise, the rest photons. For large variances
    mean^2 / 4 is the variance plus 1/8 plus a small rest, which is taken at the first guess; for
    small ones a table tells, and below the least one a line.
    """
    variances, table = _tabulate_means(read, min(least, _MIN_SERIES_VARIANCE))
    from_table = np.interp(means, table, variances)
    guess = np.maximum(means**2 / 4 - 1 / 8, _MIN_SERIES_VARIANCE / 2)
    rest = _mean_by_series(guess, read) ** 2 / 4 - guess
    series = np.maximum(means**2 / 4 - rest, _MIN_SERIES_VARIANCE)
    found = np.where(means < table[-1], from_table, series)
    if least < _MIN_SERIES_VARIANCE:
        start = float(np.interp(least, variances, table))
    else:
        start = float(_mean_by_series(np.array(least), read))
    line = least + (means - start) * math.sqrt(least + 3 / 8)
    return np.where(means < start, line, found)


def _mean_by_series(variance: Array, read: float) -> Array:
    """Mean of the stabilised values, to the fourth moment of the noise: for large variances."""
    third = np.maximum(variance - read, 0)
    fourth = 3 * variance**2 + third
    x = variance + 3 / 8
    series = 1 - variance / (8 * x**2) + third / (16 * x**3) - 5 * fourth / (128 * x**4)
    return np.asarray(2 * np.sqrt(x) * series)


@lru_cache(maxsize=16)
def _tabulate_means(read: float, least: float) -> tuple[Array, Array]:
    """Variances up to ``_MIN_SERIES_VARIANCE``, and the means of the stabilised values there.

    Where the variance is below that of the read noise, as in values below a pedestal that is not
    known, it is all normal noise.
    """
    variances = _MIN_SERIES_VARIANCE * np.linspace(0, 1, _N_KNOTS) ** 2
    photons = np.maximum(variances - read, 0)
    nodes = np.linspace(-8, 8, 2001)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()

    def stabilised(centre: Array, deviation: Array) -> Array:
        return np.asarray(_stabilise(centre[:, None] + deviation[:, None] * nodes, least) @ weights)

    means = stabilised(variances, np.sqrt(variances))
    if read < _MIN_SERIES_VARIANCE:
        counts = np.arange(int(_MIN_SERIES_VARIANCE + 12 * math.sqrt(_MIN_SERIES_VARIANCE)))
        lit = photons > 0
        lights = photons[lit, None]
        chances = np.exp(counts * np.log(lights) - lights - special.gammaln(counts + 1))
        of_count = stabilised(counts + read, np.full(len(counts), math.sqrt(read)))
        means[lit] = chances @ of_count
    return variances, np.maximum.accumulate(means)
