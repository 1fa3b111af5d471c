from __future__ import annotations

import itertools

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc.model.solver.problem import Geometry, Problem

SHAPES = [
    ((), (17,), (4,)),
    ((3,), (12,), (5,)),
    ((), (9, 7), (3, 4)),
    ((2,), (6, 8), (3, 3)),
    ((2, 2), (5, 6), (2, 3)),
    ((), (4, 5, 6), (2, 3, 3)),
    ((2,), (3, 4, 3), (2, 2, 1)),
    ((), (3, 3, 4, 3), (2, 1, 2, 2)),
    ((), (1, 9), (3, 3)),
    ((), (2, 3), (5, 7)),
]


def make(joint, shift, support, n_base=3, seed=0, dtype="float64", mask=None):
    rng = np.random.default_rng(seed)
    geometry = Geometry(joint, shift, support)
    problem = Problem(geometry, n_base, dtype)
    filters = rng.standard_normal((n_base, *joint, *support))
    problem.set_filters(filters)
    x = rng.standard_normal((*joint, *shift))
    problem.set_sample(x, mask)
    return problem, filters, x, rng


@pytest.mark.parametrize(("joint", "shift", "support"), SHAPES)
def test_forward_equals_loops(joint, shift, support):
    problem, filters, _, rng = make(joint, shift, support)
    maps = rng.standard_normal(problem.maps.shape)
    problem.maps[...] = maps
    problem.reconstruct()
    reached = problem.geometry.reached(maps)
    expected = references.convolve(filters, reached, len(joint), shift)
    np.testing.assert_allclose(problem.geometry.crop(problem.residual), expected, atol=1e-10)


@pytest.mark.parametrize(("joint", "shift", "support"), SHAPES)
def test_gradient_is_the_adjoint_of_forward(joint, shift, support):
    problem, _, x, rng = make(joint, shift, support)
    maps = rng.standard_normal(problem.maps.shape)
    problem.maps[...] = maps
    problem.reconstruct()
    forward = problem.geometry.crop(problem.residual)
    problem.residual[...] = problem.geometry.pad(x, "float64")
    problem.gradient()
    np.testing.assert_allclose(np.vdot(forward, x), np.vdot(maps, problem.maps), rtol=1e-10)


@pytest.mark.parametrize(("joint", "shift", "support"), SHAPES[:6])
def test_gradients_equal_finite_differences(joint, shift, support):
    rng = np.random.default_rng(3)
    mask = rng.random((*joint, *shift)) < 0.7
    mask.flat[0] = True
    problem, _, _, _ = make(joint, shift, support, mask=mask)
    w = rng.standard_normal((3, 4))
    z = rng.standard_normal((4, problem.geometry.size))

    def f(w, z):
        problem.maps[...] = w @ z
        return problem.evaluate()

    f(w, z)
    problem.gradient()
    gradient_z, gradient_w = w.T @ problem.maps, problem.maps @ z.T
    step = 1e-5
    for _ in range(3):
        dw, dz = rng.standard_normal(w.shape), rng.standard_normal(z.shape)
        slope_w = (f(w + step * dw, z) - f(w - step * dw, z)) / (2 * step)
        slope_z = (f(w, z + step * dz) - f(w, z - step * dz)) / (2 * step)
        np.testing.assert_allclose(slope_w, np.vdot(gradient_w, dw), rtol=1e-6)
        np.testing.assert_allclose(slope_z, np.vdot(gradient_z, dz), rtol=1e-6)


@pytest.mark.parametrize(("joint", "shift", "support"), SHAPES)
def test_nothing_wraps_around(joint, shift, support):
    """An impulse in a corner of the code reaches the neighbouring corner of the sample only."""
    problem, filters, _, _ = make(joint, shift, support, n_base=1)
    geometry = problem.geometry
    for corner in itertools.product(*((0, n - 1) for n in geometry.reach)):
        codes = np.zeros((1, *geometry.reach))
        codes[(0, *corner)] = 1
        problem.maps[...] = geometry.unreached(codes, "float64")
        problem.reconstruct()
        expected = references.convolve(filters, codes, len(joint), shift)
        np.testing.assert_allclose(geometry.crop(problem.residual), expected, atol=1e-12)


@pytest.mark.parametrize(("joint", "shift", "support"), SHAPES)
def test_codes_beyond_the_reach_change_nothing(joint, shift, support):
    problem, _, _, rng = make(joint, shift, support)
    geometry = problem.geometry
    maps = rng.standard_normal(problem.maps.shape)
    problem.maps[...] = maps
    value = problem.evaluate()
    problem.maps[...] = geometry.unreached(geometry.reached(maps), "float64")
    assert problem.evaluate() == pytest.approx(value, rel=1e-12)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.data())
def test_pad_and_crop_are_inverse(shift, data):
    support = data.draw(st.lists(st.integers(1, 9), min_size=len(shift), max_size=len(shift)))
    shift = [min(n, 400 // 10 ** (len(shift) - 1)) or 1 for n in shift]
    geometry = Geometry((2,), tuple(shift), tuple(support))
    x = np.arange(2 * np.prod(shift), dtype=float).reshape(2, *shift)
    np.testing.assert_array_equal(geometry.crop(geometry.pad(x, float)), x)
    assert all(b >= n + h - 1 for b, n, h in zip(geometry.box, shift, support, strict=True))


def test_mask_of_the_shift_axes_holds_for_all_joint_values():
    rng = np.random.default_rng(0)
    mask = rng.random((6, 7)) < 0.5
    one, *_ = make((3,), (6, 7), (3, 3), mask=mask)
    other, *_ = make((3,), (6, 7), (3, 3), mask=np.broadcast_to(mask, (3, 6, 7)))
    maps = rng.standard_normal(one.maps.shape)
    one.maps[...] = other.maps[...] = maps
    assert one.evaluate() == pytest.approx(other.evaluate(), rel=1e-12)
    assert one.n_measured == other.n_measured == 3 * mask.sum()


def test_missing_values_are_never_looked_at():
    rng = np.random.default_rng(0)
    mask = rng.random((8, 8)) < 0.6
    x = rng.standard_normal((8, 8))
    problem = Problem(Geometry((), (8, 8), (3, 3)), 2, "float64")
    problem.set_filters(rng.standard_normal((2, 3, 3)))
    results = []
    for fill in (0.0, np.nan, 1e30):
        problem.set_sample(np.where(mask, x, fill), mask)
        problem.maps[...] = 0.1
        value = problem.evaluate()
        problem.gradient()
        results.append((value, problem.maps.copy()))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_largest_gain_of_filters_that_cancel_is_not_zero():
    problem, filters, _, _ = make((3,), (9, 9), (3, 3), n_base=2)
    one = filters[:1]
    alone = Problem(problem.geometry, 1, "float64")
    alone.set_filters(one)
    gain = alone.largest_gain
    problem.set_filters(np.concatenate([one, -one]))
    assert problem.largest_gain == pytest.approx(2 * gain, rel=1e-3)


def test_largest_gain_bounds_the_forward_operator():
    for joint, shift, support in SHAPES[:6]:
        problem, _, _, rng = make(joint, shift, support)
        maps = rng.standard_normal(problem.maps.shape)
        for _ in range(30):  # power iterations towards the worst maps
            problem.maps[...] = maps
            problem.reconstruct()
            gain = np.linalg.norm(problem.residual) / np.linalg.norm(maps)
            problem.gradient()
            maps = problem.maps / np.linalg.norm(problem.maps)
        assert gain**2 <= problem.largest_gain * 1.05
