"""SCSC: learn base filters online from many samples, and code samples with them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float, check_int, check_seed
from napari_scsc.errors import UserError
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.sample_code import (
    CodedSample,
    check_pair,
    code_for_learning,
    solve_sample,
    warn_of_zero_code,
    weights_of,
)
from napari_scsc.model.settings import (
    DEFAULT_FORGET,
    Constraint,
    Relative,
    Settings,
    Weights,
    arguments_from_json,
    filter_lengths,
)
from napari_scsc.model.solver.problem import Geometry
from napari_scsc.model.solver.problem_pool import ProblemPool
from napari_scsc.model.solver.prox import Ball
from napari_scsc.model.state import State, check_joint, starting_weights
from napari_scsc.model.threads import Executor, ThreadExecutor, single_threaded
from napari_scsc.model.updates import Code, SampleUpdate


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
    filters : {"orthonormal", "ball"}
        What the base filters may be. "orthonormal": of length one and at right angles, so that the
        l2 ball of radius 1 is exactly that of the composed filters; n_base can then be no larger
        than the number of values of a filter. "ball": each of at most length one, as the paper's
        text has it; with identity weights always.
    max_iter, tol : int, float
        The coding of a sample stops after ``max_iter`` iterations, or when the objective changes
        by less than ``tol`` of itself an iteration.
    forget : float, optional
        Share of the weight of all earlier samples that each new one takes away in the statistics
        from which the filters are computed. Without it 0.3 for orthonormal filters, and 0, as in
        the paper, for those in balls.
    seed : int, optional
        Seed of the first filters and weights. The same seed, data and dtype give the same bits.
    dtype : {"float32", "float64"}
        Precision of everything.
    rng : int, numpy.random.Generator, SeedSequence or BitGenerator, optional
        Instead of ``seed``, which is 0 unless given: a number is the seed, anything else draws one.

    Examples
    --------
    Learn three base filters from four small pictures, and code one of them:

    >>> import numpy as np
    >>> from napari_scsc import SCSC
    >>> pictures = np.random.default_rng(0).standard_normal((4, 32, 32))
    >>> model = SCSC(n_base=3, n_filters=8, filter_shape=(5, 5), max_iter=20).fit(pictures)
    >>> model.bank.filters.shape
    (3, 5, 5)
    >>> code = model.encode(pictures[0])
    >>> code.W.shape, code.Z.shape, code.reconstruction.shape
    ((3, 8), (8, 36, 36), (32, 32))
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
        filters: Constraint = "orthonormal",
        max_iter: int = 100,
        tol: float = 1e-4,
        forget: float | None = None,
        seed: int | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        *,
        rng: Any = None,
    ) -> None:
        if weights == "identity":
            filters = "ball"
        self.settings = Settings(
            n_base=n_base,
            n_filters=n_filters,
            filter_shape=filter_lengths(filter_shape),
            n_joint=n_joint,
            beta=beta,
            ball=ball,
            radius=radius,
            weights=weights,
            filters=filters,
            max_iter=max_iter,
            tol=tol,
            forget=DEFAULT_FORGET.get(filters, 0.0) if forget is None else forget,
            seed=check_seed(seed, rng),
            dtype=dtype,
        )
        self._state: State | None = None
        self._bank: FilterBank | None = None
        self._problems = ProblemPool(self.settings.n_base, self.settings.real)

    @property
    def n_seen(self) -> int:
        """How many samples were learned from."""
        return self._state.n_seen if self._state else 0

    @property
    def bank(self) -> FilterBank:
        """The filters as they were after the last sample."""
        if self._bank is None:
            raise UserError("nothing was learned yet", remedy="call fit or partial_fit first")
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
                raise UserError(
                    f"of the bank is {value}, it cannot be {changes[name]!r}", argument=name
                )
        known = arguments_from_json(bank.settings)
        if changes.get("rng") is not None:
            known.pop("seed", None)
        arguments = {**known, **fixed, **changes}
        if bank.filters[0].size < bank.n_base:  # so many cannot be orthonormal
            arguments.setdefault("filters", "ball")
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
            filters=state.rotated(state.step.filters),
            n_joint=self.settings.n_joint,
            weights=None if state.mean_weights is None else state.rotated(state.mean_weights),
            settings=self.settings.to_json(),
            info={"n_samples": state.n_seen},
        )

    def partial_fit(self, x: Any, mask: Any = None) -> SCSC:
        """Learn from one more sample; mask: True where it was measured."""
        self.learn_batch([(x, mask)])
        return self

    def fit(
        self, samples: Iterable[Any], passes: int = 1, *, batch: int = 1, n_jobs: int = 1
    ) -> SCSC:
        """Learn from all samples, ``passes`` times, and return the learner; see ``iter_fit``."""
        updates = self.iter_fit(samples, passes, batch=batch, n_jobs=n_jobs)
        if sum(1 for _ in updates) == 0:
            raise UserError("is empty: there is nothing to learn from", argument="samples")
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
        cancellation : Cancellation
            Checked in every iteration of a code; a sample under way then leaves no trace.

        Returns
        -------
        iterator of SampleUpdate
            Learning goes on as it is gone through.
        """
        passes = check_int("passes", passes, 1)
        batch = check_int("batch", batch, 1)
        executor = ThreadExecutor(n_jobs)
        if passes > 1 and iter(samples) is samples:
            raise UserError(
                f"is {passes}, but samples can be gone through only once",
                argument="passes",
                remedy="pass a list",
            )
        return self._updates(samples, passes, batch, executor, cancellation)

    def _updates(
        self,
        samples: Iterable[Any],
        passes: int,
        batch: int,
        executor: Executor,
        cancellation: Cancellation,
    ) -> Iterator[SampleUpdate]:
        for _ in range(passes):
            remaining = iter(samples)
            while batch_samples := list(islice(remaining, batch)):
                yield from self.learn_batch(batch_samples, executor, cancellation)

    def learn_batch(
        self,
        samples: Sequence[Any],
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> list[SampleUpdate]:
        """Code all samples with the same filters, then update the filters.

        Parameters
        ----------
        samples : sequence
            Samples, pairs (sample, mask), or results of the executor's ``map`` that are such.
        executor : Executor, optional
            Where the samples are coded. Their terms are added in their order, so that it does not
            matter who coded them.
        cancellation : Cancellation
            Checked in every iteration of a code; the whole batch then leaves no trace.

        Returns
        -------
        list of SampleUpdate
            One a sample, in their order.
        """
        start = time.perf_counter()
        executor = executor or ThreadExecutor()
        pairs = executor.map(partial(check_pair, settings=self.settings), samples)
        state = self._state
        if state is None:
            state = State.first(self.settings, executor.gather(pairs[:1])[0][0], self._bank)
        code_pair = partial(
            code_for_learning,
            settings=self.settings,
            geometry=state.step.geometry,
            filters=state.step.filters,
            start=state.mean_weights,
            terms=state.history.terms,
            problems=self._problems if executor.is_here else None,
            cancellation=cancellation if executor.is_here else NEVER,
        )
        with single_threaded():
            coded = executor.gather(executor.map(code_pair, pairs), cancellation)
            # From here on the samples count: if the filter step is interrupted, the filters are
            # those of before, and the next sample brings them up to date.
            self._state = state
            for c in coded:
                state.take_in(c.terms, c.mean_weights, c.use, self.settings.forget)
            state.update_filters(self.settings.ball)
        state.seconds += time.perf_counter() - start
        self._publish(state)
        for c in coded:
            warn_of_zero_code(c.zero_reason, stacklevel=4)
        first = state.n_seen - len(coded) + 1
        return [_make_update(number, c, state) for number, c in enumerate(coded, start=first)]

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
        """Code a sample of any size with the filters as they are.

        Parameters
        ----------
        x : array_like, (*joint, *shift)
            The sample.
        mask : array_like of bool, (*joint, *shift) or (*shift), optional
            True where it was measured.
        max_iter, tol : int, float, optional
            Instead of those of the learner.
        cancellation : Cancellation
            Checked in every iteration.
        warn : bool
            Whether a code that is all zero is worth a warning.

        Returns
        -------
        Code
            Weights, sparse code and reconstruction.
        """
        settings = self.settings
        array, known = check_pair((x, mask), settings)
        max_iter = settings.max_iter if max_iter is None else check_int("max_iter", max_iter, 1)
        tol = settings.tol if tol is None else check_float("tol", tol, least=0)
        bank = self.bank
        check_joint(array, bank.joint)
        geometry = Geometry(bank.joint, array.shape[settings.n_joint :], settings.filter_shape)
        start = starting_weights(settings, bank)
        with single_threaded(), self._problems.borrow(geometry, bank.filters) as problem:
            problem.set_sample(array, known)
            solution, reason = solve_sample(problem, settings, start, max_iter, tol, cancellation)
            problem.reconstruct()
            reconstruction = geometry.crop(problem.residual)
        if warn:
            warn_of_zero_code(reason, stacklevel=3)
        return Code(
            W=weights_of(solution, settings),
            Z=geometry.reached(solution.codes),
            reconstruction=reconstruction,
            objective=solution.objective,
            converged=solution.converged,
        )

    def checkpoint(
        self,
        path: str | os.PathLike[str],
        notes: Mapping[str, Any] | None = None,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        """Write all that is needed to go on learning; complete, or not at all.

        ``notes`` and ``arrays`` are kept with it, for whoever wrote them; ``SCSC.notes`` reads
        them.
        """
        if self._state is None:
            raise UserError("nothing was learned yet: there is nothing to write")
        self._state.save(path, self.settings, notes, arrays)

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> SCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        settings, state = State.load(path)
        model = cls(**settings.arguments())
        model._publish(state)
        return model

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
        """Read the notes and arrays that were kept with a checkpoint; empty if there are none."""
        return State.notes(path)


def _make_update(number: int, coded: CodedSample, state: State) -> SampleUpdate:
    """What is told of a coded sample, once the filters were updated."""
    return SampleUpdate(
        sample=number,
        B=state.rotated(state.step.filters),
        W=state.rotated(coded.weights),
        use=coded.use,
        objective=coded.objective,
        sparsity=coded.sparsity,
        psnr=coded.psnr,
        seconds=state.seconds,
        iterations=coded.iterations,
        converged=coded.converged,
    )
