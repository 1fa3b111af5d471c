from __future__ import annotations

import itertools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from napari_scsc.choices import KINDS
from napari_scsc.data import axes as axes_module
from napari_scsc.data.axes import PRESETS, Axes, propose_axes, resolve
from napari_scsc.data.axis_descriptions import describe_axes, explain_axes
from napari_scsc.data.samples import check_lengths
from napari_scsc.errors import Remedy, UserError


@pytest.mark.parametrize(
    ("shape", "given", "kind", "roles"),
    [
        ((9, 9), {}, "image", "ss"),
        ((100,), {}, "custom", "s"),
        ((64, 64, 3), {}, "rgb", "ssj"),
        ((64, 64, 3), {"rgb": True}, "rgb", "ssj"),
        ((8, 8, 96, 96), {}, "light-field", "jjss"),
        ((50, 64, 64), {"kind": "video"}, "video", "sss"),
        ((50, 64, 64), {"kind": "time-lapse"}, "time-lapse", "nss"),
        ((50, 64, 64), {"name": "my_stack_01"}, "stack", "sss"),
        ((31, 64, 64), {"name": "Hyperspectral scene"}, "multispectral", "jss"),
        ((5, 64, 64), {"labels": ("t", "y", "x")}, "video", "sss"),
        ((5, 64, 64), {"labels": ("z", "y", "x")}, "stack", "sss"),
        ((5, 64, 64), {"labels": ("channel", "row", "column")}, "multispectral", "jss"),
        ((64, 64, 31), {"axes": "yxc", "kind": "multispectral"}, "multispectral", "ssj"),
        ((64, 64, 3), {"axes": "yxc"}, "rgb", "ssj"),
        ((2, 5, 9, 9), {"axes": "tzyx"}, "custom", "nsss"),
        ((2, 5, 9, 9), {"axes": "nzyx"}, "custom", "nsss"),
    ],
)
def test_axes_are_understood(shape, given, kind, roles):
    axes = resolve(shape, **given)
    assert axes.kind == kind
    assert "".join({"shift": "s", "joint": "j", "sample": "n"}[r] for r in axes.roles) == roles


