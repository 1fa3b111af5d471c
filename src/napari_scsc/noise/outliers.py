"""Hot, dead and cosmic-ray pixels: single ones that stand out of all pixels around them.

What a lens shows is never as sharp as one pixel: around a bright point, its neighbours are bright
too. A pixel that is far from all of its neighbours, which agree with each other, shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.noise.model import Noise

SURE, LIKELY = 10.0, 6.0
"""Noise levels that a pixel is off, from which on it is certainly, or most likely, an outlier."""

SURE_SHARE = 3e-4
"""Of all pixels: outliers of which an image certainly has some."""

_MIN_COUNT, _MIN_SHARE = 12, 1e-4  # of fewer no word is said
_MAX_SHARE = 5e-3  # of all pixels: of more it is a structure
_MAX_PIXELS = 1_000_000  # looked at, however large the data are
_MAX_SPREAD = 4.0  # noise levels that the neighbours are apart, or the share below
_MAX_SPREAD_SHARE = 0.25  # of how far the pixel is off
_LEAST_LEVEL = 0.3  # of the mean, of the noise of dark pixels
_AROUND = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], bool)


def find_outliers(values: Array, sigma: Array | float, least: float) -> tuple[Array, Array]:
    """Where values (..., y, x) stand out by ``least`` noise levels, and what is around each.

    ``sigma`` is the level of the noise, everywhere or at each value.
    """
    around = _AROUND.reshape((1,) * (values.ndim - 2) + _AROUND.shape)
    middle = ndimage.median_filter(values, footprint=around, mode="mirror")
    off = np.abs(values - middle)
    found = off > least * sigma
    if found.any():
        highest = ndimage.maximum_filter(values, footprint=around, mode="mirror")
        lowest = ndimage.minimum_filter(values, footprint=around, mode="mirror")
        spread = np.maximum(highest - middle, middle - lowest)
        found &= spread < np.maximum(_MAX_SPREAD * sigma, _MAX_SPREAD_SHARE * off)
    return found, middle


def outlier_share(planes: Sequence[tuple[Array, Array]], noise: Noise) -> float:
    """Share of the pixels of planes (values, known) that are certainly outliers.

    0 where there are too few to mean anything, or so many that it cannot be.
    """
    count = total = 0
    for plane, mask in planes:
        if plane.ndim < 2 or min(plane.shape) < 3 or not mask.all() or total > _MAX_PIXELS:
            continue
        level = np.sqrt(np.maximum(noise.variance(plane), (_LEAST_LEVEL * noise.sigma) ** 2))
        count += int(np.count_nonzero(find_outliers(plane, level, SURE)[0]))
        total += plane.size
    share = count / max(total, 1)
    is_meant = count >= _MIN_COUNT and _MIN_SHARE <= share <= _MAX_SHARE
    return share if is_meant else 0.0


def without_outliers(values: Array, sigma: float, least: float) -> Array:
    """Values (C, ..., y, x), those that stand out replaced by the median of what is around."""
    found, middle = find_outliers(values, sigma, least)
    return np.where(found, middle, values) if found.any() else values
