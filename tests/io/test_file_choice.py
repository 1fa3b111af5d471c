from __future__ import annotations

import os

import h5py
import numpy as np
import pytest
import scipy.io
import tifffile
import zarr
from file_tools import CUBE, equals, ome_zarr, tiff_ome, write_h5, write_zarr

from napari_scsc.errors import Remedy, UserError
from napari_scsc.io.formats import open_file


@pytest.mark.parametrize("suffix", [".h5", ".ims", ".npz", ".mat"])
def test_the_largest_array_or_the_one_named(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    datasets = {"small": CUBE[:2], "large": CUBE}
    if suffix == ".npz":
        np.savez(path, **datasets)
    elif suffix == ".mat":
        scipy.io.savemat(path, datasets)
    else:
        write_h5(path, **datasets)
    opened = open_file(path)
    equals(opened.array, CUBE)
    assert opened.name == "a large"
    equals(open_file(path, "small").array, CUBE[:2])
    with pytest.raises(ValueError, match=r"no array 'none'; there are 'large', 'small'"):
        open_file(path, "none")


@pytest.mark.parametrize("suffix", [".h5", ".npz"])
def test_an_image_goes_before_a_longer_row_of_numbers(tmp_path, suffix):
    path, row = tmp_path / f"a{suffix}", np.arange(3.0 * CUBE.size)
    if suffix == ".npz":
        np.savez(path, times=row, cube_tyx=CUBE)
    else:
        with h5py.File(path, "w") as file:
            file["times"], file["cube_tyx"] = row, CUBE
    opened = open_file(path)
    equals(opened.array, CUBE)
    assert (opened.name, opened.labels) == ("a", ("t", "y", "x"))
    equals(open_file(path, "times").array, row)


def test_two_that_are_equally_large_are_a_question(tmp_path):
    path = write_h5(tmp_path / "a.ims", **{"Channel 0/Data": CUBE, "Channel 1/Data": CUBE + 1})
    with pytest.raises(UserError, match=r"large, 'Channel 0/Data', 'Channel 1/Data'") as raised:
        open_file(path)
    assert raised.value.message.remedy is Remedy.SAY_KEY
    assert raised.value.message.path == str(path)
    equals(open_file(path, "/Channel 1/Data").array, CUBE + 1)


def test_a_zarr_group_gives_its_first_array_or_the_one_named(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("a", shape=(3,), dtype="complex64")
    group.create_array("deep/first", data=CUBE[:1])
    group.create_array("b10", data=CUBE[:2])
    group.create_array("b2", data=CUBE)
    opened = open_file(tmp_path / "a.zarr")
    equals(opened.array, CUBE)
    assert opened.name == "a b2"
    equals(open_file(tmp_path / "a.zarr", "b10").array, CUBE[:2])
    equals(open_file(tmp_path / "a.zarr", "deep").array, CUBE[:1])
    equals(open_file(tmp_path / "a.zarr", "deep/first").array, CUBE[:1])
    with pytest.raises(ValueError, match="there are 'a', 'b2', 'b10', 'deep'"):
        open_file(tmp_path / "a.zarr", "c")


def test_of_a_collection_of_images_the_first_or_the_one_named(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.attrs["ome"] = {"version": "0.5", "bioformats2raw.layout": 3}
    group.create_group("OME")
    for i in (0, 1):
        write_zarr(tmp_path / "a.zarr" / f"{i}.ome.zarr", CUBE + i, scale=(3, 2, 1))
        os.rename(tmp_path / "a.zarr" / f"{i}.ome.zarr", tmp_path / "a.zarr" / str(i))
    for key, values in ((None, CUBE), ("0", CUBE), (1, CUBE + 1), ("1/0", CUBE + 1)):
        opened = open_file(tmp_path / "a.zarr", key)
        equals(opened.array, values)
        assert opened.scale == (3, 2, 1)


def test_the_key_of_a_tiff_is_the_number_of_a_series(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(CUBE)
        file.write(CUBE[0, :7], compression="zlib")
    equals(open_file(tmp_path / "a.tif").array, CUBE)
    equals(open_file(tmp_path / "a.tif", 1).array, CUBE[0, :7])
    for key in (2, "name", -1):
        with pytest.raises(ValueError, match="series"):
            open_file(tmp_path / "a.tif", key)


def test_what_else_is_in_a_tiff_is_said(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(CUBE)
        file.write(CUBE[0, :7])
    (remark,) = open_file(tmp_path / "a.tif").remarks
    assert remark.text == "holds 2 series, this is the first and '1' the next"
    assert remark.remedy is Remedy.SAY_KEY
    assert open_file(tmp_path / "a.tif", 0).remarks == ()
    assert open_file(tiff_ome(tmp_path)).remarks == ()


def test_what_else_is_in_a_zarr_is_said(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("deep/first", data=CUBE[:1])
    assert open_file(tmp_path / "a.zarr").remarks == ()
    write_zarr(tmp_path / "a.zarr" / "deep" / "second.ome.zarr")
    for key in (None, "deep"):
        (remark,) = open_file(tmp_path / "a.zarr", key).remarks
        assert remark.text.endswith("this is the first and 'deep/second.ome.zarr' the next")
        assert remark.remedy is Remedy.SAY_KEY
    equals(open_file(tmp_path / "a.zarr", "deep/second.ome.zarr").array, CUBE)
    assert open_file(tmp_path / "a.zarr", "deep/first").remarks == ()
    assert open_file(ome_zarr(tmp_path)).remarks == ()


def test_a_damaged_image_does_not_concern_the_first_of_a_zarr(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("a", data=CUBE)
    group.create_group("b").attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": []}]}
    opened = open_file(tmp_path / "a.zarr")
    equals(opened.array, CUBE)
    assert opened.remarks == ()
