"""Opened and closed again and again, the dock leaves nothing behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import pytest
from dock_tools import (
    errors_raised,
    finish,
    is_ready,
    noisy_cells,
    our_threads,
    slow_down,
    slow_learning,
)

pytestmark = pytest.mark.screen


def delete_what_is_to_be_deleted():
    from qtpy.QtCore import QEvent
    from qtpy.QtWidgets import QApplication

    for _ in range(3):
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QApplication.processEvents()
        gc.collect()


def widgets_of_ours():
    from qtpy.QtWidgets import QApplication

    return [
        widget
        for widget in QApplication.allWidgets()
        if type(widget).__module__.startswith("napari_scsc")
        or widget.objectName().startswith("napari-scsc")
    ]


def callbacks_of_ours(viewer):
    """Whatever of the package listens to the viewer or its layers."""
    groups = [
        viewer.events,
        viewer.layers.events,
        viewer.layers.selection.events,
        viewer.dims.events,
        *(layer.events for layer in viewer.layers),
    ]
    heard = [
        (name, callback)
        for group in groups
        for name, emitter in group.emitters.items()
        for callback in emitter.callbacks
    ]
    found = []
    for name, callback in heard:
        listener = callback[0]() if isinstance(callback, tuple) else callback
        module = getattr(listener, "__module__", None) or type(listener).__module__
        if module.startswith("napari_scsc"):
            found.append((name, listener))
    return found


def others(viewer):
    """Lists of the viewer that a plugin can leave something in."""
    return (
        list(viewer.mouse_drag_callbacks),
        list(viewer.mouse_move_callbacks),
        dict(viewer.keymap),
        [layer.name for layer in viewer.layers],
    )


def threads_at_work():
    """Threads of Python by name; Qt's own are no threads of Python."""
    dummy = threading._DummyThread
    return sorted(t.name for t in threading.enumerate() if not isinstance(t, dummy))


def open_with_a_job(viewer, qtbot):
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    return dock


def open_start_pause_resume_and_close(viewer, qtbot, stop_first):
    """Return a weak reference to the dock that was."""
    dock = open_with_a_job(viewer, qtbot)
    dock.pause()
    assert dock.paused
    dock.pause()
    assert not dock.paused
    if stop_first:
        dock.stop()
        finish(dock, 10)
        assert is_ready(dock)
    viewer.window.remove_dock_widget(dock)
    qtbot.waitUntil(lambda: not dock.busy, timeout=5000)
    return weakref.ref(dock)


def test_cycles_leave_no_threads_widgets_or_callbacks(
    make_napari_viewer, memory, qtbot, monkeypatch
):
    from qtpy.QtCore import QThreadPool

    slow_down(monkeypatch)
    viewer = make_napari_viewer()
    viewer.add_image(noisy_cells(), name="mine")
    before, threads, widgets = others(viewer), threads_at_work(), widgets_of_ours()
    for cycle in range(4):
        gone = open_start_pause_resume_and_close(viewer, qtbot, stop_first=cycle % 2 == 1)
        del viewer.layers[1:]
    qtbot.waitUntil(lambda: threads_at_work() == threads, timeout=5000)
    qtbot.waitUntil(lambda: QThreadPool.globalInstance().activeThreadCount() == 0, timeout=5000)
    delete_what_is_to_be_deleted()
    assert gone() is None
    assert not [w for w in widgets_of_ours() if not any(w is other for other in widgets)]
    assert not callbacks_of_ours(viewer)
    assert others(viewer) == before
    assert not errors_raised()


def use_all_of(dock, viewer, qtbot):
    """Return weak references to the layers and the arrays there are in the end."""
    viewer.add_image(noisy_cells(), name="mine")
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    for name in ("residual", "error"):
        dock.compare_section.maps.switches[name].click()
        finish(dock)
    dock.explain((5, 5))
    qtbot.waitUntil(lambda: not dock.explainer.running, timeout=9000)
    dock.preview = True
    qtbot.wait(400)
    dock.preview = False
    finish(dock)
    made = [thing for layer in viewer.layers for thing in (layer, layer.data)]
    return [weakref.ref(thing) for thing in made]


