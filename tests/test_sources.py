from __future__ import annotations

import importlib
import json
import logging
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool

import dask.array as da
import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
import tifffile
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from napari_scsc.data.image import wrap_image
from napari_scsc.io import readers
from napari_scsc.io.readers.picture_files import read_picture
from napari_scsc.io.sources import FileArray, file_arrays, folders, open_source, zarr_files
from napari_scsc.io.stores import store_for

RNG = np.random.default_rng(0)
CUBE = RNG.integers(0, 60_000, (5, 30, 40), "u2")


def equals(array, values):
    np.testing.assert_array_equal(array[...], values)
    assert array.shape == values.shape
    assert array.dtype == values.dtype.newbyteorder("=")
    assert array.dtype.isnative


def write_h5(path, **datasets):
    with h5py.File(path, "w") as file:
        for key, values in datasets.items():
            file.create_dataset(key, data=values, chunks=(1, *values.shape[1:]))
    return path


def write_zarr(path, values=None, labels="zyx", **more):
    values = CUBE if values is None else values
    store = store_for(path, values.shape, values.dtype, values.shape, labels=labels, **more)
    store.create()
    store.write(tuple(slice(0, n) for n in values.shape), values)
    store.finish()
    return path


def write_series(folder, names, images):
    folder.mkdir(parents=True)
    for name, image in zip(names, images, strict=True):
        iio.imwrite(folder / name, image)
    return folder


def npy(path):
    np.save(path / "a.npy", CUBE)
    return path / "a.npy"


def npy_fortran(path):
    np.save(path / "a.npy", np.asfortranarray(CUBE))
    return path / "a.npy"


def npy_swapped(path):
    np.save(path / "a.npy", CUBE.astype(">u2"))
    return path / "a.npy"


def tiff(path, **how):
    tifffile.imwrite(path / "a.tif", CUBE, **{"metadata": {"axes": "ZYX"}, **how})
    return path / "a.tif"


def tiff_swapped(path):
    return tiff(path, byteorder=">")


def tiff_tiled(path):
    return tiff(path, tile=(16, 16))


def tiff_strips(path):
    return tiff(path, compression="zlib", rowsperstrip=7)


def tiff_imagej(path):
    return tiff(path, imagej=True)


def tiff_ome(path):
    return tiff(path, ome=True, compression="zlib", byteorder=">")


def tiff_pyramid(path):
    with tifffile.TiffWriter(path / "a.tif", ome=True) as file:
        file.write(CUBE, subifds=1, tile=(16, 16), metadata={"axes": "ZYX"})
        file.write(CUBE[:, ::2, ::2], subfiletype=1, tile=(16, 16))
    return path / "a.tif"


def hdf5(path):
    return write_h5(path / "a.h5", data=CUBE)


def hdf5_swapped(path):
    return write_h5(path / "a.hdf5", data=CUBE.astype(">u2"))


