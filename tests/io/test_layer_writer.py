"""Image layers of napari, saved and opened again."""

from __future__ import annotations

import os
import shutil

import dask.array as da
import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image
from napari.plugins import _initialize_plugins

from napari_scsc.io import layer_writer
from napari_scsc.io.channels import Channel
from napari_scsc.io.formats import open_file
from napari_scsc.io.layer_writer import write_layers
from napari_scsc.plugin.opening import open_path

RNG = np.random.default_rng(0)
VALUES = RNG.integers(0, 60_000, (3, 4, 20, 30), "u2")
PLACE = {
    "axis_labels": ("t", "z", "y", "x"),
    "scale": (2, 1.5, 0.5, 0.25),
    "units": ("second", "micrometer", "micrometer", "micrometer"),
    "translate": (0, 3.5, -1, 2),
}
RECIPE = {"script": "denoise(x)", "bank": None}
NAMES = ["a.ome.tif", "a.ome.zarr", "a.zarr"]


@pytest.fixture
def viewer():
    _initialize_plugins()
    return ViewerModel()


def layer(values=VALUES, **more):
    looks = {"name": "cells", "colormap": "green", "contrast_limits": (5, 900)}
    metadata = {"napari_scsc": {"recipe": RECIPE}}
    return Image(values, **{**PLACE, **looks, "metadata": metadata, **more})


def tuples(*layers):
    return [each.as_layer_data_tuple() for each in layers]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_layer_keeps_its_values_and_place(viewer, tmp_path, name):
    viewer.add_layer(layer())
    assert viewer.layers.save(str(tmp_path / name)) == [str(tmp_path / name)]
    opened = open_file(tmp_path / name)
    np.testing.assert_array_equal(opened.array[...], VALUES)
    assert opened.array.dtype == VALUES.dtype
    assert opened.labels == PLACE["axis_labels"]
    assert opened.scale == PLACE["scale"]
    assert opened.units == PLACE["units"]
    assert os.listdir(tmp_path) == [name]


def test_ome_tiff_keeps_all_that_is_said(tmp_path):
    write_layers(tmp_path / "a.ome.tif", tuples(layer()))
    opened = open_file(tmp_path / "a.ome.tif")
    assert opened.translation == PLACE["translate"]
    assert opened.channels == (Channel("cells", "00FF00", (5, 900)),)
    assert opened.recipe == RECIPE


def test_layers_saved_together_are_channels_and_come_back_as_layers(viewer, tmp_path):
    colours = {"DAPI": "blue", "GFP": "green", "any": "viridis"}
    for i, (name, colormap) in enumerate(colours.items()):
        viewer.add_layer(layer(VALUES + i, name=f"cells: {name}", colormap=colormap))
    viewer.layers.save(str(tmp_path / "a.ome.tif"))
    opened = open_file(tmp_path / "a.ome.tif")
    assert opened.labels == ("t", "c", "z", "y", "x")
    assert [channel.name for channel in opened.channels] == list(colours)
    assert [channel.colour for channel in opened.channels] == ["0000FF", "00FF00", ""]
    again = open_path(ViewerModel(), str(tmp_path / "a.ome.tif"))
    for before, after in zip(viewer.layers, again, strict=True):
        np.testing.assert_array_equal(after.data, before.data)
        np.testing.assert_array_equal(after.scale, before.scale)
        np.testing.assert_array_equal(after.translate, before.translate)
        assert after.units == before.units
        assert after.axis_labels == before.axis_labels
        assert after.name.partition(": ")[2] == before.name.partition(": ")[2]
        assert tuple(after.contrast_limits) == tuple(before.contrast_limits)
    assert [each.colormap.name for each in again[:2]] == ["blue", "green"]


@pytest.mark.parametrize("name", NAMES)
def test_colours_of_pixels_are_kept(tmp_path, name):
    values = RNG.integers(0, 255, (20, 30, 3), "u1")
    place = {"axis_labels": ("y", "x"), "scale": (0.5, 0.25), "units": ("um", "um")}
    write_layers(tmp_path / name, tuples(Image(values, rgb=True, **place)))
    opened = open_file(tmp_path / name)
    if name == "a.ome.zarr":
        assert opened.labels == ("c", "y", "x")
        np.testing.assert_array_equal(np.moveaxis(opened.array[...], 0, -1), values)
        assert opened.scale == (1, 0.5, 0.25)
    else:
        assert (opened.labels, opened.rgb) == (("y", "x", "c"), True)
        np.testing.assert_array_equal(opened.array[...], values)
        assert opened.scale[:2] == (0.5, 0.25)


