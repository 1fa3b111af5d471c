"""The preview that stays on: of what is in view, at its place, one at a time, never in the way."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import dask.array as da
import numpy as np
import pytest
from dock_tools import errors_raised, noisy_cells, quietly
from napari.components import ViewerModel

from napari_scsc import denoise, inpaint
from napari_scsc.data.axes import PRESETS, Axes
from napari_scsc.plugin import layers, requests
from napari_scsc.plugin.live_preview import LivePreview
from napari_scsc.plugin.preview import preview_region
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.run.updates import RegionRestored

pytestmark = pytest.mark.screen

FAST = {"quality": "draft"}


@dataclass
class Fields:
    """What a dock would be set to."""

    layer: object
    axes: Axes
    options: dict = field(default_factory=lambda: dict(FAST))
    task: str = "denoise"
    missing: object = None
    empty: object = None

    def read(self):
        source = layers.take_snapshot(self.layer, self.axes)
        request = RestoreRequest(
            self.task,
            source,
            dict(self.options),
            find_missing=lambda: self.missing,
            empty=self.empty,
        )
        return self.layer, request


@pytest.fixture
def make_preview(qtbot):
    made = []

    def make(viewer, fields, **options):
        live = LivePreview(viewer, fields.read, **options)
        live.errors, live.words, live.noises = [], [], []
        live.failed.connect(live.errors.append)
        live.told.connect(live.words.append)
        live.noise_found.connect(live.noises.append)
        made.append(live)
        return live

    yield make
    for live in made:
        live.close()
        qtbot.waitUntil(lambda live=live: not live.running, timeout=10_000)


def wait(qtbot, live):
    qtbot.waitUntil(lambda: not live.running, timeout=60_000)
    assert not live.errors
    return live.layer


def first_pixel(preview, source):
    """Where the first pixel of the preview lies in the source."""
    there = source.world_to_data(preview.data_to_world((0,) * preview.ndim))
    return tuple(int(i) for i in np.round(there))


def part_of(preview, source):
    start = first_pixel(preview, source)
    lengths = preview.data.shape[: preview.ndim]
    return tuple(slice(a, a + n) for a, n in zip(start, lengths, strict=True))


def count_runs(monkeypatch):
    """The options of every restoration, each of which is counted when it starts."""
    runs = []
    updates = RestoreRequest.updates

    def counted(request, out, cancellation):
        runs.append(request)
        yield from updates(request, out, cancellation)

    monkeypatch.setattr(requests.RestoreRequest, "updates", counted)
    return runs


FRAME = "preview · frame"
PLACES = [
    {"scale": (2, 3), "translate": (5, -4), "units": ("um", "um")},
    {"rotate": 25, "scale": (0.5, 0.5), "shear": [0.1]},
    {"affine": [[0.9, 0.1, 3], [-0.1, 1.1, 2], [0, 0, 1]], "translate": (1, 1)},
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "+".join(place))
def test_preview_is_the_denoised_crop_at_its_place_with_the_looks_of_its_source(
    qtbot, make_preview, place
):
    viewer = ViewerModel()
    image = noisy_cells((150, 160))
    source = viewer.add_image(
        image, name="mine", colormap="magma", contrast_limits=(400, 1200), **place
    )
    units = viewer.layers.extent.units
    source.corner_pixels = np.array([[10, 20], [89, 99]])
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    live.switch(True)
    preview = wait(qtbot, live)
    assert preview.name == "mine · preview"
    assert part_of(preview, source) == np.s_[10:90, 20:100]
    np.testing.assert_array_equal(preview.data, quietly(denoise, image[10:90, 20:100], **FAST))
    for corner in ((0, 0), (79, 79)):
        there = source.world_to_data(preview.data_to_world(corner))
        np.testing.assert_allclose(there, np.add(corner, (10, 20)), atol=1e-3)
    assert preview.colormap.name == "magma"
    assert tuple(preview.contrast_limits) == (400, 1200)
    assert viewer.layers.extent.units == units
    assert FRAME in viewer.layers
    assert layers.is_ours(preview)
    assert live.noises
    live.switch(False)
    assert list(viewer.layers) == [source]


@pytest.mark.parametrize(
    ("kind", "shape", "looks", "lengths"),
    [
        ("rgb", (80, 90, 3), {"rgb": True}, (80, 90, 3)),
        ("multispectral", (5, 80, 90), {}, (5, 80, 90)),
        ("time-lapse", (4, 80, 90), {}, (1, 80, 90)),
        ("video", (14, 40, 40), {}, (9, 40, 40)),
        ("stack", (14, 40, 40), {}, (9, 40, 40)),
    ],
)
def test_every_kind_has_a_preview_of_the_plane_in_view(
    qtbot, make_preview, kind, shape, looks, lengths
):
    viewer = ViewerModel()
    if kind == "rgb":
        image = np.moveaxis(noisy_cells((3, 80, 90)) // 8, 0, -1).astype(np.uint8)
    else:
        image = noisy_cells(shape)
    source = viewer.add_image(image, name="mine", **looks)
    if len(shape) == 3 and kind != "rgb":
        viewer.dims.set_current_step(0, 3)
    live = make_preview(viewer, Fields(source, PRESETS[kind]))
    live.switch(True)
    preview = wait(qtbot, live)
    assert preview.data.shape == lengths
    assert preview.rgb == source.rgb
    part = part_of(preview, source)
    if kind != "rgb":
        assert part[0].start <= 3 < part[0].stop
    np.testing.assert_array_equal(preview.data, quietly(denoise, image[part], kind=kind, **FAST))


def test_several_separate_axes_and_axes_in_another_order(qtbot, make_preview):
    viewer = ViewerModel()
    image = noisy_cells((3, 2, 12, 80, 70))
    source = viewer.add_image(image, name="mine")
    roles = ("sample", "sample", "shift", "shift", "shift")
    axes = Axes("custom", ("t", "c", "z", "y", "x"), roles)
    viewer.dims.current_step = (2, 1, 6, 40, 35)
    live = make_preview(viewer, Fields(source, axes))
    live.switch(True)
    preview = wait(qtbot, live)
    assert part_of(preview, source) == np.s_[2:3, 1:2, 2:11, 0:80, 0:70]
    viewer.dims.order = (0, 1, 4, 3, 2)  # z to the right, y down
    source.corner_pixels = np.array([[0, 0, 0, 0, 0], [0, 0, 11, 79, 0]])
    preview = wait(qtbot, live)
    assert preview.data.shape == (1, 1, 12, 80, 9)
    part = part_of(preview, source)
    assert part[4].start <= 35 < part[4].stop
    np.testing.assert_array_equal(preview.data, quietly(denoise, image[part], axes=axes, **FAST))


def test_the_3d_view_has_as_many_planes_as_the_2d_view(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    source = viewer.add_image(np.zeros((30, 64, 64), np.float32), scale=(3, 1, 1))
    snapshot = layers.take_snapshot(source, PRESETS["stack"])
    for ndisplay in (2, 3):
        viewer.dims.ndisplay = ndisplay
        viewer.reset_view()
        qtbot.wait(200)
        planes, *plane = preview_region(snapshot, source, viewer)
        assert planes.stop - planes.start == 9
        assert plane == [slice(0, 64), slice(0, 64)]
    viewer.scene.camera.center = (60, 32, 32)
    assert preview_region(snapshot, source, viewer)[0] == slice(16, 25)


def test_the_3d_view_of_flat_images_has_a_preview():
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 90)))
    viewer.dims.ndisplay = 3
    region = preview_region(layers.take_snapshot(source, PRESETS["image"]), source, viewer)
    assert [s.stop - s.start for s in region] == [80, 90]


@pytest.mark.parametrize("role", ["joint", "sample"])
def test_all_colours_are_in_the_preview_whatever_their_role(role):
    viewer = ViewerModel()
    source = viewer.add_image(np.zeros((60, 70, 3), np.float32), rgb=True)
    axes = Axes("custom", ("y", "x", "c"), ("shift", "shift", role))
    region = preview_region(layers.take_snapshot(source, axes), source, viewer)
    assert region[2] == slice(0, 3)


def test_preview_fills_what_the_mask_covers_in_view(qtbot, make_preview):
    viewer = ViewerModel()
    image = noisy_cells((150, 160))
    source = viewer.add_image(image, name="mine")
    source.corner_pixels = np.array([[10, 20], [89, 99]])
    holes = np.zeros(image.shape, bool)
    holes[25:28, 30:50] = True
    fields = Fields(source, PRESETS["image"], task="inpaint", missing=holes)
    live = make_preview(viewer, fields)
    live.switch(True)
    part = np.s_[10:90, 20:100]
    expected = quietly(inpaint, image[part], holes[part], **FAST)
    np.testing.assert_array_equal(wait(qtbot, live).data, expected)
    holes[60:63, 40:60] = True  # drawn by the user; the dock says that something has changed
    live.refresh()
    expected = quietly(inpaint, image[part], holes[part], **FAST)
    np.testing.assert_array_equal(wait(qtbot, live).data, expected)


def test_noise_is_measured_where_the_whole_image_is_empty(qtbot, make_preview):
    from napari_scsc import estimate_noise

    viewer = ViewerModel()
    image = noisy_cells((150, 160))
    source = viewer.add_image(image, name="mine")
    source.corner_pixels = np.array([[0, 0], [79, 79]])
    empty = np.zeros(image.shape, bool)
    empty[100:150, 100:160] = True
    live = make_preview(viewer, Fields(source, PRESETS["image"], empty=empty))
    live.switch(True)
    noise = quietly(estimate_noise, image, empty=empty, kind="image")
    expected = quietly(denoise, image[:80, :80], noise=noise, **FAST)
    np.testing.assert_array_equal(wait(qtbot, live).data, expected)


class ThreadsSeen:
    """An array in chunks that notes who reads it."""

    def __init__(self, image):
        self.threads = set()
        self.armed = False

        def note(block):
            if self.armed:
                self.threads.add(threading.current_thread())
            return block

        self.array = da.from_array(image, chunks=(20, 20)).map_blocks(note, dtype=image.dtype)


def test_lazy_layers_are_read_in_the_worker_only(qtbot, make_preview):
    import dask

    viewer = ViewerModel()
    image = noisy_cells((150, 160))
    seen = ThreadsSeen(image)
    source = viewer.add_image(seen.array, name="mine", contrast_limits=(0, 2000))
    source.corner_pixels = np.array([[10, 20], [89, 99]])
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    seen.armed = True
    with dask.config.set(scheduler="synchronous"):  # in the thread that asks
        live.switch(True)
        preview = wait(qtbot, live)
    np.testing.assert_array_equal(preview.data, quietly(denoise, image[10:90, 20:100], **FAST))
    assert seen.threads
    assert threading.main_thread() not in seen.threads


def test_what_is_the_same_is_not_computed_again(qtbot, make_preview, monkeypatch):
    runs = count_runs(monkeypatch)
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((150, 160)), name="mine")
    source.corner_pixels = np.array([[10, 20], [89, 99]])
    fields = Fields(source, PRESETS["image"])
    live = make_preview(viewer, fields)
    live.switch(True)
    preview = wait(qtbot, live)
    assert len(runs) == 1
    viewer.scene.camera.zoom *= 1.01
    assert live.running
    wait(qtbot, live)
    live.refresh()
    wait(qtbot, live)
    source.translate = (100, 50)
    wait(qtbot, live)
    assert first_pixel(preview, source) == (10, 20)
    assert len(runs) == 1
    fields.options["strength"] = 1.5
    live.refresh()
    wait(qtbot, live)
    source.data = source.data[::-1].copy()
    source.corner_pixels = np.array([[10, 20], [89, 99]])
    wait(qtbot, live)
    source.corner_pixels = np.array([[30, 20], [109, 99]])
    viewer.scene.camera.center = (0, 60, 60)
    wait(qtbot, live)
    assert len(runs) == 4
    assert live.layer is preview
    assert first_pixel(preview, source) == (30, 20)
    expected = quietly(denoise, source.data[30:110, 20:100], strength=1.5, **FAST)
    np.testing.assert_array_equal(preview.data, expected)


def test_the_last_request_wins_and_one_runs_at_a_time(qtbot, make_preview, monkeypatch):
    running, most, strengths = [], [], []

    def updates(request, out, cancellation):
        strengths.append(request.options["strength"])
        running.append(1)
        most.append(len(running))
        try:
            region = tuple(slice(0, n) for n in out.shape)
            for _ in range(1000):
                threading.Event().wait(0.01)
                cancellation.check()
                out[region] = request.options["strength"]
                yield RegionRestored(region, out[region], 1, 2, done=0.5)
        finally:
            running.pop()

    monkeypatch.setattr(requests.RestoreRequest, "updates", updates)
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    fields = Fields(source, PRESETS["image"])
    live = make_preview(viewer, fields)
    fields.options["strength"] = 1
    live.switch(True)
    qtbot.waitUntil(lambda: strengths == [1] and live.layer is not None)
    for strength in (2, 3, 4):
        fields.options["strength"] = strength
        live.refresh()
    qtbot.waitUntil(lambda: strengths[-1] == 4 and bool((live.layer.data == 4).all()))
    assert strengths == [1, 4]
    assert max(most) == 1
    live.switch(False)
    qtbot.waitUntil(lambda: not live.running)
    assert not running
    assert list(viewer.layers) == [source]


def test_beside_a_restoration_it_takes_one_thread(qtbot, make_preview, monkeypatch):
    runs = count_runs(monkeypatch)
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    live = make_preview(viewer, Fields(source, PRESETS["image"]), is_busy=lambda: True)
    live.switch(True)
    wait(qtbot, live)
    assert [run.threads for run in runs] == [1]


def test_selection_stays_and_a_renamed_preview_is_the_users(qtbot, make_preview):
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((150, 160)), name="mine")
    other = viewer.add_image(noisy_cells((80, 80)), name="other")
    viewer.layers.selection = {source, other}
    fields = Fields(source, PRESETS["image"])
    live = make_preview(viewer, fields)
    live.switch(True)
    preview = wait(qtbot, live)
    assert set(viewer.layers.selection) == {source, other}
    preview.name = "kept"
    values = preview.data.copy()
    fields.options["strength"] = 2.0
    live.refresh()
    assert wait(qtbot, live) is not preview
    np.testing.assert_array_equal(preview.data, values)
    live.switch(False)
    assert [x.name for x in viewer.layers] == ["mine", "other", "kept"]
    assert FRAME not in viewer.layers


def test_removing_the_preview_switches_it_off(qtbot, make_preview):
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    told = []
    live.switched.connect(told.append)
    live.switch(True)
    viewer.layers.remove(wait(qtbot, live))
    assert told == [True, False]
    viewer.scene.camera.zoom *= 2
    assert not live.running


def test_another_layer_takes_the_preview_over(qtbot, make_preview):
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    other = viewer.add_image(noisy_cells((90, 90)), name="other")
    fields = Fields(source, PRESETS["image"])
    live = make_preview(viewer, fields)
    live.switch(True)
    wait(qtbot, live)
    fields.layer = other
    live.refresh()
    wait(qtbot, live)
    assert [x.name for x in viewer.layers] == ["mine", "other", "other · preview", FRAME]
    source.translate = (3, 3)  # nobody listens to it any more
    assert not live.running


def test_colours_follow_the_source(qtbot, make_preview):
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    live.switch(True)
    preview = wait(qtbot, live)
    source.contrast_limits = (700, 900)
    source.colormap = "viridis"
    assert tuple(preview.contrast_limits) == (700, 900)
    assert preview.colormap.name == "viridis"


def listeners(viewer, layer):
    camera, dims = viewer.scene.camera.events, viewer.dims.events
    view = [camera.center, camera.zoom, dims.current_step, dims.order, dims.ndisplay]
    names = ("scale", "translate", "rotate", "shear", "affine", "data", "colormap")
    of_layer = [getattr(layer.events, name) for name in names]
    return [len(x.callbacks) for x in (*view, viewer.layers.events.removed, *of_layer)]


def test_nothing_stays_connected_after_it_was_closed(qtbot, make_preview):
    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    before = listeners(viewer, source)
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    live.switch(True)
    wait(qtbot, live)
    assert listeners(viewer, source) != before
    live.close()
    assert listeners(viewer, source) == before
    assert list(viewer.layers) == [source]


def test_a_failure_is_told_once_and_the_preview_goes_on(qtbot, make_preview, monkeypatch):
    def updates(request, out, cancellation):
        raise RuntimeError("no luck")
        yield

    viewer = ViewerModel()
    source = viewer.add_image(noisy_cells((80, 80)), name="mine")
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    with monkeypatch.context() as patched:
        patched.setattr(requests.RestoreRequest, "updates", updates)
        live.switch(True)
        qtbot.waitUntil(lambda: bool(live.errors))
        viewer.scene.camera.zoom *= 2
        qtbot.waitUntil(lambda: not live.running)
    assert [str(error) for error in live.errors] == ["no luck"]
    live.errors.clear()
    live.refresh()
    assert wait(qtbot, live) is not None


def test_on_a_large_image_the_frame_is_seen_and_the_user_is_told_to_zoom_in(
    make_napari_viewer, qtbot, make_preview, tmp_path
):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1000, 800)
    image = np.tile(noisy_cells((500, 500)), (4, 4))
    source = viewer.add_image(image, name="mine")
    viewer.reset_view()
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    live.switch(True)
    preview = wait(qtbot, live)
    assert preview.data.shape == (512, 512)
    assert part_of(preview, source) == np.s_[744:1256, 744:1256]
    assert "zoom in" in live.words[-1]
    qtbot.wait(200)
    picture = viewer.screenshot(str(tmp_path / "preview.png"), flash=False).astype(int)
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    orange = (red > 200) & (abs(green - 176) < 50) & (blue < 80)
    rows, columns = np.nonzero(orange)
    side = 512 * viewer.scene.camera.zoom
    assert np.ptp(rows) == pytest.approx(side, abs=6)
    assert np.ptp(columns) == pytest.approx(side, abs=6)
    assert not errors_raised()


def test_of_a_multiscale_layer_the_preview_is_of_its_finest_level(qtbot, make_preview):
    viewer = ViewerModel()
    image = noisy_cells((800, 800))
    source = viewer.add_image([image, image[::2, ::2], image[::4, ::4]], name="mine")
    source.data_level = 2
    source.corner_pixels = np.array([[100, 50], [119, 69]])  # pixels of that level
    live = make_preview(viewer, Fields(source, PRESETS["image"]))
    live.switch(True)
    preview = wait(qtbot, live)
    assert part_of(preview, source) == np.s_[400:480, 200:280]
    expected = quietly(denoise, image[400:480, 200:280], **FAST)
    np.testing.assert_array_equal(preview.data, expected)
