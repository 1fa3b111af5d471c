"""What marks the missing, and layers that cannot be restored."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import (
    finish,
    is_ready,
    noisy_cells,
)
from napari.layers import Image, Labels, Shapes

from napari_scsc import inpaint
from napari_scsc.plugin.layers import missing_from

pytestmark = pytest.mark.screen


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
    drawn = by_hand & (image != 5000)
    expected = inpaint(image, drawn, saturation=5000.0, quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)
    assert dock.result.data[50:53, 8:20].min() >= 5000
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
    dock.task, dock.quality = "Fill holes", "fast"
    dock.missing_layer = labels.name
    dock.inpaint()
    finish(dock)
    assert (dock.result.data != viewer.layers["mine"].data).any()
    viewer.layers.remove(labels)
    assert dock.missing_layer == "drawn renamed"  # the only one that is left
    viewer.layers.remove("drawn renamed")
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
    for start in (dock.denoise, dock.learn):
        dock.run_section.say("")
        dock.attempt(start)
        finish(dock)
        assert words in dock.message, start.__name__
    dock.saturated = True
    dock.attempt(dock.inpaint)
    finish(dock)
    assert words in dock.message or "missing" in dock.message
    dock.sources, dock.task = ["good"], "Denoise"
    assert is_ready(dock)
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    assert "Done" in dock.message


def test_empty_viewer_is_said_in_words(make_light_dock):
    _, dock = make_light_dock()
    for start in (dock.denoise, dock.inpaint, dock.learn):
        dock.run_section.say("")
        dock.attempt(start)
        assert "open an image" in dock.message
        assert not dock.busy
    for button in (
        dock.run_section.main_button,
        dock.learn_section.start,
    ):
        assert not button.isEnabled()
        assert "open an image" in button.toolTip()
