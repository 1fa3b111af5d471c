"""The models that can be learned, seen alike: samples from tiles, a bank, a checkpoint.

A tile is an array (C, *shift) as the image has it, masked where values are missing. A model makes
samples of tiles in *learning values*: the working values of the first image, in which the noise of
every image has the level ``sigma``.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learning.details import Pilot, split_smooth
from napari_scsc.learning.plan import LearnPlan
from napari_scsc.learning.sampler import is_complete
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.scsc import SCSC
from napari_scsc.model.settings import Weights
from napari_scsc.model.solver.orthonormal_step import project_orthonormal
from napari_scsc.model.threads import Executor, single_threaded
from napari_scsc.model.updates import SampleUpdate, ZeroCodeWarning
from napari_scsc.noise.working import WorkingValues

NOISELESS_LEVEL = 1e-3  # of the range of an image: the noise that is assumed where there is none
_N_BASE, _N_FILTERS, _N_OCSC_FILTERS = 24, 100, 32
_CODE_ITERATIONS = 80  # more of them fit the weights to the noise
_OCSC_PRICE = 4.0  # beta, in noise levels
_PRICE_AFTER_PILOT = 0.8  # the same, where a pilot has taken most of the noise away
FORGET_IN_NOISE = 0.1  # a longer memory than without noise: it averages the noise of the codes


@dataclass(frozen=True, slots=True)
class LearningValues:
    """Turns tiles of one image into learning values; can be sent to other processes.

    Attributes
    ----------
    working : WorkingValues
        Of the image.
    factor : float
        The noise level of the first image over that of this one.
    """

    working: WorkingValues
    factor: float

    @classmethod
    def of_images(cls, working: list[WorkingValues]) -> list[LearningValues]:
        """Those of several images."""
        first = noise_level(working[0])
        return [cls(w, first / noise_level(w)) for w in working]

    def __call__(self, tile: Array) -> Array:
        """A tile (C, *shift) in learning values, float32."""
        values = self.working.to_work(np.ma.getdata(tile))
        if is_complete(tile):
            values = self.working.whiten(values)
        return values if self.factor == 1 else values * np.float32(self.factor)


def noise_level(working: WorkingValues) -> float:
    """The level of the noise in working values, for learning never zero."""
    return working.sigma or NOISELESS_LEVEL


class LearnableModel(ABC):
    """A model while it is learned."""

    @classmethod
    @abstractmethod
    def begin(cls, plan: LearnPlan, tiles: list[Array], sigma: float) -> LearnableModel:
        """Begin, judging by the first tiles (C, *shift) in learning values, NaN where missing."""

    @classmethod
    @abstractmethod
    def resume(cls, plan: LearnPlan, path: Path) -> LearnableModel:
        """Go on from a checkpoint."""

    @staticmethod
    @abstractmethod
    def is_usable(tile: Array) -> bool:
        """Whether the model can learn from a tile, which may have missing values."""

    @property
    @abstractmethod
    def bank(self) -> FilterBank:
        """The filters so far, over all joint values."""

    @abstractmethod
    def sampler(self, to_learning: LearningValues) -> Callable[[Array], Any]:
        """The function that makes a sample of a tile; it can be sent to other processes."""

    @abstractmethod
    def learn(
        self, samples: list[Any], executor: Executor, cancellation: Cancellation
    ) -> list[SampleUpdate]:
        """Learn from a batch of samples."""

    @abstractmethod
    def write_checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""


def _is_known_somewhere(tile: Array) -> bool:
    return bool((~missing_in(tile)).any())


def missing_in(tile: Array) -> Array:
    """Where values of a tile are missing: masked, or not finite."""
    return np.asarray(np.ma.getmaskarray(tile) | ~np.isfinite(np.ma.getdata(tile)))


# --- filters for codes on a lattice -------------------------------------------------------------


class LatticeModel(LearnableModel):
    """``LatticeSCSC`` of a few mixtures of the joint values."""

    is_usable = staticmethod(is_complete)

    def __init__(self, learner: LatticeSCSC, mixtures: Array, samples: ImageSamples) -> None:
        self.learner = learner
        self._mixtures = mixtures
        self._joint, self._kind = samples.joint, samples.axes.kind

    @classmethod
    def begin(cls, plan: LearnPlan, tiles: list[Array], sigma: float) -> LatticeModel:
        """Begin with the mixtures and the filter shape that suit the tiles."""
        options, samples = plan.options, plan.images[0]
        if options.bank is not None:
            mixtures = Basis.of(options.bank).mixtures
            bank = _mix_bank(options.bank, mixtures)
            learner = LatticeSCSC.from_bank(bank, sigma=sigma, seed=options.seed)
            return cls(learner, mixtures, samples)
        shape = None if options.filter_shape is None else tuple(options.filter_shape)
        return cls.for_tiles(
            tiles, samples, sigma, options.seed, options.n_base, shape, plan.shortest_tile
        )

    @classmethod
    def for_tiles(
        cls,
        tiles: list[Array],
        samples: ImageSamples,
        sigma: float,
        seed: int,
        n_base: int | None = None,
        filter_shape: tuple[int, ...] | None = None,
        shortest_tile: tuple[int, ...] | None = None,
    ) -> LatticeModel:
        """What suits tiles (C, *shift) in which the noise has the level ``sigma``."""
        mixtures = mixtures_above_noise(tiles, sigma)
        if filter_shape is None:
            filter_shape = _filter_shape_for(tiles, mixtures, samples, sigma)
            if shortest_tile is not None:
                filter_shape = tuple(map(min, filter_shape, shortest_tile))
        learner = LatticeSCSC(n_base, filter_shape, 1, sigma=sigma, seed=seed)
        return cls(learner, mixtures, samples)

    @classmethod
    def resume(cls, plan: LearnPlan, path: Path) -> LatticeModel:
        """Go on from a checkpoint."""
        learner = LatticeSCSC.resume(path)
        with reporting_damage(path):
            mixtures = LatticeSCSC.notes(path)[1]["mixtures"]
        return cls(learner, mixtures, plan.images[0])

    @property
    def bank(self) -> FilterBank:
        """The filters so far, over all joint values."""
        mixed = self.learner.bank
        return FilterBank(
            filters=_unmix_filters(mixed.filters, self._mixtures, self._joint),
            n_joint=len(self._joint),
            info={**mixed.info, "kind": self._kind},
        )

    def sampler(self, to_learning: LearningValues) -> Callable[[Array], Any]:
        """Mixes the joint values of a tile."""
        return partial(_mix_tile, to_learning=to_learning, mixtures=self._mixtures)

    def mix(self, values: Array) -> Array:
        """A sample of a tile (C, *shift) that is in learning values already."""
        return np.tensordot(self._mixtures, values, axes=1)

    def learn(
        self, samples: list[Any], executor: Executor, cancellation: Cancellation
    ) -> list[SampleUpdate]:
        """Learn from a batch of samples."""
        return self.learner.learn_batch(samples, executor, cancellation)

    def write_checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state and the mixtures, with notes."""
        self.learner.checkpoint(path, notes, {"mixtures": self._mixtures})


