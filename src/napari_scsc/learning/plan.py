"""What is learned from which images: all that the filters depend on."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from napari_scsc.data.fingerprint import digest, file_facts
from napari_scsc.data.samples import ImageSamples, check_bank
from napari_scsc.errors import UserError
from napari_scsc.learning.options import LearnOptions
from napari_scsc.learning.sampler import Draw, count_tiles, draw_anywhere, tile_order
from napari_scsc.learning.tile_grid import TileGrid, make_tile_grid
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import check_sigma

MAX_TILE_POINTS = 128 * 128
_MIN_TILE_POINTS = 48 * 48
_WANTED_TILES = 16  # of a small image: fewer would leave nothing to follow
AUTO_TILES = 16  # of an image, which are enough
_MAX_CODE_TILE_POINTS = 96 * 96  # a convolutional code of more takes long to learn from
_JOINT_VALUES_PER_POINT = 8  # that cost a convolutional code as much as its maps do


@dataclass(frozen=True)
class LearnPlan:
    """Images, where their tiles lie, and how to learn from them.

    Made by ``plan_learning``; the loop in ``learning/loop.py`` carries it out.

    Attributes
    ----------
    images : sequence of ImageSamples
        All of one kind.
    grids : sequence of TileGrid
        The tiles of each image.
    options : LearnOptions
        What the user wants.
    noises : sequence of Noise, optional
        The noise of each image, where it is known already.
    beta : float, optional
        The price of the code in working values, where it is not to follow from the noise.
    """

    images: Sequence[ImageSamples]
    grids: Sequence[TileGrid]
    options: LearnOptions
    noises: Sequence[Noise] | None = None
    beta: float | None = None

    @property
    def tiles_are_anywhere(self) -> bool:
        """Whether a few tiles come from anywhere, or many of them chunk by chunk."""
        return _are_anywhere(self.options)

    @property
    def n_tiles(self) -> int:
        """How many tiles are drawn in all."""
        return count_tiles(self.grids, self._most, self.options.passes)

    @property
    def shortest_tile(self) -> tuple[int, ...]:
        """Least length of a tile along each shift axis."""
        return tuple(min(n) for n in zip(*(g.shortest for g in self.grids), strict=True))

    @property
    def longest_tile(self) -> tuple[int, ...]:
        """Largest length of a tile along each shift axis."""
        return tuple(max(n) for n in zip(*(g.longest for g in self.grids), strict=True))

    def draws(self, start: int) -> Iterator[Draw]:
        """The tiles in their order, without those that were drawn already."""
        draw = draw_anywhere if self.tiles_are_anywhere else tile_order
        order = draw(self.grids, self._most, passes=self.options.passes, seed=self.options.seed)
        return itertools.islice(order, start, None)

    def draws_of(self, image: int) -> Iterator[Draw]:
        """The tiles of one image alone."""
        return tile_order([self.grids[image]], self._most, seed=self.options.seed)

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other plans, as JSON has it."""
        images = [
            # The digest of a part only: each chunk is to be read about once in a pass.
            (
                s.image.shape,
                str(s.image.dtype),
                s.axes,
                digest(s, whole=False),
                file_facts(s.image),
            )
            for s in self.images
        ]
        bank = self.options.bank
        found = {
            "images": _short_digest(images),
            "chunks": _short_digest([g.cuts for g in self.grids]),
            "bank": None if bank is None else bank.id,
            "values": "noise of the first image",
            **self.options.fingerprint(),
        }
        return dict(json.loads(json.dumps(found)))

    def digests(self) -> list[tuple[str, str]]:
        """Of the images in numpy arrays: whether they are still the same at the end."""
        return [(digest(s), file_facts(s.image)) for s in self.images if s.image.is_numpy]

    @property
    def _most(self) -> int | None:
        tiles = self.options.tiles
        return AUTO_TILES if tiles == "auto" else tiles


def plan_learning(
    images: Sequence[ImageSamples],
    options: LearnOptions,
    *,
    noises: Sequence[Noise] | None = None,
    beta: float | None = None,
) -> LearnPlan:
    """Decide where the tiles lie; refuse images and a bank that do not fit each other."""
    first = images[0]
    for samples in images:
        if samples.joint != first.joint or len(samples.shift) != len(first.shift):
            raise UserError(
                f"of the shapes {first.image.shape} and {samples.image.shape} "
                f"({first.axes.kind}) cannot share filters: their joint axes differ",
                argument="images",
            )
        check_sigma(options.sigma, samples)
    bank, support = options.bank, options.filter_shape
    if bank is not None:
        support = bank.support
        for samples in images:
            check_bank(bank, samples)
        if options.model == "patches":
            LatticeSCSC.from_bank(bank)  # refuses a bank that it cannot go on from
    grids = [
        make_tile_grid(
            samples,
            _tile_points(samples, options),
            draw=options.draw,
            filter_shape=support,
            follow_chunks=not _are_anywhere(options),
        )
        for samples in images
    ]
    return LearnPlan(images, grids, options, noises, beta)


def _are_anywhere(options: LearnOptions) -> bool:
    return options.tiles == "auto" and options.draw == "uniform"


def _tile_points(samples: ImageSamples, options: LearnOptions) -> int:
    if options.tiles == "auto" and options.model == "patches":
        return MAX_TILE_POINTS
    pairs = zip(samples.image.shape, samples.axes.roles, strict=True)
    points = math.prod(n for n, role in pairs if role != "joint") // _WANTED_TILES
    points = min(max(points, _MIN_TILE_POINTS), MAX_TILE_POINTS)
    if options.model == "patches":
        return points
    share = max(1, samples.n_joint // _JOINT_VALUES_PER_POINT)
    return min(points, _MAX_CODE_TILE_POINTS) // share


def _short_digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
