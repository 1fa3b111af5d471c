"""Denoising by groups of similar patches."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import Remedy, UserError
from napari_scsc.groups.denoiser import GroupDenoiser, GroupEstimate
from napari_scsc.groups.passes import Passes
from napari_scsc.groups.single_patches import denoise_patches
from napari_scsc.learning.models import patch_shape
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis
from napari_scsc.model.general_banks import general_bank_for
from napari_scsc.model.threads import single_threaded
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.joint_scenes import JointScenes, SceneBases
from napari_scsc.restore.passes import passes_for, tile_memory, tile_shape
from napari_scsc.restore.quality import LEVELS, Quality
from napari_scsc.restore.restoration import FindBank, Restoration
from napari_scsc.run.tile_restorer import MapName, TileRestorer
from napari_scsc.run.updates import FirstLook, RestoreUpdate

_MAX_LOOK_VALUES = 1 << 22  # of an image for which a first look takes no time


def prepare(restoration: Restoration) -> Generator[RestoreUpdate, None, TileDenoiser]:
    """Find the filters, and what suits them and the image."""
    options = restoration.options
    scenes = None
    if restoration.samples.n_joint > 1 and not options.noise_filters:
        scenes = JointScenes.find(restoration.samples, restoration.working, restoration.sigma)
    wanted = scenes.patch_shape(restoration.samples.shift) if scenes else None

    def learn() -> FindBank:
        if restoration.is_watched and restoration.folder is None and not restoration.is_lazy:
            yield from _look_first(restoration)
        return (yield from restoration.learn_bank(None, wanted))

    bank = yield from restoration.find_bank(learn)
    restorer = TileDenoiser.of(
        restoration.find_span(bank, lambda shape: restoration.learn_bank(None, shape or wanted)),
        restoration.samples,
        restoration.working,
        restoration.sigma,
        options.quality,
        options.tile_memory,
    )
    if options.noise_filters:
        noise = _noise_filters(bank, options.noise_filters)
        restorer = replace(restorer, basis=restorer.basis.without(noise))
    if scenes:
        restorer = replace(restorer, scenes=scenes.bases(restorer.bank))
    if restoration.working.may_have_frame_classes:
        stills = yield from _prepare_stills(restoration, restorer)
        if scenes:
            stills = replace(stills, scenes=scenes.bases(stills.bank))
        restorer = replace(restorer, stills=stills)
    return replace(restorer, bank=bank, maps=restoration.maps)


def _prepare_stills(
    restoration: Restoration, restorer: TileDenoiser
) -> Generator[RestoreUpdate, None, TileDenoiser]:
    """Filters of one frame each, for frames that have few of their kind."""
    samples, options = restoration.samples, restoration.options
    shape = (1, *patch_shape(samples.shift[1:], restorer.basis.n_flat, noisy=False))
    bank = yield from restoration.find_second_bank(lambda: restoration.learn_bank(None, shape))
    return TileDenoiser.of(
        bank, samples, restorer.working, restorer.sigma, options.quality, options.tile_memory
    )


def _noise_filters(bank: FilterBank, numbers: Sequence[int]) -> Array:
    """Those filters of a bank that are noise; refuses what cannot be."""
    n_flat = math.prod(bank.joint)
    if not bank.is_of_patches:
        raise UserError(
            "names filters of a bank that is not of patches",
            argument="noise_filters",
            remedy="learn with model='patches'",
        )
    wrong = [n for n in numbers if not n_flat <= n < bank.n_base]
    if wrong:
        raise UserError(
            f"names the filter {wrong[0]}, but those that can be noise are {n_flat} to "
            f"{bank.n_base - 1} (the ones before are the brightness)",
            argument="noise_filters",
        )
    return bank.filters[list(numbers)]


def _look_first(restoration: Restoration) -> Iterator[FirstLook]:
    """Patches by themselves in general filters, where it is a matter of moments."""
    samples = restoration.samples
    bank = general_bank_for(samples.joint, samples.shift)
    if bank is None or math.prod(samples.image.shape) > _MAX_LOOK_VALUES:
        return
    basis = Basis.of(bank)
    whole = tuple(slice(0, n) for n in samples.shift)
    for index in samples.indices():
        working = restoration.working.at(index, whole)
        mixed = basis.project(working.whiten(_read(samples, working, index, whole)))
        with single_threaded():
            estimate = denoise_patches(mixed, basis, restoration.sigma, restoration.cancellation)
        work = working.colour(basis.back(estimate))
        values = working.from_work(work, samples.image.dtype)
        yield FirstLook(samples.region(index, whole), samples.as_image(values))


def _read(
    samples: ImageSamples, working: WorkingValues, index: tuple[int, ...], part: Region
) -> Array:
    """Working values (C, *part), all of them finite."""
    work = working.to_work(samples.read(index, part))
    if not np.isfinite(work).all():
        raise UserError(
            f"values are missing or infinite in {samples.region(index, part)}",
            remedy=Remedy.FILL_MISSING,
        )
    return work


@dataclass(frozen=True, slots=True)
class _Piece:
    """Joint values and frames of a tile that are denoised together.

    Attributes
    ----------
    place : tuple of ndarray
        Their numbers, as an index into a tile (C, *shift).
    basis : Basis
        What their patches are expressed in.
    estimates : iterator of GroupEstimate
        Of their mixtures, after each pass.
    """

    place: tuple[Array, ...]
    basis: Basis
    estimates: Iterator[GroupEstimate]


@dataclass(frozen=True)
class TileDenoiser(TileRestorer):
    """Groups of similar patches.

    ``stills`` is for frames that have fewer of their kind than a patch is deep.
    """

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: FilterBank
    basis: Basis
    passes: Passes
    sigma: float
    maps: tuple[MapName, ...] = ()
    scenes: SceneBases = ()
    stills: TileDenoiser | None = None

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
        basis = Basis.of(bank)
        if LEVELS[quality].leaves_out_weak_filters:
            basis = basis.without_weak(bank)
        passes = passes_for(basis.patch, quality)
        size, overlap = tile_shape(samples.shift, basis, passes, memory)
        takes = tile_memory(size, basis)
        return cls(working, size, overlap, takes, bank, basis, passes, sigma)

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The estimate after each pass, the last one with its maps."""
        working = self.working.at(index, part)
        work = _read(samples, working, index, part)
        yield from self.denoise_values(work, working, executor, cancellation)

    def denoise_values(
        self,
        work: Array,
        working: WorkingValues,
        executor: Executor | None,
        cancellation: Cancellation,
    ) -> Iterator[tuple[float, Array]]:
        """The same of working values (C, *part), none of which is missing."""
        white, kept = working.whiten(work), working.kept_outliers(work)
        pieces = [
            piece
            for frames in working.frame_classes or (np.arange(white.shape[1]),)
            for piece in self._for_frames(frames)._pieces(white, frames, executor, cancellation)
        ]
        for number, estimates in enumerate(zip(*(p.estimates for p in pieces), strict=True), 1):
            pairs = list(zip(pieces, estimates, strict=True))
            values = _put_together([(p, p.basis.back(e.values)) for p, e in pairs], white.shape)
            is_last = number == self.passes.n_passes
            maps = [_map(n, pairs, white.shape, working) for n in self.maps] if is_last else []
            yield (
                number / self.passes.n_passes,
                np.concatenate([np.where(kept, work, working.colour(values)), *maps]),
            )

    def _for_frames(self, frames: Array) -> TileDenoiser:
        """The one for these frames, which may be fewer than a patch needs."""
        is_few = len(frames) < self.basis.patch[0]
        return self.stills if is_few and self.stills is not None else self

    def _pieces(
        self, white: Array, frames: Array, executor: Executor | None, cancellation: Cancellation
    ) -> Iterator[_Piece]:
        """The estimates of each scene in these frames."""
        for chosen, basis in self.scenes or ((tuple(range(len(white))), self.basis),):
            place = np.ix_(np.array(chosen), frames)
            denoiser = GroupDenoiser(basis, self.passes, executor, cancellation)
            yield _Piece(place, basis, denoiser.estimates(basis.project(white[place]), self.sigma))


def _put_together(parts: Sequence[tuple[_Piece, Array]], shape: tuple[int, ...]) -> Array:
    """What there is of each piece, in its place of a tile of that shape."""
    whole = np.empty(shape, np.float32)
    for piece, part in parts:
        whole[piece.place] = part
    return whole


def _map(
    name: MapName,
    pairs: Sequence[tuple[_Piece, GroupEstimate]],
    shape: tuple[int, ...],
    working: WorkingValues,
) -> Array:
    """A map of a tile of that shape, of the estimates of each piece."""
    if name == "support":
        return _put_together([(piece, estimate.support) for piece, estimate in pairs], shape)
    errors = [(piece, piece.basis.error_back(estimate.error)) for piece, estimate in pairs]
    return working.colour_error(_put_together(errors, shape))
