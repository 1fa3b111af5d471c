"""ADMM for the code step, to be compared with niAPG (the paper's Section 4.7).

    min 1/2 || M . (x - B * Y) ||^2 + beta ||Z||_1,  Y = W Z,  W in its ball

The constraint is bilinear, so nothing promises convergence, and the paper reports none. With a
proximal step a block and what is missing filled in, as here, it is well-behaved for a good rho.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laboratory.systems.box_fft import backward, forward
from napari_scsc._types import Array
from napari_scsc.model.solver.code import compose, largest_energy, operator_norm
from napari_scsc.model.solver.filter_step import invert
from napari_scsc.model.solver.problem import Problem, filter_spectra
from napari_scsc.model.solver.prox import Ball, project_columns, soft_threshold


@dataclass(frozen=True, slots=True)
class AdmmSolution:
    """Like ``Solution``, with ||Y - W Z||^2 after each iteration."""

    weights: Array
    codes: Array
    objective: tuple[float, ...]
    violation: tuple[float, ...]


def solve_by_admm(
    problem: Problem,
    filters: Array,
    weights: Array,
    *,
    beta: float,
    ball: Ball = "l2",
    radius: float = 1.0,
    rho: float = 1.0,
    max_iter: int = 100,
) -> AdmmSolution:
    """Minimise F from ``weights`` and a zero code; ``filters`` are those that the problem has."""
    geometry = problem.geometry
    spectra = filter_spectra(filters.astype(problem.dtype), geometry)  # (R, C, F)
    gram = np.einsum("rcf,scf->rsf", spectra.conj(), spectra)
    inverse = invert(gram, rho)
    w = weights
    z = np.zeros((w.shape[1], geometry.size), problem.dtype)
    product = w @ z
    dual = np.zeros_like(product)
    reconstruction = np.zeros_like(problem.sample)
    objective: list[float] = []
    violation: list[float] = []
    for _ in range(max_iter):
        # Y: exact at each frequency; what is missing is filled by the last reconstruction.
        filled = problem.mask * (problem.sample - reconstruction) + reconstruction
        right = np.einsum("rcf,cf->rf", spectra.conj(), forward(filled, geometry))
        right += rho * forward(product - dual, geometry)
        spectrum = np.einsum("rsf,sf->rf", inverse, right)
        y = backward(spectrum, geometry)
        reconstruction = backward(np.einsum("rcf,rf->cf", spectra, spectrum), geometry)
        # Z and W: one proximal step each on rho/2 ||W Z - (Y + U)||^2.
        target = y + dual
        step = 1 / max(operator_norm(w) ** 2, 1e-30)
        z = soft_threshold(z - step * (w.T @ (product - target)), step * beta / rho)
        z = z.astype(problem.dtype)
        energy = largest_energy(z)
        if energy > 0:
            w = project_columns(w - ((w @ z - target) @ z.T) / energy, ball, radius)
            w = w.astype(problem.dtype)
        product = w @ z
        dual += y - product
        compose(problem, w, z)
        objective.append(problem.evaluate() + beta * float(np.abs(z).sum(dtype=np.float64)))
        violation.append(float(np.sum((y - product) ** 2, dtype=np.float64)))
    return AdmmSolution(w, z, tuple(objective), tuple(violation))
