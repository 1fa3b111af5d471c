"""SCSC: learn base filters online from many samples, and code samples with them."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks, files
from napari_scsc.__about__ import __version__
from napari_scsc.bank import FilterBank
from napari_scsc.solver import code
from napari_scsc.solver.filters import FilterStep, project_filters
from napari_scsc.solver.history import History
from napari_scsc.solver.problem import Geometry, Problem
from napari_scsc.solver.prox import Ball, project_columns
from napari_scsc.solver.threads import single_threaded

Array = NDArray[Any]
Weights = Literal["sample", "shared", "identity"]

_KIND = "napari-scsc checkpoint"
_VERSION = 1


class ZeroCodeWarning(UserWarning):
    """A sample was coded as nothing at all: beta is too large for it."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A beta given as a share of the smallest beta that makes a sample's code all zero."""

    share: float

    def __post_init__(self) -> None:
        checks.real("the share of a relative beta", self.share, above=0, below=1)


@dataclass(frozen=True, slots=True)
class Update:
    """What one sample changed. Its arrays are copies: nobody writes to them any more.

    Attributes
    ----------
    sample : int
        Number of the sample, from 1 on.
    B : ndarray, (R, *joint, *support)
        The base filters after it.
    W : ndarray, (R, K)
        Its weights.
    objective : float
        F(W, Z) of its code.
    sparsity : float
        Share of its code that is not zero.
    psnr : float
        20 log10(1 / RMS error) of its reconstruction where it was measured, in dB (peak 1, as in
        the paper).
    seconds : float
        Time spent learning so far, without that of whoever looks at the updates.
    iterations : int
        Iterations that its code took.
    converged : bool
        Whether the code reached the tolerance before ``max_iter``.
    """

    sample: int
    B: Array
    W: Array
    objective: float
    sparsity: float
    psnr: float
    seconds: float
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one sample.

    Attributes
    ----------
    W : ndarray, (R, K)
        The sample's weights: its own filters are D = B W.
    Z : ndarray, (K, *reach)
        Its sparse code. A filter of length h also acts from outside the sample, so each shift axis
        of n points is n + h - 1 long here; a value at index i is centred on the point
        i - (h - 1 - h // 2).
    reconstruction : ndarray, (*joint, *shift)
        B * (W Z), also where nothing was measured.
    objective : tuple of float
        F at the start, after each iteration, and of the result.
    converged : bool
        Whether the tolerance was reached before ``max_iter``.
    """

    W: Array
    Z: Array
    reconstruction: Array
    objective: tuple[float, ...]
    converged: bool


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
        self.n_base = checks.whole("n_base", n_base, 1)
        self.n_filters = checks.whole("n_filters", n_filters, 1)
        self.filter_shape = _filter_shape(filter_shape)
        self.n_joint = checks.whole("n_joint", n_joint, 0)
        self.beta = beta if isinstance(beta, Relative) else checks.real("beta", beta, above=0)
        self.ball: Ball = "l1" if checks.choice("ball", ball, ("l2", "l1")) == "l1" else "l2"
        self.radius = checks.real("radius", radius, above=0)
        self.weights = checks.choice("weights", weights, ("sample", "shared", "identity"))
        self.max_iter = checks.whole("max_iter", max_iter, 1)
        self.tol = checks.real("tol", tol, least=0)
        self.forget = checks.real("forget", forget, least=0, below=1)
        self.seed = checks.whole("seed", seed, 0)
        self.dtype = np.dtype(checks.choice("dtype", dtype, ("float32", "float64")))
        if self.weights == "identity" and self.n_filters != self.n_base:
            raise ValueError(
                'with weights="identity" the base filters are the filters: n_filters must equal '
                f"n_base, but they are {self.n_filters} and {self.n_base}"
            )
        self._state: _State | None = None
        self._bank: FilterBank | None = None
        self._problems = _ProblemPool(self.n_base, self.dtype)

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
            n_joint=self.n_joint,
            weights=self._state.mean_weights,
            settings=self._settings(),
            info={"n_samples": self.n_seen},
        )

    @classmethod
    def from_bank(cls, bank: FilterBank, **changes: Any) -> SCSC:
        """Make a learner that codes with a bank and, when fitted, continues from its filters.

        ``changes`` are arguments that differ from those with which the bank was learned.
        """
        settings = {**_from_json(dict(bank.settings)), **changes}
        settings |= {
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
        state = self._state or self._first_state(pairs[0][0])
        placed = [_place(x, mask, state.step.geometry) for x, mask in pairs]
        with single_threaded():
            coded = _map(lambda pair: self._code_for_learning(state, *pair, tick), placed, n_jobs)
            state.history.update([(c.maps, c.sample) for c in coded], self.forget)
            state.step.update(state.history)
        for c in coded:
            state.n_seen += 1
            if state.mean_weights is not None and c.solution.weights is not None:
                change = c.solution.weights - state.mean_weights
                state.mean_weights = state.mean_weights + change / self.dtype.type(state.n_seen)
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
        state: _State,
        x: Array,
        mask: Array | None,
        tick: Callable[[], None] | None,
    ) -> _Coded:
        with self._problems.borrow(state.step.geometry, state.step.filters) as problem:
            problem.set_sample(x, mask)
            solution = self._solve(problem, state.mean_weights, self.max_iter, self.tol, tick)
            if self.weights == "shared":
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
            problem, solution, ball=self.ball, radius=self.radius, rounds=_SHARED_ROUNDS
        )
        mean = solution.weights + (own - solution.weights) / self.dtype.type(n_seen + 1)
        code.compose(problem, mean, solution.codes)
        return code.Solution(own, solution.codes, solution.objective, solution.converged)

    # --- coding ---------------------------------------------------------------------------------

    def encode(
        self, x: Any, mask: Any = None, max_iter: int | None = None, tol: float | None = None
    ) -> Code:
        """Code a sample of any size with the filters as they are; mask: True where measured."""
        array, known = self._check(x, mask)
        max_iter = self.max_iter if max_iter is None else checks.whole("max_iter", max_iter, 1)
        tol = self.tol if tol is None else checks.real("tol", tol, least=0)
        bank = self.bank
        _check_joint(array, bank.joint)
        geometry = Geometry(bank.joint, array.shape[self.n_joint :], self.filter_shape)
        start = self._first_weights() if bank.weights is None else bank.weights
        start = None if self.weights == "identity" or start is None else start.astype(self.dtype)
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
        beta = self.beta
        if isinstance(beta, Relative):
            beta = beta.share * self._silencing_beta(problem)
        solution = code.solve(
            problem,
            start,
            beta=beta,
            ball=self.ball,
            radius=self.radius,
            max_iter=max_iter,
            tol=tol,
            fixed_weights=self.weights == "shared",
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
        identity = self.weights == "identity"
        return code.smallest_silencing_beta(problem, self.ball, self.radius, identity)

    def _weights_of(self, solution: code.Solution, shared: Array | None) -> Array:
        weights = shared if self.weights == "shared" else solution.weights
        return np.eye(self.n_base, dtype=self.dtype) if weights is None else weights.copy()

    # --- checkpoints ----------------------------------------------------------------------------

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on learning; complete, or not at all."""
        state = self._state
        if state is None:
            raise ValueError("nothing was learned yet: there is nothing to write")
        header = {
            "settings": self._settings(),
            "joint": state.step.geometry.joint,
            "shift": state.step.geometry.shift,
            "n_seen": state.n_seen,
            "count": state.history.count,
            "rho": state.step.rho,
            "seconds": state.seconds,
            "written_by": f"napari-scsc {__version__}",
        }
        arrays = {
            "filters": state.step.filters,
            "dual": state.step.dual,
            "h": state.history.h,
            "g": state.history.g,
        }
        if state.mean_weights is not None:
            arrays["weights"] = state.mean_weights
        files.write(path, _KIND, _VERSION, header, arrays)

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> SCSC:
        """Read a checkpoint: learning goes on with the same bits as if it had not stopped."""
        header, arrays = files.read(path, _KIND, _VERSION)
        try:
            model = cls(**_from_json(header["settings"]))
            model._state = model._restore_state(header, arrays)
        except KeyError as error:
            raise files.FileFormatError(f"{os.fspath(path)}: {error} is missing") from None
        except (TypeError, ValueError) as error:
            raise files.FileFormatError(f"{os.fspath(path)}: {error}") from None
        return model

    def _restore_state(self, header: dict[str, Any], arrays: dict[str, Array]) -> _State:
        geometry = Geometry(
            tuple(checks.whole("joint", n, 1) for n in header["joint"]),
            tuple(checks.whole("shift", n, 1) for n in header["shift"]),
            self.filter_shape,
        )
        if (len(geometry.joint), len(geometry.shift)) != (self.n_joint, len(self.filter_shape)):
            raise ValueError("the shape of its samples does not fit its settings")
        expected = {
            "filters": (self.n_base, *geometry.joint, *geometry.support),
            "dual": (self.n_base, geometry.n_joint, *geometry.box),
            "h": (self.n_base, self.n_base, geometry.n_frequencies),
            "g": (self.n_base, geometry.n_joint, geometry.n_frequencies),
        }
        if self.weights != "identity":
            expected["weights"] = (self.n_base, self.n_filters)
        # Compared before anything is allocated: a header alone must not cost memory.
        for name, shape in expected.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        step = FilterStep(arrays["filters"], geometry, self.dtype)
        step.dual = arrays["dual"].astype(self.dtype)
        step.rho = checks.real("rho", header["rho"], least=0)
        history = History(0, 0, 0, self.dtype)
        kind = history.h.dtype
        history.h, history.g = arrays["h"].astype(kind), arrays["g"].astype(kind)
        history.count = checks.real("count", header["count"], least=0)
        return _State(
            step=step,
            history=history,
            mean_weights=arrays["weights"].astype(self.dtype) if "weights" in expected else None,
            n_seen=checks.whole("n_seen", header["n_seen"], 0),
            seconds=checks.real("seconds", header["seconds"], least=0),
        )

    # --- beginnings -----------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        beta = asdict(self.beta) if isinstance(self.beta, Relative) else self.beta
        return {
            "n_base": self.n_base,
            "n_filters": self.n_filters,
            "filter_shape": self.filter_shape,
            "n_joint": self.n_joint,
            "beta": beta,
            "ball": self.ball,
            "radius": self.radius,
            "weights": self.weights,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "forget": self.forget,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }

    def _check(self, x: Any, mask: Any = None) -> tuple[Array, Array | None]:
        return checks.sample(x, self.n_joint, len(self.filter_shape), mask)

    def _first_state(self, x: Array) -> _State:
        joint = x.shape[: self.n_joint]
        geometry = Geometry(joint, x.shape[self.n_joint :], self.filter_shape)
        if self._bank is None:
            rng = np.random.default_rng([self.seed, 0])
            filters = rng.standard_normal((self.n_base, *joint, *self.filter_shape))
            length = np.linalg.norm(filters.reshape(self.n_base, -1), axis=1)
            filters = filters / length.reshape(-1, *[1] * (filters.ndim - 1))
            weights = self._first_weights()
        else:
            _check_joint(x, self._bank.joint)
            filters, weights = self._bank.filters, self._bank.weights
            weights = self._first_weights() if weights is None else weights.astype(self.dtype)
        return _State(
            step=FilterStep(project_filters(filters), geometry, self.dtype),
            history=History(self.n_base, geometry.n_joint, geometry.n_frequencies, self.dtype),
            mean_weights=None if self.weights == "identity" else weights,
        )

    def _first_weights(self) -> Array | None:
        if self.weights == "identity":
            return None
        rng = np.random.default_rng([self.seed, 1])
        weights = rng.standard_normal((self.n_base, self.n_filters))
        weights *= self.radius / np.linalg.norm(weights, axis=0)
        return project_columns(weights, self.ball, self.radius).astype(self.dtype)


_SHARED_ROUNDS = 10  # gradient steps that a sample gives to the one W of all


@dataclass
class _State:
    """All that learning changes."""

    step: FilterStep
    history: History
    mean_weights: Array | None
    n_seen: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Coded:
    """One coded sample, ready for the history."""

    solution: code.Solution
    maps: Array
    sample: Array
    sparsity: float
    psnr: float


class _ProblemPool:
    """Buffers and FFT plans, lent to one thread at a time and used again for the next sample."""

    _MOST_IDLE = 8

    def __init__(self, n_base: int, dtype: np.dtype[Any]) -> None:
        self._n_base, self._dtype = n_base, dtype
        self._idle: list[Problem] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, geometry: Geometry, filters: Array) -> Iterator[Problem]:
        with self._lock:
            fitting = [p for p in self._idle if p.geometry == geometry]
            if fitting:
                self._idle.remove(fitting[0])
        problem = fitting[0] if fitting else Problem(geometry, self._n_base, self._dtype)
        problem.set_filters(filters)
        yield problem
        with self._lock:
            self._idle = [*self._idle[1 - self._MOST_IDLE :], problem]


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


