"""The patches of a clicked pixel's group: outlined in the viewer while somebody looks at them."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import errors_raised, finish, noisy_cells
from napari.layers import Vectors
from qtpy.QtCore import QPoint, Qt

from napari_scsc import FilterBank, explain_group, learn

pytestmark = pytest.mark.screen

NAME = "patches like this one"
MARK = "explained pixel"


def some_bank(joint=(), support=(5, 5), n_base=4):
    size = int(np.prod((*joint, *support)))
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((size, n_base)))[0]
    filters = vectors.T.reshape(n_base, *joint, *support).astype(np.float32)
    return FilterBank(filters, len(joint))


def look(dock, qtbot):
    """Open the tab that explains."""
    dock.tabs.setCurrentIndex(1)
    dock.plots.tabs.setCurrentWidget(dock.plots.explain)
    dock.show()
    qtbot.waitUntil(lambda: dock.plots.explaining)


def ask(dock, position):
    dock.explain(position)
    finish(dock)


def outlines(viewer):
    found = [x for x in viewer.layers if isinstance(x, Vectors) and x.name != MARK]
    assert len(found) <= 1
    return found[0] if found else None


def boxes(layer):
    """The outlined boxes, ((y0, x0), (y1, x1)) each in pixels, and the planes that they lie in."""
    starts, ends = layer.data[:, 0], layer.data.sum(axis=1)
    half = layer.edge_width / 2
    found, planes = [], set()
    for i in range(0, len(layer.data), 4):
        corners = np.vstack([starts[i : i + 4], ends[i : i + 4]])
        planes |= set(map(tuple, corners[:, :-2]))
        low, high = corners.min(axis=0)[-2:] + half + 0.5, corners.max(axis=0)[-2:] - half + 0.5
        found.append((tuple(np.round(low, 3)), tuple(np.round(high, 3))))
    return found, planes


def as_boxes(regions):
    return {(tuple(s.start for s in r[-2:]), tuple(s.stop for s in r[-2:])) for r in regions}


def click_canvas(viewer, qtbot, world):
    """A real click of the mouse on the canvas, at a position of the world."""
    canvas = viewer.window._qt_viewer.canvas.native
    y, x = (np.array(world) - np.array(viewer.scene.camera.center[-2:])) * viewer.scene.camera.zoom
    where = QPoint(round(canvas.width() / 2 + x), round(canvas.height() / 2 + y))
    qtbot.mouseMove(canvas, where)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=where)


def test_click_outlines_the_group_and_leaves_layers_and_selection_alone(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    other = viewer.add_image(noisy_cells(), name="other", visible=False)
    dock.sources = ["mine"]
    dock.bank = learn(viewer.layers["mine"].data, kind="image")
    dock.quality = "balanced"
    dock.denoise()
    finish(dock)
    result = dock.result
    viewer.layers.selection = {other, result}
    qtbot.wait(100)
    look(dock, qtbot)
    before = {layer.name: np.array(layer.data) for layer in viewer.layers}
    click_canvas(viewer, qtbot, (20, 30))
    finish(dock)
    assert dock.plots.explain._explanation.position == (20, 30)
    group = dock.plots.explain._group
    layer = outlines(viewer)
    assert viewer.layers[-1] is layer
    assert layer.name == NAME
    found, _ = boxes(layer)
    assert len(found) == len(group.members) + 1  # and the pixel itself
    assert set(found) == as_boxes(group.members) | {((20, 30), (21, 31))}
    expected = explain_group(
        result.data, dock.bank, (20, 30), kind="image", noise=dock.runner.result.noise
    )
    assert group.members == expected.members
    assert set(viewer.layers.selection) == {other, result}
    for name, data in before.items():
        np.testing.assert_array_equal(viewer.layers[name].data, data)
    ours = (layer.name, MARK)
    assert list(before) == [x.name for x in viewer.layers if x.name not in ours]
    assert not errors_raised()


def test_another_click_replaces_them_and_a_hidden_tab_has_none(make_light_dock, qtbot):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.bank = some_bank()
    ask(dock, (20, 30))
    assert outlines(viewer) is None  # nobody looks
    look(dock, qtbot)
    assert ((20, 30), (21, 31)) in boxes(outlines(viewer))[0]
    ask(dock, (40, 50))
    found, _ = boxes(outlines(viewer))
    assert ((40, 50), (41, 51)) in found
    assert ((20, 30), (21, 31)) not in found
    ask(dock, (-100, -100))  # outside: nothing new to show
    assert boxes(outlines(viewer))[0] == found
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)
    assert outlines(viewer) is None
    look(dock, qtbot)
    assert boxes(outlines(viewer))[0] == found
    dock.reset()
    assert outlines(viewer) is None


@pytest.mark.parametrize("way", ["dock closed", "dock taken out", "image removed"])
def test_they_go_with_what_they_belong_to(make_dock, qtbot, way):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    dock.bank = some_bank()
    look(dock, qtbot)
    ask(dock, (20, 30))
    assert outlines(viewer) is not None
    if way == "dock closed":
        dock.close()
    elif way == "dock taken out":
        viewer.window.remove_dock_widget(dock)
    else:
        viewer.layers.remove("mine")
    assert outlines(viewer) is None
    assert not errors_raised()


def test_user_may_delete_or_keep_them(make_light_dock, qtbot):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.bank = some_bank()
    look(dock, qtbot)
    ask(dock, (20, 30))
    viewer.layers.remove(outlines(viewer))
    ask(dock, (22, 30))
    outlines(viewer).name = "mine too"
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)
    assert [layer.name for layer in viewer.layers] == ["mine", "mine too"]
    assert not errors_raised()


def test_they_are_no_source_no_mask_and_no_reference(make_light_dock, qtbot):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.bank = some_bank()
    choices = [
        (section, name, getattr(section, name).choices)
        for section, name in (
            (dock.restore_section, "missing_layer"),
            (dock.compare_section, "reference"),
        )
    ]
    look(dock, qtbot)
    ask(dock, (20, 30))
    assert outlines(viewer) is not None
    assert dock.sources == ["mine"]
    assert dock.source_section.picker.count() == 1
    for section, name, before in choices:
        assert getattr(section, name).choices == before
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert dock.result.name == "mine · denoised"


def test_they_lie_on_the_image_wherever_that_lies_and_keep_its_units(make_light_dock, qtbot):
    looks = {
        "scale": (0.5, 2.0),
        "translate": (30, -7),
        "rotate": 20,
        "shear": [0.3],
        "units": ("um", "um"),
    }
    viewer, dock = make_light_dock(noisy_cells(), name="mine", **looks)
    image = viewer.layers["mine"]
    dock.bank = some_bank()
    look(dock, qtbot)
    units = viewer.layers.extent.units
    ask(dock, image.data_to_world((20, 30)))
    layer = outlines(viewer)
    assert dock.plots.explain._explanation.position == (20, 30)
    for point in ((0, 0), (20, 30), (63, 1)):
        np.testing.assert_allclose(layer.data_to_world(point), image.data_to_world(point))
    assert viewer.layers.extent.units == units


def test_outlines_of_a_video_follow_the_frame(make_light_dock, qtbot):
    viewer, dock = make_light_dock(
        noisy_cells((12, 40, 40)), name="film", axis_labels=("t", "y", "x")
    )
    dock.kind = "video"
    dock.bank = some_bank(support=(3, 5, 5))
    look(dock, qtbot)
    ask(dock, (4, 20, 30))
    group = dock.plots.explain._group
    shown = 0
    for t in range(12):
        viewer.dims.set_current_step(0, t)
        here = [r for r in group.members if r[0].start <= t < r[0].stop]
        found, planes = boxes(outlines(viewer))
        assert set(found) == as_boxes(here) | ({((20, 30), (21, 31))} if t == 4 else set())
        assert planes <= {(t,)}
        shown += bool(here)
    assert shown >= 3
    assert list(viewer.dims.current_step) == [11, *viewer.dims.current_step[1:]]


def test_outlines_follow_the_axes_that_are_shown(make_light_dock, qtbot):
    viewer, dock = make_light_dock(noisy_cells((12, 40, 40)), axis_labels=("z", "y", "x"))
    dock.kind = "stack"
    dock.bank = some_bank(support=(3, 5, 5))
    look(dock, qtbot)
    ask(dock, (4, 20, 30))
    group = dock.plots.explain._group
    viewer.dims.order = (1, 0, 2)
    viewer.dims.set_current_step(1, 20)
    starts = outlines(viewer).data[:, 0]
    assert (starts[:, 1] == 20).all()
    here = [r for r in group.members if r[1].start <= 20 < r[1].stop]
    assert len(starts) == 4 * (len(here) + 1)


@pytest.mark.parametrize(
    ("kind", "shape", "joint", "position", "looks"),
    [
        ("rgb", (40, 40, 3), (3,), (20, 30), {"rgb": True}),
        ("multispectral", (6, 40, 40), (6,), (2, 20, 30), {}),
        ("light-field", (2, 3, 40, 40), (2, 3), (1, 1, 20, 30), {}),
        ("time-lapse", (4, 40, 40), (), (1, 20, 30), {}),
    ],
)
def test_every_kind_has_a_group(make_light_dock, qtbot, kind, shape, joint, position, looks):
    data = np.random.default_rng(0).integers(0, 255, shape).astype(np.uint8)
    viewer, dock = make_light_dock(data, **looks)
    dock.kind = kind
    dock.bank = some_bank(joint)
    viewer.dims.current_step = (*position[: viewer.dims.ndim - 2], 0, 0)
    look(dock, qtbot)
    ask(dock, position)
    found, _ = boxes(outlines(viewer))
    assert set(found) == as_boxes(
        [r[:2] if kind == "rgb" else r for r in dock.plots.explain._group.members]
    ) | {((20, 30), (21, 31))}
    if joint and kind != "rgb":  # a patch spans all planes of a joint axis
        viewer.dims.set_current_step(0, 0)
        assert len(boxes(outlines(viewer))[0]) >= len(dock.plots.explain._group.members)
    elif kind == "time-lapse":
        viewer.dims.set_current_step(0, 0)
        assert not boxes(outlines(viewer))[0]
    assert not errors_raised()


def test_the_pixel_is_marked_at_once_and_while_somebody_looks(make_light_dock, qtbot):
    place = {"scale": (2.0, 0.5), "translate": (7, -3), "rotate": 30, "units": ("um", "um")}
    viewer, dock = make_light_dock(noisy_cells(), name="mine", **place)
    image = viewer.layers["mine"]
    units = viewer.layers.extent.units
    dock.bank = some_bank()
    look(dock, qtbot)
    dock.explain(image.data_to_world((20, 30)))
    mark = viewer.layers[MARK]  # nothing was computed yet
    np.testing.assert_allclose(mark.data[:, 0].mean(axis=0), (20, 30))
    np.testing.assert_allclose(mark.data_to_world((20, 30)), image.data_to_world((20, 30)))
    assert viewer.layers.extent.units == units
    finish(dock)
    ask(dock, image.data_to_world((40, 50)))
    np.testing.assert_allclose(viewer.layers[MARK].data[:, 0].mean(axis=0), (40, 50))
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)
    assert [layer.name for layer in viewer.layers] == ["mine"]
    look(dock, qtbot)
    assert MARK in viewer.layers
    viewer.layers.remove(image)
    assert MARK not in viewer.layers
    assert not errors_raised()


def test_the_mark_is_seen_however_large_the_image_is(make_dock, qtbot):
    viewer, dock = make_dock(np.zeros((4000, 4000), np.uint8), name="mine", show=True)
    viewer.reset_view()
    mark = dock.explainer.outlines.mark
    mark.set_seen(True)
    mark.show(viewer.layers["mine"], (2000, 2000))
    qtbot.wait(100)
    picture = viewer.screenshot(flash=False)
    is_orange = (picture[..., 0] > 200) & (picture[..., 1] > 120) & (picture[..., 2] < 80)
    rows, columns = np.nonzero(is_orange)
    assert 10 <= np.ptp(rows) <= 24
    assert 10 <= np.ptp(columns) <= 24
    mark.clear()
    mark.set_seen(False)
