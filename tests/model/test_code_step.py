from __future__ import annotations

import numpy as np
import pytest
import references
from cancelling import CancelAtCheck

from napari_scsc.cancellation import Cancelled
from napari_scsc.model.solver import code
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


def keeps_the_rule(objective):
    """No value is larger than the largest of those that it is compared with."""
    return all(
        value <= max(objective[max(0, i - code.MEMORY) : i]) * (1 + 1e-6)
        for i, value in enumerate(objective)
        if i
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_objective_never_exceeds_its_recent_values(seed, dtype):
    problem, _, w, _ = make(seed=seed, dtype=dtype)
    solution = code.solve(problem, w, beta=0.1, max_iter=120, tol=0)
    assert keeps_the_rule(solution.objective)
    assert solution.objective[-1] < 0.7 * solution.objective[0]


@pytest.mark.parametrize("masked", [False, True])
def test_fixed_weights_reach_the_minimum(masked):
    mask = np.random.default_rng(9).random((8, 7)) < 0.7 if masked else None
    problem, filters, w, x = make((8, 7), mask=mask)
    known = np.ones(x.shape) if mask is None else mask.astype(float)
    a = references.matrix(filters, 0, x.shape)
    best = references.objective(a, x, known, w, references.lasso(a, x, known, w, 0.1), 0.1)
    solution = code.solve(problem, w, beta=0.1, max_iter=2000, tol=0, fixed_weights=True)
    assert solution.objective[-1] == pytest.approx(best, rel=1e-4)
    np.testing.assert_array_equal(solution.weights, w)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_end_point_is_no_worse_than_that_of_the_slow_reference(seed):
    problem, filters, w, x = make((8, 7), n_filters=4, seed=seed)
    a = references.matrix(filters, 0, x.shape)
    known = np.ones(x.shape)
    slow = references.alternating(a, x, known, w, 0.1, 1.0)
    solution = code.solve(problem, w, beta=0.1, max_iter=3000, tol=0)
    # The problem is not convex: another path may end in another, slightly different, hollow.
    assert solution.objective[-1] <= references.objective(a, x, known, *slow, 0.1) * 1.01


def test_reported_objective_is_that_of_the_result():
    problem, filters, w, x = make((8, 7))
    solution = code.solve(problem, w, beta=0.1, max_iter=50, tol=0)
    a = references.matrix(filters, 0, x.shape)
    z = problem.geometry.reached(solution.codes).reshape(w.shape[1], -1)
    value = references.objective(a, x, np.ones(x.shape), solution.weights, z, 0.1)
    assert solution.objective[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("ball", "order"), [("l2", 2), ("l1", 1)])
def test_weights_stay_in_their_ball(ball, order):
    problem, _, w, _ = make()
    radius = 0.6
    start = code.project_columns(w, ball, radius)
    solution = code.solve(problem, start, beta=0.05, ball=ball, radius=radius, max_iter=60, tol=0)
    norms = np.linalg.norm(solution.weights, order, axis=0)
    assert (norms <= radius * (1 + 1e-6)).all()


def test_l1_weights_are_sparse_and_l2_weights_dense():
    """The paper's figure: with the l1 ball a filter is made of very few base filters."""
    shares = {}
    for ball in ("l1", "l2"):
        problem, _, w, _ = make((30, 30), (5, 5), n_base=8, n_filters=20)
        start = code.project_columns(w, ball, 1.0)
        solution = code.solve(problem, start, beta=0.1, ball=ball, max_iter=300, tol=0)
        used = np.abs(solution.codes).sum(axis=1) > 0
        shares[ball] = np.mean(np.abs(solution.weights[:, used]) > 1e-3)
    assert shares["l1"] < 0.6
    assert shares["l2"] > 0.9


def test_tolerance_stops_early_and_says_so():
    problem, _, w, _ = make()
    loose = code.solve(problem, w, beta=0.1, max_iter=500, tol=1e-2)
    tight = code.solve(problem, w, beta=0.1, max_iter=500, tol=1e-4)
    assert loose.converged
    assert tight.converged
    assert len(loose.objective) < len(tight.objective) < 500
    assert not code.solve(problem, w, beta=0.1, max_iter=3, tol=1e-4).converged


def test_warm_start_goes_on_where_it_was():
    problem, _, w, _ = make()
    first = code.solve(problem, w, beta=0.1, max_iter=80, tol=0)
    again = code.solve(problem, first.weights, codes=first.codes, beta=0.1, max_iter=5, tol=0)
    assert again.objective[0] == pytest.approx(first.objective[-1], rel=1e-9)
    assert again.objective[-1] <= first.objective[-1] * (1 + 1e-9)


def test_masked_equals_cropped():
    """Missing rows at the border are as good as no rows at all."""
    problem, filters, w, x = make((12, 10))
    mask = np.zeros(x.shape, bool)
    mask[:8, :6] = True
    problem.set_sample(x, mask)
    masked = code.solve(problem, w, beta=0.1, max_iter=1500, tol=0, fixed_weights=True)
    small = Problem(Geometry((), (8, 6), (3, 4)), 3, "float64")
    small.set_filters(filters)
    small.set_sample(x[:8, :6], None)
    cropped = code.solve(small, w, beta=0.1, max_iter=1500, tol=0, fixed_weights=True)
    assert masked.objective[-1] == pytest.approx(cropped.objective[-1], rel=1e-6)


def test_identity_weights_are_plain_sparse_coding():
    problem, _, _, _ = make()
    plain = code.solve(problem, None, beta=0.1, max_iter=1500, tol=0)
    with_matrix = code.solve(problem, np.eye(3), beta=0.1, max_iter=1500, tol=0, fixed_weights=True)
    assert plain.weights is None
    assert plain.objective[-1] == pytest.approx(with_matrix.objective[-1], rel=1e-6)


@pytest.mark.parametrize(("ball", "identity"), [("l2", False), ("l1", False), ("l2", True)])
def test_silencing_beta_is_the_smallest_that_silences(ball, identity):
    problem, _, w, _ = make()
    limit = code.smallest_silencing_beta(problem, ball, 1.0, identity)
    # The weights that point at the strongest gradient wake up first.
    place = np.argmax((problem.maps**2).sum(axis=0)) if ball == "l2" and not identity else None
    direction = problem.maps[:, place] if place is not None else None
    start = None if identity else code.project_columns(w, ball, 1.0)
    if direction is not None:
        start[:, 0] = direction / np.linalg.norm(direction)
    elif not identity:
        strongest = np.unravel_index(np.abs(problem.maps).argmax(), problem.maps.shape)[0]
        start[:, 0] = 0
        start[strongest, 0] = 1
    above = code.solve(problem, start, beta=limit * 1.001, ball=ball, max_iter=20)
    below = code.solve(problem, start, beta=limit * 0.99, ball=ball, max_iter=20)
    assert not above.codes.any()
    assert below.codes.any()


@pytest.mark.parametrize("beta", [0.01, 0.1, 1.0])
def test_scale_of_data_and_beta_go_together(beta):
    problem, _, w, x = make()
    plain = code.solve(problem, w, beta=beta, max_iter=40, tol=0)
    problem.set_sample(1000 * x, None)
    scaled = code.solve(problem, w, beta=1000 * beta, max_iter=40, tol=0)
    np.testing.assert_allclose(scaled.codes, 1000 * plain.codes, rtol=1e-6, atol=1e-6)


def test_every_iteration_checks_whether_it_is_cancelled():
    problem, _, w, _ = make()
    cancellation = CancelAtCheck(7)
    with pytest.raises(Cancelled):
        code.solve(problem, w, beta=0.1, max_iter=50, tol=0, cancellation=cancellation)
    assert cancellation.n_checks == 7


def test_step_back_undoes_a_step():
    problem, _, w, _ = make()
    first = code.solve(problem, w, beta=0.1, max_iter=10, tol=0)
    maps = code._CodeMaps(problem, w.shape[1], first.codes)
    problem.evaluate()
    problem.gradient()
    before = maps.z.copy()
    maps.descend(w, 0.01, 0.1, 0.6)
    assert not np.allclose(maps.z, before)
    maps.step_back(0.6)
    np.testing.assert_allclose(maps.z, before, atol=1e-12)


@pytest.mark.parametrize("signs", [(1, 1), (1, -1)])
def test_energy_is_the_largest_eigenvalue(signs):
    z = np.random.default_rng(1).standard_normal(50)
    pair = np.stack([sign * z for sign in signs])
    assert code.largest_energy(pair) == pytest.approx(2 * z @ z)
    assert code.largest_energy(np.zeros((3, 5))) == 0


def test_rule_holds_when_steps_fail():
    """Steps that are far too long at first: refused, undone and shortened until they are sound."""
    problem, _, w, _ = make((30, 30), (5, 5), n_base=8, n_filters=20)
    problem.largest_gain /= 30
    solution = code.solve(problem, w, beta=0.1, max_iter=150, tol=0)
    assert keeps_the_rule(solution.objective)
    assert solution.objective[-1] < 0.5 * solution.objective[0]
