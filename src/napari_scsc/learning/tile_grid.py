"""Where the tiles lie that filters are learned from.

An image is cut into blocks, and a block into tiles. Where the image has chunks, a block consists of
whole chunks, so that each chunk is read once; without chunks a block is one tile.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napari_scsc._types import Region
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import ImageSamples, box_lengths

MAX_BLOCK_VALUES = 1 << 24  # unless a single chunk has more
_TILES_TO_CHOOSE_FROM = 16  # of a block, where tiles with more structure are preferred
_MIN_SPAN_POINTS = 8  # of a block along an axis, where the image has them


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
    samples: ImageSamples,
    points: int,
    *,
    draw: str = "uniform",
    filter_shape: Sequence[int] | None = None,
    follow_chunks: bool = True,
) -> TileGrid:
    """Cut an image into blocks, and these into tiles of about that many points.

    Where chunks are smaller than a tile, a block is a tile of whole chunks; where they are larger,
    it is one chunk with several tiles. No tile is shorter than a filter, if the image is not.
    Without ``follow_chunks`` the tiles depend on nothing but the shape of the image.
    """
    least = [2 * n for n in filter_shape or (0,) * len(samples.shift)]
    side = [max(a, b) for a, b in zip(box_lengths(samples.shift, points), least, strict=True)]
    side = [min(s, n) for s, n in zip(side, samples.shift, strict=True)]
    tiles_along = round(_TILES_TO_CHOOSE_FROM ** (1 / len(side))) if draw == "structure" else 1
    chunks = _chunk_lengths(samples, side, follow_chunks)
    wanted = [tiles_along * s for s in side]
    while True:
        cuts = _cut_axes(samples, chunks, side, wanted)
        if math.prod(c.longest_span for c in cuts) <= MAX_BLOCK_VALUES:
            break
        # Whole planes as chunks: a block of as many as a tile is long could fill the memory.
        shift = [i for i, r in enumerate(samples.axes.roles) if r == "shift"]
        joined = [
            (cuts[axis].longest_span / max(chunks[axis]), i)
            for i, axis in enumerate(shift)
            if cuts[axis].longest_span > max(chunks[axis])
            and wanted[i] > max(_MIN_SPAN_POINTS, least[i])
        ]
        if not joined:
            break
        longest = max(joined)[1]
        wanted[longest] = max(wanted[longest] // 2, _MIN_SPAN_POINTS, least[longest])
    return TileGrid(samples.axes, cuts)


def _chunk_lengths(
    samples: ImageSamples, side: list[int], follow_chunks: bool
) -> list[Sequence[int]]:
    """Lengths of the chunks along each axis; where there are none, those of single tiles."""
    image_chunks = samples.image.chunks if follow_chunks else None
    sides = iter(side)
    found: list[Sequence[int]] = []
    for axis, (n, role) in enumerate(zip(samples.image.shape, samples.axes.roles, strict=True)):
        length = next(sides) if role == "shift" else 1
        chunk = None if image_chunks is None else image_chunks[axis]
        if role == "joint":
            found.append((n,))
        elif chunk is None:
            found.append(_even_lengths(n, max(1, round(n / length))))
        elif isinstance(chunk, int):
            found.append([min(chunk, n - a) for a in range(0, n, chunk)])
        else:
            found.append([c for c in chunk if c > 0])
    return found


def _even_lengths(length: int, count: int) -> list[int]:
    return [(i + 1) * length // count - i * length // count for i in range(count)]


def _cut_axes(
    samples: ImageSamples, chunks: list[Sequence[int]], side: list[int], wanted: list[int]
) -> tuple[AxisCuts, ...]:
    lengths = iter(zip(side, wanted, strict=True))
    cuts = []
    for role, axis_chunks in zip(samples.axes.roles, chunks, strict=True):
        spans, counts = list(axis_chunks), list(axis_chunks)
        if role == "joint":
            counts = [1]
        elif role == "shift":
            length, target = next(lengths)
            spans = _join_chunks(axis_chunks, target)
            counts = [max(1, round(n / length)) for n in spans]
        cuts.append(AxisCuts(tuple(itertools.accumulate(spans, initial=0)), tuple(counts)))
    return tuple(cuts)


def _join_chunks(chunks: Sequence[int], wanted: int) -> list[int]:
    """Lengths of spans of whole chunks, as near to what is wanted as they can be."""
    spans: list[int] = []
    least = max(wanted / 2, _MIN_SPAN_POINTS)
    for n in chunks:
        if spans and (spans[-1] < least or n <= 2 * (wanted - spans[-1])):
            spans[-1] += n
        else:
            spans.append(n)
    if len(spans) > 1 and spans[-1] < least:
        rest = spans.pop()
        spans[-1] += rest
    return spans
