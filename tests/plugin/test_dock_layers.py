"""The dock and the layers of the user, which come, change and go at any time."""

from __future__ import annotations

import threading

import dask.array as da
import numpy as np
import pytest
from dock_tools import (
    complaints,
    errors_raised,
    finish,
    is_ready,
    noisy_cells,
    quietly,
    slow_down,
    slow_learning,
)
from napari.layers import Image, Labels, Shapes

from napari_scsc import denoise, inpaint, learn
from napari_scsc.data.axes import PRESETS
from napari_scsc.plugin.layers import missing_from

pytestmark = pytest.mark.screen


def listed(dock):
    return [item.text() for _, item in dock.source_section._items()]


class Overlaps:
    """Counts how many restorations run at once, each of which takes a while to stop."""

    def __init__(self, monkeypatch):
        from napari_scsc.plugin import recipes
        from napari_scsc.run.updates import RestoreUpdate

        self.now = self.most = 0
        self.strengths = []
        lock = threading.Lock()

        def updates(request, image, missing, out, tick):
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
                self.strengths.append(request.options["strength"])
            try:
                region = tuple(slice(0, n) for n in np.shape(image))
                for i in range(100):
                    threading.Event().wait(0.1)
                    tick()
                    out[region] = i
                    yield RestoreUpdate("restore", 0.5, "half", region=region, values=out[region])
            finally:
                with lock:
                    self.now -= 1

        monkeypatch.setattr(recipes.Restore, "updates", updates)


# --- layers come, change and go -------------------------------------------------------------------


def test_list_of_sources_follows_the_layers(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="a")
    assert dock.sources == ["a"]
    dock.sources = ["a"]
    viewer.add_image(noisy_cells(), name="b")
    viewer.add_labels(np.zeros((64, 64), int), name="labels")
    viewer.add_points(np.zeros((1, 2)))
    assert listed(dock) == ["a", "b"]
    assert dock.sources == ["a"]
    viewer.layers["a"].name = "first"
    assert dock.sources == ["first"]
    dock.sources = ["first", "b"]
    viewer.layers.move(viewer.layers.index("first"), len(viewer.layers))
    assert listed(dock) == dock.sources == ["b", "first"]
    del viewer.layers["b"]
    assert dock.sources == ["first"]
    viewer.add_image(noisy_cells(), name="c")
    del viewer.layers["first"]
    assert dock.sources == ["c"]
    viewer.layers.clear()
    assert dock.sources == listed(dock) == []
    assert not dock.foot.restore_button.isEnabled()
    viewer.add_image(noisy_cells(), name="d")
    assert dock.sources == ["d"]
    assert is_ready(dock)
    with pytest.raises(ValueError, match="no image layer is called 'x'"):
        dock.sources = ["x"]


