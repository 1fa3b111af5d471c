"""Restore data larger than memory: a graph of blocks for whatever scheduler dask has.

A block is a tile with its overlap. Blocks know nothing of each other: the estimate of each goes to
a file of its own, and a chunk of the result is blended from the files of the blocks that cover it,
in the order in which they would be blended in memory, so that it has the same bits. Whatever is
there is whole, for files are written beside and renamed, and a chunk is recorded after it was
written: a run that was killed goes on where it was.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import arrays, files
from napari_scsc.restore.job import LEARNING, Restorer, RestoreUpdate, Tick, Updates, finished
from napari_scsc.restore.sampling import Cluster, ClusterBroke, OutOfMemory
from napari_scsc.restore.source import Region, Source
from napari_scsc.tiles import Blend, Tile, cut

Array = NDArray[Any]

_EVERY = 0.2  # seconds between two looks at what is done, and at whether to stop
_CHUNK_VALUES = 1 << 20  # of a chunk of the result, about
_WAVE = 1 << 14  # chunks in one graph


class Stopped(Exception):
    """Somebody wants no more of it."""


class RunInterrupted(RuntimeError):
    """A run broke off for a reason outside of it; what was finished is kept, and can be resumed."""


@dataclass(frozen=True)
class Block:
    """One tile of one sample."""

    index: tuple[int, ...]
    tile: Tile


@dataclass(frozen=True)
class Chunk:
    """A part of the result, and the numbers of the blocks that cover it, in their order."""

    index: tuple[int, ...]
    part: Region
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """All blocks and all chunks of a restoration; numbered, and the same in every process."""

    indices: tuple[tuple[int, ...], ...]
    shift: tuple[int, ...]
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    chunk: tuple[int, ...]

    @classmethod
    def of(cls, source: Source, restorer: Restorer) -> Grid:
        """The grid of a source, with chunks of a convenient size."""
        chunk = _chunk_lengths(source.shift, _CHUNK_VALUES // source.n_joint)
        indices = tuple(source.samples())
        return cls(indices, source.shift, restorer.size, restorer.overlap, chunk)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles of a sample."""
        return tuple(cut(self.shift, self.size, self.overlap))

    @cached_property
    def _parts(self) -> tuple[tuple[Region, tuple[int, ...]], ...]:
        """The chunks of a sample, each with the tiles that cover it."""
        along = [
            [tile.region[0] for tile in cut((n,), (s,), (o,))]
            for n, s, o in zip(self.shift, self.size, self.overlap, strict=True)
        ]
        counts = [len(spans) for spans in along]
        cells = [
            [
                (span, [i for i, tile in enumerate(tiles) if _meet(tile, span)])
                for span in (slice(a, min(a + c, n)) for a in range(0, n, c))
            ]
            for n, c, tiles in zip(self.shift, self.chunk, along, strict=True)
        ]
        return tuple(
            (
                tuple(span for span, _ in cell),
                # Tiles are numbered as ``cut`` gives them: the last axis runs fastest.
                tuple(
                    int(np.ravel_multi_index(place, counts))
                    for place in itertools.product(*(numbers for _, numbers in cell))
                ),
            )
            for cell in itertools.product(*cells)
        )

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.indices) * len(self.tiles)

    @property
    def n_chunks(self) -> int:
        """How many chunks there are."""
        return len(self.indices) * len(self._parts)

    def block(self, number: int) -> Block:
        """The block of that number."""
        sample, tile = divmod(number, len(self.tiles))
        return Block(self.indices[sample], self.tiles[tile])

    def number(self, index: tuple[int, ...], part: Region) -> int:
        """The number of the block that lies there."""
        sample = self.indices.index(index)
        return sample * len(self.tiles) + self._places[tuple(s.start for s in part)]

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        """The numbers of the tiles by where they begin."""
        return {tuple(s.start for s in t.region): i for i, t in enumerate(self.tiles)}

    def chunk_at(self, number: int) -> Chunk:
        """The chunk of that number."""
        sample, place = divmod(number, len(self._parts))
        part, tiles = self._parts[place]
        first = sample * len(self.tiles)
        return Chunk(self.indices[sample], part, tuple(first + t for t in tiles))


