from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from napari_scsc.model.solver.prox import project_columns, soft_threshold

values = st.floats(-5, 5, width=32)
matrices = arrays(np.float64, (4, 3), elements=values)


@given(values, st.floats(0.01, 3))
def test_soft_threshold_minimises_its_definition(z, threshold):
    def cost(u):
        return 0.5 * (u - z) ** 2 + threshold * np.abs(u)

    best = float(soft_threshold(np.array(z), threshold))
    assert cost(best) <= cost(np.linspace(-6, 6, 4001)).min() + 1e-12


@pytest.mark.parametrize(("ball", "order"), [("l2", 2), ("l1", 1)])
@given(w=matrices, other=matrices, radius=st.floats(0.1, 3))
def test_projection_is_the_nearest_point_of_the_ball(ball, order, w, other, radius):
    projected = project_columns(w, ball, radius)
    assert (np.linalg.norm(projected, order, axis=0) <= radius * (1 + 1e-9)).all()
    # Nothing else in the ball lies on the far side of the projection (variational inequality).
    norm = np.linalg.norm(other, order, axis=0)
    inside = other * np.minimum(1, radius / np.maximum(norm, 1e-12))
    products = ((w - projected) * (inside - projected)).sum(axis=0)
    assert (products <= 1e-9 * (1 + np.abs(w).max()) ** 2).all()


@pytest.mark.parametrize("ball", ["l2", "l1"])
@given(w=matrices)
def test_projection_leaves_the_ball_alone(ball, w):
    inside = project_columns(w, ball, 1.0)
    np.testing.assert_allclose(project_columns(inside, ball, 1.0), inside, rtol=1e-6, atol=1e-9)


def test_l1_projection_of_large_values():
    w = np.array([[3e7], [1e7], [-2.0]], np.float32)
    np.testing.assert_allclose(project_columns(w, "l1", 1.0), [[1], [0], [0]])


def test_precision_is_kept():
    w = np.ones((3, 2), np.float32)
    assert soft_threshold(w, 0.5).dtype == np.float32
    assert project_columns(w, "l1", 1.0).dtype == np.float32
    assert project_columns(w, "l2", 1.0).dtype == np.float32