def _mix_tile(tile: Array, *, to_learning: LearningValues, mixtures: Array) -> Array:
    with single_threaded():
        return np.tensordot(mixtures, to_learning(tile), axes=1)


def patch_shape(shift: tuple[int, ...], n_mixtures: int, noisy: bool) -> tuple[int, ...]:
    """Lengths of the filters on the shift axes; ``noisy``: the noise is stronger than the signal.

    About 50 to 100 values a patch, whatever the number of dimensions: fewer cannot tell signal
    from noise, more have no similar neighbours.
    """
    wanted: tuple[int, ...]
    if len(shift) == 1:
        wanted = (max(4, 32 // n_mixtures),)
    elif len(shift) == 2:
        side = {1: 10 if noisy else 8, 2: 6, 3: 5, 4: 5, 5: 4}.get(n_mixtures, 3)
        wanted = (side, side)
    else:
        wanted = {1: (4, 5, 5), 2: (3, 4, 4), 3: (2, 4, 4)}.get(n_mixtures, (2, 3, 3))
    # A small image needs several places for a patch, or there is nothing to compare it with.
    return tuple(min(max(2, n // 2), w) for n, w in zip(shift, wanted, strict=True))


def _filter_shape_for(
    tiles: list[Array], mixtures: Array, samples: ImageSamples, sigma: float
) -> tuple[int, ...]:
    spread = float(np.mean([np.var(np.tensordot(mixtures[0], tile, axes=1)) for tile in tiles]))
    noisy = sigma**2 > max(spread - sigma**2, 0)
    patch = patch_shape(samples.shift, len(mixtures), noisy)
    return tuple(min(p, *(tile.shape[1 + i] for tile in tiles)) for i, p in enumerate(patch))


def _unmix_filters(filters: Array, mixtures: Array, joint: tuple[int, ...]) -> Array:
    """Filters (R, k, *support) of mixtures as filters (R, *joint, *support)."""
    full = np.einsum("kc,rk...->rc...", mixtures, filters)
    return np.asarray(full.reshape(len(filters), *joint, *filters.shape[2:]), np.float32)


def _mix_bank(bank: FilterBank, mixtures: Array) -> FilterBank:
    """The bank (R, *joint, *support) with filters (R, k, *support) of the mixtures."""
    values = bank.filters.reshape(bank.n_base, -1, *bank.support)
    mixed = np.einsum("kc,rc...->rk...", mixtures, values).astype(np.float32)
    return FilterBank(mixed, 1, info=bank.info)


# --- convolutional filters ----------------------------------------------------------------------


class ConvolutionalModel(LearnableModel):
    """``SCSC`` of denoised tiles, without their smooth part."""

    is_usable = staticmethod(_is_known_somewhere)
    weights: ClassVar[Weights] = "sample"

    def __init__(self, learner: SCSC, plan: LearnPlan, pilot: Pilot | None) -> None:
        self.learner = learner
        self._pilot = pilot
        self._joint, self._kind = plan.images[0].joint, plan.images[0].axes.kind
        # Statistics of filters in balls have the size of the first tile: smaller ones are padded.
        self._longest = plan.longest_tile if learner.settings.filters == "ball" else None
        self._name = plan.options.model
        self._has_masks = not all(s.is_complete for s in plan.images)

    @classmethod
    def begin(cls, plan: LearnPlan, tiles: list[Array], sigma: float) -> ConvolutionalModel:
        """Begin where patches of the tiles vary most."""
        options, joint = plan.options, plan.images[0].joint
        shape = options.filter_shape or code_filter_shape(plan.shortest_tile)
        identity = cls.weights == "identity"
        if options.bank is not None:
            n_base = options.bank.n_base
        else:
            most = math.prod(joint) * math.prod(shape)
            n_base = options.n_base or (_N_OCSC_FILTERS if identity else min(_N_BASE, most))
        price = _OCSC_PRICE if identity else _PRICE_AFTER_PILOT
        beta = (price if options.beta is None else options.beta) * sigma
        if plan.beta is not None:
            beta = plan.beta
        settings: dict[str, Any] = {
            "n_filters": n_base if identity else options.n_filters or _N_FILTERS,
            "beta": beta,
            "ball": options.ball,
            "weights": cls.weights,
            "max_iter": _CODE_ITERATIONS,
            "seed": options.seed,
        }
        if identity:
            if options.bank is not None:
                return cls(SCSC.from_bank(options.bank, beta=beta), plan, None)
            learner = SCSC(n_base, filter_shape=shape, n_joint=len(joint), **settings)
            return cls(learner, plan, None)
        pilot = _pilot_for(plan, tiles, sigma)
        if options.bank is not None:
            return cls(SCSC.from_bank(options.bank, beta=beta), plan, pilot)
        start = FilterBank(
            _first_filters(tiles, n_base, (*joint, *shape), len(joint), sigma, options.seed),
            len(joint),
        )
        return cls(SCSC.from_bank(start, forget=FORGET_IN_NOISE, **settings), plan, pilot)

    @classmethod
    def resume(cls, plan: LearnPlan, path: Path) -> ConvolutionalModel:
        """Go on from a checkpoint."""
        _, arrays = SCSC.notes(path)
        with reporting_damage(path):
            pilot = Pilot.from_arrays(arrays) if arrays else None
        return cls(SCSC.resume(path), plan, pilot)

    @property
    def bank(self) -> FilterBank:
        """The filters so far."""
        found = self.learner.bank
        return replace(found, info={**found.info, "learner": self._name, "kind": self._kind})

    def sampler(self, to_learning: LearningValues) -> Callable[[Array], Any]:
        """Takes the noise and the smooth part of a tile away."""
        return partial(
            _split_tile,
            to_learning=to_learning,
            pilot=self._pilot,
            joint=self._joint,
            longest=self._longest,
            has_mask=self._has_masks,
        )

    def learn(
        self, samples: list[Any], executor: Executor, cancellation: Cancellation
    ) -> list[SampleUpdate]:
        """Learn from a batch of samples."""
        with _ignore_zero_codes():
            return self.learner.learn_batch(samples, executor, cancellation)

    def write_checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state and the pilot, with notes."""
        self.learner.checkpoint(path, notes, self._pilot.arrays() if self._pilot else None)


class OCSCModel(ConvolutionalModel):
    """The paper's predecessor: as many base filters as filters, and no weights."""

    weights: ClassVar[Weights] = "identity"


MODELS: dict[str, type[LearnableModel]] = {
    "patches": LatticeModel,
    "scsc": ConvolutionalModel,
    "ocsc": OCSCModel,
}


@contextmanager
def _ignore_zero_codes() -> Iterator[None]:
    # A tile without any code is smooth: that is an answer here, not a wrong setting.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        yield


def _split_tile(
    tile: Array,
    *,
    to_learning: LearningValues,
    pilot: Pilot | None,
    joint: tuple[int, ...],
    longest: tuple[int, ...] | None,
    has_mask: bool,
) -> tuple[Array, Array | None]:
    """The sample (*joint, *shift) of a tile, of the lengths ``longest`` if there are any.

    And where it is known; None: everywhere.
    """
    values, known = to_learning(tile), None
    if has_mask:
        known = ~missing_in(tile)
        values = np.where(known, values, 0).astype(np.float32)
    if pilot is not None:
        values = pilot(values, known)
    _, detail, _ = split_smooth(values, known)
    if longest is None:
        shape = (*joint, *detail.shape[1:])
        return detail.reshape(shape), None if known is None else known.reshape(shape)
    if known is None:
        known = np.ones(detail.shape, bool)
    padding = [(0, 0), *((0, m - n) for m, n in zip(longest, detail.shape[1:], strict=True))]
    shape = (*joint, *longest)
    return np.pad(detail, padding).reshape(shape), np.pad(known, padding).reshape(shape)


def _pilot_for(plan: LearnPlan, tiles: list[Array], sigma: float) -> Pilot:
    """What takes the noise of such tiles away: filters of their patches, learned in a moment."""
    samples, seed = plan.images[0], plan.options.seed
    whole = []
    for tile in tiles:
        known = np.isfinite(tile)
        values = np.where(known, tile, 0).astype(np.float32)
        whole.append(
            values if known.all() else np.where(known, values, split_smooth(values, known)[0])
        )
    model = LatticeModel.for_tiles(whole, samples, sigma, seed, None, None, plan.shortest_tile)
    model.learner.fit([model.mix(tile) for tile in whole])
    return Pilot(Basis.of(model.bank), sigma)


def _first_filters(
    tiles: list[Array],
    n_base: int,
    shape: tuple[int, ...],
    n_joint: int,
    sigma: float,
    seed: int,
) -> Array:
    """Filters (R, *joint, *support) in which patches of the tiles vary most, and random ones.

    Random filters alone answer to noise as much as to what is in the tiles, and at a price that
    stands above noise they would never be used. Random are those that the tiles do not decide.
    """
    random = np.random.default_rng([seed, 0]).standard_normal((n_base, *shape))
    details = []
    for tile in tiles:
        known = np.isfinite(tile)
        details.append(split_smooth(np.where(known, tile, 0).astype(np.float32), known)[1])
    mixtures = mixtures_above_noise(details, sigma)
    n_mixed, support = len(mixtures), shape[n_joint:]
    most = n_mixed * math.prod(support)
    learner = LatticeSCSC(min(n_mixed + n_base, most), support, 1, sigma=sigma, seed=seed)
    learner.fit([np.tensordot(mixtures, detail, axes=1) for detail in details])
    lively = learner.bank.filters[n_mixed:]  # without the constants
    rows = random.reshape(n_base, -1)
    first = _unmix_filters(lively, mixtures, shape[:n_joint]).reshape(-1, rows.shape[1])
    rows[: len(first)] = first
    rows[len(first) :] -= (rows[len(first) :] @ first.T) @ first
    return project_orthonormal(random).astype(np.float32)


def code_filter_shape(shortest_tile: tuple[int, ...]) -> tuple[int, ...]:
    """Lengths of convolutional filters, which are no longer than the shortest tile."""
    wanted = {1: (16,), 2: (11, 11), 3: (5, 7, 7)}[len(shortest_tile)]
    return tuple(map(min, wanted, shortest_tile))
