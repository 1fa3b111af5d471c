"""Restoring on a real cluster of two processes, and what happens when parts of it are lost."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
import zarr

from napari_scsc import denoise, learn, samples

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # Workers that are killed on purpose complain, and so does the loop that loses them.
    pytest.mark.filterwarnings("ignore"),
]

OPTIONS = {"kind": "image", "sigma": 60.0, "quality": "fast", "memory": "100 MB", "n_jobs": 1}


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    clean = samples.tissue((700, 600))
    noise = np.random.default_rng(0).normal(0, 0.06, clean.shape)
    values = (1000 * (clean + noise + 1)).astype(np.uint16)
    path = tmp_path_factory.mktemp("volume") / "volume.zarr"
    array = zarr.create_array(str(path), shape=values.shape, dtype=values.dtype, chunks=(256, 256))
    array[:] = values
    return zarr.open_array(str(path), mode="r")


@pytest.fixture(scope="module")
def bank(volume):
    return learn([volume], kind="image", sigma=60.0, tiles=4)


@pytest.fixture(scope="module")
def expected(volume, bank):
    return denoise(volume, bank=bank, **OPTIONS)


@pytest.fixture
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def when_some_is_done(folder, action):
    """Do something in the middle of a run."""

    def wait():
        for _ in range(600):
            logs = list(folder.glob("done-*.txt"))
            if any(log.stat().st_size for log in logs):
                action()
                return
            time.sleep(0.05)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_cluster_gives_the_same_bits(cluster, volume, bank, expected, tmp_path):
    result = denoise(volume, bank=bank, out=tmp_path / "a.zarr", **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_lazy_result_is_computed_by_the_cluster(cluster, volume, bank, expected):
    import dask.array as da

    lazy = denoise(da.from_zarr(volume), bank=bank, **OPTIONS)
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_lost_worker_is_made_up_for(cluster, volume, bank, expected, tmp_path):
    victim = next(iter(cluster.run(os.getpid).values()))
    thread = when_some_is_done(tmp_path / "a.zarr.partial", lambda: os.kill(victim, signal.SIGKILL))
    result = denoise(volume, bank=bank, out=tmp_path / "a.zarr", **OPTIONS)
    thread.join()
    np.testing.assert_array_equal(np.asarray(result), expected)
