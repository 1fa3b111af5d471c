"""Large results go to a file, with all that is known of them, whole or not at all."""

from __future__ import annotations

import threading

import dask.array as da
import numpy as np
import pytest
import zarr
from dock_tools import complaints, finish, is_ready, noisy_cells, quietly, set_preferences

from napari_scsc import denoise, inpaint
from napari_scsc.io.layers import get_reader
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.run.updates import BlocksDone

pytestmark = pytest.mark.screen

PLACE = {
    "scale": (0.5, 0.25),
    "units": ("um", "um"),
    "axis_labels": ("y", "x"),
    "colormap": "magma",
    "contrast_limits": (200, 900),
}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder to which every result goes."""
    found = tmp_path / "large ones" / "here"
    set_preferences(monkeypatch, results_folder=found, large_result=1)
    monkeypatch.setattr("time.strftime", lambda *_: "20260101-120000")
    return found


def hold_at_the_blocks(monkeypatch, error=None):
    """Let a run come as far as its blocks, and wait there to be stopped; or fail there."""
    reached = threading.Event()
    updates = RestoreRequest.updates

    def held(self, out, cancellation):
        for update in updates(self, out, cancellation):
            yield update
            if isinstance(update, BlocksDone):
                if error is not None:
                    raise error
                reached.set()
                while not cancellation.is_cancelled:
                    threading.Event().wait(0.01)
                cancellation.check()

    monkeypatch.setattr(RestoreRequest, "updates", held)
    return reached


def test_large_result_is_a_file_with_the_same_values_scale_units_and_axes(make_dock, folder):
    image = noisy_cells()
    viewer, dock = make_dock(image, name="my cells/1", **PLACE)
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    (path,) = folder.iterdir()
    assert path.name == "my-cells-1-denoised-20260101-120000.zarr"
    written = zarr.open_array(path, mode="r")
    expected = denoise(image, quality="fast")
    np.testing.assert_array_equal(written[...], expected)
    assert written.metadata.dimension_names == ("y", "x")
    assert written.attrs["scale"] == [0.5, 0.25]
    assert written.attrs["units"] == ["micrometer", "micrometer"]
    (opened,) = get_reader(path)(path)
    np.testing.assert_allclose(opened[1]["scale"], PLACE["scale"])
    np.testing.assert_allclose(opened[1]["translate"], viewer.layers["my cells/1"].translate)
    assert tuple(opened[1]["axis_labels"]) == ("y", "x")

    result = dock.result
    assert isinstance(result.data, da.Array)
    np.testing.assert_array_equal(np.asarray(result.data), expected)
    np.testing.assert_allclose(result.scale, PLACE["scale"])
    assert result.units == viewer.layers["my cells/1"].units
    assert result.colormap.name == "magma"
    assert result.metadata["napari_scsc"]["recipe"]["script"] == dock.script
    assert "my cells/1 · denoised" in dock.message


def test_second_large_result_is_another_file(make_light_dock, folder, monkeypatch):
    image = noisy_cells()
    viewer, dock = make_light_dock(image, name="mine")
    dock.quality = "fast"
    results = []
    for strength in (1.0, 2.0):
        dock.strength = strength
        dock.denoise()
        finish(dock)
        results.append(dock.result)
    assert len(list(folder.iterdir())) == 2
    first = denoise(image, bank=dock.bank, quality="fast")
    second = denoise(image, bank=dock.bank, quality="fast", strength=2.0)
    np.testing.assert_array_equal(np.asarray(results[0].data), first)
    np.testing.assert_array_equal(np.asarray(results[1].data), second)
    assert len(viewer.layers) == 3

    set_preferences(monkeypatch, results_folder=folder, large_result=image.nbytes + 1)
    dock.denoise()
    finish(dock)
    assert type(dock.result.data) is np.ndarray
    np.testing.assert_array_equal(dock.result.data, second)
    assert len(list(folder.iterdir())) == 2


def test_colours_and_holes_go_to_a_file_too(make_light_dock, folder):
    image = np.moveaxis(noisy_cells((3, 40, 48)) // 8, 0, -1).astype(np.uint8)
    viewer, dock = make_light_dock(image, name="mine", rgb=True, scale=(2, 2))
    holes = np.zeros((40, 48), int)
    holes[10:13, 5:40] = 1
    viewer.add_labels(holes, name="holes", scale=(2, 2))
    dock.quality, dock.missing_layer = "fast", "holes"
    dock.inpaint()
    finish(dock)
    assert dock.result.rgb
    missing = np.broadcast_to(holes[..., None] > 0, image.shape)
    expected = quietly(inpaint, image, missing, kind="rgb", quality="fast")
    np.testing.assert_array_equal(np.asarray(dock.result.data), expected)
    (path,) = folder.iterdir()
    assert zarr.open_array(path, mode="r").attrs["scale"] == [2, 2, 1]


def test_stopped_large_result_is_no_file_and_no_layer_and_that_is_said(
    make_light_dock, folder, monkeypatch, qtbot
):
    reached = hold_at_the_blocks(monkeypatch)
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    dock.denoise()
    qtbot.waitUntil(reached.is_set, timeout=20000)
    assert [path.suffix for path in folder.iterdir()] == [".partial"]
    dock.stop()
    finish(dock, 20)
    name = "mine-denoised-20260101-120000.zarr"
    assert not (folder / name).exists()
    assert f"{name} was not written" in dock.message
    assert f"kept in {name}.partial" in dock.message
    assert [layer.name for layer in viewer.layers] == ["mine"]
    assert dock.bank is not None
    assert is_ready(dock)


def test_failed_large_result_is_no_file_and_the_next_one_has_another_name(
    make_light_dock, folder, monkeypatch
):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    with monkeypatch.context() as patched:
        hold_at_the_blocks(patched, RuntimeError("the disk is full"))
        dock.denoise()
        finish(dock)
    assert "the disk is full" in dock.message
    assert not list(folder.glob("*.zarr"))
    assert is_ready(dock)
    dock.denoise()
    finish(dock)
    assert [path.name for path in folder.glob("*.zarr")] == ["mine-denoised-20260101-120000-2.zarr"]
    assert len(viewer.layers) == 2


def test_folder_that_cannot_be_written_is_named_and_leaves_the_dock_ready(
    make_light_dock, monkeypatch, tmp_path
):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    with monkeypatch.context() as patched:
        set_preferences(patched, results_folder=in_the_way / "results", large_result=1)
        dock.run_section.main_button.click()
        finish(dock)
    assert str(in_the_way / "results") in dock.message
    assert "folder" in dock.message.replace(str(tmp_path), "").lower()
    assert len(complaints()) == 1
    assert is_ready(dock)
    assert len(viewer.layers) == 1
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert len(viewer.layers) == 2
