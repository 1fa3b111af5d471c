"""SCSC: learn base filters online from many samples, and code samples with them."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks
from napari_scsc.bank import FilterBank
from napari_scsc.results import Code, Update, ZeroCodeWarning
from napari_scsc.settings import Relative, Settings, Weights, filter_lengths, from_json
from napari_scsc.solver import code
from napari_scsc.solver.pool import ProblemPool
from napari_scsc.solver.problem import Geometry, Problem
from napari_scsc.solver.prox import Ball
from napari_scsc.solver.threads import single_threaded
from napari_scsc.state import State, check_joint, first_weights, place

Array = NDArray[Any]


class SCSC:
    """Online convolutional sparse coding with a sample-dependent dictionary.

    A sample is an array whose first ``n_joint`` axes are joint (a filter spans them whole) and
    whose others, one to four, are shift axes (filters slide along them). It is modelled as
    ``sum_r B_r * (W Z)_r``: ``n_base`` base filters B shared by all samples, and weights W and a
    sparse code Z of its own (Wang, Yao, Kwok and Ni, ICML 2018).

    Parameters
    ----------
    n_base : int
        R, the number of base filters.
    n_filters : int
        K, the number of filters that each sample composes from them.
    filter_shape : tuple of int
        Lengths of the filters on the shift axes.
    n_joint : int
        Number of joint axes.
    beta : float or Relative
        Price of the code: larger is sparser. ``Relative(0.1)`` is a tenth of the smallest beta
        that makes a sample's code all zero.
    ball : {"l2", "l1"}
        Ball in which each column of W lies.
    radius : float
        Its radius. (The paper's text says 1 / sqrt(R); its results need 1.)
    weights : {"sample", "shared", "identity"}
        "sample": each sample has its own W (SCSC). "shared": one W for all. "identity": no W, and
        n_filters = n_base (this is OCSC).
    max_iter, tol : int, float
        The coding of a sample stops after ``max_iter`` iterations, or when the objective changes
        by less than ``tol`` of itself an iteration.
    forget : float
        Share of the weight of all earlier samples that each new one takes away; 0 as in the paper.
    seed : int
        Seed of the first filters and weights. The same seed, data and dtype give the same bits.
    dtype : {"float32", "float64"}
        Precision of everything.
    """

    def __init__(
        self,
        n_base: int = 10,
        n_filters: int = 100,
        filter_shape: Sequence[int] = (11, 11),
        n_joint: int = 0,
        beta: float | Relative = 0.1,
        ball: Ball = "l2",
        radius: float = 1.0,
        weights: Weights = "sample",
        max_iter: int = 100,
        tol: float = 1e-4,
        forget: float = 0.0,
        seed: int = 0,
        dtype: Literal["float32", "float64"] = "float32",
    ) -> None:
        self.settings = Settings(
            n_base=n_base,
            n_filters=n_filters,
            filter_shape=filter_lengths(filter_shape),
            n_joint=n_joint,
            beta=beta,
            ball=ball,
            radius=radius,
            weights=weights,
            max_iter=max_iter,
            tol=tol,
            forget=forget,
            seed=seed,
            dtype=dtype,
        )
        self._state: State | None = None
        self._bank: FilterBank | None = None
        self._problems = ProblemPool(self.settings.n_base, self.settings.real)

    # --- what was learned -----------------------------------------------------------------------

    @property
    def n_seen(self) -> int:
        """How many samples were learned from."""
        return self._state.n_seen if self._state else 0

    @property
    def bank(self) -> FilterBank:
        """The filters as they are now."""
        if self._state is None:
            if self._bank is None:
                raise ValueError("nothing was learned yet: call fit or partial_fit first")
            return self._bank
        return FilterBank(
            filters=self._state.step.filters,
            n_joint=self.settings.n_joint,
            weights=self._state.mean_weights,
            settings=self.settings.to_json(),
            info={"n_samples": self.n_seen},
        )

    @classmethod
    def from_bank(cls, bank: FilterBank, **changes: Any) -> SCSC:
        """Make a learner that codes with a bank and, when fitted, continues from its filters.

        ``changes`` are arguments that differ from those with which the bank was learned.
        """
        settings = {
            **from_json(bank.settings),
            **changes,
            "n_base": bank.n_base,
            "filter_shape": bank.support,
            "n_joint": bank.n_joint,
        }
        if bank.weights is not None:
            settings["n_filters"] = bank.weights.shape[1]
        model = cls(**settings)
        model._bank = bank
        return model

    # --- learning -------------------------------------------------------------------------------

    def partial_fit(self, x: Any, mask: Any = None) -> SCSC:
        """Learn from one more sample; mask: True where it was measured."""
        self._learn([self._check(x, mask)])
        return self

    def fit(
        self, samples: Iterable[Any], passes: int = 1, *, batch: int = 1, n_jobs: int = 1
    ) -> SCSC:
        """Learn from all samples, ``passes`` times; see ``iter_fit``."""
        for _ in self.iter_fit(samples, passes, batch=batch, n_jobs=n_jobs):
            pass
        return self

    def iter_fit(
        self,
        samples: Iterable[Any],
        passes: int = 1,
        *,
        batch: int = 1,
        n_jobs: int = 1,
        tick: Callable[[], None] | None = None,
    ) -> Iterator[Update]:
        """Learn as ``fit`` does, yielding an update after each sample.

        Parameters
        ----------
        samples : iterable
            Samples, or pairs (sample, mask).
        passes : int
            How often to go through them.
        batch : int
            How many samples are coded with the same filters before these are updated.
        n_jobs : int
            Threads that code the samples of a batch; it does not change the result.
        tick : callable, optional
            Called in every iteration of a code; it may raise to cancel, and the sample under way
            then leaves no trace.
        """
        passes = checks.whole("passes", passes, 1)
        batch = checks.whole("batch", batch, 1)
        n_jobs = checks.whole("n_jobs", n_jobs, 1)
        if passes > 1 and iter(samples) is samples:
            raise ValueError(
                f"passes is {passes}, but samples can be gone through only once: pass a list"
            )
        return self._updates(samples, passes, batch, n_jobs, tick)

    def _updates(
        self,
        samples: Iterable[Any],
        passes: int,
        batch: int,
        n_jobs: int,
        tick: Callable[[], None] | None,
    ) -> Iterator[Update]:
        for _ in range(passes):
            remaining = iter(samples)
            while pairs := [self._check(*_pair(s)) for s in islice(remaining, batch)]:
                yield from self._learn(pairs, n_jobs, tick)

    def _learn(
        self,
        pairs: list[tuple[Array, Array | None]],
        n_jobs: int = 1,
        tick: Callable[[], None] | None = None,
    ) -> list[Update]:
        """One round: code all samples with the same filters, then update the filters."""
        start = time.perf_counter()
        state = self._state or State.first(self.settings, pairs[0][0], self._bank)
        placed = [place(x, mask, state.step.geometry) for x, mask in pairs]
        with single_threaded():
            coded = _map(lambda pair: self._code_for_learning(state, pair, tick), placed, n_jobs)
            state.history.update([(c.maps, c.sample) for c in coded], self.settings.forget)
            state.step.update(state.history)
        for c in coded:
            state.n_seen += 1
            if state.mean_weights is not None and c.solution.weights is not None:
                change = c.solution.weights - state.mean_weights
                state.mean_weights = state.mean_weights + change / self.settings.real.type(
                    state.n_seen
                )
        state.seconds += time.perf_counter() - start
        self._state = state
        return [
            Update(
                sample=state.n_seen - len(coded) + i,
                B=state.step.filters.copy(),
                W=self._weights_of(c.solution, state.mean_weights),
                objective=c.solution.objective[-1],
                sparsity=c.sparsity,
                psnr=c.psnr,
                seconds=state.seconds,
                iterations=len(c.solution.objective) - 2,
                converged=c.solution.converged,
            )
            for i, c in enumerate(coded, start=1)
        ]

    def _code_for_learning(
        self,
        state: State,
        pair: tuple[Array, Array | None],
        tick: Callable[[], None] | None,
    ) -> _Coded:
        with self._problems.borrow(state.step.geometry, state.step.filters) as problem:
            problem.set_sample(*pair)
            solution = self._solve(
                problem, state.mean_weights, self.settings.max_iter, self.settings.tol, tick
            )
            if self.settings.weights == "shared":
                solution = self._share(problem, solution, state.n_seen)
            maps, sample, reconstruction = problem.statistics()
            error = problem.mask * (problem.sample - reconstruction)
            square = float(np.einsum("cp,cp->", error, error, dtype=np.float64))
            mean_square = square / problem.n_measured
            return _Coded(
                solution=solution,
                maps=maps,
                sample=sample,
                sparsity=np.count_nonzero(solution.codes)
                / (len(solution.codes) * math.prod(problem.geometry.reach)),
                psnr=-10 * math.log10(mean_square) if mean_square > 0 else math.inf,
            )

    def _share(self, problem: Problem, solution: code.Solution, n_seen: int) -> code.Solution:
        """Alternate: with the code fixed, improve the one W of all samples a little."""
        assert solution.weights is not None
        own = code.refine_weights(
            problem,
            solution,
            ball=self.settings.ball,
            radius=self.settings.radius,
            rounds=_SHARED_ROUNDS,
        )
        mean = solution.weights + (own - solution.weights) / self.settings.real.type(n_seen + 1)
        code.compose(problem, mean, solution.codes)
        return code.Solution(own, solution.codes, solution.objective, solution.converged)

    # --- coding ---------------------------------------------------------------------------------

    def encode(
        self, x: Any, mask: Any = None, max_iter: int | None = None, tol: float | None = None
    ) -> Code:
        """Code a sample of any size with the filters as they are; mask: True where measured."""
        array, known = self._check(x, mask)
        max_iter = (
            self.settings.max_iter if max_iter is None else checks.whole("max_iter", max_iter, 1)
        )
        tol = self.settings.tol if tol is None else checks.real("tol", tol, least=0)
        bank = self.bank
        check_joint(array, bank.joint)
        geometry = Geometry(
            bank.joint, array.shape[self.settings.n_joint :], self.settings.filter_shape
        )
        start = first_weights(self.settings) if bank.weights is None else bank.weights
        start = (
            None
            if self.settings.weights == "identity" or start is None
            else start.astype(self.settings.real)
        )
        with single_threaded(), self._problems.borrow(geometry, bank.filters) as problem:
            problem.set_sample(array, known)
            solution = self._solve(problem, start, max_iter, tol)
            problem.reconstruct()
            return Code(
                W=self._weights_of(solution, solution.weights),
                Z=geometry.reached(solution.codes),
                reconstruction=geometry.crop(problem.residual),
                objective=solution.objective,
                converged=solution.converged,
            )

    def _solve(
        self,
        problem: Problem,
        start: Array | None,
        max_iter: int,
        tol: float,
        tick: Callable[[], None] | None = None,
    ) -> code.Solution:
        beta = self.settings.beta
        if isinstance(beta, Relative):
            beta = beta.share * self._silencing_beta(problem)
        solution = code.solve(
            problem,
            start,
            beta=beta,
            ball=self.settings.ball,
            radius=self.settings.radius,
            max_iter=max_iter,
            tol=tol,
            fixed_weights=self.settings.weights == "shared",
            tick=tick,
        )
        if not solution.codes.any():
            largest = self._silencing_beta(problem)
            code.compose(problem, solution.weights, solution.codes)
            why = (
                f"beta is {beta:.3g}, and from {largest:.3g} on nothing is worth coding"
                if largest > 0
                else "the sample is zero where it was measured"
            )
            warnings.warn(f"the code of a sample is all zero: {why}", ZeroCodeWarning, stacklevel=4)
        return solution

    def _silencing_beta(self, problem: Problem) -> float:
        identity = self.settings.weights == "identity"
        return code.smallest_silencing_beta(
            problem, self.settings.ball, self.settings.radius, identity
        )

    def _weights_of(self, solution: code.Solution, shared: Array | None) -> Array:
        weights = shared if self.settings.weights == "shared" else solution.weights
        if weights is None:
            return np.eye(self.settings.n_base, dtype=self.settings.real)
        return weights.copy()

    # --- checkpoints ----------------------------------------------------------------------------

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on learning; complete, or not at all."""
        if self._state is None:
            raise ValueError("nothing was learned yet: there is nothing to write")
        self._state.save(path, self.settings)

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> SCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        settings, state = State.load(path)
        model = cls(**settings.arguments())
        model._state = state
        return model

    def _check(self, x: Any, mask: Any = None) -> tuple[Array, Array | None]:
        return checks.sample(x, self.settings.n_joint, len(self.settings.filter_shape), mask)


_SHARED_ROUNDS = 10  # gradient steps that a sample gives to the one W of all


@dataclass(frozen=True, slots=True)
class _Coded:
    """One coded sample, ready for the history."""

    solution: code.Solution
    maps: Array
    sample: Array
    sparsity: float
    psnr: float


def _map(work: Callable[[Any], Any], items: list[Any], n_jobs: int) -> list[Any]:
    if n_jobs == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(n_jobs, len(items))) as pool:
        return list(pool.map(work, items))


def _pair(sample: Any) -> tuple[Any, Any]:
    if isinstance(sample, tuple):
        if len(sample) != 2:
            raise ValueError(
                f"a sample must be an array or a pair (array, mask), not {len(sample)}"
            )
        return sample
    return sample, None