def _filter_shape(value: Any) -> tuple[int, ...]:
    try:
        lengths = tuple(value)
    except TypeError:
        raise TypeError(f"filter_shape must be a tuple of lengths, but is {value!r}") from None
    if not 1 <= len(lengths) <= 4:
        raise ValueError(f"filter_shape must have 1 to 4 lengths, but is {lengths!r}")
    return tuple(checks.whole("each length of filter_shape", n, 1) for n in lengths)


def _check_joint(x: Array, joint: tuple[int, ...]) -> None:
    if x.shape[: len(joint)] != joint:
        raise ValueError(
            f"the filters span joint axes of lengths {joint}, but the sample has the shape {x.shape}"
        )


def _place(x: Array, mask: Array | None, geometry: Geometry) -> tuple[Array, Array | None]:
    """Fit a smaller sample into the shape of the first one: what it lacks is missing data."""
    _check_joint(x, geometry.joint)
    shift = x.shape[len(geometry.joint) :]
    if shift == geometry.shift:
        return x, mask
    if any(n > m for n, m in zip(shift, geometry.shift, strict=True)):
        raise ValueError(
            f"the sample has the shape {x.shape}, but learning began with {geometry.shift} on the "
            "shift axes: a later sample may be smaller, not larger; cut it into tiles"
        )
    corner = (..., *(slice(0, n) for n in shift))
    full = np.zeros((*geometry.joint, *geometry.shift), x.dtype)
    full[corner] = x
    known = np.zeros(full.shape, bool)
    known[corner] = True if mask is None else mask
    return full, known


def _from_json(settings: dict[str, Any]) -> dict[str, Any]:
    settings = dict(settings)
    if isinstance(settings.get("beta"), dict):
        settings["beta"] = Relative(**settings["beta"])
    return settings
