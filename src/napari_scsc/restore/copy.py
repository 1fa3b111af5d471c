"""An image without noise: the result is the image."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples, box_lengths
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.methods import Task
from napari_scsc.restore.quality import Quality
from napari_scsc.restore.restoration import Restoration
from napari_scsc.restore.sample_cost import SampleCost, count_tiles_of
from napari_scsc.run.tile_restorer import MapName, TileRestorer
from napari_scsc.run.updates import RestoreUpdate

_MAX_TILE_VALUES = 1 << 22


@dataclass(frozen=True)
class Copier(TileRestorer):
    """Gives each tile back as it is, to the bit."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: None = None
    maps: tuple[MapName, ...] = ()

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """Nothing is estimated: ``to_image`` reads the values of the image."""
        cancellation.check()
        lengths = tuple(s.stop - s.start for s in part)
        # Nothing is known better than by the value itself: no error, and one patch behind it.
        rows = [0.0] + [float(name == "support") for name in self.maps]
        levels = np.repeat(np.asarray(rows, np.float32), samples.n_joint)
        yield 1.0, np.multiply.outer(levels, np.ones(lengths, np.float32))

    @property
    def reads_image(self) -> bool:
        """All of it."""
        return True

    def to_image(
        self, samples: ImageSamples, index: tuple[int, ...], part: Region, work: Array
    ) -> Array:
        """The values of the image."""
        return samples.as_image(samples.read(index, part))


def prepare(restoration: Restoration) -> Generator[RestoreUpdate, None, Copier]:
    """Copy in tiles of moderate size, which need no overlap."""
    samples = restoration.samples
    size = _tile_size(samples.shift, samples.n_joint)
    memory = 16 * samples.n_joint * math.prod(size)
    overlap = (0,) * len(size)
    return Copier(restoration.working, size, overlap, memory, maps=restoration.maps)
    yield  # type: ignore[unreachable]  # learns nothing, and so reports nothing


def cost(shift: tuple[int, ...], n_joint: int, task: Task, quality: Quality) -> SampleCost:
    """Next to nothing."""
    size = _tile_size(shift, n_joint)
    tiles = count_tiles_of(shift, size, (0,) * len(size))
    return SampleCost(tiles, 0.0, 16 * n_joint * math.prod(size), seconds_before=0.0)


def _tile_size(shift: tuple[int, ...], n_joint: int) -> tuple[int, ...]:
    return tuple(box_lengths(shift, _MAX_TILE_VALUES // n_joint))
