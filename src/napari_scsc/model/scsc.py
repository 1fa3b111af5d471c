"""SCSC: learn base filters online from many samples, and code samples with them."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import Any, Literal

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float, check_int, check_sample
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.settings import Relative, Settings, Weights, filter_lengths, from_json
from napari_scsc.model.solver import code
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.solver.problem_pool import ProblemPool
from napari_scsc.model.solver.prox import Ball
from napari_scsc.model.state import State, check_joint, place, starting_weights
from napari_scsc.model.threads import Executor, ThreadExecutor, single_threaded
from napari_scsc.model.updates import Code, SampleUpdate, ZeroCodeWarning


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
        Its radius. (The paper's text says 1 / sqrt(R); the authors' program has 1.)
    weights : {"sample", "shared", "identity"}
        "sample": each sample has its own W (SCSC). "shared": one W for all. "identity": no W, and
        n_filters = n_base (this is OCSC).
    max_iter, tol : int, float
        The coding of a sample stops after ``max_iter`` iterations, or when the objective changes
        by less than ``tol`` of itself an iteration.
    forget : float
        Share of the weight of all earlier samples that each new one takes away in the statistics
        from which the filters are computed; 0 as in the paper.
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
        """The filters as they were after the last sample."""
        if self._bank is None:
            raise ValueError("nothing was learned yet: call fit or partial_fit first")
        return self._bank

    @classmethod
    def from_bank(cls, bank: FilterBank, **changes: Any) -> SCSC:
        """Make a learner that codes with a bank and, when fitted, continues from its filters.

        ``changes`` are arguments that differ from those with which the bank was learned. With
        another number of filters, or none of its own, the weights of the bank are not used.
        """
        fixed = {"n_base": bank.n_base, "filter_shape": bank.support, "n_joint": bank.n_joint}
        for name, value in fixed.items():
            if changes.get(name, value) != value:
                raise ValueError(f"{name} of the bank is {value}, it cannot be {changes[name]!r}")
        arguments = {**from_json(bank.settings), **fixed, **changes}
        if arguments.get("weights") == "identity":
            arguments["n_filters"] = bank.n_base
        elif bank.weights is not None:
            arguments["n_filters"] = changes.get("n_filters", bank.weights.shape[1])
        model = cls(**arguments)
        if bank.weights is not None and bank.weights.shape[1] != model.settings.n_filters:
            bank = replace(bank, weights=None)
        model._bank = bank
        return model

    def _publish(self, state: State) -> None:
        """Let others see the state: at once and as a copy, for they may be in other threads."""
        self._state = state
        self._bank = FilterBank(
            filters=state.step.filters,
            n_joint=self.settings.n_joint,
            weights=state.mean_weights,
            settings=self.settings.to_json(),
            info={"n_samples": state.n_seen},
        )

    # --- learning -------------------------------------------------------------------------------

    def partial_fit(self, x: Any, mask: Any = None) -> SCSC:
        """Learn from one more sample; mask: True where it was measured."""
        self.learn_batch([(x, mask)])
        return self

    def fit(
        self, samples: Iterable[Any], passes: int = 1, *, batch: int = 1, n_jobs: int = 1
    ) -> SCSC:
        """Learn from all samples, ``passes`` times; see ``iter_fit``."""
        updates = self.iter_fit(samples, passes, batch=batch, n_jobs=n_jobs)
        if sum(1 for _ in updates) == 0:
            raise ValueError("samples is empty: there is nothing to learn from")
        return self

    def iter_fit(
        self,
        samples: Iterable[Any],
        passes: int = 1,
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
        passes = check_int("passes", passes, 1)
        batch = check_int("batch", batch, 1)
        run = ThreadExecutor(n_jobs)
        if passes > 1 and iter(samples) is samples:
            raise ValueError(
                f"passes is {passes}, but samples can be gone through only once: pass a list"
            )
        return self._updates(samples, passes, batch, run, cancellation)

    def _updates(
        self,
        samples: Iterable[Any],
        passes: int,
        batch: int,
        run: Executor,
        cancellation: Cancellation,
    ) -> Iterator[SampleUpdate]:
        for _ in range(passes):
            remaining = iter(samples)
            while several := list(islice(remaining, batch)):
                yield from self.learn_batch(several, run, cancellation)

    def learn_batch(
        self,
        samples: Sequence[Any],
        run: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> list[SampleUpdate]:
        """Code all samples with the same filters, then update the filters.

        Their terms are added in their order, so that it does not matter who coded them: ``run``
        says where that is done, and samples may be results of its ``map``.
        """
        start = time.perf_counter()
        run = run or ThreadExecutor()
        pairs = run.map(partial(_checked, settings=self.settings), samples)
        state = self._state
        if state is None:
            state = State.first(self.settings, run.gather(pairs[:1])[0][0], self._bank)
        work = partial(
            _code_for_learning,
            settings=self.settings,
            geometry=state.step.geometry,
            filters=state.step.filters,
            start=state.mean_weights,
            problems=self._problems if run.is_here else None,
            cancellation=cancellation if run.is_here else NEVER,
        )
        with single_threaded():
            coded = run.gather(run.map(work, pairs), cancellation)
            # From here on the samples count: if the filter step is interrupted, the filters are
            # those of before, and the next sample brings them up to date.
            self._state = state
            state.history.update([(c.maps, c.sample) for c in coded], self.settings.forget)
            for c in coded:
                state.count(c.mean_weights)
            state.step.update(state.history)
        state.seconds += time.perf_counter() - start
        self._publish(state)
        for c in coded:
            _warn_of_silence(c.silence, stacklevel=4)
        return [
            SampleUpdate(
                sample=state.n_seen - len(coded) + i,
                B=state.step.filters.copy(),
                W=c.weights,
                use=c.use,
                objective=c.objective,
                sparsity=c.sparsity,
                psnr=c.psnr,
                seconds=state.seconds,
                iterations=c.iterations,
                converged=c.converged,
            )
            for i, c in enumerate(coded, start=1)
        ]

    # --- coding ---------------------------------------------------------------------------------

    def encode(
        self,
        x: Any,
        mask: Any = None,
        max_iter: int | None = None,
        tol: float | None = None,
        *,
        cancellation: Cancellation = NEVER,
        warn: bool = True,
    ) -> Code:
        """Code a sample of any size with the filters as they are; mask: True where measured.

        ``tick`` is called in every iteration; it may raise to cancel. ``warn`` says whether a code
        that is all zero is worth a warning.
        """
        settings = self.settings
        array, known = _checked((x, mask), settings)
        max_iter = settings.max_iter if max_iter is None else check_int("max_iter", max_iter, 1)
        tol = settings.tol if tol is None else check_float("tol", tol, least=0)
        bank = self.bank
        check_joint(array, bank.joint)
        geometry = Geometry(bank.joint, array.shape[settings.n_joint :], settings.filter_shape)
        start = starting_weights(settings, bank)
        with single_threaded(), self._problems.borrow(geometry, bank.filters) as problem:
            problem.set_sample(array, known)
            solution, silence = _solve(problem, settings, start, max_iter, tol, cancellation)
            problem.reconstruct()
            reconstruction = geometry.crop(problem.residual)
        if warn:
            _warn_of_silence(silence, stacklevel=3)
        return Code(
            W=_weights_of(solution, settings),
            Z=geometry.reached(solution.codes),
            reconstruction=reconstruction,
            objective=solution.objective,
            converged=solution.converged,
        )

    # --- checkpoints ----------------------------------------------------------------------------

    def checkpoint(
        self, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None
    ) -> None:
        """Write all that is needed to go on learning; complete, or not at all.

        ``notes`` are kept with it, for whoever wrote them; ``SCSC.notes`` reads them.
        """
        if self._state is None:
            raise ValueError("nothing was learned yet: there is nothing to write")
        self._state.save(path, self.settings, notes)

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> SCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        settings, state = State.load(path)
        model = cls(**settings.arguments())
        model._publish(state)
        return model

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
        """Read the notes that were kept with a checkpoint; empty if there are none."""
        return State.notes(path)


_SHARED_ROUNDS = 10  # gradient steps that a sample gives to the one W of all


@dataclass(frozen=True, slots=True)
class _Coded:
    """One coded sample, ready for the history and for its update: nothing of the size of Z."""

    weights: Array
    mean_weights: Array | None  # what it gives to the running mean
    maps: Array
    sample: Array
    use: Array
    objective: float
    iterations: int
    converged: bool
    sparsity: float
    psnr: float
    silence: str


def _checked(sample: Any, settings: Settings) -> tuple[Array, Array | None]:
    x, mask = _pair(sample)
    return check_sample(x, settings.n_joint, len(settings.filter_shape), mask, settings.real)


def _code_for_learning(
    pair: tuple[Array, Array | None],
    *,
    settings: Settings,
    geometry: Geometry,
    filters: Array,
    start: Array | None,
    problems: ProblemPool | None,
    cancellation: Cancellation,
) -> _Coded:
    problems = problems or _shared_problems(settings.n_base, settings.dtype)
    x, mask = place(*pair, geometry)
    with single_threaded(), problems.borrow(geometry, filters) as problem:
        problem.set_sample(x, mask)
        solution, silence = _solve(
            problem, settings, start, settings.max_iter, settings.tol, cancellation
        )
        maps, sample, reconstruction = problem.statistics()
        error = problem.mask * (problem.sample - reconstruction)
        square = float(np.einsum("cp,cp->", error, error, dtype=np.float64))
        mean_square = square / problem.n_measured
        places = len(solution.codes) * math.prod(problem.geometry.reach)
        weights = solution.weights
        if settings.weights == "shared":
            # Alternate: the code fixed, the sample says how it would improve the one W of all.
            weights = code.refine_weights(
                problem,
                solution,
                ball=settings.ball,
                radius=settings.radius,
                rounds=_SHARED_ROUNDS,
            )
        return _Coded(
            weights=_weights_of(solution, settings),
            mean_weights=weights,
            maps=maps,
            sample=sample,
            use=_use(solution.codes),
            objective=solution.objective[-1],
            iterations=len(solution.objective) - 2,
            converged=solution.converged,
            sparsity=float(np.count_nonzero(solution.codes)) / places,
            psnr=-10 * math.log10(mean_square) if mean_square > 0 else math.inf,
            silence=silence,
        )


@cache
def _shared_problems(n_base: int, dtype: str) -> ProblemPool:
    """Where no model is: those of the process."""
    return ProblemPool(n_base, np.dtype(dtype))


def _solve(
    problem: Problem,
    settings: Settings,
    start: Array | None,
    max_iter: int,
    tol: float,
    cancellation: Cancellation = NEVER,
) -> tuple[code.Solution, str]:
    """Code the sample in the problem; the text says why the code is all zero, if it is."""
    beta = settings.beta
    if isinstance(beta, Relative):
        beta = beta.share * _silencing_beta(problem, settings)
    solution = code.solve(
        problem,
        start,
        beta=beta,
        ball=settings.ball,
        radius=settings.radius,
        max_iter=max_iter,
        tol=tol,
        fixed_weights=settings.weights == "shared",
        cancellation=cancellation,
    )
    if not math.isfinite(solution.objective[-1]):
        raise FloatingPointError("coding a sample overflowed: scale the data down")
    if solution.codes.any():
        return solution, ""
    largest = _silencing_beta(problem, settings)
    code.compose(problem, solution.weights, solution.codes)
    if largest == 0:
        return solution, "the sample is zero where it was measured"
    if beta >= largest:
        return solution, f"beta is {beta:.3g}, and from {largest:.3g} on nothing is coded"
    return solution, f"beta is {beta:.3g}, and no filter answers to the sample more than that"


def _silencing_beta(problem: Problem, settings: Settings) -> float:
    identity = settings.weights == "identity"
    return code.smallest_silencing_beta(problem, settings.ball, settings.radius, identity)


def _weights_of(solution: code.Solution, settings: Settings) -> Array:
    if solution.weights is None:
        return np.eye(settings.n_base, dtype=settings.real)
    return solution.weights.copy()


def _use(codes: Array) -> Array:
    """Sum of the magnitudes of each of the codes (K, P), map by map: no second K x P array."""
    return np.array([np.abs(z).sum(dtype=np.float64) for z in codes])


def _warn_of_silence(why: str, stacklevel: int) -> None:
    if why:
        message = f"the code of a sample is all zero: {why}"
        warnings.warn(message, ZeroCodeWarning, stacklevel=stacklevel)


def _pair(sample: Any) -> tuple[Any, Any]:
    if isinstance(sample, tuple):
        if len(sample) != 2:
            raise ValueError(
                f"a sample must be an array or a pair (array, mask), not {len(sample)}"
            )
        return sample
    return sample, None
