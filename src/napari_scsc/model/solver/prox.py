"""Proximal operators: soft threshold and projections of the columns of W onto their ball."""

from __future__ import annotations

from typing import Literal

import numpy as np

from napari_scsc._types import Array

Ball = Literal["l2", "l1"]


def soft_threshold(z: Array, threshold: float) -> Array:
    """Proximal operator of ``threshold * ||z||_1``."""
    return np.asarray(z - np.clip(z, -threshold, threshold))


def project_columns(w: Array, ball: Ball, radius: float) -> Array:
    """Nearest point of each column of ``w`` (R, K) in the ball of that radius."""
    return _project_l2(w, radius) if ball == "l2" else _project_l1(w, radius)


def _project_l2(w: Array, radius: float) -> Array:
    norm = np.sqrt(np.einsum("rk,rk->k", w, w))
    return np.asarray(w * (radius / np.maximum(norm, radius)).astype(w.dtype))


def _project_l1(w: Array, radius: float) -> Array:
    """Sort-based projection (Duchi et al. 2008), all columns at once."""
    magnitude = np.abs(w).astype(np.float64)  # the sums below cancel
    descending = -np.sort(-magnitude, axis=0)
    excess = np.cumsum(descending, axis=0) - radius
    rank = np.arange(1, len(w) + 1)[:, None]
    active = np.count_nonzero(descending * rank > excess, axis=0)
    threshold = np.take_along_axis(excess, active[None] - 1, axis=0)[0] / active
    inside = magnitude.sum(axis=0) <= radius
    shrunk = np.maximum(magnitude - np.where(inside, 0, threshold), 0)
    return np.asarray(np.sign(w) * shrunk, w.dtype)
