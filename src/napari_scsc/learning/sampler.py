"""Draw tiles to learn from, of images of any size.

There are two orders. A few tiles come from anywhere in an image (``draw_anywhere``): which ones
depends on nothing but the shape of the image and the seed, so that an array and the same values in
a file give the same filters. Many tiles come chunk by chunk (``tile_order``): blocks of whole chunks
are opened in random order, a few at a time, and give their tiles while they are in memory, so that
each chunk is read about once. Either order is known before anything is read: a run that stopped
can go on without reading what it has learned from.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.axes import Axes
from napari_scsc.data.image import read_masked
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learning.tile_grid import TileGrid
from napari_scsc.model.threads import Executor, ThreadExecutor
from napari_scsc.run.executors import ClusterExecutor

T = TypeVar("T")

_MAX_OPEN_VALUES = 1 << 24  # of the blocks from which tiles are drawn at a time
_MAX_OPEN_BLOCKS = 16
_UNIFORM_SHARE = 0.2  # of the tiles is drawn whatever their structure is


@dataclass(frozen=True, slots=True)
class Visit:
    """A block that is read once, and which of its tiles are drawn; all is numbered."""

    image: int
    block: int
    tiles: tuple[int, ...]
    seed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """One tile: that with this turn among those of a visit."""

    visit: Visit
    turn: int

    @property
    def is_last(self) -> bool:
        """Whether the block is not needed any more."""
        return self.turn == len(self.visit.tiles) - 1


def count_tiles(grids: Sequence[TileGrid], most: int | None, passes: int = 1) -> int:
    """How many tiles are drawn from images, up to ``most`` of each."""
    return passes * sum(g.n_tiles if most is None else min(most, g.n_tiles) for g in grids)


def draw_anywhere(
    grids: Sequence[TileGrid], most: int | None, *, passes: int = 1, seed: int = 0
) -> Iterator[Draw]:
    """Up to ``most`` tiles of each image from anywhere in it, the same ones in each pass.

    The grids do not follow chunks: each of their blocks is one tile.
    """
    draws = [
        Draw(Visit(image, block, (0,), (seed, 4, 0, image, block)), 0)
        for image, grid in enumerate(grids)
        for block in _blocks_anywhere(grid, most, [seed, 2, image] if image else [seed, 2])
    ]
    for number in range(passes):
        if number == 0 and len(grids) == 1:
            yield from draws
        else:
            order = np.random.default_rng([seed, 3, number]).permutation(len(draws))
            yield from (draws[i] for i in order)


def _blocks_anywhere(grid: TileGrid, most: int | None, seed: list[int]) -> Iterator[int]:
    roles = grid.axes.roles
    counts = [cuts.before[-1] for cuts in grid.cuts]
    # Numbered sample by sample, whatever the order of the axes in the image.
    order = [i for i, r in enumerate(roles) if r == "sample"]
    order += [i for i, r in enumerate(roles) if r == "shift"]
    lengths = [counts[i] for i in order]
    for number in np.random.default_rng(seed).permutation(math.prod(lengths))[:most]:
        place = [0] * len(roles)
        for axis, index in zip(order, np.unravel_index(number, lengths), strict=True):
            place[axis] = int(index)
        yield grid.find(int(np.ravel_multi_index(place, counts)))[0]


def tile_order(
    grids: Sequence[TileGrid], most: int | None = None, *, passes: int = 1, seed: int = 0
) -> Iterator[Draw]:
    """Tiles of all images in random order: all, or up to ``most`` of each, the same in each pass.

    Every tile is as likely as any other. Nothing is read for it, and nothing kept that grows with
    the images.
    """
    for number in range(passes):
        rng = np.random.default_rng([seed, 3, number])
        yield from _interleave_blocks(_visits(grids, most, seed, number), grids, rng)


def _visits(grids: Sequence[TileGrid], most: int | None, seed: int, number: int) -> Iterator[Visit]:
    """The blocks of all images in random order, each with its tiles."""
    chosen = [_choose_blocks(grid, most, seed, i) for i, grid in enumerate(grids)]
    numbers = [g.n_blocks if c is None else len(c) for g, c in zip(grids, chosen, strict=True)]
    before = tuple(itertools.accumulate(numbers, initial=0))
    keys = np.random.default_rng([seed, 5, number]).integers(1 << 63, size=_FEISTEL_ROUNDS).tolist()
    for i in range(before[-1]):
        place = permuted_index(i, before[-1], keys)
        image = bisect_right(before, place) - 1
        block, tiles = place - before[image], None
        chosen_blocks = chosen[image]
        if chosen_blocks is not None:
            block, tiles = chosen_blocks[block]
        key = (seed, 4, number, image, block)
        tiles = tiles or range(grids[image].tiles_of(block))
        yield Visit(image, block, _shuffle_tiles(tiles, key), key)


def _shuffle_tiles(tiles: Sequence[int], key: tuple[int, ...]) -> tuple[int, ...]:
    if len(tiles) == 1:  # to begin a sequence of random numbers takes longer than all the rest
        return tuple(tiles)
    return tuple(np.random.default_rng(key).permutation(tiles).tolist())


def _choose_blocks(
    grid: TileGrid, most: int | None, seed: int, image: int
) -> list[tuple[int, Sequence[int]]] | None:
    """Blocks with some of their tiles, up to ``most`` in all; None for all of all blocks."""
    if most is None or most >= grid.n_tiles:
        return None
    rng = np.random.default_rng([seed, 2, image])
    blocks: dict[int, list[int]] = {}
    for tile in rng.choice(grid.n_tiles, most, replace=False).tolist():
        block, inside = grid.find(tile)
        blocks.setdefault(block, []).append(inside)
    return list(blocks.items())


def _interleave_blocks(
    visits: Iterator[Visit], grids: Sequence[TileGrid], rng: np.random.Generator
) -> Iterator[Draw]:
    """Draw from a few blocks at a time, so that neighbours do not all come together."""
    opened: list[tuple[Visit, int]] = []  # with how many values
    turns: list[int] = []
    coming = next(visits, None)
    while opened or coming is not None:
        while coming is not None and len(opened) < _MAX_OPEN_BLOCKS:
            values = grids[coming.image].values_of(coming.block)
            if opened and values + sum(v for _, v in opened) > _MAX_OPEN_VALUES:
                break
            opened.append((coming, values))
            turns.append(0)
            coming = next(visits, None)
        left = [len(visit.tiles) - turn for (visit, _), turn in zip(opened, turns, strict=True)]
        ends = list(itertools.accumulate(left))
        i = bisect_right(ends, int(rng.integers(ends[-1])))
        draw = Draw(opened[i][0], turns[i])
        turns[i] += 1
        if draw.is_last:
            del opened[i], turns[i]
        yield draw


_FEISTEL_ROUNDS = 6
_WORD_MASK = (1 << 64) - 1


def permuted_index(number: int, total: int, keys: Sequence[int]) -> int:
    """Where a number goes in a permutation of ``range(total)`` that takes no memory.

    A Feistel network on the two halves of its bits permutes a power of four; numbers beyond the
    total are sent on until they come back.
    """
    half = max(1, ((total - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = number >> half, number & mask
        for key in keys:
            mixed = ((right ^ key) * 0x9E3779B97F4A7C15) & _WORD_MASK
            mixed = ((mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93) & _WORD_MASK
            left, right = right, left ^ (mixed >> 32 & mask)
        number = left << half | right
        if number < total:
            return number


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """A block in memory, with the tiles that are drawn from it, in their order."""

    values: Array
    within: tuple[tuple[int, ...], ...]
    tiles: tuple[int, ...]


def read_tiles(
    images: Sequence[ImageSamples],
    grids: Sequence[TileGrid],
    draws: Iterable[Draw],
    executor: Executor | None = None,
    draw: str = "uniform",
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number of the image and the values (C, *part) of each tile drawn.

    They are as the image has them, and masked where its mask says so; with an executor on a cluster
    they are results for its ``gather`` or ``map``. With ``draw="structure"`` the tiles of a block
    are drawn anew, with repetition: those in which neighbours have more in common are more likely.
    """
    readers = [_BlockReader(image, executor or ThreadExecutor()) for image in images]
    held: dict[tuple[int, int], Any] = {}
    for drawn in draws:
        visit = drawn.visit
        reader, place = readers[visit.image], (visit.image, visit.block)
        if place not in held:
            held[place] = reader.block(grids[visit.image], visit, draw)
        block = held.pop(place) if drawn.is_last else held[place]
        yield visit.image, reader.tile(block, drawn.turn)


