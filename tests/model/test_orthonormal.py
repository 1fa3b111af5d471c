"""Base filters with orthonormal rows: the step, the model, and the rotation that is shown."""

from __future__ import annotations

import numpy as np
import pytest
from scsc_samples import SMALL, images

from napari_scsc import SCSC, FilterBank
from napari_scsc.model import container
from napari_scsc.model.rotation import readable_rotation
from napari_scsc.model.solver.filter_step import project_filters
from napari_scsc.model.solver.orthonormal_step import (
    LagHistory,
    OrthonormalStep,
    project_orthonormal,
)
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.state import State

SHAPES = [
    ((60,), 0, (7,)),
    ((2, 40), 1, (5,)),
    ((16, 15), 0, (3, 4)),
    ((3, 12, 13), 1, (3, 3)),
    ((2, 2, 10, 9), 2, (3, 3)),
    ((6, 8, 9), 0, (3, 3, 3)),
    ((4, 5, 6, 5), 0, (2, 2, 3, 2)),
]


def gram(filters):
    rows = filters.reshape(len(filters), -1).astype(np.float64)
    return rows @ rows.T


# --- the projection and the step ----------------------------------------------------------------


def test_projection_is_the_nearest_orthonormal_matrix():
    rng = np.random.default_rng(0)
    filters = rng.standard_normal((3, 2, 4))
    nearest = project_orthonormal(filters)
    np.testing.assert_allclose(gram(nearest), np.eye(3), atol=1e-12)
    distance = np.linalg.norm(filters - nearest)
    for _ in range(200):
        other = project_orthonormal(nearest + 0.3 * rng.standard_normal(filters.shape))
        assert np.linalg.norm(filters - other) >= distance
    np.testing.assert_allclose(project_orthonormal(nearest), nearest, atol=1e-12)


def test_projection_of_filters_that_depend_on_each_other_is_orthonormal():
    copies = np.tile(np.random.default_rng(0).standard_normal((1, 3, 3)), (4, 1, 1))
    for filters in (copies, np.zeros((4, 3, 3)), copies.astype(np.float32)):
        np.testing.assert_allclose(gram(project_orthonormal(filters)), np.eye(4), atol=1e-6)


@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_form_of_the_history_is_the_squared_error(shape, n_joint, support):
    """1/2 <B, T B> - <B, G> is the error of the whole box, but for a constant."""
    geometry = Geometry(shape[:n_joint], shape[n_joint:], support)
    problem = Problem(geometry, 3, np.float64)
    rng = np.random.default_rng(0)
    one, other = (
        project_orthonormal(rng.standard_normal((3, *shape[:n_joint], *support))) for _ in range(2)
    )
    problem.set_filters(one)
    problem.set_sample(rng.standard_normal(shape), None)
    maps = rng.standard_normal(problem.maps.shape)
    problem.maps[...] = maps
    spectra, sample, reconstruction = problem.statistics()
    filled = np.where(problem.mask > 0, problem.sample, reconstruction)
    history = LagHistory(3, geometry, np.float64)
    history.update([history.terms(spectra, sample, geometry)])

    def error(filters):
        problem.set_filters(filters)
        problem.maps[...] = maps
        problem.reconstruct()
        return 0.5 * np.sum((problem.residual - filled) ** 2)

    def form(filters):
        lags, n_shift = history.lags, len(support)
        total = -np.sum(history.cross.reshape(filters.shape) * filters)
        flat = filters.reshape(3, -1, *support)
        for m in np.ndindex(*support):
            for n in np.ndindex(*support):
                d = tuple(a - b + h - 1 for a, b, h in zip(m, n, support, strict=True))
                at = (slice(None), slice(None), *m), (slice(None), slice(None), *n)
                total += 0.5 * np.einsum("rc,rs,sc->", flat[at[0]], lags[(..., *d)], flat[at[1]])
        assert n_shift == lags.ndim - 2
        return total

    np.testing.assert_allclose(form(one) - form(other), error(one) - error(other), rtol=1e-8)