@dataclass(frozen=True)
class Run:
    """A restoration into a store: what every process that works on it has to know."""

    source: Source
    restorer: Restorer
    grid: Grid
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


class Records:
    """What the processes that work on a run have recorded; reads only what is new."""

    def __init__(self, run: Run) -> None:
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


# --- tasks --------------------------------------------------------------------------------------


def _restore_block(run: Run, number: int) -> int:
    """Write the estimate of a block to its file."""
    target = run.block_file(number)
    if target.exists():
        return number
    tick = _ticker(run.stop_file)
    estimate = _estimate(run.source, run.restorer, run.grid.block(number), tick)
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


def _write_chunk(run: Run, number: int, _blocks: Sequence[int]) -> Counter[str]:
    """Blend the blocks that cover a chunk, and write it."""
    _ticker(run.stop_file)()
    chunk = run.grid.chunk_at(number)
    source = run.source.alone()
    pieces = [np.load(run.block_file(b), mmap_mode="r") for b in chunk.blocks]
    with arrays.in_task():
        values = _blend(source, run.restorer, run.grid, chunk, pieces)
        run.store.write(source.region(chunk.index, chunk.part), values)
        remarks = run.restorer.remarks(source, chunk.index, chunk.part)
    run.record("done", number)
    return remarks


def _free_block(run: Run, number: int, _chunks: Sequence[Any]) -> None:
    """All chunks that a block covers are written: its file is not needed any more."""
    run.block_file(number).unlink(missing_ok=True)


Make = Callable[[Source, Any, Block, Tick], Any]
"""Makes something of a block of a source, with the restorer of the run."""


def _fill_place(run: Run, make: Make, number: int) -> None:
    """Write what is made of a block to its place in the store."""
    block, tick = run.grid.block(number), _ticker(run.stop_file)
    with arrays.in_task():
        made = make(run.source.alone(), run.restorer, block, tick)
    run.store.write(number, made)
    run.record("blocks", number)


def _estimate(source: Source, restorer: Restorer, block: Block, tick: Tick | None = None) -> Array:
    """The estimate (C, *tile) of a block, in working values."""
    with arrays.in_task():
        *_, (_, estimate) = restorer.estimates(
            source.alone(), block.index, block.tile.region, None, tick
        )
    return np.ascontiguousarray(estimate, np.float32)


def _blend(
    source: Source, restorer: Restorer, grid: Grid, chunk: Chunk, pieces: Sequence[Array]
) -> Array:
    """The values of a chunk as the image has them."""
    lengths = tuple(s.stop - s.start for s in chunk.part)
    blend = Blend((source.n_joint, *lengths))
    for number, piece in zip(chunk.blocks, pieces, strict=True):
        tile = grid.block(number).tile
        common = [
            slice(max(a.start, b.start), min(a.stop, b.stop))
            for a, b in zip(tile.region, chunk.part, strict=True)
        ]
        here = _relative(common, chunk.part)
        there = _relative(common, tile.region)
        ramps = tuple(ramp[s] for ramp, s in zip(tile.ramps, there, strict=True))
        joint = (np.ones(source.n_joint), *ramps)
        blend.add(Tile((slice(None), *here), joint), piece[(slice(None), *there)])
    return restorer.finished(source, chunk.index, chunk.part, blend.result)


def _relative(region: Sequence[slice], origin: Sequence[slice]) -> Region:
    return tuple(
        slice(s.start - o.start, s.stop - o.start) for s, o in zip(region, origin, strict=True)
    )


def _meet(a: slice, b: slice) -> bool:
    return bool(a.start < b.stop and b.start < a.stop)


def _ticker(stop_file: Path) -> Tick:
    """What a task calls often: it raises when somebody wants to stop."""
    looked = -math.inf

    def tick() -> None:
        nonlocal looked
        if time.monotonic() - looked > _EVERY:
            looked = time.monotonic()
            if stop_file.exists():
                raise Stopped

    return tick


# --- into a store -------------------------------------------------------------------------------


