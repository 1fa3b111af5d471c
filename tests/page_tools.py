"""Pages of the documentation as programs: their blocks, and viewers that they may open."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def blocks_of(page):
    """The blocks of a page as (language, code), with the lines before, so that errors name them."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield found[1], "\n" * text[: found.start(2)].count("\n") + found[2]


def python_blocks(page):
    return [code for language, code in blocks_of(page) if language == "python"]


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
