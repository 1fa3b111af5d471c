"""What the documentation and the examples tell people to type works."""

from __future__ import annotations

import re
import runpy
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IN_A_WINDOW = {"scripted_session.py"}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def python_blocks(page):
    """The code blocks of a page, each with the lines before it, so that errors name its own."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text[: found.start(1)].count("\n") + found[1]


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


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in IN_A_WINDOW])
def test_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    assert list(tmp_path.iterdir())  # each leaves a file


@pytest.mark.screen
@pytest.mark.parametrize("name", sorted(IN_A_WINDOW))
def test_example_with_a_window_runs(name, tmp_path, monkeypatch, in_a_viewer):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(ROOT / "examples" / name), run_name="example")
    in_a_viewer(names)
    assert names["dock"].result is not None


@pytest.mark.screen
def test_blocks_of_the_page_on_scripting_run(tmp_path, monkeypatch, in_a_viewer):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "scripting"}
    in_a_viewer(names)
    for block in python_blocks("scripting.md"):
        try:
            exec(compile(block, "docs/scripting.md", "exec"), names)
        finally:
            in_a_viewer(names)
    assert "viewer" in names
