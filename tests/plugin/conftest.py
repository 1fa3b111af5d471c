"""Docks for tests: in a window, or on a viewer without one."""

from __future__ import annotations

import pytest


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """The file in which docks remember their fields, one for each test."""
    from napari_scsc.plugin import preferences

    path = tmp_path / "memory" / "dock.json"
    monkeypatch.setattr(preferences, "_memory_path", lambda: path)
    return path


@pytest.fixture
def make_light_dock(qtbot, memory):
    """Open the dock on a viewer without a window, which is all that layers need."""
    from napari.components import ViewerModel
    from napari.utils.notifications import notification_manager

    from napari_scsc.plugin.dock import Dock

    notification_manager.records.clear()
    docks = []

    def make(*images, **looks):
        viewer = ViewerModel()
        for image in images:
            viewer.add_image(image, **looks)
        dock = Dock(viewer)
        qtbot.addWidget(dock)
        docks.append(dock)
        return viewer, dock

    yield make
    _close(docks)


@pytest.fixture
def make_dock(make_napari_viewer, qtbot, memory):
    """Open a viewer with layers and the dock; wait for its jobs before the viewer goes."""
    from dock_tools import our_threads
    from napari.utils.notifications import notification_manager

    notification_manager.records.clear()
    docks = []

    def make(*images, show=False, **looks):
        viewer = make_napari_viewer(show=show)
        for image in images:
            viewer.add_image(image, **looks)
        _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
        docks.append(dock)
        return viewer, dock

    yield make
    _close(docks)
    qtbot.waitUntil(lambda: not our_threads(), timeout=5000)


def _close(docks):
    for dock in docks:
        dock.stop()
        assert dock.wait(20)
        dock.close()  # now, while it remembers its fields in a file of this test


@pytest.fixture
def plots(qtbot):
    from napari_scsc.plugin.plots import Plots

    widget = Plots(rate=1000)
    qtbot.addWidget(widget)
    widget.resize(340, 420)
    return widget