@pytest.mark.parametrize("relaxation", [1.0, 1.8])
def test_step_finds_the_filters_that_made_the_samples(relaxation):
    geometry = Geometry((2,), (24, 23), (4, 3))
    rng = np.random.default_rng(0)
    truth = project_orthonormal(rng.standard_normal((3, 2, 4, 3)))
    problem = Problem(geometry, 3, np.float64)
    problem.set_filters(truth)
    history = LagHistory(3, geometry, np.float64)
    for _ in range(4):
        maps = rng.standard_normal(problem.maps.shape) * (rng.random(problem.maps.shape) < 0.1)
        problem.set_sample(np.zeros((2, 24, 23)), np.zeros((24, 23), bool))  # all is filled
        problem.maps[...] = maps
        history.update([history.terms(*problem.statistics()[:2], geometry)])
    start = truth + 0.15 * rng.standard_normal(truth.shape)
    step = OrthonormalStep(
        start, geometry, np.float64, max_iter=500, tol=1e-9, relaxation=relaxation
    )
    for _ in range(70):
        step.update(history)
    np.testing.assert_allclose(step.filters, truth, atol=1e-5)
    np.testing.assert_allclose(gram(step.filters), np.eye(3), atol=1e-10)


def test_batches_give_the_history_of_single_samples():
    geometry = Geometry((), (12, 11), (3, 3))
    rng = np.random.default_rng(0)
    single, batched = (LagHistory(2, geometry, np.float64) for _ in range(2))
    terms = [
        (rng.standard_normal(single.lags.shape), rng.standard_normal(single.cross.shape))
        for _ in range(4)
    ]
    for pair in terms:
        single.update([pair], forget=0.2)
    batched.update(terms, forget=0.2)
    for name, array in single.arrays().items():
        np.testing.assert_array_equal(array, batched.arrays()[name])
    assert single.count == batched.count


# --- the model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_filters_are_orthonormal_after_every_sample_and_none_is_longer_than_one(
    shape, n_joint, support, masked
):
    samples = [images(4, shape)[i] for i in range(4)]
    if masked:
        rng = np.random.default_rng(1)
        samples = [(x, rng.random(shape) > 0.3) for x in samples]
    model = SCSC(4, 7, support, n_joint, beta=0.05, max_iter=15)
    for update in model.iter_fit(samples):
        np.testing.assert_allclose(gram(update.B), np.eye(4), atol=1e-5)
        composed = np.tensordot(update.W.T, update.B, axes=1)
        assert np.linalg.norm(composed.reshape(7, -1), axis=1).max() <= 1 + 1e-5
    x, mask = samples[0] if masked else (samples[0], None)
    code = model.encode(x, mask)
    assert np.linalg.norm(code.W, axis=0).max() <= 1 + 1e-5


def test_more_filters_than_can_be_orthonormal_are_refused():
    with pytest.raises(ValueError, match=r"n_base.*no more than 9"):
        SCSC(10, 20, (3, 3))
    SCSC(10, 20, (3, 3), filters="ball")
    SCSC(10, 10, (3, 3), weights="identity")
    joint = SCSC(19, 20, (3, 3), n_joint=1)  # known only when the first sample is there
    with pytest.raises(ValueError, match=r"n_base.*no more than 18"):
        joint.partial_fit(images(1, (2, 9, 9))[0])
    SCSC(18, 20, (3, 3), n_joint=1, max_iter=3).partial_fit(images(1, (2, 9, 9))[0])


def test_identity_weights_keep_balls():
    model = SCSC(3, 3, (3, 4), weights="identity")
    assert model.settings.filters == "ball"
    assert model.settings.forget == 0
    assert SCSC(**SMALL).settings.filters == "orthonormal"


def test_unknown_constraint_is_refused():
    with pytest.raises(ValueError, match="filters"):
        SCSC(**SMALL, filters="sphere")


def test_filters_in_balls_become_orthonormal_and_compose_the_same():
    """A bank of other filters is a start: its span and its composed filters stay."""
    rng = np.random.default_rng(0)
    filters = project_filters(rng.standard_normal((3, 4, 5)))
    weights = rng.standard_normal((3, 6)) * 0.2
    bank = FilterBank(filters, weights=weights)
    model = SCSC.from_bank(bank, filters="orthonormal", n_filters=6, dtype="float64")
    state = State.first(model.settings, np.zeros((9, 9)), bank)
    np.testing.assert_allclose(gram(state.step.filters), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(
        np.tensordot(state.mean_weights.T, state.step.filters, axes=1),
        np.tensordot(weights.T, filters, axes=1),
        atol=1e-6,
    )


def test_settings_from_before_there_was_a_choice_are_of_balls():
    settings = SCSC(**SMALL, filters="ball").settings.to_json()
    del settings["filters"]
    bank = FilterBank(np.ones((3, 3, 4)) / 12**0.5, settings=settings)
    assert SCSC.from_bank(bank).settings.filters == "ball"


def test_checkpoint_from_before_there_was_a_choice_goes_on_to_the_same_bits(tmp_path):
    samples = images(4)
    expected = SCSC(**SMALL, filters="ball").fit(samples).bank
    path = tmp_path / "old.scsc"
    SCSC(**SMALL, filters="ball").fit(samples[:2]).checkpoint(path)
    header, arrays = container.read(path, "napari-scsc checkpoint", 1)
    del header["kind"], header["version"], header["settings"]["filters"]
    container.write(path, "napari-scsc checkpoint", 1, header, arrays)
    model = SCSC.resume(path)
    assert model.settings.filters == "ball"
    np.testing.assert_array_equal(model.fit(samples[2:]).bank.filters, expected.filters)


# --- the rotation -------------------------------------------------------------------------------


def test_rotation_changes_neither_objective_nor_reconstruction():
    model = SCSC(**SMALL, dtype="float64").fit(images())
    state = model._state
    assert state.rotation is not None
    plain = FilterBank(state.step.filters, 0, state.mean_weights, model.settings.to_json())
    one, other = (SCSC.from_bank(bank).encode(images()[0], tol=0.0) for bank in (plain, model.bank))
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-9)
    np.testing.assert_allclose(one.reconstruction, other.reconstruction, atol=1e-9)
    np.testing.assert_allclose(one.Z, other.Z, atol=1e-9)
    np.testing.assert_allclose(state.rotation @ one.W, other.W, atol=1e-9)


