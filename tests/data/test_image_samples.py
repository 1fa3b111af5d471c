from __future__ import annotations

import pickle

import numpy as np
import pytest
from lazy_array import Lazy

from napari_scsc import FilterBank, samples
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import check_bank, check_lengths, draw_tiles, open_samples
from napari_scsc.errors import Remedy, UserError

FRAMES = np.random.default_rng(0).random((5, 9, 8, 3)).astype(np.float32)
ROLES = ("sample", "shift", "shift", "joint")
TIME_LAPSE = Axes("custom", ("n", "y", "x", "c"), ROLES)
EVERYWHERE = (slice(0, 9), slice(0, 8))


def test_sample_has_joint_values_first_whatever_the_order_of_the_image():
    source = open_samples(FRAMES, None, None, TIME_LAPSE)
    assert source.indices() == [(t,) for t in range(5)]
    assert (source.joint, source.shift, source.n_joint) == ((3,), (9, 8), 3)
    values = source.read((2,), EVERYWHERE)
    np.testing.assert_array_equal(values, np.moveaxis(FRAMES[2], -1, 0))
    region = source.region((2,), EVERYWHERE)
    np.testing.assert_array_equal(source.as_image(values), FRAMES[region])


def test_image_without_sample_axes_is_one_sample():
    assert open_samples(samples.tissue((9, 8)), None, "image", None).indices() == [()]


def test_last_region_is_read_once_and_not_sent_to_others():
    lazy = Lazy(FRAMES)
    source = open_samples(lazy, None, None, TIME_LAPSE)
    before = len(lazy.read)
    for _ in range(3):
        source.read((1,), EVERYWHERE)
        source.missing((1,), EVERYWHERE)
    assert len(lazy.read) == before + 1
    source.without_cache().read((1,), EVERYWHERE)
    assert len(lazy.read) == before + 2
    assert pickle.loads(pickle.dumps(source))._last == {}


def test_tiles_without_a_limit_cover_every_sample_once():
    source = open_samples(FRAMES, None, None, TIME_LAPSE)
    seen = np.zeros(FRAMES.shape, int)
    for index, part in draw_tiles(source, 40, None, seed=0):
        seen[source.region(index, part)] += 1
    assert (seen == 1).all()
    assert len(list(draw_tiles(source, 40, 3, seed=0))) == 3


def with_value(value):
    image = samples.tissue((9, 8)).astype(np.float64)
    image[0, 0] = value
    return image


@pytest.mark.parametrize(
    ("image", "remedy", "words"),
    [
        (with_value(np.inf), Remedy.MARK_INFINITE, "the image holds infinite values"),
        (np.full((9, 8), np.nan), None, "all of the image is missing"),
        (np.full((9, 8), 3), None, r"constant \(every value is 3\)"),
        (
            np.linspace(-1e200, 1e200, 72).reshape(9, 8),
            "scale it to ordinary numbers first",
            "span",
        ),
    ],
)
def test_values_that_cannot_be_restored_are_refused(image, remedy, words):
    with pytest.raises(UserError, match=words) as raised:
        open_samples(image, None, "image", None)
    assert raised.value.message.remedy == remedy


@pytest.mark.parametrize(
    ("axes", "shape", "remedy"),
    [
        (Axes("custom", tuple("tzyx"), ("shift",) * 4), (9,) * 4, Remedy.NAME_ONE_SAMPLE_AXIS),
        (Axes("video", tuple("tyx"), ("shift",) * 3), (1, 9, 9), Remedy.DROP_AXIS),
        (Axes("custom", tuple("cyx"), ("joint", "shift", "shift")), (1, 9, 9), "drop it, and"),
        (Axes("image", tuple("yx"), ("shift", "shift")), (9, 3), None),
    ],
)
def test_axes_that_filters_cannot_slide_along_are_refused(axes, shape, remedy):
    with pytest.raises(UserError) as raised:
        check_lengths(axes, shape)
    found = raised.value.message.remedy
    assert found == remedy or (isinstance(remedy, str) and found.startswith(remedy))


def test_bank_of_another_kind_is_refused_by_name():
    source = open_samples(FRAMES, None, None, TIME_LAPSE)
    with pytest.raises(UserError, match=r"^bank has filters over joint axes") as raised:
        check_bank(FilterBank(np.ones((2, 3, 3))), source)
    assert raised.value.message.argument == "bank"
    with pytest.raises(UserError, match="smaller than the filters of the bank"):
        check_bank(FilterBank(np.ones((2, 3, 10, 3)), 1), source)
    check_bank(FilterBank(np.ones((2, 3, 3, 3)), 1), source)
