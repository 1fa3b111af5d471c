"""Restore data larger than memory: a graph of blocks for whatever scheduler dask has.

A block is a tile with its overlap. Blocks know nothing of each other: the estimate of each goes to
a file of its own, and a chunk of the result is blended from the files of the blocks that cover it,
in the order in which they would be blended in memory, so that it has the same bits. Whatever is
there is whole, for files are written beside and renamed, and a chunk is recorded after it was
written: a run that was killed goes on where it was.
"""

from __future__ import annotations

import os
import re
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

from napari_scsc._types import Region
from napari_scsc.cancellation import Cancellation, Cancelled
from napari_scsc.data.fingerprint import digest_tile, image_changed
from napari_scsc.data.foreign_arrays import in_task
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import Remedy, RunInterrupted, UserError
from napari_scsc.io.atomic_files import read_json, write_json
from napari_scsc.run.blending import blend_chunk, estimate_block
from napari_scsc.run.block_grid import BlockGrid, TileBlock, image_chunks
from napari_scsc.run.cancel import SECONDS_BETWEEN_CHECKS, StopFile
from napari_scsc.run.executors import (
    ClusterExecutor,
    ClusterFailed,
    ClusterOutOfMemory,
    has_other_processes,
)
from napari_scsc.run.partial import BLOCK_FILE
from napari_scsc.run.proof import Proof
from napari_scsc.run.tile_restorer import MapName, TileRestorer, WritingResult, WrittenResult
from napari_scsc.run.updates import LEARNING_SHARE, BlocksDone

_CHUNKS_PER_GRAPH = 1 << 14
_RECORD = re.compile(r"^(\d+) ([0-9a-f]*);$", re.MULTILINE)


@dataclass(frozen=True)
class BlockRun:
    """A restoration into a store: what every process that works on it has to know."""

    samples: ImageSamples
    restorer: TileRestorer
    grid: BlockGrid
    folder: Path
    store: Any
    map_stores: tuple[Any, ...] = ()
    proof: Proof | None = None  # where other processes compute

    @property
    def stores(self) -> tuple[Any, ...]:
        """The store of the result, and those of its maps."""
        return (self.store, *self.map_stores)

    def block_file(self, number: int) -> Path:
        """Where the estimate of a block lies."""
        return self.folder / "blocks" / f"{number}.npy"

    def cancellation(self) -> StopFile:
        """What tells every process to stop."""
        return StopFile(self.folder / "stop")

    def record(self, what: str, number: int, digest: str = "") -> None:
        """Say that a block was made ("blocks"), or a chunk written ("done").

        Before a block is made, "reads" says by a digest of what, and so does "done", of a chunk
        that has values of the image.
        """
        log = self.folder / f"{what}-{socket.gethostname()}-{os.getpid()}.txt"
        with open(log, "ab", buffering=0) as stream:
            # Begun on a line of its own: the last one may have been broken off by a full disk.
            stream.write(f"\n{number} {digest};\n".encode())

    def take_block(self, number: int) -> tuple[ImageSamples, TileBlock]:
        """A block, and the image to read it from; what is read is recorded."""
        block = self.grid.block(number)
        samples = self.samples.without_cache()
        with in_task():
            if self.proof is not None:
                self.proof.check(samples)
            self.record("reads", number, digest_tile(samples, block.index, block.tile.region))
        return samples, block


class BlockRecords:
    """What the processes that work on a run have recorded; reads only what is new."""

    def __init__(self, run: BlockRun) -> None:
        self._folder = run.folder
        self._read: Counter[Path] = Counter()  # bytes
        self._found: dict[str, dict[int, set[str]]] = {"blocks": {}, "done": {}, "reads": {}}

    def numbers(self, what: str) -> set[int]:
        """Numbers of the blocks that were made, or of the chunks that are written."""
        return set(self.digests(what))

    def digests(self, what: str) -> dict[int, set[str]]:
        """Digests of what was read, by these numbers; of several tries there are more."""
        found = self._found[what]
        for log in self._folder.glob(f"{what}-*.txt"):
            with open(log, "rb") as stream:
                stream.seek(self._read[log])
                text = stream.read()
            # What has no end is being written, or was when its process was killed or its disk full.
            whole = text[: text.rfind(b"\n") + 1]
            self._read[log] += len(whole)
            for number, digest in _RECORD.findall(whole.decode("ascii", "replace")):
                found.setdefault(int(number), set()).add(digest)
        return found

    def steps(self) -> int:
        """How many blocks and chunks were made."""
        return sum(len(self.numbers(what)) for what in ("blocks", "done"))


def _restore_block(run: BlockRun, number: int) -> int:
    """Write the estimate of a block to its file."""
    target = run.block_file(number)
    if target.exists():
        return number
    samples, block = run.take_block(number)
    estimate = estimate_block(samples, run.restorer, block, run.cancellation())
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
        digest = ""
        if run.restorer.reads_image:
            digest = digest_tile(samples, chunk.index, chunk.part)
        parts = blend_chunk(samples, run.restorer, run.grid, chunk, pieces)
        for store, values in zip(run.stores, parts, strict=True):
            store.write(samples.region(chunk.index, chunk.part), values)
        n_doubtful = run.restorer.count_doubtful(samples, chunk.index, chunk.part)
    run.record("done", number, digest)
    return n_doubtful


