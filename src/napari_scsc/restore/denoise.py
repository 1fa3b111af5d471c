"""Denoise an image of any kind, in memory, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.choices import Quality
from napari_scsc.data.samples import ImageSamples, check_bank, open_samples
from napari_scsc.learn.loop import learning, places_to_learn_from
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis
from napari_scsc.model.general_banks import general_bank_for
from napari_scsc.noise.find import find_noise
from napari_scsc.noise.working import WorkingValues, check_sigma
from napari_scsc.restore.groups.denoiser import Chain, Passes
from napari_scsc.restore.options import Options, check_out
from napari_scsc.restore.output import ResultFolder, open_result_folder, write_result
from napari_scsc.restore.paper import denoising
from napari_scsc.restore.quality import has_useful_middles, passes_of, tile_memory, tile_shape
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import RestoreUpdate, Updates, hold_to_one_thread

_LOOK = 1 << 22  # values that a first look takes no time for


def _begin(
    image: Any, kind: Any, axes: Any, options: Options, watched: bool, cancellation: Cancellation
) -> Updates:
    """``watched``: somebody wants to see something soon."""
    source = open_samples(image, None, kind, axes)
    check_sigma(options.sigma, source)
    if source.has_missing:
        raise ValueError(
            "the image has missing values (NaN or masked, "
            f"{source.range.n_nan + source.range.n_masked} were counted): "
            "inpaint(image, None) fills them, and denoises with sigma=..."
        )
    if options.bank is not None:
        check_bank(options.bank, source)
    check_out(options.out, source)
    workspace = open_result_folder(source, options, "denoise")
    return hold_to_one_thread(_updates(source, options, workspace, watched, cancellation))


def _updates(
    source: ImageSamples,
    options: Options,
    workspace: ResultFolder | None,
    watched: bool,
    cancellation: Cancellation,
) -> Updates:
    if workspace:
        workspace.begin()
    find = partial(find_noise, source, options.sigma)
    noise = workspace.noise(find) if workspace else find()
    found = RestoreUpdate(
        "noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise, remarks=noise.remarks
    )
    yield found
    if noise.sigma == 0 and workspace is None:
        # Without noise the image is its own best estimate.
        result = options.out
        if result is None:
            result = source.image.like(np.array(source.image.whole()))
        else:
            result[...] = source.image.whole()
        yield replace(found, stage="done", done=1.0, message="no noise found", result=result)
        return
    working = WorkingValues(source, noise)
    sigma = working.sigma * options.strength
    if options.method != "scsc":
        coder, learned = yield from denoising(source, working, sigma, options, cancellation)
        common = replace(found, stage="restore", bank=learned)
        yield from write_result(source, coder, common, options, workspace, cancellation)
        return
    bank = options.bank or (workspace.bank() if workspace else None)
    if bank is None:
        if watched and workspace is None and not (options.out is None and source.image.is_lazy):
            yield from _first_look(source, working, sigma, found, cancellation)
        tiles = [
            working.to_work(source.read(*place))
            for place in places_to_learn_from(source, options.seed)
        ]
        bank = yield from learning(tiles, source, sigma, options.seed, cancellation)
    if workspace:
        workspace.keep_bank(bank)
    memory = options.tile_memory
    restorer = Denoiser.of(bank, source, working, sigma, options.quality, memory)
    common = replace(found, stage="restore", bank=bank)
    yield from write_result(source, restorer, common, options, workspace, cancellation)


def _first_look(
    source: ImageSamples,
    working: WorkingValues,
    sigma: float,
    found: RestoreUpdate,
    cancellation: Cancellation,
) -> Updates:
    """A draft with general filters, where it is a matter of moments."""
    bank = general_bank_for(source.joint, source.shift)
    if bank is None or math.prod(source.image.shape) > _LOOK:
        return
    restorer = Denoiser.of(bank, source, working, sigma, "draft")
    whole = tuple(slice(0, n) for n in source.shift)
    for index in source.indices():
        *_, (_, estimate) = restorer.estimates(source, index, whole, None, cancellation)
        values = restorer.finished(source, index, whole, estimate)
        region = source.region(index, whole)
        yield replace(found, stage="look", message="a first look", region=region, values=values)


@dataclass(frozen=True)
class Denoiser(TileRestorer):
    """Groups of similar patches, in one basis or in the mean of several."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bases: tuple[Basis, ...]
    passes: tuple[Passes, ...]
    sigma: float

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        source: ImageSamples,
        working: WorkingValues,
        sigma: float,
        quality: Quality,
        memory: int | None = None,
    ) -> Denoiser:
        """What suits a bank and a source; ``sigma`` is in working values."""
        bases = tuple(bases_of(bank, quality))
        passes = tuple(passes_of(basis.patch, quality) for basis in bases)
        size, overlap = tile_shape(source.shift, bases[0], passes[0], memory)
        takes = tile_memory(size, bases[0], passes[0])
        return cls(working, size, overlap, takes, bases, passes, sigma)

    def estimates(
        self,
        source: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The mean of the bases so far, after each pass."""
        work = self.working.to_work(source.read(index, part))
        if not np.isfinite(work).all():
            raise ValueError(
                f"values are missing or infinite in {source.region(index, part)}: inpaint fills "
                "them, and denoises with sigma=..."
            )
        mixed = self.bases[0].project(work)
        done: list[Array] = []
        total = sum(own.n_passes for own in self.passes)
        seen = 0
        for basis, passes in zip(self.bases, self.passes, strict=True):
            chain = Chain(basis, passes, executor, cancellation)
            for estimate in chain.estimates(mixed, self.sigma):
                seen += 1
                yield seen / total, self.bases[0].back(np.mean([*done, estimate], axis=0))
            done.append(estimate)


def bases_of(bank: FilterBank, quality: Quality) -> list[Basis]:
    """The bases to restore in; at best quality also that of the filters' middles."""
    found = [Basis.of(bank)]
    smaller = tuple(max(2, s - 2) for s in bank.support)
    if quality == "best" and has_useful_middles(bank.support):
        found.append(Basis.of(bank, smaller))
    return found
