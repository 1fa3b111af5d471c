"""What a method must be able to do with one tile, and all tiles of an image in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.tiles import Blend, Tile, cut
from napari_scsc.noise.working import WorkingValues
from napari_scsc.run.updates import LEARNING, RestoreUpdate, Updates, finished


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


class TileRestorer(ABC):
    """Restores one tile of a source after the other; knows nothing of the others.

    It holds what all tiles share and nothing of the image, and can be sent to other processes.
    """

    working: WorkingValues
    size: tuple[int, ...]
    """Lengths of a tile on the shift axes."""
    overlap: tuple[int, ...]
    """How many points two tiles share."""
    memory: int
    """About how many bytes a tile takes."""

    @abstractmethod
    def estimates(
        self,
        source: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """Estimates (C, *part) in working values, each with the share of the work done.

        The last one is the result.
        """

    def finished(
        self, source: ImageSamples, index: tuple[int, ...], part: Region, work: Array
    ) -> Array:
        """Working values (C, *part) of the blended result as the image has them."""
        values = self.working.from_work(work, source.image.dtype)
        if self.keeps_known:
            values = np.where(source.missing(index, part), values, source.read(index, part))
        return source.as_image(values)

    @property
    def keeps_known(self) -> bool:
        """Whether values that are known stay as they are, to the bit."""
        return False

    def remarks(self, source: ImageSamples, index: tuple[int, ...], part: Region) -> Counter[str]:
        """What the user should know of a part: phrases, and how many points each is about."""
        return Counter()


def restore_tile_by_tile(
    source: ImageSamples,
    restorer: TileRestorer,
    common: RestoreUpdate,
    *,
    out: Any = None,
    executor: Executor | None = None,
    cancellation: Cancellation = NEVER,
) -> Updates:
    """Restore all samples tile by tile, and blend the tiles into ``out``, or a new array.

    ``common`` has what all updates share.
    """
    result = np.empty(source.image.shape, source.image.dtype) if out is None else out
    tiles = list(cut(source.shift, restorer.size, restorer.overlap))
    indices = source.indices()
    total = len(indices) * len(tiles)
    remarks: Counter[str] = Counter()
    for number, index in enumerate(indices):
        blend = Blend((source.n_joint, *source.shift))
        for position, tile in enumerate(tiles):
            before = number * len(tiles) + position
            region = source.region(index, tile.region)
            estimate = None
            for share, estimate in restorer.estimates(
                source, index, tile.region, executor, cancellation
            ):
                done = LEARNING + (1 - LEARNING) * (before + share) / total
                message = f"tile {before + 1} of {total}" if total > 1 else f"{done:.0%}"
                if share < 1:  # a glimpse, without its neighbours
                    values = restorer.finished(source, index, tile.region, estimate)
                    yield replace(common, done=done, message=message, region=region, values=values)
            assert estimate is not None
            full = (slice(None), *tile.region)
            blend.add(Tile(full, (np.ones(source.n_joint), *tile.ramps)), estimate)
            values = restorer.finished(source, index, tile.region, blend.result[full])
            result[region] = values
            yield replace(common, done=done, message=message, region=region, values=values)
        remarks += restorer.remarks(source, index, tuple(slice(0, n) for n in source.shift))
    yield finished(common, source.image.like(result) if out is None else out, remarks)