def matlab(path):
    """A file of MATLAB 7.3, which is HDF5 after a header, with its axes in the opposite order."""
    with h5py.File(path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("cube", data=CUBE.T, chunks=(40, 30, 1))
    with open(path / "a.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")
    return path / "a.mat"


def zarr_array(path):
    return write_zarr(path / "a.zarr")


def zarr_2(path):
    zarr.create_array(path / "a.zarr", data=CUBE, chunks=(1, 16, 16), zarr_format=2)
    return path / "a.zarr"


def ome_zarr(path):
    return write_zarr(path / "a.ome.zarr")


def bands(path):
    return write_series(path / "scene", [f"x_ms_{i:02d}.png" for i in range(1, 6)], CUBE)


def numbered(path):
    return write_series(path / "run.1", [f"img_{i}.tif" for i in (8, 9, 10, 11, 12)], CUBE)


LAZY = [npy, npy_fortran, npy_swapped, tiff, tiff_swapped, tiff_tiled, tiff_strips, tiff_imagej]
LAZY += [tiff_ome, tiff_pyramid, hdf5, hdf5_swapped, matlab, zarr_array, zarr_2, ome_zarr, bands]
LAZY += [numbered]


@pytest.fixture(scope="module")
def processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("make", LAZY)
def test_values_are_those_that_were_written(tmp_path, make):
    opened = open_source(make(tmp_path))
    equals(opened.array, CUBE)
    assert opened.array.ndim == 3
    assert opened.name == {"bands": "scene", "numbered": "run.1"}.get(make.__name__, "a")
    view = wrap_image(opened.array)
    np.testing.assert_array_equal(view.read(np.s_[1:3, 4:20, 7:9]), CUBE[1:3, 4:20, 7:9])


@pytest.mark.parametrize("make", LAZY)
def test_another_process_reads_the_same_from_a_small_pickle(tmp_path, make, processes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = open_source(make(tmp_path).relative_to(tmp_path)).array
    array[:1]
    assert len(pickle.dumps(array)) < 10_000
    region = np.s_[1:4, 3:17, 20:]
    np.testing.assert_array_equal(processes.apply(array.__getitem__, (region,)), CUBE[region])


@pytest.mark.parametrize("make", LAZY)
def test_threads_read_at_once(tmp_path, make):
    array = open_source(make(tmp_path)).array
    regions = [np.s_[i : i + 1, j : j + 10, :] for i in range(5) for j in (0, 10, 20)]
    with ThreadPool(6) as pool:
        for region, values in zip(regions, pool.map(array.__getitem__, regions), strict=True):
            np.testing.assert_array_equal(values, CUBE[region])


@pytest.mark.parametrize("make", LAZY)
def test_dask_takes_the_array(tmp_path, make):
    array = open_source(make(tmp_path)).array
    lazy = da.from_array(array, chunks=array.chunks or (2, 30, 40), name=False)
    np.testing.assert_array_equal(lazy.compute(), CUBE)


@pytest.mark.parametrize("make", LAZY)
def test_slices_and_integers_mean_what_they_do_in_numpy(tmp_path, make):
    array = open_source(make(tmp_path)).array
    assert isinstance(array, FileArray)
    for index in (0, -1, np.s_[1:3], ..., np.s_[..., 5], np.s_[1, ..., 2:30:3], np.s_[2:2], ()):
        np.testing.assert_array_equal(array[index], CUBE[index])
    np.testing.assert_array_equal(np.asarray(array, float), CUBE.astype(float))
    assert (len(array), array.size, array.nbytes) == (5, CUBE.size, CUBE.nbytes)
    with pytest.raises(TypeError, match="slices"):
        array[[0, 1]]
    with pytest.raises(IndexError):
        array[0, 0, 0, 0]
    for index in (5, -6, np.s_[0, 0, 40]):
        with pytest.raises(IndexError, match="outside"):
            array[index]


@settings(max_examples=40)
@given(
    values=hnp.arrays(
        st.sampled_from(("u1", ">u2", "i4", "f4", ">f8")),
        hnp.array_shapes(max_dims=5, max_side=5),
        elements=st.integers(0, 100),
    ),
    data=st.data(),
)
def test_any_region_of_any_file_is_that_of_the_array(tmp_path_factory, values, data):
    folder = tmp_path_factory.mktemp("a")
    np.save(folder / "a.npy", values)
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = values
    region = tuple(
        slice(*sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))))
        for n in values.shape
    )
    for name in ("a.npy", "a.h5"):
        np.testing.assert_array_equal(open_source(folder / name).array[region], values[region])


# What the eager readers give


def same_as_the_eager_reader(path):
    """The array and its labels, with the axes in the order of the eager reader."""
    ((data, known, _),) = readers.get_reader(path)(path)
    opened = open_source(path)
    labels = (*known["axis_labels"], *(("c",) if known["rgb"] else ()))
    order = [opened.labels.index(label) for label in labels]
    np.testing.assert_array_equal(np.asarray(opened.array).transpose(order), np.asarray(data))


@pytest.mark.parametrize("name", ["cloth_yxc.npy", "video_3.npy", "rgb.npy", "plain.npy"])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".mat"])
def test_arrays_and_labels_are_those_of_the_eager_reader(tmp_path, name, suffix):
    shapes = {"cloth": (30, 40, 7), "video": (5, 30, 40), "rgb": (30, 40, 3), "plain": (30, 40)}
    values = RNG.integers(0, 255, shapes[name.partition("_")[0].removesuffix(".npy")], "u1")
    path = tmp_path / name.replace(".npy", suffix)
    if suffix == ".npy":
        np.save(path, values)
    elif suffix == ".npz":
        np.savez(path, data=values)
    elif suffix == ".h5":
        write_h5(path, data=values)
    else:
        scipy.io.savemat(path, {"data": values})
    same_as_the_eager_reader(path)


def test_pictures_videos_and_folders_are_those_of_the_eager_reader(tmp_path):
    colours = RNG.integers(0, 255, (9, 18, 18, 3), "u1")
    iio.imwrite(tmp_path / "film.gif", colours[..., 0], plugin="pillow")
    iio.imwrite(tmp_path / "field_lenslet_3x3.png", colours[0])
    views = [f"view_{i}_{j}.png" for i in range(3) for j in range(3)]
    for path in (
        tmp_path / "film.gif",
        tmp_path / "field_lenslet_3x3.png",
        bands(tmp_path),
        write_series(tmp_path / "views", views, colours),
        write_series(tmp_path / "grey", views, colours[..., 0]),
    ):
        same_as_the_eager_reader(path)