def into_store(
    source: Source,
    restorer: Restorer,
    common: RestoreUpdate,
    folder: Path,
    store_for: Callable[[tuple[int, ...]], Any],
    n_jobs: int,
    tick: Tick | None,
) -> Updates:
    """Restore into a store, yielding an update whenever chunks were finished.

    ``folder`` is there, and keeps what a later run needs to go on. ``store_for`` makes the store
    of the result for a shape of chunks.
    """
    grid = Grid.of(source, restorer)
    run = Run(source, restorer, grid, folder, store_for(_image_chunks(source, grid)))
    with files.locked(folder / "lock", f"another run is working on {folder}"):
        _check_same(run)
        run.stop_file.unlink(missing_ok=True)
        if not (folder / "created").exists():
            _remove(run.store.path)  # what a run that was killed had just begun
            run.store.create()
            (folder / "created").touch()
        remarks: Counter[str] = Counter()
        total = grid.n_blocks + grid.n_chunks
        for steps in _computing(run, _waves(run), n_jobs, tick, remarks):
            share = LEARNING + (1 - LEARNING) * steps / total
            yield replace(common, done=share, message=f"step {steps} of {total}")
        run.store.finish()
    yield finished(common, run.store, remarks)


def each_into_store(
    run: Run, make: Make, common: RestoreUpdate, n_jobs: int, tick: Tick | None
) -> Updates:
    """Write what is made of each block to the store of a run, which has a place for each.

    The store is there, and so is the folder of the run, as for ``into_store``. There is nothing to
    blend: a block is done when its place is filled.
    """
    with files.locked(run.folder / "lock", f"another run is working on {run.folder}"):
        yield from _filling(run, make, common, n_jobs, tick)
        run.store.finish()
    yield finished(common, run.store, Counter())


def _filling(
    run: Run, make: Make, common: RestoreUpdate, n_jobs: int, tick: Tick | None
) -> Updates:
    from dask import delayed

    _check_same(run)
    run.stop_file.unlink(missing_ok=True)
    shared, fill = delayed(run, pure=False), delayed(_fill_place, pure=False)
    total, done = run.grid.n_blocks, Records(run).numbers("blocks")
    todo = [n for n in range(total) if n not in done]
    waves = ([fill(shared, make, n) for n in some] for some in _several(todo))
    for steps in _computing(run, waves, n_jobs, tick, Counter()):
        yield replace(common, done=steps / total, message=f"block {steps} of {total}")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _image_chunks(source: Source, grid: Grid) -> tuple[int, ...]:
    """Lengths of a chunk in the image's own order of axes."""
    lengths = iter(grid.chunk)
    pairs = zip(source.image.shape, source.axes.roles, strict=True)
    return tuple(1 if r == "sample" else n if r == "joint" else next(lengths) for n, r in pairs)


def _check_same(run: Run) -> None:
    """Refuse to go on with the blocks of another grid."""
    grid = run.grid
    mine = {"shift": grid.shift, "size": grid.size, "overlap": grid.overlap, "chunk": grid.chunk}
    path = run.folder / "grid.json"
    if path.exists():
        theirs = {k: tuple(v) for k, v in files.read_json(path).items()}
        if theirs != mine:
            raise ValueError(
                f"{run.folder} holds parts of a run with blocks of another size: resume it with "
                "the same memory, or remove it"
            )
        return
    files.write_json(path, mine)


def _computing(
    run: Run, waves: Iterable[list[Any]], n_jobs: int, tick: Tick | None, remarks: Counter[str]
) -> Iterator[int]:
    """Compute waves of tasks; yield how many steps are done, whenever that has changed."""
    failure: list[BaseException] = []
    # Not join: Python takes a thread for ended whose join was broken off by Ctrl-C.
    ended = threading.Event()
    cluster = Cluster.active()  # asked here: a thread might be told of another one
    stop = _ticker(run.stop_file)

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
    records = Records(run)
    told = records.steps()
    thread.start()
    try:
        yield told
        while not ended.is_set():
            if tick:
                tick()
            ended.wait(_EVERY)
            steps = records.steps()
            if steps > told:
                told = steps
                yield told
    finally:
        if not ended.is_set():
            run.stop_file.touch()
            ended.wait()
    if failure:
        raise _explained(failure[0], run.folder)


