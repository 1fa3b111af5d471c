from __future__ import annotations

import numpy as np
import pytest

from napari_scsc.choices import KINDS
from napari_scsc.data import axes as axes_module
from napari_scsc.data.axes import PRESETS, Axes, resolve
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
        ((2, 5, 9, 9), {"axes": "tzyx"}, "custom", "ssss"),
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
