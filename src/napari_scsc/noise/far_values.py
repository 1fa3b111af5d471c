"""Values so far beyond all others that they would hide them: a hot pixel of 1e9."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.scaling import ValueRange

_MAX_VALUES = 1 << 16  # of each joint value of a tile, that are looked at
_MAX_SHARE, _MIN_COUNT = 1e-4, 4  # of them, and how many at least, may be far on either side
_FAR, _NEAR = 1e3, 10.0  # widths of the others: what is far, and where the limits are put


def far_limits(tiles: Sequence[tuple[Array, Array]], whole: ValueRange) -> tuple[float, ...]:
    """Least and largest value without those far beyond all others; () if there are none such.

    ``tiles`` holds values (C, *shift) and where they are known, ``whole`` is the range of all.
    """
    low, high = np.inf, -np.inf
    for values, known in tiles:
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            return ()  # no float holds their limits
        for one, mask in zip(values, known, strict=True):
            some = one[mask & np.isfinite(one)]
            some = some[:: -(-some.size // _MAX_VALUES) or 1]
            count = max(_MIN_COUNT, int(_MAX_SHARE * some.size))
            if some.size > 10 * count:
                ordered = np.partition(some, (count, some.size - 1 - count))
                low = min(low, float(ordered[count]))
                high = max(high, float(ordered[-1 - count]))
    width = high - low
    is_needed = whole.high > high + _FAR * width or whole.low < low - _FAR * width
    if not (0 < width < np.inf and is_needed):
        return ()
    return low - _NEAR * width, high + _NEAR * width


def without_far(
    tiles: Sequence[tuple[Array, Array]], limits: tuple[float, ...]
) -> list[tuple[Array, Array]]:
    """The tiles with the median of each joint value in place of what lies beyond the limits."""
    found = []
    for values, known in tiles:
        is_far = (values < limits[0]) | (values > limits[1])
        if is_far.any():
            axes = tuple(range(1, values.ndim))
            middle = np.median(values, axis=axes, keepdims=True).astype(values.dtype)
            values = np.where(is_far, middle, values)
        found.append((values, known))
    return found
