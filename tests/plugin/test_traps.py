"""The traps of napari that the dock is built around, one property each."""

from __future__ import annotations

import subprocess
import sys
import threading

import dask.array as da
import numpy as np
import pytest
from dock_tools import (
    complaints,
    finish,
    is_ready,
    noisy_cells,
    set_preferences,
    slow_down,
    slow_learning,
)

from napari_scsc import denoise, learn
from napari_scsc.cancellation import Cancelled
from napari_scsc.plugin.controller import State
from napari_scsc.plugin.jobs import PausableCancellation
from napari_scsc.plugin.sections.learn_section import PATCHES

pytestmark = pytest.mark.screen


def bars_of(viewer):
    from napari._qt.widgets.qt_progress_bar import QtLabeledProgressBar

    found = viewer.window._qt_window._activity_dialog.findChildren(QtLabeledProgressBar)
    return [bar for bar in found if bar.progress is not None]


def test_bar_in_the_activity_area_comes_from_the_gui_thread_advances_cancels_and_goes(
    make_dock, qtbot, monkeypatch
):
    from napari_scsc.plugin import jobs

    monkeypatch.setattr(jobs, "_SECONDS_OF_A_LONG_JOB", 0)  # every job counts as a long one
    makers = []
    original = jobs.Activity.__init__
    monkeypatch.setattr(
        jobs.Activity,
        "__init__",
        lambda self, *args: (makers.append(threading.current_thread()), original(self, *args))[1],
    )
    slow_down(monkeypatch)
    viewer, dock = make_dock(noisy_cells(), name="cells", show=True)
    dock.denoise()
    qtbot.waitUntil(lambda: bool(bars_of(viewer)), timeout=5000)
    (bar,) = bars_of(viewer)
    assert makers == [threading.main_thread()]
    assert not bar.cancel_button.isHidden()
    qtbot.waitUntil(lambda: bar.qt_progress_bar.value() > 2, timeout=5000)
    reached = bar.qt_progress_bar.value()
    qtbot.waitUntil(lambda: bar.qt_progress_bar.value() > reached, timeout=5000)
    bar.cancel_button.click()
    qtbot.waitUntil(lambda: not dock.busy, timeout=5000)
    assert dock.result.name == "cells · denoised, partial"
    qtbot.waitUntil(lambda: not bars_of(viewer), timeout=5000)
    assert is_ready(dock)


def test_runtime_errors_of_a_worker_are_told_and_leave_the_dock_ready(make_dock, monkeypatch):
    _, dock = make_dock(noisy_cells())
    for fail, start in ((slow_down, dock.denoise), (slow_learning, dock.learn)):
        for kind in (RuntimeError, NotImplementedError, RecursionError):
            words = f"{kind.__name__} in {start.__name__}"
            fail(monkeypatch, kind(words))
            start()
            finish(dock, 10)
            assert words in dock.message
            assert complaints().count(f"napari-scsc: {words}") == 1
            assert is_ready(dock)


def test_runtime_error_of_a_thread_of_the_core_is_told(make_light_dock, qtbot, monkeypatch):
    from napari_scsc.groups.denoiser import GroupDenoiser

    def is_compiling():  # and timing: that runs the core, too
        return any(t.name.startswith("compile") for t in threading.enumerate())

    def fail(self, *args):
        raise RuntimeError("the core gave up")

    _, dock = make_light_dock(noisy_cells())
    qtbot.waitUntil(lambda: not is_compiling(), timeout=60_000)
    monkeypatch.setattr(GroupDenoiser, "_threshold", fail)
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert "the core gave up" in dock.message
    assert is_ready(dock)


def test_stop_is_felt_in_the_middle_of_the_only_tile(make_light_dock, qtbot, monkeypatch):
    inside_a_part, raised = threading.Event(), []
    check = PausableCancellation.check

    def held_inside_a_part(self):
        is_of_the_pool = threading.current_thread().name.startswith("napari-scsc")
        if is_of_the_pool and not raised:
            inside_a_part.set()
            self._event.wait(20)
        try:
            check(self)
        except Cancelled:
            raised.append(threading.current_thread().name)
            raise

    _, dock = make_light_dock(noisy_cells())
    set_preferences(monkeypatch, threads=2, quality="fast")
    dock.quality = "fast"
    monkeypatch.setattr(PausableCancellation, "check", held_inside_a_part)
    dock.denoise()
    qtbot.waitUntil(inside_a_part.is_set, timeout=20000)
    dock.stop()
    finish(dock, 10)
    assert any(name.startswith("napari-scsc") for name in raised)
    assert dock.result.name.endswith("partial")  # the first look, and nothing that says otherwise
    assert "Stopped" in dock.message
    assert is_ready(dock)


def test_units_and_labels_of_the_viewer_survive_and_nothing_is_guessed_of_the_result(
    make_light_dock, monkeypatch
):
    looks = {"units": ("um", "um", "um"), "axis_labels": ("y", "x", "c"), "scale": (0.5, 0.5, 2)}
    bands = np.stack([noisy_cells((48, 48))] * 3, axis=-1)
    viewer, dock = make_light_dock(bands, name="bands", rgb=False, **looks)
    dock.quality = "fast"
    given = {}
    add_image = type(viewer).add_image
    monkeypatch.setattr(
        type(viewer),
        "add_image",
        lambda self, data, **arguments: (
            given.update(arguments),
            add_image(self, data, **arguments),
        )[1],
    )
    dock.denoise()
    finish(dock)
    source = viewer.layers["bands"]
    assert viewer.layers.extent.units == source.units
    assert dock.result.axis_labels == source.axis_labels == ("y", "x", "c")
    assert (given["rgb"], given["multiscale"]) == (False, False)
    assert not dock.result.rgb
    assert not dock.result.multiscale


