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
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.cancellation import Cancellation, Cancelled
from napari_scsc.data.foreign_arrays import in_task
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import Remedy, RunInterrupted, UserError
from napari_scsc.io.atomic_files import exclusive_lock, read_json, write_json
from napari_scsc.run.blending import blend_chunk, estimate_block
from napari_scsc.run.block_grid import BlockGrid, TileBlock, image_chunks
from napari_scsc.run.cancel import SECONDS_BETWEEN_CHECKS, StopFile
from napari_scsc.run.executors import ClusterExecutor, ClusterFailed, ClusterOutOfMemory
from napari_scsc.run.tile_restorer import MapName, TileRestorer, WritingResult, WrittenResult
from napari_scsc.run.updates import LEARNING_SHARE, BlocksDone

_CHUNKS_PER_GRAPH = 1 << 14


@dataclass(frozen=True)
class BlockRun:
    """A restoration into a store: what every process that works on it has to know."""

    samples: ImageSamples
    restorer: TileRestorer
    grid: BlockGrid
    folder: Path
    store: Any
    map_stores: tuple[Any, ...] = ()

    def block_file(self, number: int) -> Path:
        """Where the estimate of a block lies."""
        return self.folder / "blocks" / f"{number}.npy"

    def cancellation(self) -> StopFile:
        """What tells every process to stop."""
        return StopFile(self.folder / "stop")

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
    block = run.grid.block(number)
    estimate = estimate_block(run.samples, run.restorer, block, run.cancellation())
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


def _write_chunk(run: BlockRun, number: int, _blocks: Sequence[int]) -> int:
    """Blend the blocks that cover a chunk, and write it; return how many points are doubtful."""
    run.cancellation().check()
    chunk = run.grid.chunk_at(number)
    samples = run.samples.without_cache()
    pieces = [np.load(run.block_file(b), mmap_mode="r") for b in chunk.blocks]
    with in_task():
        parts = blend_chunk(samples, run.restorer, run.grid, chunk, pieces)
        for store, values in zip((run.store, *run.map_stores), parts, strict=True):
            store.write(samples.region(chunk.index, chunk.part), values)
        n_doubtful = run.restorer.count_doubtful(samples, chunk.index, chunk.part)
    run.record("done", number)
    return n_doubtful


def _free_block(run: BlockRun, number: int, _chunks: Sequence[Any]) -> None:
    """All chunks that a block covers are written: its file is not needed any more."""
    run.block_file(number).unlink(missing_ok=True)


Make = Callable[[ImageSamples, Any, TileBlock, Cancellation], Any]
"""Makes something of a block of an image, with the restorer of the run."""


def _fill_place(run: BlockRun, make: Make, number: int) -> None:
    """Write what is made of a block to its place in the store."""
    block = run.grid.block(number)
    with in_task():
        made = make(run.samples.without_cache(), run.restorer, block, run.cancellation())
    run.store.write(number, made)
    run.record("blocks", number)


def restore_into_store(
    samples: ImageSamples,
    restorer: TileRestorer,
    folder: Path,
    make_store: Callable[[tuple[int, ...], MapName | None], Any],
    n_jobs: int,
    cancellation: Cancellation,
) -> WritingResult:
    """Restore into a store, yielding an update whenever chunks were finished.

    ``folder`` is there, and keeps what a later run needs to go on. ``make_store`` makes the store
    of the result, or of one of its maps, for a shape of chunks.
    """
    grid = BlockGrid.of(samples, restorer)
    chunks = image_chunks(samples, grid)
    maps = {name: make_store(chunks, name) for name in restorer.maps}
    run = BlockRun(samples, restorer, grid, folder, make_store(chunks, None), tuple(maps.values()))
    written = WrittenResult(run.store, maps=maps)
    stores = (run.store, *run.map_stores)
    with _exclusive(run):
        if not (folder / "created").exists():
            for store in stores:
                _remove_path(store.path)  # what a run that was killed had just begun
                store.create()
            (folder / "created").touch()
        total = grid.n_blocks + grid.n_chunks
        for count in _compute_waves(run, _plan_waves(run), n_jobs, cancellation, written):
            share = LEARNING_SHARE + (1 - LEARNING_SHARE) * count / total
            yield BlocksDone(count, total, share)
        for store in stores:
            store.finish()
    return written


def fill_store(
    run: BlockRun, make: Make, n_jobs: int, cancellation: Cancellation
) -> Generator[BlocksDone, None, None]:
    """Write what is made of each block to the store of a run, which has a place for each.

    The store is there, and so is the folder of the run, as for ``restore_into_store``. There is
    nothing to blend: a block is done when its place is filled.
    """
    from dask import delayed

    with _exclusive(run):
        shared, fill = delayed(run, pure=False), delayed(_fill_place, pure=False)
        total, done = run.grid.n_blocks, BlockRecords(run).numbers("blocks")
        numbers = [n for n in range(total) if n not in done]
        waves = ([fill(shared, make, n) for n in wave] for wave in _in_waves(numbers))
        for count in _compute_waves(run, waves, n_jobs, cancellation, WrittenResult(run.store)):
            yield BlocksDone(count, total, count / total)
        run.store.finish()


