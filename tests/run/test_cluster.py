"""Restoring on a real cluster of two processes, and what happens when parts of it are lost."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import numpy as np
import psutil
import pytest
import zarr
from cancelling import CallingCancellation

from napari_scsc import RunInterrupted, denoise, iter_denoise, learn, samples
from napari_scsc.data.foreign_arrays import check_is_there
from napari_scsc.run.executors import ClusterExecutor

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # Workers that are killed on purpose complain, and so does the loop that loses them.
    pytest.mark.filterwarnings("ignore"),
]

OPTIONS = {"kind": "image", "sigma": 60.0, "quality": "fast", "memory": "100 MB", "n_jobs": 1}


@pytest.fixture(autouse=True)
def quiet():
    """Without its log: a message about lost results cannot be formatted, which pytest fails for."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.NOTSET)
    yield
    logger.setLevel(before)


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    clean = samples.tissue((330, 310))
    noise = np.random.default_rng(0).normal(0, 0.06, clean.shape)
    values = (1000 * (clean + noise + 1)).astype(np.uint16)
    path = tmp_path_factory.mktemp("volume") / "volume.zarr"
    array = zarr.create_array(str(path), shape=values.shape, dtype=values.dtype, chunks=(128, 128))
    array[:] = values
    return zarr.open_array(str(path), mode="r")


@pytest.fixture(scope="module")
def bank(volume):
    return learn([volume], kind="image", sigma=60.0, tiles=4)


@pytest.fixture(scope="module")
def expected(volume, bank):
    return denoise(volume, bank=bank, **OPTIONS)


@contextmanager
def two_processes(**options):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", **options
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def cluster():
    with two_processes() as client:
        yield client


HEAD = """
from distributed import LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
print(cluster.scheduler_address, flush=True)
input()
"""


@pytest.fixture
def head():
    """A process with the scheduler and, below it, those of two workers; a client is connected."""
    here = Path(__file__).parent  # its workers import this module, and what it imports
    paths = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        family = []
        try:
            with distributed.Client(process.stdout.readline().strip()) as client:
                client.wait_for_workers(2)
                family = psutil.Process(process.pid).children(recursive=True)
                yield process
                process.kill()
        finally:
            process.kill()
            psutil.wait_procs(family, timeout=20)  # workers that have lost it end themselves
    assert not [p for p in family if p.is_running()]


@pytest.fixture(params=["closed", "killed"])
def lose_scheduler(request):
    """What makes the scheduler go away, while a client is connected to it."""
    if request.param == "closed":
        return request.getfixturevalue("cluster").cluster.close
    return request.getfixturevalue("head").kill


class Stored:
    """A stored array that is slow to read for a worker, and fills its memory when some is done."""

    def __init__(self, array, seconds, share=0.0, folder=None):
        self._array, self._seconds, self._share, self._folder = array, seconds, share, folder
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks

    def __getitem__(self, region):
        if is_on_worker():
            if self._folder is not None and recorded(self._folder, "blocks"):
                fill_memory(self._share)
            time.sleep(self._seconds)
        return self._array[region]


def is_on_worker():
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


HELD = []  # memory of a worker


def fill_memory(share):
    """Let this worker take so much of the memory that it may."""
    allowed = distributed.get_worker().memory_manager.memory_limit
    missing = int(share * allowed) - psutil.Process().memory_info().rss
    if missing > 0:
        HELD.append(np.ones(missing, np.uint8))


def after(happened, action):
    """Do something in the middle of a run."""

    def wait():
        for _ in range(1200):
            if happened():
                action()
                return
            time.sleep(0.05)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def recorded(folder, what):
    """Whether there are blocks, or chunks, that were finished."""
    return any(log.stat().st_size for log in folder.glob(f"{what}-*.txt"))


def when_some_is_done(folder, action):
    return after(lambda: recorded(folder, "done"), action)


def error_of(function, *args, **options):
    """What a call raises; one that hangs, or that raises nothing, fails the test."""
    raised = []

    def call():
        try:
            function(*args, **options)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
    assert raised
    return raised[0]


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


class Blind(Stored):
    """An array of which a worker sees nothing, as a zarr in a folder that is not mounted there."""

    def __getitem__(self, region):
        values = self._array[region]
        return np.zeros_like(values) if is_on_worker() else values


class Hidden(Stored):
    """An array that workers look for in a zarr that is not there."""

    def __init__(self, array, gone):
        super().__init__(array, seconds=0)
        self._gone = gone

    def __getitem__(self, region):
        return read_there(self._gone if is_on_worker() else self._array, region)


def read_there(array, region):
    check_is_there(array)
    return array[region]


def pretend_other_code():
    from napari_scsc.run import proof

    proof.find_environment.cache_clear()
    proof._digest_of_code = lambda: "other"


def test_relative_name_of_a_result_is_one_of_the_client(
    cluster, volume, bank, expected, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    cluster.run(os.chdir, str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)
    denoise(volume, bank=bank, out="a.zarr", **OPTIONS)
    np.testing.assert_array_equal(zarr.open_array("a.zarr", mode="r")[...], expected)
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "elsewhere"]
    assert os.listdir(tmp_path / "elsewhere") == []