class _BlockReader:
    """Reads the blocks of one image: on the workers of a cluster, if they can read the image."""

    def __init__(self, samples: ImageSamples, executor: Executor) -> None:
        self._image, self._axes = samples.image, samples.axes
        reads_there = isinstance(executor, ClusterExecutor) and executor.can_read(samples.image)
        self._executor: Executor = executor if reads_there else ThreadExecutor()

    def block(self, grid: TileGrid, visit: Visit, draw: str) -> Any:
        region = grid.region(visit.block)
        if isinstance(self._executor, ClusterExecutor):
            values = self._executor.read(self._image, region)
        else:
            values = read_masked(self._image, region)
        make = partial(
            _load_block,
            dtype=self._image.dtype,
            axes=self._axes,
            within=grid.within(visit.block),
            visit=visit,
            draw=draw,
        )
        return self._executor.map(make, [values])[0]

    def tile(self, block: Any, turn: int) -> Any:
        return self._executor.map(partial(_cut_tile, axes=self._axes), [block], [turn])[0]


def _load_block(
    values: Array,
    *,
    dtype: np.dtype[Any],
    axes: Axes,
    within: tuple[tuple[int, ...], ...],
    visit: Visit,
    draw: str,
) -> LoadedBlock:
    block = LoadedBlock(values.astype(dtype, copy=False), within, visit.tiles)
    if draw == "uniform":
        return block
    total = math.prod(len(edges) - 1 for edges in within)
    all_tiles = LoadedBlock(block.values, within, tuple(range(total)))
    shares = _tile_shares(
        np.array([measure_structure(_cut_tile(all_tiles, i, axes=axes)) for i in range(total)])
    )
    rng = np.random.default_rng((*visit.seed, 1))
    drawn = rng.choice(total, len(visit.tiles), p=shares)
    return LoadedBlock(block.values, within, tuple(drawn.tolist()))


