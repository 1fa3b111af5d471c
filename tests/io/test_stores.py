from __future__ import annotations

import errno
import math
import multiprocessing
import pickle
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from multiprocessing.pool import ThreadPool

import dask.array as da
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from store_tools import CASES, DTYPES, SUFFIXES, case, read, regions_of, values_of, whole

from napari_scsc.choices import RESULT_FORMATS
from napari_scsc.io.stores import store_for, suffix_of

# Names


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".ome.tif", ".ome.tiff"])
def test_the_end_of_the_name_says_the_format(suffix):
    assert suffix_of(f"/a/b.c{suffix.upper()}") == suffix


def test_every_format_that_is_offered_can_be_written():
    for suffix in RESULT_FORMATS:
        assert suffix_of(f"a{suffix}") == suffix


@pytest.mark.parametrize("name", ["a.png", "a", ".zarr", "zarr", "a.zarr.zip", ""])
def test_other_names_are_refused_and_the_known_ones_named(name):
    with pytest.raises(
        ValueError, match=r"\.ome\.zarr, \.ome\.tif, .*\.zarr, \.tif, \.tiff, \.npy"
    ):
        suffix_of(name)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (((), "f4", ()), ValueError),
        (((0, 3), "f4", (1, 1)), ValueError),
        (((4, 3), "f4", (1,)), ValueError),
        (((4, 3), "f4", (0, 1)), ValueError),
        (((4, 3), "c8", (1, 1)), TypeError),
        (((4, 3), "O", (1, 1)), TypeError),
        (((4, 3), "?", (1, 1)), TypeError),
    ],
)
def test_what_cannot_be_stored_is_refused_at_the_door(tmp_path, arguments, error):
    with pytest.raises(error, match=r"a\.npy"):
        store_for(tmp_path / "a.npy", *arguments)


@pytest.mark.parametrize("more", [{"labels": "y"}, {"scale": (1,)}, {"scale": (1, math.nan)}])
def test_what_does_not_fit_the_axes_is_refused(tmp_path, more):
    with pytest.raises(ValueError, match=r"a\.npy"):
        store_for(tmp_path / "a.npy", (4, 3), "f4", (2, 2), **more)


# Values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("suffix", "ndim"),
    [
        (suffix, ndim)
        for suffix in (".zarr", ".ome.zarr", ".tif", ".npy")
        for ndim in CASES
        if suffix != ".ome.zarr" or ndim > 1  # which wants two axes
    ],
)
def test_what_was_written_by_regions_is_read_again(tmp_path, suffix, ndim, dtype):
    store, values = case(tmp_path / f"a{suffix}", ndim, dtype)
    for region in regions_of(store.shape, store.chunks):
        store.write(region, values[region])
    store.finish()
    lazy = store.open()
    assert isinstance(lazy, da.Array if "zarr" in suffix else np.memmap)
    assert lazy.dtype == dtype
    np.testing.assert_array_equal(np.asarray(lazy), values)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_write_of_all_equals_many(tmp_path, suffix):
    store, values = case(tmp_path / f"a{suffix}", compressed=False)
    store.write(whole(store.shape), values)
    store.finish()
    np.testing.assert_array_equal(read(store), values)


@given(data=st.data())
def test_runs_of_a_file_land_where_they_belong(tmp_path_factory, data):
    shape = data.draw(hnp.array_shapes(max_dims=5, max_side=6))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    store = store_for(tmp_path_factory.mktemp("a") / "a.npy", shape, "i2", chunks)
    store.create()
    wanted = np.zeros(shape, "i2")
    for region in data.draw(st.lists(st.sampled_from(regions_of(shape, chunks)), max_size=4)):
        wanted[region] = values_of(wanted[region].shape, "i2")
        store.write(region, wanted[region])
    np.testing.assert_array_equal(read(store), wanted)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_not_written_is_zero(tmp_path, suffix):
    store, _ = case(tmp_path / f"a{suffix}")
    assert not read(store).any()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_of_any_layout_and_byte_order_are_taken(tmp_path, suffix):
    store, values = case(tmp_path / f"a{suffix}")
    odd = np.asfortranarray(values).astype(">f8")
    store.write(whole(store.shape), da.from_array(odd))
    np.testing.assert_array_equal(read(store), values)


