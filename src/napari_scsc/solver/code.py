"""niAPG: the weights W and the sparse code Z of one sample, with the base filters fixed.

    min over W, Z of  F(W, Z) = 1/2 || M . (x - B * (W Z)) ||^2 + beta ||Z||_1,  W in its ball

(the paper's equation 13). Nonconvex accelerated proximal gradient (Yao et al. 2017): a proximal
step from an extrapolated point, kept only while F there is no larger than the largest of its last
few values.

What is particular here is that an iteration evaluates one point, not two. The objective is taken
at the extrapolated point, where the gradient is needed anyway, and the plain iterate is evaluated
only when the extrapolated one was refused, or when it is the turn of the step sizes to be tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.solver import kernels
from napari_scsc.solver.problem import Problem
from napari_scsc.solver.prox import Ball, project_columns

Array = NDArray[Any]

MEMORY = 5
"""How many last values of F an extrapolated point is compared with (q of niAPG)."""

_TEST_EVERY = 5
_LONGER = 0.75  # factor on the curvature after a step that passed its test
_SHORTER = 2.0  # after one that failed
_LEAST_CURVATURE = 0.125  # of the bound; beyond it a step fails too often to pay for its restarts
_BLOCK_VALUES = 200_000  # of a K x block working array: it stays in the second-level cache


@dataclass(frozen=True, slots=True)
class Solution:
    """W and Z of one sample, as the solver leaves them: ``codes`` is (K, P), padded."""

    weights: Array | None
    codes: Array
    objective: tuple[float, ...]
    converged: bool


def smallest_silencing_beta(problem: Problem, ball: Ball, radius: float, identity: bool) -> float:
    """Smallest beta for which Z = 0 is the best code whatever W in the ball is."""
    problem.gradient_at_zero()
    gradient = problem.maps
    if identity:
        return float(np.abs(gradient).max())
    if ball == "l1":
        return radius * float(np.abs(gradient).max())
    return radius * math.sqrt(float(np.einsum("rp,rp->p", gradient, gradient).max()))


def solve(
    problem: Problem,
    weights: Array | None,
    *,
    beta: float,
    ball: Ball = "l2",
    radius: float = 1.0,
    max_iter: int = 100,
    tol: float = 1e-4,
    codes: Array | None = None,
    fixed_weights: bool = False,
    tick: Callable[[], None] | None = None,
) -> Solution:
    """Minimise F from ``weights`` (R, K) and ``codes`` (K, P), zero unless given.

    ``weights=None`` is the identity (K = R, no W). ``tick`` is called once an iteration and may
    raise to cancel. On return ``problem.maps`` holds Y = W Z of the solution.
    """
    fixed_weights = fixed_weights or weights is None
    maps = _CodeMaps(problem, len(problem.maps) if weights is None else weights.shape[1], codes)
    w = weights
    energy = 0.0

    def objective_at(at: Array | None, a: float) -> tuple[float, float]:
        norm = maps.compose(at, a)
        smooth = problem.evaluate()
        return smooth, smooth + beta * norm

    # v = (w_v, z + a (z - previous)) is the point from which the next step is taken.
    w_v, a, speed = w, 0.0, 1.0
    smooth_v, total = objective_at(w, 0.0)
    history = [total]
    curvature = 1.0  # of the bound on the Lipschitz constants; tested, so it may go below 1
    converged = False
    for iteration in range(1, max_iter + 1):
        if tick:
            tick()
        problem.gradient()
        step_z = 1 / max(curvature * problem.largest_gain * _operator_norm(w_v) ** 2, 1e-30)
        gradient_w, slope, square = maps.descend(w_v, a, step_z, beta)
        model = smooth_v + slope + square / (2 * step_z)
        w_new = w_v
        if not fixed_weights:
            if iteration <= 2 or iteration % _TEST_EVERY == 0:
                energy = _largest_energy(maps.z)
            if energy > 0:
                step_w = 1 / (max(curvature, 1.0) * problem.largest_gain * energy)
                w_new = project_columns(w_v - w.dtype.type(step_w) * gradient_w, ball, radius)
                change = (w_new - w_v).astype(np.float64)
                model += float(np.vdot(gradient_w, change) + np.vdot(change, change) / (2 * step_w))

        def majorised(
            w_new: Array | None = w_new, model: float = model, smooth_v: float = smooth_v
        ) -> bool:
            smooth, _ = objective_at(w_new, 0.0)
            return smooth <= model + 1e-6 * abs(smooth_v)

        sound: bool | None = None  # whether the step passed the majorisation test; None: untested
        if iteration % _TEST_EVERY == 0:
            sound = majorised()
            factor = _LONGER if sound else _SHORTER
            curvature = max(curvature * factor, _LEAST_CURVATURE)
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        a_new = (speed - 1) / faster
        w_y = w_new
        if w is not None and not fixed_weights:
            w_y = project_columns(w_new + w.dtype.type(a_new) * (w_new - w), ball, radius)
        smooth_y, total = objective_at(w_y, a_new)
        if total > max(history[-MEMORY:]):
            # Refused: go on without momentum, from the plain iterate if its step was sound.
            faster, a_new, w_y = 1.0, 0.0, w_new
            if sound or (sound is None and majorised()):
                smooth_y, total = objective_at(w_new, 0.0)
            else:
                maps.step_back()
                curvature *= _SHORTER
                w_new = w_y = w
                smooth_y, total = objective_at(w, 0.0)
        w, w_v, a, smooth_v, speed = w_new, w_y, a_new, smooth_y, faster
        history.append(total)
        if _has_settled(history, tol):
            converged = True
            break

    _, total = objective_at(w, 0.0)
    history.append(total)
    return Solution(w, maps.z, tuple(history), converged)


def compose(problem: Problem, weights: Array | None, codes: Array) -> None:
    """Write Y = W Z into ``problem.maps``."""
    if weights is None:
        problem.maps[...] = codes
    else:
        np.matmul(weights, codes, out=problem.maps)


def refine_weights(
    problem: Problem, solution: Solution, *, ball: Ball, radius: float, rounds: int
) -> Array:
    """Lower F over W alone, the code fixed, by projected gradient steps."""
    w, z = solution.weights, solution.codes
    assert w is not None
    gain = problem.largest_gain * _largest_energy(z)
    for _ in range(rounds if gain > 0 else 0):
        compose(problem, w, z)
        problem.evaluate()
        problem.gradient()
        w = project_columns(w - (problem.maps @ z.T) / w.dtype.type(gain), ball, radius)
    return w


def _has_settled(history: list[float], tol: float) -> bool:
    """Whether F changed by less than ``tol`` of itself an iteration, over the last few.

    One iteration alone says little: with momentum F may stand still and fall again.
    """
    if len(history) <= MEMORY:
        return False
    return abs(history[-1 - MEMORY] - history[-1]) <= MEMORY * tol * abs(history[-1])


def _operator_norm(w: Array | None) -> float:
    if w is None:
        return 1.0
    return math.sqrt(float(np.linalg.eigvalsh((w @ w.T).astype(np.float64))[-1]))


class _CodeMaps:
    """Z and its predecessor, (K, P) each, and the two passes over them that an iteration makes.

    Both passes go block by block of columns, so that what one kernel leaves is still in the cache
    when the next one takes it.
    """

    def __init__(self, problem: Problem, n_filters: int, codes: Array | None) -> None:
        self._problem = problem
        self._kernels = kernels.get()
        shape = (n_filters, problem.maps.shape[1])
        self.z: Array = np.zeros(shape, problem.dtype)
        self._previous: Array = np.zeros(shape, problem.dtype)
        if codes is not None:
            self.z[...] = codes
            self._previous[...] = codes
        self._width = min(shape[1], max(256, _BLOCK_VALUES // n_filters))
        self._work: Array = np.empty((n_filters, self._width), problem.dtype)

    def _blocks(self) -> list[tuple[int, int]]:
        size = self.z.shape[1]
        return [(p, min(p + self._width, size)) for p in range(0, size, self._width)]

    def compose(self, w: Array | None, a: float) -> float:
        """Write Y = w (z + a (z - previous)) into the problem; return the l1 norm of that code."""
        norm = 0.0
        for first, last in self._blocks():
            code = self._work[:, : last - first]
            norm += self._kernels.extrapolate(self._work, self.z, self._previous, first, last, a)
            target = self._problem.maps[:, first:last]
            if w is None:
                target[...] = code
            else:
                np.matmul(w, code, out=target)
        return norm

    def descend(
        self, w: Array | None, a: float, step: float, beta: float
    ) -> tuple[Array, float, float]:
        """One proximal step of Z with the gradient in ``problem.maps``; z becomes its result.

        Returns the gradient of W at the extrapolated point, <grad_Z, change> and ||change||^2.
        """
        gradient_w = 0.0 if w is None else np.zeros(w.shape, np.float64)
        slope = square = 0.0
        for first, last in self._blocks():
            g = self._problem.maps[:, first:last]
            gradient = self._work[:, : last - first]
            if w is None:
                gradient[...] = g
            else:
                np.matmul(w.T, g, out=gradient)
            inner, length = self._kernels.shrink(
                self._work, self.z, self._previous, first, last, a, step, beta
            )
            slope += inner
            square += length
            if w is not None:  # the kernel has left the extrapolated code in the working array
                gradient_w += g @ gradient.T
        self.z, self._previous = self._previous, self.z
        return np.asarray(gradient_w, self.z.dtype), slope, square

    def step_back(self) -> None:
        """Undo the last ``descend``; what came before it is lost, so momentum must restart."""
        self.z, self._previous = self._previous, self.z
        np.copyto(self._previous, self.z)


def _largest_energy(z: Array, rounds: int = 3) -> float:
    """Largest eigenvalue of Z Z^T by power iteration, never building it."""
    u = np.abs(z).sum(axis=1)
    energy = 0.0
    for _ in range(rounds):
        norm = float(np.linalg.norm(u))
        if norm == 0:
            return 0.0
        u = z @ ((u / norm) @ z)
        energy = float(np.linalg.norm(u))
    return energy
