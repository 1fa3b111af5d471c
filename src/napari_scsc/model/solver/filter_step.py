"""ADMM: the base filters B from the history (the paper's equation 13).

    min over B of  sum_p  1/2 B~(p)^H H(p) B~(p) - Re B~(p)^H G(p),  each filter in the unit ball

with the copy V of B that lies in the support and in the ball, and the scaled dual U.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.model.solver import kernels
from napari_scsc.model.solver.fft import RealFFT
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry

_MIN_DIVISOR = 1e-30
_FREQUENCIES_PER_CHUNK = 4096  # factorised at a time, in double precision


def project_filters(filters: Array) -> Array:
    """The nearest filters (R, *joint, *support) of at most unit length each."""
    norm = np.sqrt((filters.reshape(len(filters), -1).astype(np.float64) ** 2).sum(axis=1))
    scale = (1 / np.maximum(norm, 1)).astype(filters.dtype)
    return np.asarray(filters * scale.reshape(-1, *[1] * (filters.ndim - 1)))


@dataclass(frozen=True, slots=True)
class StepReport:
    """How the filter step ended: residuals relative to the sizes of what they compare."""

    n_iter: int
    primal: float
    dual: float
    converged: bool


class FilterStep:
    """The filters and the dual variable, each update of which starts from the last one.

    Attributes
    ----------
    filters : ndarray, (R, *joint, *support)
        The base filters after the last update.
    dual : ndarray, (R, C, *box)
        The scaled dual variable U.
    rho : float
        Weight of the constraint; 0 before the first update.
    """

    def __init__(
        self,
        filters: Array,
        geometry: Geometry,
        dtype: DTypeLike,
        *,
        max_iter: int = 50,
        tol: float = 1e-3,
    ) -> None:
        self.geometry = geometry
        self.filters = filters.astype(dtype)
        self.max_iter, self.tol = max_iter, tol
        self._fft = RealFFT(len(filters) * geometry.n_joint, geometry.box, dtype)
        shape = (len(filters), geometry.n_joint)
        self._space = self._fft.space.reshape(*shape, *geometry.box)
        self._spectrum = self._fft.spectrum.reshape(*shape, -1)
        self._around = geometry.around_origin(len(filters))
        self._boxed = (*shape, *geometry.support)
        self.dual: Array = np.zeros_like(self._space)
        self.rho = 0.0

    def update(self, history: History) -> StepReport:
        """Solve for the filters with the statistics as they are now; one factorisation."""
        self._choose_rho(history)
        inverse = invert(history.h, self.rho)
        points = self.geometry.size
        solve = kernels.get().solve
        right = np.empty_like(history.g)
        filters = self.filters
        report = StepReport(0, np.inf, np.inf, False)
        for iteration in range(1, self.max_iter + 1):
            old = filters
            np.negative(self.dual, out=self._space)
            self._space[self._around] += old.reshape(self._boxed)
            self._fft.forward()
            np.multiply(self._spectrum, self._spectrum.real.dtype.type(self.rho), out=right)
            right += history.g
            solve(inverse, right, self._spectrum)
            self._fft.inverse()
            free = self._space
            free /= free.dtype.type(points)
            free_norm = float(np.linalg.norm(free))
            self.dual += free
            filters = project_filters(self.dual[self._around]).reshape(old.shape)
            self.dual[self._around] -= filters.reshape(self._boxed)
            free[self._around] -= filters.reshape(self._boxed)
            size = max(free_norm, float(np.linalg.norm(filters)), _MIN_DIVISOR)
            primal = float(np.linalg.norm(free)) / size
            dual_size = max(float(np.linalg.norm(self.dual)), size)
            dual = float(np.linalg.norm(filters - old)) / dual_size
            report = StepReport(iteration, primal, dual, max(primal, dual) <= self.tol)
            if report.converged:
                break
        self.filters = filters  # all at once: somebody may be coding with the old ones
        return report

    def _choose_rho(self, history: History) -> None:
        """The mean eigenvalue of H: the data and the constraint then weigh alike.

        It drifts slowly, as the mean of the history does, so the factorisation is made once a
        sample; the scaled dual follows the change of scale.
        """
        mean = float(np.einsum("rrf->", history.h.real, dtype=np.float64))
        rho = max(mean / (len(history.h) * history.h.shape[2]), _MIN_DIVISOR)
        if self.rho > 0:
            self.dual *= self.dual.dtype.type(self.rho / rho)
        self.rho = rho


def invert(h: Array, rho: float) -> Array:
    """(H + rho I)^-1 at each frequency, (R, R, F); in double precision, kept in that of H."""
    out = np.empty_like(h)
    shift = rho * np.eye(len(h))
    for first in range(0, h.shape[2], _FREQUENCIES_PER_CHUNK):
        part = np.moveaxis(h[:, :, first : first + _FREQUENCIES_PER_CHUNK], 2, 0).astype(
            np.complex128
        )
        out[:, :, first : first + _FREQUENCIES_PER_CHUNK] = np.moveaxis(
            np.linalg.inv(part + shift), 0, 2
        )
    return out
