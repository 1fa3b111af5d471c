from __future__ import annotations

import sys

import dask.array as da
import numpy as np
import pytest
import scipy.io
from layer_tools import RNG, kind, read, read_one

from napari_scsc.io.formats.file_arrays import MappedArray


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "labels", "kind_"),
    [
        ("a", (20, 30), "f4", "yx", "image"),
        ("cloth_yxc", (24, 20, 31), "u2", "cyx", "multispectral"),
        ("airport_tyx", (50, 14, 17), "u1", "tyx", "video"),
        ("a_ZYX", (50, 14, 17), "u1", "zyx", "stack"),
        ("lytro_uvyx", (3, 4, 20, 30), "u1", "uvyx", "light-field"),
        ("a_yxuv", (20, 30, 3, 4), "u1", "uvyx", "light-field"),
        ("a_tczyx", (2, 3, 4, 5, 6), "u1", "tzcyx", "custom"),
        ("scan_xy", (20, 30), "u1", "yx", "image"),
        ("hyperspectral", (40, 50, 8), "f4", "cyx", "multispectral"),
        ("hyperspectral", (8, 40, 50), "f4", "cyx", "multispectral"),
        ("my_video", (8, 40, 50), "f4", "tyx", "video"),
        ("timelapse", (8, 40, 50), "f4", "tyx", "time-lapse"),
        ("a", (5, 5, 40, 50), "u1", "uvyx", "light-field"),
        ("a", (40, 50, 5, 5), "u1", "uvyx", "light-field"),
        # What can be read in two ways is left to the user.
        ("a", (8, 40, 50), "f4", None, None),
        ("my_video", (50, 40, 50), "f4", None, None),
        ("hyperspectral", (31, 40, 32), "f4", None, None),
        ("a_tyx", (8, 8, 40, 50, 2), "f4", None, None),
        ("a", (4, 8, 40, 50), "u2", None, None),
    ],
)
def test_axes_are_named_where_they_are_certain(tmp_path, name, shape, dtype, labels, kind_):
    array = (100 * RNG.random(shape)).astype(dtype)
    np.save(tmp_path / f"{name}.npy", array)
    data, arguments = read_one(tmp_path / f"{name}.npy")
    assert arguments.get("axis_labels") == (tuple(labels) if labels else None)
    assert (kind(arguments), arguments["rgb"]) == (kind_, False)
    assert sorted(data.shape) == sorted(shape)
    if labels is None:
        np.testing.assert_array_equal(data, array)
    else:
        spelled = arguments["metadata"]["napari_scsc"]["axes_in_file"]
        order = [spelled.index(letter) for letter in labels]
        np.testing.assert_array_equal(data, array.transpose(order))


@pytest.mark.parametrize(
    ("array", "labels", "kind_"),
    [
        (RNG.integers(0, 255, (20, 30, 3), np.uint8), "yx", "rgb"),
        (RNG.random((20, 30, 3)), "yx", "rgb"),
        (100 * RNG.random((20, 30, 3)), None, None),
        (RNG.integers(0, 255, (3, 3, 20, 30, 3), np.uint8), "uvyx", "custom"),
    ],
)
def test_colours_are_told_from_bands(tmp_path, array, labels, kind_):
    np.save(tmp_path / "a.npy", array)
    data, arguments = read_one(tmp_path / "a.npy")
    np.testing.assert_array_equal(data, array)
    assert arguments.get("axis_labels") == (tuple(labels) if labels else None)
    assert (kind(arguments), arguments["rgb"]) == (kind_, labels is not None)


def test_large_npy_is_mapped_and_a_small_one_is_not(tmp_path, monkeypatch):
    array = RNG.integers(0, 99, (20, 30), np.int32)
    np.save(tmp_path / "a_xy.npy", array)
    data, _ = read_one(tmp_path / "a_xy.npy")
    assert not isinstance(data, np.memmap)
    monkeypatch.setattr(MappedArray, "max_bytes_in_viewer", 100)
    data, _ = read_one(tmp_path / "a_xy.npy")
    assert isinstance(data, np.memmap)
    assert not data.flags.writeable
    np.testing.assert_array_equal(data, array.T)
    np.save(tmp_path / "big.npy", array.astype(">i4"))
    data, _ = read_one(tmp_path / "big.npy")
    assert isinstance(data, da.Array)
    assert data.dtype == np.dtype("=i4")
    np.testing.assert_array_equal(data.compute(scheduler="sync"), array)


