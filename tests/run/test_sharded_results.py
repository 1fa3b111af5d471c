"""Results in shards: the same bits in fewer files, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import zarr
from cancelling import CallingCancellation

from napari_scsc import Cancelled, denoise, iter_denoise, samples
from napari_scsc.io.stores import shards
from napari_scsc.io.stores.shards import ShardedArray
from napari_scsc.restore import passes
from napari_scsc.run import block_grid
from napari_scsc.run.updates import Finished

OPTIONS = {"kind": "image", "quality": "draft", "sigma": 100.0, "memory": "100 MB", "n_jobs": 1}
CHUNK_VALUES, SHARD_BYTES = 500, 8000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks, and shards of several chunks, in an image that takes a second."""
    monkeypatch.setattr(passes, "_bytes_per_point", lambda *_: 2e4)
    monkeypatch.setattr(block_grid, "CHUNK_VALUES", CHUNK_VALUES)
    monkeypatch.setattr(shards, "SHARD_BYTES", SHARD_BYTES)


@pytest.fixture(scope="module")
def noisy():
    clean = samples.tissue((150, 130))
    noise = np.random.default_rng(0).normal(0, 0.1, clean.shape)
    return (1000 * (clean + noise + 1)).astype(np.uint16)


@pytest.fixture
def expected(noisy, small_blocks):
    return denoise(noisy, **OPTIONS)


def check(path, expected, key=""):
    array = zarr.open_array(path, path=key, mode="r")
    np.testing.assert_array_equal(array[...], expected)
    assert array.shards is not None
    assert array.dtype.itemsize * np.prod(array.shards) <= SHARD_BYTES
    n_chunks = np.prod([-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)])
    files = [f for f in (path / key).rglob("*") if f.is_file() and f.name != "zarr.json"]
    assert len(files) == np.prod(
        [-(-n // s) for n, s in zip(array.shape, array.shards, strict=True)]
    )
    assert 3 < len(files) < n_chunks / 3
    assert not path.with_name(f"{path.name}.partial").exists()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_shards_have_the_bits_of_the_result_in_memory(noisy, expected, tmp_path, n_jobs):
    for name, key in (("a.zarr", ""), ("a.ome.zarr", "0")):
        made = denoise(noisy, out=tmp_path / name, **{**OPTIONS, "n_jobs": n_jobs})
        np.testing.assert_array_equal(np.asarray(made), expected)
        check(tmp_path / name, expected, key)


def test_the_error_beside_it_has_shards_of_its_own(noisy, tmp_path):
    values, error = denoise(noisy, error=True, **OPTIONS)
    denoise(noisy, error=True, out=tmp_path / "a.zarr", **OPTIONS)
    check(tmp_path / "a.zarr", values)
    check(tmp_path / "a.error.zarr", error)


def test_waves_of_tasks_may_end_within_a_shard(noisy, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("napari_scsc.run.blocks._CHUNKS_PER_GRAPH", 7)
    denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    check(tmp_path / "a.zarr", expected)


def test_shards_are_made_while_the_rest_is_computed(noisy, tmp_path, monkeypatch):
    most, pack = [], ShardedArray.pack

    def counted(self, place):
        most.append(sum(1 for _ in self._written()))
        pack(self, place)

    monkeypatch.setattr(ShardedArray, "pack", counted)
    denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    array = zarr.open_array(tmp_path / "a.zarr", mode="r")
    assert max(most) < 0.6 * (array.size / np.prod(array.chunks))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(noisy, expected, tmp_path, share):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    for update in updates:
        assert not isinstance(update, Finished)
        if update.done > share:
            break
    updates.close()
    assert not (tmp_path / "a.zarr").exists()
    denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    check(tmp_path / "a.zarr", expected)


def test_a_run_is_cancelled_while_a_shard_is_made(noisy, expected, tmp_path, monkeypatch):
    making, told = threading.Event(), threading.Event()

    def slowly(self, place, pack=ShardedArray.pack):
        making.set()
        told.wait(10)
        pack(self, place)

    def cancel():
        if making.is_set():
            told.set()
            raise Cancelled

    with monkeypatch.context() as patched:
        patched.setattr(ShardedArray, "pack", slowly)
        updates = iter_denoise(
            noisy, out=tmp_path / "a.zarr", cancellation=CallingCancellation(cancel), **OPTIONS
        )
        with pytest.raises(Cancelled):
            list(updates)
    denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    check(tmp_path / "a.zarr", expected)


PROGRAM = f"""
import sys
import numpy as np
from napari_scsc import denoise
from napari_scsc.io.stores import shards
from napari_scsc.restore import passes
from napari_scsc.run import block_grid
passes._bytes_per_point = lambda *_: 2e4
block_grid.CHUNK_VALUES, shards.SHARD_BYTES = {CHUNK_VALUES}, {SHARD_BYTES}
denoise(np.load(sys.argv[1]), out=sys.argv[2], resume=True, **{OPTIONS})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes end otherwise there")
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_bits(noisy, expected, tmp_path):
    np.save(tmp_path / "noisy.npy", noisy)
    target = tmp_path / "a.ome.zarr"
    folder = tmp_path / "a.ome.zarr.partial"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "noisy.npy"), str(target)]
    n_killed, limit = 0, 10
    while not target.exists():
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            # A bit further each time, down to the making of shards and coarser levels.
            if sum(len(files) for _, _, files in os.walk(folder)) > limit:
                process.kill()
                n_killed += 1
                break
            time.sleep(0.002)
        process.wait()
        limit += 10
        assert limit < 500
    assert n_killed > 2
    check(target, expected, "0")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of workers that end
def test_processes_of_a_cluster_make_the_same_shards(noisy, expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    # The workers are other processes: sizes of tiles and chunks are those of this one, sent along.
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        denoise(noisy, out=tmp_path / "a.ome.zarr", **OPTIONS)
    check(tmp_path / "a.ome.zarr", expected, "0")