def _waves(run: Run) -> Iterator[list[Any]]:
    """Delayed calls: a block each, the chunks that need them, and the end of each block.

    In waves, since a graph of all of a very large volume would not fit into the memory. A block at
    the border of two stays until the later one is done.
    """
    from dask import delayed

    done = Records(run).numbers("done")
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
    for some in _several(todo):
        covered = {n: run.grid.chunk_at(n).blocks for n in some}
        blocks = {b: restore(shared, b) for b in sorted(set(chain(*covered.values())))}
        written = {n: write(shared, n, [blocks[b] for b in own]) for n, own in covered.items()}
        users: dict[int, list[Any]] = {b: [] for b in blocks if last[b] <= some[-1]}
        for n, own in covered.items():
            for b in own:
                if b in users:
                    users[b].append(written[n])
        yield [*written.values(), *(free(shared, b, chunks) for b, chunks in users.items())]


def _several(numbers: list[int]) -> Iterator[list[int]]:
    """So many of them at a time as a graph should have."""
    return (numbers[i : i + _WAVE] for i in range(0, len(numbers), _WAVE))


def _compute(tasks: list[Any], n_jobs: int) -> tuple[Any, ...]:
    """Run on the scheduler that is active, or else on threads of this process."""
    import dask
    from dask.base import get_scheduler

    if get_scheduler() is None:
        return tuple(dask.compute(*tasks, scheduler="threads", num_workers=n_jobs))
    return tuple(dask.compute(*tasks))


def _explained(error: BaseException, folder: Path) -> BaseException:
    """The error as the user should see it: what is wrong with the data as it is."""
    if isinstance(error, ValueError | TypeError | MemoryError | OSError | Stopped):
        return error
    what = str(error)
    if not isinstance(error, ClusterBroke):
        what = f"the run broke off ({type(error).__name__}: {error})"
    how = "run it again with resume"
    if isinstance(error, OutOfMemory):
        how += (
            ", on workers with more memory or without a cluster, or remove it and begin again "
            "with a smaller memory"
        )
    told = RunInterrupted(f"{what}; what was finished is kept in {folder}: {how}")
    told.__cause__ = error
    return told


# --- lazily -------------------------------------------------------------------------------------


def lazy(source: Source, restorer: Restorer) -> Any:
    """The result as a dask array, of which nothing is computed yet."""
    import dask.array
    from dask import delayed

    grid = Grid.of(source, restorer)
    shared = delayed((source, restorer, grid), pure=False)
    estimate, blend = delayed(_lazy_block, pure=False), delayed(_lazy_chunk, pure=False)
    blocks = [estimate(shared, n) for n in range(grid.n_blocks)]
    chunks = _image_chunks(source, grid)
    spans = [range(0, n, c) for n, c in zip(source.image.shape, chunks, strict=True)]
    parts = np.empty([len(s) for s in spans], object)
    for number in range(grid.n_chunks):
        chunk = grid.chunk_at(number)
        region = source.region(chunk.index, chunk.part)
        lengths = [
            len(range(*s.indices(n))) for s, n in zip(region, source.image.shape, strict=True)
        ]
        starts = [s.indices(n)[0] for s, n in zip(region, source.image.shape, strict=True)]
        value = blend(shared, number, [blocks[b] for b in chunk.blocks])
        parts[tuple(a // c for a, c in zip(starts, chunks, strict=True))] = dask.array.from_delayed(
            value, lengths, source.image.dtype
        )
    return dask.array.block(parts.tolist())


def _lazy_block(shared: tuple[Source, Restorer, Grid], number: int) -> Array:
    source, restorer, grid = shared
    return _estimate(source, restorer, grid.block(number))


def _lazy_chunk(
    shared: tuple[Source, Restorer, Grid], number: int, pieces: Sequence[Array]
) -> Array:
    source, restorer, grid = shared
    with arrays.in_task():
        return _blend(source.alone(), restorer, grid, grid.chunk_at(number), pieces)


def _chunk_lengths(shift: tuple[int, ...], n_values: int) -> tuple[int, ...]:
    """Lengths of a chunk of about that many points, halved where it is longest."""
    lengths = list(shift)
    while math.prod(lengths) > max(1, n_values):
        axis = int(np.argmax(lengths))
        lengths[axis] = math.ceil(lengths[axis] / 2)
    return tuple(lengths)
