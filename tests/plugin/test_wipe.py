"""Before and after on one canvas: a line that can be dragged, and the original while it is held."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dock_tools import errors_raised, noisy_cells
from napari.components import ViewerModel
from qtpy.QtCore import QPoint, Qt

from napari_scsc.data.axes import PRESETS
from napari_scsc.plugin import layers
from napari_scsc.plugin.original_view import OriginalView
from napari_scsc.plugin.wipe import Wipe

pytestmark = pytest.mark.screen


@pytest.fixture
def make_wipe(qtbot):
    made = []

    def make(viewer, *pair):
        wipe = Wipe(viewer)
        wipe.set_pair(*pair)
        wipe.words, wipe.switches = [], []
        wipe.told.connect(wipe.words.append)
        wipe.switched.connect(wipe.switches.append)
        made.append(wipe)
        return wipe

    yield make
    for wipe in made:
        wipe.close()


def make_pair(viewer, shape=(60, 80), **looks):
    image = noisy_cells(shape)
    source = viewer.add_image(image, name="mine", **looks)
    result = viewer.add_image(image // 2, name="mine · denoised", **looks)
    return source, result


def before(viewer):
    found = [layer for layer in viewer.layers if layer.name.endswith("· before")]
    assert len(found) <= 1
    return found[0] if found else None


def settle(qtbot, wipe):
    qtbot.waitUntil(lambda: not wipe._clock.isActive())


def test_the_source_is_shown_before_the_line_and_nothing_is_left_behind(qtbot, make_wipe):
    viewer = ViewerModel()
    looks = {"scale": (2, 2), "rotate": 20, "units": ("um", "um"), "colormap": "magma"}
    source, result = make_pair(viewer, **looks)
    reference = viewer.add_image(noisy_cells((60, 80)), name="clean", **looks)
    result.visible = False
    viewer.layers.selection = {source}
    units, callbacks = viewer.layers.extent.units, list(viewer.mouse_drag_callbacks)
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    shown = before(viewer)
    assert [layer.name for layer in viewer.layers[-2:]] == [shown.name, "wipe · line"]
    assert wipe.position == pytest.approx(0.5)
    np.testing.assert_array_equal(shown.data, source.data[:, :40])
    assert np.shares_memory(shown.data, source.data)
    assert shown.colormap.name == "magma"
    assert (result.visible, reference.visible) == (True, False)
    np.testing.assert_allclose(shown.data_to_world((3, 4)), source.data_to_world((3, 4)))
    assert viewer.layers.extent.units == units
    assert layers.is_ours(shown)
    assert set(viewer.layers.selection) == {source}
    wipe.position = 0.25
    settle(qtbot, wipe)
    np.testing.assert_array_equal(shown.data, source.data[:, :20])
    wipe.switch(False)
    assert list(viewer.layers) == [source, result, reference]
    assert (source.visible, result.visible, reference.visible) == (True, False, True)
    assert viewer.mouse_drag_callbacks == callbacks
    assert wipe.switches == [True, False]


def test_it_follows_the_plane_and_the_axes_that_are_displayed(qtbot, make_wipe):
    viewer = ViewerModel()
    source, result = make_pair(viewer, (8, 60, 80))
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    assert before(viewer).data.shape == (8, 60, 40)
    viewer.dims.set_current_step(0, 5)
    assert before(viewer).data.shape == (8, 60, 40)
    source.corner_pixels = np.array([[0, 0, 0], [7, 59, 0]])
    viewer.dims.order = (2, 0, 1)
    settle(qtbot, wipe)
    assert before(viewer).data.shape == (8, 30, 80)


@pytest.mark.parametrize("kind", ["rgb", "multiscale", "snapshot"])
def test_other_sources(qtbot, make_wipe, kind):
    viewer = ViewerModel()
    image = noisy_cells((64, 96))
    if kind == "rgb":
        image = np.stack([image // 8] * 3, axis=-1).astype(np.uint8)
        source = viewer.add_image(image, name="mine", rgb=True)
    elif kind == "multiscale":
        source = viewer.add_image([image, image[::2, ::2], image[::4, ::4]], name="mine")
        source.data_level = 2
        source.corner_pixels = np.array([[0, 0], [15, 23]])
    else:
        source = viewer.add_image(image, name="mine")
    result = viewer.add_image(image, name="mine · denoised", rgb=kind == "rgb")
    pair = layers.take_snapshot(source, PRESETS["image"]) if kind == "snapshot" else source
    wipe = make_wipe(viewer, pair, result)
    wipe.switch(True)
    shown = before(viewer)
    whole = shown.data[0] if kind == "multiscale" else shown.data
    np.testing.assert_array_equal(whole, image[:, :48])
    if kind == "multiscale":
        assert [level.shape for level in shown.data] == [(64, 48), (32, 24), (16, 12)]
    assert shown.rgb == (kind == "rgb")


@pytest.mark.parametrize("container", ["dask", "zarr"])
def test_of_lazy_sources_only_the_plane_in_view_is_read(qtbot, make_wipe, tmp_path, container):
    viewer = ViewerModel()
    image = noisy_cells((20, 60, 80))
    planes = set()
    if container == "dask":

        def note(block, block_info=None):
            planes.add(block_info[0]["array-location"][0][0])
            return block

        lazy = da.from_array(image, chunks=(1, 30, 40)).map_blocks(note, dtype=image.dtype)
    else:
        import zarr

        class Noting:
            """A zarr array that notes which planes are read."""

            def __init__(self, array):
                self._array = array
                self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
                self.chunks = array.chunks

            def __getitem__(self, key):
                first = key[0] if isinstance(key, tuple) else key
                planes.update(range(20)[first] if isinstance(first, slice) else [first])
                return self._array[key]

        stored = zarr.create_array(tmp_path / "x.zarr", data=image, chunks=(1, 30, 40))
        lazy = Noting(stored)
    source = viewer.add_image(lazy, name="mine", contrast_limits=(0, 2000))
    result = viewer.add_image(image, name="mine · denoised")
    viewer.dims.set_current_step(0, 7)
    wipe = make_wipe(viewer, source, result)
    planes.clear()
    wipe.switch(True)
    for position in (0.2, 0.6):
        wipe.position = position
        settle(qtbot, wipe)
    assert before(viewer).data.shape == (20, 60, 48)
    assert len(planes) <= 2  # and one for the thumbnail


def test_it_refuses_the_3d_view_and_a_pair_that_is_gone(make_wipe):
    viewer = ViewerModel()
    source, result = make_pair(viewer, (8, 60, 80))
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    viewer.dims.ndisplay = 3
    assert not wipe.is_on
    assert "2-D view" in wipe.words[-1]
    wipe.switch(True)
    assert not wipe.is_on
    viewer.dims.ndisplay = 2
    wipe.switch(True)
    viewer.layers.remove(result)
    assert not wipe.is_on
    wipe.switch(True)
    assert "gone" in wipe.words[-1]
    assert list(viewer.layers) == [source]


def test_the_user_may_remove_or_keep_the_layer(make_wipe):
    viewer = ViewerModel()
    source, result = make_pair(viewer)
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    viewer.layers.remove(before(viewer))
    assert not wipe.is_on
    wipe.switch(True)
    before(viewer).name = "left half"
    wipe.switch(False)
    assert [x.name for x in viewer.layers] == ["mine", "mine · denoised", "left half"]


def test_another_pair_keeps_the_line_where_it_is(qtbot, make_wipe):
    viewer = ViewerModel()
    source, result = make_pair(viewer)
    second = viewer.add_image(noisy_cells((60, 80)), name="second")
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    wipe.position = 0.25
    wipe.set_pair(source, second)
    settle(qtbot, wipe)
    assert wipe.is_on
    assert wipe.position == pytest.approx(0.25)


def drag(viewer, qtbot, start, stop):
    """A real drag of the mouse on the canvas between two positions of the world."""
    canvas = viewer.window._qt_viewer.canvas.native

    def point(world):
        camera = viewer.scene.camera
        y, x = (np.array(world) - np.array(camera.center[-2:])) * camera.zoom
        return QPoint(round(canvas.width() / 2 + x), round(canvas.height() / 2 + y))

    ends = [np.array(start, float), np.array(stop, float)]
    places = [point(ends[0] + share * (ends[1] - ends[0])) for share in np.linspace(0, 1, 6)]
    qtbot.mouseMove(canvas, places[0])
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=places[0])
    for place in places[1:]:
        qtbot.mouseMove(canvas, place)
        qtbot.wait(10)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=places[-1])


def test_a_drag_of_the_line_moves_it_and_a_drag_beside_it_moves_the_view(
    make_napari_viewer, qtbot, make_wipe, tmp_path
):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1000, 800)
    image = noisy_cells((200, 200))
    source = viewer.add_image(image, name="mine")
    result = viewer.add_image(np.full_like(image, 2000), name="after", contrast_limits=(0, 2000))
    viewer.layers.selection = {source}
    viewer.reset_view()
    qtbot.wait(200)
    wipe = make_wipe(viewer, source, result)
    moves = []
    wipe.moved.connect(moves.append)
    wipe.switch(True)
    qtbot.wait(100)
    picture = viewer.screenshot(str(tmp_path / "wipe.png"), flash=False)
    middle = picture[picture.shape[0] // 2]
    width = len(middle)
    assert middle[int(0.75 * width), :3].min() > 240
    assert middle[width // 4 : int(0.4 * width), :3].max() < 240
    centre = viewer.scene.camera.center
    drag(viewer, qtbot, (100, 99.5), (100, 49.5))
    settle(qtbot, wipe)
    assert viewer.scene.camera.center == centre
    assert before(viewer).data.shape[1] == pytest.approx(50, abs=1)
    assert moves == [pytest.approx(0.25, abs=0.02)]
    drag(viewer, qtbot, (100, 150), (100, 130))
    assert viewer.scene.camera.center != centre
    assert before(viewer).data.shape[1] == pytest.approx(50, abs=1)
    assert not errors_raised()


def test_nothing_stays_connected_after_it_was_closed(make_wipe):
    viewer = ViewerModel()
    source, result = make_pair(viewer)
    events = (viewer.dims.events.order, viewer.dims.events.ndisplay, viewer.layers.events.removed)
    counts = [len(event.callbacks) for event in events]
    wipe = make_wipe(viewer, source, result)
    wipe.switch(True)
    wipe.close()
    assert [len(event.callbacks) for event in events] == counts
    wipe.switch(True)
    assert not wipe.is_on


def test_the_original_is_shown_alone_and_all_comes_back_exactly():
    viewer = ViewerModel()
    source, result = make_pair(viewer)
    reference = viewer.add_image(noisy_cells((60, 80)), name="clean")
    hidden = viewer.add_image(noisy_cells((60, 80)), name="hidden", visible=False)
    labels = viewer.add_labels(np.zeros((60, 80), int))
    source.visible = False
    before_all = [layer.visible for layer in viewer.layers]
    view = OriginalView(viewer)
    view.show_original(str(source.unique_id), True)
    view.show_original(str(source.unique_id), True)  # a key that repeats
    visible = [source.visible, result.visible, reference.visible, hidden.visible, labels.visible]
    assert visible == [True, False, False, False, True]
    view.show_original(str(source.unique_id), False)
    assert [layer.visible for layer in viewer.layers] == before_all
    view.show_original("gone", True)
    assert [layer.visible for layer in viewer.layers] == before_all


@pytest.mark.parametrize("part", ["_line.show", "_make_layer"])
def test_wipe_that_cannot_begin_leaves_nothing_behind(make_wipe, monkeypatch, part):
    viewer = ViewerModel()
    wipe = make_wipe(viewer, *make_pair(viewer))
    callbacks = list(viewer.mouse_drag_callbacks)
    owner = wipe._line if part == "_line.show" else wipe
    monkeypatch.setattr(owner, part.split(".")[-1], lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wipe.switch(True)
    assert not wipe.is_on
    assert wipe.switches[-1] is False
    assert before(viewer) is None
    assert list(viewer.mouse_drag_callbacks) == callbacks
    wipe.close()
    assert not errors_raised()
