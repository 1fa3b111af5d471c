from __future__ import annotations

import importlib
import subprocess
import sys
import types

import numpy as np
import pytest
from layer_tools import RNG, bank_of, greys, read, write_images
from npe2 import PluginManager, PluginManifest

from napari_scsc import FilterBank, Output, denoise, samples
from napari_scsc.io import formats, layers
from napari_scsc.io.layers import get_reader

# What is ours


def test_none_for_what_is_not_ours(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "empty").mkdir()
    for name in ("a.tif", "a.txt", "empty", "absent.npz"):
        assert get_reader(str(tmp_path / name)) is None
    assert get_reader([str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]) is None


def test_a_path_is_taken_as_string_path_or_list_of_one(tmp_path):
    with open(tmp_path / "A.NPZ", "wb") as stream:  # np.savez would add an ending
        np.savez(stream, values=np.ones((3, 4)))
    for path in (tmp_path / "A.NPZ", str(tmp_path / "A.NPZ"), [str(tmp_path / "A.NPZ")]):
        ((data, arguments, _),) = get_reader(path)(path)
        assert data.shape == (3, 4)
        assert arguments["name"] == "A"


def test_importing_readers_and_writers_loads_no_reader_of_files():
    code = (
        "import napari_scsc, sys\n"
        "before = set(sys.modules)\n"
        "import napari_scsc.io.layers, napari_scsc.plugin.sample_data\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new & {'imageio', 'h5py', 'napari', 'qtpy', 'PIL', 'tifffile', 'av'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_the_list_of_formats_is_light_and_names_modules_that_are_there():
    code = "import sys, napari_scsc.io.formats\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    for known in formats.FORMATS:
        module = importlib.import_module(f"napari_scsc.io.formats.{known.module}")
        assert hasattr(module, "open_file") or hasattr(module, "list_arrays")


@pytest.mark.parametrize("in_napari", [True, False])
def test_a_new_format_is_a_module_and_a_line(tmp_path, monkeypatch, in_napari):
    from napari_scsc.io.formats import opened_file

    module = types.ModuleType("napari_scsc.io.formats.tables")
    module.open_file = lambda path, key: opened_file.describe(path, np.loadtxt(path), kind="image")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    line = formats.Format("tables", "tables", (".table",), in_napari)
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, line))
    np.savetxt(tmp_path / "plane.table", np.eye(8))
    assert formats.open_file(tmp_path / "plane.table").labels == ("y", "x")
    assert (get_reader(str(tmp_path / "plane.table")) is not None) == in_napari


# In napari


@pytest.fixture
def manager():
    manager = PluginManager()
    manager.register(PluginManifest.from_distribution("napari-scsc"))
    return manager


@pytest.mark.parametrize(
    "name",
    [
        "a.scsc",
        "a_lenslet_9x9.png",
        "a.ome.tif",
        "A.OME.TIFF",
        "A.NPZ",
        "a.mat",
        "a.h5",
        "a.b.hdf5",
    ],
)
def test_manifest_sends_our_files_to_the_reader(manager, name):
    assert [r.command for r in manager.iter_compatible_readers(name)] == ["napari-scsc.read"]


@pytest.mark.parametrize("name", ["", "a.tif", "a.tiff", "a.png", "a.npy", "a.gif", "a.mp4"])
def test_manifest_leaves_to_others_what_they_read(manager, name, tmp_path):
    assert list(manager.iter_compatible_readers(str(tmp_path / name))) == []


def test_manifest_names_every_ending_that_is_read(manager):
    (reader,) = PluginManifest.from_distribution("napari-scsc").contributions.readers
    patterns = {f"*{layers.BANK_SUFFIX}"}
    for known in formats.FORMATS:
        if known.in_napari:
            stem = known.stem.replace(r"\d{1,2}", "*").replace(".*", "*").replace("\\.", ".")
            patterns |= {stem + suffix for suffix in known.suffixes}
    assert set(reader.filename_patterns) == patterns


def test_manifest_writes_filters_only_where_that_ending_is_asked_for(manager):
    writer, path = manager.get_writer("a.scsc", ["image"])
    assert (writer.command, path) == ("napari-scsc.write_bank", "a.scsc")
    assert manager.get_writer("a.tif", ["image"])[0] is None
    assert manager.get_writer("a.scsc", ["labels"])[0] is None


def test_layers_open_in_napari_and_filters_are_saved_from_it(tmp_path):
    from napari.components import ViewerModel

    viewer = ViewerModel()

    def add(path):
        ((data, arguments, layer_type),) = read(path)
        return getattr(viewer, f"add_{layer_type}")(data, **arguments)

    bank = bank_of((4, 3, 5, 7), 1, kind="rgb")
    bank.save(tmp_path / "cells.scsc")
    filters = add(tmp_path / "cells.scsc")
    assert tuple(filters.axis_labels) == ("filter", "c", "y", "x")
    assert filters.colormap.name == "blue white orange"
    data, attributes, layer_type = filters.as_layer_data_tuple()
    assert layer_type == "image"
    layers.write_bank(str(tmp_path / "again.scsc"), data, attributes)
    assert FilterBank.load(tmp_path / "again.scsc").id == bank.id

    write_images(tmp_path / "a", [f"a_ms_{i}.png" for i in range(3)], greys(3))
    bands = add(tmp_path / "a")
    assert (tuple(bands.axis_labels), bands.rgb, bands.ndim) == (("c", "y", "x"), False, 3)
    names = [f"view_{u}_{v}.png" for u in range(2) for v in range(2)]
    write_images(tmp_path / "b", names, RNG.integers(0, 255, (4, 6, 8, 3), np.uint8))
    views = add(tmp_path / "b")
    assert (tuple(views.axis_labels), views.rgb, views.ndim) == (("u", "v", "y", "x"), True, 4)
    np.savez(tmp_path / "c.npz", mask=np.eye(5, dtype=bool))
    assert add(tmp_path / "c.npz").name == "c"


@pytest.mark.parametrize("name", ["a.zarr", "a.ome.zarr"])
def test_own_results_open_with_their_scale_units_and_axes(name, tmp_path):
    scale, units = (2.0, 0.5, 0.25), ("second", "micrometer", "micrometer")
    video = samples.video((4, 300, 320))
    denoise(video, kind="video", quality="draft", out=Output(tmp_path / name, scale, units))
    read = get_reader(str(tmp_path / name))
    ((data, arguments, _),) = read(str(tmp_path / name))
    assert arguments["name"] == "a"
    assert arguments["scale"] == scale
    assert arguments["units"] == units
    assert arguments["axis_labels"] == ("t", "y", "x")
    assert arguments["multiscale"] is (name == "a.ome.zarr")
    finest = data[0] if arguments["multiscale"] else data
    np.testing.assert_array_equal(finest, denoise(video, kind="video", quality="draft"))