def test_update_shows_weights_of_the_filters_that_it_shows():
    x = images()[0]
    model = SCSC(**SMALL)
    update = next(model.iter_fit([x]))
    np.testing.assert_array_equal(update.B, model.bank.filters)
    state = model._state
    np.testing.assert_allclose(
        np.tensordot(update.W.T, update.B, axes=1),
        np.tensordot((state.rotation.T @ update.W).T, state.step.filters, axes=1),
        atol=1e-5,
    )


def test_weights_in_an_l1_ball_are_not_rotated():
    model = SCSC(**SMALL, ball="l1").fit(images())
    assert model._state.rotation is None
    np.testing.assert_array_equal(model.bank.filters, model._state.step.filters)


def test_rotation_makes_weights_sparse_and_puts_the_strongest_first():
    rng = np.random.default_rng(0)
    turn = project_orthonormal(rng.standard_normal((5, 5)))
    sparse = rng.standard_normal((5, 40)) * (rng.random((5, 40)) < 0.15)
    powers = np.array([1.0, 5.0, 2.0, 9.0, 3.0])
    rotation = readable_rotation(turn @ sparse, (turn * powers) @ turn.T, np.eye(5))
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-10)
    found = np.abs(rotation @ turn)
    expected = np.eye(5)[np.argsort(-powers)]
    np.testing.assert_allclose(found, expected, atol=0.2)


def test_what_is_shown_moves_and_does_not_jump():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((6, 50)) * (rng.random((6, 50)) < 0.2)
    moments = np.diag([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    filters = project_orthonormal(rng.standard_normal((6, 4, 4)))
    shown = np.tensordot(readable_rotation(weights, moments, filters), filters, 1)
    # Other base filters of nearly the same span, weights that follow, and powers that change.
    turn = project_orthonormal(rng.standard_normal((6, 6)))
    moved = project_orthonormal(filters + 0.01 * rng.standard_normal(filters.shape))
    moments = turn @ np.diag([5.0, 6.0, 4.0, 3.0, 1.0, 1.9]) @ turn.T
    rotation = readable_rotation(turn @ weights, moments, np.tensordot(turn, moved, 1), shown)
    now = np.tensordot(rotation @ turn, moved, 1)
    np.testing.assert_allclose(now, shown, atol=0.1)


def test_filter_that_is_clearly_stronger_changes_places_with_the_weaker():
    filters = np.eye(4).reshape(4, 2, 2)
    weights = np.kron(np.eye(4), np.ones((1, 3)))
    before = np.diag([4.0, 3.0, 2.0, 1.0])
    shown = np.tensordot(readable_rotation(weights, before, filters), filters, 1)
    after = np.diag([4.0, 3.0, 2.0, 20.0])
    rotation = readable_rotation(weights, after, filters, shown)
    now = np.abs(np.tensordot(rotation, filters, 1))
    np.testing.assert_allclose(now, np.abs(shown)[[3, 1, 2, 0]], atol=1e-6)


def test_rotation_is_orthogonal_where_weights_say_nothing():
    for weights in (np.zeros((4, 9)), np.ones((4, 1)), np.eye(4)):
        for shown in (None, np.eye(4)[::-1]):
            rotation = readable_rotation(weights, np.zeros((4, 4)), np.eye(4), shown)
            np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-10)
