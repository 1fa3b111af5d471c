"""What to learn from which images: all that the filters depend on."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from napari_scsc.data.fingerprint import digest
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learn.sampler import Draw, TileGrid, count_tiles, tile_order
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.solver.prox import Ball


@dataclass(frozen=True)
class Request:
    """All that the result depends on."""

    sources: list[ImageSamples]
    grids: list[TileGrid]
    bank: FilterBank | None
    n_base: int | None
    filter_shape: tuple[int, ...] | None
    sigma: float | None
    tiles: int | None
    draw: str
    passes: int
    model: str
    n_filters: int | None
    beta: float | None
    ball: Ball
    seed: int
    batch: int

    @property
    def total(self) -> int:
        """How many tiles are drawn."""
        return count_tiles(self.grids, self.tiles, self.passes)

    @property
    def shortest(self) -> tuple[int, ...]:
        """Least length of a tile along each shift axis."""
        return tuple(min(n) for n in zip(*(g.shortest for g in self.grids), strict=True))

    @property
    def longest(self) -> tuple[int, ...]:
        """Largest length of a tile along each shift axis."""
        return tuple(max(n) for n in zip(*(g.longest for g in self.grids), strict=True))

    def draws(self, start: int) -> Iterator[Draw]:
        """The tiles in their order, without those that were drawn already."""
        order = tile_order(self.grids, self.tiles, passes=self.passes, seed=self.seed)
        return itertools.islice(order, start, None)

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other requests, as JSON has it."""
        images = [
            # The digest of a part only: each chunk is to be read about once in a pass.
            (s.image.shape, str(s.image.dtype), s.axes, digest(s, whole=False))
            for s in self.sources
        ]
        apart = ("sources", "grids", "bank")
        options = {k: v for k, v in self.__dict__.items() if k not in apart}
        found = {
            "images": _digest(images),
            "chunks": _digest([g.cuts for g in self.grids]),
            "bank": None if self.bank is None else self.bank.id,
            **options,
        }
        return dict(json.loads(json.dumps(found)))


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
