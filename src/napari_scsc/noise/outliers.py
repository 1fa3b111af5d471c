"""Hot, dead and cosmic-ray pixels: single ones that stand out of all pixels around them.

What a lens shows is never as sharp as one pixel: around a bright point, its neighbours are bright
too. A pixel that is far from all of its neighbours, which agree with each other, shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_scsc._types import Array
from napari_scsc.noise.model import Noise

SURE, LIKELY = 10.0, 6.0
"""Noise levels that a pixel is off, from which on it is certainly, or most likely, an outlier."""

SET_ASIDE = 30.0
"""Noise levels from which on an outlier that is kept stays as it is, and spoils nothing around."""

SURE_SHARE = 3e-4
"""Of all pixels: outliers of which an image certainly has some."""

_MIN_COUNT, _MIN_SHARE = 12, 1e-4  # of fewer no word is said
_MAX_SHARE = 5e-3  # of all pixels: of more it is a structure
_MAX_PIXELS = 1_000_000  # looked at, however large the data are
_MAX_SPREAD = 4.0  # noise levels that the neighbours are apart, or the share below
_MAX_SPREAD_SHARE = 0.25  # of how far the pixel is off
_LEAST_LEVEL = 0.3  # of the mean, of the noise of dark pixels
_AROUND = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]


def find_outliers(values: Array, sigma: Array | float, least: float) -> tuple[Array, Array]:
    """Where values (..., y, x) stand out by ``least`` noise levels, and these with what is around.

    ``sigma`` is the level of the noise, everywhere or at each value. The second array has the
    median of the pixels around in place of each value that stands out.
    """
    padded = np.pad(values, [(0, 0)] * (values.ndim - 2) + [(1, 1)] * 2, mode="reflect")
    rows, columns = values.shape[-2:]
    around = [padded[..., i : i + rows, j : j + columns] for i, j in _AROUND]
    # Only what is off from each of its nearest neighbours is looked at closely.
    above, left, right, below = (around[i] for i in (1, 3, 4, 6))
    far = (least - max(_MAX_SPREAD, _MAX_SPREAD_SHARE * least)) * sigma
    highest = np.maximum(np.maximum(above, below), np.maximum(left, right))
    lowest = np.minimum(np.minimum(above, below), np.minimum(left, right))
    is_likely = (values > highest + far) | (values < lowest - far)
    ordered = np.sort([one[is_likely] for one in around], axis=0)
    middle = ordered[len(ordered) // 2]
    off = np.abs(values[is_likely] - middle)
    level = np.broadcast_to(sigma, values.shape)[is_likely]
    spread = np.maximum(ordered[-1] - middle, middle - ordered[0])
    is_off = off > least * level
    is_off &= spread < np.maximum(_MAX_SPREAD * level, _MAX_SPREAD_SHARE * off)
    found = is_likely.copy()
    found[is_likely] = is_off
    filled = values.copy()
    filled[found] = middle[is_off]
    return found, filled


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
