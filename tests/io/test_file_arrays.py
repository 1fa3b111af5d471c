from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import dask.array as da
import file_tools
import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
import tifffile
import zarr
from file_tools import (
    CUBE,
    LAZY,
    RNG,
    bands,
    equals,
    hdf5,
    npy,
    numbered,
    tiff_strips,
    write_h5,
    write_series,
    zarr_array,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from napari_scsc.data.image import wrap_image
from napari_scsc.io.formats import file_arrays, image_folders, open_file
from napari_scsc.io.formats.file_arrays import FileArray
from napari_scsc.io.formats.pictures import read_picture
from napari_scsc.io.layers import read_layers
from napari_scsc.io.stores import store_for


@pytest.fixture(scope="module")
def processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("make", LAZY)
def test_values_are_those_that_were_written(tmp_path, make):
    opened = open_file(make(tmp_path))
    equals(opened.array, CUBE)
    assert opened.array.ndim == 3
    assert opened.name == {"bands": "scene", "numbered": "run.1"}.get(make.__name__, "a")
    view = wrap_image(opened.array)
    np.testing.assert_array_equal(view.read(np.s_[1:3, 4:20, 7:9]), CUBE[1:3, 4:20, 7:9])


@pytest.mark.parametrize("make", LAZY)
def test_another_process_reads_the_same_from_a_small_pickle(tmp_path, make, processes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = open_file(make(tmp_path).relative_to(tmp_path)).array
    array[:1]
    assert len(pickle.dumps(array)) < 10_000
    region = np.s_[1:4, 3:17, 20:]
    np.testing.assert_array_equal(processes.apply(array.__getitem__, (region,)), CUBE[region])


@pytest.mark.parametrize("make", LAZY)
def test_threads_read_at_once(tmp_path, make):
    array = open_file(make(tmp_path)).array
    regions = [np.s_[i : i + 1, j : j + 10, :] for i in range(5) for j in (0, 10, 20)]
    with ThreadPool(6) as pool:
        for region, values in zip(regions, pool.map(array.__getitem__, regions), strict=True):
            np.testing.assert_array_equal(values, CUBE[region])


@pytest.mark.parametrize("make", LAZY)
def test_dask_takes_the_array(tmp_path, make):
    array = open_file(make(tmp_path)).array
    lazy = da.from_array(array, chunks=array.chunks or (2, 30, 40), name=False)
    np.testing.assert_array_equal(lazy.compute(), CUBE)


@pytest.mark.parametrize("make", LAZY)
def test_slices_and_integers_mean_what_they_do_in_numpy(tmp_path, make):
    array = open_file(make(tmp_path)).array
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
        np.testing.assert_array_equal(open_file(folder / name).array[region], values[region])


# What the eager readers give


def same_as_the_eager_reader(path):
    """The array and its labels, with the axes in the order of the eager reader."""
    ((data, known, _),) = read_layers(Path(path))
    opened = open_file(path)
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
        opened = open_file(tmp_path / name)
        equals(opened.array, values)
        assert opened.labels == tuple("yxc")[: len(shape)]


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
        array = open_file(tmp_path / name).array
        assert array.shape == shape
        assert not array[999:, 5000:5010, 9990:].any()
        assert len(pickle.dumps(array)) < 10_000
    assert time.monotonic() - before < 5


def test_of_a_stack_only_the_files_that_are_asked_for(tmp_path):
    array = open_file(numbered(tmp_path)).array
    for name in ("img_8.tif", "img_9.tif", "img_12.tif"):
        (tmp_path / "run.1" / name).write_bytes(b"")
    np.testing.assert_array_equal(array[2:3, 3:5], CUBE[2:3, 3:5])
    with pytest.raises(ValueError, match=r"img_9\.tif"):
        array[1]


def test_an_image_of_another_size_is_found_when_it_is_read(tmp_path):
    array = open_file(numbered(tmp_path)).array
    iio.imwrite(tmp_path / "run.1" / "img_9.tif", CUBE[0, :7])
    with pytest.raises(ValueError, match=r"img_9\.tif: has the shape"):
        array[1]


def test_bands_that_are_missing_are_named(tmp_path):
    folder = bands(tmp_path)
    (folder / "x_ms_03.png").unlink()
    with pytest.raises(ValueError, match="missing: 3"):
        open_file(folder)


def test_what_is_in_a_file_is_always_copied(tmp_path):
    with pytest.raises(ValueError, match="copy"):
        np.asarray(open_file(npy(tmp_path)).array, copy=False)


def test_three_floats_a_pixel_need_not_be_colours(tmp_path):
    np.save(tmp_path / "a.npy", RNG.normal(size=(30, 40, 3)))
    assert open_file(tmp_path / "a.npy").labels is None


def test_thousands_of_files_are_a_small_pickle(tmp_path):
    files = [tmp_path / f"some_long_name_of_an_experiment_{i:05d}.tif" for i in range(2000)]
    stack = image_folders.stack_files(files, (2000,), (8, 9), np.dtype("u1"), read_picture)
    assert len(pickle.dumps(stack)) < 10_000


# Files that change, and how many are open


@pytest.mark.parametrize("make", [hdf5, tiff_strips, zarr_array])
def test_a_file_is_opened_once_for_all_copies_of_its_array(tmp_path, make, monkeypatch):
    array = open_file(make(tmp_path)).array
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
    array = open_file(path).array
    np.testing.assert_array_equal(array[:1], CUBE[:1])
    os.rename(path, tmp_path / "old")
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(file_tools, "CUBE", CUBE[::-1].copy())
    os.rename(make(tmp_path / "new"), path)
    np.testing.assert_array_equal(array[:1], file_tools.CUBE[:1])


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
    array = open_file(path).array
    write(CUBE[:, :20])
    with pytest.raises(ValueError, match=rf"^\S*{path.name}: was changed"):
        array[:1]


def test_few_files_stay_open(tmp_path):
    open_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    for i in range(3 * file_arrays._MAX_OPEN_FILES):
        tifffile.imwrite(tmp_path / f"{i}.tif", CUBE, compression="zlib")
        open_file(tmp_path / f"{i}.tif").array[:1]
    assert len(file_arrays._open_files) == file_arrays._MAX_OPEN_FILES
    if open_before is not None:
        assert len(os.listdir("/proc/self/fd")) <= open_before + file_arrays._MAX_OPEN_FILES + 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_opens_its_own(tmp_path):
    array = open_file(hdf5(tmp_path)).array
    array[:1]
    with file_arrays._lock:  # as if another thread were opening a file
        child = os.fork()
        if child == 0:
            os._exit(0 if not file_arrays._open_files and (array[:] == CUBE).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_fail_at_the_same_time_do_not_wait_for_each_other(tmp_path):
    import zarr

    array = zarr.create_array(str(tmp_path / "a.zarr"), data=CUBE, chunks=(1, *CUBE.shape[1:]))
    for chunk in (tmp_path / "a.zarr" / "c").rglob("0"):
        if chunk.is_file():
            chunk.write_bytes(b"damaged")
    lazy = open_file(tmp_path / "a.zarr").array
    assert lazy.shape == array.shape
    for _ in range(10):
        with ThreadPool(4) as pool:
            found = [pool.apply_async(lambda: lazy[:]) for _ in range(8)]
            for one in found:
                with pytest.raises(ValueError, match="not a readable zarr"):
                    one.get(timeout=30)
