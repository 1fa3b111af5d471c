"""LatticeSCSC: orthonormal base filters, learned online, for codes on a lattice."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float, check_int, check_sample
from napari_scsc.model import container
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.settings import filter_lengths
from napari_scsc.model.threads import Executor, ThreadExecutor, single_threaded
from napari_scsc.model.updates import SampleUpdate

_KIND = "napari-scsc lattice checkpoint"
_VERSION = 1
_LEAST = 0.5  # share of all possible filters that are kept however strong the noise is
_ABOVE = 1.02  # a filter counts if its power is that many times the noise's
_THRESHOLD = 2.7  # in noise levels: what a code must exceed
_MOST_PATCHES = 20_000  # of a sample that are looked at


class LatticeSCSC:
    """The model of the paper with one code a support instead of one a pixel, and orthonormal B.

    A sample is cut into patches on a lattice whose place changes from sample to sample. Each is
    ``B (W z)`` plus its mean: ``W`` rotates the base filters to where this sample varies most,
    and ``z`` keeps what stands above the noise. With orthonormal ``B`` and ``W`` each step has a
    closed form, and the history is one matrix: the second moments of the patches, whose leading
    eigenvectors are the filters that explain most. The span of ``B`` is what matters for
    restoration, and for its size this one is the best there is for the patches seen.

    Parameters
    ----------
    n_base : int, optional
        R, the number of base filters, constants included: one for each joint value. Without it,
        those that stand above the noise, and at least half of all that there can be.
    filter_shape : tuple of int
        Lengths of the filters on the shift axes.
    n_joint : int
        Number of joint axes, which come first.
    sigma : float
        Noise level of the samples.
    forget : float
        Share of the weight of all earlier samples that each new one takes away.
    seed : int
        Seed of the places of the lattices.
    """

    def __init__(
        self,
        n_base: int | None = None,
        filter_shape: Sequence[int] = (8, 8),
        n_joint: int = 0,
        sigma: float = 0.0,
        forget: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.n_base = None if n_base is None else check_int("n_base", n_base, 1, 10_000)
        self.filter_shape = filter_lengths(filter_shape)
        self.n_joint = check_int("n_joint", n_joint, 0)
        self.sigma = check_float("sigma", sigma, least=0)
        self.forget = check_float("forget", forget, least=0, below=1)
        self.seed = check_int("seed", seed, 0)
        self.n_seen = 0
        self._joint: tuple[int, ...] | None = None
        self._moments: Array = np.zeros((0, 0))
        self._count = 0.0  # how many samples the moments stand for
        self._seconds = 0.0
        self._bank: FilterBank | None = None

    @property
    def bank(self) -> FilterBank:
        """The filters as they were after the last sample: the constants, then the strongest."""
        if self._bank is None:
            raise ValueError("nothing was learned yet: call fit or partial_fit first")
        return self._bank

    @classmethod
    def from_bank(cls, bank: FilterBank, **changes: Any) -> LatticeSCSC:
        """Make a learner that goes on from a bank which such a learner made.

        ``changes`` are arguments that differ from those with which it was learned.
        """
        info = bank.info
        if info.get("learner") != "lattice" or "powers" not in info:
            raise ValueError(
                "the bank was not learned by LatticeSCSC, and has nothing to go on from: "
                "learn a new one, or go on with model='paper' if it is one of the paper's model"
            )
        arguments = {**info["arguments"], "filter_shape": bank.support, "n_joint": bank.n_joint}
        model = cls(**{**arguments, **changes})
        model._begin(bank.joint)
        powers = np.asarray(info["powers"], np.float64)
        filters = bank.filters.reshape(bank.n_base, -1)[bank.n_base - len(powers) :]
        model._moments = (filters.T * powers) @ filters
        model.n_seen = check_int("n_samples", info["n_samples"], 0)
        model._count = float(model.n_seen)
        model._bank = bank
        return model

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments with which it was made."""
        names = ("n_base", "filter_shape", "n_joint", "sigma", "forget", "seed")
        return {name: getattr(self, name) for name in names}

    # --- learning -------------------------------------------------------------------------------

    def partial_fit(self, x: Any, mask: Any = None) -> LatticeSCSC:
        """Learn from one more sample; mask: True where it was measured."""
        self.learn_batch([(x, mask)])
        return self

    def fit(self, samples: Iterable[Any], *, batch: int = 1, n_jobs: int = 1) -> LatticeSCSC:
        """Learn from all samples: arrays, or pairs (array, mask); see ``iter_fit``."""
        for _ in self.iter_fit(samples, batch=batch, n_jobs=n_jobs):
            pass
        return self

    def iter_fit(
        self,
        samples: Iterable[Any],
        *,
        batch: int = 1,
        n_jobs: int = 1,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[SampleUpdate]:
        """Learn as ``fit`` does, yielding an update after each sample.

        Parameters
        ----------
        samples : iterable
            Samples, or pairs (sample, mask).
        batch : int
            How many samples are learned from before the filters are updated. The history does not
            depend on the filters, so that it does not change what is learned in the end.
        n_jobs : int
            Threads for the samples of a batch; it does not change the result.
        tick : callable, optional
            Called before each sample; it may raise to cancel.
        """
        batch = check_int("batch", batch, 1)
        return self._updates(iter(samples), batch, ThreadExecutor(n_jobs), cancellation)

    def _updates(
        self, samples: Iterator[Any], batch: int, run: Executor, cancellation: Cancellation
    ) -> Iterator[SampleUpdate]:
        while several := list(islice(samples, batch)):
            for _ in several:
                cancellation.check()
            yield from self.learn_batch(several, run)

    def learn_batch(
        self,
        samples: Sequence[Any],
        run: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> list[SampleUpdate]:
        """Learn from several samples, then update the filters.

        Their moments are added in their order, so that it does not matter who computed them:
        ``run`` says where that is done, and samples may be results of its ``map``.
        """
        start = time.perf_counter()
        run = run or ThreadExecutor()
        cut = partial(_cut, seed=self.seed, support=self.filter_shape, n_joint=self.n_joint)
        numbers = range(self.n_seen, self.n_seen + len(samples))
        cuts = run.map(cut, samples, numbers)
        self._take_in(run.gather(run.map(_second_moments, cuts), cancellation))
        with single_threaded():
            filters = self._publish()
        code = partial(_code, filters=filters, n_flat=self.bank.n_base - len(filters))
        coded = run.gather(run.map(partial(code, sigma=self.sigma), cuts), cancellation)
        self._seconds += time.perf_counter() - start
        return [
            SampleUpdate(
                sample=number + 1,
                B=self.bank.filters,
                W=c.weights,
                use=c.use,
                objective=c.cost,
                sparsity=c.sparsity,
                psnr=-10 * math.log10(c.error) if c.error > 0 else math.inf,
                seconds=self._seconds,
                iterations=1,
                converged=True,
            )
            for number, c in zip(numbers, coded, strict=True)
        ]

    def _take_in(self, several: list[_Moments]) -> None:
        """Add the moments of samples to the history."""
        joint = self._joint or several[0].joint
        for own in several:
            if own.joint != joint:
                raise ValueError(
                    f"the filters span joint axes of lengths {joint}, "
                    f"but the sample has the shape {own.shape}"
                )
        if self._joint is None:
            self._begin(joint)
        for own in several:
            if own.moments is not None:
                kept = self._count * (1 - self.forget)
                self._count = kept + 1
                self._moments += (own.moments - self._moments) / self._count
            self.n_seen += 1

    def _begin(self, joint: tuple[int, ...]) -> None:
        n_flat, size = math.prod(joint), math.prod(self.filter_shape)
        if self.n_base is not None and not n_flat <= self.n_base <= n_flat * size:
            raise ValueError(
                f"n_base is {self.n_base}, but filters of the shape {(*joint, *self.filter_shape)} "
                f"can be {n_flat} (the constants) to {n_flat * size}"
            )
        self._joint = joint
        self._moments = np.zeros((n_flat * size, n_flat * size))

    def _publish(self) -> Array:
        """Take the filters from the moments; return those that are not constant, (R', M)."""
        assert self._joint is not None
        n_flat, size = math.prod(self._joint), math.prod(self.filter_shape)
        constants = constant_filters(n_flat, size)
        # The moments know nothing of the constants. Below everything else, they stay out of the
        # filters even where the moments of those are zero too.
        below = 1 + np.trace(self._moments)
        powers, vectors = np.linalg.eigh(self._moments - below * (constants.T @ constants))
        powers, vectors = powers[::-1], vectors[:, ::-1].T
        lively = n_flat * (size - 1)
        if self.n_base is None:
            above = int((powers > _ABOVE * self.sigma**2).sum())
            count = min(lively, max(math.ceil(_LEAST * lively), above))
        else:
            count = min(lively, self.n_base - n_flat)
        # A vector and its negative are the same filter: the larger side is shown bright.
        sides = np.sign((vectors[:count] ** 3).sum(axis=1, keepdims=True))
        filters = (vectors[:count] * np.where(sides == 0, 1, sides)).astype(np.float32)
        self._bank = FilterBank(
            filters=np.vstack([constants.astype(np.float32), filters]).reshape(
                -1, *self._joint, *self.filter_shape
            ),
            n_joint=self.n_joint,
            info={
                "learner": "lattice",
                "arguments": self.settings,
                "n_samples": self.n_seen,
                "powers": powers[:count].tolist(),
            },
        )
        return filters

    # --- checkpoints ----------------------------------------------------------------------------

    def checkpoint(
        self,
        path: str | os.PathLike[str],
        notes: Mapping[str, Any] | None = None,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        """Write all that is needed to go on learning; complete, or not at all.

        ``notes`` and ``arrays`` are kept with it, for whoever wrote them; ``LatticeSCSC.notes``
        reads them.
        """
        if self._joint is None:
            raise ValueError("nothing was learned yet: there is nothing to write")
        header = {
            "arguments": self.settings,
            "joint": self._joint,
            "n_seen": self.n_seen,
            "count": self._count,
            "seconds": self._seconds,
            "written_by": f"napari-scsc {__version__}",
            "notes": dict(notes or {}),
        }
        container.write(path, _KIND, _VERSION, header, {**(arrays or {}), "moments": self._moments})

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> LatticeSCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        header, arrays = container.read(path, _KIND, _VERSION)
        with reporting_damage(path):
            model = cls(**header["arguments"])
            model._begin(tuple(check_int("joint", n, 1) for n in header["joint"]))
            moments = arrays["moments"]
            if moments.shape != model._moments.shape or not np.isfinite(moments).all():
                raise ValueError(f"its moments have the shape {moments.shape}")
            model._moments = moments.astype(np.float64)
            model.n_seen = check_int("n_seen", header["n_seen"], 0, 1 << 53)
            model._count = check_float("count", header["count"], least=0)
            model._seconds = check_float("seconds", header["seconds"], least=0)
            model._publish()
        return model

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
        """Read the notes and arrays that were kept with a checkpoint; empty if there are none."""
        header, arrays = container.read(path, _KIND, _VERSION)
        return dict(header.get("notes", {})), {k: v for k, v in arrays.items() if k != "moments"}


@dataclass(frozen=True, slots=True)
class _Cut:
    """The patches (n, M) of a sample."""

    patches: Array
    shape: tuple[int, ...]
    n_joint: int


@dataclass(frozen=True, slots=True)
class _Moments:
    """What a sample gives to the history; None if it has no whole patch."""

    moments: Array | None  # (M, M)
    shape: tuple[int, ...]
    joint: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Coded:
    """One coded sample."""

    weights: Array  # (R, R')
    use: Array  # (R',)
    cost: float
    sparsity: float
    error: float  # mean square of what the code leaves


def constant_filters(n_joint: int, size: int) -> Array:
    """The filters (C, C * size) that are constant over their support, one for each joint value."""
    return np.asarray(np.kron(np.eye(n_joint), np.full((1, size), size**-0.5)))


def _cut(sample: Any, number: int, *, seed: int, support: tuple[int, ...], n_joint: int) -> _Cut:
    """Cut the sample with that number; an array, or a pair (array, mask)."""
    x, mask = sample if isinstance(sample, tuple) else (sample, None)
    array, known = check_sample(x, n_joint, len(support), mask)
    rng = np.random.default_rng([seed, number])
    with single_threaded():
        return _Cut(_patches(array, known, support, n_joint, rng), array.shape, n_joint)


def _second_moments(cut: _Cut) -> _Moments:
    patches, moments = cut.patches, None
    if len(patches):
        with single_threaded():
            moments = (patches.T @ patches).astype(np.float64) / len(patches)
    return _Moments(moments, cut.shape, cut.shape[: cut.n_joint])


def _code(cut: _Cut, *, filters: Array, n_flat: int, sigma: float) -> _Coded:
    """Code the patches of a sample with the filters (R', M) that are not constant."""
    patches = cut.patches
    weights = np.zeros((n_flat + len(filters), len(filters)), np.float32)
    if not len(patches):
        return _Coded(weights, np.zeros(len(filters)), 0.0, 0.0, 0.0)
    with single_threaded():
        coefficients = patches @ filters.T
        _, own = np.linalg.eigh((coefficients.T @ coefficients).astype(np.float64))
        weights[n_flat:] = own[:, ::-1]
        codes = coefficients @ weights[n_flat:]
        threshold = _THRESHOLD * sigma
        codes[np.abs(codes) <= threshold] = 0
        residual = patches - (codes @ weights[n_flat:].T) @ filters
    square = float(np.einsum("nm,nm->", residual, residual, dtype=np.float64))
    used = np.count_nonzero(codes)
    return _Coded(
        weights=weights,
        use=np.abs(codes).sum(axis=0, dtype=np.float64),
        cost=0.5 * square + 0.5 * threshold**2 * used,
        sparsity=used / max(codes.size, 1),
        error=square / residual.size,
    )


def _patches(
    sample: Array,
    known: Array | None,
    support: tuple[int, ...],
    n_joint: int,
    rng: np.random.Generator,
) -> Array:
    """Patches (n, M) without their means; those that touch what was not measured are left out.

    They lie on lattices of the support at random places: as many lattices as the sample has room
    for, and no more patches than needed.
    """
    shift = sample.shape[n_joint:]
    if any(h > n for h, n in zip(support, shift, strict=True)):
        raise ValueError(
            f"the sample has the lengths {shift} on its shift axes, and a filter {support}: "
            "a sample must be at least as long"
        )
    axes = tuple(range(n_joint, sample.ndim))
    windows = sliding_window_view(sample, support, axis=axes)
    places = windows.shape[n_joint : sample.ndim]
    usable: Array = np.ones(places, bool)
    if known is not None:
        full = np.broadcast_to(known, sample.shape).all(axis=tuple(range(n_joint)))
        around = tuple(range(-len(support), 0))
        usable = np.asarray(sliding_window_view(full, support).all(axis=around))
    chosen = np.flatnonzero(usable)
    per_lattice = max(1, math.ceil(math.prod(places) / math.prod(support)))
    lattices = max(1, min(math.prod(support), _MOST_PATCHES // per_lattice))
    order = rng.permutation(len(chosen))[: lattices * per_lattice]
    index = np.unravel_index(np.sort(chosen[order]), places)
    every: list[Any] = [slice(None)] * n_joint
    cut = windows[(*every, *index)]  # (*joint, n, *support)
    size = math.prod(support)
    n_values = math.prod(sample.shape[:n_joint])
    cut = np.moveaxis(cut, n_joint, 0).reshape(len(order), n_values, size)
    cut = cut.astype(np.float32)
    cut -= cut.mean(axis=2, keepdims=True)
    return np.asarray(cut.reshape(len(order), n_values * size))
