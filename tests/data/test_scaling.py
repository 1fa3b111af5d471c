from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lazy_array import Lazy

from napari_scsc.data.image import wrap_image
from napari_scsc.data.scaling import Scale, ValueRange, iter_measure_range, measure_range

# The pass over the image


@given(
    hnp.arrays(np.float32, hnp.array_shapes(max_dims=3), elements=st.floats(width=32)),
    st.booleans(),
)
def test_one_pass_finds_range_nan_and_infinite_values(x, masked):
    mask = np.arange(x.size).reshape(x.shape) % 3 == 0 if masked else np.zeros(x.shape, bool)
    found = measure_range(wrap_image(x, missing=mask))
    known = x[~mask & ~np.isnan(x)]
    assert found.n_masked == mask.sum()
    assert found.n_nan == np.isnan(x[~mask]).sum()
    assert found.n_known == known.size
    assert found.has_inf == np.isinf(known).any()
    if known.size:
        assert (found.low, found.high) == (known.min(), known.max())


def test_measuring_can_be_left_after_any_block():
    lazy = Lazy(np.ones((4, 1 << 21), np.uint8))
    steps = iter_measure_range(wrap_image(lazy))
    assert next(steps) == ValueRange(1, 1, 1 << 22)
    steps.close()
    assert len(lazy.read) == 1


def test_range_without_a_finite_value_has_no_scale():
    with pytest.raises(ValueError, match="no value of the image is known"):
        measure_range(wrap_image(np.full((2, 2), np.nan))).scale()
    with pytest.raises(ValueError, match="holds infinite values"):
        measure_range(wrap_image(np.array([1, np.inf]))).scale()
    with pytest.raises(ValueError, match="cannot range from"):
        measure_range(wrap_image(np.array([-1.7e308, 1.7e308]))).scale()


def test_range_of_large_integers_is_exact():
    x = np.array([2**63 + 1, 2**64 - 1], np.uint64)
    assert measure_range(wrap_image(x)) == ValueRange(2**63 + 1, 2**64 - 1, 2)


# Working range


def there_and_back(x):
    scale = measure_range(wrap_image(x)).scale()
    work = scale.to_work(x)
    assert work.dtype == np.float32
    assert work.min() >= 0
    assert work.max() <= 1
    back = scale.from_work(work, x.dtype)
    assert back.dtype == x.dtype.newbyteorder("=")
    return scale, back


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, ">u2"])
def test_integers_up_to_16_bits_come_back_exactly(dtype):
    info = np.iinfo(dtype)
    x = np.arange(info.min, info.max + 1).astype(dtype)
    np.testing.assert_array_equal(there_and_back(x)[1], x)
    np.testing.assert_array_equal(there_and_back(x[-7:])[1], x[-7:])


@settings(max_examples=60)
@given(
    st.sampled_from([np.uint32, np.int32, np.uint64, np.int64]).flatmap(
        lambda dtype: hnp.arrays(dtype, st.integers(1, 20))
    )
)
def test_large_integers_come_back_within_the_precision_of_the_range(x):
    scale, back = there_and_back(x)
    for a, b in zip(x.tolist(), back.tolist(), strict=True):
        assert abs(a - b) <= (scale.high - scale.low) / 2**23


@pytest.mark.parametrize(
    ("dtype", "offset"),
    [
        (np.uint32, 2**32 - 1000),
        (np.int64, 2**62 + 12345),
        (np.int64, -(2**63)),
        (np.uint64, 2**64 - 1000),
        (np.int64, 2**63 - 1000),
        (np.int64, -500),
        (np.int64, 2**32 - 500),
    ],
)
def test_large_offset_of_integers_loses_nothing(dtype, offset):
    x = np.array([offset + i for i in range(1000)], dtype)
    np.testing.assert_array_equal(there_and_back(x)[1], x)


