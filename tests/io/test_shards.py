"""Large results are few files: chunks are written one by one, and combined into shards."""

from __future__ import annotations

import os
import tracemalloc
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from store_tools import RNG, read, regions_of, whole

from napari_scsc.io.formats import open_file
from napari_scsc.io.stores import shards, store_for
from napari_scsc.io.stores.shards import shard_lengths

SHAPE, CHUNKS = (7, 70, 530), (2, 20, 100)  # which the chunks do not divide
SUFFIXES = (".zarr", ".ome.zarr")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(shards, "SHARD_BYTES", 1 << 17)


def large_store(path, dtype="u2", **more):
    store = store_for(path, SHAPE, dtype, CHUNKS, labels="zyx", **more)
    store.create()
    return store


def filled(path, values=None, **more):
    values = RNG.integers(1, 60000, SHAPE, np.uint16) if values is None else values
    store = large_store(path, **more)
    for region in regions_of(SHAPE, CHUNKS):
        store.write(region, values[region])
    return store, values


def files_in(path):
    return [file for file in path.rglob("*") if file.is_file()]


def data_files(path):
    return [file for file in files_in(path) if file.name != "zarr.json"]


def places_of(store):
    return sorted({store.shard_of(region) for region in regions_of(SHAPE, CHUNKS)})


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 60)), min_size=1, max_size=5),
    st.integers(1, 1 << 20),
)
def test_shards_are_whole_chunks_and_no_larger_than_told(axes, n_values):
    shape = tuple(n for n, _ in axes)
    chunks = tuple(min(n, c) for n, c in axes)
    lengths = shard_lengths(shape, chunks, n_values)
    if lengths is None:
        # Two chunks would be too many, or there is but one.
        n_chunks = np.prod([-(-n // c) for n, c in zip(shape, chunks, strict=True)])
        assert n_chunks == 1 or 2 * np.prod(chunks) > n_values
        return
    assert all(s % c == 0 for s, c in zip(lengths, chunks, strict=True))
    assert np.prod(lengths) <= n_values
    # Chunks that are written one after the other are in the same one, until it is full.
    needed = [-(-n // c) for n, c in zip(shape, chunks, strict=True)]
    counts = [s // c for s, c in zip(lengths, chunks, strict=True)]
    cut = max((i for i, (k, n) in enumerate(zip(counts, needed, strict=True)) if k < n), default=0)
    assert all(count == 1 for count in counts[:cut])
    assert counts[cut + 1 :] == needed[cut + 1 :]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("compressed", [True, False])
def test_a_large_result_is_few_files_with_the_same_values(tmp_path, suffix, compressed):
    store, values = filled(tmp_path / f"a{suffix}", compressed=compressed)
    places = places_of(store)
    assert len(places) > 2
    store.finish()
    np.testing.assert_array_equal(read(store), values)
    np.testing.assert_array_equal(open_file(store.path).array[...], values)
    key = "" if suffix == ".zarr" else "0"
    array = zarr.open_array(store.path, path=key, mode="r")
    assert array.chunks == CHUNKS
    assert len(data_files(store.path / key)) == len(places)
    assert {file.parts[len(store.path.parts)] for file in data_files(store.path)} <= {
        "c",
        "0",
        "1",
        "2",
    }


def test_all_levels_have_the_same_values_as_without_shards(tmp_path, monkeypatch):
    store, values = filled(tmp_path / "a.ome.zarr")
    store.finish()
    monkeypatch.setattr(shards, "SHARD_BYTES", 1 << 30)
    plain, _ = filled(tmp_path / "b.ome.zarr", values)
    plain.finish()
    assert plain.shard_bytes == 0
    assert len(data_files(plain.path)) > 5 * len(data_files(store.path))
    groups = [zarr.open_group(s.path, mode="r") for s in (store, plain)]
    assert {**groups[0].attrs["ome"]["multiscales"][0], "name": "b"} == (
        groups[1].attrs["ome"]["multiscales"][0]
    )
    levels = groups[0].attrs["ome"]["multiscales"][0]["datasets"]
    assert len(levels) == 3
    for level in levels:
        np.testing.assert_array_equal(*(group[level["path"]][...] for group in groups))


def test_small_results_and_zarr_2_have_none(tmp_path):
    for name, shape, version in (("a", (7, 70, 50), "0.5"), ("b", SHAPE, "0.4")):
        store = store_for(tmp_path / f"{name}.zarr", shape, "u2", CHUNKS, zarr_format=version)
        store.create()
        assert store.shard_of(whole(shape)) is None
        assert zarr.open_array(store.path, mode="r").shards is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chunks_of_zeros_are_zeros_and_take_no_room(tmp_path, suffix):
    values = np.zeros(SHAPE, np.uint16)
    values[2:4, 20:40, 100:200] = 5
    store, _ = filled(tmp_path / f"a{suffix}", values)
    store.finish()
    np.testing.assert_array_equal(read(store), values)
    assert sum(file.stat().st_size for file in data_files(store.path)) < 10_000
    nothing, _ = filled(tmp_path / f"b{suffix}", np.zeros(SHAPE, np.uint16))
    nothing.finish()
    assert not read(nothing).any()


def test_packing_again_changes_nothing(tmp_path):
    store, values = filled(tmp_path / "a.zarr")
    for _ in range(2):
        for place in places_of(store):
            store.pack(place)
    np.testing.assert_array_equal(read(store), values)
    store.finish()
    before = {file: file.read_bytes() for file in files_in(store.path)}
    store.finish()
    assert {file: file.read_bytes() for file in files_in(store.path)} == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_region_written_after_finishing_replaces_what_was_there(tmp_path, suffix):
    store, values = filled(tmp_path / f"a{suffix}")
    store.finish()
    changed = values.copy()
    for region, value in zip(regions_of(SHAPE, CHUNKS)[3:20:8], (0, 7, 0), strict=True):
        changed[region] = value
        store.write(region, changed[region])
    store.finish()
    np.testing.assert_array_equal(read(store), changed)


class Killed(BaseException):
    """What stands for the end of the process."""


@pytest.mark.parametrize("function", ["replace", "unlink"])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_shard_that_was_killed_while_it_was_made_is_made_again(
    tmp_path, monkeypatch, function, after
):
    store, values = filled(tmp_path / "a.zarr")
    calls = []

    def counted(call):
        def wrapped(*arguments, **more):
            calls.append(arguments)
            if len(calls) > after:
                raise Killed
            return call(*arguments, **more)

        return wrapped

    with monkeypatch.context() as patched:
        if function == "replace":
            patched.setattr(os, "replace", counted(os.replace))
        else:
            patched.setattr(shards.Path, "unlink", counted(shards.Path.unlink))
        with pytest.raises(Killed):
            store.finish()
    store.finish()
    np.testing.assert_array_equal(read(store), values)
    assert len(data_files(store.path)) == len(places_of(store))


def test_the_same_shard_made_by_several_at_a_time_is_whole(tmp_path):
    store, values = filled(tmp_path / "a.zarr")
    with ThreadPool(8) as pool:
        pool.map(store.pack, [place for place in places_of(store) for _ in range(8)])
    np.testing.assert_array_equal(read(store), values)
    store.finish()
    np.testing.assert_array_equal(read(store), values)


def test_in_memory_is_a_chunk_and_not_a_shard(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_BYTES", 1 << 24)
    shape, chunks = (160, 512, 200), (8, 64, 200)
    store = store_for(tmp_path / "a.zarr", shape, "u2", chunks, compressed=False)
    store.create()
    for region in regions_of(shape, chunks):
        store.write(region, np.ones([s.stop - s.start for s in region], np.uint16))
    store.pack((1, 0, 0))  # what is loaded late
    tracemalloc.start()
    try:
        store.pack((0, 0, 0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert os.path.getsize(store.path / "c" / "0" / "0" / "0") > 15e6
    assert peak < 1.5e6


def test_a_damaged_shard_is_an_error(tmp_path):
    store, _ = filled(tmp_path / "a.zarr")
    store.finish()
    path = data_files(store.path)[0]
    data = path.read_bytes()
    for damaged in (data[: len(data) // 2], data[:-1], data[:99] + b"?" + data[100:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.zarr: not a readable zarr"):
            open_file(store.path).array[...]
