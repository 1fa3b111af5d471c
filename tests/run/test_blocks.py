"""Data larger than memory: the same bits block by block, whatever happens in between."""

from __future__ import annotations

import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from cancelling import CallingCancellation

from napari_scsc import denoise, inpaint, iter_denoise, iter_inpaint, samples
from napari_scsc.restore import passes
from napari_scsc.run import block_grid, blocks
from napari_scsc.run.blending import estimate_block
from napari_scsc.run.block_grid import BlockGrid
from napari_scsc.run.blocks import _compute
from napari_scsc.run.updates import BlocksDone, Finished, RegionRestored

SMALL = "100 MB"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks and chunks in an image that takes a second."""
    monkeypatch.setattr(passes, "_bytes_per_point", lambda *_: 2e4)
    monkeypatch.setattr(block_grid, "CHUNK_VALUES", 3000)


@pytest.fixture(scope="module")
def noisy():
    clean = samples.tissue((150, 130))
    noise = np.random.default_rng(0).normal(0, 0.1, clean.shape)
    return (1000 * (clean + noise + 1)).astype(np.uint16)


OPTIONS = {"kind": "image", "quality": "fast", "memory": SMALL, "n_jobs": 1}


def grid_of(image):
    from napari_scsc.data.axes import PRESETS
    from napari_scsc.data.samples import open_samples
    from napari_scsc.noise.model import Noise
    from napari_scsc.noise.working import WorkingValues
    from napari_scsc.restore.denoise import TileDenoiser

    source = open_samples(image, None, None, PRESETS["image"])
    noise = Noise(100.0, 0.0, 1e4, False, True, ())
    from napari_scsc import learn

    bank = learn([image], kind="image")
    restorer = TileDenoiser.of(bank, source, WorkingValues(source, noise), 0.05, "fast", 17_500_000)
    return BlockGrid.of(source, restorer)


def test_grid_covers_every_chunk_by_the_blocks_that_meet_it(noisy):
    grid = grid_of(noisy)
    assert grid.n_blocks > 3
    assert grid.n_chunks > 3
    covered = np.zeros(noisy.shape, int)
    for number in range(grid.n_chunks):
        chunk = grid.chunk_at(number)
        covered[chunk.part] += 1
        for b in range(grid.n_blocks):
            tile = grid.block(b).tile
            meets = all(
                a.start < p.stop and p.start < a.stop
                for a, p in zip(tile.region, chunk.part, strict=True)
            )
            assert meets == (b in chunk.blocks)
    assert (covered == 1).all()


@pytest.mark.parametrize("suffix", [".zarr", ".ome.zarr", ".tif", ".npy"])
def test_file_has_the_bits_of_the_result_in_memory(noisy, tmp_path, suffix):
    expected = denoise(noisy, **OPTIONS)
    result = denoise(noisy, out=tmp_path / f"a{suffix}", **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"]


def test_number_of_threads_changes_nothing(noisy, tmp_path):
    results = []
    for n_jobs in (1, 2):
        path = tmp_path / f"{n_jobs}.zarr"
        results.append(np.asarray(denoise(noisy, out=path, **{**OPTIONS, "n_jobs": n_jobs})))
    np.testing.assert_array_equal(*results)


def test_inpainting_goes_the_same_way(noisy, tmp_path):
    missing = np.random.default_rng(1).random(noisy.shape) < 0.2
    expected = inpaint(noisy, missing, **OPTIONS)
    result = inpaint(noisy, missing, out=tmp_path / "a.zarr", **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_samples_and_joint_axes_keep_their_places(tmp_path):
    rng = np.random.default_rng(0)
    stack = np.stack([samples.tissue((70, 60), seed=i) for i in range(2)])
    lapse = (stack + rng.normal(0, 0.1, stack.shape)).astype(np.float32)
    options = {**OPTIONS, "kind": "time-lapse"}
    np.testing.assert_array_equal(
        np.asarray(denoise(lapse, out=tmp_path / "t.zarr", **options)), denoise(lapse, **options)
    )
    colours = np.moveaxis(np.repeat(lapse[:1], 3, 0), 0, -1) + rng.normal(0, 0.1, (70, 60, 3))
    options = {**OPTIONS, "kind": "rgb"}
    np.testing.assert_array_equal(
        np.asarray(denoise(colours, out=tmp_path / "c.zarr", **options)),
        denoise(colours, **options),
    )


def test_dask_array_gives_a_lazy_one_with_the_same_bits(noisy):
    expected = denoise(noisy, **OPTIONS)
    read = []

    def look(block):
        read.append(1)
        return block

    image = da.from_array(noisy, chunks=(50, 64)).map_blocks(look, dtype=noisy.dtype)
    lazy = denoise(image, **OPTIONS)
    before = len(read)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == image.chunks
    part = lazy[:20, :20].compute(scheduler="synchronous")
    np.testing.assert_array_equal(part, expected[:20, :20])
    assert len(read) > before
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected)


def test_stopped_run_resumes_to_the_same_bits(noisy, tmp_path):
    whole = np.asarray(denoise(noisy, out=tmp_path / "whole.zarr", **OPTIONS))
    target = tmp_path / "a.zarr"
    done = 0
    for attempt in range(50):
        updates = iter_denoise(noisy, out=target, resume=attempt > 0, **OPTIONS)
        try:
            for update in updates:
                if isinstance(update, Finished):
                    np.testing.assert_array_equal(np.asarray(update.result), whole)
                    assert not (tmp_path / "a.zarr.partial").exists()
                    assert attempt > 1
                    return
                if isinstance(update, RegionRestored | BlocksDone) and update.done > done:
                    done = update.done
                    raise InterruptedError
        except InterruptedError:
            updates.close()
        assert not target.exists()
    pytest.fail("it never came to an end")


@pytest.fixture
def made(monkeypatch):
    """The blocks that were computed, each in no less than a fifth of a second."""
    made = []
    estimate = estimate_block

    def slowly(*arguments):
        time.sleep(0.2)
        made.append(arguments[2])
        return estimate(*arguments)

    monkeypatch.setattr(blocks, "estimate_block", slowly)
    return made


def test_finished_blocks_are_not_computed_again(noisy, tmp_path, made):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    for update in updates:
        if isinstance(update, RegionRestored | BlocksDone) and update.done > 0.3:
            break
    updates.close()
    before = len(made)
    total = grid_of(noisy).n_blocks
    assert 0 < before < total
    denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    assert len(made) <= total + 1  # the one that was under way


def test_waves_of_tasks_change_nothing_and_leave_nothing(noisy, tmp_path, monkeypatch):
    expected = denoise(noisy, **OPTIONS)
    monkeypatch.setattr(blocks, "_CHUNKS_PER_GRAPH", 2)
    left = []
    path = tmp_path / "a.zarr"
    computing = _compute

    def compute(tasks, n_jobs):
        found = computing(tasks, n_jobs)
        left.append(len(list((tmp_path / "a.zarr.partial" / "blocks").glob("*"))))
        return found

    monkeypatch.setattr(blocks, "_compute", compute)
    result = denoise(noisy, out=path, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert len(left) > 3
    assert max(left) < grid_of(noisy).n_blocks, "all blocks were kept until the end"
    assert left[-1] == 0


def test_another_request_is_not_mixed_in(noisy, tmp_path):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    for update in updates:
        if isinstance(update, RegionRestored | BlocksDone):
            break
    updates.close()
    with pytest.raises(FileExistsError, match="resume"):
        denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    with pytest.raises(ValueError, match="strength"):
        denoise(noisy, out=tmp_path / "a.zarr", resume=True, **{**OPTIONS, "strength": 2.0})
    denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    with pytest.raises(FileExistsError, match="already"):
        denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)


def test_another_image_is_not_mixed_in(noisy, tmp_path):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    next(update for update in updates if isinstance(update, RegionRestored | BlocksDone))
    updates.close()
    with pytest.raises(ValueError, match="image or mask"):
        denoise(noisy[::-1], out=tmp_path / "a.zarr", resume=True, **OPTIONS)


def test_another_mask_or_task_is_not_mixed_in(noisy, tmp_path):
    options = {**OPTIONS, "out": tmp_path / "a.zarr", "sigma": 100.0}
    missing = np.zeros(noisy.shape, bool)
    missing[70:80, 60] = True
    updates = iter_inpaint(noisy, missing, **options)
    next(update for update in updates if isinstance(update, RegionRestored | BlocksDone))
    updates.close()
    other = missing.copy()
    other[3, 120] = True
    with pytest.raises(ValueError, match="image or mask"):
        inpaint(noisy, other, resume=True, **options)
    with pytest.raises(ValueError, match="task"):
        denoise(noisy, resume=True, **options)
    filled = np.asarray(inpaint(noisy, missing, resume=True, **options))
    np.testing.assert_array_equal(filled, inpaint(noisy, missing, **{**options, "out": None}))


def test_folder_of_somebody_else_is_not_taken_for_a_run(noisy, tmp_path):
    folder = tmp_path / "a.zarr.partial"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match=r"thesis\.txt"):
        denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    assert (folder / "thesis.txt").read_text() == "all of it"
    (folder / "thesis.txt").unlink()
    denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)


def test_damaged_request_is_told(noisy, tmp_path):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    next(update for update in updates if isinstance(update, RegionRestored | BlocksDone))
    updates.close()
    request = tmp_path / "a.zarr.partial" / "request.json"
    request.write_text(request.read_text()[:20])
    with pytest.raises(ValueError, match=r"request\.json: is damaged: remove"):
        denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)


def test_run_that_is_under_way_is_left_alone(noisy, tmp_path):
    updates = iter_denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    next(update for update in updates if isinstance(update, RegionRestored | BlocksDone))
    with pytest.raises(ValueError, match="another run is working"):
        denoise(noisy, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    *_, last = updates
    expected = denoise(noisy, out=tmp_path / "b.zarr", **OPTIONS)
    np.testing.assert_array_equal(np.asarray(last.result), np.asarray(expected))


def test_cancelling_leaves_no_thread_and_no_file_of_that_name(noisy, tmp_path, made):
    def tick():
        if len(made) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for _ in iter_denoise(
            noisy, out=tmp_path / "a.zarr", cancellation=CallingCancellation(tick), **OPTIONS
        ):
            pass
    assert not (tmp_path / "a.zarr").exists()
    assert not [t for t in threading.enumerate() if t.name == "napari-scsc blocks"]


def test_error_in_a_block_is_told(tmp_path):
    image = da.from_array(samples.tissue((120, 100)), chunks=50)

    def broken(block, block_info=None):
        if block_info and block_info[0]["chunk-location"] == (2, 1):
            raise OSError("the disk is gone")
        return block

    with pytest.raises(OSError, match="the disk is gone"):
        denoise(image.map_blocks(broken, dtype=np.float32), out=tmp_path / "a.zarr", **OPTIONS)


def test_active_scheduler_is_used(noisy, tmp_path):
    with dask.config.set(scheduler="synchronous"):
        result = denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), denoise(noisy, **OPTIONS))


def test_no_seams_between_blocks(noisy):
    """Jumps across the borders of blocks are no larger than elsewhere."""
    result = denoise(noisy, **OPTIONS).astype(float)
    borders = {t.region[0].start for t in grid_of(noisy).tiles}
    borders |= {t.region[0].stop for t in grid_of(noisy).tiles}
    jumps = np.abs(np.diff(result, axis=0)).mean(axis=1)
    at = [b - 1 for b in borders if 0 < b < len(result)]
    assert at
    elsewhere = np.delete(jumps, at)
    assert jumps[at].mean() < elsewhere.mean() + 3 * elsewhere.std() / np.sqrt(len(at))


def test_blocks_with_different_noise_agree_with_the_whole():
    clean = samples.tissue((200, 96))
    level = np.where(np.arange(200) < 100, 0.05, 0.15)[:, None]
    image = (clean + np.random.default_rng(0).normal(0, 1, clean.shape) * level).astype(np.float32)
    cut = denoise(image, kind="image", sigma=0.1, quality="fast", memory=SMALL, n_jobs=1)
    whole = denoise(image, kind="image", sigma=0.1, quality="fast", n_jobs=1)
    assert np.sqrt(np.mean((cut - whole) ** 2)) < 0.02 * 0.1 * 10  # a fifth of the noise
    assert (
        abs(np.sqrt(np.mean((cut - clean) ** 2)) / np.sqrt(np.mean((whole - clean) ** 2)) - 1)
        < 0.03
    )


@pytest.mark.parametrize("memory", ["1 MB", "much", -5])
def test_memory_that_cannot_be_meant_is_refused(noisy, memory):
    with pytest.raises(ValueError, match="memory"):
        denoise(noisy, kind="image", memory=memory)


def test_result_in_zarr_has_named_axes(noisy, tmp_path):
    denoise(noisy, out=tmp_path / "a.zarr", **OPTIONS)
    assert zarr.open_array(tmp_path / "a.zarr").metadata.dimension_names == ("y", "x")
