"""The models that can be learned, seen alike: samples from tiles, a bank, a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import files
from napari_scsc.bank import FilterBank
from napari_scsc.lattice import LatticeSCSC
from napari_scsc.learner import SCSC, Run
from napari_scsc.restore import job, paper, plan
from napari_scsc.restore.basis import Basis, mixtures_above_noise
from napari_scsc.restore.request import Request
from napari_scsc.restore.source import Source, Working
from napari_scsc.results import Update
from napari_scsc.solver.threads import single_threaded

Array = NDArray[Any]

_FAINTEST = 1e-3  # of the range of an image: noise that is assumed where there is none


class Lattice:
    """``LatticeSCSC`` of a few mixtures of the joint values."""

    def __init__(self, learner: LatticeSCSC, mixtures: Array, source: Source) -> None:
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
        with files.reporting(path):
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

    def preparing(self, working: Working) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        return partial(_mix_tile, working=working, mixtures=self._mixtures)

    def learn(self, samples: list[Any], run: Run, tick: job.Tick | None) -> list[Update]:
        """Learn from a batch."""
        return self.learner.learn_batch(samples, run, tick)

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
        beta = paper.PRICE if request.beta is None else request.beta
        if request.bank is not None:
            return cls(SCSC.from_bank(request.bank, beta=beta), request)
        shortest = np.broadcast_to(np.float32(0), (1, *request.shortest))
        learner = SCSC(
            n_base=request.n_base or paper.N_BASE,
            n_filters=request.n_filters or paper.N_FILTERS,
            filter_shape=request.filter_shape
            or paper.support_for([(shortest, shortest, None)], len(request.shortest)),
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

    def preparing(self, working: Working) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        joint, longest = self._source.joint, self._longest
        return partial(_split_tile, working=working, joint=joint, longest=longest)

    def learn(self, samples: list[Any], run: Run, tick: job.Tick | None) -> list[Update]:
        """Learn from a batch."""
        with paper.silence():
            return self.learner.learn_batch(samples, run, tick)

    def checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""
        self.learner.checkpoint(path, notes)


MODELS: dict[str, type[Lattice] | type[Paper]] = {"lattice": Lattice, "paper": Paper}


# Functions and not methods: they are sent to other processes.


def in_noise_levels(tile: Array, working: Working) -> Array:
    """A tile (C, *shift) as float32 values with noise of the level 1."""
    values = working.to_work(np.ma.getdata(tile))
    return np.asarray(values / np.float32(max(working.sigma, _FAINTEST)))


def _mix_tile(tile: Array, *, working: Working, mixtures: Array) -> Array:
    with single_threaded():
        return np.tensordot(mixtures, in_noise_levels(tile, working), axes=1)


def _split_tile(
    tile: Array, *, working: Working, joint: tuple[int, ...], longest: tuple[int, ...]
) -> tuple[Array, Array]:
    _, detail, _ = paper.split(in_noise_levels(tile, working), None)
    short = [(0, m - n) for m, n in zip(longest, detail.shape[1:], strict=True)]
    sample = np.pad(detail, [(0, 0), *short]).reshape(*joint, *longest)
    return sample, np.pad(np.ones(detail.shape[1:], bool), short)


def shape_for(tiles: list[Array], mixtures: Array, source: Source, sigma: float) -> tuple[int, ...]:
    """Lengths of filters that suit tiles (C, *shift) of a source."""
    spread = float(np.mean([np.var(np.tensordot(mixtures[0], tile, axes=1)) for tile in tiles]))
    noisy = sigma**2 > max(spread - sigma**2, 0)
    patch = plan.patch_shape(source.shift, len(mixtures), noisy)
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
