"""Sample data made on the spot: no download, the same in every place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[Any]


def tissue(shape: tuple[int, int] = (256, 256), seed: int = 0) -> Array:
    """A picture of cells: textured nuclei between filaments, float32 in [0, 1]."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    picture = 0.08 + 0.05 * _clouds(shape, 40, rng)
    for _ in range(max(1, shape[0] * shape[1] // 2500)):
        picture = np.maximum(picture, _filament(rows, columns, rng))
    for _ in range(max(1, shape[0] * shape[1] // 6000)):
        cell, inside = _nucleus(rows, columns, rng)
        texture = 0.75 + 0.25 * np.sin(_clouds(shape, 3, rng) * 3)
        picture = np.where(inside, cell * texture, picture)
    blurred = ndimage.gaussian_filter(picture, 0.8)
    return np.clip(blurred, 0, 1).astype(np.float32)


def _clouds(shape: tuple[int, ...], size: float, rng: np.random.Generator) -> Array:
    """Smooth noise of about unit variance."""
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), size, mode="wrap")
    return np.asarray(noise / noise.std())


def _filament(rows: Array, columns: Array, rng: np.random.Generator) -> Array:
    """A thin, slightly wavy line across the picture."""
    angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    y, x = rng.uniform(0, rows.shape[0]), rng.uniform(0, rows.shape[1])
    along = (rows - y) * np.sin(angle) + (columns - x) * np.cos(angle)
    across = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    across = across + rng.uniform(1, 4) * np.sin(along / rng.uniform(10, 30) + phase)
    length = rng.uniform(20, 70)
    profile = np.exp(-((across / 0.9) ** 2)) * (np.abs(along) < length)
    return np.asarray(rng.uniform(0.25, 0.6) * profile)


def _nucleus(rows: Array, columns: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A bright ellipse with a sharp rim."""
    angle = rng.uniform(0, np.pi)
    y, x = rng.uniform(0, rows.shape[0]), rng.uniform(0, rows.shape[1])
    a, b = rng.uniform(8, 18), rng.uniform(6, 12)
    u = (rows - y) * np.sin(angle) + (columns - x) * np.cos(angle)
    v = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    radius = np.sqrt((u / a) ** 2 + (v / b) ** 2)
    level = rng.uniform(0.4, 0.8) * (1 - 0.3 * radius**2)
    return np.asarray(level), np.asarray(radius < 1)
