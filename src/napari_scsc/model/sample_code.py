"""The code of one sample: as a step of learning, or for itself."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_sample
from napari_scsc.errors import UserError
from napari_scsc.model.settings import Relative, Settings
from napari_scsc.model.solver import code
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.solver.problem_pool import ProblemPool
from napari_scsc.model.state import check_joint, fit_into
from napari_scsc.model.threads import single_threaded
from napari_scsc.model.updates import ZeroCodeWarning

_SHARED_WEIGHT_STEPS = 10  # gradient steps that a sample gives to the one W of all


@dataclass(frozen=True, slots=True)
class CodedSample:
    """One coded sample, ready for the history and for its update: nothing of the size of Z.

    What is not described here is as in ``SampleUpdate``.

    Attributes
    ----------
    terms : tuple of ndarray
        What goes into the history.
    mean_weights : ndarray, (R, K), or None
        What it gives to the running mean of the weights; None for the identity.
    zero_reason : str
        Why its code is all zero; empty if it is not.
    """

    weights: Array
    mean_weights: Array | None
    terms: tuple[Array, Array]
    use: Array
    objective: float
    iterations: int
    converged: bool
    sparsity: float
    psnr: float
    zero_reason: str


def check_pair(sample: Any, settings: Settings) -> tuple[Array, Array | None]:
    """Return a sample, or a pair (sample, mask), as checked arrays; see ``check_sample``."""
    x, mask = sample, None
    if isinstance(sample, tuple):
        if len(sample) != 2:
            raise UserError(f"a sample must be an array or a pair (array, mask), not {len(sample)}")
        x, mask = sample
    return check_sample(x, settings.n_joint, len(settings.filter_shape), mask, settings.real)


def code_for_learning(
    pair: tuple[Array, Array | None],
    *,
    settings: Settings,
    geometry: Geometry,
    filters: Array,
    start: Array | None,
    terms: Callable[[Array, Array, Geometry], tuple[Array, Array]],
    problems: ProblemPool | None,
    cancellation: Cancellation,
) -> CodedSample:
    """Code a sample from ``check_pair`` with filters of the state of a learner.

    Parameters
    ----------
    pair : tuple
        The sample and its mask.
    settings : Settings
        Of the learner.
    geometry : Geometry
        Of the first sample; of filters in balls, whose history has its size, the largest.
    filters : ndarray, (R, *joint, *support)
        The base filters.
    start : ndarray, (R, K), or None
        The weights from which coding starts.
    terms : callable
        That of the history.
    problems : ProblemPool or None
        Buffers to compute in; None for those of the process.
    cancellation : Cancellation
        Checked in every iteration.
    """
    problems = problems or _problems_of_process(settings.n_base, settings.dtype)
    x, mask = pair
    if settings.filters == "ball":
        x, mask = fit_into(geometry, x, mask)
    else:
        check_joint(x, geometry.joint)
        geometry = replace(geometry, shift=x.shape[len(geometry.joint) :])
    with single_threaded(), problems.borrow(geometry, filters) as problem:
        problem.set_sample(x, mask)
        solution, zero_reason = solve_sample(
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
                rounds=_SHARED_WEIGHT_STEPS,
            )
        return CodedSample(
            weights=weights_of(solution, settings),
            mean_weights=weights,
            terms=terms(maps, sample, geometry),
            use=_sum_magnitudes(solution.codes),
            objective=solution.objective[-1],
            iterations=len(solution.objective) - 2,
            converged=solution.converged,
            sparsity=float(np.count_nonzero(solution.codes)) / places,
            psnr=-10 * math.log10(mean_square) if mean_square > 0 else math.inf,
            zero_reason=zero_reason,
        )


@cache
def _problems_of_process(n_base: int, dtype: str) -> ProblemPool:
    """Buffers of this process, for a worker of a cluster, which has no learner."""
    return ProblemPool(n_base, np.dtype(dtype))


def solve_sample(
    problem: Problem,
    settings: Settings,
    start: Array | None,
    max_iter: int,
    tol: float,
    cancellation: Cancellation = NEVER,
) -> tuple[code.Solution, str]:
    """Code the sample in the problem; returns also why the code is all zero, "" if it is not."""
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


def weights_of(solution: code.Solution, settings: Settings) -> Array:
    """A copy of the weights (R, K) of a solution."""
    if solution.weights is None:
        return np.eye(settings.n_base, dtype=settings.real)
    return solution.weights.copy()


def _sum_magnitudes(codes: Array) -> Array:
    """Sum of the magnitudes of each of the codes (K, P), one by one: no second K x P array."""
    return np.array([np.abs(z).sum(dtype=np.float64) for z in codes])


def warn_of_zero_code(reason: str, stacklevel: int) -> None:
    """Warn that a code is all zero, if there is a reason why it is."""
    if reason:
        message = f"the code of a sample is all zero: {reason}"
        warnings.warn(message, ZeroCodeWarning, stacklevel=stacklevel)
