from __future__ import annotations

import errno
import itertools
import json
import math
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from multiprocessing.pool import ThreadPool

import dask.array as da
import numpy as np
import pint
import pytest
import tifffile
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from napari_scsc.io.stores import store_for, suffix_of, zarr_stores
from napari_scsc.io.units import unit_word

RNG = np.random.default_rng(0)
SUFFIXES = (".zarr", ".ome.zarr", ".tif", ".tiff", ".npy")
DTYPES = ("uint8", "uint16", "int32", "float32", "float64")
# Shapes that the chunks do not divide.
CASES = {1: ((23,), (5,)), 2: ((11, 13), (4, 13)), 3: ((3, 11, 13), (2, 4, 5))}
CASES |= {4: ((2, 3, 7, 9), (1, 3, 4, 9)), 5: ((2, 1, 3, 7, 5), (1, 1, 2, 3, 5))}
LABELS = "tczyx"


def values_of(shape, dtype):
    if np.dtype(dtype).kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def regions_of(shape, chunks):
    spans = [[slice(a, min(a + c, n)) for a in range(0, n, c)] for n, c in zip(shape, chunks)]  # noqa: B905
    return list(itertools.product(*spans))


def whole(shape):
    return tuple(slice(0, n) for n in shape)


def case(path, ndim=3, dtype="float32", **more):
    shape, chunks = CASES[ndim]
    store = store_for(path, shape, dtype, chunks, labels=LABELS[-ndim:], **more)
    store.create()
    return store, values_of(shape, dtype)


def read(store):
    return np.asarray(store.open())


def ome(path):
    return zarr.open_group(path, mode="r").attrs["ome"]