@pytest.mark.parametrize(
    "region",
    [
        np.s_[0:2, 0:4],
        np.s_[0:2, 0:3, 0:5],
        np.s_[1:3, 0:4, 0:5],
        np.s_[0:2, 0:4, 0:10:2],
        np.s_[0:2, 0:4, 5:5],
        np.s_[0:2, 0:4, 10:15],
        np.s_[-1:3, 0:4, 0:5],
    ],
)
@pytest.mark.parametrize("suffix", [".zarr", ".npy"])
def test_regions_of_other_than_whole_chunks_are_refused(tmp_path, suffix, region):
    store, values = case(tmp_path / f"a{suffix}")
    with pytest.raises(ValueError, match=r"chunks|slices"):
        store.write(region, values[region])


def test_values_that_do_not_fit_are_refused(tmp_path):
    store, values = case(tmp_path / "a.zarr", dtype="uint8")
    with pytest.raises(ValueError, match="shape"):
        store.write(whole(store.shape), values[:1])
    with pytest.raises(TypeError, match="float64"):
        store.write(whole(store.shape), values.astype(float))
    assert not read(store).any()


def test_chunks_that_are_written_whole_are_not_read(tmp_path, monkeypatch):
    store, values = case(tmp_path / "a.zarr")
    keys = []
    get = zarr.storage.LocalStore.get

    async def watched(self, key, *rest, **more):
        keys.append(key)
        return await get(self, key, *rest, **more)

    monkeypatch.setattr(zarr.storage.LocalStore, "get", watched)
    for _ in range(2):
        for region in regions_of(store.shape, (2, 8, 13)):
            store.write(region, values[region])
    assert keys
    assert not [key for key in keys if not key.endswith("zarr.json")]


# Many writers


def test_a_store_is_small_and_the_same_after_pickling(tmp_path):
    for suffix in SUFFIXES:
        store, values = case(tmp_path / f"a{suffix}", scale=(1, 2, 3), units=("s", "um", "um"))
        store.write(whole(store.shape), values)
        store.open()
        sent = pickle.dumps(store)
        assert len(sent) < 1000
        assert pickle.loads(sent) == store
        np.testing.assert_array_equal(read(pickle.loads(sent)), values)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_threads_write_different_regions_at_once(tmp_path, suffix):
    shape, chunks = (8, 40, 44), (2, 7, 11)
    store = store_for(tmp_path / f"a{suffix}", shape, "u2", chunks, labels="zyx")
    store.create()
    values = values_of(shape, "u2")
    with ThreadPool(8) as pool:
        pool.starmap(store.write, [(r, values[r]) for r in regions_of(shape, chunks)])
    np.testing.assert_array_equal(read(store), values)


@pytest.fixture(scope="module")
def processes():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield pool


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_processes_write_different_regions_at_once(tmp_path, suffix, processes):
    shape, chunks = (8, 40, 44), (2, 7, 11)
    store = store_for(tmp_path / f"a{suffix}", shape, "f4", chunks, labels="zyx")
    store.create()
    values = values_of(shape, "f4")
    jobs = [(region, values[region]) for region in regions_of(shape, chunks)]
    processes.starmap(store.write, jobs, chunksize=1)
    np.testing.assert_array_equal(read(store), values)


def test_another_process_needs_no_common_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = store_for("a.npy", (4,), "u1", (2,))
    store.create()
    monkeypatch.chdir("/")
    store.write(whole((4,)), np.ones(4, "u1"))
    assert (np.load(tmp_path / "a.npy") == 1).all()


WRITE_FOR_EVER = """
import sys, numpy as np
from napari_scsc.io.stores import store_for
store = store_for(sys.argv[1], (8, 64, 64), "f8", (4, 64, 64), labels="zyx")
while True:
    store.write((slice(0, 4), slice(0, 64), slice(0, 64)), np.full((4, 64, 64), 7.0))
"""


@pytest.mark.parametrize("suffix", [".zarr", ".npy"])
def test_a_killed_writer_harms_only_its_region(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    store = store_for(path, (8, 64, 64), "f8", (4, 64, 64), labels="zyx")
    store.create()
    store.write(np.s_[4:8, :, :], np.full((4, 64, 64), 3.0))
    writer = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(path)])
    try:
        end = time.monotonic() + 30
        while not read(store)[0].any() and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        writer.kill()
        writer.wait()
    assert set(np.unique(read(store)[:4])) <= {0.0, 7.0}
    assert (read(store)[4:] == 3).all()
    store.write(np.s_[0:4, :, :], np.full((4, 64, 64), 5.0))
    assert (read(store)[:4] == 5).all()