@contextmanager
def _exclusive(run: BlockRun) -> Iterator[None]:
    """Have the folder of a run for oneself, and go on with nothing but the same blocks."""
    with exclusive_lock(run.folder / "lock", f"another run is working on {run.folder}"):
        _check_same_grid(run)
        run.cancellation().path.unlink(missing_ok=True)
        yield


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _check_same_grid(run: BlockRun) -> None:
    """Refuse to go on with the blocks of another grid."""
    grid = run.grid
    wanted = {"shift": grid.shift, "size": grid.size, "overlap": grid.overlap, "chunk": grid.chunk}
    path = run.folder / "grid.json"
    if path.exists():
        written = {k: tuple(v) for k, v in read_json(path).items()}
        if written != wanted:
            raise UserError(
                "holds parts of a run with blocks of another size, as of another memory",
                path=run.folder,
                remedy=Remedy.RESUME_WITH_SAME_ARGUMENTS,
            )
        return
    write_json(path, wanted)


def _compute_waves(
    run: BlockRun,
    waves: Iterable[list[Any]],
    n_jobs: int,
    cancellation: Cancellation,
    written: WrittenResult,
) -> Iterator[int]:
    """Compute waves of tasks; yield how many steps are done, whenever that has changed."""
    failure: list[BaseException] = []
    # Not join: Python takes a thread for ended whose join was broken off by Ctrl-C.
    ended = threading.Event()
    cluster = ClusterExecutor.active()  # asked here: a thread might be told of another one
    stop = run.cancellation()

    def compute() -> None:
        try:
            for tasks in waves:
                stop.check()
                counts = cluster.compute(tasks, stop) if cluster else _compute(tasks, n_jobs)
                written.n_doubtful += sum(count or 0 for count in counts)
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
            ended.wait(SECONDS_BETWEEN_CHECKS)
            steps = records.steps()
            if steps > told:
                told = steps
                yield told
    finally:
        if not ended.is_set():
            stop.cancel()
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
    numbers = [n for n in range(run.grid.n_chunks) if n not in done]
    last = {b: n for n in numbers for b in run.grid.chunk_at(n).blocks}
    for path in (run.folder / "blocks").glob("*.npy*"):
        name = path.name.removesuffix(".npy")
        if not name.isdigit() or int(name) not in last:
            path.unlink(missing_ok=True)  # of chunks that are written, or half a file
    shared = delayed(run, pure=False)
    restore, write, free = (
        delayed(function, pure=False) for function in (_restore_block, _write_chunk, _free_block)
    )
    for wave in _in_waves(numbers):
        covered = {n: run.grid.chunk_at(n).blocks for n in wave}
        blocks = {b: restore(shared, b) for b in sorted(set(chain(*covered.values())))}
        written = {
            n: write(shared, n, [blocks[b] for b in needed]) for n, needed in covered.items()
        }
        users: dict[int, list[Any]] = {b: [] for b in blocks if last[b] <= wave[-1]}
        for n, needed in covered.items():
            for b in needed:
                if b in users:
                    users[b].append(written[n])
        yield [*written.values(), *(free(shared, b, chunks) for b, chunks in users.items())]


def _in_waves(numbers: list[int]) -> Iterator[list[int]]:
    """So many of them at a time as a graph should have."""
    return (numbers[i : i + _CHUNKS_PER_GRAPH] for i in range(0, len(numbers), _CHUNKS_PER_GRAPH))


def _compute(tasks: list[Any], n_jobs: int) -> tuple[Any, ...]:
    """Run on the scheduler that is active, or else on threads of this process."""
    import dask
    from dask.base import get_scheduler

    if get_scheduler() is None:
        return tuple(dask.compute(*tasks, scheduler="threads", num_workers=n_jobs))
    return tuple(dask.compute(*tasks))


def _explain_failure(error: BaseException, folder: Path) -> BaseException:
    """The error as the user should see it: what is wrong with the data as it is."""
    if isinstance(error, ValueError | TypeError | MemoryError | OSError | Cancelled):
        return error
    text = str(error)
    if not isinstance(error, ClusterFailed):
        text = f"the run broke off ({type(error).__name__}: {error})"
    is_memory = isinstance(error, ClusterOutOfMemory)
    interrupted = RunInterrupted(
        f"{text}; what was finished is kept in {folder}",
        remedy=Remedy.CLUSTER_MEMORY if is_memory else Remedy.RUN_AGAIN,
    )
    interrupted.__cause__ = error
    return interrupted
