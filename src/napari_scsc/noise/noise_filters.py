"""The base filters of a noise: the directions of a patch in which it is strongest."""

from __future__ import annotations

import numpy as np

from napari_scsc._types import Array
from napari_scsc.noise.correlation import N_LAGS
from napari_scsc.noise.model import Noise

_NEGLIGIBLE = 1e-3  # difference of powers, below which noise is white


def noise_covariance(noise: Noise) -> Array:
    """Covariance of the noise over a patch, (N_LAGS ** 2, N_LAGS ** 2), relative to its variance.

    It is symmetric and has no negative power, as found correlations may.
    """
    row, column = np.divmod(np.arange(N_LAGS**2), N_LAGS)
    down, right = abs(row[:, None] - row), abs(column[:, None] - column)
    level = noise.sigma or 1.0
    rows, columns, frames = (
        (part / level) ** 2 for part in (noise.rows, noise.columns, noise.frames)
    )
    lags = np.array(noise.lags) if noise.lags else np.eye(1, N_LAGS**2).reshape(N_LAGS, N_LAGS)
    found = max(0.0, 1 - rows - columns - frames) * lags[down, right]
    found = found + rows * (down == 0) + columns * (right == 0)
    found = found + frames * ((down == 0) & (right == 0))
    powers, vectors = np.linalg.eigh(found)
    return np.asarray((vectors * np.maximum(powers, 0)) @ vectors.T)


def noise_filters(noise: Noise, count: int) -> tuple[Array, Array]:
    """The strongest directions (n, N_LAGS, N_LAGS) and their powers (n,), 1 for white noise.

    None for white noise, in which all directions are alike.
    """
    powers, vectors = np.linalg.eigh(noise_covariance(noise))
    if np.ptp(powers) < _NEGLIGIBLE:
        return np.zeros((0, N_LAGS, N_LAGS)), np.zeros(0)
    strongest = vectors[:, ::-1].T[:count].reshape(-1, N_LAGS, N_LAGS)
    return strongest, powers[::-1][:count]


def noise_spectrum(noise: Noise, count: int) -> tuple[Array, Array]:
    """Power along both axes at ``count`` frequencies from 0 to that of every other pixel."""
    covariance = noise_covariance(noise).reshape((N_LAGS,) * 4)
    lags = covariance[0, 0]
    frequency = np.pi * np.arange(count) / max(count - 1, 1)
    cosines = np.cos(np.outer(frequency, np.arange(N_LAGS))) * np.where(np.arange(N_LAGS), 2, 1)
    sums = np.where(np.arange(N_LAGS), 2, 1)
    return np.maximum(cosines @ lags @ sums, 0), np.maximum(cosines @ lags.T @ sums, 0)