# What can go wrong with a disk


@pytest.mark.parametrize("suffix", [".ome.tif", ".ome.zarr"])
def test_messages_name_the_result_and_not_where_it_is_made(tmp_path, suffix):
    made = tmp_path / f"cells{suffix}.partial" / f"result{suffix}"
    for dtype, labels, error in (("f2", "uv", ValueError), ("c8", "yx", TypeError)):
        with pytest.raises(error) as raised:
            store_for(made, (4, 4), dtype, (2, 2), labels=labels)
        assert str(raised.value).startswith(f"{tmp_path / 'cells'}{suffix}: ")
    with pytest.raises(FileNotFoundError) as missing:
        store_for(made, (4, 4), "f4", (2, 2)).create()
    assert missing.value.filename == f"{tmp_path / 'cells'}{suffix}"
    elsewhere = tmp_path / "old.partial" / "cells.tif"  # not made by us
    assert store_for(elsewhere, (4, 4), "f4", (2, 2)).final_path == elsewhere


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_that_exists_is_replaced(tmp_path, suffix):
    store, values = case(tmp_path / f"a{suffix}")
    store.write(whole(store.shape), values)
    with pytest.raises(FileExistsError, match=f"a{suffix}"):
        store.create()
    np.testing.assert_array_equal(read(store), values)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_that_is_missing_or_none_is_named(tmp_path, suffix):
    (tmp_path / "file").touch()
    for folder, error in (("missing", FileNotFoundError), ("file", NotADirectoryError)):
        path = tmp_path / folder / f"a{suffix}"
        for compressed in (True, False):
            with pytest.raises(error, match=folder) as raised:
                store_for(path, (4, 4), "f4", (2, 2), compressed=compressed).create()
            assert raised.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_that_must_not_be_written_to_is_named(tmp_path, suffix, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "some temporary file")

    is_folder = "zarr" in suffix
    target = "os.mkdir" if is_folder else "napari_scsc.io.atomic_files.rename_exclusively"
    monkeypatch.setattr(target, refuse)
    path = tmp_path / f"a{suffix}"
    with pytest.raises(PermissionError) as raised:
        store_for(path, (4, 4), "f4", (2, 2)).create()
    assert raised.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_too_little_room_is_found_before_anything_is_written(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")(10, 9, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    for suffix in SUFFIXES:
        with pytest.raises(OSError, match="needed") as raised:
            store_for(tmp_path / f"a{suffix}", (4, 4), "f4", (2, 2), compressed=False).create()
        assert raised.value.errno == errno.ENOSPC
        assert raised.value.filename.endswith(f"a{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_that_fills_up_raises_and_names_the_path(tmp_path, suffix):
    resource = pytest.importorskip("resource")
    store = store_for(
        tmp_path / f"a{suffix}", (512, 512), "f8", (512, 512), compressed=False, labels="yx"
    )
    store.create()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(OSError, match=f"a{suffix}"):
            store.write(whole((512, 512)), np.ones((512, 512)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_write_that_falls_short_without_a_number_is_a_full_disk(tmp_path, suffix, monkeypatch):
    store, values = case(tmp_path / f"a{suffix}")

    def fall_short(*_):
        raise OSError("429 requested and 128 written")  # as tofile of numpy does

    monkeypatch.setattr(type(store), "_write", fall_short)
    with pytest.raises(OSError, match="full disk") as raised:
        store.write(whole(store.shape), values)
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(store.path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_store_that_could_not_be_made_leaves_nothing(tmp_path, suffix, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("napari_scsc.io.atomic_files.rename_exclusively", stop)
    with pytest.raises(KeyboardInterrupt):
        store_for(tmp_path / f"a{suffix}", (4, 4), "f4", (2, 2)).create()
    assert not list(tmp_path.iterdir())


def test_room_that_is_missing_is_told_in_units_of_its_size(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 3000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    store = store_for(tmp_path / "a.npy", (100, 100), np.float32, (100, 100))
    with pytest.raises(OSError, match=r"40\.0 kB are needed, but the disk has 3\.0 kB left"):
        store.create()
