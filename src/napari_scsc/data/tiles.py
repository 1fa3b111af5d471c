"""Cut an array into overlapping tiles, and blend the results of the tiles without a seam."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of an array, and how much it counts at each of its points.

    Attributes
    ----------
    region : tuple of slice
        Where it lies.
    ramps : tuple of ndarray
        Weights along each axis; their outer product is the weight of each point. The weights of
        all tiles at a point add up to one.
    """

    region: tuple[slice, ...]
    ramps: tuple[Array, ...]

    def weights(self) -> Array:
        """The weight of each of its points."""
        return np.asarray(math.prod(np.ix_(*self.ramps)))


def cut(shape: Sequence[int], size: Sequence[int], overlap: Sequence[int]) -> Iterator[Tile]:
    """Cover an array of that shape by tiles of one size, as few as there can be.

    Parameters
    ----------
    shape : sequence of int
        Lengths of the array.
    size : sequence of int
        Lengths of a tile; where the array is shorter, the tile is as long as the array.
    overlap : sequence of int
        How many points neighbouring tiles share at least, along each axis; less than the size.
    """
    if not len(shape) == len(size) == len(overlap):
        raise ValueError(
            f"shape {tuple(shape)}, size {tuple(size)} and overlap {tuple(overlap)} "
            "must have one length an axis"
        )
    axes = [_cut_axis(n, s, o) for n, s, o in zip(shape, size, overlap, strict=True)]
    for parts in itertools.product(*axes):
        yield Tile(tuple(region for region, _ in parts), tuple(ramp for _, ramp in parts))


def _cut_axis(length: int, size: int, overlap: int) -> list[tuple[slice, Array]]:
    """The tiles of one axis: where each lies, and its weights, which add up to one."""
    if length < 1 or size < 1 or not 0 <= overlap < size:
        raise ValueError(
            f"tiles of {size} points that share {overlap} cannot cover an axis of {length}: "
            "a tile needs at least one point, and more than it shares"
        )
    if size >= length:
        return [(slice(0, length), np.ones(length))]
    count = math.ceil((length - overlap) / (size - overlap))
    starts = [round(i * (length - size) / (count - 1)) for i in range(count)]
    # A tent: what is near the border of a tile counts least, for there it has fewest neighbours.
    tent = np.minimum(np.arange(1, size + 1), np.arange(size, 0, -1)).astype(float)
    total = np.zeros(length)
    for start in starts:
        total[start : start + size] += tent
    return [(slice(s, s + size), tent / total[s : s + size]) for s in starts]


class Blend:
    """The weighted mean of tiles, taken in one after the other and in any order.

    Each tile moves the mean towards itself by its share of the weight so far. Where all tiles say
    the same the result is exactly that, which a division by a sum of weights would not give.
    """

    def __init__(self, shape: Sequence[int], dtype: DTypeLike = np.float32) -> None:
        self.result: Array = np.zeros(shape, dtype)
        self._weight: Array = np.zeros(shape, np.float32)

    def add(self, tile: Tile, values: Array) -> None:
        """Take in what was made of a tile."""
        target = self.result[tile.region]
        if values.shape != target.shape:
            raise ValueError(f"the tile has the shape {target.shape}, its values {values.shape}")
        weights = tile.weights().astype(self._weight.dtype)  # the first share is then exactly one
        self._weight[tile.region] += weights
        target += (weights / self._weight[tile.region]) * (values - target)