# Names


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".ome.tif", ".ome.tiff"])
def test_the_end_of_the_name_says_the_format(suffix):
    assert suffix_of(f"/a/b.c{suffix.upper()}") == suffix


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
    assert store_for(elsewhere, (4, 4), "f4", (2, 2)).shown == elsewhere


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

    target = "mkdir" if "zarr" in suffix else "rename"
    monkeypatch.setattr(os, target, refuse)
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
def test_a_store_that_could_not_be_made_leaves_nothing(tmp_path, suffix, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", stop)
    with pytest.raises(KeyboardInterrupt):
        store_for(tmp_path / f"a{suffix}", (4, 4), "f4", (2, 2)).create()
    assert not list(tmp_path.iterdir())


# Zarr


def test_zarr_knows_names_scale_and_units(tmp_path):
    store, _ = case(tmp_path / "a.zarr", scale=(2, 0.5, 0.5), units=("s", "µm", "pixel"))
    array = zarr.open_array(store.path, mode="r")
    assert array.metadata.zarr_format == 3
    assert array.metadata.dimension_names == ("z", "y", "x")
    assert array.attrs["scale"] == [2, 0.5, 0.5]
    assert array.attrs["units"] == ["second", "micrometer", "pixel"]
    assert array.chunks == store.chunks


def test_names_that_are_only_numbers_are_none(tmp_path):
    store = store_for(tmp_path / "a.zarr", (4, 4), "f4", (2, 2), labels=("-2", "-1"))
    assert store.labels is None


def test_compression_is_a_choice(tmp_path):
    sizes = []
    for compressed in (True, False):
        store = store_for(
            tmp_path / f"{compressed}.zarr", (64, 64), "f4", (64, 64), compressed=compressed
        )
        store.create()
        store.write(whole((64, 64)), np.ones((64, 64), "f4"))
        sizes.append(sum(f.stat().st_size for f in store.path.rglob("c/*/*")))
    assert sizes[0] < sizes[1] == 64 * 64 * 4


def test_two_openings_have_different_names(tmp_path):
    store, _ = case(tmp_path / "a.zarr")
    assert store.open().name != store.open().name


# OME-Zarr


UNITS = {"space": {"micrometer", "nanometer", "meter"}, "time": {"second", "millisecond"}}


def check_ome(path):
    """What version 0.5 of the specification demands of an image, and what it recommends."""
    with open(path / "zarr.json") as stream:
        node = json.load(stream)
    assert (node["zarr_format"], node["node_type"]) == (3, "group")
    assert node["attributes"]["ome"]["version"] == "0.5"
    (image,) = node["attributes"]["ome"]["multiscales"]
    assert {"name", "type", "metadata"} <= set(image)
    axes, datasets = image["axes"], image["datasets"]
    names = [axis["name"] for axis in axes]
    kinds = [axis.get("type") for axis in axes]
    assert 2 <= len(axes) <= 5
    assert len(set(names)) == len(names)
    assert kinds.count("space") in (2, 3)
    assert kinds.count("time") <= 1
    order = [{"time": 0, "space": 2}.get(kind, 1) for kind in kinds]
    assert order == sorted(order)
    assert order.count(1) <= 1
    for axis in axes:
        if "unit" in axis:
            assert axis["unit"] in UNITS[axis["type"]]
    sizes = []
    for dataset in datasets:
        array = zarr.open_array(path / dataset["path"], mode="r")
        assert array.metadata.zarr_format == 3
        assert array.ndim == len(axes)
        assert list(array.metadata.dimension_names) == names
        kinds = [step["type"] for step in dataset["coordinateTransformations"]]
        assert kinds in (["scale"], ["scale", "translation"])
        for step in dataset["coordinateTransformations"]:
            assert len(step[step["type"]]) == len(axes)
            assert all(isinstance(x, int | float) for x in step[step["type"]])
        sizes.append(array.size)
    assert sizes == sorted(sizes, reverse=True)
    return image


@pytest.mark.parametrize("labels", ["yx", "zyx", "tyx", "cyx", "tcyx", "czyx", "tczyx", "nyx"])
def test_metadata_are_as_specified_before_and_after_finishing(tmp_path, labels):
    shape = tuple({"y": 100, "x": 520, "z": 4}.get(label, 2) for label in labels)
    store = store_for(
        tmp_path / "a.ome.zarr",
        shape,
        "u1",
        tuple(min(n, 200) for n in shape),
        labels=labels,
        scale=[0.5] * len(shape),
        units=["s" if label == "t" else "um" for label in labels],
    )
    store.create()
    assert len(check_ome(store.path)["datasets"]) == 1
    for _ in range(2):
        store.finish()
        image = check_ome(store.path)
        assert image["name"] == "a"
        assert [axis["name"] for axis in image["axes"]] == list(labels)
        assert len(image["datasets"]) == 3
    units = [axis.get("unit") for axis in image["axes"]]
    wanted = {**dict.fromkeys("zyx", "micrometer"), "t": "second"}
    assert units == [wanted.get(label) for label in labels]


@pytest.mark.parametrize(
    ("labels", "ndim"),
    [("yxc", 3), ("uvyx", 4), ("ctyx", 4), ("ncyx", 4), ("x", 1), (None, 4), ("nzc", 3)],
)
def test_axes_that_the_format_has_no_place_for_are_refused(tmp_path, labels, ndim):
    with pytest.raises(ValueError, match=r"a\.ome\.zarr.*\.zarr, which holds any"):
        store_for(tmp_path / "a.ome.zarr", (4,) * ndim, "f4", (2,) * ndim, labels=labels)


def test_one_axis_of_an_unknown_kind_has_its_place(tmp_path):
    store = store_for(tmp_path / "a.ome.zarr", (3, 4, 5), "f4", (1, 4, 5))
    store.create()
    assert [axis.get("type") for axis in check_ome(store.path)["axes"]] == [None, "space", "space"]


def test_the_image_is_called_as_it_is_told(tmp_path):
    for name in ("a.ome.zarr", "a.ome.tif"):
        store_for(tmp_path / name, (4, 5), "f4", (4, 5), name="cells").create()
    assert check_ome(tmp_path / "a.ome.zarr")["name"] == "cells"
    assert 'Name="cells"' in tifffile.tiffcomment(tmp_path / "a.ome.tif")


def test_words_become_the_letters_that_viewers_know(tmp_path):
    store = store_for(
        tmp_path / "a.ome.zarr", (2, 3, 4, 5), "f4", (1, 1, 4, 5), labels=("time", "ch", "row", "x")
    )
    store.create()
    assert [axis["name"] for axis in check_ome(store.path)["axes"]] == list("tcyx")


def mean_of_blocks(values, steps):
    """The mean of each block, the last ones of which may be shorter, by another way."""
    blocks = [np.arange(0, n, step) for n, step in zip(values.shape, steps, strict=True)]
    total, count = values.astype(float), np.ones(values.shape)
    for axis, starts in enumerate(blocks):
        total = np.add.reduceat(total, starts, axis)
        count = np.add.reduceat(count, starts, axis)
    return total / count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "chunks"), [((2, 66, 70, 514), (1, 33, 70, 128))])
