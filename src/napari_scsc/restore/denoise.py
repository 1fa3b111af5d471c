"""Denoising by groups of similar patches."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import Remedy, UserError
from napari_scsc.groups.denoiser import GroupDenoiser
from napari_scsc.groups.passes import Passes
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis
from napari_scsc.model.general_banks import general_bank_for
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.passes import (
    has_useful_middles,
    passes_for,
    tile_memory,
    tile_shape,
)
from napari_scsc.restore.quality import LEVELS, Quality
from napari_scsc.restore.restoration import FindBank, Restoration
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import FirstLook, RestoreUpdate

_MAX_LOOK_VALUES = 1 << 22  # of an image for which a first look takes no time


def prepare(restoration: Restoration) -> Generator[RestoreUpdate, None, TileDenoiser]:
    """Find the filters, and what suits them and the image."""
    options = restoration.options

    def learn() -> FindBank:
        if restoration.is_watched and restoration.folder is None and not restoration.is_lazy:
            yield from _look_first(restoration)
        return (yield from restoration.learn_bank())

    bank = yield from restoration.find_bank(learn)
    restorer = TileDenoiser.of(
        restoration.find_span(bank, lambda shape: restoration.learn_bank(None, shape)),
        restoration.samples,
        restoration.working,
        restoration.sigma,
        options.quality,
        options.tile_memory,
    )
    return replace(restorer, bank=bank)


def _look_first(restoration: Restoration) -> Iterator[FirstLook]:
    """A draft with general filters, where it is a matter of moments."""
    samples = restoration.samples
    bank = general_bank_for(samples.joint, samples.shift)
    if bank is None or math.prod(samples.image.shape) > _MAX_LOOK_VALUES:
        return
    restorer = TileDenoiser.of(bank, samples, restoration.working, restoration.sigma, "draft")
    whole = tuple(slice(0, n) for n in samples.shift)
    for index in samples.indices():
        *_, (_, estimate) = restorer.estimates(
            samples, index, whole, None, restoration.cancellation
        )
        values = restorer.to_image(samples, index, whole, estimate)
        yield FirstLook(samples.region(index, whole), values)


@dataclass(frozen=True)
class TileDenoiser(TileRestorer):
    """Groups of similar patches, in one basis or in the mean of several."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: FilterBank
    bases: tuple[Basis, ...]
    passes: tuple[Passes, ...]
    sigma: float

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        samples: ImageSamples,
        working: WorkingValues,
        sigma: float,
        quality: Quality,
        memory: int | None = None,
    ) -> TileDenoiser:
        """What suits a bank and an image; ``sigma`` is in working values."""
        bases = _bases_of(bank, quality)
        passes = tuple(passes_for(basis.patch, quality) for basis in bases)
        size, overlap = tile_shape(samples.shift, bases[0], passes[0], memory)
        takes = tile_memory(size, bases[0], passes[0])
        return cls(working, size, overlap, takes, bank, bases, passes, sigma)

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The mean over the bases so far, after each pass."""
        work = self.working.to_work(samples.read(index, part))
        if not np.isfinite(work).all():
            raise UserError(
                f"values are missing or infinite in {samples.region(index, part)}",
                remedy=Remedy.FILL_MISSING,
            )
        mixed = self.bases[0].project(work)
        estimates: list[Array] = []
        total = sum(passes.n_passes for passes in self.passes)
        n_passed = 0
        for basis, passes in zip(self.bases, self.passes, strict=True):
            denoiser = GroupDenoiser(basis, passes, executor, cancellation)
            for estimate in denoiser.estimates(mixed, self.sigma):
                n_passed += 1
                mean = np.mean([*estimates, estimate], axis=0)
                yield n_passed / total, self.bases[0].back(mean)
            estimates.append(estimate)


def _bases_of(bank: FilterBank, quality: Quality) -> tuple[Basis, ...]:
    """The bases to restore in: that of the filters, and perhaps that of their middles."""
    basis = Basis.of(bank)
    if not (LEVELS[quality].uses_middles and has_useful_middles(bank.support)):
        return (basis,)
    return basis, Basis.of(bank, tuple(max(2, s - 2) for s in bank.support))