@pytest.mark.parametrize(
    ("shape", "given", "message"),
    [
        ((50, 64, 64), {}, "can be video, stack, multispectral or time-lapse: say which"),
        ((50, 64, 64), {"labels": ("-3", "-2", "-1")}, "say which"),
        ((2, 3, 4, 5, 6), {}, "no usual kind"),
        ((9, 9), {"kind": "video"}, r"video data have 3 axes \(t, y, x\)"),
        ((9, 9), {"kind": "picture"}, "kind must be one of 'image'"),
        ((9, 9), {"axes": "yxz"}, "names 3 axes"),
        ((9, 9), {"axes": "yk"}, "'k' is not known"),
        ((9, 9), {"axes": "yy"}, "same axis twice"),
        ((9, 9, 9), {"axes": "zyx", "kind": "video"}, "video data have the axes t, y, x"),
        ((9, 9), {"axes": "cn"}, "1 to 4 axes to slide along"),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(shape, given, message):
    with pytest.raises(ValueError, match=message):
        resolve(shape, **given)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_there_and_back_in_any_order(preset):
    array = np.arange(np.prod(range(2, 2 + len(preset.labels)))).reshape(
        tuple(range(2, 2 + len(preset.labels)))
    )
    for letters in (preset.labels, preset.labels[::-1]):
        axes = resolve(array.shape, preset.kind, letters)
        samples = axes.to_samples(array)
        np.testing.assert_array_equal(axes.from_samples(samples), array)
        assert samples.base is not None  # a view: nothing is copied
        order = [axes.roles[i] for i in axes.order()]
        assert order == sorted(order, key=["sample", "joint", "shift"].index)
        assert axes.count("shift") == order.count("shift")


def test_presets_are_the_kinds_that_can_be_chosen():
    assert tuple(PRESETS) == KINDS
    assert set(axes_module._KINDS) == set(KINDS)
    assert all(preset.kind == kind for kind, preset in PRESETS.items())


@pytest.mark.parametrize("kind", KINDS)
def test_words_in_a_name_tell_the_kind(kind):
    shape = (5,) * len(PRESETS[kind].labels)
    for word in axes_module._KINDS[kind].words:
        assert resolve(shape, name=f"my_{word.upper()}_01").kind == kind


def test_more_particular_words_come_first():
    assert resolve((5, 9, 9), name="time-lapse movie").kind == "time-lapse"
    assert resolve((5, 9, 9), name="video of spectral bands").kind == "multispectral"


@pytest.mark.parametrize(
    ("shape", "given", "argument", "remedy"),
    [
        ((50, 64, 64), {}, None, Remedy.SAY_KIND_OR_AXES),
        ((2, 3, 4, 5, 6), {}, None, Remedy.NAME_AXES),
        ((9, 9), {"kind": "video"}, None, Remedy.NAME_AXES),
        ((9, 9), {"kind": "picture"}, "kind", None),
        ((9, 9), {"kind": ["image"]}, "kind", None),
        ((9, 9), {"axes": "yxz"}, "axes", None),
        ((9, 9), {"axes": "yk"}, "axes", None),
        ((9, 9), {"axes": "yy"}, "axes", None),
        ((9, 9, 9), {"axes": PRESETS["image"]}, "axes", None),
    ],
)
def test_errors_say_what_they_are_about_and_what_would_help(shape, given, argument, remedy):
    with pytest.raises(UserError) as raised:
        resolve(shape, **given)
    assert raised.value.message.argument == argument
    assert raised.value.message.remedy == remedy


def test_each_axis_has_a_label_and_a_role():
    with pytest.raises(UserError, match="labels are 2 for 1 roles"):
        Axes("custom", ("y", "x"), ("shift",))


# --- more than three axes ------------------------------------------------------------------------


def roles_by_letter(axes):
    return dict(zip(axes.labels, axes.roles, strict=True))


@pytest.mark.parametrize("letters", ["tczyx", "tzyx", "czyx", "tcyx", "ntczyx", "ntzyx", "nczyx"])
def test_time_points_and_channels_are_separate_in_any_order(letters):
    for ordered in itertools.permutations(letters):
        if ordered[-1] == "c":
            continue
        axes = resolve((2, 2, 5, 9, 9, 9)[: len(letters)], axes="".join(ordered))
        expected = {x: "shift" if x in "zyx" else "sample" for x in letters}
        assert roles_by_letter(axes) == expected


@pytest.mark.parametrize(
    ("letters", "shape", "roles"),
    [
        ("tyxc", (5, 9, 9, 3), "nssj"),
        ("zyxc", (5, 9, 9, 3), "sssj"),
        ("tzyxc", (5, 5, 9, 9, 4), "nsssj"),
        ("zyxc", (5, 9, 9, 2), "sssn"),
        ("tuvyx", (5, 3, 3, 9, 9), "njjss"),
        ("uvyxc", (3, 3, 9, 9, 3), "jjssj"),
        ("ntyx", (5, 9, 9, 9), "nsss"),
        ("ncyx", (5, 9, 9, 9), "njss"),
        ("nnyx", (2, 3, 9, 9), "nnss"),
        ("nnncyx", (2, 3, 2, 4, 9, 9), "nnnjss"),
    ],
)
def test_colours_and_views_stay_joined(letters, shape, roles):
    axes = resolve(shape, axes=letters)
    assert "".join({"shift": "s", "joint": "j", "sample": "n"}[r] for r in axes.roles) == roles
    assert len(set(axes.labels)) == len(axes.labels)


@pytest.mark.parametrize("n", range(1, 7))
def test_filters_slide_along_three_axes_at_the_most(n):
    for letters in itertools.permutations("ntczuvyx", n):
        with suppress(UserError):
            assert resolve((9,) * n, axes="".join(letters)).count("shift") <= 3


def test_an_axis_can_have_a_role_of_its_own():
    spelled = "t, c:joint, z, y, x"
    axes = resolve((3, 2, 5, 9, 9), axes=spelled)
    assert axes.roles == ("sample", "joint", "shift", "shift", "shift")
    for same in (spelled.split(", "), spelled.replace(",", ""), spelled.replace(":", " : ")):
        assert resolve((3, 2, 5, 9, 9), axes=same) == axes
    assert resolve((3, 9, 9), axes="t:separate,y,x") == PRESETS["time-lapse"]
    assert resolve((3, 9, 9), axes="t y x") == PRESETS["video"]
    assert resolve((9, 9, 3), axes="y:slide x c").kind == "rgb"


@pytest.mark.parametrize(
    ("axes", "kind", "message"),
    [
        ("t:slow,y,x", None, "'slow' is no role of an axis; roles are slide, joint, separate"),
        ("t:,y,x", None, "'' is no role"),
        ("k:joint,y,x", None, "'k' is not known"),
        ("t:joint,t,x", None, "same axis twice"),
        ("t:joint,y", None, "names 2 axes"),
        ("t:joint,y,x", "video", "says roles .* and so does kind"),
    ],
)
def test_roles_that_cannot_be_are_refused(axes, kind, message):
    with pytest.raises(UserError, match=message) as raised:
        resolve((9, 9, 9), kind, axes)
    assert raised.value.message.argument == "axes"


# --- proposals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "given", "roles"),
    [
        ((9, 9), {}, "ss"),
        ((50, 64, 64), {}, "sss"),
        ((4, 64, 64), {}, "nss"),
        ((50, 7, 64, 64), {}, "nsss"),
        ((50, 4, 64, 64), {}, "nnss"),
        ((3, 2, 20, 64, 64), {}, "nnsss"),
        ((3, 20, 2, 64, 64), {}, "nnnss"),
        ((1, 1, 20, 64, 64), {}, "nnsss"),
        ((50, 64, 64, 3), {"rgb": True}, "sssj"),
        ((2, 64, 64, 3), {"rgb": True}, "nssj"),
        ((9, 2, 20, 64, 64), {"labels": tuple("tczyx")}, "nnsss"),
        ((50, 64, 64), {"name": "time-lapse"}, "nss"),
    ],
)
def test_axes_that_nobody_has_labelled_are_proposed(shape, given, roles):
    axes = propose_axes(shape, **given)
    assert "".join({"shift": "s", "joint": "j", "sample": "n"}[r] for r in axes.roles) == roles


@given(
    outer=st.lists(st.integers(1, 40), max_size=6),
    rgb=st.booleans(),
    labels=st.none() | st.lists(st.sampled_from(["t", "y", "axis 0", "stage", "-1", ""])),
)
def test_a_proposal_always_works(outer, rgb, labels):
    shape = (*outer, 64, 48, 3) if rgb else (*outer, 64, 48)
    axes = propose_axes(shape, labels=labels, rgb=rgb)
    assert len(axes.labels) == len(set(axes.labels)) == len(shape)
    assert all(axes.labels)
    check_lengths(axes, shape)
    assert describe_axes(axes, shape)
    assert explain_axes(axes)


def test_a_proposal_keeps_the_names_that_there_are():
    axes = propose_axes((3, 9, 64, 64), labels=("stage", "-3", "-2", "-1"))
    assert axes.labels == ("stage", "z", "y", "x")


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "shape", "words"),
    [
        ("tczyx", (9, 2, 30, 64, 64), "time-lapse of stacks, 2 channels"),
        ("tczyx", (9, 1, 30, 64, 64), "time-lapse of stacks"),
        ("zyx", (30, 64, 64), "stack"),
        ("czyx", (2, 30, 64, 64), "stack, 2 channels"),
        ("tyx", (30, 64, 64), "video"),
        ("t:separate,y,x", (30, 64, 64), "time-lapse"),
        ("tcyx", (9, 2, 64, 64), "time-lapse, 2 channels"),
        ("c:separate,y,x", (3, 64, 64), "3 channels"),
        ("nzyx", (5, 30, 64, 64), "5 positions of a stack"),
        ("nntcyx", (5, 4, 3, 2, 64, 64), "5 x 4 positions of a time-lapse, 2 channels"),
        ("nyx", (5, 64, 64), "5 images"),
        ("uvyx", (3, 3, 64, 64), "light field"),
        ("uvyxc", (3, 3, 64, 64, 3), "colour light field"),
        ("tuvyx", (5, 3, 3, 64, 64), "time-lapse of light fields"),
        ("cyx", (31, 64, 64), "multispectral, 31 bands"),
        ("yxc", (64, 64, 3), "colour image"),
        ("tyxc", (5, 64, 64, 3), "time-lapse of colour images"),
        ("c:joint,z,y,x", (2, 9, 64, 64), "stack, 2 bands"),
        ("z:separate,y,x", (9, 64, 64), "9 planes"),
        ("yx", (64, 64), "image"),
        ("x", (64,), "line"),
    ],
)
def test_data_are_described_in_words_that_users_know(axes, shape, words):
    assert describe_axes(resolve(shape, axes=axes), shape) == words


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ("tczyx", "t, c each by itself; z, y, x together"),
        ("t,y,x,c:joint", "t each by itself; c joined; y, x together"),
        ("zyx", "z, y, x together"),
    ],
)
def test_roles_are_explained_in_words(axes, words):
    n = len(axes_module.split_axes(axes))
    assert explain_axes(resolve((9,) * n, axes=axes)) == words


def test_kind_that_contradicts_the_axes_is_refused():
    axes = Axes("stack", ("z", "y", "x"), ("shift", "shift", "shift"))
    assert resolve((9, 8, 7), "stack", axes) == axes
    with pytest.raises(ValueError, match=r"kind is .video., but the axes .* .stack."):
        resolve((9, 8, 7), "video", axes)