def test_dock_has_no_canvas_floats_and_leaves_pyqtgraph_as_it_was(make_dock, qtbot):
    import pyqtgraph
    from qtpy.QtWidgets import QDockWidget, QOpenGLWidget, QWidget

    before = dict(pyqtgraph.CONFIG_OPTIONS)
    _, dock = make_dock(noisy_cells(), show=True)
    for widget in dock.findChildren(QWidget):
        assert not isinstance(widget, QOpenGLWidget)
        assert not any(c.__module__.startswith("vispy") for c in type(widget).__mro__)
    frame = dock.parent()
    assert isinstance(frame, QDockWidget)
    dock.learn()
    frame.setFloating(True)
    qtbot.waitUntil(frame.isFloating, timeout=5000)
    finish(dock)
    assert dock.bank is not None
    frame.setFloating(False)
    qtbot.waitUntil(lambda: not frame.isFloating(), timeout=5000)
    assert is_ready(dock)
    assert before == pyqtgraph.CONFIG_OPTIONS
    assert before["imageAxisOrder"] == "col-major"


def test_nothing_is_drawn_while_the_dock_is_hidden(make_dock, qtbot):
    _, dock = make_dock(noisy_cells(), show=True)
    dock.tabs.setCurrentIndex(1)
    frame = dock.parent()
    frame.hide()
    qtbot.waitUntil(lambda: not dock.plots.isVisible(), timeout=5000)
    before = dock.plots.redraws
    dock.learn()
    finish(dock)
    assert dock.plots.redraws == before
    frame.show()
    qtbot.waitUntil(lambda: dock.plots.redraws > before, timeout=5000)


def test_result_is_of_the_layer_that_was_ticked_at_the_start(make_light_dock):
    first, other = noisy_cells(), noisy_cells((48, 80))
    viewer, dock = make_light_dock(first, name="first", scale=(0.5, 0.5))
    viewer.add_image(other, name="other", scale=(0.5, 0.5))
    dock.sources, dock.quality = ["first"], "fast"
    source = viewer.layers["first"]
    dock.denoise()
    dock.pause()
    dock.sources = ["other"]
    viewer.layers.selection = {viewer.layers["other"]}
    source.name = "renamed"
    dock.quality, dock.strength, dock.seed = "fast", 3.0, 5
    dock.pause()
    finish(dock)
    assert dock.result.metadata["napari_scsc"]["result_of"] == str(source.unique_id)
    np.testing.assert_array_equal(
        dock.result.data, denoise(first, kind="image", quality="fast", seed=0)
    )
    assert dock.sources == ["other"]


def test_restoration_that_waits_for_its_filters_is_of_the_layer_that_was_ticked(make_light_dock):
    first, other = noisy_cells(), noisy_cells((48, 80))
    viewer, dock = make_light_dock(first, name="first")
    viewer.add_image(other, name="other")
    dock.sources, dock.quality, dock.effort = ["first"], "fast", "quick"
    dock.model = PATCHES
    dock.denoise()
    assert dock.controller.state is State.LEARNING_FIRST
    dock.sources = ["other"]
    dock.strength = 3.0
    finish(dock)
    bank = learn(first, kind="image", tiles=8)
    assert dock.bank.id == bank.id
    assert dock.result.name == "first · denoised"
    np.testing.assert_array_equal(
        dock.result.data, denoise(first, kind="image", bank=bank, quality="fast")
    )


def test_result_of_a_dask_source_is_in_memory_and_a_slider_computes_nothing(make_dock, qtbot):
    computed = []

    def one_plane(block, block_info=None):
        computed.append(block_info[None]["chunk-location"])
        return block

    planes = np.stack([noisy_cells((48, 48))] * 4)
    lazy = da.from_array(planes, chunks=(1, 48, 48)).map_blocks(one_plane, dtype=planes.dtype)
    viewer, dock = make_dock(lazy, name="planes", contrast_limits=(0, 2000))
    dock.kind, dock.quality = "time-lapse", "fast"
    dock.denoise()
    finish(dock)
    result = viewer.layers["planes · denoised"]
    assert type(result.data) is np.ndarray
    viewer.layers["planes"].visible = False
    computed.clear()
    for position in range(4):
        viewer.dims.set_current_step(0, position)
        qtbot.wait(1)
        np.testing.assert_array_equal(result._slice.image.raw, result.data[position])
    assert not computed
    assert not dock.busy


def test_job_that_is_to_end_cannot_be_held():
    cancellation = PausableCancellation()
    cancellation.hold(True)
    cancellation.cancel()
    cancellation.hold(True)
    with pytest.raises(Cancelled):
        cancellation.check()  # and does not wait for ever


CLOSING = """
import numpy as np, napari
from napari.layers import Vectors
from qtpy.QtTest import QTest
viewer = napari.Viewer(show=True)
viewer.window.add_plugin_dock_widget("napari-scsc")
viewer.window.resize(1280, 720)
viewer.add_image(np.random.rand(600, 600))
QTest.qWait(200)
image = viewer.add_image(np.random.rand(512, 512), translate=(20, 20))
lines = viewer.add_vectors(np.array([[[10, 10], [0, 300.0]]]), edge_width=3)
QTest.qWait(300)
viewer.layers.remove(lines)
viewer.layers.remove(image)
for width in (1000, 1300):
    QTest.qWait(200)
    viewer.window.resize(width, 820)
QTest.qWait(200)
viewer.close()
print("closed")
"""


def test_layers_of_two_kinds_go_and_the_window_changes_its_size(tmp_path):
    # Without a dock that makes the context of the canvas current, software OpenGL crashes here.
    child = subprocess.run([sys.executable, "-c", CLOSING], capture_output=True, text=True)
    assert child.stdout.split() == ["closed"], child.stderr