def _free_block(run: BlockRun, number: int, _chunks: Sequence[Any]) -> None:
    """All chunks that a block covers are written: its file is not needed any more."""
    run.block_file(number).unlink(missing_ok=True)


def _pack_shard(run: BlockRun, store: int, shard: tuple[int, ...], _chunks: Sequence[Any]) -> None:
    """All chunks of a shard are written: they become one file."""
    run.cancellation().check()
    run.stores[store].pack(shard)


Make = Callable[[ImageSamples, Any, TileBlock, Cancellation], Any]
"""Makes something of a block of an image, with the restorer of the run."""


def _fill_place(run: BlockRun, make: Make, number: int) -> None:
    """Write what is made of a block to its place in the store."""
    samples, block = run.take_block(number)
    with in_task():
        made = make(samples, run.restorer, block, run.cancellation())
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
    run = BlockRun(
        samples,
        restorer,
        grid,
        folder.absolute(),  # other processes may work in other folders
        make_store(chunks, None),
        tuple(maps.values()),
        Proof.of(samples) if has_other_processes() else None,
    )
    written = WrittenResult(run.store, maps=maps)
    with _going_on(run):
        if not (folder / "created").exists():
            for store in run.stores:
                _remove_path(store.path)  # what a run that was killed had just begun
                store.create()
            (folder / "created").touch()
        _check_image(run, cancellation)
        total = grid.n_blocks + grid.n_chunks
        for count in _compute_waves(run, _plan_waves(run), n_jobs, cancellation, written):
            share = LEARNING_SHARE + (1 - LEARNING_SHARE) * count / total
            yield BlocksDone(count, total, share)
        _check_image(run, cancellation)
        for store in run.stores:
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

    with _going_on(run):
        shared, fill = delayed(run, pure=False), delayed(_fill_place, pure=False)
        _check_image(run, cancellation)
        total, done = run.grid.n_blocks, BlockRecords(run).numbers("blocks")
        numbers = [n for n in range(total) if n not in done]
        waves = ([fill(shared, make, n) for n in wave] for wave in _in_waves(numbers))
        for count in _compute_waves(run, waves, n_jobs, cancellation, WrittenResult(run.store)):
            yield BlocksDone(count, total, count / total)
        _check_image(run, cancellation)
        run.store.finish()


@contextmanager
def _going_on(run: BlockRun) -> Iterator[None]:
    """Go on in the folder of a run, which nobody else has, with nothing but the same blocks."""
    _check_same_grid(run)
    run.cancellation().path.unlink(missing_ok=True)
    yield


def _check_image(run: BlockRun, cancellation: Cancellation) -> None:
    """Refuse an image that is no longer what was read for what is finished."""
    samples = run.samples.without_cache()
    for index, region, digests in _what_was_read(run):
        cancellation.check()
        if digests != {digest_tile(samples, index, region)}:
            raise image_changed(run.folder)


def _what_was_read(run: BlockRun) -> Iterator[tuple[tuple[int, ...], Region, set[str]]]:
    """Places of the image that blocks, and chunks with values of the image, have; their digests."""
    records = BlockRecords(run)
    for number, digests in sorted(records.digests("reads").items()):
        block = run.grid.block(number)
        yield block.index, block.tile.region, digests
    if run.restorer.reads_image:
        for number, digests in sorted(records.digests("done").items()):
            chunk = run.grid.chunk_at(number)
            yield chunk.index, chunk.part, digests


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
    """Delayed calls: a block each, the chunks that need them, their shards, the end of each block.

    In waves, since a graph of all of a very large volume would not fit into the memory. A block at
    the border of two stays until the later one is done, and a shard is made in the later one.
    """
    from dask import delayed

    done = BlockRecords(run).numbers("done")
    numbers = [n for n in range(run.grid.n_chunks) if n not in done]
    last = {b: n for n in numbers for b in run.grid.chunk_at(n).blocks}
    for path in (run.folder / "blocks").glob("*.npy*"):
        if not BLOCK_FILE.fullmatch(path.name):
            continue  # somebody else's
        name = path.name.removesuffix(".npy")
        if not name.isdigit() or int(name) not in last:
            path.unlink(missing_ok=True)  # of chunks that are written, or half a file
    shared = delayed(run, pure=False)
    restore, write, free, pack = (
        delayed(function, pure=False)
        for function in (_restore_block, _write_chunk, _free_block, _pack_shard)
    )
    shards = _find_shards(run, numbers)
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
        packed = [
            pack(shared, *place, [written[n] for n in inside if n in written])
            for place, inside in shards.items()
            if wave[0] <= inside[-1] <= wave[-1]
        ]
        freed = (free(shared, b, chunks) for b, chunks in users.items())
        yield [*written.values(), *packed, *freed]


def _find_shards(
    run: BlockRun, numbers: Sequence[int]
) -> dict[tuple[int, tuple[int, ...]], list[int]]:
    """The shards of each store that hold these chunks, and which of them each holds."""
    found: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number in numbers:
        chunk = run.grid.chunk_at(number)
        region = run.samples.region(chunk.index, chunk.part)
        whole = tuple(
            slice(*part.indices(n)) for part, n in zip(region, run.samples.image.shape, strict=True)
        )
        for i, store in enumerate(run.stores):
            shard = store.shard_of(whole)
            if shard is not None:
                found.setdefault((i, shard), []).append(number)
    return found


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
