"""Draw tiles from images of any size, in random order, reading each chunk about once.

An image is cut into blocks that consist of whole chunks, and a block into tiles. Blocks are opened
in random order, a few at a time, and give their tiles while they are in memory. The order is known
before anything is read, and depends on nothing but the seed and the shapes: a run that stopped can
go on anywhere without reading what it has learned from.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes
from napari_scsc.data.image import read_masked
from napari_scsc.data.samples import ImageSamples, box_lengths
from napari_scsc.model.threads import Executor, ThreadExecutor
from napari_scsc.run.executors import ClusterExecutor

T = TypeVar("T")
DRAWS = ("uniform", "structure")
_BLOCK_VALUES = 1 << 24  # of a block, unless a single chunk has more
_OPEN_VALUES, _OPEN_BLOCKS = 1 << 24, 16  # of the blocks from which tiles are drawn at a time
_CHOICE = 16  # tiles of a block, at least, where those with more structure are preferred
_SHORTEST = 8  # points of a block along an axis, where the image has them
_FLOOR = 0.2  # share of the tiles that is drawn whatever their structure is


@dataclass(frozen=True)
class AxisCuts:
    """How one axis is cut: into spans of whole chunks, and each of these into tiles."""

    edges: tuple[int, ...]  # of the spans, 0 and the length included
    counts: tuple[int, ...]  # tiles of each span

    @cached_property
    def before(self) -> tuple[int, ...]:
        """How many tiles lie before each span, and in all."""
        return tuple(itertools.accumulate(self.counts, initial=0))

    @cached_property
    def longest_span(self) -> int:
        """Length of the longest span."""
        return max(b - a for a, b in itertools.pairwise(self.edges))

    def lengths(self) -> tuple[int, int]:
        """Lengths of the shortest and of the longest tile."""
        spans = (b - a for a, b in itertools.pairwise(self.edges))
        pairs = list(zip(spans, self.counts, strict=True))
        return min(n // count for n, count in pairs), max(-(-n // count) for n, count in pairs)

    def within(self, span: int) -> tuple[int, ...]:
        """Edges of the tiles of a span, from its start."""
        length, count = self.edges[span + 1] - self.edges[span], self.counts[span]
        return tuple(i * length // count for i in range(count + 1))


@dataclass(frozen=True)
class TileGrid:
    """All blocks and tiles of an image, numbered; axes are in the image's own order."""

    axes: Axes
    cuts: tuple[AxisCuts, ...]

    @cached_property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return math.prod(len(c.counts) for c in self.cuts)

    @cached_property
    def n_tiles(self) -> int:
        """How many tiles there are."""
        return math.prod(c.before[-1] for c in self.cuts)

    @property
    def shortest(self) -> tuple[int, ...]:
        """Least length of a tile along each shift axis."""
        return tuple(c.lengths()[0] for c in self._shift())

    @property
    def longest(self) -> tuple[int, ...]:
        """Largest length of a tile along each shift axis."""
        return tuple(c.lengths()[1] for c in self._shift())

    def region(self, block: int) -> Region:
        """Where a block lies in the image."""
        spans = zip(self.cuts, self._spans(block), strict=True)
        return tuple(slice(c.edges[s], c.edges[s + 1]) for c, s in spans)

    def within(self, block: int) -> tuple[tuple[int, ...], ...]:
        """Edges of the tiles of a block along each axis, from its start."""
        return tuple(c.within(s) for c, s in zip(self.cuts, self._spans(block), strict=True))

    def tiles_of(self, block: int) -> int:
        """How many tiles a block has."""
        return math.prod(c.counts[s] for c, s in zip(self.cuts, self._spans(block), strict=True))

    def values_of(self, block: int) -> int:
        """How many values a block has."""
        return math.prod(s.stop - s.start for s in self.region(block))

    def find(self, tile: int) -> tuple[int, int]:
        """The block in which a tile of the image lies, and its number there."""
        numbers = np.unravel_index(tile, [c.before[-1] for c in self.cuts])
        spans = [bisect_right(c.before, n) - 1 for c, n in zip(self.cuts, numbers, strict=True)]
        counts = [c.counts[s] for c, s in zip(self.cuts, spans, strict=True)]
        inside = [n - c.before[s] for c, s, n in zip(self.cuts, spans, numbers, strict=True)]
        block = np.ravel_multi_index(spans, [len(c.counts) for c in self.cuts])
        return int(block), int(np.ravel_multi_index(inside, counts))

    def _spans(self, block: int) -> list[int]:
        spans = []
        for cuts in reversed(self.cuts):
            block, span = divmod(block, len(cuts.counts))
            spans.append(span)
        return spans[::-1]

    def _shift(self) -> list[AxisCuts]:
        return [c for c, r in zip(self.cuts, self.axes.roles, strict=True) if r == "shift"]