def test_a_picture_is_read_whole(tmp_path):
    for name, shape in (("a.png", (8, 9)), ("b.png", (8, 9, 3)), ("c.bmp", (8, 9, 3))):
        values = RNG.integers(0, 255, shape, "u1")
        iio.imwrite(tmp_path / name, values)
        opened = open_source(tmp_path / name)
        equals(opened.array, values)
        assert opened.labels == tuple("yxc")[: len(shape)]


# What files say of their axes


@pytest.mark.parametrize(
    ("name", "labels", "dtype"),
    [
        ("a.zarr", "uvyx", "f4"),
        ("a.ome.zarr", "tczyx", "f4"),
        ("a.ome.zarr", "cyx", "u1"),
        ("imagej.tif", "tzyx", "u2"),
        ("imagej.tif", "cyx", "f4"),
        ("ome.tif", "ctzyx", "f8"),
        ("b.ome.tif", "tzyx", "u2"),
        ("plain.tif", "uvyx", "f4"),
        ("colours.tif", "yxc", "u1"),
    ],
)
def test_what_a_store_was_told_is_found_again(tmp_path, name, labels, dtype):
    shape = tuple({"y": 8, "x": 9, "c": 3}.get(label, 2) for label in labels)
    known = {"t": (3.0, "second"), "z": (2.0, "micrometer")}
    known |= {"y": (0.5, "micrometer"), "x": (0.25, "micrometer")}
    scale, units = zip(*(known.get(label, (1.0, "pixel")) for label in labels), strict=True)
    values = RNG.integers(0, 255, shape).astype(dtype)
    path = write_zarr(tmp_path / name, values, labels, scale=scale, units=units)
    opened = open_source(path)
    equals(opened.array, values)
    assert opened.labels == tuple(labels)
    assert opened.scale == pytest.approx(scale)
    assert opened.units == units


def test_without_a_scale_none_is_made_up(tmp_path):
    for name in ("a.tif", "b.ome.tif", "a.npy", "a.zarr"):
        opened = open_source(write_zarr(tmp_path / name))
        assert (opened.scale, opened.units) == (None, None)


def test_pages_of_an_unknown_kind_get_no_labels(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", CUBE, metadata=None)
    assert open_source(tmp_path / "a.tif").labels is None


@pytest.mark.parametrize("version", ["0.2", "0.3", "0.4", "0.5"])
def test_all_versions_of_ome_zarr(tmp_path, version):
    new = version == "0.5"
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=3 if new else 2)
    values = RNG.integers(0, 255, (1, 2, 3, 8, 9), "u1")
    group.create_array("full", data=values, chunks=(1, 1, 1, 8, 9))
    group.create_array("half", data=values[..., ::2, ::2])
    image = {"version": version, "datasets": [{"path": "full"}, {"path": "half"}]}
    if version == "0.3":
        image["axes"] = list("tczyx")
    if version >= "0.4":
        kinds = dict(zip("tczyx", ("time", "channel", "space", "space", "space"), strict=True))
        image["axes"] = [{"name": name, "type": kind} for name, kind in kinds.items()]
        for i in (2, 3, 4):
            image["axes"][i]["unit"] = "nanometer"
        for level, factor in zip(image["datasets"], (1, 2), strict=True):
            scale = [1, 1, 5, 0.5 * factor, 0.5 * factor]
            level["coordinateTransformations"] = [{"type": "scale", "scale": scale}]
        image["coordinateTransformations"] = [{"type": "scale", "scale": [10, 1, 1, 1, 1]}]
    group.attrs.update({"ome": {"version": "0.5", "multiscales": [image]}} if new else {})
    if not new:
        group.attrs["multiscales"] = [image]
    opened = open_source(tmp_path / "a.zarr")
    equals(opened.array, values)
    assert opened.labels == tuple("tczyx")
    if version >= "0.4":
        assert opened.scale == (10, 1, 5, 0.5, 0.5)
        assert opened.units == ("pixel", "pixel", "nanometer", "nanometer", "nanometer")
        assert open_source(tmp_path / "a.zarr", "half").scale == (10, 1, 5, 1, 1)
    else:
        assert opened.scale is None


