"""The dock and the layers of the user, which come, change and go at any time."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import (
    choose,
    errors_raised,
    finish,
    is_ready,
    noisy_cells,
    quietly,
    slow_down,
)
from journey_tools import choose_in, click, run
from napari.layers import Image

from napari_scsc import denoise, inpaint, learn
from napari_scsc.data.axes import PRESETS
from napari_scsc.plugin.layers import guess_axes
from napari_scsc.plugin.sections.learn_section import PATCHES

pytestmark = pytest.mark.screen


def listed(dock):
    picker = dock.source_section.picker
    return [picker.itemText(row) for row in range(picker.count())]


def test_list_of_sources_follows_the_layers(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="a")
    assert dock.sources == ["a"]
    dock.sources = ["a"]
    viewer.add_image(noisy_cells(), name="b")
    viewer.add_labels(np.zeros((64, 64), int), name="labels")
    viewer.add_points(np.zeros((1, 2)))
    assert listed(dock) == ["b", "a"]
    assert dock.sources == ["a"]
    viewer.layers["a"].name = "first"
    assert dock.sources == ["first"]
    dock.sources = ["first", "b"]
    assert listed(dock) == dock.sources == ["b", "first"]  # the order is napari's
    viewer.layers.move(viewer.layers.index("first"), len(viewer.layers))
    assert listed(dock) == dock.sources == ["first", "b"]
    del viewer.layers["b"]
    assert dock.sources == ["first"]
    viewer.add_image(noisy_cells(), name="c")
    del viewer.layers["first"]
    assert dock.sources == ["c"]
    viewer.layers.clear()
    assert dock.sources == listed(dock) == []
    assert not dock.run_section.main_button.isEnabled()
    viewer.add_image(noisy_cells(), name="d")
    assert dock.sources == ["d"]
    assert is_ready(dock)
    with pytest.raises(ValueError, match="no image layer is called 'x'"):
        dock.sources = ["x"]


def test_image_of_truth_values_is_a_mask_and_takes_the_tick_from_nobody(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="a")
    for name, shape in (("same shape", (64, 64)), ("other shape", (48, 80))):
        viewer.add_image(np.zeros(shape, bool), name=name)
        assert dock.sources == ["a"]
        assert is_ready(dock)
    dock.sources = ["a", "other shape"]
    assert not dock.run_section.main_button.isEnabled()
    assert dock.run_section.main_button.toolTip().startswith("other shape: ")
    assert dock.about.startswith("other shape: ")
    dock.sources = ["same shape"]
    viewer.add_image(noisy_cells((32, 32)), name="b")
    assert dock.sources == ["b"]


def test_results_and_filters_are_no_sources(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality, dock.residual = "fast", True
    dock.denoise()
    finish(dock)
    choose(dock, "Filters to layer")
    assert len(viewer.layers) == 4
    assert listed(dock) == ["mine"]


def test_every_ticked_layer_is_restored(make_light_dock):
    viewer, dock = make_light_dock()
    for name in "abc":
        viewer.add_image(noisy_cells(), name=name)
    dock.sources, dock.quality = ["b", "c"], "fast"
    dock.denoise()
    finish(dock)
    made = ["c · denoised", "b · denoised"]
    assert [layer.name for layer in viewer.layers] == ["a", "b", "c", *made]
    assert [layer.name for layer in dock.results] == made


def test_what_is_said_of_a_layer_follows_its_data_and_labels(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    assert "64 x 64" in dock.about
    viewer.layers["mine"].data = noisy_cells((32, 48)).astype(np.float32)
    assert "32 x 48" in dock.about
    viewer.layers["mine"].data = np.zeros((3, 32, 48), np.float32)
    assert dock.axes.roles == ("sample", "shift", "shift")
    viewer.layers["mine"].axis_labels = ("z", "y", "x")
    assert "stack" in dock.about
    assert dock.axes == PRESETS["stack"]


def test_changes_while_a_job_runs_do_not_reach_it(make_dock):
    image = noisy_cells()
    before = image.copy()
    viewer, dock = make_dock(image, name="mine", axis_labels=("y", "x"))
    viewer.add_image(noisy_cells((40, 40)), name="other")
    layer = viewer.layers["mine"]
    dock.quality, dock.sources = "fast", ["mine"]
    dock.denoise()
    dock.pause()
    layer.name = "called otherwise"
    layer.axis_labels = ("x", "y")
    layer.scale = (3, 3)
    layer.data = np.zeros((20, 20, 20), np.uint8)
    viewer.layers.reverse()
    viewer.add_image(noisy_cells((24, 24)), name="new")
    viewer.layers.remove(layer)
    dock.pause()
    finish(dock)
    np.testing.assert_array_equal(dock.result.data, denoise(before, quality="fast"))
    np.testing.assert_allclose(dock.result.scale, (1, 1))
    assert dock.result.axis_labels == ("y", "x")
    np.testing.assert_array_equal(image, before)
    assert is_ready(dock)
    assert not errors_raised()


def test_mask_is_the_one_at_the_start(make_light_dock):
    image = noisy_cells()
    viewer, dock = make_light_dock(image, name="mine")
    holes = np.zeros(image.shape, int)
    holes[10:13, 10:40] = 1
    before = holes.copy()
    labels = viewer.add_labels(holes, name="holes")
    dock.quality, dock.missing_layer = "fast", "holes"
    dock.inpaint()
    dock.pause()
    labels.data_setitem(np.nonzero(np.eye(64)), 2)
    labels.paint((50, 50), 3)
    viewer.layers.remove(labels)
    dock.pause()
    finish(dock)
    assert np.count_nonzero(labels.data) > np.count_nonzero(before) + 60
    np.testing.assert_array_equal(dock.result.data, inpaint(image, before > 0, quality="fast"))


def test_learning_from_several_layers_survives_what_happens_to_them(make_light_dock):
    images = [noisy_cells((48, 64)), noisy_cells((64, 48)), noisy_cells((40, 40))]
    viewer, dock = make_light_dock()
    for name, image in zip("abc", images, strict=True):
        viewer.add_image(image, name=name)
    dock.sources, dock.model = ["a", "c"], PATCHES
    dock.learn()
    dock.pause()
    dock.sources = ["b"]
    viewer.layers["c"].name = "d"
    viewer.layers["d"].data = np.zeros((30, 30, 30))
    del viewer.layers["a"]
    dock.pause()
    finish(dock)
    assert dock.bank.id == learn([images[2], images[0]], tiles=16, seed=0).id
    assert is_ready(dock)


def test_layers_that_cannot_be_learned_from_together_are_told(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="a")
    viewer.add_image(np.random.default_rng(0).normal(size=(5, 32, 32)), name="b")
    dock.sources = ["a", "b"]
    dock.attempt(dock.learn)
    finish(dock)
    assert "did not work" in dock.message
    dock.sources = ["a"]
    assert is_ready(dock)


def test_result_that_is_deleted_while_it_fills_does_not_come_back(
    make_light_dock, qtbot, monkeypatch
):
    slow_down(monkeypatch)
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    viewer.layers.remove("mine · denoised")
    reached = dock.progress
    qtbot.waitUntil(lambda: dock.progress > reached + 0.05, timeout=5000)
    dock.stop()
    finish(dock, 10)
    assert [layer.name for layer in viewer.layers] == ["mine"]
    assert is_ready(dock)
    assert not errors_raised()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [("tyx", "video"), ("zyx", "stack"), ("cyx", "multispectral"), (("band", "y", "x"), None)],
)
def test_kind_is_guessed_from_the_labels(labels, kind):
    layer = Image(np.zeros((5, 20, 20)), axis_labels=tuple(labels))
    assert guess_axes(layer) == PRESETS[kind or "multispectral"]


def test_roles_are_corrected_by_the_boxes_of_one_layer_only(make_light_dock, qtbot):
    volume = np.random.default_rng(0).normal(size=(5, 32, 32)).astype(np.float32)
    viewer, dock = make_light_dock(volume, name="a", axis_labels=("z", "y", "x"))
    viewer.add_image(volume, name="b", axis_labels=("z", "y", "x"))
    dock.sources = ["a"]
    boxes = dock.source_section._boxes
    assert [box.value for box in boxes[:3]] == ["together"] * 3
    boxes[0].value = "each by itself"
    assert dock.axes.roles == ("sample", "shift", "shift")
    qtbot.waitUntil(lambda: boxes[0].value == "each by itself", timeout=1000)
    dock.sources = ["b"]
    assert dock.axes == PRESETS["stack"]
    assert boxes[0].value == "together"
    dock.sources = ["a"]
    assert boxes[0].value == "each by itself"
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    expected = quietly(denoise, volume, kind="time-lapse", quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)
    dock.kind = "multispectral"
    assert dock.axes == PRESETS["multispectral"]
    assert boxes[0].value == "joined"


def test_no_axis_to_slide_along_is_refused(make_light_dock, qtbot):
    _, dock = make_light_dock(noisy_cells(), name="a")
    boxes = dock.source_section._boxes
    boxes[0].value = "joined"
    boxes[1].value = "joined"
    assert "slide" in dock.message
    qtbot.waitUntil(lambda: boxes[1].value == "together", timeout=1000)
    assert dock.axes.roles == ("joint", "shift")


def test_kind_with_other_axes_than_the_layer_is_said_in_words(make_light_dock):
    _, dock = make_light_dock(noisy_cells(), name="mine")
    for kind in ("stack", "light-field"):
        dock.kind = kind
        dock.attempt(dock.denoise)
        finish(dock)
        for words in (dock.about, dock.message, dock.run_section.main_button.toolTip()):
            assert kind in words
            assert ", ".join(PRESETS[kind].labels) in words
            assert "zip()" not in words
    dock.kind = "guess"
    assert is_ready(dock)


FIVE = {  # what becomes of (t, c, z, y, x)
    "image": "nnnss",
    "video": "snnss",
    "stack": "nnsss",
    "multispectral": "njnss",
    "time-lapse": "nnnss",
}


@pytest.mark.parametrize("labels", [("t", "c", "z", "y", "x"), None])
def test_every_kind_that_can_be_chosen_for_five_axes_works(make_dock, qtbot, labels):
    looks = {} if labels is None else {"axis_labels": labels}
    _, dock = make_dock(noisy_cells((5, 2, 6, 40, 48)), show=True, **looks)
    qtbot.waitUntil(dock.run_section.main_button.isVisible, timeout=5000)
    section = dock.source_section
    click(section._edit)
    for kind in PRESETS:
        choose_in(section.kind, kind)
        assert is_ready(dock), (kind, dock.about)
        if labels is not None and kind in FIVE:
            roles = "".join({"sample": "n"}.get(role, role[0]) for role in dock.axes.roles)
            assert (kind, roles) == (kind, FIVE[kind])
            assert dock.axes.labels == labels
    choose_in(section.kind, "stack")
    assert dock.axes.roles[-3:] == ("shift",) * 3
    assert "each by itself" in dock.about
    dock.quality = "draft"
    run(dock)
    assert dock.result.data.shape == (5, 2, 6, 40, 48)


def test_kinds_of_more_axes_than_the_layer_cannot_be_chosen(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells((6, 40, 48)), name="three")
    viewer.add_image(noisy_cells((40, 48)), name="two")
    viewer.add_image(np.zeros((4, 40, 48, 3), np.uint8), rgb=True, name="colours")
    box = dock.source_section.kind

    def offered():
        items = [box.native.model().item(row) for row in range(len(box.choices))]
        return {kind for kind, item in zip(box.choices, items, strict=True) if item.isEnabled()}

    dock.sources = ["two"]
    assert offered() == {"guess", "image"}
    dock.sources = ["three"]
    assert offered() == {"guess", *PRESETS} - {"light-field"}
    dock.sources = ["colours"]
    dock.kind = "stack"
    assert dock.axes.roles == ("shift", "shift", "shift", "joint")
    dock.kind = "image"
    assert dock.axes.roles == ("sample", "shift", "shift", "joint")


def test_more_axes_than_filters_can_slide_along_is_said_in_words(make_light_dock, qtbot):
    series = np.random.default_rng(0).normal(size=(4, 4, 20, 20)).astype(np.float32)
    _, dock = make_light_dock(series, name="series", axis_labels=("t", "z", "y", "x"))
    assert dock.axes.roles == ("sample", "shift", "shift", "shift")
    box = dock.source_section._boxes[0]
    box.value = "together"
    assert "up to three axes" in dock.message
    qtbot.waitUntil(lambda: box.value == "each by itself", timeout=1000)
    assert is_ready(dock)


@pytest.mark.parametrize(
    ("part", "labels"),
    [(np.s_[None], None), (np.s_[None], ("z", "y", "x")), (np.s_[None, None], None)],
)
def test_axes_of_length_one_are_no_question(make_light_dock, part, labels):
    image = noisy_cells()
    looks = {} if labels is None else {"axis_labels": labels}
    viewer, dock = make_light_dock(image, name="plain")
    viewer.add_image(image[part], name="as the microscope wrote it", **looks)
    results = []
    for name in ("plain", "as the microscope wrote it"):
        dock.sources = [name]
        dock.bank = None
        dock.denoise()
        finish(dock)
        results.append(dock.result.data)
    np.testing.assert_array_equal(results[1], results[0][part])
