from __future__ import annotations

import numpy as np
import pytest

from napari_scsc.model.solver import code
from napari_scsc.model.solver.admm import solve_by_admm
from napari_scsc.model.solver.problem import Geometry, Problem


def make(shape=(14, 13), support=(3, 4), n_base=3, n_filters=6, seed=0, dtype="float64", mask=None):
    rng = np.random.default_rng(seed)
    filters = rng.standard_normal((n_base, *support))
    filters /= np.linalg.norm(filters.reshape(n_base, -1), axis=1).reshape(-1, 1, 1)
    w = rng.standard_normal((n_base, n_filters))
    w = (w / np.linalg.norm(w, axis=0)).astype(dtype)
    x = np.cumsum(rng.standard_normal(shape), axis=0) / 3
    problem = Problem(Geometry((), shape, support), n_base, dtype)
    problem.set_filters(filters)
    problem.set_sample(x, mask)
    return problem, filters, w, x


def test_admm_solves_the_same_problem():
    problem, filters, w, _ = make((20, 20))
    fast = code.solve(problem, w, beta=0.1, max_iter=400, tol=0)
    slow = solve_by_admm(problem, filters, w, beta=0.1, max_iter=400)
    assert slow.objective[-1] == pytest.approx(fast.objective[-1], rel=0.05)
    assert slow.violation[-1] < 1e-2 * max(slow.violation)
    assert (np.linalg.norm(slow.weights, axis=0) <= 1 + 1e-6).all()
