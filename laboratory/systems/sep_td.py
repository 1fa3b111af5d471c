"""SEP-TD (Sironi et al. 2015): the filters of OCSC, approximated by R separable ones.

All filters together are a tensor (K, *joint, *support). Its canonical decomposition of rank R by
alternating least squares gives R products of vectors, one vector an axis, and the weights with
which they add up to each filter. It comes after learning and knows nothing of the samples.
"""

import time
from dataclasses import replace
from functools import reduce

import numpy as np

from laboratory.systems import scsc_and_ocsc
from laboratory.systems.interface import shared_coder

_MAX_ROUNDS = 200
_TOLERANCE = 1e-6  # of the norm of the tensor: by how much a round must lower the error


def learn(task):
    """OCSC, and after each sample the least-squares approximation of its filters."""
    return _learn(task, approximate)


def learn_rescaled(task):
    """The same, with filters as long as those of OCSC."""
    return _learn(task, approximate_rescaled)


def _learn(task, decomposer):
    """Only the last post-processing counts."""
    for step in scsc_and_ocsc.ocsc(task):
        begin = time.process_time()
        filters = decomposer(step.model.bank.filters, task.n_base, task.seed)
        seconds = time.process_time() - begin
        yield replace(step, seconds=step.seconds + seconds, model=shared_coder(task, filters))


def approximate(filters, rank, seed=0):
    """Filters of that rank instead of these."""
    return compose(*decompose(filters, rank, seed))


def approximate_rescaled(filters, rank, seed=0):
    """Filters of that rank, as long as these are.

    What least squares leaves of a filter is shorter, and a code pays more for a short one: without
    its length it is judged by that as well as by its shape.
    """
    separable = approximate(filters, rank, seed)
    lost = _norms(filters) / np.maximum(_norms(separable), np.finfo(np.float32).tiny)
    return lost * separable


def _norms(filters):
    return np.sqrt((filters**2).sum(axis=tuple(range(1, filters.ndim)), keepdims=True))


def decompose(filters, rank, seed=0):
    """Vectors (length, R) of each axis of a filter, of unit length, and weights (R, K)."""
    tensor = filters.astype(np.float64)
    rng = np.random.default_rng(seed)
    vectors = [
        normalise_columns(rng.standard_normal((length, rank))) for length in tensor.shape[1:]
    ]
    weights = _fit_axis(tensor, 0, vectors)
    size, before = np.linalg.norm(tensor), np.inf
    for _ in range(_MAX_ROUNDS):
        for axis in range(len(vectors)):
            others = [weights, *vectors[:axis], *vectors[axis + 1 :]]
            vectors[axis] = normalise_columns(_fit_axis(tensor, axis + 1, others))
        weights = _fit_axis(tensor, 0, vectors)  # last: a projection, so that no filter gets longer
        error = np.linalg.norm(tensor - compose(vectors, weights.T))
        if before - error <= _TOLERANCE * size:
            break
        before = error
    return vectors, weights.T


def compose(vectors, weights):
    """(K, *lengths): what the separable filters add up to."""
    shape = tuple(len(v) for v in vectors)
    return (outer_products(vectors) @ weights).T.reshape(-1, *shape)


def outer_products(vectors):
    """(all points, R): the product of the r-th vectors of all axes, the last axis fastest."""
    return reduce(lambda a, b: (a[:, None] * b).reshape(-1, a.shape[1]), vectors)


def normalise_columns(vectors):
    """Columns of unit length; one that is zero stays so."""
    norm = np.linalg.norm(vectors, axis=0)
    return vectors / np.where(norm > 0, norm, 1)


def _fit_axis(tensor, axis, others):
    """Least squares for the vectors of one axis, those of all others fixed; (length, R)."""
    unfolded = np.moveaxis(tensor, axis, 0).reshape(tensor.shape[axis], -1)
    gram = reduce(np.multiply, (v.T @ v for v in others))
    return unfolded @ outer_products(others) @ np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
