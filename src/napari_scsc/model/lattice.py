"""LatticeSCSC: orthonormal base filters, learned online, for codes on a lattice."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float, check_int, check_seed
from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.model import container
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.lattice_patches import (
    CodedPatches,
    SampleMoments,
    code_patches,
    constant_filters,
    cut_sample,
    measure_moments,
)
from napari_scsc.model.settings import filter_lengths
from napari_scsc.model.threads import Executor, ThreadExecutor, single_threaded
from napari_scsc.model.updates import SampleUpdate

_FILE_KIND = "napari-scsc lattice checkpoint"
_FILE_VERSION = 1
# Of all possible filters, kept however strong the noise is; and the power of one that counts,
# beside that of the noise. Where joint values are mixed, weak filters are of weak mixtures:
# mostly noise.
_MIN_FILTER_SHARE, _MIN_FILTER_SHARE_OF_JOINT = 0.5, 0.25
_MIN_RELATIVE_POWER, _MIN_RELATIVE_POWER_OF_JOINT = 1.02, 1.12


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
    seed : int, optional
        Seed of the places of the lattices. 0 unless given.
    rng : int, numpy.random.Generator, SeedSequence or BitGenerator, optional
        Instead of ``seed``: a number is the seed, anything else draws one.

    Examples
    --------
    Learn filters from four noisy pictures; the first of them is the constant:

    >>> import numpy as np
    >>> from napari_scsc import LatticeSCSC
    >>> pictures = np.random.default_rng(0).standard_normal((4, 32, 32))
    >>> bank = LatticeSCSC(n_base=6, filter_shape=(4, 4), sigma=0.1).fit(pictures).bank
    >>> bank.filters.shape
    (6, 4, 4)
    >>> bool(np.ptp(bank.filters[0]) < 1e-6)
    True
    """

    def __init__(
        self,
        n_base: int | None = None,
        filter_shape: Sequence[int] = (8, 8),
        n_joint: int = 0,
        sigma: float = 0.0,
        forget: float = 0.0,
        seed: int | None = None,
        *,
        rng: Any = None,
    ) -> None:
        self.n_base = None if n_base is None else check_int("n_base", n_base, 1, 10_000)
        self.filter_shape = filter_lengths(filter_shape)
        self.n_joint = check_int("n_joint", n_joint, 0)
        self.sigma = check_float("sigma", sigma, least=0)
        self.forget = check_float("forget", forget, least=0, below=1)
        self.seed = check_seed(seed, rng)
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
            raise UserError("nothing was learned yet", remedy="call fit or partial_fit first")
        return self._bank

    @classmethod
    def from_bank(cls, bank: FilterBank, **changes: Any) -> LatticeSCSC:
        """Make a learner that goes on from a bank which such a learner made.

        ``changes`` are arguments that differ from those with which it was learned.
        """
        info = bank.info
        if not bank.is_of_patches or "powers" not in info:
            raise UserError(
                "was not learned by LatticeSCSC, and has nothing to go on from",
                argument="bank",
                remedy="learn a new one, or go on with model='scsc' if its filters are "
                "convolutional",
            )
        arguments = {**info["arguments"], "filter_shape": bank.support, "n_joint": bank.n_joint}
        if changes.get("rng") is not None:
            del arguments["seed"]
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
        cancellation : Cancellation
            Checked before each sample.

        Returns
        -------
        iterator of SampleUpdate
            Learning goes on as it is gone through.
        """
        batch = check_int("batch", batch, 1)
        return self._updates(iter(samples), batch, ThreadExecutor(n_jobs), cancellation)

    def _updates(
        self, samples: Iterator[Any], batch: int, executor: Executor, cancellation: Cancellation
    ) -> Iterator[SampleUpdate]:
        while batch_samples := list(islice(samples, batch)):
            cancellation.check()
            yield from self.learn_batch(batch_samples, executor)

    def learn_batch(
        self,
        samples: Sequence[Any],
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> list[SampleUpdate]:
        """Learn from all samples, then update the filters.

        Parameters
        ----------
        samples : sequence
            Samples, pairs (sample, mask), or results of the executor's ``map`` that are such.
        executor : Executor, optional
            Where their moments are computed. These are added in their order, so that it does not
            matter who computed them.
        cancellation : Cancellation
            Checked while waiting for a cluster.

        Returns
        -------
        list of SampleUpdate
            One a sample, in their order.
        """
        start = time.perf_counter()
        executor = executor or ThreadExecutor()
        cut = partial(cut_sample, seed=self.seed, support=self.filter_shape, n_joint=self.n_joint)
        numbers = range(self.n_seen, self.n_seen + len(samples))
        cuts = executor.map(cut, samples, numbers)
        self._add_moments(executor.gather(executor.map(measure_moments, cuts), cancellation))
        with single_threaded():
            filters = self._publish()
        code = partial(
            code_patches,
            filters=filters,
            n_flat=self.bank.n_base - len(filters),
            sigma=self.sigma,
        )
        coded = executor.gather(executor.map(code, cuts), cancellation)
        self._seconds += time.perf_counter() - start
        return [self._make_update(number + 1, c) for number, c in zip(numbers, coded, strict=True)]

    def _make_update(self, number: int, coded: CodedPatches) -> SampleUpdate:
        """What is told of a coded sample, once the filters were updated."""
        return SampleUpdate(
            sample=number,
            B=self.bank.filters,
            W=coded.weights,
            use=coded.use,
            objective=coded.cost,
            sparsity=coded.sparsity,
            psnr=-10 * math.log10(coded.error) if coded.error > 0 else math.inf,
            seconds=self._seconds,
            iterations=1,
            converged=True,
        )

    def _add_moments(self, samples: list[SampleMoments]) -> None:
        """Add the moments of samples to the history."""
        joint = self._joint or samples[0].joint
        for sample in samples:
            if sample.joint != joint:
                raise UserError(
                    f"the filters span joint axes of lengths {joint}, "
                    f"but the sample has the shape {sample.shape}"
                )
        if self._joint is None:
            self._begin(joint)
        for sample in samples:
            if sample.moments is not None:
                kept = self._count * (1 - self.forget)
                self._count = kept + 1
                self._moments += (sample.moments - self._moments) / self._count
            self.n_seen += 1

    def _begin(self, joint: tuple[int, ...]) -> None:
        """Take on the lengths of the joint axes, and an empty history."""
        n_flat, size = math.prod(joint), math.prod(self.filter_shape)
        if self.n_base is not None and not n_flat <= self.n_base <= n_flat * size:
            raise UserError(
                f"is {self.n_base}, but filters of the shape {(*joint, *self.filter_shape)} "
                f"can be {n_flat} (the constants) to {n_flat * size}",
                argument="n_base",
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
            share, power = _MIN_FILTER_SHARE, _MIN_RELATIVE_POWER
            if n_flat > 1:
                share, power = _MIN_FILTER_SHARE_OF_JOINT, _MIN_RELATIVE_POWER_OF_JOINT
            above = int((powers > power * self.sigma**2).sum())
            count = min(lively, max(math.ceil(share * lively), above))
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
            raise UserError("nothing was learned yet: there is nothing to write")
        header = {
            "arguments": self.settings,
            "joint": self._joint,
            "n_seen": self.n_seen,
            "count": self._count,
            "seconds": self._seconds,
            "written_by": f"napari-scsc {__version__}",
            "notes": dict(notes or {}),
        }
        container.write(
            path, _FILE_KIND, _FILE_VERSION, header, {**(arrays or {}), "moments": self._moments}
        )

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> LatticeSCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            model = cls(**header["arguments"])
            model._begin(tuple(check_int("joint", n, 1) for n in header["joint"]))
            moments = arrays["moments"]
            if moments.shape != model._moments.shape or not np.isfinite(moments).all():
                raise FileFormatError(f"its moments have the shape {moments.shape}")
            model._moments = moments.astype(np.float64)
            model.n_seen = check_int("n_seen", header["n_seen"], 0, 1 << 53)
            model._count = check_float("count", header["count"], least=0)
            model._seconds = check_float("seconds", header["seconds"], least=0)
            model._publish()
        return model

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
        """Read the notes and arrays that were kept with a checkpoint; empty if there are none."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            noted = {name: values for name, values in arrays.items() if name != "moments"}
            return dict(header.get("notes", {})), noted
