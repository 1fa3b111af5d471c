"""Arrays as pictures: RGB bytes that can be shown or saved anywhere."""

from __future__ import annotations

import math

import numpy as np

from napari_scsc._types import Array

# Blue, white and orange: told apart by everybody, and zero is white.
_NEGATIVE, _ZERO, _POSITIVE = (np.array(c) for c in ((5, 80, 160), (247, 247, 247), (200, 80, 0)))


def grey(image: Array, low: float | None = None, high: float | None = None) -> Array:
    """(y, x) -> (y, x, 3) uint8, from black at ``low`` to white at ``high``."""
    low = float(np.min(image)) if low is None else low
    high = float(np.max(image)) if high is None else high
    scaled = np.clip((image - low) / max(high - low, 1e-30), 0, 1)
    return np.repeat(np.rint(255 * scaled).astype(np.uint8)[..., None], 3, axis=-1)


def diverging(values: Array, limit: float | None = None) -> Array:
    """(y, x) -> (y, x, 3) uint8: blue below zero, white at zero, orange above."""
    limit = float(np.abs(values).max()) if limit is None else limit
    scaled = np.clip(values / max(limit, 1e-30), -1, 1)[..., None]
    end = np.where(scaled < 0, _NEGATIVE, _POSITIVE)
    return np.asarray(np.rint(_ZERO + np.abs(scaled) * (end - _ZERO)), np.uint8)


def mosaic(filters: Array, columns: int | None = None) -> Array:
    """(R, y, x) -> one RGB picture of all filters, each with its own scale, zero in white."""
    count, height, width = filters.shape
    columns = columns or math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    out = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1, 3), 90, np.uint8)
    for i, one in enumerate(filters):
        y, x = (i // columns) * (height + 1) + 1, (i % columns) * (width + 1) + 1
        out[y : y + height, x : x + width] = diverging(one)
    return out


def enlarge(picture: Array, factor: int) -> Array:
    """Repeat each pixel, so that small pictures can be seen."""
    return picture.repeat(factor, axis=0).repeat(factor, axis=1)
