"""Samples for learners, and arguments of a small one."""

from __future__ import annotations

import numpy as np

SMALL = {"n_base": 3, "n_filters": 6, "filter_shape": (3, 4), "max_iter": 12}


def images(n=4, shape=(14, 13), seed=0):
    """Smooth ramps with edges and a little noise: something to learn."""
    rng = np.random.default_rng(seed)
    steps = np.sign(rng.standard_normal((n, *shape))) * (rng.random((n, *shape)) < 0.1)
    for axis in range(1, len(shape) + 1):
        steps = np.cumsum(steps, axis=axis) / 2
    return steps + 0.1 * rng.standard_normal((n, *shape))
