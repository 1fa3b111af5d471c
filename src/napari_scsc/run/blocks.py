"""Restore data larger than memory: a graph of blocks for whatever scheduler dask has.

A block is a tile with its overlap. Blocks know nothing of each other: the estimate of each goes to
a file of its own, and a chunk of the result is blended from the files of the blocks that cover it,
in the order in which they would be blended in memory, so that it has the same bits. Whatever is
there is whole, for files are written beside and renamed, and a chunk is recorded after it was
written: a run that was killed goes on where it was.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.cancellation import Cancellation
from napari_scsc.data.foreign_arrays import in_task
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import RunInterrupted
from napari_scsc.io.atomic_files import exclusive_lock, read_json, write_json
from napari_scsc.run.blending import blend_chunk, estimate_block
from napari_scsc.run.block_grid import BlockGrid, RestoredBlock, image_chunks
from napari_scsc.run.cancel import _SECONDS_BETWEEN_CHECKS, Stopped, stop_file_ticker
from napari_scsc.run.executors import ClusterExecutor, ClusterFailed, ClusterOutOfMemory
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import LEARNING, RestoreUpdate, Updates, finished

_WAVE = 1 << 14  # chunks in one graph


@dataclass(frozen=True)
class BlockRun:
    """A restoration into a store: what every process that works on it has to know."""

    source: ImageSamples
    restorer: TileRestorer
    grid: BlockGrid
    folder: Path
    store: Any

    def block_file(self, number: int) -> Path:
        """Where the estimate of a block lies."""
        return self.folder / "blocks" / f"{number}.npy"

    @property
    def stop_file(self) -> Path:
        """What tells everybody to stop."""
        return self.folder / "stop"

    def record(self, what: str, number: int) -> None:
        """Say that a block was made ("blocks"), or a chunk written ("done")."""
        log = self.folder / f"{what}-{socket.gethostname()}-{os.getpid()}.txt"
        with open(log, "a") as stream:
            stream.write(f"{number}\n")


class BlockRecords:
    """What the processes that work on a run have recorded; reads only what is new."""

    def __init__(self, run: BlockRun) -> None:
        self._folder = run.folder
        self._read: Counter[Path] = Counter()  # bytes
        self._found: dict[str, set[int]] = {"blocks": set(), "done": set()}

    def numbers(self, what: str) -> set[int]:
        """Numbers of the blocks that were made, or of the chunks that are written."""
        found = self._found[what]
        for log in self._folder.glob(f"{what}-*.txt"):
            with open(log, "rb") as stream:
                stream.seek(self._read[log])
                text = stream.read()
            # What has no end of line is being written, or was when its process was killed.
            whole = text[: text.rfind(b"\n") + 1]
            self._read[log] += len(whole)
            found.update(map(int, whole.split()))
        return found

    def steps(self) -> int:
        """How many blocks and chunks were made."""
        return sum(len(self.numbers(what)) for what in self._found)


def _restore_block(run: BlockRun, number: int) -> int:
    """Write the estimate of a block to its file."""
    target = run.block_file(number)
    if target.exists():
        return number
    tick = stop_file_ticker(run.stop_file)
    estimate = estimate_block(run.source, run.restorer, run.grid.block(number), cancellation)
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    with open(temporary, "wb") as stream:
        # Not np.save, which does not say that the disk is full.
        np.lib.format.write_array_header_1_0(
            stream, np.lib.format.header_data_from_array_1_0(estimate)
        )
        stream.write(estimate.data.cast("B"))
    os.replace(temporary, target)
    run.record("blocks", number)
    return number


def _write_chunk(run: BlockRun, number: int, _blocks: Sequence[int]) -> Counter[str]:
    """Blend the blocks that cover a chunk, and write it."""
    stop_file_ticker(run.stop_file)()
    chunk = run.grid.chunk_at(number)
    source = run.source.without_cache()
    pieces = [np.load(run.block_file(b), mmap_mode="r") for b in chunk.blocks]
    with in_task():
        values = blend_chunk(source, run.restorer, run.grid, chunk, pieces)
        run.store.write(source.region(chunk.index, chunk.part), values)
        remarks = run.restorer.remarks(source, chunk.index, chunk.part)
    run.record("done", number)
    return remarks


def _free_block(run: BlockRun, number: int, _chunks: Sequence[Any]) -> None:
    """All chunks that a block covers are written: its file is not needed any more."""
    run.block_file(number).unlink(missing_ok=True)


Make = Callable[[ImageSamples, Any, RestoredBlock, Tick], Any]
"""Makes something of a block of a source, with the restorer of the run."""


def _fill_place(run: BlockRun, make: Make, number: int) -> None:
    """Write what is made of a block to its place in the store."""
    block, tick = run.grid.block(number), stop_file_ticker(run.stop_file)
    with in_task():
        made = make(run.source.without_cache(), run.restorer, block, cancellation)
    run.store.write(number, made)
    run.record("blocks", number)


def restore_into_store(
    source: ImageSamples,
    restorer: TileRestorer,
    common: RestoreUpdate,
    folder: Path,
    store_for: Callable[[tuple[int, ...]], Any],
    n_jobs: int,
    cancellation: Cancellation,
) -> Updates:
    """Restore into a store, yielding an update whenever chunks were finished.

    ``folder`` is there, and keeps what a later run needs to go on. ``store_for`` makes the store
    of the result for a shape of chunks.
    """
    grid = BlockGrid.of(source, restorer)
    run = BlockRun(source, restorer, grid, folder, store_for(image_chunks(source, grid)))
    with exclusive_lock(folder / "lock", f"another run is working on {folder}"):
        _check_same_grid(run)
        run.stop_file.unlink(missing_ok=True)
        if not (folder / "created").exists():
            _remove_path(run.store.path)  # what a run that was killed had just begun
            run.store.create()
            (folder / "created").touch()
        remarks: Counter[str] = Counter()
        total = grid.n_blocks + grid.n_chunks
        for steps in _compute_waves(run, _plan_waves(run), n_jobs, cancellation, remarks):
            share = LEARNING + (1 - LEARNING) * steps / total
            yield replace(common, done=share, message=f"step {steps} of {total}")
        run.store.finish()
    yield finished(common, run.store, remarks)


def fill_store(
    run: BlockRun, make: Make, common: RestoreUpdate, n_jobs: int, cancellation: Cancellation
) -> Updates:
    """Write what is made of each block to the store of a run, which has a place for each.

    The store is there, and so is the folder of the run, as for ``into_store``. There is nothing to
    blend: a block is done when its place is filled.
    """
    with exclusive_lock(run.folder / "lock", f"another run is working on {run.folder}"):
        yield from _fill_blocks(run, make, common, n_jobs, cancellation)
        run.store.finish()
    yield finished(common, run.store, Counter())


def _fill_blocks(
    run: BlockRun, make: Make, common: RestoreUpdate, n_jobs: int, cancellation: Cancellation
) -> Updates:
    from dask import delayed

    _check_same_grid(run)
    run.stop_file.unlink(missing_ok=True)
    shared, fill = delayed(run, pure=False), delayed(_fill_place, pure=False)
    total, done = run.grid.n_blocks, BlockRecords(run).numbers("blocks")
    todo = [n for n in range(total) if n not in done]
    waves = ([fill(shared, make, n) for n in some] for some in _in_waves(todo))
    for steps in _compute_waves(run, waves, n_jobs, cancellation, Counter()):
        yield replace(common, done=steps / total, message=f"block {steps} of {total}")


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _check_same_grid(run: BlockRun) -> None:
    """Refuse to go on with the blocks of another grid."""
    grid = run.grid
    mine = {"shift": grid.shift, "size": grid.size, "overlap": grid.overlap, "chunk": grid.chunk}
    path = run.folder / "grid.json"
    if path.exists():
        theirs = {k: tuple(v) for k, v in read_json(path).items()}
        if theirs != mine:
            raise ValueError(
                f"{run.folder} holds parts of a run with blocks of another size: resume it with "
                "the same memory, or remove it"
            )
        return
    write_json(path, mine)


def _compute_waves(
    run: BlockRun,
    waves: Iterable[list[Any]],
    n_jobs: int,
    cancellation: Cancellation,
    remarks: Counter[str],
) -> Iterator[int]:
    """Compute waves of tasks; yield how many steps are done, whenever that has changed."""
    failure: list[BaseException] = []
    # Not join: Python takes a thread for ended whose join was broken off by Ctrl-C.
    ended = threading.Event()
    cluster = ClusterExecutor.active()  # asked here: a thread might be told of another one
    stop = stop_file_ticker(run.stop_file)

    def compute() -> None:
        try:
            for tasks in waves:
                stop()
                found = cluster.compute(tasks, stop) if cluster else _compute(tasks, n_jobs)
                for remark in found:
                    remarks.update(remark or {})
        except BaseException as error:  # of any scheduler: told by the thread that waits
            failure.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=compute, name="napari-scsc blocks")
    records = BlockRecords(run)
    told = records.steps()
    thread.start()
    try:
        yield told
        while not ended.is_set():
            cancellation.check()
            ended.wait(_SECONDS_BETWEEN_CHECKS)
            steps = records.steps()
            if steps > told:
                told = steps
                yield told
    finally:
        if not ended.is_set():
            run.stop_file.touch()
            ended.wait()
    if failure:
        raise _explain_failure(failure[0], run.folder)


def _plan_waves(run: BlockRun) -> Iterator[list[Any]]:
    """Delayed calls: a block each, the chunks that need them, and the end of each block.

    In waves, since a graph of all of a very large volume would not fit into the memory. A block at
    the border of two stays until the later one is done.
    """
    from dask import delayed

    done = BlockRecords(run).numbers("done")
    todo = [n for n in range(run.grid.n_chunks) if n not in done]
    last = {b: n for n in todo for b in run.grid.chunk_at(n).blocks}
    for path in (run.folder / "blocks").glob("*.npy*"):
        name = path.name.removesuffix(".npy")
        if not name.isdigit() or int(name) not in last:
            path.unlink(missing_ok=True)  # of chunks that are written, or half a file
    shared = delayed(run, pure=False)
    restore, write, free = (
        delayed(function, pure=False) for function in (_restore_block, _write_chunk, _free_block)
    )
    for some in _in_waves(todo):
        covered = {n: run.grid.chunk_at(n).blocks for n in some}
        blocks = {b: restore(shared, b) for b in sorted(set(chain(*covered.values())))}
        written = {n: write(shared, n, [blocks[b] for b in own]) for n, own in covered.items()}
        users: dict[int, list[Any]] = {b: [] for b in blocks if last[b] <= some[-1]}
        for n, own in covered.items():
            for b in own:
                if b in users:
                    users[b].append(written[n])
        yield [*written.values(), *(free(shared, b, chunks) for b, chunks in users.items())]


def _in_waves(numbers: list[int]) -> Iterator[list[int]]:
    """So many of them at a time as a graph should have."""
    return (numbers[i : i + _WAVE] for i in range(0, len(numbers), _WAVE))


def _compute(tasks: list[Any], n_jobs: int) -> tuple[Any, ...]:
    """Run on the scheduler that is active, or else on threads of this process."""
    import dask
    from dask.base import get_scheduler

    if get_scheduler() is None:
        return tuple(dask.compute(*tasks, scheduler="threads", num_workers=n_jobs))
    return tuple(dask.compute(*tasks))


def _explain_failure(error: BaseException, folder: Path) -> BaseException:
    """The error as the user should see it: what is wrong with the data as it is."""
    if isinstance(error, ValueError | TypeError | MemoryError | OSError | Stopped):
        return error
    what = str(error)
    if not isinstance(error, ClusterFailed):
        what = f"the run broke off ({type(error).__name__}: {error})"
    how = "run it again with resume"
    if isinstance(error, ClusterOutOfMemory):
        how += (
            ", on workers with more memory or without a cluster, or remove it and begin again "
            "with a smaller memory"
        )
    told = RunInterrupted(f"{what}; what was finished is kept in {folder}: {how}")
    told.__cause__ = error
    return told
