"""The paper's own inference, for comparison: a convolutional code of each tile, as it comes."""

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
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.learn.models import (
    N_BASE,
    N_FILTERS,
    PRICE,
    Split,
    ignore_zero_codes,
    split_smooth,
    support_for,
)
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.scsc import SCSC
from napari_scsc.model.settings import Weights
from napari_scsc.model.updates import Code
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.options import Options
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import LEARNING, RestoreUpdate, Updates

_NOISELESS = 0.002  # of the working range: the price of a code where there is no noise
_TILE = {1: 4096, 2: 128, 3: 40}
_OVERLAP = {1: 64, 2: 24, 3: 8}
Found = Generator[RestoreUpdate, None, tuple["Coder", FilterBank]]


def denoising(
    source: ImageSamples,
    working: WorkingValues,
    sigma: float,
    options: Options,
    cancellation: Cancellation,
) -> Found:
    """Denoise by coding: what the filters cannot say in few words is taken for noise."""
    return (yield from _restoring(source, working, PRICE * sigma, options, cancellation, False))


def inpainting(
    source: ImageSamples,
    working: WorkingValues,
    sigma: float,
    options: Options,
    cancellation: Cancellation,
    keep_known: bool,
) -> Found:
    """Inpaint by coding what is known; the code says what is not."""
    return (yield from _restoring(source, working, price(sigma), options, cancellation, keep_known))


def price(sigma: float, levels: float | None = None) -> float:
    """The beta of so many noise levels, or of what suits, in working values as the level is."""
    return max((PRICE if levels is None else levels) * sigma, _NOISELESS)


def _restoring(
    source: ImageSamples,
    working: WorkingValues,
    beta: float,
    options: Options,
    cancellation: Cancellation,
    keep_known: bool,
) -> Found:
    weights: Weights = "identity" if options.method == "ocsc-paper" else "sample"
    bank = options.bank
    if bank is None:
        bank = yield from _learned(source, working, beta, weights, options.seed, cancellation)
    coder = Coder.of(bank, source, working, beta, options.tile_memory, weights, keep_known)
    return coder, coder.bank


@dataclass(frozen=True)
class Coder(TileRestorer):
    """Restores a tile by its convolutional code."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: FilterBank
    beta: float
    weights: Weights
    keep_known: bool

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        source: ImageSamples,
        working: WorkingValues,
        beta: float,
        memory: int | None = None,
        weights: Weights = "sample",
        keep_known: bool = False,
    ) -> Coder:
        """What suits a bank and a source; ``beta`` is in working values."""
        model = SCSC.from_bank(bank, beta=beta, weights=weights)
        n_shift = len(source.shift)
        # Two codes, their gradients and spectra, each of K values a point.
        a_point = 8 * 4 * model.settings.n_filters
        side = _TILE[n_shift]
        if memory is not None:
            side = min(side, int((memory / a_point) ** (1 / n_shift)))
        least = (o + _OVERLAP[n_shift] for o in bank.support)
        size = tuple(min(n, max(side, m)) for n, m in zip(source.shift, least, strict=True))
        overlap = tuple(min(s - 1, _OVERLAP[n_shift]) for s in size)
        takes = a_point * math.prod(size)
        return cls(working, size, overlap, takes, model.bank, beta, weights, keep_known)

    def estimates(
        self,
        source: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The smooth part, and what the code says."""
        smooth, code = self.code(source, index, part, cancellation)
        yield 1.0, smooth if code is None else smooth + code.reconstruction.reshape(smooth.shape)

    def code(
        self,
        source: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        cancellation: Cancellation = NEVER,
    ) -> tuple[Array, Code | None]:
        """The smooth part (C, *part) of a tile, and the code of the rest.

        None where nothing of the tile is known.
        """
        cancellation.check()
        smooth, detail, known = _read(source, self.working, index, part)
        if known is not None and not known.any():
            return smooth, None
        code = self.model.encode(
            detail.reshape(*source.joint, *detail.shape[1:]),
            None if known is None else known.reshape(*source.joint, *known.shape[1:]),
            cancellation=cancellation,
            warn=False,  # a tile without any code is smooth: that is an answer here
        )
        return smooth, code

    @property
    def keeps_known(self) -> bool:
        """As it was asked for."""
        return self.keep_known

    @cached_property
    def model(self) -> SCSC:
        """The learner that codes."""
        return SCSC.from_bank(self.bank, beta=self.beta, weights=self.weights)

    def __getstate__(self) -> dict[str, Any]:  # plans of FFTs cannot be sent
        return {k: v for k, v in self.__dict__.items() if k != "model"}


def _learned(
    source: ImageSamples,
    working: WorkingValues,
    beta: float,
    weights: Weights,
    seed: int,
    cancellation: Cancellation,
) -> Generator[RestoreUpdate, None, FilterBank]:
    """Filters learned from tiles of the image."""
    n_shift = len(source.shift)
    tiles = [
        _read(source, working, index, part)
        for index, part in draw_tiles(source, _TILE[n_shift] ** n_shift, 8, seed)
    ]
    model = SCSC(
        n_base=32 if weights == "identity" else N_BASE,
        n_filters=32 if weights == "identity" else N_FILTERS,
        filter_shape=support_for(tiles, n_shift),
        n_joint=len(source.joint),
        beta=beta,
        weights=weights,
        max_iter=60,
        seed=seed,
    )
    yield from _fitting(model, tiles, source.joint, 1, LEARNING, cancellation)
    return model.bank


def _fitting(
    model: SCSC,
    tiles: list[Split],
    joint: tuple[int, ...],
    passes: int,
    share: float,
    cancellation: Cancellation,
) -> Updates:
    """Learn from tiles of any size, those that are smaller padded with what was not measured."""
    largest = max(tiles, key=lambda t: t[1].size)[1].shape[1:]
    total = passes * len(tiles)
    for number in range(total):
        _, detail, known = tiles[number % len(tiles)]
        short = [(0, m - n) for m, n in zip(largest, detail.shape[1:], strict=True)]
        there = np.ones(detail.shape, bool) if known is None else known
        sample = tuple(
            np.pad(a, [(0, 0), *short]).reshape(*joint, *largest) for a in (detail, there)
        )
        with ignore_zero_codes():
            (update,) = model.iter_fit([sample], cancellation=cancellation)
        yield RestoreUpdate(
            "learn",
            share * (number + 1) / total,
            f"learned from tile {number + 1} of {total}",
            learned=update,
            bank=model.bank,
        )


def _read(
    source: ImageSamples, working: WorkingValues, index: tuple[int, ...], part: Region
) -> Split:
    values = source.read(index, part)
    if not source.has_missing and source.is_known_whole:
        return split_smooth(working.to_work(values), None)
    missing = source.missing(index, part)
    known = np.where(missing, 0, working.to_work(values)).astype(np.float32)
    return split_smooth(known, ~missing)
