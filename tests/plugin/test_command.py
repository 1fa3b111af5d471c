"""The shell lines that the dock gives do what it did."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from dock_tools import choose, finish, noisy_cells, run_script

from napari_scsc.cli import main
from napari_scsc.plugin.opening import open_path

pytestmark = pytest.mark.screen


def copied(dock):
    from qtpy.QtWidgets import QApplication

    QApplication.clipboard().clear()
    choose(dock, "Copy command")
    return QApplication.clipboard().text()


def copied_script(dock):
    from qtpy.QtWidgets import QApplication

    QApplication.clipboard().clear()
    choose(dock, "Copy script")
    return QApplication.clipboard().text()


@pytest.fixture(params=["cyx", "zcyx"])
def channels(request, tmp_path):
    """A file of two named channels, and its values with the channels first."""
    shape = {"c": 2, "z": 6, "y": 40, "x": 48}
    data = noisy_cells(tuple(shape[letter] for letter in request.param))
    path = tmp_path / "two.ome.tif"
    metadata = {"axes": request.param.upper(), "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(path, data, ome=True, metadata=metadata)
    return path, np.moveaxis(data, request.param.index("c"), 0)


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


def test_script_of_a_channel_of_a_file_runs_by_itself(make_light_dock, channels):
    path, data = channels
    viewer, dock = make_light_dock()
    open_path(viewer, str(path))
    assert [layer.name for layer in viewer.layers] == ["two: DAPI", "two: GFP"]
    dock.sources, dock.quality = ["two: GFP"], "draft"
    dock.denoise()
    finish(dock)
    names = run_script(None, copied_script(dock))
    np.testing.assert_array_equal(names["image"], data[1])
    np.testing.assert_array_equal(names["result"], dock.result.data)
    assert copied(dock) == ""
    assert "two: GFP is one channel of its file" in dock.message


def test_all_channels_of_a_file_have_a_script_and_a_command(
    make_light_dock, channels, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path, data = channels
    viewer, dock = make_light_dock()
    open_path(viewer, str(path))
    dock.sources = ["two: DAPI", "two: GFP"]
    dock.sharing, dock.quality = "together, as channels", "draft"
    dock.denoise()
    finish(dock)
    made = [viewer.layers[f"two: {name} · denoised"].data for name in ("DAPI", "GFP")]
    names = run_script(None, copied_script(dock))
    np.testing.assert_array_equal(names["image"], data)
    np.testing.assert_array_equal(names["result"], made)
    program, *words = shlex.split(copied(dock))
    done = CliRunner().invoke(main, words)
    assert (program, done.exit_code) == ("napari-scsc", 0), done.output
    written = tifffile.imread(tmp_path / words[words.index("--out") + 1])
    axis = next(i for i in range(written.ndim) if written.shape[i] == 2)
    np.testing.assert_array_equal(np.moveaxis(written, axis, 0), made)


def test_layers_that_are_not_all_channels_of_a_file_have_no_joint_command(
    make_light_dock, channels
):
    path, data = channels
    viewer, dock = make_light_dock()
    open_path(viewer, str(path))
    viewer.add_image(data[0], name="third")
    dock.sources = ["two: DAPI", "two: GFP", "third"]
    dock.sharing, dock.quality = "together, as channels", "draft"
    dock.denoise()
    finish(dock)
    assert copied(dock) == ""
    assert "third does not come from a file" in dock.message


def test_script_names_layers_as_they_are_called_by_now(make_light_dock):
    viewer, dock = make_light_dock()
    for name in ("a", "b'\"s"):
        viewer.add_image(noisy_cells((40, 48)), name=name)
    dock.sources, dock.quality = ["b'\"s"], "draft"
    dock.denoise()
    finish(dock)
    viewer.layers["a"].name = "c"
    viewer.layers["b'\"s"].name = "a"
    viewer.layers["c"].name = "b'\"s"
    left = run_script(viewer, copied_script(dock))
    assert left["image"] is viewer.layers["a"].data
    np.testing.assert_array_equal(left["result"], dock.result.data)
    assert "viewer.layers['a']" in dock.script
