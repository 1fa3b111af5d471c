"""What a method must be able to do with one tile, and all tiles of an image in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.fingerprint import digest_tile, image_changed
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.tiles import Blend, Tile, cut
from napari_scsc.errors import Message
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.working import WorkingValues
from napari_scsc.run.updates import LEARNING_SHARE, RegionRestored, RestoreUpdate

MapName = Literal["error", "support"]
"""What is known of each value of a result: its standard error, how many patches are behind it."""


class TileRestorer(ABC):
    """Restores a tile; knows nothing of the other tiles.

    A method makes one for an image (``restore/methods.py``). It holds what all tiles share and
    nothing of the image, and can be sent to other processes.
    """

    working: WorkingValues
    size: tuple[int, ...]
    """Lengths of a tile on the shift axes."""
    overlap: tuple[int, ...]
    """How many points two tiles share."""
    memory: int
    """About how many bytes a tile takes."""
    bank: FilterBank | None
    """The filters that restore, if there are any."""
    maps: tuple[MapName, ...] = ()
    """What comes with the last estimate of a tile, as C more rows each."""

    @abstractmethod
    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """Estimates (C, *part) in working values, each with the share of the work done.

        The last one is the result, and has C more rows for each of ``maps``.
        """

    def to_image(
        self, samples: ImageSamples, index: tuple[int, ...], part: Region, work: Array
    ) -> Array:
        """Working values (C, *part) of the blended result as the image has them."""
        working = self.working.at(index, part)
        values = working.from_work(work, samples.image.dtype)
        if working.keeps_values and self.has_image:
            missing = samples.missing(index, part)
            values = working.put_back(values, samples.read(index, part), missing)
        if self.keeps_known:
            values = np.where(samples.missing(index, part), values, samples.read(index, part))
        return samples.as_image(values)

    def split(
        self, samples: ImageSamples, index: tuple[int, ...], part: Region, work: Array
    ) -> list[Array]:
        """The blended result as the image has it, and each of its maps in the same way."""
        values, *maps = np.split(work, 1 + len(self.maps))
        working = self.working.at(index, part)
        return [
            self.to_image(samples, index, part, values),
            *(
                samples.as_image(
                    working.error_from_work(values, found) if name == "error" else found
                )
                for name, found in zip(self.maps, maps, strict=True)
            ),
        ]

    @property
    def reads_image(self) -> bool:
        """Whether the result has values of the image itself."""
        return self.has_image and (self.keeps_known or self.working.keeps_values)

    @property
    def has_image(self) -> bool:
        """Whether the values of the image are at hand, of which some may stay as they are."""
        return True

    @property
    def keeps_known(self) -> bool:
        """Whether values that are known stay as they are, to the bit."""
        return False

    def count_doubtful(self, samples: ImageSamples, index: tuple[int, ...], part: Region) -> int:
        """How many points of a part the user should be warned of."""
        return 0

    def describe_doubtful(self, count: int) -> Message:
        """What to say of so many such points."""
        return Message(f"{count} points of the result are doubtful")


@dataclass(slots=True)
class WrittenResult:
    """What became of an image: the result, how many of its points are doubtful, and its maps."""

    result: Any
    n_doubtful: int = 0
    maps: dict[MapName, Any] = field(default_factory=dict)


WritingResult = Generator[RestoreUpdate, None, WrittenResult]


@contextmanager
def thread_pool(n_jobs: int) -> Iterator[Executor | None]:
    """Threads for the parts of a pass; none for one job. At the end, what waits is given up."""
    if n_jobs == 1:
        yield None
        return
    pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="napari-scsc")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def restore_in_memory(
    samples: ImageSamples,
    restorer: TileRestorer,
    *,
    out: Any = None,
    executor: Executor | None = None,
    cancellation: Cancellation = NEVER,
) -> WritingResult:
    """Restore all samples tile by tile, and blend the tiles into ``out``, or a new array."""
    result = np.empty(samples.image.shape, samples.image.dtype) if out is None else out
    maps = {name: np.empty(samples.image.shape, np.float32) for name in restorer.maps}
    n_rows = (1 + len(maps)) * samples.n_joint
    tiles = list(cut(samples.shift, restorer.size, restorer.overlap))
    indices = samples.indices()
    total = len(indices) * len(tiles)
    whole = tuple(slice(0, n) for n in samples.shift)
    n_doubtful = 0
    read: dict[tuple[tuple[int, ...], int], str] = {}
    for sample, index in enumerate(indices):
        blend = Blend((n_rows, *samples.shift))
        for position, tile in enumerate(tiles):
            number = sample * len(tiles) + position
            region = samples.region(index, tile.region)
            estimate, done = None, 0.0
            read[index, position] = digest_tile(samples, index, tile.region)
            for share, estimate in restorer.estimates(
                samples, index, tile.region, executor, cancellation
            ):
                done = LEARNING_SHARE + (1 - LEARNING_SHARE) * (number + share) / total
                if share < 1:  # a glimpse, without its neighbours
                    values = restorer.to_image(samples, index, tile.region, estimate)
                    yield RegionRestored(region, values, number + 1, total, done, is_final=False)
            assert estimate is not None
            inside = (slice(None), *tile.region)
            blend.add(Tile(inside, (np.ones(n_rows), *tile.ramps)), estimate)
            values, *found = restorer.split(samples, index, tile.region, blend.result[inside])
            result[region] = values
            for name, of_map in zip(maps, found, strict=True):
                maps[name][region] = of_map
            yield RegionRestored(region, values, number + 1, total, done)
        n_doubtful += restorer.count_doubtful(samples, index, whole)
    fresh = samples.without_cache()
    for (index, position), known in read.items():
        cancellation.check()
        if digest_tile(fresh, index, tiles[position].region) != known:
            raise image_changed()
    return WrittenResult(
        samples.image.like(result) if out is None else out,
        n_doubtful,
        {name: samples.image.like(found) for name, found in maps.items()},
    )