def test_imagej_writes_micro_in_its_own_way(tmp_path):
    tifffile.imwrite(
        tmp_path / "a.tif",
        CUBE,
        imagej=True,
        resolution=(4, 2),
        metadata={"axes": "ZYX", "unit": "\\u00B5m", "spacing": 3.0},
    )
    opened = open_source(tmp_path / "a.tif")
    assert opened.scale == (3.0, 0.5, 0.25)
    assert opened.units == ("micrometer",) * 3


@pytest.mark.parametrize("metadata", [None, {}])  # with {}, tifffile describes the shape
@pytest.mark.parametrize(
    ("unit", "resolution", "scale"),
    [
        ("CENTIMETER", (20_000, 40_000), (0.25, 0.5)),
        ("INCH", (25_400, 12_700), (2.0, 1.0)),
        ("INCH", (72, 720), (25_400 / 720, 25_400 / 72)),
        ("NONE", (20_000, 40_000), None),
        # What programs write that know nothing of the size.
        ("INCH", (72, 72), None),
        ("INCH", (96, 96), None),
        ("INCH", (1, 1), None),
        ("CENTIMETER", (28.35, 28.35), None),
        ("CENTIMETER", (37.8, 37.8), None),
        ("CENTIMETER", (1, 1), None),
    ],
)
def test_the_resolution_of_any_tiff_is_the_size_of_its_pixels(
    tmp_path, unit, resolution, scale, metadata
):
    path = tmp_path / "a.tif"
    tifffile.imwrite(
        path, CUBE[0], resolution=resolution, resolutionunit=unit, metadata=metadata, software=""
    )
    opened = open_source(path)
    assert opened.labels == ("y", "x")
    assert opened.scale == (scale if scale is None else pytest.approx(scale, rel=1e-4))
    assert opened.units == (None if scale is None else ("micrometer", "micrometer"))


