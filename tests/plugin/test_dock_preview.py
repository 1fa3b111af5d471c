"""Previews: of what is in view, at its place, one at a time."""

from __future__ import annotations

import threading

import dask.array as da
import numpy as np
import pytest
from dock_tools import (
    complaints,
    finish,
    is_ready,
    noisy_cells,
    quietly,
    slow_down,
    slow_learning,
)

from napari_scsc import denoise, inpaint
from napari_scsc.plugin import requests
from napari_scsc.plugin.controller import Ending, Lane
from napari_scsc.run.updates import RegionRestored

pytestmark = pytest.mark.screen


class Overlaps:
    """Counts how many restorations run at once, each of which takes a while to stop."""

    def __init__(self, monkeypatch):
        self.now = self.most = 0
        self.strengths = []
        lock = threading.Lock()

        def updates(request, out, cancellation):
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
                self.strengths.append(request.options["strength"])
            try:
                region = tuple(slice(0, n) for n in np.shape(out))
                for i in range(100):
                    threading.Event().wait(0.1)
                    cancellation.check()
                    out[region] = i
                    yield RegionRestored(region, out[region], 1, 2, done=0.5)
            finally:
                with lock:
                    self.now -= 1

        monkeypatch.setattr(requests.RestoreRequest, "updates", updates)


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
    first = dock.runner.jobs.get(Lane.RESTORE)
    outcomes = []
    first.ended.connect(lambda outcome: outcomes.append(outcome.ending))
    dock.strength = 1.5
    qtbot.waitUntil(lambda: overlaps.strengths == [1.0, 1.5], timeout=5000)
    assert outcomes == [Ending.STOPPED]
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
    learning, timeouts = dock.runner.jobs.get(Lane.LEARN), []
    wait = dock.wait

    def noted(timeout=None):
        timeouts.append(not wait(timeout))
        return not timeouts[-1]

    with monkeypatch.context() as patched:
        patched.setattr(dock, "wait", noted)
        dock.preview()
    assert not any(timeouts)
    assert dock.runner.jobs.get(Lane.LEARN) is learning


def test_slider_leaves_a_whole_restoration_alone(make_light_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.restore_section._redo.setInterval(1)
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    job = dock.runner.jobs.get(Lane.RESTORE)
    dock.strength = 2.0
    reached = dock.progress
    qtbot.waitUntil(lambda: dock.progress > reached, timeout=5000)
    assert dock.runner.jobs.get(Lane.RESTORE) is job
    with pytest.raises(ValueError, match="stop it first"):
        dock.preview()
    dock.stop()
    finish(dock, 10)
    assert not complaints()
