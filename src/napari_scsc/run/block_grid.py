"""Blocks and chunks of a restoration, numbered, the same in every process."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napari_scsc._types import Region
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.tiles import Tile, cut
from napari_scsc.run.tile_restorer import TileRestorer

CHUNK_VALUES = 1 << 20  # of a chunk of the result, about


@dataclass(frozen=True)
class TileBlock:
    """One tile of one sample."""

    index: tuple[int, ...]
    tile: Tile


@dataclass(frozen=True)
class ResultChunk:
    """A part of the result, and the numbers of the blocks that cover it, in their order."""

    index: tuple[int, ...]
    part: Region
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class BlockGrid:
    """All blocks and all chunks of a restoration; numbered, and the same in every process."""

    indices: tuple[tuple[int, ...], ...]
    shift: tuple[int, ...]
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    chunk: tuple[int, ...]

    @classmethod
    def of(cls, samples: ImageSamples, restorer: TileRestorer) -> BlockGrid:
        """The grid of an image, with chunks of a convenient size."""
        chunk = _chunk_lengths(samples.shift, CHUNK_VALUES // samples.n_joint)
        indices = tuple(samples.indices())
        return cls(indices, samples.shift, restorer.size, restorer.overlap, chunk)

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
                (span, [i for i, tile in enumerate(tiles) if _overlap(tile, span)])
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

    def block(self, number: int) -> TileBlock:
        """The block of that number."""
        sample, tile = divmod(number, len(self.tiles))
        return TileBlock(self.indices[sample], self.tiles[tile])

    def number(self, index: tuple[int, ...], part: Region) -> int:
        """The number of the block that lies there."""
        sample = self.indices.index(index)
        return sample * len(self.tiles) + self._places[tuple(s.start for s in part)]

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        """The numbers of the tiles by where they begin."""
        return {tuple(s.start for s in t.region): i for i, t in enumerate(self.tiles)}

    def chunk_at(self, number: int) -> ResultChunk:
        """The chunk of that number."""
        sample, place = divmod(number, len(self._parts))
        part, tiles = self._parts[place]
        first = sample * len(self.tiles)
        return ResultChunk(self.indices[sample], part, tuple(first + t for t in tiles))


def _overlap(a: slice, b: slice) -> bool:
    return bool(a.start < b.stop and b.start < a.stop)


def image_chunks(samples: ImageSamples, grid: BlockGrid) -> tuple[int, ...]:
    """Lengths of a chunk in the image's own order of axes."""
    lengths = iter(grid.chunk)
    pairs = zip(samples.image.shape, samples.axes.roles, strict=True)
    return tuple(1 if r == "sample" else n if r == "joint" else next(lengths) for n, r in pairs)


def _chunk_lengths(shift: tuple[int, ...], n_values: int) -> tuple[int, ...]:
    """Lengths of a chunk of about that many points, halved where it is longest."""
    lengths = list(shift)
    while math.prod(lengths) > max(1, n_values):
        axis = int(np.argmax(lengths))
        lengths[axis] = math.ceil(lengths[axis] / 2)
    return tuple(lengths)