def test_the_resolution_is_that_of_the_series(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        for n, rows in ((1000, 30), (500, 7)):
            resolution = {"resolution": (n, n), "resolutionunit": "CENTIMETER"}
            file.write(CUBE[0, :rows], metadata=None, **resolution)
    assert open_source(tmp_path / "a.tif").scale == pytest.approx((10, 10))
    assert open_source(tmp_path / "a.tif", 1).scale == pytest.approx((20, 20))


def test_imagej_without_a_unit_has_that_of_the_resolution(tmp_path):
    how = {"resolution": (1000, 500), "resolutionunit": "CENTIMETER"}
    opened = open_source(tiff(tmp_path, imagej=True, **how))
    assert opened.scale == pytest.approx((1, 20, 10))
    assert opened.units == ("pixel", "micrometer", "micrometer")


def test_an_unknown_axis_costs_its_name_and_not_the_scale(tmp_path):
    sizes = {f"PhysicalSize{letter}": size for letter, size in (("X", 0.25), ("Y", 0.5))}
    opened = open_source(tiff(tmp_path, ome=True, metadata={"axes": "QYX", **sizes}))
    assert opened.labels is None
    assert opened.scale == (1, 0.5, 0.25)
    assert opened.units == ("pixel", "micrometer", "micrometer")


@pytest.mark.parametrize("names", ["img_{}.tif", "x_ms_{}.tif"])
def test_a_folder_has_the_scale_of_its_first_image(tmp_path, names):
    for i, image in enumerate(CUBE, 1):
        tifffile.imwrite(
            tmp_path / names.format(i),
            image,
            imagej=True,
            resolution=(4, 2),
            metadata={"unit": "um"},
        )
    opened = open_source(tmp_path)
    equals(opened.array, CUBE)
    assert opened.scale == (1, 0.5, 0.25)
    assert opened.units == ("pixel", "micrometer", "micrometer")


def test_axes_of_length_one_are_no_riddle(tmp_path):
    for shape in ((1, 1, 2), (1, 8, 9), (1, 20, 30, 3)):
        np.save(tmp_path / "a.npy", np.zeros(shape, "u1"))
        assert open_source(tmp_path / "a.npy").labels is None


def test_hdf5_names_its_axes(tmp_path):
    with h5py.File(write_h5(tmp_path / "a.h5", data=CUBE), "r+") as file:
        file["data"].attrs["axes"] = "tyx"
    assert open_source(tmp_path / "a.h5").labels == ("t", "y", "x")


@pytest.mark.parametrize(
    ("head", "label"), [("frame_", "t"), ("z", "z"), ("img_ch", "c"), ("img_", None)]
)
def test_a_word_before_the_number_says_what_it_counts(tmp_path, head, label):
    folder = write_series(tmp_path / "a", [f"{head}{i:03d}.tif" for i in range(5)], CUBE)
    (folder / "notes.txt").touch()
    iio.imwrite(folder / "overview.tif", CUBE[0])
    opened = open_source(folder)
    assert opened.labels == ((label, "y", "x") if label else None)
    assert opened.array.chunks == (1, 30, 40)
    equals(opened.array, CUBE)


def test_chunks_are_those_of_the_file(tmp_path):
    assert open_source(hdf5(tmp_path)).array.chunks == (1, 30, 40)
    assert open_source(tiff_tiled(tmp_path)).array.chunks == (1, 16, 16)
    assert open_source(tiff_strips(tmp_path)).array.chunks == (1, 30, 40)
    assert open_source(matlab(tmp_path)).array.chunks == (1, 30, 40)
    assert open_source(npy(tmp_path)).array.chunks is None


# Which array


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
    opened = open_source(path)
    equals(opened.array, CUBE)
    assert opened.name == "a large"
    equals(open_source(path, "small").array, CUBE[:2])
    with pytest.raises(ValueError, match=r"no array 'none'; there are 'large', 'small'"):
        open_source(path, "none")


def test_two_that_are_equally_large_are_a_question(tmp_path):
    path = write_h5(tmp_path / "a.ims", **{"Channel 0/Data": CUBE, "Channel 1/Data": CUBE + 1})
    with pytest.raises(ValueError, match=r"key=.*'Channel 0/Data', 'Channel 1/Data'"):
        open_source(path)
    equals(open_source(path, "/Channel 1/Data").array, CUBE + 1)


def test_a_zarr_group_gives_its_first_array_or_the_one_named(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("a", shape=(3,), dtype="complex64")
    group.create_array("deep/first", data=CUBE[:1])
    group.create_array("b10", data=CUBE[:2])
    group.create_array("b2", data=CUBE)
    opened = open_source(tmp_path / "a.zarr")
    equals(opened.array, CUBE)
    assert opened.name == "a b2"
    equals(open_source(tmp_path / "a.zarr", "b10").array, CUBE[:2])
    equals(open_source(tmp_path / "a.zarr", "deep").array, CUBE[:1])
    equals(open_source(tmp_path / "a.zarr", "deep/first").array, CUBE[:1])
    with pytest.raises(ValueError, match="there are 'a', 'b2', 'b10', 'deep'"):
        open_source(tmp_path / "a.zarr", "c")


def test_of_a_collection_of_images_the_first_or_the_one_named(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.attrs["ome"] = {"version": "0.5", "bioformats2raw.layout": 3}
    group.create_group("OME")
    for i in (0, 1):
        write_zarr(tmp_path / "a.zarr" / f"{i}.ome.zarr", CUBE + i, scale=(3, 2, 1))
        os.rename(tmp_path / "a.zarr" / f"{i}.ome.zarr", tmp_path / "a.zarr" / str(i))
    for key, values in ((None, CUBE), ("0", CUBE), (1, CUBE + 1), ("1/0", CUBE + 1)):
        opened = open_source(tmp_path / "a.zarr", key)
        equals(opened.array, values)
        assert opened.scale == (3, 2, 1)


def test_the_key_of_a_tiff_is_the_number_of_a_series(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(CUBE)
        file.write(CUBE[0, :7], compression="zlib")
    equals(open_source(tmp_path / "a.tif").array, CUBE)
    equals(open_source(tmp_path / "a.tif", 1).array, CUBE[0, :7])
    for key in (2, "name", -1):
        with pytest.raises(ValueError, match="series"):
            open_source(tmp_path / "a.tif", key)


def test_what_else_is_in_a_tiff_is_said(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(CUBE)
        file.write(CUBE[0, :7])
    (remark,) = open_source(tmp_path / "a.tif").remarks
    assert remark == 'holds 2 series, this is the first: key="1" is the next'
    assert open_source(tmp_path / "a.tif", 0).remarks == ()
    assert open_source(tiff_ome(tmp_path)).remarks == ()


def test_what_else_is_in_a_zarr_is_said(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("deep/first", data=CUBE[:1])
    assert open_source(tmp_path / "a.zarr").remarks == ()
    write_zarr(tmp_path / "a.zarr" / "deep" / "second.ome.zarr")
    for key in (None, "deep"):
        (remark,) = open_source(tmp_path / "a.zarr", key).remarks
        assert remark.endswith('this is the first: key="deep/second.ome.zarr" is the next')
    equals(open_source(tmp_path / "a.zarr", "deep/second.ome.zarr").array, CUBE)
    assert open_source(tmp_path / "a.zarr", "deep/first").remarks == ()
    assert open_source(ome_zarr(tmp_path)).remarks == ()


def test_a_damaged_image_does_not_concern_the_first_of_a_zarr(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("a", data=CUBE)
    group.create_group("b").attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": []}]}
    opened = open_source(tmp_path / "a.zarr")
    equals(opened.array, CUBE)
    assert opened.remarks == ()


# Nothing is read before it is asked for


def test_hundred_gigabytes_open_at_once(tmp_path):
    shape = (1000, 10_000, 10_000)
    store_for(tmp_path / "a.zarr", shape, "u1", (1, 1000, 1000)).create()
    zarr.create_group(tmp_path / "b.zarr").create_array(
        "x", shape=shape, dtype="u1", chunks=(1, 1000, 1000)
    )
    with open(tmp_path / "a.npy", "wb") as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        if os.name == "posix":
            stream.truncate(stream.tell() + 10**11)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", shape, "u1", chunks=(1, 1000, 1000))
    names = ["a.zarr", "b.zarr", "a.h5"] + ["a.npy"] * (os.name == "posix")
    before = time.monotonic()
    for name in names:
        array = open_source(tmp_path / name).array
        assert array.shape == shape
        assert not array[999:, 5000:5010, 9990:].any()
        assert len(pickle.dumps(array)) < 10_000
    assert time.monotonic() - before < 5


def test_of_a_stack_only_the_files_that_are_asked_for(tmp_path):
    array = open_source(numbered(tmp_path)).array
    for name in ("img_8.tif", "img_9.tif", "img_12.tif"):
        (tmp_path / "run.1" / name).write_bytes(b"")
    np.testing.assert_array_equal(array[2:3, 3:5], CUBE[2:3, 3:5])
    with pytest.raises(ValueError, match=r"img_9\.tif"):
        array[1]


def test_an_image_of_another_size_is_found_when_it_is_read(tmp_path):
    array = open_source(numbered(tmp_path)).array
    iio.imwrite(tmp_path / "run.1" / "img_9.tif", CUBE[0, :7])
    with pytest.raises(ValueError, match=r"img_9\.tif: has the shape"):
        array[1]


def test_bands_that_are_missing_are_named(tmp_path):
    folder = bands(tmp_path)
    (folder / "x_ms_03.png").unlink()
    with pytest.raises(ValueError, match="missing: 3"):
        open_source(folder)


def test_what_is_in_a_file_is_always_copied(tmp_path):
    with pytest.raises(ValueError, match="copy"):
        np.asarray(open_source(npy(tmp_path)).array, copy=False)


def test_three_floats_a_pixel_need_not_be_colours(tmp_path):
    np.save(tmp_path / "a.npy", RNG.normal(size=(30, 40, 3)))
    assert open_source(tmp_path / "a.npy").labels is None


def test_thousands_of_files_are_a_small_pickle(tmp_path):
    files = [tmp_path / f"some_long_name_of_an_experiment_{i:05d}.tif" for i in range(2000)]
    stack = folders._stacked(files, (2000,), (8, 9), np.dtype("u1"), read_picture)
    assert len(pickle.dumps(stack)) < 10_000


# Files that change, and how many are open


@pytest.mark.parametrize("make", [hdf5, tiff_strips, zarr_array])
def test_a_file_is_opened_once_for_all_copies_of_its_array(tmp_path, make, monkeypatch):
    array = open_source(make(tmp_path)).array
    opened = []
    kind = type(array)
    opener = kind._open
    monkeypatch.setattr(kind, "_open", lambda self: opened.append(1) or opener(self))
    for copy in (array, pickle.loads(pickle.dumps(array))) * 3:
        copy[:1]
    assert len(opened) == 1


@pytest.mark.parametrize("make", [hdf5, tiff_strips, npy, zarr_array, numbered])
def test_a_file_that_was_written_anew_is_read_anew(tmp_path, make, monkeypatch):
    path = make(tmp_path)
    array = open_source(path).array
    np.testing.assert_array_equal(array[:1], CUBE[:1])
    os.rename(path, tmp_path / "old")
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(sys.modules[__name__], "CUBE", CUBE[::-1].copy())
    os.rename(make(tmp_path / "new"), path)
    np.testing.assert_array_equal(array[:1], CUBE[:1])


@pytest.mark.parametrize("suffix", [".h5", ".tif", ".zarr"])
def test_a_file_of_another_shape_is_not_taken_for_the_same(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"

    def write(values):
        if suffix == ".zarr":
            zarr.create_array(path, data=values, overwrite=True)
            return
        path.unlink(missing_ok=True)
        if suffix == ".h5":
            write_h5(path, data=values)
        else:
            tifffile.imwrite(path, values, compression="zlib")

    write(CUBE)
    array = open_source(path).array
    write(CUBE[:, :20])
    with pytest.raises(ValueError, match=rf"^\S*{path.name}: was changed"):
        array[:1]


def test_few_files_stay_open(tmp_path):
    open_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    for i in range(3 * file_arrays._MOST_OPEN):
        tifffile.imwrite(tmp_path / f"{i}.tif", CUBE, compression="zlib")
        open_source(tmp_path / f"{i}.tif").array[:1]
    assert len(file_arrays._open_files) == file_arrays._MOST_OPEN
    if open_before is not None:
        assert len(os.listdir("/proc/self/fd")) <= open_before + file_arrays._MOST_OPEN + 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_opens_its_own(tmp_path):
    array = open_source(hdf5(tmp_path)).array
    array[:1]
    with file_arrays._lock:  # as if another thread were opening a file
        child = os.fork()
        if child == 0:
            os._exit(0 if not file_arrays._open_files and (array[:] == CUBE).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# What cannot be read


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file or folder.*none\.tif"):
        open_source(tmp_path / "none.tif")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.scsc", "a.zarr"])
def test_unknown_kinds_say_in_two_lines_what_can_be_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"nothing")
    ending = path.suffix or "without an ending"
    with pytest.raises(ValueError, match=rf"{name}: .*{ending}.*Can be read") as raised:
        open_source(path)
    assert len(str(raised.value).removeprefix(str(path.parent))) <= 2 * 80


def test_a_folder_of_other_things_says_what_it_should_hold(tmp_path):
    (tmp_path / ".DS_Store").touch()
    with pytest.raises(ValueError, match="is empty"):
        open_source(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"holds no images, but notes\.txt"):
        open_source(tmp_path)
    for i in range(3):
        for letter in "ab":
            iio.imwrite(tmp_path / f"{letter}_{i}.tif", CUBE[0])
    words = rf"are no one image: name them, as in {tmp_path.name}/\*\.tif.* bands .* views .* TIFF"
    with pytest.raises(ValueError, match=words):
        open_source(tmp_path)


@pytest.mark.parametrize("name", ["a.tif.partial", "a.zarr.partial"])
def test_a_run_that_broke_off_is_called_so(tmp_path, name):
    (tmp_path / name).mkdir()
    np.save(tmp_path / name / "result.npy", CUBE)
    with pytest.raises(ValueError, match="is a run that broke off: resume it"):
        open_source(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.tif")
    with pytest.raises(ValueError, match="not a file"):
        open_source(tmp_path / "a.tif")


@pytest.mark.parametrize("suffix", [".tif", ".h5", ".npy", ".npz", ".mat", ".png", ".gif"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 20, b"II*\0garbage", b"\x93NUMPYgarbage"])
def test_damaged_files_raise_and_are_named(tmp_path, suffix, content, caplog):
    caplog.set_level(logging.CRITICAL)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"a{suffix}"):
        open_source(path)


@pytest.mark.parametrize("make", [npy, tiff])
def test_files_that_are_cut_off_raise(tmp_path, make):
    path = make(tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ValueError, match=path.name):
        open_source(path).array[:]


def damaged_zarr(path, zarr_format=3):
    zarr.create_array(path / "a.zarr", data=CUBE, chunks=(1, 5, 5), zarr_format=zarr_format)
    chunks = [p for p in (path / "a.zarr").rglob("*") if p.is_file() and "zarr" not in p.name]
    min(p for p in chunks if p.name != ".zattrs").write_text("no chunk")
    return path / "a.zarr"


def damaged_hdf5(path):
    with h5py.File(path / "a.h5", "w") as file:
        file.create_dataset("a", data=CUBE, chunks=(1, 30, 40), compression="gzip")
        place = file["a"].id.get_chunk_info(0).byte_offset
    with open(path / "a.h5", "r+b") as stream:
        stream.seek(place)
        stream.write(b"no chunk")
    return path / "a.h5"


@pytest.mark.parametrize(
    "make", [damaged_zarr, lambda path: damaged_zarr(path, 2), damaged_hdf5, tiff_tiled, npy]
)
def test_damage_that_is_found_when_reading_names_the_file(tmp_path, make):
    path = make(tmp_path)
    array = pickle.loads(pickle.dumps(open_source(path).array))
    if path.suffix in (".tif", ".npy"):
        os.truncate(path, 1000)
    with pytest.raises(ValueError, match=rf"{path.name}: not a readable"):
        array[:]
    if path.suffix in (".zarr", ".h5"):  # what is whole is read nevertheless
        np.testing.assert_array_equal(array[1:], CUBE[1:])


def test_a_damaged_chunk_of_zarr_leaves_nothing_behind_that_complains(tmp_path):
    code = f"""
from napari_scsc.io.sources import open_source
try:
    open_source({os.fspath(damaged_zarr(tmp_path))!r}).array[:]
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "a.zarr: not a readable zarr" in done.stdout
    assert done.stderr == ""


def test_what_the_system_refuses_stays_an_error_of_the_system(tmp_path):
    for make in (hdf5, zarr_array, tiff_strips):
        path = make(tmp_path)
        array = open_source(path).array
        os.rename(path, tmp_path / f"moved-{path.name}")
        with pytest.raises(FileNotFoundError, match=path.name):
            array[:1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"zarr_format": 3}', '{"zarr_format": 9}'])
@pytest.mark.parametrize("mark", ["zarr.json", ".zarray", ".zgroup"])
def test_damaged_zarr_raises_and_is_named(tmp_path, mark, text):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / mark).write_text(text)
    with pytest.raises(ValueError, match=r"a\.zarr: not a readable zarr"):
        open_source(tmp_path / "a.zarr")


@pytest.mark.parametrize(
    "image",
    [
        {"datasets": []},
        {"datasets": [{"path": "none"}]},
        {"datasets": [{"path": "../0"}]},
        {"axes": 3, "datasets": [{"path": "0"}]},
        {"axes": [{}, {}, {}], "datasets": [{"path": "0"}]},
        {"datasets": [{"path": "0", "coordinateTransformations": [3]}]},
        "image",
    ],
)
def test_damaged_ome_metadata_raise_and_are_named(tmp_path, image):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("0", data=CUBE)
    group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
    with pytest.raises(ValueError, match=r"a\.zarr"):
        open_source(tmp_path / "a.zarr")


def test_a_scale_that_makes_no_sense_is_left_out(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("0", data=CUBE)
    axes = [{"name": name} for name in "zyx"]
    for scale in ([0, 1, 1], [1, 1], ["a", 1, 1]):
        steps = [{"type": "scale", "scale": scale}]
        image = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}
        group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
        opened = open_source(tmp_path / "a.zarr")
        assert opened.scale is None
        assert opened.labels == ("z", "y", "x")


def test_what_holds_no_numbers_is_refused(tmp_path):
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    np.save(tmp_path / "one.npy", np.float32(3))
    np.save(tmp_path / "complex.npy", np.zeros((3, 3), complex))
    np.savez(tmp_path / "words.npz", a=np.array(["a", "b"]))
    write_h5(tmp_path / "a.h5")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["words"] = ["a", "b"]
        file["nothing"] = h5py.Empty("f4")
    zarr.create_group(tmp_path / "a.zarr")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=path.name):
            open_source(path)


@pytest.mark.parametrize("make", [npy, numbered])
def test_a_key_where_there_is_one_array_is_refused(tmp_path, make):
    with pytest.raises(ValueError, match="none that is called 'b'"):
        open_source(make(tmp_path), "b")


def test_without_h5py_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = hdf5(tmp_path)

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match="pip install h5py"):
        open_source(path)


# Nothing that is read can run code


class Trap:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_python_objects_are_never_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([Trap()], object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=np.array([[Trap()]], object))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match=name):
            open_source(tmp_path / name)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("where", ["filters", "compressor"])
@pytest.mark.parametrize("dtype", ["<f4", "|O"])
def test_zarr_written_with_pickle_is_refused(tmp_path, monkeypatch, where, dtype):
    monkeypatch.chdir(tmp_path)
    codec = {"id": "pickle", "protocol": 5}
    metadata = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "fill_value": 0}
    metadata |= {"order": "C", "filters": None, "compressor": None}
    metadata[where] = [codec] if where == "filters" else codec
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps(metadata))
    (tmp_path / "a.zarr" / "0").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"a\.zarr"):
        open_source(tmp_path / "a.zarr").array[:]
    assert not (tmp_path / "executed").exists()


def test_the_check_for_pickle_looks_at_every_codec():
    class Codec:
        codec_id = "pickle"

    class Metadata:
        filters = (object(), Codec())
        compressor = None

    class Stored:
        metadata = Metadata()

    with pytest.raises(ValueError, match="pickle"):
        zarr_files._check_codecs(Stored())