def test_relative_name_of_an_image_is_one_of_the_client(
    cluster, volume, bank, expected, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    cluster.run(os.chdir, str(tmp_path / "elsewhere"))
    monkeypatch.chdir(Path(volume.store.root).parent)
    relative = zarr.open_array("volume.zarr", mode="r")
    result = denoise(relative, bank=bank, out=tmp_path / "a.npy", **OPTIONS)
    np.testing.assert_array_equal(result, expected)


def test_workers_that_do_not_see_the_image_are_refused(cluster, volume, bank, tmp_path):
    blind = Blind(volume, seconds=0)
    with pytest.raises(ValueError, match="sees other values of the image"):
        denoise(blind, bank=bank, out=tmp_path / "a.zarr", **OPTIONS)
    assert os.listdir(tmp_path) == []


def test_worker_that_cannot_reach_the_image_says_so(cluster, volume, bank, tmp_path):
    gone = zarr.create_array(str(tmp_path / "gone.zarr"), shape=volume.shape, dtype=volume.dtype)
    shutil.rmtree(tmp_path / "gone.zarr")
    hidden = Hidden(volume, gone)
    with pytest.raises(ValueError, match="cannot be reached: its zarr is not there"):
        denoise(hidden, bank=bank, out=tmp_path / "a.zarr", **OPTIONS)
    assert os.listdir(tmp_path) == []


def test_workers_with_other_code_are_refused(cluster, volume, bank, tmp_path):
    cluster.run(pretend_other_code)
    match = r"its code other instead of .*: install the same"
    with pytest.raises(ValueError, match=match):
        denoise(volume, bank=bank, out=tmp_path / "a.zarr", **OPTIONS)
    with pytest.raises(ValueError, match=match):
        learn([volume], kind="image", sigma=60.0, tiles=4)


# --- the scheduler ------------------------------------------------------------------------------


def test_run_that_lost_its_scheduler_ends_and_can_be_resumed(
    lose_scheduler, volume, bank, expected, tmp_path
):
    out, folder = tmp_path / "a.zarr", tmp_path / "a.zarr.partial"
    thread = after(lambda: recorded(folder, "blocks"), lose_scheduler)
    error = error_of(denoise, Stored(volume, seconds=1), bank=bank, out=out, **OPTIONS)
    thread.join()
    assert isinstance(error, RunInterrupted)
    assert "scheduler" in str(error)
    assert f"kept in {folder}: run it again with resume" in str(error)
    assert recorded(folder, "blocks")
    assert not out.exists()
    with dask.config.set(scheduler="threads"):
        result = denoise(volume, bank=bank, out=out, resume=True, **OPTIONS)
        np.testing.assert_array_equal(np.asarray(result), expected)


def test_learning_that_lost_its_scheduler_ends_and_can_be_resumed(lose_scheduler, volume, tmp_path):
    options = {"kind": "image", "sigma": 60.0, "tiles": None, "batch": 2}
    whole = learn([volume], n_jobs=1, **options)
    path = tmp_path / "learning"
    options |= {"checkpoint": path, "every": 4, "every_seconds": None}
    thread = after(path.exists, lose_scheduler)
    error = error_of(learn, [Stored(volume, seconds=0.5)], **options)
    thread.join()
    assert isinstance(error, RunInterrupted)
    assert "scheduler" in str(error)
    assert f"{path} keeps what was learned: run it again with resume" in str(error)
    assert learn([volume], n_jobs=1, resume=True, **options).id == whole.id


class Cancelled(Exception):
    pass


def test_run_is_cancelled_though_the_scheduler_does_not_answer(head, volume, bank, tmp_path):
    folder = tmp_path / "a.zarr.partial"
    frozen = threading.Event()

    def freeze():
        os.kill(head.pid, signal.SIGSTOP)
        frozen.set()

    def tick():
        if frozen.is_set():
            raise Cancelled

    thread = after(lambda: recorded(folder, "blocks"), freeze)
    options = {
        **OPTIONS,
        "bank": bank,
        "out": tmp_path / "a.zarr",
        "cancellation": CallingCancellation(tick),
    }
    error = error_of(list, iter_denoise(Stored(volume, seconds=1), **options))
    thread.join()
    assert isinstance(error, Cancelled)


def test_cluster_without_workers_ends_a_run_that_can_be_resumed(
    volume, bank, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(ClusterExecutor, "_SECONDS_BETWEEN_LOOKS", 0.5)
    monkeypatch.setattr(ClusterExecutor, "_MAX_LOOKS_AT_NONE", 4)
    out, folder = tmp_path / "a.zarr", tmp_path / "a.zarr.partial"
    with two_processes() as client:
        thread = after(lambda: recorded(folder, "blocks"), lambda: client.cluster.scale(0))
        error = error_of(denoise, Stored(volume, seconds=1), bank=bank, out=out, **OPTIONS)
        thread.join()
    assert isinstance(error, RunInterrupted)
    assert "all workers of the cluster are gone" in str(error)
    result = denoise(volume, bank=bank, out=out, resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.85, 1.2], ids=["paused", "killed"])
def test_workers_without_memory_end_a_run_that_can_be_resumed(
    share, volume, bank, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(ClusterExecutor, "_SECONDS_BETWEEN_LOOKS", 1.0)
    out, folder = tmp_path / "a.zarr", tmp_path / "a.zarr.partial"
    hungry = Stored(volume, seconds=1, share=share, folder=folder)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        two_processes(memory_limit="1GB"),
    ):
        error = error_of(denoise, hungry, bank=bank, out=out, **OPTIONS)
    assert isinstance(error, RunInterrupted)
    assert "memory" in str(error)
    assert f"kept in {folder}: run it again with resume" in str(error)
    assert recorded(folder, "blocks")
    result = denoise(volume, bank=bank, out=out, resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)
