"""The paper's own inference, for comparison: a convolutional code of each tile."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learning.details import split_smooth
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.scsc import SCSC
from napari_scsc.model.settings import Constraint, Weights
from napari_scsc.model.updates import Code
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.methods import Task
from napari_scsc.restore.quality import Quality
from napari_scsc.restore.restoration import Restoration
from napari_scsc.restore.sample_cost import SampleCost, count_tiles_of
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import RestoreUpdate

# Of a code in noise levels, by what the filters may be. Filters in balls are longer when composed.
_CODE_PRICES: dict[Constraint, float] = {"orthonormal": 2.75, "ball": 4.0}
_NOISELESS_PRICE = 0.002  # of the working range: the price of a code where there is no noise
CODE_TILE_SIDES = {1: 4096, 2: 128, 3: 40}  # by the number of shift axes
_OVERLAPS = {1: 64, 2: 24, 3: 8}  # of two tiles, by the number of shift axes
_BYTES_PER_CODE_VALUE = 8 * 4  # two codes, their gradients and spectra
_TYPICAL_FILTERS = 64
_SECONDS_PER_MEGAPOINT = 135.0  # time of one thread, measured on a laptop's core

Preparing = Generator[RestoreUpdate, None, "TileCoder"]


def prepare_denoising(restoration: Restoration) -> Preparing:
    """Denoise by coding: what the filters cannot say in few words is taken for noise."""
    return (yield from _prepare(restoration))


def prepare_inpainting(restoration: Restoration) -> Preparing:
    """Inpaint by coding what is known; the code says what is not."""
    noiseless = _NOISELESS_PRICE if restoration.working.sigma == 0 else None
    return (yield from _prepare(restoration, noiseless))


def code_price(
    bank: FilterBank, weights: Weights, sigma: float, levels: float | None = None
) -> float:
    """The beta of so many noise levels, or of what suits, in working values as the level is."""
    if levels is None:
        levels = _CODE_PRICES[SCSC.from_bank(bank, weights=weights).settings.filters]
    return max(levels * sigma, _NOISELESS_PRICE)


def _prepare(restoration: Restoration, learning_price: float | None = None) -> Preparing:
    bank = yield from restoration.find_bank(lambda: restoration.learn_bank(learning_price))
    weights: Weights = "identity" if restoration.method.model == "ocsc" else "sample"
    return TileCoder.of(
        bank,
        restoration.samples,
        restoration.working,
        code_price(bank, weights, restoration.sigma),
        restoration.options.tile_memory,
        weights,
        keeps_known=restoration.task == "inpaint" and restoration.noise.sigma == 0,
    )


def cost(shift: tuple[int, ...], n_joint: int, task: Task, quality: Quality) -> SampleCost:
    """What a sample takes, before anything of it was read; the same for all qualities."""
    size, overlap, memory = _tile_shape(shift, (0,) * len(shift), _TYPICAL_FILTERS, None)
    seconds = _SECONDS_PER_MEGAPOINT * n_joint * math.prod(shift) / 1e6
    return SampleCost(count_tiles_of(shift, size, overlap), seconds, memory, seconds_before=0.0)


def _tile_shape(
    shift: tuple[int, ...], support: tuple[int, ...], n_filters: int, memory: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Lengths of a tile and of the overlap of two, and the bytes that a tile takes."""
    n_shift = len(shift)
    per_point = _BYTES_PER_CODE_VALUE * n_filters
    side = CODE_TILE_SIDES[n_shift]
    if memory is not None:
        side = min(side, int((memory / per_point) ** (1 / n_shift)))
    least = (s + _OVERLAPS[n_shift] for s in support)
    size = tuple(min(n, max(side, m)) for n, m in zip(shift, least, strict=True))
    overlap = tuple(min(s - 1, _OVERLAPS[n_shift]) for s in size)
    return size, overlap, per_point * math.prod(size)


@dataclass(frozen=True)
class TileCoder(TileRestorer):
    """Restores a tile by its convolutional code."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: FilterBank
    beta: float
    weights: Weights
    keeps_known_values: bool

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        samples: ImageSamples,
        working: WorkingValues,
        beta: float,
        memory: int | None = None,
        weights: Weights = "sample",
        keeps_known: bool = False,
    ) -> TileCoder:
        """What suits a bank and an image; ``beta`` is in working values."""
        model = SCSC.from_bank(bank, beta=beta, weights=weights)
        size, overlap, takes = _tile_shape(
            samples.shift, bank.support, model.settings.n_filters, memory
        )
        return cls(working, size, overlap, takes, model.bank, beta, weights, keeps_known)

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The smooth part, and what the code says."""
        smooth, code = self.code(samples, index, part, cancellation)
        white = smooth if code is None else smooth + code.reconstruction.reshape(smooth.shape)
        # Only where nothing is missing can the noise be made white.
        yield 1.0, self.working.at(index).colour(white) if samples.is_complete else white

    def code(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        cancellation: Cancellation = NEVER,
    ) -> tuple[Array, Code | None]:
        """The smooth part (C, *part) of a tile, and the code of the rest.

        None where nothing of the tile is known.
        """
        cancellation.check()
        smooth, detail, known = _read_split(samples, self.working, index, part)
        if known is not None and not known.any():
            return smooth, None
        code = self.model.encode(
            detail.reshape(*samples.joint, *detail.shape[1:]),
            None if known is None else known.reshape(*samples.joint, *known.shape[1:]),
            cancellation=cancellation,
            warn=False,  # a tile without any code is smooth: that is an answer here
        )
        return smooth, code

    @property
    def keeps_known(self) -> bool:
        """As it was asked for."""
        return self.keeps_known_values

    @cached_property
    def model(self) -> SCSC:
        """The learner that codes."""
        return SCSC.from_bank(self.bank, beta=self.beta, weights=self.weights)

    def __getstate__(self) -> dict[str, Any]:  # plans of FFTs cannot be sent
        return {k: v for k, v in self.__dict__.items() if k != "model"}


def _read_split(
    samples: ImageSamples, working: WorkingValues, index: tuple[int, ...], part: Region
) -> tuple[Array, Array, Array | None]:
    values, working = samples.read(index, part), working.at(index)
    if samples.is_complete:
        return split_smooth(working.whiten(working.to_work(values)), None)
    missing = samples.missing(index, part)
    known = np.where(missing, 0, working.to_work(values)).astype(np.float32)
    return split_smooth(known, ~missing)
