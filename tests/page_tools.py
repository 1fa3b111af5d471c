"""Viewers that pages and examples may open."""

from __future__ import annotations

import threading

import pytest


@pytest.fixture
def in_a_viewer(make_napari_viewer, monkeypatch, qtbot):
    """Viewers that scripts open are closed after the test, when the jobs of their docks are done.

    To be called with the names that a script left.
    """
    monkeypatch.setattr("napari.Viewer", make_napari_viewer)
    names = {}
    yield names.update
    if "dock" in names:
        names["dock"].stop()
        assert names["dock"].wait(20)
    qtbot.waitUntil(lambda: not _our_threads(), timeout=10_000)


def _our_threads():
    return [t for t in threading.enumerate() if "napari-scsc" in t.name]
