"""niAPG: the weights W and the sparse code Z of one sample, with the base filters fixed.

    min over W, Z of  F(W, Z) = 1/2 || M . (x - B * (W Z)) ||^2 + beta ||Z||_1,  W in its ball

(the paper's equation 16). Nonconvex accelerated proximal gradient (Yao et al. 2017): a proximal
step from an extrapolated point, kept only while F there is no larger than the largest of its last
few values.

What is particular here is that an iteration evaluates one point, not two. The objective is taken
at the extrapolated point, where the gradient is needed anyway, and the plain iterate is evaluated
only when the extrapolated one was refused, or while the step sizes are still being stretched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.model.solver import kernels
from napari_scsc.model.solver.problem import Problem
from napari_scsc.model.solver.prox import Ball, project_columns

MEMORY = 5
"""How many last values of F an extrapolated point is compared with (q of niAPG)."""

_ITERATIONS_PER_STEP_TEST = 5  # until the steps are longest
_ITERATIONS_PER_ENERGY = 10  # between two looks at the energy of Z, on which the step of W depends
_MIN_DIVISOR = 1e-30
_CURVATURE_AFTER_SUCCESS = 0.75  # factor, when a step passed its test: the next one is longer
_CURVATURE_AFTER_FAILURE = 2.0  # factor, when it failed
_MIN_CURVATURE = 0.2  # of the bound; below it a step fails too often to pay for its restarts
_MAX_COST_OF_SPARSITY = 1e-3  # of F, that the sparser of two codes may cost
_MIN_MOMENTUM = 0.01  # with none at all a step could not be undone
_VALUES_PER_BLOCK = 200_000  # of a K x block working array: it stays in the second-level cache


@dataclass(frozen=True, slots=True)
class Solution:
    """W and Z of one sample, as the solver leaves them."""

    weights: Array | None  # (R, K); None for the identity
    codes: Array  # (K, P), over the padded box
    objective: tuple[float, ...]  # F at the start, after each iteration, and of the result
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
    cancellation: Cancellation = NEVER,
) -> Solution:
    """Minimise F(W, Z) for the sample and the filters in a problem.

    Parameters
    ----------
    problem : Problem
        The sample and the filters; its ``maps`` hold Y = W Z of the solution on return.
    weights : ndarray, (R, K), or None
        Where W starts; None for the identity (K = R, no W).
    beta : float
        Price of the code.
    ball, radius
        Where the columns of W lie.
    max_iter, tol : int, float
        Stops after ``max_iter`` iterations, or when F changes by less than ``tol`` of itself an
        iteration.
    codes : ndarray, (K, P), optional
        Where Z starts; zero unless given.
    fixed_weights : bool
        Whether W stays as it is.
    cancellation : Cancellation
        Checked once an iteration.
    """
    fixed_weights = fixed_weights or weights is None
    maps = _CodeMaps(problem, len(problem.maps) if weights is None else weights.shape[1], codes)

    def objective(w: Array | None, codes: Array, norm: float) -> tuple[float, float]:
        """The smooth part of F, and F, of a code whose l1 norm is known."""
        compose(problem, w, codes)
        smooth = problem.evaluate()
        return smooth, smooth + beta * norm

    # The iterate is (w, maps.z); the next step is taken from the extrapolated point (w_y, maps.y).
    w, w_y = weights, weights
    energy, speed = 0.0, 1.0
    smooth, total = objective(w, maps.z, maps.norm)
    history = [total]
    curvature = 1.0  # of the bound on the Lipschitz constants; tested, so it may go below 1
    converged = False
    for iteration in range(1, max_iter + 1):
        cancellation.check()
        problem.gradient()
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        a = max((speed - 1) / faster, _MIN_MOMENTUM)
        step_z = 1 / max(curvature * problem.largest_gain * operator_norm(w_y) ** 2, _MIN_DIVISOR)
        gradient_w, slope, square = maps.descend(w_y, step_z, beta, a)
        model = smooth + slope + square / (2 * step_z)  # of f near y; above it, if steps are sound
        test = curvature > _MIN_CURVATURE and iteration % _ITERATIONS_PER_STEP_TEST == 0
        w_old, w = w, w_y
        if iteration % _ITERATIONS_PER_ENERGY == 0 or energy == 0:
            energy = 0.0 if fixed_weights else largest_energy(maps.z)
        if w_y is not None and energy > 0:
            step_w = 1 / (max(curvature, 2.0) * problem.largest_gain * energy)
            w = project_columns(w_y - w_y.dtype.type(step_w) * gradient_w, ball, radius)
            change = (w - w_y).astype(np.float64)
            model += float(np.vdot(gradient_w, change) + np.vdot(change, change) / (2 * step_w))
        limit = model + 1e-6 * smooth
        if test:
            sound = objective(w, maps.z, maps.norm)[0] <= limit
            factor = _CURVATURE_AFTER_SUCCESS if sound else _CURVATURE_AFTER_FAILURE
            curvature = max(curvature * factor, _MIN_CURVATURE)
        w_y, speed = w, faster
        if w is not None and w_old is not None and not fixed_weights:
            w_y = project_columns(w + w.dtype.type(a) * (w - w_old), ball, radius)
        smooth, total = objective(w_y, maps.y, maps.norm_y)
        if not total <= max(history[-MEMORY:]):
            # Refused: go on without momentum, from the plain iterate if its step was sound.
            if objective(w, maps.z, maps.norm)[0] > limit:
                curvature *= _CURVATURE_AFTER_FAILURE
                maps.step_back(a)
                w = w_old
            maps.stop()
            w_y, speed = w, 1.0
            smooth, total = objective(w, maps.z, maps.norm)
        history.append(total)
        if _has_settled(history, tol):
            converged = True
            break

    _, total = objective(w, maps.z, maps.norm)
    if total > history[-1] * (
        1 + _MAX_COST_OF_SPARSITY
    ):  # z is the sparser of the two, but not at any price
        w, maps.z = w_y, maps.y
        _, total = objective(w, maps.z, maps.norm_y)
    history.append(total)
    return Solution(w, maps.z, tuple(history), converged)


def compose(problem: Problem, weights: Array | None, codes: Array) -> None:
    """Write Y = W Z into ``problem.maps``."""
    if weights is None:
        problem.maps[...] = codes
        return
    for block in _blocks(codes):
        np.matmul(weights, codes[:, block], out=problem.maps[:, block])


def refine_weights(
    problem: Problem, solution: Solution, *, ball: Ball, radius: float, rounds: int
) -> Array:
    """Lower F over W alone, the code fixed, by projected gradient steps."""
    w, z = solution.weights, solution.codes
    assert w is not None
    gain = problem.largest_gain * largest_energy(z)
    for _ in range(rounds if gain > 0 else 0):
        compose(problem, w, z)
        problem.evaluate()
        problem.gradient()
        w = project_columns(w - (problem.maps @ z.T) / w.dtype.type(gain), ball, radius)
    return w


def _has_settled(history: list[float], tol: float) -> bool:
    """Whether F moved by less than ``tol`` of itself an iteration, over the last few.

    Their whole range counts, not the first and the last: around a restart F falls and rises.
    """
    recent = history[-1 - MEMORY :]
    return len(recent) > MEMORY and max(recent) - min(recent) <= MEMORY * tol * abs(recent[-1])


def operator_norm(w: Array | None) -> float:
    """Largest singular value of W; 1 for the identity."""
    if w is None:
        return 1.0
    return math.sqrt(float(np.linalg.eigvalsh((w @ w.T).astype(np.float64))[-1]))


def _blocks(codes: Array) -> list[slice]:
    """Slices of the columns of a K x P array: each stays in the cache between two operations."""
    n_filters, size = codes.shape
    width = max(256, _VALUES_PER_BLOCK // n_filters)
    return [slice(first, min(first + width, size)) for first in range(0, size, width)]


class _CodeMaps:
    """The iterate z and the extrapolated point y of the code, (K, P) each, with their l1 norms."""

    def __init__(self, problem: Problem, n_filters: int, codes: Array | None) -> None:
        self._problem = problem
        self._kernels = kernels.get()
        shape = (n_filters, problem.maps.shape[1])
        self.z: Array = np.zeros(shape, problem.dtype)
        self.y: Array = np.zeros(shape, problem.dtype)
        if codes is not None:
            self.z[...] = codes
        self.stop()
        self._blocks = _blocks(self.z)
        self._work: Array = np.empty(n_filters * self._blocks[0].stop, problem.dtype)

    def descend(
        self, w: Array | None, step: float, beta: float, a: float
    ) -> tuple[Array, float, float]:
        """One proximal step of z from y with the gradient in ``problem.maps``; y runs ahead by a.

        Returns the gradient of W at y, <gradient of Z, change> and ||change||^2.
        """
        gradient_w = np.zeros((1, 1) if w is None else w.shape, np.float64)
        sums = np.zeros(4)
        for block in self._blocks:
            g = self._problem.maps[:, block]
            gradient = self._work[: len(self.z) * g.shape[1]].reshape(len(self.z), -1)
            if w is None:
                gradient[...] = g
            else:
                gradient_w += g @ self.y[:, block].T
                np.matmul(w.T, g, out=gradient)
            sums += self._kernels.descend(gradient, self.z, self.y, block.start, step, beta, a)
        slope, square, self.norm, self.norm_y = sums.tolist()
        return gradient_w.astype(self.z.dtype), slope, square

    def step_back(self, a: float) -> None:
        """Undo the last ``descend``: y = z + a (z - old) tells where z came from."""
        self.y -= self.z
        self.y /= self.y.dtype.type(-a)
        self.z += self.y

    def stop(self) -> None:
        """Take the momentum away: y is z again."""
        np.copyto(self.y, self.z)
        self.norm = self.norm_y = float(np.abs(self.z).sum(dtype=np.float64))


def largest_energy(z: Array, rounds: int = 3) -> float:
    """Largest eigenvalue of Z Z^T by power iteration, never building it."""
    # Any fixed vector will do, but one that no symmetry of a code makes orthogonal to it.
    u = np.random.default_rng(0).standard_normal(len(z)).astype(z.dtype)
    energy = 0.0
    for _ in range(rounds):
        norm = float(np.linalg.norm(u))
        if norm == 0:
            return 0.0
        u = z @ ((u / norm) @ z)
        energy = float(np.linalg.norm(u))
    return energy
