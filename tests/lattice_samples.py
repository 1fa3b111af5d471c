"""Samples for ``LatticeSCSC``."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

SHAPES = [
    ((200,), 0, (9,)),
    ((3, 90), 1, (6,)),
    ((40, 36), 0, (5, 4)),
    ((3, 30, 32), 1, (4, 4)),
    ((2, 2, 24, 25), 2, (3, 3)),
    ((8, 20, 21), 0, (3, 4, 4)),
]


def pictures(n=4, shape=(40, 36), seed=0):
    """Smooth random pictures: something to learn."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, *shape))
    for axis in range(1, 1 + len(shape)):
        x = np.cumsum(x, axis=axis) / 3
    return (x / x.std()).astype(np.float32)


def flat(bank):
    return bank.filters.reshape(bank.n_base, -1).astype(np.float64)


def all_patches(x, n_joint, support):
    """Every patch of a sample, (n, C, prod(support)), without its means, in float64."""
    axes = tuple(range(n_joint, x.ndim))
    windows = sliding_window_view(x.astype(np.float64), support, axis=axes)
    windows = np.moveaxis(
        windows.reshape(-1, *windows.shape[n_joint:]) if n_joint else windows[None], 0, len(support)
    )
    patches = windows.reshape(-1, *windows.shape[len(support) : len(support) + 1], np.prod(support))
    return patches - patches.mean(axis=2, keepdims=True)