def test_dask_is_computed_block_by_block_and_once(tmp_path, monkeypatch):
    count = []

    def block(block_info=None):
        count.append(block_info[None]["chunk-location"])
        return np.full((1, 64, 64), len(count), "u1")

    values = da.map_blocks(block, chunks=((1,) * 4, (64,) * 2, (64,) * 2), dtype="u1")
    lazy = Image(values, contrast_limits=(0, 9), axis_labels=("z", "y", "x"))
    count.clear()
    write_layers(tmp_path / "a.ome.zarr", tuples(lazy))
    assert len(count) == len(set(count)) == 16


def test_of_several_levels_the_finest_is_saved(tmp_path):
    levels = [np.arange(800, dtype="u2").reshape(20, 40), np.ones((10, 20), "u2")]
    write_layers(tmp_path / "a.ome.tif", tuples(Image(levels, multiscale=True)))
    np.testing.assert_array_equal(open_file(tmp_path / "a.ome.tif").array[...], levels[0])


def test_axes_without_names_are_proposed_and_told(tmp_path):
    plain = Image(np.ones((9, 20, 30), "f4"), name="brain stack")
    with pytest.warns(UserWarning, match=r"'brain stack'.*\(z, y, x\)"):
        write_layers(tmp_path / "a.ome.tif", tuples(plain))
    assert open_file(tmp_path / "a.ome.tif").labels == ("z", "y", "x")


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([layer(rotate=(0, 0, 30, 0)[:3])], "layer.rotate"),
        ([layer(shear=np.eye(4) + np.eye(4, k=1))], "layer.shear"),
        ([layer(affine=np.diag([2.0, 1, 1, 1, 1]))], "layer.affine"),
        ([layer(scale=(1, 1, -1, 1))], "negative"),
        ([layer(), layer(VALUES[:, :, :9])], "another shape"),
        ([layer(), layer(VALUES.astype("f4"))], "another type"),
        ([layer(), layer(translate=(0, 0, 0, 9))], "another scale or position"),
        ([layer(), layer(units=("s", "nm", "um", "um"))], "other axes or units"),
        ([layer(VALUES.astype("i8"))], "int64"),
        ([layer(axis_labels=("t", "phase", "y", "x"))], "phase"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(tmp_path, layers, words):
    with pytest.raises(TypeError, match=words):
        write_layers(tmp_path / "a.ome.tif", tuples(*layers))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_there_is_not_overwritten(viewer, tmp_path, name):
    viewer.add_layer(layer())
    (tmp_path / name).write_text("mine")
    with pytest.raises(TypeError, match="is there already"):
        viewer.layers.save(str(tmp_path / name))
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_of_a_layer_that_could_not_be_read(tmp_path, name):
    def broken(block_info=None):
        raise ArithmeticError("no values")

    values = da.map_blocks(broken, chunks=((8,), (8,)), dtype="u1", meta=np.ones((0, 0), "u1"))
    data = values, {"name": "a", "axis_labels": ("y", "x")}, "image"
    with pytest.raises(ArithmeticError):
        write_layers(tmp_path / name, [data])
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match="are needed, but the disk has 10 bytes left"):
        write_layers(tmp_path / "a.ome.tif", tuples(layer()))
    assert os.listdir(tmp_path) == []


def test_napari_chooses_the_writer_by_the_ending(viewer):
    from npe2 import PluginManager

    manager = PluginManager.instance()
    for name in (*NAMES, "a.ome.tiff"):
        for n_layers in (1, 3):
            writer, _ = manager.get_writer(name, ["image"] * n_layers)
            assert writer.command == "napari-scsc.write_layers"
    assert manager.get_writer("a.tif", ["image"])[0].command == "napari.write_image"
    other, _ = manager.get_writer("a.ome.tif", ["labels"])
    assert other is None or other.command != "napari-scsc.write_layers"


def test_blocks_are_small_where_the_data_do_not_say(tmp_path, monkeypatch):
    monkeypatch.setattr(layer_writer, "_MAX_PLANE_LENGTH", 16)
    shapes = []
    before = layer_writer._Picture.read
    monkeypatch.setattr(
        layer_writer._Picture,
        "read",
        lambda picture, region: shapes.append((read := before(picture, region)).shape) or read,
    )
    write_layers(tmp_path / "a.ome.zarr", tuples(layer(), layer(name="other")))
    assert max(map(np.prod, shapes)) <= 256
    assert open_file(tmp_path / "a.ome.zarr").array.shape == (3, 2, 4, 20, 30)
