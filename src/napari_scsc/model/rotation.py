"""The rotation in which people see orthonormal base filters.

``B W = (Q B)^T (Q W)`` for any rotation Q, and neither the l2 ball of the weights nor orthonormal
rows change under it: base filters are defined up to a rotation, and as they come they look like
noise even when much was learned. Shown are those for which the weights are sparse, so that each
base filter is nearly one of the composed filters that the samples use: an edge, a line, a blob.
"""

from __future__ import annotations

import numpy as np

from napari_scsc._types import Array

_ROUNDS = 30  # the first time
_FURTHER_ROUNDS = 3  # after each further sample: the filters turn slowly
_INERTIA = 0.01  # of the slope of the criterion
_MIN_DIVISOR = 1e-30
_MIN_POWER_RATIO = 2.0  # of a filter and the one before it, from which on they change places


def readable_rotation(
    weights: Array, moments: Array, filters: Array, shown: Array | None = None
) -> Array:
    """An orthogonal matrix Q (R, R): Q B is shown, with the weights Q W.

    Parameters
    ----------
    weights : ndarray, (R, K)
        The mean weights W, each column by its use.
    moments : ndarray, (R, R)
        Mean of Y Y^T over the samples: the more power a filter has, the nearer to the beginning.
    filters : ndarray, (R, *joint, *support)
        The base filters B.
    shown : ndarray, (R, *joint, *support), optional
        What was shown before the last sample. The new rotation begins where Q B is nearest to it,
        and filters change places only if one is clearly stronger, so that what is shown moves and
        does not jump.
    """
    weights = weights.astype(np.float64)
    if shown is None:
        rotation = _varimax(weights, np.eye(len(weights)), _ROUNDS)
    else:
        rows, before = (f.reshape(len(f), -1).astype(np.float64) for f in (filters, shown))
        left, _, right = np.linalg.svd(before @ rows.T)
        rotation = _varimax(weights, left @ right, _FURTHER_ROUNDS)
    powers = np.einsum("ir,rs,is->i", rotation, moments.astype(np.float64), rotation)
    if shown is not None:
        return np.asarray(rotation[_settled_order(powers)])
    rotation = rotation[np.argsort(-powers, kind="stable")]
    signs = np.sign(((rotation @ weights) ** 3).sum(axis=1, keepdims=True))
    return np.asarray(rotation * np.where(signs == 0, 1, signs))


def _varimax(weights: Array, rotation: Array, rounds: int) -> Array:
    """Rounds of Kaiser's criterion: the variance of the squares in each row of Q W grows."""
    for _ in range(rounds):
        rotated = rotation @ weights
        squares = np.square(rotated).mean(axis=1, keepdims=True)
        slope = (rotated**3 - rotated * squares) @ weights.T
        # What the weights do not decide, for there are few of them or none, stays as it is.
        slope += (_INERTIA * np.linalg.norm(slope) + _MIN_DIVISOR) * rotation
        left, _, right = np.linalg.svd(slope)
        rotation = left @ right
    return rotation


def _settled_order(powers: Array) -> list[int]:
    """The order of filters: the last one, but that the clearly stronger change with the weaker."""
    order = list(range(len(powers)))
    for place in range(len(order)):
        strongest = max(range(place, len(order)), key=lambda i: powers[order[i]])
        if powers[order[strongest]] > _MIN_POWER_RATIO * powers[order[place]]:
            order[place], order[strongest] = order[strongest], order[place]
    return order
