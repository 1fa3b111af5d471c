from __future__ import annotations

import numpy as np
import pytest
import references
from scipy.optimize import minimize

from napari_scsc.model.solver.filter_step import FilterStep, invert, project_filters
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry, Problem


def coded(geometry, n_base, seed, dtype="float64"):
    """Y and the filled sample of a random code, as the solver would leave them."""
    rng = np.random.default_rng(seed)
    problem = Problem(geometry, n_base, dtype)
    problem.set_filters(rng.standard_normal((n_base, *geometry.joint, *geometry.support)))
    problem.set_sample(rng.standard_normal((*geometry.joint, *geometry.shift)), None)
    codes = rng.standard_normal((n_base, *geometry.reach))
    codes *= rng.random(codes.shape) < 0.3
    problem.maps[...] = geometry.unreached(codes, dtype)
    maps, sample, reconstruction = problem.statistics()
    filled = problem.mask * (problem.sample - reconstruction) + reconstruction
    return maps, sample, codes, filled


def test_history_one_by_one_equals_history_at_once():
    geometry = Geometry((2,), (7, 6), (3, 2))
    pairs = [coded(geometry, 3, seed)[:2] for seed in range(5)]
    single, batched = (History(3, geometry, "float64") for _ in range(2))
    for pair in pairs:
        single.update([pair])
    batched.update(pairs[:2])
    batched.update(pairs[2:])
    h = np.mean([np.einsum("rf,sf->rsf", y.conj(), y) for y, _ in pairs], axis=0)
    g = np.mean([np.einsum("rf,cf->rcf", y.conj(), x) for y, x in pairs], axis=0)
    for history in (single, batched):
        np.testing.assert_allclose(history.h, h, atol=1e-9)
        np.testing.assert_allclose(history.g, g, atol=1e-9)
        assert history.count == 5


def test_forgetting_weighs_samples_geometrically():
    geometry = Geometry((), (9,), (3,))
    pairs = [coded(geometry, 2, seed)[:2] for seed in range(4)]
    history = History(2, geometry, "float64")
    for pair in pairs:
        history.update([pair], forget=0.25)
    weights = 0.75 ** np.arange(3, -1, -1)
    expected = sum(
        v * np.einsum("rf,sf->rsf", y.conj(), y) for v, (y, _) in zip(weights, pairs, strict=True)
    )
    np.testing.assert_allclose(history.h, expected / weights.sum(), atol=1e-9)


@pytest.mark.parametrize("joint", [(), pytest.param((2,), marks=pytest.mark.slow)])
def test_filter_step_equals_a_generic_convex_solver(joint):
    geometry = Geometry(joint, (7, 6), (2, 3))
    n_base, history = 2, History(2, geometry, "float64")
    samples = [coded(geometry, n_base, seed) for seed in range(3)]
    history.update([s[:2] for s in samples])
    start = np.random.default_rng(5).standard_normal((n_base, *joint, 2, 3)) * 0.1
    step = FilterStep(start, geometry, "float64", max_iter=5000, tol=1e-9)
    report = step.update(history)
    assert report.converged

    # The same least squares over the whole box, in space and by a solver that knows nothing of it.
    def loss(flat):
        filters = flat.reshape(start.shape)
        total = 0.0
        for _, _, codes, filled in samples:
            problem = Problem(geometry, n_base, "float64")
            problem.set_filters(filters)
            problem.maps[...] = geometry.unreached(codes, "float64")
            problem.reconstruct()
            total += 0.5 * np.sum((problem.residual - filled) ** 2)
        return total / len(samples)

    def in_ball(r):
        return {"type": "ineq", "fun": lambda b: 1 - np.sum(b.reshape(n_base, -1)[r] ** 2)}

    found = minimize(
        loss,
        start.ravel(),
        method="SLSQP",
        constraints=[in_ball(r) for r in range(n_base)],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    assert loss(step.filters.ravel()) <= found.fun * (1 + 1e-5)
    np.testing.assert_allclose(step.filters.ravel(), found.x, atol=2e-3)


def test_filters_explain_a_sample_that_they_made():
    """A code known exactly gives the filters back."""
    rng = np.random.default_rng(0)
    geometry = Geometry((), (24, 24), (3, 3))
    truth = project_filters(5 * rng.standard_normal((2, 3, 3)))
    problem = Problem(geometry, 2, "float64")
    problem.set_filters(truth)
    codes = rng.standard_normal((2, *geometry.reach)) * (rng.random((2, *geometry.reach)) < 0.2)
    x = references.convolve(truth, codes, 0, (24, 24))
    problem.set_sample(x, None)
    problem.maps[...] = geometry.unreached(codes, "float64")
    history = History(2, geometry, "float64")
    history.update([problem.statistics()[:2]])
    step = FilterStep(rng.standard_normal((2, 3, 3)), geometry, "float64", max_iter=2000, tol=1e-8)
    step.update(history)
    np.testing.assert_allclose(step.filters, truth, atol=1e-4)


def test_single_precision_factorisation_is_good_enough():
    geometry = Geometry((), (30, 30), (5, 5))
    maps, sample, *_ = coded(geometry, 4, 0)
    steps = []
    for dtype in ("float32", "float64"):
        history = History(4, geometry, dtype)
        kind = history.h.dtype
        history.update([(maps.astype(kind), sample.astype(kind))])
        start = project_filters(np.random.default_rng(1).standard_normal((4, 5, 5)))
        step = FilterStep(start, geometry, dtype, max_iter=50)
        step.update(history)
        steps.append(step.filters)
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-4)


def test_inverse_is_the_inverse():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((3, 50)) + 1j * rng.standard_normal((3, 50))
    h = np.einsum("rf,sf->rsf", y.conj(), y)
    product = np.einsum("rsf,stf->rtf", invert(h, 0.1), h + 0.1 * np.eye(3)[:, :, None])
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(3)[:, :, None], h.shape), atol=1e-9)


def test_filters_stay_in_the_unit_ball():
    filters = np.random.default_rng(0).standard_normal((5, 2, 3, 3)) * np.array(
        [0.01, 0.1, 1, 10, 100]
    ).reshape(-1, 1, 1, 1)
    norms = np.linalg.norm(project_filters(filters).reshape(5, -1), axis=1)
    assert (norms <= 1 + 1e-12).all()
    np.testing.assert_array_equal(project_filters(filters)[0], filters[0])
