"""Noise that pixels share, made for tests: of level 1."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blurred(shape, width=0.7, seed=0, axes=None):
    """White noise after a Gaussian blur."""
    widths = [width if axes is None or i in axes else 0 for i in range(len(shape))]
    noise = ndimage.gaussian_filter(white(shape, seed), widths, mode="wrap")
    return (noise / noise.std()).astype(np.float32)


def blurred_lags(width, n):
    """Correlations of that noise along an axis."""
    point = np.zeros(65)
    point[32] = 1
    kernel = ndimage.gaussian_filter1d(point, width)
    lags = np.correlate(kernel, kernel, "full")[64 : 64 + n]
    return lags / lags[0]


def striped(shape, level, seed=0):
    """White noise, and an error of that level that each row has."""
    rows = np.random.default_rng(seed + 1).standard_normal((*shape[:-1], 1))
    return (white(shape, seed) + level * rows).astype(np.float32)


def psnr(clean, result):
    return float(-10 * np.log10(np.mean((np.asarray(clean, float) - result) ** 2)))