def test_results_and_filters_are_no_sources(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality, dock.residual = "fast", True
    dock.denoise()
    finish(dock)
    dock.foot.layer_button.click()
    assert len(viewer.layers) == 4
    assert listed(dock) == ["mine"]


def test_first_of_several_ticked_layers_is_restored(make_light_dock):
    viewer, dock = make_light_dock()
    for name in "abc":
        viewer.add_image(noisy_cells(), name=name)
    dock.sources, dock.quality = ["b", "c"], "fast"
    dock.denoise()
    finish(dock)
    assert [layer.name for layer in viewer.layers] == ["a", "b", "c", "b · denoised"]


def test_what_is_said_of_a_layer_follows_its_data_and_labels(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    assert "64 x 64 uint16" in dock.about
    viewer.layers["mine"].data = noisy_cells((32, 48)).astype(np.float32)
    assert "32 x 48 float32" in dock.about
    viewer.layers["mine"].data = np.zeros((5, 32, 48), np.float32)
    assert "kind" in dock.about
    assert not dock.foot.restore_button.isEnabled()
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
    dock.sources = ["a", "c"]
    dock.learn()
    dock.pause()
    dock.sources = ["b"]
    viewer.layers["c"].name = "d"
    viewer.layers["d"].data = np.zeros((30, 30, 30))
    del viewer.layers["a"]
    dock.pause()
    finish(dock)
    assert dock.bank.id == learn([images[0], images[2]], tiles=16, seed=0).id
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


def test_two_presses_at_once_start_one_job(make_dock, qtbot, monkeypatch):
    from qtpy.QtCore import QTimer

    overlaps = Overlaps(monkeypatch)
    _, dock = make_dock(noisy_cells(), name="mine")
    QTimer.singleShot(0, dock.foot.restore_button.click)
    dock.attempt(dock.denoise)
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    assert len(overlaps.strengths) == 1
    dock.stop()
    finish(dock, 10)
    assert overlaps.now == 0


# --- kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "kind"),
    [("tyx", "video"), ("zyx", "stack"), ("cyx", "multispectral"), (("band", "y", "x"), None)],
)
def test_kind_is_guessed_from_the_labels(labels, kind):
    from napari_scsc.plugin.layers import guess

    layer = Image(np.zeros((5, 20, 20)), axis_labels=tuple(labels))
    assert guess(layer) == PRESETS[kind or "multispectral"]


def test_roles_are_corrected_by_the_boxes_of_one_layer_only(make_light_dock, qtbot):
    volume = np.random.default_rng(0).normal(size=(5, 32, 32)).astype(np.float32)
    viewer, dock = make_light_dock(volume, name="a", axis_labels=("z", "y", "x"))
    viewer.add_image(volume, name="b", axis_labels=("z", "y", "x"))
    dock.sources = ["a"]
    boxes = dock.source_section._boxes
    assert [box.value for box in boxes[:3]] == ["slide"] * 3
    boxes[0].value = "separate"
    assert dock.axes.roles == ("sample", "shift", "shift")
    qtbot.waitUntil(lambda: boxes[0].value == "separate", timeout=1000)
    dock.sources = ["b"]
    assert dock.axes == PRESETS["stack"]
    assert boxes[0].value == "slide"
    dock.sources = ["a"]
    assert boxes[0].value == "separate"
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    expected = quietly(denoise, volume, kind="time-lapse", quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)
    dock.kind = "multispectral"
    assert dock.axes == PRESETS["multispectral"]
    assert boxes[0].value == "span"


def test_no_axis_to_slide_along_is_refused(make_light_dock, qtbot):
    _, dock = make_light_dock(noisy_cells(), name="a")
    boxes = dock.source_section._boxes
    boxes[0].value = "span"
    boxes[1].value = "span"
    assert "slide" in dock.message
    qtbot.waitUntil(lambda: boxes[1].value == "slide", timeout=1000)
    assert dock.axes.roles == ("joint", "shift")


def test_kind_with_other_axes_than_the_layer_is_said_in_words(make_light_dock):
    _, dock = make_light_dock(noisy_cells(), name="mine")
    for kind in ("stack", "light-field"):
        dock.kind = kind
        dock.attempt(dock.denoise)
        finish(dock)
        for words in (dock.about, dock.message, dock.foot.restore_button.toolTip()):
            assert kind in words
            assert ", ".join(PRESETS[kind].labels) in words
            assert "zip()" not in words
    dock.kind = "guess"
    assert is_ready(dock)


def test_more_axes_than_filters_can_slide_along_is_said_in_words(make_light_dock):
    series = np.random.default_rng(0).normal(size=(4, 4, 20, 20)).astype(np.float32)
    viewer, dock = make_light_dock(noisy_cells(), name="good")
    viewer.add_image(series, name="series", axis_labels=("t", "z", "y", "x"))
    dock.sources = ["series"]
    dock.attempt(dock.denoise)
    finish(dock)
    for words in (dock.about, dock.message):
        assert "slide" in words
        assert "zip()" not in words
    dock.sources = ["good"]
    assert is_ready(dock)


# --- masks ----------------------------------------------------------------------------------------

BOX = np.array([[9.5, 4.5], [9.5, 20.5], [13.5, 20.5], [13.5, 4.5]])  # around whole pixels
IN_BOX = np.zeros((40, 50), bool)
IN_BOX[10:14, 5:21] = True


def test_labels_mark_what_is_missing():
    labels = np.zeros((40, 50), int)
    labels[IN_BOX] = np.arange(1, IN_BOX.sum() + 1)
    for image, expected in (
        (Image(np.ones((40, 50))), IN_BOX),
        (Image(np.ones((3, 40, 50))), np.broadcast_to(IN_BOX, (3, 40, 50))),
        (Image(np.ones((40, 50, 3)), rgb=True), np.broadcast_to(IN_BOX[..., None], (40, 50, 3))),
        (Image([np.ones((40, 50)), np.ones((20, 25))], multiscale=True), IN_BOX),
    ):
        np.testing.assert_array_equal(missing_from(Labels(labels), image), expected)


@pytest.mark.parametrize("shape_type", ["rectangle", "polygon"])
@pytest.mark.parametrize(
    "place",
    [
        {},
        {"scale": (0.5, 0.25)},
        {"scale": (2, 3), "translate": (-7, 11), "units": ("um", "um")},
        {"rotate": 30, "translate": (5, 5)},
        {
            "scale": (0.3, 0.3),
            "rotate": 20,
            "shear": [0.2],
            "affine": [[1, 0, 4], [0, 2, 1], [0, 0, 1]],
        },
    ],
)
def test_shapes_mark_what_they_are_drawn_over(shape_type, place):
    image = Image(np.ones((40, 50)), **place)
    world = np.array([image.data_to_world(v) for v in BOX])
    drawn = Shapes([world], shape_type=shape_type)
    np.testing.assert_array_equal(missing_from(drawn, image), IN_BOX)
    scaled = Shapes([world / 4], shape_type=shape_type, scale=(4, 4))
    np.testing.assert_array_equal(missing_from(scaled, image), IN_BOX)


@pytest.mark.parametrize("shape_type", ["rectangle", "polygon", "ellipse"])
def test_shapes_on_a_plane_of_a_stack_mark_that_plane(shape_type):
    inside = missing_from(Shapes([BOX], shape_type=shape_type), Image(np.ones((40, 50))))
    assert inside.any()
    for thickness in (0.1, 0.7, 3):
        image = Image(np.ones((12, 40, 50)), scale=(thickness, 1, 1))
        for plane in (0, 3, 6, 11):
            height = image.data_to_world((plane, 0, 0))[0]
            drawn = Shapes([np.column_stack([np.full(4, height), BOX])], shape_type=shape_type)
            expected = np.zeros((12, 40, 50), bool)
            expected[plane] = inside
            np.testing.assert_array_equal(missing_from(drawn, image), expected)


def test_shapes_with_fewer_or_more_axes_than_the_image():
    flat = Shapes([BOX], shape_type="polygon")
    found = missing_from(flat, Image(np.ones((3, 40, 50)), scale=(5, 1, 1)))
    np.testing.assert_array_equal(found, np.broadcast_to(IN_BOX, (3, 40, 50)))
    deep = Shapes([np.column_stack([np.zeros(4), BOX])], shape_type="polygon")
    np.testing.assert_array_equal(missing_from(deep, Image(np.ones((40, 50)))), IN_BOX)
    assert not missing_from(Shapes(ndim=2), Image(np.ones((40, 50)))).any()


@pytest.mark.parametrize("zoom", [1, 4])
@pytest.mark.parametrize("shape_type", ["line", "path"])
def test_line_covers_what_its_edge_is_seen_to_cover(shape_type, zoom):
    ends = np.array([[20, 10], [20, 40]]) / zoom
    drawn = Shapes([ends], shape_type=shape_type, edge_width=9 / zoom, scale=(zoom, zoom))
    missing = missing_from(drawn, Image(np.ones((40, 50))))
    assert missing[16:25, 12:38].all()
    assert not missing[:15].any()
    assert not missing[26:].any()
    stack = missing_from(
        Shapes([np.column_stack([[1, 1], ends * zoom])], shape_type=shape_type, edge_width=9),
        Image(np.ones((3, 40, 50))),
    )
    np.testing.assert_array_equal(stack[1], missing)
    assert not stack[[0, 2]].any()


def test_labels_shapes_nan_and_saturated_go_together(make_light_dock):
    image = noisy_cells().astype(np.float32)
    image[30:33, 30:40] = np.nan
    image[50:53, 8:20] = 5000
    by_hand = np.isnan(image) | (image == 5000)
    viewer, dock = make_light_dock(image, name="mine", scale=(0.5, 0.5))
    viewer.add_shapes([BOX / 2], shape_type="rectangle", name="drawn")
    by_hand[10:14, 5:21] = True
    viewer.add_labels(np.zeros(image.shape, int), name="labels")
    dock.quality, dock.missing_layer, dock.saturated = "fast", "drawn", True
    dock.inpaint()
    finish(dock)
    expected = inpaint(image, by_hand, quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)
    np.testing.assert_array_equal(dock.result.data[~by_hand], image[~by_hand])


def test_mask_that_is_renamed_is_still_the_mask(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    labels = viewer.add_labels(np.eye(64, dtype=int), name="holes")
    viewer.add_shapes([BOX], name="drawn")
    for layer in (labels, viewer.layers["drawn"]):
        dock.missing_layer = layer.name
        layer.name = f"{layer.name} renamed"
        assert dock.missing_layer == layer.name
        viewer.layers.move(0, 2)
        assert dock.missing_layer == layer.name
    dock.task, dock.quality = "Inpaint", "fast"
    dock.missing_layer = labels.name
    dock.inpaint()
    finish(dock)
    assert (dock.result.data != viewer.layers["mine"].data).any()
    viewer.layers.remove(labels)
    assert dock.missing_layer == "no layer"


def test_reference_that_is_renamed_is_still_the_reference(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    viewer.add_image(noisy_cells(), name="clean")
    dock.reference = "clean"
    viewer.layers["clean"].name = "really clean"
    assert dock.reference == "really clean"
    viewer.layers.remove("really clean")
    assert dock.reference == "no layer"


def test_mask_of_another_shape_is_refused_in_words(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    viewer.add_labels(np.ones((30, 31), int), name="holes")
    dock.missing_layer = "holes"
    dock.attempt(dock.inpaint)
    finish(dock)
    for part in ("holes", "(30, 31)", "mine", "(64, 64)"):
        assert part in dock.message
    assert is_ready(dock)
    dock.missing_layer = "no layer"
    dock.attempt(dock.inpaint)
    finish(dock)
    assert "nothing is m" in dock.message
    assert is_ready(dock)


# --- layers that cannot be restored ---------------------------------------------------------------

HOPELESS = {
    "constant": (np.full((32, 32), 7, np.uint8), {}, "constant"),
    "all NaN": (np.full((32, 32), np.nan, np.float32), {"contrast_limits": (0, 1)}, "missing"),
    "two columns": (noisy_cells()[:, :2], {}, "x has 2 points"),
    "boolean": (np.eye(32, dtype=bool), {}, "True and False"),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_layer_that_cannot_be_restored_is_said_in_words(make_light_dock, name):
    data, looks, words = HOPELESS[name]
    viewer, dock = make_light_dock(noisy_cells(), name="good")
    viewer.add_image(data, name="hopeless", **looks)
    dock.sources = ["hopeless"]
    for start in (dock.denoise, dock.learn, dock.preview):
        dock.foot.say("")
        dock.attempt(start)
        finish(dock)
        assert words in dock.message, start.__name__
    dock.saturated = True
    dock.attempt(dock.inpaint)
    finish(dock)
    assert words in dock.message or "missing" in dock.message
    dock.sources, dock.task = ["good"], "Denoise"
    assert is_ready(dock)
    dock.preview()
    finish(dock)
    assert "Done" in dock.message


def test_empty_viewer_is_said_in_words(make_light_dock):
    _, dock = make_light_dock()
    for start in (dock.denoise, dock.inpaint, dock.learn, dock.preview):
        dock.foot.say("")
        dock.attempt(start)
        assert "open an image" in dock.message
        assert not dock.busy
    for button in (
        dock.foot.restore_button,
        dock.learn_section.start,
        dock.restore_section.preview,
    ):
        assert not button.isEnabled()
        assert "open an image" in button.toolTip()


# --- preview --------------------------------------------------------------------------------------

PLACES = [
    {"scale": (2, 3), "translate": (5, -4)},
    {"rotate": 25, "scale": (0.5, 0.5), "shear": [0.1]},
    {"affine": [[0.9, 0.1, 3], [-0.1, 1.1, 2], [0, 0, 1]], "translate": (1, 1)},
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "+".join(place))
def test_preview_lies_where_its_part_of_the_source_lies(make_light_dock, place):
    image = noisy_cells((80, 90))
    viewer, dock = make_light_dock(image, name="mine", **place)
    source = viewer.layers["mine"]
    source.corner_pixels = np.array([[10, 20], [49, 67]])
    dock.preview()
    finish(dock)
    preview = viewer.layers["mine · preview"]
    assert preview.data.shape == (40, 48)
    for corner in ((0, 0), (39, 47)):
        there = source.world_to_data(preview.data_to_world(corner))
        np.testing.assert_allclose(there, np.add(corner, (10, 20)), atol=1e-3)
    expected = quietly(denoise, image[10:50, 20:68], quality="fast")
    np.testing.assert_array_equal(preview.data, expected)
    assert dock.bank is None
    source.corner_pixels = np.array([[30, 40], [69, 87]])
    dock.preview()
    finish(dock)
    there = source.world_to_data(preview.data_to_world((0, 0)))
    np.testing.assert_allclose(there, (30, 40), atol=1e-3)
    assert len(viewer.layers) == 2


@pytest.mark.parametrize("container", ["big-endian", "dask", "multiscale"])
def test_preview_is_the_same_whatever_holds_the_source(make_light_dock, container):
    image = noisy_cells((80, 90))
    held = {
        "big-endian": lambda: image.astype(">u2"),
        "dask": lambda: da.from_array(image, chunks=(20, 20)),
        "multiscale": lambda: [image, image[::2, ::2]],
    }[container]()
    viewer, dock = make_light_dock(held, name="mine")
    viewer.layers["mine"].corner_pixels = np.array([[10, 20], [49, 67]])
    dock.preview()
    finish(dock)
    expected = quietly(denoise, image[10:50, 20:68], quality="fast")
    np.testing.assert_array_equal(viewer.layers["mine · preview"].data, expected)


def test_preview_is_of_what_the_canvas_shows(make_dock, qtbot):
    image = noisy_cells((96, 96))
    viewer, dock = make_dock(image, name="mine", scale=(2, 2), show=True)
    viewer.scene.camera.center = (60, 60)
    viewer.scene.camera.zoom = 20
    layer = viewer.layers["mine"]
    qtbot.waitUntil(lambda: np.diff(layer.corner_pixels, axis=0).max() < 90, timeout=5000)
    (top, left), (bottom, right) = layer.corner_pixels
    dock.preview()
    finish(dock)
    preview = viewer.layers["mine · preview"]
    start = layer.world_to_data(preview.data_to_world((0, 0)))
    np.testing.assert_allclose(start, (top, left), atol=1)
    np.testing.assert_allclose(preview.data.shape, (bottom - top, right - left), atol=2)


def test_preview_of_a_series_is_of_the_plane_in_view(make_light_dock):
    frames = np.stack([noisy_cells((48, 48)) + 50 * i for i in range(20)]).astype(np.uint16)
    viewer, dock = make_light_dock(
        frames, name="mine", scale=(3, 1, 1), axis_labels=("t", "y", "x")
    )
    source = viewer.layers["mine"]
    source.corner_pixels = np.array([[0, 0, 0], [19, 47, 47]])
    for kind, n_planes in (("time-lapse", 1), ("video", 9)):
        dock.kind = kind
        for step in (0, 14):
            viewer.dims.set_current_step(0, step)
            dock.preview()
            finish(dock)
            preview = viewer.layers["mine · preview"]
            assert preview.data.shape == (n_planes, 48, 48)
            first = round(source.world_to_data(preview.data_to_world((0, 0, 0)))[0])
            assert first <= step < first + n_planes
            part = frames[first : first + n_planes]
            expected = quietly(denoise, part, kind=kind, quality="fast")
            np.testing.assert_array_equal(preview.data, expected)
            assert viewer.dims.point[0] == 3 * step


def test_preview_fills_what_the_mask_covers_in_view(make_light_dock):
    image = noisy_cells((80, 90))
    viewer, dock = make_light_dock(image, name="mine")
    viewer.layers["mine"].corner_pixels = np.array([[10, 20], [49, 67]])
    holes = np.zeros(image.shape, int)
    holes[25:28, 30:50] = 1
    viewer.add_labels(holes, name="holes")
    dock.task, dock.missing_layer = "Inpaint", "holes"
    dock.preview()
    finish(dock)
    part = np.s_[10:50, 20:68]
    expected = quietly(inpaint, image[part], holes[part], quality="fast")
    np.testing.assert_array_equal(viewer.layers["mine · preview"].data, expected)


def test_slider_cancels_the_preview_before(make_light_dock, qtbot, monkeypatch):
    overlaps = Overlaps(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.preview()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    first = dock._runs.get("restore")
    outcomes = []
    first.ended.connect(lambda outcome: outcomes.append(outcome.how))
    dock.strength = 1.5
    qtbot.waitUntil(lambda: overlaps.strengths == [1.0, 1.5], timeout=5000)
    assert outcomes == ["stopped"]
    dock.stop()
    finish(dock, 10)
    assert (overlaps.now, overlaps.most) == (0, 1)
    assert is_ready(dock)


def test_slider_that_keeps_moving_has_one_preview_at_a_time_and_the_last_word(
    make_light_dock, qtbot, monkeypatch
):
    from qtpy.QtCore import QTimer

    overlaps = Overlaps(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.restore_section._redo.setInterval(1)
    dock.preview()
    for i, strength in enumerate((1.2, 1.4, 1.6, 1.8, 2.0)):
        QTimer.singleShot(35 * i, lambda value=strength: setattr(dock, "strength", value))
    qtbot.waitUntil(lambda: overlaps.strengths[-1:] == [2.0], timeout=5000)
    dock.stop()
    finish(dock, 10)
    qtbot.waitUntil(lambda: overlaps.now == 0, timeout=5000)
    assert overlaps.most == 1
    assert is_ready(dock)


def test_preview_is_redone_while_filters_are_being_learned(make_light_dock, qtbot, monkeypatch):
    slow_learning(monkeypatch)
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.learn()
    dock.preview()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    learning, timeouts = dock._runs.get("learn"), []
    wait = dock.wait

    def noted(timeout=None):
        timeouts.append(not wait(timeout))
        return not timeouts[-1]

    with monkeypatch.context() as patched:
        patched.setattr(dock, "wait", noted)
        dock.preview()
    assert not any(timeouts)
    assert dock._runs.get("learn") is learning


def test_slider_leaves_a_whole_restoration_alone(make_light_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.restore_section._redo.setInterval(1)
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    job = dock._runs.get("restore")
    dock.strength = 2.0
    reached = dock.progress
    qtbot.waitUntil(lambda: dock.progress > reached, timeout=5000)
    assert dock._runs.get("restore") is job
    with pytest.raises(ValueError, match="stop it first"):
        dock.preview()
    dock.stop()
    finish(dock, 10)
    assert not complaints()


# --- explain --------------------------------------------------------------------------------------


def explained(dock):
    """Where, and the value there."""
    explanation = dock.plots.explain._explanation
    return None if explanation is None else (explanation.position, explanation.value)


def click(viewer, event_type, position, moves=()):
    from napari.utils.interactions import (
        mouse_move_callbacks,
        mouse_press_callbacks,
        mouse_release_callbacks,
    )

    event = event_type("mouse_press", position)
    event.modifiers = ()
    mouse_press_callbacks(viewer, event)
    for there in moves:
        event.type, event.position, event.is_dragging = "mouse_move", there, True
        mouse_move_callbacks(viewer, event)
    event.type = "mouse_release"
    mouse_release_callbacks(viewer, event)


def test_click_explains_a_pixel_of_the_result_while_the_tab_is_open(make_dock, qtbot, MouseEvent):
    viewer, dock = make_dock(noisy_cells(), name="mine", scale=(2, 2), translate=(5, 5), show=True)
    untouched = list(viewer.mouse_drag_callbacks)
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert viewer.mouse_drag_callbacks == untouched
    tabs = dock.plots.tabs
    tabs.setCurrentWidget(dock.plots.explain)
    assert len(viewer.mouse_drag_callbacks) == len(untouched) + 1
    result = viewer.layers["mine · denoised"]
    click(viewer, MouseEvent, result.data_to_world((20, 30)), moves=[(6, 6)])
    finish(dock)
    assert explained(dock) is None
    click(viewer, MouseEvent, result.data_to_world((20, 30)))
    finish(dock)
    assert explained(dock) == ((20, 30), pytest.approx(result.data[20, 30]))
    click(viewer, MouseEvent, (-100, -100))
    finish(dock)
    assert explained(dock)[0] == (20, 30)
    tabs.setCurrentWidget(dock.plots.filters)
    assert viewer.mouse_drag_callbacks == untouched
    tabs.setCurrentWidget(dock.plots.explain)
    viewer.window.remove_dock_widget(dock)
    assert viewer.mouse_drag_callbacks == untouched
    assert not errors_raised()


@pytest.mark.parametrize("kind", ["rgb", "multispectral", "time-lapse"])
def test_explanation_has_the_value_of_the_result(make_light_dock, kind):
    bands = noisy_cells((3, 40, 40)) // 8
    image = np.moveaxis(bands, 0, -1).astype(np.uint8) if kind == "rgb" else bands
    viewer, dock = make_light_dock(image, name="mine", rgb=kind == "rgb")
    dock.kind, dock.quality = kind, "fast"
    with pytest.raises(ValueError, match="no filters"):
        dock.explain((0, 0, 0))
    dock.denoise()
    finish(dock)
    result = viewer.layers["mine · denoised"]
    pixel = (20, 30) if kind == "rgb" else (2, 20, 30)
    dock.explain(result.data_to_world(pixel))
    finish(dock)
    expected = result.data[pixel].mean()
    position = (*pixel, None) if kind == "rgb" else pixel
    assert explained(dock) == (position, pytest.approx(expected))


def test_source_is_explained_where_there_is_no_result(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.learn()
    finish(dock)
    dock.explain((7, 9))
    finish(dock)
    assert explained(dock) == ((7, 9), pytest.approx(viewer.layers["mine"].data[7, 9]))


# --- axes of length 1 -----------------------------------------------------------------------------


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


# --- the original ---------------------------------------------------------------------------------


def test_original_is_seen_whatever_results_there_are(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    viewer.add_image(noisy_cells(), name="another", visible=False)
    dock.sources = ["cells"]
    dock.denoise()
    finish(dock)
    dock.preview()
    finish(dock)
    viewer.layers["cells"].visible = False
    before = {layer.name: layer.visible for layer in viewer.layers}
    dock.compare_section.show_original(True)
    dock.compare_section.show_original(True)  # a key that is held is pressed again and again
    seen = [layer.name for layer in viewer.layers if layer.visible]
    assert seen == ["cells"]
    dock.compare_section.show_original(False)
    assert {layer.name: layer.visible for layer in viewer.layers} == before


def test_result_takes_the_place_of_its_preview(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.preview()
    finish(dock)
    assert "preview of 64 x 64" in dock.message
    dock.denoise()
    finish(dock)
    assert [layer.name for layer in viewer.layers] == ["cells", "cells · denoised"]
    assert "cells · denoised" in dock.message


def test_what_was_said_of_another_image_is_forgotten(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    assert dock.noise
    assert dock.message
    viewer.add_image(noisy_cells(), name="others")
    dock.sources = ["others"]
    assert not dock.noise
    assert not dock.message


def test_script_of_what_failed_is_not_kept(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    good = dock.script
    viewer.add_labels(np.zeros((64, 64), int), name="empty")
    dock.missing_layer = "empty"
    dock.inpaint()
    finish(dock)
    assert "choose a Labels or Shapes layer" in dock.message
    assert dock.script == good


def test_script_calls_layers_as_they_are_called_now(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    viewer.layers["cells"].name = "nuclei"
    dock.strength = 1.5
    dock.denoise()
    finish(dock)
    assert "'cells'" not in dock.script
    names = {"viewer": viewer}
    exec(dock.script, names)
    np.testing.assert_array_equal(names["result"], dock.result.data)
