"""Orthonormal base filters from the history: projected gradient steps on the Stiefel manifold.

    min over B of  1/2 <B, T B> - <B, G>,  B B^T = I  over joint axes and support together

With ``||B w|| = ||w||`` the ball of the weights is the ball of the composed filters, without slack.
The quadratic form of filters that are zero outside their support needs only the correlations of
the maps at the lags of two points of the support: T is small, whatever the size of a sample is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.errors import UserError
from napari_scsc.model.solver import kernels
from napari_scsc.model.solver.fft import fast_length
from napari_scsc.model.solver.problem import Geometry

_RELAXATION = 1.8  # codes follow the filters: the minimum for fixed codes is too near
_MIN_DIVISOR = 1e-30
_MIN_RELATIVE_POWER = 1e-10  # of a direction, below which squares of lengths lose it
_POWER_ROUNDS = 8


def check_count(n_base: int, joint: Sequence[int], support: Sequence[int]) -> None:
    """Refuse more filters than can be orthonormal."""
    most = math.prod(joint) * math.prod(support)
    if n_base > most:
        shape = " x ".join(map(str, (*joint, *support)))
        raise UserError(
            f"is {n_base}, but of filters of {shape} points no more than {most} can be orthonormal",
            argument="n_base",
            remedy="take fewer, longer filters, or filters='ball'",
        )


def project_orthonormal(filters: Array) -> Array:
    """The nearest filters (R, *joint, *support) with orthonormal rows: the polar factor."""
    rows = filters.reshape(len(filters), -1).astype(np.float64)
    powers, vectors = np.linalg.eigh(rows @ rows.T)
    if powers[0] > _MIN_RELATIVE_POWER * powers[-1]:
        nearest = (vectors / np.sqrt(powers)) @ (vectors.T @ rows)
    else:  # some filters depend on others: any direction that is left will do for them
        left, _, right = np.linalg.svd(rows, full_matrices=False)
        nearest = left @ right
    return np.asarray(nearest.reshape(filters.shape), filters.dtype)


class LagHistory:
    """Running means over the samples of what the quadratic form of the filters needs.

        lags_rs(d) = mean of sum_p Y_r(p) Y_s(p + d)   (R, R, *lags), 2 h - 1 lags an axis
        cross_r(m) = mean of sum_p Y_r(p) x(p + m)     (R, C, *support)

    with Y (R, P) the maps W Z and x (C, P) the sample. Updated in place.
    """

    def __init__(self, n_base: int, geometry: Geometry, dtype: DTypeLike) -> None:
        lags = tuple(2 * h - 1 for h in geometry.support)
        self.lags: Array = np.zeros((n_base, n_base, *lags), dtype)
        self.cross: Array = np.zeros((n_base, geometry.n_joint, *geometry.support), dtype)
        self.count = 0.0
        """How many samples the means stand for: all, or fewer when old ones are forgotten."""

    @staticmethod
    def terms(maps: Array, sample: Array, geometry: Geometry) -> tuple[Array, Array]:
        """What one sample adds, from the spectra of its maps (R, F) and of itself (C, F)."""
        box, n_shift = geometry.box, len(geometry.box)
        axes = tuple(range(-n_shift, 0))
        half = (*box[:-1], box[-1] // 2 + 1)
        lengths = list(zip(geometry.support, box, strict=True))
        at_lags = tuple(np.arange(1 - h, h) % n for h, n in lengths)
        at_support = tuple((np.arange(h) - h // 2) % n for h, n in lengths)

        def correlate(one: Array, others: Array, places: tuple[Array, ...]) -> Array:
            product = (np.conj(one) * others).reshape(len(others), *half)
            full = scipy.fft.irfftn(product, box, axes=axes, workers=1)
            return np.asarray(full[np.ix_(np.arange(len(others)), *places)])

        n_base = len(maps)
        lags = np.empty((n_base, n_base, *map(len, at_lags)), maps.real.dtype)
        for r, one in enumerate(maps):
            lags[r, r:] = correlate(one, maps[r:], at_lags)
            lags[r:, r] = np.flip(lags[r, r:], axes)
        cross = np.stack([correlate(one, sample, at_support) for one in maps])
        return lags, cross

    def arrays(self) -> dict[str, Array]:
        """What a checkpoint keeps."""
        return {"lags": self.lags, "cross": self.cross}

    @property
    def moments(self) -> Array:
        """Mean of Y Y^T, (R, R)."""
        return np.asarray(self.lags[(..., *(n // 2 for n in self.lags.shape[2:]))])

    def update(self, batch: Sequence[tuple[Array, Array]], forget: float = 0.0) -> None:
        """Take in coded samples one after the other, as their ``terms``.

        ``forget`` is the share of the weight of all earlier samples that each one takes away.
        """
        for lags, cross in batch:
            self.count = self.count * (1 - forget) + 1
            share = self.lags.dtype.type(1 / self.count)
            self.lags += share * (lags - self.lags)
            self.cross += share * (cross - self.cross)


class OrthonormalStep:
    """The filters, each update of which starts from the last one.

    The codes of the history are those of earlier filters, and would follow a change; so a step goes
    on beyond the minimum for fixed codes, by nearly as much again.

    Attributes
    ----------
    filters : ndarray, (R, *joint, *support)
        The base filters after the last update; their rows are orthonormal.
    """

    def __init__(
        self,
        filters: Array,
        geometry: Geometry,
        dtype: DTypeLike,
        *,
        max_iter: int = 200,
        tol: float = 3e-4,
        relaxation: float = _RELAXATION,
    ) -> None:
        check_count(len(filters), geometry.joint, geometry.support)
        self.geometry = geometry
        self.filters = project_orthonormal(filters).astype(dtype)
        self.max_iter, self.tol, self.relaxation = max_iter, tol, relaxation

    def update(self, history: LagHistory) -> None:
        """Lower the quadratic form of the statistics as they are now.

        Each iteration is monotone: momentum that would raise the form is dropped, and a step that
        would raise it without momentum is halved.
        """
        form = _QuadraticForm(history, self.geometry)
        start = self.filters.reshape(history.cross.shape)
        now, slope_now = start, form.product(start)
        old, slope_old = now, slope_now
        value, speed = form.value(now, slope_now), 1.0
        step = 1 / max(form.largest_curvature(start), _MIN_DIVISOR)
        for _ in range(self.max_iter):
            faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
            a = (speed - 1) / faster
            ahead, slope = now + a * (now - old), slope_now + a * (slope_now - slope_old)
            new = project_orthonormal(ahead - now.dtype.type(step) * (slope - history.cross))
            slope_new = form.product(new)
            new_value = form.value(new, slope_new)
            if new_value > value:
                if speed == 1.0:
                    step /= 2
                speed, old, slope_old = 1.0, now, slope_now
                continue
            moved = float(np.linalg.norm(new - now)) / math.sqrt(len(now))
            old, slope_old, now, slope_now = now, slope_now, new, slope_new
            value, speed = new_value, faster
            if moved <= self.tol:
                break
        filters = project_orthonormal(start + now.dtype.type(self.relaxation) * (now - start))
        self.filters = filters.reshape(self.filters.shape)  # all at once, as others code with them


class _QuadraticForm:
    """1/2 <B, T B> - <B, G> of filters (R, C, *support), T as convolution in the smallest box."""

    def __init__(self, history: LagHistory, geometry: Geometry) -> None:
        self._cross = history.cross
        self._box = tuple(fast_length(2 * h - 1) for h in geometry.support)
        self._inside: tuple[Any, ...] = (..., *(slice(0, h) for h in geometry.support))
        self._axes = tuple(range(-len(self._box), 0))
        n_base = len(history.lags)
        boxed = np.zeros((n_base, n_base, *self._box), history.lags.dtype)
        places = (np.arange(1 - h, h) % n for h, n in zip(geometry.support, self._box, strict=True))
        boxed[np.ix_(np.arange(n_base), np.arange(n_base), *places)] = history.lags
        spectra = scipy.fft.rfftn(boxed, axes=self._axes, workers=1)
        self._spectra = np.ascontiguousarray(spectra.reshape(n_base, n_base, -1))
        self._out = np.empty((*self._cross.shape[:2], self._spectra.shape[2]), spectra.dtype)
        self._solve = kernels.get().solve

    def product(self, filters: Array) -> Array:
        """T B: each filter correlated with the lags, where it meets the support."""
        spectra = scipy.fft.rfftn(filters, self._box, axes=self._axes, workers=1)
        self._solve(self._spectra, spectra.reshape(self._out.shape), self._out)
        full = scipy.fft.irfftn(
            self._out.reshape(spectra.shape), self._box, axes=self._axes, workers=1
        )
        return np.ascontiguousarray(full[self._inside])

    def value(self, filters: Array, product: Array) -> float:
        """The form, given T B."""
        flat = filters.reshape(-1).astype(np.float64)
        return float(flat @ (0.5 * product.reshape(-1) - self._cross.reshape(-1)))

    def largest_curvature(self, filters: Array) -> float:
        """The largest eigenvalue of T, by power iterations from some filters: a little less."""
        curvature = 0.0
        for _ in range(_POWER_ROUNDS):
            filters = self.product(filters)
            curvature = float(np.linalg.norm(filters))
            if curvature == 0:
                return 0.0
            filters = filters / filters.dtype.type(curvature)
        return curvature
