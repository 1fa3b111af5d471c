"""Only the surroundings of what is missing are worked on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc.restore.fill import surrounding_boxes


def boxes_of(wanted, around):
    return list(surrounding_boxes(wanted, around))


def test_columns_far_from_each_other_have_boxes_of_their_own():
    wanted = np.zeros((100, 200), bool)
    wanted[:, 20:22] = wanted[:, 150] = True
    assert boxes_of(wanted, (10, 10)) == [np.s_[0:100, 10:32], np.s_[0:100, 140:161]]


def test_gaps_near_each_other_share_a_box():
    wanted = np.zeros((100, 100), bool)
    wanted[40:44, 40:44] = wanted[50:54, 50:54] = True
    assert boxes_of(wanted, (10, 10)) == [np.s_[30:64, 30:64]]


def test_gaps_that_only_another_cut_tells_apart_are_told_apart():
    """Neither axis alone has a gap that is empty, until the other was cut."""
    wanted = np.zeros((100, 100), bool)
    wanted[0:60, 0:4] = wanted[40:100, 90:94] = True
    assert boxes_of(wanted, (5, 5)) == [np.s_[0:65, 0:9], np.s_[35:100, 85:99]]


def test_nothing_wanted_needs_no_box():
    assert boxes_of(np.zeros((20, 30), bool), (4, 4)) == []


@pytest.mark.parametrize("shape", [(60,), (40, 50), (12, 20, 16)])
@given(seed=st.integers(0, 99), share=st.sampled_from([0.001, 0.01, 0.1]))
@settings(max_examples=20, deadline=None)
def test_all_that_is_wanted_lies_in_one_box_with_room_around(shape, seed, share):
    wanted = np.random.default_rng(seed).random(shape) < share
    around = (3,) * len(shape)
    count = np.zeros(shape, int)
    for box in boxes_of(wanted, around):
        inside = np.zeros(shape, bool)
        inside[box] = True
        # What is wanted in a box, and not in the room around, is that box's own.
        core = tuple(
            slice(b.start + (3 if b.start else 0), b.stop - (3 if b.stop < n else 0))
            for b, n in zip(box, shape, strict=True)
        )
        count[core] += wanted[core]
    np.testing.assert_array_equal(count >= 1, wanted)
