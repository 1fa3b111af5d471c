"""ADMM for the code step."""

import numpy as np
import pytest

from laboratory.systems.code_admm import solve_by_admm
from napari_scsc.model.solver import code
from napari_scsc.model.solver.problem import Geometry, Problem


def test_admm_solves_the_same_problem():
    rng = np.random.default_rng(0)
    filters = rng.standard_normal((3, 3, 4))
    filters /= np.linalg.norm(filters.reshape(3, -1), axis=1).reshape(-1, 1, 1)
    weights = rng.standard_normal((3, 6))
    weights /= np.linalg.norm(weights, axis=0)
    problem = Problem(Geometry((), (20, 20), (3, 4)), 3, "float64")
    problem.set_filters(filters)
    problem.set_sample(np.cumsum(rng.standard_normal((20, 20)), axis=0) / 3, None)
    fast = code.solve(problem, weights, beta=0.1, max_iter=400, tol=0)
    slow = solve_by_admm(problem, filters, weights, beta=0.1, max_iter=400)
    assert slow.objective[-1] == pytest.approx(fast.objective[-1], rel=0.05)
    assert slow.violation[-1] < 1e-2 * max(slow.violation)
    assert (np.linalg.norm(slow.weights, axis=0) <= 1 + 1e-6).all()