def test_layers_that_were_removed_are_let_go(make_napari_viewer, memory, qtbot):
    viewer = make_napari_viewer(show=True)
    dock = viewer.window.add_plugin_dock_widget("napari-scsc")[1]
    references = use_all_of(dock, viewer, qtbot)
    assert len(references) == 8
    viewer.layers.clear()
    viewer.window.remove_dock_widget(dock)
    finish(dock)
    del dock

    def are_gone():
        delete_what_is_to_be_deleted()
        return all(reference() is None for reference in references)

    qtbot.waitUntil(are_gone, timeout=5000)
    assert not errors_raised()


def test_closed_dock_that_somebody_holds_listens_to_nothing(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells(), name="mine")
    listened = callbacks_of_ours(viewer)
    viewer.window.remove_dock_widget(dock)
    for name in ("second", "third"):
        viewer.add_image(noisy_cells(), name=name)
    viewer.layers["second"].name = "renamed"
    viewer.layers.reverse()
    viewer.layers.remove("third")
    assert listened
    # napari itself calls reset_choices of a dock as long as there is one.
    assert {name for name, listener in callbacks_of_ours(viewer) if listener is not dock} == set()
    assert not errors_raised()


def test_closed_dock_has_nothing_left_to_do(make_light_dock, qtbot, monkeypatch):
    from qtpy.QtCore import QTimer

    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    dock.preview = True
    dock.strength, dock.seed = 2.0, 7
    dock.close()
    assert not [timer for timer in dock.findChildren(QTimer) if timer.isActive()]
    finish(dock, 10)
    assert not dock.busy


def test_dock_that_is_hidden_and_shown_goes_on(make_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    frame = dock.parent()
    dock.denoise()
    frame.hide()
    reached = dock.progress
    qtbot.waitUntil(lambda: dock.progress > reached, timeout=5000)
    frame.show()
    viewer.add_image(noisy_cells(), name="second")
    assert dock.busy
    dock.sources = ["second"]
    dock.stop()
    finish(dock, 10)
    assert is_ready(dock)


def controls_of_jobs(viewer, qtbot, state):
    """Start the jobs; what is returned can end them, if closing the viewer does not."""
    dock = open_with_a_job(viewer, qtbot)
    if state == "with a preview":
        dock.preview = True
        qtbot.wait(400)
    if state == "paused":
        dock.pause()
    return [dock.runner.job.job.cancellation]


@pytest.mark.parametrize("state", ["running", "paused", "with a preview"])
def test_closing_the_viewer_ends_its_jobs(make_napari_viewer, memory, qtbot, monkeypatch, state):
    from napari.utils import progress
    from qtpy.QtCore import QThreadPool

    slow_down(monkeypatch)
    slow_learning(monkeypatch)
    viewer = make_napari_viewer()
    viewer.add_image(noisy_cells(), name="mine")
    already = widgets_of_ours()  # held by the traceback of a test that failed, if any
    controls = controls_of_jobs(viewer, qtbot, state)
    pool = QThreadPool.globalInstance()
    viewer.close()
    try:
        qtbot.waitUntil(lambda: pool.activeThreadCount() == 0, timeout=5000)
    finally:
        for control in controls:
            control.cancel()
        qtbot.waitUntil(lambda: pool.activeThreadCount() == 0, timeout=5000)
    delete_what_is_to_be_deleted()
    assert [widget for widget in widgets_of_ours() if widget not in already] == []
    assert not our_threads()
    assert not [bar for bar in progress._all_instances if "napari-scsc" in bar.desc]
    assert not errors_raised()


@pytest.mark.slow
@pytest.mark.parametrize("paused", [False, True])
def test_process_ends_when_napari_is_closed_in_the_middle_of_a_job(paused):
    code = f"""
import napari, numpy, napari_scsc
from qtpy.QtCore import QTimer
viewer, dock = napari_scsc.open(numpy.random.default_rng(0).normal(size=(600, 600)))
dock.quality = "balanced"

def start():
    dock.denoise()
    QTimer.singleShot(1000, close)

def close():
    if {paused}:
        dock.pause()
    assert dock.busy
    viewer.close()

QTimer.singleShot(100, start)
napari.run()
print("the end")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=40, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the end" in done.stdout
    assert "Traceback" not in done.stderr
