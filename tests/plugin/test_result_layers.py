"""Layers of results: they look like their source and say how they were made; the source stays."""

from __future__ import annotations

import copy
import json
import threading

import dask.array as da
import numpy as np
import pytest
import xarray
import zarr
from dock_tools import (
    finish,
    noisy_cells,
    quietly,
    run_script,
    slow_down,
)

from napari_scsc import __version__, denoise, inpaint, samples
from napari_scsc.data.axes import PRESETS
from napari_scsc.plugin import layers
from napari_scsc.plugin.requests import RestoreRequest, keep_request

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
    assert recipe == json.loads(json.dumps(recipe))
    assert {name: recipe[name] for name in ("task", "script", "version", "bank", "filters")} == {
        "task": "denoise",
        "script": dock.script,
        "version": __version__,
        "bank": dock.bank.id,
        "filters": None,
    }
    options = {name: recipe["options"][name] for name in ("strength", "quality", "seed")}
    assert options == {"strength": 1.25, "quality": "fast", "seed": 3}
    assert recipe["noise"]["sigma"] == dock.runner.result.noise.sigma
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


# --- nothing is overwritten -----------------------------------------------------------------------


def names(viewer):
    return [layer.name for layer in viewer.layers]


def duplicate(viewer, layer):
    """As napari does it: another layer with copies of the data and the metadata."""
    from napari.layers._layer_actions import _duplicate_layer

    viewer.layers.selection = {layer}
    _duplicate_layer(viewer.layers)
    return viewer.layers[viewer.layers.index(layer) + 1]


def test_second_run_has_a_layer_of_its_own_and_leaves_the_first_alone(make_light_dock):
    image = noisy_cells()
    viewer, dock = make_light_dock(image, name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    first = viewer.layers["mine · denoised"]
    former, recipe = first.data.copy(), copy.deepcopy(first.metadata)
    viewer.layers["mine"].scale = (0.5, 0.5)
    dock.strength = 2.0
    dock.denoise()
    finish(dock)
    assert names(viewer) == ["mine", "mine · denoised", "mine · denoised 2"]
    second = viewer.layers["mine · denoised 2"]
    assert dock.result is second
    assert "mine · denoised 2" in dock.message
    expected = denoise(image, bank=dock.bank, quality="fast", strength=2.0)
    np.testing.assert_array_equal(second.data, expected)
    np.testing.assert_allclose(second.scale, (0.5, 0.5))
    assert second.metadata["napari_scsc"]["recipe"]["options"]["strength"] == 2.0
    np.testing.assert_array_equal(first.data, former)
    np.testing.assert_allclose(first.scale, (1, 1))
    assert first.metadata == recipe


@pytest.mark.parametrize(
    "change", ["renamed", "duplicated", "duplicated and the first gone", "painted over"]
)
def test_result_that_the_user_keeps_survives_the_next_run(make_light_dock, change):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    kept = viewer.layers["mine · denoised"]
    if change == "renamed":
        kept.name = "the good one"
    elif change.startswith("duplicated"):
        first, kept = kept, duplicate(viewer, kept)
        if "gone" in change:
            viewer.layers.remove(first)
    else:
        kept.data[:10] = 0
    before, called = kept.data.copy(), kept.name
    dock.strength = 2.0
    dock.denoise()
    finish(dock)
    assert kept in viewer.layers
    assert kept.name == called
    np.testing.assert_array_equal(kept.data, before)
    assert dock.result is not kept


@pytest.mark.parametrize("container", ["numpy", "multiscale"])
@pytest.mark.parametrize("first", ["nothing", "learns"])
def test_layer_that_is_edited_while_it_is_restored_leaks_nothing(
    make_light_dock, qtbot, monkeypatch, container, first
):
    image = noisy_cells()
    before = image.copy()
    is_multiscale = container == "multiscale"
    viewer, dock = make_light_dock()
    viewer.add_image(
        [image, image[::2, ::2]] if is_multiscale else image,
        name="mine",
        multiscale=is_multiscale,
    )
    dock.quality = "fast"
    if first == "learns":
        dock.n_base = 8
    edited, updates = threading.Event(), RestoreRequest.updates

    def updates_after_the_edit(self, out, cancellation):
        assert edited.wait(10)
        yield from updates(self, out, cancellation)

    monkeypatch.setattr(RestoreRequest, "updates", updates_after_the_edit)
    dock.denoise()
    image[:] = 0
    edited.set()
    finish(dock)
    expected = quietly(denoise, before, bank=dock.bank, quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)


def test_large_layer_is_not_copied(make_light_dock, monkeypatch):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    (small,) = map(keep_request, dock.runner.restore_requests())
    assert not np.shares_memory(small.source.data, viewer.layers["mine"].data)
    monkeypatch.setattr(layers, "MAX_COPIED_BYTES", 100)
    (large,) = map(keep_request, dock.runner.restore_requests())
    assert large.source.data is viewer.layers["mine"].data


def test_results_that_are_gone_are_not_kept(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "draft"
    for _ in range(3):
        dock.denoise()
        finish(dock)
        viewer.layers.remove(dock.result)
    assert len(dock.runner._all_results) == 1


def test_name_that_the_user_gives_while_a_result_fills_is_kept(make_light_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    dock.result.name = "look at the corner"
    dock.stop()
    finish(dock, 10)
    assert dock.result.name == "look at the corner"


def test_failed_second_run_leaves_the_former_result_alone(make_light_dock, monkeypatch):
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
    assert names(viewer)[:3] == ["mine", "mine · denoised", "mine · denoised, partial"]


def test_stopped_result_is_called_partial_and_a_complete_one_is_not(
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
    assert names(viewer) == [
        "mine",
        "mine · denoised, partial",
        "mine · denoised, partial: not restored",
        "mine · denoised",
    ]


def test_residual_is_what_was_taken_away_and_one_for_each_result(make_light_dock):
    image = noisy_cells((48, 56))
    viewer, dock = make_light_dock(image, name="mine", **looks_for("image"))
    dock.quality, dock.residual = "fast", True
    for strength in (1.0, 1.5):
        dock.strength = strength
        dock.denoise()
        finish(dock)
        residual = viewer.layers[-1]
        np.testing.assert_array_equal(
            residual.data, image.astype(np.float32) - dock.result.data.astype(np.float32)
        )
        assert residual.data.dtype == np.float32
        assert not residual.visible
    assert names(viewer) == [
        "mine",
        "mine · denoised",
        "mine · residual",
        "mine · denoised 2",
        "mine · residual [1]",
    ]
    where, there = seen(viewer.layers["mine"]), seen(residual)
    own = ("colormap", "contrast_limits")
    assert_same_looks({k: v for k, v in where.items() if k not in own}, there)
    low, high = residual.contrast_limits
    assert low == -high
    assert dock.sources == ["mine"]
