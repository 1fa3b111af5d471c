"""What every test runs under: settings of its own, and examples that do not hurry."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# napari's test fixtures reset the settings file they find: never the user's. napari reads this
# once, when its settings are first imported, so it must be set before any test module is.
_config = Path(tempfile.mkdtemp(prefix="napari-scsc-tests-"))
atexit.register(shutil.rmtree, _config, ignore_errors=True)
os.environ["NAPARI_CONFIG"] = str(_config / "settings.yaml")

# The first example of a test may compile or plan an FFT, so time says nothing about it. A run of
# continuous integration must be able to fail twice in the same way.
settings.register_profile("scsc", deadline=None)
settings.register_profile("scsc-ci", deadline=None, derandomize=True)
settings.load_profile("scsc-ci" if os.environ.get("CI") else "scsc")

# FFT plans are remembered: the tests have a memory of their own, which lasts one run.
os.environ["NAPARI_SCSC_CACHE"] = str(_config / "cache")


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """The file in which docks remember their fields, one for each test."""
    from napari_scsc.plugin import preferences

    path = tmp_path / "memory" / "dock.json"
    monkeypatch.setattr(preferences, "_memory", lambda: path)
    return path


@pytest.fixture
def make_light_dock(qtbot, memory):
    """Open the dock on a viewer without a window, which is all that layers need."""
    from napari.components import ViewerModel
    from napari.utils.notifications import notification_manager

    from napari_scsc.plugin.panel import Dock

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
