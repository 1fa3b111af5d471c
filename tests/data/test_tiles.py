from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc.data.tiles import Blend, cut


@st.composite
def cuttings(draw):
    n = draw(st.integers(1, 3))
    shape = draw(st.lists(st.integers(1, 30), min_size=n, max_size=n))
    size = draw(st.lists(st.integers(1, 12), min_size=n, max_size=n))
    overlap = [draw(st.integers(0, s - 1)) for s in size]
    return shape, size, overlap


@settings(max_examples=60)
@given(cuttings())
def test_weights_add_up_to_one_everywhere(cutting):
    shape, size, _ = cutting
    total = np.zeros(shape)
    for tile in cut(*cutting):
        weights = tile.weights()
        assert weights.shape == tuple(min(n, s) for n, s in zip(shape, size, strict=True))
        assert (weights > 0).all()
        total[tile.region] += weights
    np.testing.assert_allclose(total, 1, atol=1e-12)


@settings(max_examples=60)
@given(cuttings(), st.floats(-1e6, 1e6, width=32))
def test_constant_comes_back_exactly(cutting, value):
    blend = Blend(cutting[0])
    for tile in cut(*cutting):
        blend.add(tile, np.full(tile.weights().shape, value, np.float32))
    assert (blend.result == np.float32(value)).all()


@settings(max_examples=60)
@given(cuttings())
def test_tiles_of_an_array_blend_to_the_array(cutting):
    x = np.random.default_rng(0).standard_normal(cutting[0]).astype(np.float32)
    blend = Blend(x.shape)
    for tile in cut(*cutting):
        blend.add(tile, x[tile.region])
    np.testing.assert_array_equal(blend.result, x)


@settings(max_examples=60)
@given(cuttings())
def test_neighbours_share_what_was_asked_for(cutting):
    shape, size, overlap = cutting
    for axis, (n, s, o) in enumerate(zip(shape, size, overlap, strict=True)):
        spans = sorted({(t.region[axis].start, t.region[axis].stop) for t in cut(*cutting)})
        assert spans[0][0] == 0
        assert spans[-1][1] == n
        assert all(b - a == min(s, n) for a, b in spans)
        assert all(left[1] - right[0] >= o for left, right in itertools.pairwise(spans))
        fewest = 1 if s >= n else -(-(n - o) // (s - o))
        assert len(spans) == fewest


def test_blend_is_the_weighted_mean_in_any_order():
    rng = np.random.default_rng(0)
    tiles = list(cut((20, 17), (8, 7), (3, 2)))
    values = [rng.standard_normal(t.weights().shape) for t in tiles]
    expected = np.zeros((20, 17))
    for tile, value in zip(tiles, values, strict=True):
        expected[tile.region] += tile.weights() * value
    for order in (range(len(tiles)), reversed(range(len(tiles)))):
        blend = Blend((20, 17), np.float64)
        for i in order:
            blend.add(tiles[i], values[i])
        np.testing.assert_allclose(blend.result, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((9, 9), (4, 4), (4, 1)), "tiles of 4 points that share 4"),
        (((9,), (0,), (0,)), "at least one point"),
        (((9, 9), (4,), (1,)), "one length an axis"),
    ],
)
def test_impossible_tiles_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        list(cut(*arguments))


def test_values_of_another_shape_are_refused():
    (tile,) = cut((4, 4), (4, 4), (0, 0))
    with pytest.raises(ValueError, match=r"shape \(4, 4\), its values \(3, 4\)"):
        Blend((4, 4)).add(tile, np.ones((3, 4)))
