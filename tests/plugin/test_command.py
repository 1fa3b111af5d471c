"""The shell lines that the dock gives do what it did."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from dock_tools import choose, finish, noisy_cells

from napari_scsc.cli import main

pytestmark = pytest.mark.screen


def copied(dock):
    from qtpy.QtWidgets import QApplication

    QApplication.clipboard().clear()
    choose(dock, "Copy command")
    return QApplication.clipboard().text()


def open_file(viewer, path):
    viewer.open(path, plugin="napari")


@pytest.mark.parametrize("n_files", [1, 2])
def test_command_gives_the_bits_of_the_dock(make_light_dock, monkeypatch, tmp_path, n_files):
    monkeypatch.chdir(tmp_path)
    viewer, dock = make_light_dock()
    for number in range(n_files):
        path = tmp_path / f"cells {number}.tif"
        tifffile.imwrite(path, noisy_cells((48, 56 + 8 * number)))
        open_file(viewer, path)
    dock.sources = [layer.name for layer in viewer.layers]
    dock.quality, dock.strength = "draft", 1.2
    dock.denoise()
    finish(dock)
    lines = copied(dock).splitlines()
    assert len(lines) == n_files
    for line, result in zip(lines, dock.results, strict=True):
        program, *words = shlex.split(line)
        assert program == "napari-scsc"
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        written = tmp_path / words[words.index("--out") + 1]
        np.testing.assert_array_equal(tifffile.imread(written), result.data)


def test_layer_that_came_from_no_file_has_no_command(make_light_dock):
    _, dock = make_light_dock(noisy_cells(), name="mine")
    assert not dock.menu.entries["Copy command"].isEnabled()
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    assert copied(dock) == ""
    assert "does not come from a file" in dock.message


def test_layer_that_was_changed_since_it_was_read_has_no_command(make_light_dock, tmp_path):
    tifffile.imwrite(tmp_path / "cells.tif", noisy_cells())
    viewer, dock = make_light_dock()
    open_file(viewer, tmp_path / "cells.tif")
    viewer.layers[0].data = viewer.layers[0].data + 1
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    assert copied(dock) == ""
    assert "does not come from a file" in dock.message