def test_every_picture_of_an_npz_is_opened_and_nothing_else(tmp_path):
    cube = RNG.integers(0, 99, (6, 20, 30), np.uint16)
    np.savez_compressed(
        tmp_path / "a.npz",
        cube_zyx=cube,
        mask=cube[0] > 50,
        gain=np.float32(2.0),
        spectrum=np.arange(5.0),
        row=np.ones((1, 9)),
        empty=np.ones((0, 3)),
        text=np.array("words"),
        phase=np.ones((5, 5), complex),
    )
    layers = {
        arguments["name"]: (data, arguments) for data, arguments, _ in read(tmp_path / "a.npz")
    }
    assert sorted(layers) == ["a cube_zyx", "a mask"]
    np.testing.assert_array_equal(layers["a cube_zyx"][0], cube)
    assert kind(layers["a cube_zyx"][1]) == "stack"
    assert layers["a mask"][0].dtype == bool


def test_npz_may_spell_its_axes(tmp_path):
    np.savez(tmp_path / "a.npz", cube=np.ones((20, 30, 7)), axes="yxc")
    data, arguments = read_one(tmp_path / "a.npz")
    assert data.shape == (7, 20, 30)
    assert kind(arguments) == "multispectral"


class Evil:
    def __reduce__(self):
        return exec, ("raise AssertionError('code was run')",)


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "scsc"])
def test_no_code_is_run_and_damage_is_reported(tmp_path, suffix):
    import pickle

    evil = np.array([[Evil(), Evil()], [Evil(), Evil()]], object)
    path = tmp_path / f"evil.{suffix}"
    if suffix == "npy":
        np.save(path, evil, allow_pickle=True)
    elif suffix == "npz":
        np.savez(path, evil=evil)
    else:
        path.write_bytes(pickle.dumps(evil))
    for damage in (None, b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04" + bytes(40), bytes(200)):
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(ValueError, match=rf"evil\.{suffix}: "):
            read(path)


def test_what_a_file_without_pictures_holds_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", spectrum=np.arange(5.0), gain=1)
    with pytest.raises(ValueError, match=r"it holds spectrum \(5 float64\), gain \(1 int64\)"):
        read(tmp_path / "a.npz")


def test_matlab_cube(tmp_path):
    cube = RNG.random((40, 50, 8))
    scipy.io.savemat(
        tmp_path / "a.mat",
        {"hyperspectral": cube, "wavelengths": np.arange(8.0), "note": "x", "s": {"b": cube}},
        do_compression=True,
    )
    data, arguments = read_one(tmp_path / "a.mat")
    np.testing.assert_array_equal(data, cube.transpose(2, 0, 1))
    assert arguments["axis_labels"] == ("c", "y", "x")
    scipy.io.savemat(tmp_path / "b.mat", {"note": "x"})
    with pytest.raises(ValueError, match=r"it holds note \(1 char\)"):
        read(tmp_path / "b.mat")


def test_without_h5py_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "a.h5").write_bytes(b"")
    (tmp_path / "b.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: any")
    for name in ("a.h5", "b.mat"):
        with pytest.raises(ImportError, match=r"pip install h5py"):
            read(tmp_path / name)


def test_hdf5_is_read_region_by_region(tmp_path):
    h5py = pytest.importorskip("h5py")
    cube = RNG.integers(0, 99, (8, 40, 50), np.uint16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        inner = file.create_dataset("group/cube", data=cube, chunks=(1, 40, 50), compression="gzip")
        for dimension, label in zip(inner.dims, ("Time", "y", "x"), strict=True):
            dimension.label = label
        file.create_dataset("bands", data=cube.T).attrs["axes"] = "xyc"
        file.create_dataset("plain", data=cube)
        file.create_dataset("names", data=["a", "b"])
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    layers = {
        arguments["name"]: (data, arguments) for data, arguments, _ in read(tmp_path / "a.h5")
    }
    assert sorted(layers) == ["a bands", "a group/cube", "a plain"]
    expected = {"a bands": ("c", "y", "x"), "a group/cube": ("t", "y", "x"), "a plain": None}
    for name, (data, arguments) in layers.items():
        assert isinstance(data, da.Array)
        assert arguments.get("axis_labels") == expected[name]
        np.testing.assert_array_equal(data[3].compute(scheduler="sync"), cube[3])


def test_matlab_7_3_has_the_axes_of_matlab(tmp_path):
    h5py = pytest.importorskip("h5py")
    cube = RNG.random((40, 50, 8))
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("cube_yxc", data=cube.T)
    with open(tmp_path / "a.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: any")
    data, arguments = read_one(tmp_path / "a.mat")
    np.testing.assert_array_equal(data.compute(scheduler="sync"), cube.transpose(2, 0, 1))
    assert arguments["axis_labels"] == ("c", "y", "x")


def test_damaged_hdf5_is_reported(tmp_path):
    pytest.importorskip("h5py")
    (tmp_path / "a.h5").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"a\.h5: not a readable HDF5 file"):
        read(tmp_path / "a.h5")