def make_tile_grid(
    source: ImageSamples,
    points: int,
    *,
    draw: str = "uniform",
    filter_shape: Sequence[int] | None = None,
) -> TileGrid:
    """Cut an image into blocks, and these into tiles of about that many points.

    Where chunks are smaller than a tile, a block is a tile of whole chunks; where they are larger,
    it is one chunk with several tiles. No tile is shorter than a filter, if the image is not.
    """
    least = [2 * n for n in filter_shape or (0,) * len(source.shift)]
    side = [max(a, b) for a, b in zip(box_lengths(source.shift, points), least, strict=True)]
    side = [min(s, n) for s, n in zip(side, source.shift, strict=True)]
    several = round(_CHOICE ** (1 / len(side))) if draw == "structure" else 1
    chunks = _chunks(source, side)
    wanted = [several * s for s in side]
    while True:
        cuts = _cut_axes(source, chunks, side, wanted)
        if math.prod(c.longest_span for c in cuts) <= _BLOCK_VALUES:
            break
        # Whole planes as chunks: a block of as many as a tile is long could fill the memory.
        shift = [i for i, r in enumerate(source.axes.roles) if r == "shift"]
        joined = [
            (cuts[axis].longest_span / max(chunks[axis]), i)
            for i, axis in enumerate(shift)
            if cuts[axis].longest_span > max(chunks[axis]) and wanted[i] > max(_SHORTEST, least[i])
        ]
        if not joined:
            break
        longest = max(joined)[1]
        wanted[longest] = max(wanted[longest] // 2, _SHORTEST, least[longest])
    return TileGrid(source.axes, cuts)


def _chunks(source: ImageSamples, side: list[int]) -> list[Sequence[int]]:
    """Lengths of the chunks along each axis; where there are none, those of single tiles."""
    own = source.image._chunks
    sides = iter(side)
    found: list[Sequence[int]] = []
    for axis, (n, role) in enumerate(zip(source.image.shape, source.axes.roles, strict=True)):
        length = next(sides) if role == "shift" else 1
        chunk = None if own is None else own[axis]
        if role == "joint":
            found.append((n,))
        elif chunk is None:
            found.append(_even(n, max(1, round(n / length))))
        elif isinstance(chunk, int):
            found.append([min(chunk, n - a) for a in range(0, n, chunk)])
        else:
            found.append([c for c in chunk if c > 0])
    return found


def _even(length: int, count: int) -> list[int]:
    return [(i + 1) * length // count - i * length // count for i in range(count)]


def _cut_axes(
    source: ImageSamples, chunks: list[Sequence[int]], side: list[int], wanted: list[int]
) -> tuple[AxisCuts, ...]:
    lengths = iter(zip(side, wanted, strict=True))
    cuts = []
    for role, own in zip(source.axes.roles, chunks, strict=True):
        spans, counts = list(own), list(own)
        if role == "joint":
            counts = [1]
        elif role == "shift":
            length, target = next(lengths)
            spans = _joined(own, target)
            counts = [max(1, round(n / length)) for n in spans]
        cuts.append(AxisCuts(tuple(itertools.accumulate(spans, initial=0)), tuple(counts)))
    return tuple(cuts)


def _joined(chunks: Sequence[int], wanted: int) -> list[int]:
    """Lengths of spans of whole chunks, as near to what is wanted as they can be."""
    spans: list[int] = []
    least = max(wanted / 2, _SHORTEST)
    for n in chunks:
        if spans and (spans[-1] < least or n <= 2 * (wanted - spans[-1])):
            spans[-1] += n
        else:
            spans.append(n)
    if len(spans) > 1 and spans[-1] < least:
        rest = spans.pop()
        spans[-1] += rest
    return spans


@dataclass(frozen=True, slots=True)
class Visit:
    """A block that is read once, and which of its tiles are drawn; all is numbered."""

    source: int
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
    """How many tiles ``order`` draws."""
    return passes * sum(g.n_tiles if most is None else min(most, g.n_tiles) for g in grids)


def tile_order(
    grids: Sequence[TileGrid], most: int | None = None, *, passes: int = 1, seed: int = 0
) -> Iterator[Draw]:
    """Tiles of all images in random order: all, or up to ``most`` of each, the same in each pass.

    Every tile is as likely as any other. Nothing is read for it, and nothing kept that grows with
    the images.
    """
    for number in range(passes):
        rng = np.random.default_rng([seed, 3, number])
        yield from _interleaved(_visits(grids, most, seed, number), grids, rng)


def _visits(grids: Sequence[TileGrid], most: int | None, seed: int, number: int) -> Iterator[Visit]:
    """The blocks of all images in random order, each with its tiles."""
    chosen = [_chosen(grid, most, seed, i) for i, grid in enumerate(grids)]
    numbers = [g.n_blocks if c is None else len(c) for g, c in zip(grids, chosen, strict=True)]
    before = tuple(itertools.accumulate(numbers, initial=0))
    keys = np.random.default_rng([seed, 5, number]).integers(1 << 63, size=_ROUNDS).tolist()
    for i in range(before[-1]):
        place = permuted_index(i, before[-1], keys)
        source = bisect_right(before, place) - 1
        place -= before[source]
        block, tiles = place, None
        if (some := chosen[source]) is not None:
            block, tiles = some[place]
        key = (seed, 4, number, source, block)
        yield Visit(source, block, _mixed(tiles or range(grids[source].tiles_of(block)), key), key)


def _mixed(tiles: Sequence[int], key: tuple[int, ...]) -> tuple[int, ...]:
    if len(tiles) == 1:  # to begin a sequence of random numbers takes longer than all the rest
        return tuple(tiles)
    return tuple(np.random.default_rng(key).permutation(tiles).tolist())


def _chosen(
    grid: TileGrid, most: int | None, seed: int, source: int
) -> list[tuple[int, Sequence[int]]] | None:
    """Blocks with some of their tiles, up to ``most`` in all; None for all of all blocks."""
    if most is None or most >= grid.n_tiles:
        return None
    rng = np.random.default_rng([seed, 2, source])
    blocks: dict[int, list[int]] = {}
    for tile in rng.choice(grid.n_tiles, most, replace=False).tolist():
        block, inside = grid.find(tile)
        blocks.setdefault(block, []).append(inside)
    return list(blocks.items())


def _interleaved(
    visits: Iterator[Visit], grids: Sequence[TileGrid], rng: np.random.Generator
) -> Iterator[Draw]:
    """Draw from a few blocks at a time, so that neighbours do not all come together."""
    opened: list[tuple[Visit, int]] = []  # with how many values
    turns: list[int] = []
    coming = next(visits, None)
    while opened or coming is not None:
        while coming is not None and len(opened) < _OPEN_BLOCKS:
            values = grids[coming.source].values_of(coming.block)
            if opened and values + sum(v for _, v in opened) > _OPEN_VALUES:
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


_ROUNDS = 6
_WORD = (1 << 64) - 1


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
            mixed = ((right ^ key) * 0x9E3779B97F4A7C15) & _WORD
            mixed = ((mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93) & _WORD
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
    sources: Sequence[ImageSamples],
    grids: Sequence[TileGrid],
    draws: Iterable[Draw],
    run: Executor | None = None,
    draw: str = "uniform",
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number of the image and the values (C, *part) of each tile drawn.

    They are as the image has them, and masked where its mask says so; with a ``run`` on a cluster
    they are results for its ``gather`` or ``map``. With ``draw="structure"`` the tiles of a block
    are drawn anew, with repetition: those in which neighbours have more in common are more likely.
    """
    readers = [_Reader(source, run or ThreadExecutor()) for source in sources]
    held: dict[tuple[int, int], Any] = {}
    for drawn in draws:
        visit = drawn.visit
        reader, place = readers[visit.source], (visit.source, visit.block)
        if place not in held:
            held[place] = reader.block(grids[visit.source], visit, draw)
        block = held.pop(place) if drawn.is_last else held[place]
        yield visit.source, reader.tile(block, drawn.turn)


class _Reader:
    """Reads the blocks of one image, where the run is if the image can be read there."""

    def __init__(self, source: ImageSamples, run: Executor) -> None:
        self._image, self._axes = source.image, source.axes
        here = run.is_here or not (isinstance(run, ClusterExecutor) and run.can_read(source.image))
        self._run: Executor = ThreadExecutor() if here else run

    def block(self, grid: TileGrid, visit: Visit, draw: str) -> Any:
        region = grid.region(visit.block)
        if isinstance(self._run, ClusterExecutor):
            values = self._run.read(self._image, region)
        else:
            values = read_masked(self._image, region)
        make = partial(
            _block,
            dtype=self._image.dtype,
            axes=self._axes,
            within=grid.within(visit.block),
            visit=visit,
            draw=draw,
        )
        return self._run.map(make, [values])[0]

    def tile(self, block: Any, turn: int) -> Any:
        return self._run.map(partial(_tile, axes=self._axes), [block], [turn])[0]


def _block(
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
    every = LoadedBlock(block.values, within, tuple(range(total)))
    shares = _shares(
        np.array([measure_structure(_tile(every, i, axes=axes)) for i in range(total)])
    )
    rng = np.random.default_rng((*visit.seed, 1))
    drawn = rng.choice(total, len(visit.tiles), p=shares)
    return LoadedBlock(block.values, within, tuple(drawn.tolist()))


def _tile(block: LoadedBlock, turn: int, *, axes: Axes) -> Array:
    """The values (C, *part) of a tile; a copy, for the block is not to be kept for it."""
    counts = [len(edges) - 1 for edges in block.within]
    numbers = np.unravel_index(block.tiles[turn], counts)
    part = tuple(slice(e[n], e[n + 1]) for e, n in zip(block.within, numbers, strict=True))
    ordered = axes.to_samples(block.values[part])
    return ordered.reshape(-1, *ordered.shape[-axes.count("shift") :]).copy()


def measure_structure(tile: Array) -> float:
    """Mean covariance of neighbours in a tile (C, *part): white noise has none; -1 for missing."""
    if not is_usable(tile):
        return -1.0
    values = np.asarray(tile, np.float64)
    values = values - values.mean(axis=tuple(range(1, values.ndim)), keepdims=True)
    along = [
        float(np.mean(np.take(values, range(1, n), axis) * np.take(values, range(n - 1), axis)))
        for axis, n in enumerate(values.shape)
        if axis > 0 and n > 1
    ]
    return max(0.0, sum(along) / max(len(along), 1))


def _shares(found: Array) -> Array:
    """How likely each tile is, by its structure; what has missing values is not drawn."""
    usable = found >= 0
    if not usable.any():
        return np.full(len(found), 1 / len(found))
    strength = np.sqrt(np.maximum(found, 0))
    even = usable / usable.sum()
    total = strength.sum()
    return np.asarray(_FLOOR * even + (1 - _FLOOR) * strength / total if total > 0 else even)


def is_usable(tile: Array) -> bool:
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