def test_levels_are_means_of_the_one_before(tmp_path, shape, chunks, dtype):
    store = store_for(
        tmp_path / "a.ome.zarr", shape, dtype, chunks, labels="tzyx", scale=(3, 2, 0.5, 0.25)
    )
    store.create()
    before = RNG.integers(0, 200, shape).astype(dtype)
    store.write(whole(shape), before)
    store.finish()
    datasets = ome(store.path)["multiscales"][0]["datasets"]
    scale, middle = np.array(store.scale), np.zeros(4)
    assert len(datasets) == 3
    for level, dataset in enumerate(datasets):
        values = zarr.open_array(store.path / dataset["path"], mode="r")[:]
        steps = dataset["coordinateTransformations"]
        if level == 0:
            np.testing.assert_array_equal(values, before)
            assert len(steps) == 1
        else:
            halved = np.array([1, 2, 2, 2] if level == 1 else [1, 1, 1, 2])
            wanted = mean_of_blocks(before, halved)
            if np.dtype(dtype).kind in "iu":
                wanted = np.rint(wanted)
            np.testing.assert_allclose(values, wanted, rtol=1e-6)
            middle = middle + scale * (halved - 1) / 2
            scale = scale * halved
            np.testing.assert_allclose(steps[1]["translation"], middle)
        np.testing.assert_allclose(steps[0]["scale"], scale)
        assert values.dtype == dtype
        before = values
    assert max(before.shape[-2:]) <= 256


def slack(dtype, value):
    """How far a mean may lie beyond, for its last digit or where it is next to nothing."""
    if dtype.kind == "f":
        info = np.finfo(dtype)
        return float(abs(value) * info.eps + 8 * info.smallest_subnormal)
    return abs(value) * 1e-15 if dtype.itemsize == 8 else 0.0


