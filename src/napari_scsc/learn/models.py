"""The models that can be learned, seen alike: samples from tiles, a bank, a checkpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learn.request import Request
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.scsc import SCSC
from napari_scsc.model.threads import Executor, single_threaded
from napari_scsc.model.updates import SampleUpdate, ZeroCodeWarning
from napari_scsc.noise.working import WorkingValues

_FAINTEST = 1e-3  # of the range of an image: noise that is assumed where there is none


class Lattice:
    """``LatticeSCSC`` of a few mixtures of the joint values."""

    def __init__(self, learner: LatticeSCSC, mixtures: Array, source: ImageSamples) -> None:
        self.learner = learner
        self._mixtures = mixtures
        self._source = source

    @classmethod
    def begin(cls, request: Request, tiles: list[Array]) -> Lattice:
        """Begin with tiles (C, *shift) in noise levels to judge by."""
        source, seed = request.sources[0], request.seed
        if request.bank is not None:
            mixtures = Basis.of(request.bank).mixtures
            mixed = _mixed(request.bank, mixtures)
            return cls(LatticeSCSC.from_bank(mixed, sigma=1.0, seed=seed), mixtures, source)
        mixtures = mixtures_above_noise(tiles, 1.0)
        shape = request.filter_shape
        if shape is None:
            wanted = shape_for(tiles, mixtures, source, 1.0)
            shape = tuple(min(n) for n in zip(wanted, request.shortest, strict=True))
        learner = LatticeSCSC(request.n_base, shape, 1, sigma=1.0, seed=seed)
        return cls(learner, mixtures, source)

    @classmethod
    def resume(cls, request: Request, path: Path) -> Lattice:
        """Go on from a checkpoint."""
        learner = LatticeSCSC.resume(path)
        with reporting_damage(path):
            mixtures = LatticeSCSC.notes(path)[1]["mixtures"]
        return cls(learner, mixtures, request.sources[0])

    @property
    def bank(self) -> FilterBank:
        """The filters so far, over all joint values."""
        found = self.learner.bank
        return FilterBank(
            filters=_unmixed(found.filters, self._mixtures, self._source.joint),
            n_joint=len(self._source.joint),
            info={**found.info, "kind": self._source.axes.kind},
        )

    def preparing(self, working: WorkingValues) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        return partial(_mix_tile, working=working, mixtures=self._mixtures)

    def learn(self, samples: list[Any], run: Executor, cancellation: Cancellation) -> list[SampleUpdate]:
        """Learn from a batch."""
        return self.learner.learn_batch(samples, run, cancellation)

    def checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""
        self.learner.checkpoint(path, notes, {"mixtures": self._mixtures})


class Paper:
    """``SCSC`` of tiles without their smooth part, the smaller ones padded."""

    def __init__(self, learner: SCSC, request: Request) -> None:
        self.learner = learner
        self._source = request.sources[0]
        self._longest = request.longest

    @classmethod
    def begin(cls, request: Request, tiles: list[Array]) -> Paper:
        """Begin; the tiles are not needed for it."""
        beta = PRICE if request.beta is None else request.beta
        if request.bank is not None:
            return cls(SCSC.from_bank(request.bank, beta=beta), request)
        shortest = np.broadcast_to(np.float32(0), (1, *request.shortest))
        learner = SCSC(
            n_base=request.n_base or N_BASE,
            n_filters=request.n_filters or N_FILTERS,
            filter_shape=request.filter_shape
            or support_for([(shortest, shortest, None)], len(request.shortest)),
            n_joint=len(request.sources[0].joint),
            beta=beta,
            ball=request.ball,
            max_iter=60,
            seed=request.seed,
        )
        return cls(learner, request)

    @classmethod
    def resume(cls, request: Request, path: Path) -> Paper:
        """Go on from a checkpoint."""
        return cls(SCSC.resume(path), request)

    @property
    def bank(self) -> FilterBank:
        """The filters so far."""
        found = self.learner.bank
        info = {**found.info, "learner": "paper", "kind": self._source.axes.kind}
        return replace(found, info=info)

    def preparing(self, working: WorkingValues) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        joint, longest = self._source.joint, self._longest
        return partial(_split_tile, working=working, joint=joint, longest=longest)

    def learn(self, samples: list[Any], run: Executor, cancellation: Cancellation) -> list[SampleUpdate]:
        """Learn from a batch."""
        with ignore_zero_codes():
            return self.learner.learn_batch(samples, run, cancellation)

    def checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""
        self.learner.checkpoint(path, notes)


MODELS: dict[str, type[Lattice] | type[Paper]] = {"lattice": Lattice, "paper": Paper}


def in_noise_levels(tile: Array, working: WorkingValues) -> Array:
    """A tile (C, *shift) as float32 values with noise of the level 1."""
    values = working.to_work(np.ma.getdata(tile))
    return np.asarray(values / np.float32(max(working.sigma, _FAINTEST)))


def _mix_tile(tile: Array, *, working: WorkingValues, mixtures: Array) -> Array:
    with single_threaded():
        return np.tensordot(mixtures, in_noise_levels(tile, working), axes=1)


def _split_tile(
    tile: Array, *, working: WorkingValues, joint: tuple[int, ...], longest: tuple[int, ...]
) -> tuple[Array, Array]:
    _, detail, _ = split_smooth(in_noise_levels(tile, working), None)
    short = [(0, m - n) for m, n in zip(longest, detail.shape[1:], strict=True)]
    sample = np.pad(detail, [(0, 0), *short]).reshape(*joint, *longest)
    return sample, np.pad(np.ones(detail.shape[1:], bool), short)


def shape_for(
    tiles: list[Array], mixtures: Array, source: ImageSamples, sigma: float
) -> tuple[int, ...]:
    """Lengths of filters that suit tiles (C, *shift) of a source."""
    spread = float(np.mean([np.var(np.tensordot(mixtures[0], tile, axes=1)) for tile in tiles]))
    noisy = sigma**2 > max(spread - sigma**2, 0)
    patch = patch_shape(source.shift, len(mixtures), noisy)
    return tuple(min(p, *(tile.shape[1 + i] for tile in tiles)) for i, p in enumerate(patch))


def _unmixed(filters: Array, mixtures: Array, joint: tuple[int, ...]) -> Array:
    """Filters (R, k, *support) of mixtures as filters (R, *joint, *support)."""
    full = np.einsum("kc,rk...->rc...", mixtures, filters)
    return np.asarray(full.reshape(len(filters), *joint, *filters.shape[2:]), np.float32)


def _mixed(bank: FilterBank, mixtures: Array) -> FilterBank:
    """The bank (R, *joint, *support) with filters (R, k, *support) of the mixtures."""
    values = bank.filters.reshape(bank.n_base, -1, *bank.support)
    mixed = np.einsum("kc,rc...->rk...", mixtures, values).astype(np.float32)
    return FilterBank(mixed, 1, info=bank.info)


Split = tuple[Array, Array, Array | None]
N_BASE, N_FILTERS = 10, 64
SMOOTH_WIDTH = 3.0  # pixels: what is smoother than that is not coded
PRICE = 4.0  # of the code, in noise levels


@contextmanager
def ignore_zero_codes() -> Iterator[None]:
    """A tile without any code is smooth: that is an answer here, not a wrong setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        yield


def support_for(tiles: list[Split], n_shift: int) -> tuple[int, ...]:
    """Lengths of filters for tiles, which are no longer than the shortest of them."""
    support = {1: (16,), 2: (11, 11), 3: (5, 7, 7)}[n_shift]
    shortest = [min(t[1].shape[1 + i] for t in tiles) for i in range(n_shift)]
    return tuple(min(s, n) for s, n in zip(support, shortest, strict=True))


def split_smooth(values: Array, known: Array | None) -> Split:
    """The smooth part, which the model has no filters for, the rest, and what is known."""
    width = (0.0, *(SMOOTH_WIDTH,) * (values.ndim - 1))
    if known is None:
        smooth = ndimage.gaussian_filter(values, width)
        return smooth, values - smooth, None
    there = ndimage.gaussian_filter(known.astype(np.float32), width)
    smooth = ndimage.gaussian_filter(values * known, width) / np.maximum(there, 1e-6)
    return smooth, (values - smooth) * known, known


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
