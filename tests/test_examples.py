"""The examples work."""

from __future__ import annotations

import runpy

import page_tools
import pytest
from page_blocks import ROOT

in_a_viewer = page_tools.in_a_viewer  # the fixture

IN_A_WINDOW = {"scripted_session.py"}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


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
