"""Stripes: errors that all pixels of a row, or of a column, share.

The medians of the differences of neighbouring rows hardly feel what the image shows, unless most of
a row changes at once. Errors of rows make them jump to and fro, content makes them drift.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from napari_scsc._types import Array

_MIN_ROWS = 24  # that tell an error of rows from content
_MIN_WIDTH = 16  # pixels of a row that have a median
_MIN_RATIO = 4.0  # of the variance of the errors, to that of a median of white noise
_MIN_LEVEL = 0.12  # of the errors, beside white noise: fainter ones are not seen
_MAX_TAILS = 6.0  # fourth moment over the square of the second: lines that were drawn have more
_MAX_JUMP = 2.5  # levels that the difference of two errors may have
_DRIFT = 0.1  # of the content from row to row, in levels of the errors
_ROUNDS = 10


def stripe_level(planes: list[Array], measured: list[Array], sigma: float) -> float:
    """Level of the errors that rows of planes share, beside white noise ``sigma``; 0 if none is."""
    errors, variances, ratios = [], [], []
    for plane, mask in zip(planes, measured, strict=True):
        if plane.shape[0] < _MIN_ROWS or plane.shape[1] < _MIN_WIDTH or not mask.all():
            continue
        jumps = np.median(np.diff(plane, axis=0), axis=1).astype(np.float64)
        spread = 1.4826 * float(np.median(abs(jumps - np.median(jumps))))
        jumps = np.clip(jumps, -3 * spread, 3 * spread)
        # Of errors that know nothing of each other; what drifts has a positive one.
        variances.append(-float(np.mean(jumps[1:] * jumps[:-1])))
        ratios.append(_median_variance(sigma, plane.shape[1]))
        errors.append(np.diff(jumps))
    if not variances:
        return 0.0
    variance = float(np.mean(variances)) - float(np.mean(ratios))
    if variance < max(_MIN_RATIO * float(np.mean(ratios)), (_MIN_LEVEL * sigma) ** 2):
        return 0.0
    pooled = np.concatenate(errors)
    tails = float(np.mean(pooled**4) / np.mean(pooled**2) ** 2)
    return math.sqrt(variance) if tails < _MAX_TAILS else 0.0


def row_errors(plane: Array, sigma: float, level: float) -> Array:
    """The errors (rows, 1) that the rows of a plane share.

    They have the standard deviation ``level`` beside white noise ``sigma``. Differences that are
    too large for them are content, and count little.
    """
    n_rows = len(plane)
    if n_rows < 2:
        return np.zeros((n_rows, 1), plane.dtype)
    jumps = np.median(np.diff(plane, axis=0), axis=1).astype(np.float64)
    variance = 2 * _median_variance(sigma, plane.shape[1]) + (_DRIFT * level) ** 2
    doubt = 1 + (jumps / (_MAX_JUMP * math.sqrt(2) * level)) ** 4
    trust = 1 / doubt
    errors = np.zeros(n_rows)
    for _ in range(_ROUNDS):
        # Least squares for jumps and errors: a matrix of three diagonals.
        weights = trust / variance
        diagonals = np.zeros((2, n_rows))
        diagonals[0, 1:] = -weights
        diagonals[1] = 1 / level**2 + np.append(weights, 0) + np.insert(weights, 0, 0)
        pull = weights * jumps
        errors = linalg.solveh_banded(diagonals, np.insert(pull, 0, 0) - np.append(pull, 0))
        rest = jumps - np.diff(errors)
        trust = 1 / (doubt * (1 + rest**2 / (4 * variance)))
    return errors[:, None].astype(plane.dtype)


def _median_variance(sigma: float, count: int) -> float:
    """Variance of the median of so many normal values."""
    return math.pi / 2 * sigma**2 / count
