"""Rough levels of the noise of many frames: which of them are alike, at next to no cost.

Content adds to a rough level as noise does. So it only sorts frames into classes; what noise a
class has is estimated as that of an image is.
"""

from __future__ import annotations

import math

import numpy as np

from napari_scsc._types import Array

_CLASS_RATIO = 1.25  # of the largest level of a class to its least
_MAX_CLASSES = 12


def rough_level(values: Array, known: Array) -> float:
    """Level of noise, and of fine content, in planes (..., y, x); NaN where nothing is known."""
    values = np.where(known, values, np.nan).astype(np.float64)
    if values.ndim < 2 or min(values.shape[-2:]) < 2:
        return math.nan
    steps = np.diff(np.diff(values, axis=-1), axis=-2) / 2
    steps = abs(steps[np.isfinite(steps)])
    return float(np.median(steps)) / 0.6745 if steps.size else math.nan


def classes_of(levels: Array) -> Array:
    """Number of the class of each of these levels (n,), all positive: of like ones; -1 for NaN."""
    is_known = np.isfinite(levels)
    numbers = np.full(len(levels), -1)
    if not is_known.any():
        return numbers
    logs = np.log(np.maximum(levels[is_known], 1e-12 * float(np.nanmax(levels)) or 1e-300))
    low, high = float(logs.min()), float(logs.max())
    count = min(_MAX_CLASSES, 1 + int((high - low) / math.log(_CLASS_RATIO)))
    width = (high - low) / count or 1.0
    numbers[is_known] = np.minimum((logs - low) / width, count - 1).astype(int)
    return numbers