@given(
    hnp.arrays(st.sampled_from(("u1", "i2", "i8", "u8", "f4", "f8")), hnp.array_shapes(max_dims=3)),
    st.data(),
)
def test_means_stay_between_the_values_of_their_block(values, data):
    steps = [data.draw(st.sampled_from((1, 2))) for _ in values.shape]
    values = np.nan_to_num(values, posinf=1, neginf=1)
    means = zarr_stores._means(values, steps)
    assert means.dtype == values.dtype
    assert means.shape == tuple(-(-n // s) for n, s in zip(values.shape, steps, strict=True))
    for index in np.ndindex(means.shape):
        block = values[tuple(slice(i * s, i * s + s) for i, s in zip(index, steps, strict=True))]
        low, high = float(block.min()), float(block.max())
        assert low - slack(values.dtype, low) <= float(means[index])
        assert float(means[index]) <= high + slack(values.dtype, high)


def test_a_region_written_after_finishing_is_in_the_levels_after_the_next(tmp_path):
    store = store_for(tmp_path / "a.ome.zarr", (300, 300), "f4", (150, 300))
    store.create()
    store.finish()
    store.write(np.s_[0:150, :], np.ones((150, 300), "f4"))
    store.finish()
    level = zarr.open_array(store.path / "1", mode="r")[:]
    assert (level[:75] == 1).all()
    assert not level[75:].any()


def test_finishing_reads_a_few_chunks_at_a_time(tmp_path, monkeypatch):
    store = store_for(tmp_path / "a.ome.zarr", (1000, 1200), "u1", (100, 100))
    store.create()
    sizes = []
    means = zarr_stores._means
    monkeypatch.setattr(
        zarr_stores,
        "_means",
        lambda values, steps: sizes.append(values.size) or means(values, steps),
    )
    store.finish()
    assert max(sizes) <= 4 * 100 * 100


# TIFF


def made(path, shape, dtype, labels, scale=None, units=None, **more):
    store = store_for(path, shape, dtype, shape, labels=labels, scale=scale, units=units, **more)
    store.create()
    values = values_of(shape, dtype)
    store.write(whole(shape), values)
    store.finish()
    np.testing.assert_array_equal(read(store), values)
    np.testing.assert_array_equal(tifffile.imread(path).squeeze(), values.squeeze())
    return store


def kind_of(path):
    with tifffile.TiffFile(path) as file:
        return file.series[0].kind


@pytest.mark.parametrize(
    ("labels", "shape", "dtype", "kind"),
    [
        ("yx", (8, 9), "u1", "imagej"),
        ("tzcyx", (2, 3, 4, 8, 9), "u2", "imagej"),
        ("yxc", (8, 9, 3), "u1", "imagej"),
        ("tyxc", (2, 8, 9, 3), "u1", "imagej"),
        ("tcyx", (2, 3, 8, 9), "f8", "ome"),
        ("czyx", (2, 3, 8, 9), "f4", "ome"),
        ("yxc", (8, 9, 3), "u2", "ome"),
        ("yxc", (8, 9, 31), "f4", "ome"),
        ("yx", (8, 9), "i4", "ome"),
        ("uvyx", (3, 3, 8, 9), "u1", "shaped"),
        ("cyx", (3, 8, 9), "i8", "shaped"),
        ("cyx", (3, 8, 9), "f2", "shaped"),
        ("cxty", (3, 8, 9, 4), "u1", "shaped"),
        (None, (3, 4, 8, 9), "u1", "shaped"),
        (None, (8, 9), "u1", "imagej"),
        ("x", (9,), "u1", "imagej"),
        ("x", (9,), "i8", "shaped"),
    ],
)
def test_tiff_is_of_the_kind_that_suits(tmp_path, labels, shape, dtype, kind):
    made(tmp_path / "a.tif", shape, dtype, labels)
    assert kind_of(tmp_path / "a.tif") == kind
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        letters = file.series[0].axes
    if labels and len(shape) > 1:
        assert letters.lower() == labels.replace("yxc", "yxs")


def test_imagej_knows_the_scale(tmp_path):
    made(
        tmp_path / "a.tif",
        (2, 3, 8, 9),
        "u2",
        "tzyx",
        (2, 0.5, 0.25, 0.125),
        ("ms", "um", "micrometer", pint.Unit("um")),
    )
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        said, tags = file.imagej_metadata, file.pages.first.tags
    assert (said["unit"], said["spacing"], said["finterval"], said["tunit"]) == ("um", 0.5, 2, "ms")
    assert tags["XResolution"].value == (8, 1)
    assert tags["YResolution"].value == (4, 1)


def test_ome_tiff_knows_the_scale(tmp_path):
    units = ("s", "nm", "um", "um")
    made(tmp_path / "a.ome.tif", (2, 3, 8, 9), "u2", "tzyx", (2, 500, 0.5, 0.25), units)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        assert file.series[0].kind == "ome"
        text, tags = file.ome_metadata, file.pages.first.tags
    for words in (
        'PhysicalSizeX="0.25" PhysicalSizeXUnit="µm"',
        'PhysicalSizeY="0.5" PhysicalSizeYUnit="µm"',
        'PhysicalSizeZ="500.0" PhysicalSizeZUnit="nm"',
        'TimeIncrement="2.0" TimeIncrementUnit="s"',
    ):
        assert words in text
    assert tags["XResolution"].value == (40000, 1)
    assert tags["ResolutionUnit"].value == 3


def test_a_name_that_promises_ome_is_kept_or_refused(tmp_path):
    with pytest.raises(ValueError, match=r"b\.ome\.tif"):
        store_for(tmp_path / "b.ome.tif", (3, 4, 8, 9), "u1", (1, 1, 8, 9), labels="uvyx")
    with pytest.raises(ValueError, match="int64"):
        store_for(tmp_path / "b.ome.tif", (8, 9), "i8", (8, 9))


@pytest.mark.skipif(sys.platform == "win32", reason="files with holes are not made by default")
def test_above_four_gigabytes_it_is_bigtiff(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")(1e15, 0, 1e15)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    shape = (10, 20_000, 25_000)
    store = store_for(tmp_path / "a.tif", shape, "u1", (1, 100, 25_000), labels="zyx")
    store.create()
    store.write(np.s_[9:10, 19_900:20_000, :], np.ones((1, 100, 25_000), "u1"))
    with tifffile.TiffFile(store.path) as file:
        assert file.is_bigtiff
        assert file.series[0].shape == shape
        assert file.series[0].axes == "ZYX"
    assert store.open()[9, 19_900:].all()
    assert not store.open()[9, 19_899].any()


# Units


@pytest.mark.parametrize(
    ("unit", "word"),
    [
        ("um", "micrometer"),
        ("µm", "micrometer"),
        ("\N{GREEK SMALL LETTER MU}m", "micrometer"),
        ("microns", "micrometer"),
        ("Micrometre", "micrometer"),
        (pint.Unit("um"), "micrometer"),
        (pint.Unit("micron"), "micrometer"),
        ("mm", "millimeter"),
        ("Mm", "megameter"),
        ("m", "meter"),
        ("Å", "angstrom"),
        ("ms", "millisecond"),
        ("us", "microsecond"),
        ("s", "second"),
        ("seconds", "second"),
        ("min", "minute"),
        ("h", "hour"),
        ("pixel", None),
        (pint.Unit("pixel"), None),
        ("", None),
        ("kelvin", None),
        (None, None),
    ],
)
def test_units_become_the_words_of_ome(unit, word):
    assert unit_word(unit) == word