@given(hnp.arrays(np.float32, 20, elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_float32_comes_back_within_the_precision_of_the_range(x):
    scale, back = there_and_back(x)
    largest = np.float32(max(abs(scale.low), abs(scale.high)))
    allowed = 2.0**-24 * (scale.high - scale.low) + np.spacing(largest) / 2
    assert np.abs(back.astype(float) - x).max() <= allowed


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_largest_floats_neither_overflow_nor_become_infinite(dtype):
    most = min(1e300, np.finfo(dtype).max.astype(np.longdouble))
    x = np.array([-most, 0, most], dtype)
    scale, back = there_and_back(x)
    np.testing.assert_allclose(back.astype(np.longdouble), x.astype(np.longdouble), rtol=1e-3)
    beyond = scale.from_work(np.array([-1e30, 1e30], np.float32), dtype)
    assert np.isfinite(beyond).all()


@pytest.mark.parametrize("value", [0, 7, 255, -3.25, 1e300, 5e-324])
def test_constant_image_becomes_zero_and_comes_back_exactly(value):
    x = np.full((2, 3), value)
    scale, back = there_and_back(x)
    assert (scale.to_work(x) == 0).all()
    assert scale.width == 1
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int32, np.uint64, np.int64])
@pytest.mark.parametrize("kind", [int, float])
def test_values_beyond_an_integer_type_become_its_limits(dtype, kind):
    info = np.iinfo(dtype)
    scale = Scale(kind(100), kind(110))
    work = np.array([-np.inf, -1e30, -2e18, 2e18, 1e30, np.inf], np.float32)
    back = scale.from_work(work, dtype).tolist()
    # Of 64 bits, the last float before the limit is meant.
    for value, limit in zip(back, [info.min] * 3 + [info.max] * 3, strict=True):
        assert abs(value - limit) <= 2048
        assert info.bits == 64 or value == limit


def test_scale_of_one_type_serves_another():
    for low in (2**63, -(2**63), 2**64 - 1):
        for dtype in (np.int64, np.uint64):
            (value,) = Scale(low, low + 10).from_work(np.zeros(1, np.float32), dtype).tolist()
            info = np.iinfo(dtype)
            assert abs(value - min(max(low, info.min), info.max)) <= 2048
    assert Scale(-5.5, 300.5).from_work(np.array([0.0, 0.5, 1.0]), np.uint8).tolist() == [
        0,
        148,
        255,
    ]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.uint8, np.float32),
        (">i2", np.float32),
        (np.uint32, np.float64),
        (np.int64, np.float64),
        (np.float16, np.float16),
        (">f8", np.float64),
    ],
)
def test_as_float_neither_rounds_nor_cuts_off(dtype, expected):
    back = Scale(0, 10).from_work(np.array([-0.05, 0.25, 50], np.float32), dtype, as_float=True)
    assert back.dtype == expected
    np.testing.assert_allclose(back, [-0.5, 2.5, 500], rtol=1e-3)


def test_nan_stays_nan_and_is_no_integer():
    scale = Scale(0, 4)
    work = scale.to_work(np.array([np.nan, 1.0]))
    assert np.isnan(work[0])
    assert np.isnan(scale.from_work(work, np.float32)[0])
    with pytest.raises(ValueError, match="the result holds NaN, for which uint8 has no value"):
        scale.from_work(work, np.uint8)


def test_values_behind_a_mask_may_lie_anywhere():
    work = Scale(0.0, 1e-30).to_work(np.array([1.7e308, -np.inf, 0]))
    assert work.tolist() == [np.inf, -np.inf, 0]


def test_neither_way_writes_to_what_it_is_given():
    scale = Scale(0, 10)
    for x in (np.arange(5.0), np.arange(5), np.arange(5, dtype=np.float32)):
        x.flags.writeable = False
        work = scale.to_work(x)
        work.flags.writeable = False
        assert not np.shares_memory(work, x)
        for dtype in (np.float32, np.float64, np.uint8, np.int64):
            assert not np.shares_memory(scale.from_work(work, dtype), work)


def test_numpy_numbers_make_the_same_scale():
    assert Scale(np.int8(-100), np.int8(100)).width == 200
    assert Scale(np.int64(2), np.int64(5)) == Scale(2, 5)


@pytest.mark.parametrize(("low", "high"), [(1, 0), (math.nan, 1), (0, math.inf)])
def test_impossible_range_is_refused(low, high):
    with pytest.raises(ValueError, match="cannot range from"):
        Scale(low, high)
