"""The rotation in which people see orthonormal base filters.

``B W = (Q B)^T (Q W)`` for any rotation Q, and neither the l2 ball of the weights nor orthonormal
rows change under it: base filters are defined up to a rotation, and as they come they look like
noise even when much was learned. Shown are those for which the weights are sparse, so that each
base filter is nearly one of the composed filters that the samples use: an edge, a line, a blob.
"""

from __future__ import annotations

import numpy as np

from napari_scsc._types import Array

_ROUNDS = 30
_INERTIA = 0.01  # of the slope of the criterion
_MIN_DIVISOR = 1e-30
_MIN_POWER_RATIO = 1.25  # of a filter and the one before it, from which on they change places


def readable_rotation(weights: Array, moments: Array, start: Array | None = None) -> Array:
    """An orthogonal matrix Q (R, R): Q B is shown, with the weights Q W.

    Parameters
    ----------
    weights : ndarray, (R, K)
        The mean weights W.
    moments : ndarray, (R, R)
        Mean of Y Y^T over the samples: the more power a filter has, the nearer to the beginning.
    start : ndarray, (R, R), optional
        The rotation before the last sample. The new one is the nearest that suits, and filters
        change places only if one is clearly stronger, so that what is shown moves and does not
        jump.
    """
    rotation = _varimax(
        weights.astype(np.float64), np.eye(len(weights)) if start is None else start
    )
    powers = np.einsum("ir,rs,is->i", rotation, moments.astype(np.float64), rotation)
    if start is not None:
        return np.asarray(rotation[_settled_order(powers)])
    rotation = rotation[np.argsort(-powers, kind="stable")]
    signs = np.sign(((rotation @ weights) ** 3).sum(axis=1, keepdims=True))
    return np.asarray(rotation * np.where(signs == 0, 1, signs))


def _varimax(weights: Array, rotation: Array) -> Array:
    """Rounds of Kaiser's criterion: the variance of the squares in each row of Q W grows."""
    for _ in range(_ROUNDS):
        rotated = rotation @ weights
        squares = np.square(rotated).mean(axis=1, keepdims=True)
        slope = (rotated**3 - rotated * squares) @ weights.T
        # What the weights do not decide, for there are few of them or none, stays as it is.
        slope += (_INERTIA * np.linalg.norm(slope) + _MIN_DIVISOR) * rotation
        left, _, right = np.linalg.svd(slope)
        rotation = left @ right
    return rotation


def _settled_order(powers: Array) -> list[int]:
    """The order of filters: the last one, but for those that are clearly in the wrong place."""
    order: list[int] = []
    for i in range(len(powers)):
        place = len(order)
        while place and powers[i] > _MIN_POWER_RATIO * powers[order[place - 1]]:
            place -= 1
        order.insert(place, i)
    return order