def _cut_tile(block: LoadedBlock, turn: int, *, axes: Axes) -> Array:
    """The values (C, *part) of a tile; a copy, for the block is not to be kept for it."""
    counts = [len(edges) - 1 for edges in block.within]
    numbers = np.unravel_index(block.tiles[turn], counts)
    part = tuple(slice(e[n], e[n + 1]) for e, n in zip(block.within, numbers, strict=True))
    ordered = axes.to_samples(block.values[part])
    return ordered.reshape(-1, *ordered.shape[-axes.count("shift") :]).copy()


def measure_structure(tile: Array) -> float:
    """Mean covariance of neighbours in a tile (C, *part): white noise has none; -1 for missing."""
    if not is_complete(tile):
        return -1.0
    values = np.asarray(tile, np.float64)
    values = values - values.mean(axis=tuple(range(1, values.ndim)), keepdims=True)
    along = [
        float(np.mean(np.take(values, range(1, n), axis) * np.take(values, range(n - 1), axis)))
        for axis, n in enumerate(values.shape)
        if axis > 0 and n > 1
    ]
    return max(0.0, sum(along) / max(len(along), 1))


def _tile_shares(found: Array) -> Array:
    """How likely each tile is, by its structure; what has missing values is not drawn."""
    usable = found >= 0
    if not usable.any():
        return np.full(len(found), 1 / len(found))
    strength = np.sqrt(np.maximum(found, 0))
    even = usable / usable.sum()
    total = strength.sum()
    return np.asarray(
        _UNIFORM_SHARE * even + (1 - _UNIFORM_SHARE) * strength / total if total > 0 else even
    )


def is_complete(tile: Array) -> bool:
    """Whether nothing of a tile is missing."""
    return not np.ma.is_masked(tile) and bool(np.isfinite(np.ma.getdata(tile)).all())


_END: Any = object()


def read_ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """The same items, of which the next one is made in a thread while this one is used.

    There is never more than one waiting. What is raised there is raised here, and closing this
    generator ends the thread and closes the items.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="napari-scsc read")
    # In this context dask finds the client that is in use here.
    advance: Callable[[], Any] = partial(copy_context().run, next, items, _END)
    try:
        coming = pool.submit(advance)
        while (item := coming.result()) is not _END:
            coming = pool.submit(advance)
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        items.close()
