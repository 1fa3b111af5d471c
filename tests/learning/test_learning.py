from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import psutil
import pytest
import zarr
from cancelling import CallingCancellation

import napari_scsc
from napari_scsc import FileFormatError, LatticeSCSC, iter_denoise, samples
from napari_scsc.choices import DRAWS
from napari_scsc.data.samples import open_samples
from napari_scsc.learning import loop, plan
from napari_scsc.learning.options import LearnOptions
from napari_scsc.learning.plan import plan_learning
from napari_scsc.run.executors import ClusterExecutor
from napari_scsc.run.updates import Finished, NoiseFound, TileLearned

MODELS = {
    "patches": {"model": "patches"},
    "scsc": {"model": "scsc", "n_base": 3, "n_filters": 5, "filter_shape": (5, 5)},
}


clean = cache(samples.tissue)


def iter_learn(images, **options):
    """Learn from up to 16 small tiles of each image, unless another number is given."""
    return napari_scsc.iter_learn(images, **{"tiles": 16, **options})


def learn(images, **options):
    """The filters that ``iter_learn`` ends with."""
    *_, last = iter_learn(images, **options)
    return last.bank


def noisy(shape=(96, 90), seed=0, sigma=0.1):
    """A picture (y, x), or different ones along the axes before, with noise."""
    rng = np.random.default_rng(seed)
    planes = [clean(shape[-2:], i) for i in range(math.prod(shape[:-2]))]
    return (np.reshape(planes, shape) + sigma * rng.standard_normal(shape)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Of a small picture, 16 tiles: learning from it is quick."""
    monkeypatch.setattr(plan, "_MIN_TILE_POINTS", 20 * 20)


class Stopped(Exception):
    pass


def stop_after(n, images, **options):
    """Learn until n tiles were learned from, then break off as a crash would."""
    updates = iter_learn(images, **options)
    learned = (u for u in updates if isinstance(u, TileLearned))
    for _ in itertools.islice(learned, n):
        pass
    with pytest.raises(Stopped):
        updates.throw(Stopped())


# --- streaming ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_tiles_are_learned_from_one_after_the_other(model):
    updates = list(iter_learn([noisy()], **MODELS[model]))
    assert [type(u) for u in updates] == [NoiseFound] + [TileLearned] * 16 + [Finished]
    assert [u.sample.sample for u in updates[1:-1]] == list(range(1, 17))
    assert updates[-2].bank.id == updates[-1].bank.id
    assert updates[-1].bank.info["n_samples"] == 16
    done = [u.done for u in updates]
    assert done == sorted(done)
    assert done[-1] == 1


@pytest.mark.parametrize(
    ("shape", "n_tiles"), [((64, 64), 1), ((200, 180), 16), ((500, 90), 18), ((4096, 4096), 1024)]
)
def test_small_image_has_smaller_tiles_so_that_there_are_several(shape, n_tiles, monkeypatch):
    monkeypatch.undo()
    source = open_samples(np.broadcast_to(np.arange(shape[1]), shape), None, "image", None)
    (grid,) = plan_learning([source], LearnOptions(tiles=16)).grids
    assert grid.n_tiles == n_tiles
    assert min(grid.shortest) >= 40
    assert max(grid.longest) <= 128


@pytest.mark.parametrize("chunks", [None, (20, 20), (90, 90)])
def test_without_a_number_of_tiles_all_are_learned_from(chunks):
    image = noisy((90, 90))
    if chunks:
        image = da.from_array(image, chunks=chunks)
    source = open_samples(image, None, "image", None)
    total = plan_learning([source], LearnOptions(tiles=None)).n_tiles
    assert len([u for u in iter_learn([image], tiles=None) if isinstance(u, TileLearned)]) == total
    assert (
        len([u for u in iter_learn([image], tiles=None, passes=2) if isinstance(u, TileLearned)])
        == 2 * total
    )
    assert (
        len([u for u in iter_learn([image], tiles=3, passes=2) if isinstance(u, TileLearned)]) == 6
    )


@pytest.mark.parametrize("kind", ["image", "multispectral", "video"])
@pytest.mark.parametrize("sigma", [0.03, 0.2])
def test_noise_is_found_from_the_first_tiles(kind, sigma):
    shape = {"image": (300, 300), "multispectral": (3, 150, 150), "video": (20, 80, 80)}[kind]
    update = next(iter_learn([noisy(shape, sigma=sigma)], kind=kind))
    assert update.noise.sigma == pytest.approx(sigma, rel=0.05)


def test_noise_is_that_of_each_of_several_images():
    images = [noisy(sigma=0.05), 100 * noisy(sigma=0.2), noisy((128, 128), sigma=0.1)]
    updates = [u for u in iter_learn(images) if isinstance(u, NoiseFound)]
    assert [u.noise.sigma for u in updates] == pytest.approx([0.05, 20, 0.1], rel=0.06)


def test_filters_of_a_chunked_image_span_those_of_the_same_image_in_memory():
    image = noisy((200, 200))
    banks = [learn([x], tiles=None, n_base=20) for x in (image, da.from_array(image, chunks=45))]
    flat = [bank.filters.reshape(20, -1) for bank in banks]
    overlap = np.linalg.svd(flat[0] @ flat[1].T, compute_uv=False)
    assert overlap[:12].min() > 0.98


@pytest.mark.parametrize("draw", DRAWS)
def test_tiles_with_missing_values_are_left_out(draw):
    image = noisy((128, 128))
    image[:64, :64] = np.nan
    updates = list(iter_learn([image], tiles=None, draw=draw))
    assert sum(isinstance(u, TileLearned) for u in updates) in (
        (12,) if draw == "uniform" else (16,)
    )
    assert np.isfinite(updates[-1].bank.filters).all()
    hidden = np.ma.MaskedArray(np.nan_to_num(image, nan=1e6), np.isnan(image))
    assert learn([hidden], tiles=None, draw=draw).id == updates[-1].bank.id


def test_first_whole_tile_may_come_late(monkeypatch):
    monkeypatch.setattr(loop, "_FIRST_TILES", 2)
    image = noisy((128, 128))
    image[::5] = np.nan
    image[64:96, 64:96] = noisy((32, 32))
    for seed in range(4):
        updates = [
            u for u in iter_learn([image], sigma=0.1, seed=seed) if isinstance(u, TileLearned)
        ]
        assert len(updates) == 1


def test_nothing_but_tiles_with_missing_values_is_told():
    image = noisy()
    image[::20, ::20] = np.nan
    for options in ({}, {"batch": 4}, {"draw": "structure"}):
        with pytest.raises(ValueError, match="every tile of the images has missing values"):
            learn([image], **options)


class Lazy:
    """An image made up as it is read."""

    dtype = np.dtype(np.float32)

    def __init__(self, side, chunk=128):
        self.shape, self.chunks = (side, side), (chunk, chunk)
        self._pattern = noisy((chunk, chunk))

    def __getitem__(self, region):
        shape = tuple(s.stop - s.start for s in region)
        return np.resize(self._pattern, shape)


def test_memory_does_not_grow_with_the_image():
    def peak(side):
        updates = iter_learn([Lazy(side)], tiles=None, n_base=8, filter_shape=(4, 4), sigma=0.1)
        tracemalloc.start()
        for _ in updates:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak(512)  # what is loaded and compiled once
    small, large = peak(640), peak(1536)
    assert large < 1.5 * small  # threads that meet, or not, make a tenth; the images differ by 6


@pytest.mark.parametrize("chunk", [64, 300])
def test_each_chunk_is_read_once_while_learning(chunk):
    class Counted(Lazy):
        def __getitem__(self, region):
            spans = [range(s.start // chunk, -(-s.stop // chunk)) for s in region]
            reads.update(itertools.product(*spans))
            return super().__getitem__(region)

    reads = Counter()
    updates = iter_learn([Counted(1000, chunk)], tiles=None, n_base=8, filter_shape=(4, 4))
    reads.clear()  # of the look at all values before
    for _ in updates:
        pass
    assert len(reads) == math.ceil(1000 / chunk) ** 2
    assert set(reads.values()) == {1}


def test_cancelling_ends_the_thread_that_reads():
    calls = []

    def tick():
        calls.append(1)
        if len(calls) == 25:
            raise Stopped

    with pytest.raises(Stopped):
        learn([Lazy(1024)], tiles=None, cancellation=CallingCancellation(tick))
    assert not [t for t in threading.enumerate() if t.name.startswith("napari-scsc")]


@pytest.mark.parametrize("is_file", [False, True])
def test_image_that_changes_meanwhile_is_told(tmp_path, is_file):
    image = noisy()
    if is_file:
        np.save(tmp_path / "in.npy", image)
        image = np.load(tmp_path / "in.npy", mmap_mode="r")
    updates = iter_learn(image, kind="image", sigma=0.1)
    next(updates)
    if is_file:
        np.save(tmp_path / "other.npy", image + 1)
        os.replace(tmp_path / "other.npy", tmp_path / "in.npy")
    else:
        image[50, 50] += 1
    with pytest.raises(ValueError, match="changed while filters were learned"):
        list(updates)


def test_error_of_the_image_reaches_who_learns():
    class Broken(Lazy):
        reads = 0

        def __getitem__(self, region):
            self.reads += 1
            if self.reads > 30:
                raise OSError("the disk is gone")
            return super().__getitem__(region)

    with pytest.raises(OSError, match="the disk is gone"):
        learn([Broken(1024)], tiles=None)


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"tiles": 0}, ValueError, "tiles"),
        ({"draw": "best"}, ValueError, "draw"),
        ({"batch": 0}, ValueError, "batch"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"checkpoint": "a", "every": 0}, ValueError, "every"),
        ({"checkpoint": "a", "every_seconds": -1}, ValueError, "every_seconds"),
        ({"checkpoint": "no/such/folder"}, FileNotFoundError, "no folder"),
    ],
)
def test_wrong_arguments_fail_at_the_call(options, error, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=word):
        iter_learn([noisy((64, 64))], **options)


# --- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batch", [3, 4])
def test_number_of_threads_changes_nothing(model, batch):
    options = {**MODELS[model], "batch": batch, "draw": "structure"}
    banks = [learn([noisy()], n_jobs=n, **options).id for n in (1, 2, 5, None)]
    assert len(set(banks)) == 1


def test_history_of_the_lattice_does_not_depend_on_the_batch():
    assert len({learn([noisy()], batch=batch).id for batch in (1, 4, 16, 100)}) == 1


def test_samples_of_a_batch_have_the_same_filters():
    updates = [
        u.sample
        for u in iter_learn([noisy()], batch=4, **MODELS["scsc"])
        if isinstance(u, TileLearned)
    ]
    assert updates[3].B.tobytes() != updates[4].B.tobytes()
    assert updates[4].B.tobytes() == updates[7].B.tobytes()


# --- checkpoints --------------------------------------------------------------------------------

LAYOUTS = {
    "numpy": lambda x: x,
    "small chunks": lambda x: da.from_array(x, chunks=(13, 20)),
    "large chunks": lambda x: da.from_array(x, chunks=(96, 45)),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("layout", "n"),
    [("numpy", 1), ("small chunks", 4), ("large chunks", 7), ("small chunks", 17), ("numpy", 10)],
)
def test_resumed_equals_uninterrupted(model, layout, n, tmp_path):
    image = LAYOUTS[layout](noisy())
    options = {**MODELS[model], "passes": 2, "tiles": 10, "seed": 3}
    whole = learn([image], **options)
    options |= {"checkpoint": tmp_path / "a", "every": 4, "every_seconds": None, "resume": True}
    stop_after(n, [image], **options)
    updates = list(iter_learn([image], **options))
    assert updates[-1].bank.id == whole.id
    # What was kept is not learned from again.
    assert sum(isinstance(u, TileLearned) for u in updates) == 20 - 4 * (n // 4)


@pytest.mark.parametrize("model", MODELS)
def test_resumed_equals_uninterrupted_with_batches_holes_and_structure(model, tmp_path):
    image = noisy((128, 128))
    image[50:70, 50:70] = np.nan
    image = da.from_array(image, chunks=64)
    options = {**MODELS[model], "batch": 3, "draw": "structure", "tiles": None, "n_jobs": 1}
    whole = learn([image], **options)
    options |= {"checkpoint": tmp_path / "a", "every": 5, "every_seconds": None, "resume": True}
    for n in (4, 3, 7):  # stopped several times
        stop_after(n, [image], **options)
    assert learn([image], **{**options, "n_jobs": 2}).id == whole.id


def test_resumed_with_mixtures_of_joint_values_and_several_images(tmp_path):
    images = [noisy((5, 60, 60), seed=s) for s in (0, 1)]
    options = {"kind": "multispectral", "checkpoint": tmp_path / "a", "every": 1, "resume": True}
    whole = learn(images, kind="multispectral")
    stop_after(7, images, **options)
    assert learn(images, **options).id == whole.id


@pytest.mark.parametrize("model", MODELS)
def test_resumed_after_going_on_from_a_bank(model, tmp_path):
    bank = learn([noisy(seed=5)], **MODELS[model])
    options = {"model": model, "bank": bank}
    whole = learn([noisy()], **options)
    options |= {"checkpoint": tmp_path / "a", "every": 2, "resume": True}
    stop_after(5, [noisy()], **options)
    assert learn([noisy()], **options).id == whole.id


def test_cancelled_run_can_be_resumed(tmp_path):
    calls = []

    def tick():
        calls.append(1)
        if len(calls) == 24:  # while learning: 16 calls are for the first tiles
            raise Stopped

    options = {"checkpoint": tmp_path / "a", "every": 3, "resume": True}
    with pytest.raises(Stopped):
        learn([noisy()], cancellation=CallingCancellation(tick), **options)
    updates = list(iter_learn([noisy()], **options))
    assert sum(isinstance(u, TileLearned) for u in updates) == 16 - 6
    assert updates[-1].bank.id == learn([noisy()]).id


@pytest.mark.parametrize("every_seconds", [0, None])
def test_checkpoint_is_written_by_time_too(every_seconds, tmp_path):
    path = tmp_path / "a"
    options = {"checkpoint": path, "every": None, "every_seconds": every_seconds}
    updates = iter_learn([noisy()], **options)
    next(u for u in updates if isinstance(u, TileLearned))
    assert path.exists() is (every_seconds == 0)
    updates.close()


def test_finished_run_is_there_at_once_and_nothing_is_removed(tmp_path):
    path = tmp_path / "a"
    whole = learn([noisy()], checkpoint=path)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    before = path.read_bytes()
    updates = list(iter_learn([noisy()], checkpoint=path, resume=True))
    assert [type(u) for u in updates] == [NoiseFound, Finished]
    assert updates[-1].bank.id == whole.id
    assert path.read_bytes() == before
    assert LatticeSCSC.resume(path).n_seen == 16  # it is one of the learner, too


def test_run_is_not_overwritten_unless_resumed(tmp_path):
    learn([noisy()], checkpoint=tmp_path / "a")
    with pytest.raises(FileExistsError, match="holds a run already"):
        iter_learn([noisy()], checkpoint=tmp_path / "a")


def test_checkpoint_of_another_job_is_refused(tmp_path):
    options = {"kind": "time-lapse", "checkpoint": tmp_path / "a", "resume": True}
    image = noisy((3, 50, 50))
    learn([image], **options)
    for changes, words in [
        ({"seed": 1}, "seed was 0 and not 1"),
        ({"tiles": 5}, "tiles was 16 and not 5"),
        ({"tiles": None}, "tiles was 16 and not None"),
        ({"passes": 2}, "passes"),
        ({"batch": 2}, "batch was 1 and not 2"),
        ({"draw": "structure"}, "draw"),
        ({"sigma": 0.1}, "sigma"),
        ({"n_base": 20}, "n_base"),
        ({"filter_shape": (5, 5)}, "filter_shape"),
        ({"kind": "multispectral"}, "images differed"),
    ]:
        with pytest.raises(ValueError, match=f"checkpoint of another job.*{words}"):
            iter_learn([image], **{**options, **changes})
    for other in ([2 * image], [image, image], [image[:, :40]]):
        with pytest.raises(ValueError, match="the images differed"):
            iter_learn(other, **options)
    with pytest.raises(ValueError, match="the chunks differed"):
        iter_learn([da.from_array(image, chunks=(1, 33, 50))], **options)


def test_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "a"
    options = {"checkpoint": path, "resume": True}
    path.write_bytes(b"something else")
    with pytest.raises(FileFormatError, match="not a readable"):
        iter_learn([noisy()], **options)
    path.unlink()
    LatticeSCSC(6, (4, 4)).fit([noisy()]).checkpoint(path)
    with pytest.raises(FileFormatError, match="'request' is missing"):
        iter_learn([noisy()], **options)
    path.unlink()
    learn([noisy()], checkpoint=path, **MODELS["scsc"])
    with pytest.raises(FileFormatError, match="not a napari-scsc lattice checkpoint"):
        iter_learn([noisy()], **options)


KILLED = """
import sys
sys.path.insert(0, {tests!r})
sys.path.insert(0, {helpers!r})
from test_learning import MODELS, iter_learn, noisy, plan
plan._MIN_TILE_POINTS = 20 * 20
options = {{**MODELS[{model!r}], "passes": 2, "seed": 3, "batch": 2}}
for update in iter_learn([noisy()], checkpoint={path!r}, every=3, resume=True, **options):
    print(type(update).__name__, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [2, 9, 22])
def test_killed_and_resumed_equals_uninterrupted(model, n, tmp_path):
    options = {**MODELS[model], "passes": 2, "seed": 3, "batch": 2}
    whole = learn([noisy()], **options)
    path = tmp_path / "a"
    script = KILLED.format(
        tests=str(Path(__file__).parent),
        helpers=str(Path(__file__).parent.parent),
        path=str(path),
        model=model,
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        learned = (line for line in process.stdout if line.startswith("TileLearned"))
        for _ in itertools.islice(learned, n):
            pass
        process.kill()
    assert process.returncode != 0
    updates = list(iter_learn([noisy()], checkpoint=path, resume=True, **options))
    assert updates[-1].bank.id == whole.id
    if n > 4:
        assert sum(isinstance(u, TileLearned) for u in updates) < 32


# --- on a cluster -------------------------------------------------------------------------------


class Logged:
    """A stored array that writes down who read which of its chunks."""

    def __init__(self, path, log):
        self._array, self._log = zarr.open_array(path, mode="r"), str(log)
        self.shape, self.dtype, self.chunks = (
            self._array.shape,
            self._array.dtype,
            self._array.chunks,
        )

    def __getitem__(self, region):
        spans = zip(region, self.chunks, strict=True)
        touched = itertools.product(*(range(s.start // c, -(-s.stop // c)) for s, c in spans))
        with open(self._log, "a") as log:
            log.write("".join(f"{os.getpid()} {chunk}\n" for chunk in touched))
        return self._array[region]

    def reads(self):
        lines = Path(self._log).read_text().splitlines()
        pids, chunks = zip(*(line.split(" ", 1) for line in lines), strict=True)
        return Counter(chunks), set(map(int, pids))


def arrays_of(image, folder):
    stored = zarr.create_array(folder / "a.zarr", data=image, chunks=(48, 45))
    return {
        "numpy": image,
        "masked": np.ma.MaskedArray(image, image > 1.2),
        "dask": da.from_array(image, chunks=(20, 90)),
        "zarr": stored,
        "dask of zarr": da.from_zarr(stored),
    }


def check_equal(folder, model):
    for image in arrays_of(noisy(), folder).values():
        options = {**MODELS[model], "batch": 3, "tiles": None}
        for draw in DRAWS:
            here = learn([image], n_jobs=1, draw=draw, **options)
            assert learn([image], draw=draw, **options).id == here.id


@pytest.fixture
def threads_of_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("model", MODELS)
def test_cluster_learns_the_same(model, threads_of_dask, tmp_path, monkeypatch):
    used = []
    work = ClusterExecutor.map
    monkeypatch.setattr(ClusterExecutor, "map", lambda *a: used.append(1) or work(*a))
    image = noisy()
    options = {**MODELS[model], "batch": 4}
    here = learn([image], n_jobs=2, **options)
    assert not used
    assert learn([image], **options).id == here.id
    assert used
    used.clear()
    with dask.config.set(scheduler="threads"):
        assert learn([image], **options).id == here.id
    assert not used


def test_cancelling_reaches_a_cluster(threads_of_dask):
    calls = []

    def tick():
        calls.append(1)
        if len(calls) == 22:
            raise Stopped

    with pytest.raises(Stopped):
        learn([noisy()], cancellation=CallingCancellation(tick), batch=4)


def test_error_on_a_cluster_reaches_who_learns(threads_of_dask):
    broken = da.from_array(noisy(), chunks=24).map_blocks(fail_at_the_end, dtype=np.float32)
    updates = iter_learn([broken], tiles=None, batch=2)
    fail_at_the_end.fails = True
    try:
        with pytest.raises(OSError, match="the disk is gone"):
            list(updates)
    finally:
        fail_at_the_end.fails = False


def fail_at_the_end(block):
    if fail_at_the_end.fails:
        raise OSError("the disk is gone")
    return block


fail_at_the_end.fails = False


@pytest.fixture(scope="module")
def processes_of_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(processes_of_dask):
    with processes_of_dask.as_current():
        try:
            processes_of_dask.wait_for_workers(2, timeout=30)
        except TimeoutError:  # dask may lose the one that takes the place of a killed worker
            processes_of_dask.restart(timeout=60)
        yield processes_of_dask


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_processes_of_a_cluster_learn_the_same(model, client, tmp_path):
    check_equal(tmp_path, model)


@pytest.mark.slow
def test_workers_read_what_they_code_and_each_chunk_once(client, tmp_path):
    image = noisy((240, 240))
    zarr.create_array(tmp_path / "a.zarr", data=image, chunks=(100, 100))
    options = {"tiles": None, "batch": 4, "n_base": 8, "filter_shape": (4, 4)}
    stored = Logged(tmp_path / "a.zarr", tmp_path / "log")
    here = learn([stored], n_jobs=1, **options)
    updates = iter_learn([stored], **options)  # which has looked at all of it
    Path(tmp_path / "log").unlink()
    *_, last = updates
    reads, readers = stored.reads()
    assert last.bank.id == here.id
    assert set(reads.values()) == {1}
    assert len(reads) == 9
    assert readers == set(client.run(os.getpid).values()) - {os.getpid()}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("layout", ["numpy", "zarr", "dask of zarr"])
def test_killed_worker_changes_nothing(model, layout, client, tmp_path):
    image = arrays_of(noisy(), tmp_path)[layout]
    options = {**MODELS[model], "batch": 3, "passes": 3}
    here = learn([image], n_jobs=1, **options)
    updates = []
    for update in iter_learn([image], **options):
        updates.append(update)
        if len(updates) == 5:
            psutil.Process(next(iter(client.run(os.getpid).values()))).kill()
    assert updates[-1].bank.id == here.id


@pytest.mark.slow
def test_run_on_a_cluster_can_be_resumed_elsewhere(client, tmp_path):
    options = {**MODELS["scsc"], "batch": 3, "passes": 2}
    whole = learn([noisy()], n_jobs=1, **options)
    options |= {"checkpoint": tmp_path / "a", "every": 6, "resume": True}
    stop_after(8, [noisy()], **options)
    updates = list(iter_learn([noisy()], n_jobs=2, **options))
    assert updates[-1].bank.id == whole.id
    assert sum(isinstance(u, TileLearned) for u in updates) == 32 - 6


# --- what denoising and inpainting learn --------------------------------------------------------


@pytest.mark.parametrize("options", [{"n_base": 3}, {"filter_shape": (5, 5)}])
def test_what_a_bank_has_cannot_be_asked_for(options):
    bank = learn([noisy()], kind="image")
    with pytest.raises(ValueError, match="is that of the bank"):
        learn([noisy()], kind="image", bank=bank, **options)


def test_psnr_on_the_way_is_relative_to_the_range_of_the_image():
    image = 1000 * noisy((96, 96))
    alone = [u.sample.psnr for u in iter_learn([image], kind="image") if isinstance(u, TileLearned)]
    while_restoring = [
        u.sample.psnr for u in iter_denoise(image, kind="image") if isinstance(u, TileLearned)
    ]
    assert abs(np.median(alone) - np.median(while_restoring)) < 2


@pytest.mark.parametrize("model", ["scsc", "patches"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 5)])
def test_filters_of_hardly_any_pixels_are_learned(model, shape):
    image = np.random.default_rng(0).normal(100, 10, (32, 32)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bank = napari_scsc.learn([image], model=model, filter_shape=shape, n_base=1)
    assert bank.filters.shape == (1, *shape)
