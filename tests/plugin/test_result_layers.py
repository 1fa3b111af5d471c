"""Layers of results: they look like their source and say how they were made; the source stays."""

from __future__ import annotations

import copy

import dask.array as da
import numpy as np
import pytest
import xarray
import zarr
from dock_tools import (
    complaints,
    finish,
    is_ready,
    noisy_cells,
    run_script,
    set_preferences,
    slow_down,
)

from napari_scsc import __version__, denoise, inpaint, samples
from napari_scsc.data.axes import PRESETS

pytestmark = pytest.mark.screen

KINDS = {
    "image": lambda: noisy_cells((48, 56)),
    "rgb": lambda: np.moveaxis(noisy_cells((3, 48, 48)) // 8, 0, -1),
    "video": lambda: samples.video((5, 40, 40)),
    "stack": lambda: samples.video((5, 40, 40)),
    "multispectral": lambda: samples.multispectral((5, 40, 40)),
    "light-field": lambda: samples.light_field((3, 3, 32, 32)),
    "time-lapse": lambda: samples.video((3, 40, 40)),
}


def looks_for(kind):
    """Everything that a layer can be set to, different from what napari would choose."""
    labels = PRESETS[kind].labels
    n = 2 if kind == "rgb" else len(labels)
    turn = np.eye(n)
    turn[-2:, -2:] = [[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]]
    matrix = np.eye(n + 1)
    matrix[:n, n] = np.arange(1, n + 1)
    looks = {
        "scale": np.arange(2, n + 2) / 4,
        "translate": np.arange(n) - 3.0,
        "rotate": turn,
        "shear": np.arange(1, n * (n - 1) // 2 + 1) / 50,
        "affine": matrix,
        "units": ("um",) * n,
        "axis_labels": labels[:n],
        "gamma": 0.8,
        "blending": "additive",
        "rendering": "attenuated_mip",
        "interpolation2d": "cubic",
        "interpolation3d": "nearest",
        "attenuation": 0.2,
        "iso_threshold": 3.0,
        "rgb": kind == "rgb",
    }
    if kind != "rgb":
        looks |= {"colormap": "magma", "contrast_limits": (200, 900)}
    return looks


def seen(layer):
    """What the user sees of a layer besides its values."""
    return {
        **{
            name: np.array(getattr(layer, name))
            for name in ("scale", "translate", "rotate", "shear", "contrast_limits")
        },
        "affine": np.array(layer.affine.affine_matrix),
        "colormap": layer.colormap.name,
        **{
            name: copy.copy(getattr(layer, name))
            for name in (
                "units",
                "axis_labels",
                "gamma",
                "blending",
                "rendering",
                "interpolation2d",
                "interpolation3d",
                "attenuation",
                "iso_threshold",
                "rgb",
            )
        },
    }


def assert_same_looks(one, other):
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(other[name], value, err_msg=name, atol=1e-6)
        else:
            assert other[name] == value, name


@pytest.mark.parametrize("kind", KINDS)
def test_result_looks_like_its_source_and_has_the_recipe(request, kind):
    on_a_canvas = kind in ("image", "rgb", "stack")
    make_dock = request.getfixturevalue("make_dock" if on_a_canvas else "make_light_dock")
    image = KINDS[kind]().astype(np.uint8 if kind == "rgb" else np.uint16)
    before = image.copy()
    viewer, dock = make_dock(image, name="mine", **looks_for(kind))
    source = viewer.layers["mine"]
    looked = seen(source)
    dock.kind, dock.quality, dock.seed, dock.strength = kind, "fast", 3, 1.25
    dock.denoise()
    finish(dock)

    result = viewer.layers["mine · denoised"]
    assert type(result.data) is np.ndarray
    assert result.data.dtype == image.dtype
    assert result.data.shape == image.shape
    assert not np.array_equal(result.data, image)
    assert_same_looks(looked, seen(result))
    assert viewer.layers.extent.units == source.units
    recipe = result.metadata["napari_scsc"]["recipe"]
    assert recipe == {
        "script": dock.script,
        "strength": 1.25,
        "quality": "fast",
        "seed": 3,
        "version": __version__,
        "bank": dock.bank.id,
    }
    np.testing.assert_array_equal(run_script(viewer, recipe["script"])["result"], result.data)

    assert source.data is image
    np.testing.assert_array_equal(image, before)
    assert_same_looks(looked, seen(source))
    assert source.metadata == {}


def as_zarr(image):
    made = zarr.create_array(store={}, shape=image.shape, dtype=image.dtype, chunks=(20, 20))
    made[...] = image
    return made


CONTAINERS = {
    "dask": lambda image: da.from_array(image, chunks=(20, 20)),
    "zarr": as_zarr,
    "xarray": lambda image: xarray.DataArray(image, dims=("y", "x")),
    "multiscale": lambda image: [image, image[::2, ::2], image[::4, ::4]],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_result_is_in_memory_and_the_same_whatever_holds_the_source(make_light_dock, container):
    image = noisy_cells((48, 56))
    before = image.copy()
    held = CONTAINERS[container](image)
    viewer, dock = make_light_dock(held, name="mine", **looks_for("image"))
    looked = seen(viewer.layers["mine"])
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    result = viewer.layers["mine · denoised"]
    assert type(result.data) is np.ndarray
    assert not result.multiscale
    np.testing.assert_array_equal(result.data, denoise(image, quality="fast"))
    assert_same_looks(looked, seen(result))
    again = run_script(viewer, dock.script)["result"]
    np.testing.assert_array_equal(np.asarray(again), result.data)
    source = viewer.layers["mine"].data
    kept = source[0] if container == "multiscale" else source
    np.testing.assert_array_equal(np.asarray(kept), before)
    assert isinstance(source, type(held)) or container == "multiscale"


def test_missing_values_of_the_source_stay_missing_there(make_light_dock):
    image = noisy_cells().astype(np.float32)
    image[10:13, 20:30] = np.nan
    before = image.copy()
    viewer, dock = make_light_dock(image, name="mine")
    dock.quality = "fast"
    dock.inpaint()
    finish(dock)
    filled = viewer.layers["mine · filled"].data
    np.testing.assert_array_equal(filled, inpaint(before, quality="fast"))
    assert np.isfinite(filled).all()
    assert viewer.layers["mine"].data is image
    np.testing.assert_array_equal(image, before)


def test_residual_is_what_was_taken_away_and_one_layer_only(make_light_dock):
    image = noisy_cells((48, 56))
    viewer, dock = make_light_dock(image, name="mine", **looks_for("image"))
    dock.quality, dock.residual = "fast", True
    for strength in (1.0, 1.5):
        dock.strength = strength
        dock.denoise()
        finish(dock)
        names = [layer.name for layer in viewer.layers]
        assert names == ["mine", "mine · denoised", "mine · residual"]
        residual = viewer.layers["mine · residual"]
        result = viewer.layers["mine · denoised"]
        np.testing.assert_array_equal(
            residual.data, image.astype(np.float32) - result.data.astype(np.float32)
        )
        assert residual.data.dtype == np.float32
        assert not residual.visible
    where, there = seen(viewer.layers["mine"]), seen(residual)
    own = ("colormap", "contrast_limits")
    assert_same_looks({k: v for k, v in where.items() if k not in own}, there)
    low, high = residual.contrast_limits
    assert low == -high
    assert dock.sources == ["mine"]


def test_second_run_updates_its_own_layer_wherever_the_source_is_now(make_light_dock):
    image = noisy_cells()
    viewer, dock = make_light_dock(image, name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    result = viewer.layers["mine · denoised"]
    result.colormap = "viridis"
    viewer.layers.selection = {viewer.layers["mine"]}
    viewer.layers["mine"].name = "called otherwise"
    viewer.layers["called otherwise"].scale = (0.5, 0.5)
    dock.strength = 2.0
    dock.denoise()
    finish(dock)
    assert len(viewer.layers) == 2
    assert result in viewer.layers
    bank = dock.bank
    np.testing.assert_array_equal(
        result.data, denoise(image, bank=bank, quality="fast", strength=2.0)
    )
    assert result.metadata["napari_scsc"]["recipe"]["strength"] == 2.0
    assert result.colormap.name == "viridis"
    np.testing.assert_allclose(result.scale, (0.5, 0.5))


def test_denoising_and_filling_have_a_layer_each(make_light_dock):
    image = noisy_cells()
    viewer, dock = make_light_dock(image, name="mine")
    mask = np.zeros(image.shape, int)
    mask[20:23, 5:40] = 1
    viewer.add_labels(mask, name="holes")
    dock.quality, dock.missing_layer = "fast", "holes"
    dock.denoise()
    finish(dock)
    dock.inpaint()
    finish(dock)
    names = [layer.name for layer in viewer.layers]
    assert names == ["mine", "holes", "mine · denoised", "mine · filled"]


def test_failed_second_run_brings_the_former_result_back(make_light_dock, monkeypatch):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    result = viewer.layers["mine · denoised"]
    former, recipe = result.data.copy(), copy.deepcopy(result.metadata)
    slow_down(monkeypatch, RuntimeError("not this time"))
    dock.strength = 2.0
    dock.denoise()
    finish(dock)
    assert "not this time" in dock.message
    np.testing.assert_array_equal(result.data, former)
    assert result.metadata == recipe
    assert [layer.name for layer in viewer.layers] == ["mine", "mine · denoised"]


def test_stopped_result_is_called_partial_until_a_run_is_complete(
    make_light_dock, qtbot, monkeypatch
):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    with monkeypatch.context() as slow:
        slow_down(slow)
        dock.denoise()
        qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
        assert dock.result.name == "mine · denoised"
        dock.stop()
        finish(dock, 10)
    assert dock.result.name == "mine · denoised, partial"
    dock.denoise()
    finish(dock)
    assert [layer.name for layer in viewer.layers] == ["mine", "mine · denoised"]


def test_large_result_is_a_zarr_in_the_folder_with_the_same_values(
    make_dock, monkeypatch, tmp_path
):
    folder = tmp_path / "large ones" / "here"
    image = noisy_cells()
    viewer, dock = make_dock(image, name="my cells/1", **looks_for("image"))
    set_preferences(monkeypatch, results_folder=folder, large_result=image.nbytes)
    monkeypatch.setattr("time.strftime", lambda *_: "20260101-120000")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    result = dock.result
    assert isinstance(result.data, zarr.Array)
    expected = denoise(image, quality="fast")
    np.testing.assert_array_equal(result.data[...], expected)
    assert_same_looks(seen(viewer.layers["my cells/1"]), seen(result))
    (path,) = folder.iterdir()
    np.testing.assert_array_equal(zarr.open_array(path)[...], expected)

    dock.strength = 2.0
    dock.denoise()
    finish(dock)
    np.testing.assert_array_equal(zarr.open_array(path)[...], expected)
    expected = denoise(image, bank=dock.bank, quality="fast", strength=2.0)
    np.testing.assert_array_equal(dock.result.data[...], expected)
    assert len(viewer.layers) == 2

    set_preferences(monkeypatch, results_folder=folder, large_result=image.nbytes + 1)
    dock.denoise()
    finish(dock)
    assert type(dock.result.data) is np.ndarray
    np.testing.assert_array_equal(dock.result.data, expected)


def test_folder_that_cannot_be_written_is_named_and_leaves_the_dock_ready(
    make_light_dock, monkeypatch, tmp_path
):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    with monkeypatch.context() as patched:
        set_preferences(patched, results_folder=in_the_way / "results", large_result=1)
        dock.foot.restore_button.click()
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
