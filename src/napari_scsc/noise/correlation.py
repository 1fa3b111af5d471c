"""How alike the noise of neighbouring pixels is, measured in flat patches.

Patches lie on a grid and are written in cosines. A patch is flat if half of its cosines, the
patches beside it and the differences of their means say so; the other half is then measured, so
that choosing does not favour patches whose noise happens to be weak. Powers are compared with
those of the noise found so far, and the search is repeated until they agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import linalg, optimize, special

from napari_scsc._types import Array
from napari_scsc.noise.cosine_patches import SLOW
from napari_scsc.noise.cosines import cosine_basis

N_LAGS = 8
"""Pixels along a side of a patch: correlations are known to one less."""

_STEP = 4  # pixels between patches of the grid
_APART = N_LAGS // _STEP  # grid points to the next patch that shares no pixel
_MAX_PIXELS = 1_000_000  # looked at, however large the data are
_GRADIENT_WEIGHT, _NEIGHBOUR_WEIGHT = 8.0, 1.0  # beside the patch's own cosines
_MIN_FLAT_SHARE, _MIN_FLAT_PATCHES = 0.02, 20.0  # of all patches; counted without overlaps
_MAX_FLATNESS = 1.0  # mean power beside that of the noise
_CALM_QUANTILE = 0.4  # of the powers of a cosine, and what it is for noise of the level 1
_CALM_POWER = 2 * float(special.gammaincinv(0.5, _CALM_QUANTILE))
_OUTLIER = 10.0  # mean powers, from which on a cosine is taken for texture
# Noise along an axis: smoothed by Gaussians of these widths, and by the kernels of binning, of
# linear and of cubic interpolation.
_WIDTHS = (0.35, 0.45, 0.55, 0.7, 0.9, 1.2, 1.6, 2.2, 3.2)
_KERNELS = ((1,), (1, 1), (1, 2, 1), (1, 1, 1), (1, 2, 3, 2, 1), (1, 1, 1, 1), (-1, 9, 9, -1))
# How far the lags may leave such a mixture: at lag 0, and the lag at which it is 1 / e of that.
_FREEDOM, _FREEDOM_LAG = 0.3, 3.0
_TRUSTED_SPEED = 0.4  # of cosines: slower ones hold shading too, and count less
# In all cosines, where a fit is above what was measured in that many patches, or fewer.
_TRUST_ABOVE, _FEW_FLAT_PATCHES, _FITS = 0.7, 60.0, 4
_MIN_ERROR = 0.03  # of a power, however many patches were measured


class Correlation(NamedTuple):
    """Covariance of the noise, beside the variances that were assumed.

    Attributes
    ----------
    lags : ndarray, (N_LAGS, N_LAGS)
        At distances along both axes.
    powers : ndarray, (N_LAGS ** 2 - 1,)
        The same as powers of the cosines of a patch, without the constant.
    n_flat : float
        Patches that were measured, counted without overlaps.
    """

    lags: Array
    powers: Array
    n_flat: float


class _PatchGrid(NamedTuple):
    """Patches of a plane, those with neighbours on all sides: (rows, columns) and powers of them.

    Those around them are there too: the grid of all is wider by ``_APART`` on each side.
    """

    powers: Array  # (rows, columns, M) of all
    gradients: Array  # (rows, columns) squared differences of the means of the neighbours
    usable: Array  # (rows, columns)

    def textures_beside(self, weights: Array) -> Array:
        """Of the neighbours of usable patches (n,), the mean of their powers, weighted."""
        sums = self.powers @ weights
        up, down, left, right = (sums[side] for side in _SIDES[1:])
        return np.asarray((up + down + left + right)[self.usable] / 4)

    def usable_powers(self) -> Array:
        """Powers (n, M) of usable patches."""
        return np.asarray(self.powers[_SIDES[0]][self.usable])


_CORE, _BEFORE = slice(_APART, -_APART), slice(-2 * _APART)
_AFTER = slice(2 * _APART, None)
_SIDES = (
    (_CORE, _CORE),
    (_BEFORE, _CORE),
    (_AFTER, _CORE),
    (_CORE, _BEFORE),
    (_CORE, _AFTER),
)


def find_correlation(
    planes: list[Array],
    usable: list[Array],
    variance_at: Callable[[Array], Array],
    rounds: int = 6,
) -> Correlation | None:
    """The correlation of the noise of planes; None if their patches do not tell.

    ``variance_at`` gives the variance that is assumed at pixels of a brightness; half of the
    ``rounds`` are enough for a first idea.
    """
    grids = _cut_grids(planes, usable, variance_at)
    if not grids:
        return None
    row, column = np.divmod(np.arange(1, N_LAGS**2), N_LAGS)
    speed, even = (row + column) / (2 * N_LAGS - 2), (row + column) % 2 == 0
    powers = np.concatenate([grid.usable_powers() for grid in grids])
    gradients = np.concatenate([grid.gradients[grid.usable] for grid in grids])
    independent = len(powers) * _STEP**2 / N_LAGS**2
    least = int(max(_MIN_FLAT_SHARE, _MIN_FLAT_PATCHES / independent) * len(powers))
    assumed, constant = np.ones(len(speed)), 1.0
    for number in range(rounds):
        is_lively = speed > SLOW
        lively = np.where(is_lively, 1 / assumed, 0).astype(np.float32)
        beside = np.concatenate([grid.textures_beside(lively) for grid in grids])
        found, counts = np.empty(len(speed)), []
        for half in (even, ~even):
            n_half = np.count_nonzero(half)
            flatness = powers @ np.where(half, 1 / assumed, 0).astype(np.float32)
            flatness += np.float32(_GRADIENT_WEIGHT / (2 * constant)) * gradients
            flatness += np.float32(_NEIGHBOUR_WEIGHT * n_half / is_lively.sum()) * beside
            flatness /= n_half * (1 + _NEIGHBOUR_WEIGHT) + 2 * _GRADIENT_WEIGHT
            flat = np.count_nonzero(flatness < _MAX_FLATNESS) if number else 0
            count = min(max(least, flat), len(powers) - 1)
            chosen = np.argpartition(flatness, count)[:count]
            found[~half] = _mean_powers(powers[chosen][:, ~half])
            counts.append(count * independent / len(powers))
        if not (found > 0).all():
            return None  # drawn: its flat patches are perfectly even
        # Of few flat patches, the least flat ones hold texture.
        above = _TRUST_ABOVE * min(1.0, _FEW_FLAT_PATCHES / min(counts))
        mixture = _fit_mixture(found, np.minimum(1, speed / _TRUSTED_SPEED) ** 1.5, above)
        fitted = mixture @ _atoms().powers
        assumed, constant = fitted[1:], float(fitted[0])
    n_flat = min(counts)
    lags = _free_lags(found, mixture, max(_MIN_ERROR, (2 / n_flat) ** 0.5), speed <= SLOW)
    return Correlation(lags, assumed, n_flat)


def _cut_grids(
    planes: list[Array], usable: list[Array], variance_at: Callable[[Array], Array]
) -> list[_PatchGrid]:
    """The patches of planes; none if there are too few that are usable."""
    grids: list[_PatchGrid] = []
    n_pixels = 0
    for plane, mask in zip(planes, usable, strict=True):
        if min(plane.shape) >= 3 * N_LAGS and n_pixels < _MAX_PIXELS:
            n_pixels += plane.size
            grids.append(_cut_grid(plane, mask, variance_at))
    n_patches = sum(int(np.count_nonzero(grid.usable)) for grid in grids)
    return grids if n_patches * _STEP**2 / N_LAGS**2 > _MIN_FLAT_PATCHES else []


def _cut_grid(plane: Array, mask: Array, variance_at: Callable[[Array], Array]) -> _PatchGrid:
    windows = sliding_window_view(plane, (N_LAGS, N_LAGS))[::_STEP, ::_STEP]
    places = windows.shape[:2]
    coefficients = windows.reshape(*places, -1) @ cosine_basis(1, (N_LAGS, N_LAGS)).T
    sums = coefficients[..., 0]
    variances = variance_at(sums / N_LAGS).astype(np.float32)
    powers = np.square(coefficients[..., 1:]) / variances[..., None]
    whole = np.asarray(
        sliding_window_view(mask, (N_LAGS, N_LAGS))[::_STEP, ::_STEP].all(axis=(2, 3))
    )
    up, down, left, right = (sums[side] for side in _SIDES[1:])
    gradients = (np.square(down - up) + np.square(right - left)) / variances[_SIDES[0]]
    usable = np.stack([whole[side] for side in _SIDES]).all(axis=0)
    return _PatchGrid(powers, gradients, np.asarray(usable))


def _mean_powers(powers: Array) -> Array:
    """Means (M,) of powers (n, M), without those that noise cannot explain.

    Texture is strong in few patches, and a quantile hardly feels it: it is what counts where it
    says less.
    """
    means = powers.mean(axis=0, dtype=np.float64)
    for _ in range(3):
        kept = powers < _OUTLIER * means
        means = (powers * kept).sum(axis=0, dtype=np.float64) / np.maximum(kept.sum(axis=0), 1)
    calm = np.quantile(powers, _CALM_QUANTILE, axis=0) / _CALM_POWER
    return np.asarray(np.minimum(means, calm))


class _Atoms(NamedTuple):
    """Noise of known correlation, of level 1: lags (n, N_LAGS ** 2) and powers of cosines."""

    lags: Array
    powers: Array
    to_powers: Array  # (N_LAGS ** 2, N_LAGS ** 2) from lags to powers


@lru_cache(maxsize=1)
def _atoms() -> _Atoms:
    cosines = cosine_basis(1, (N_LAGS,)).astype(np.float64)
    unit = [linalg.toeplitz(lag) for lag in np.eye(N_LAGS)]
    to_powers = np.stack([np.diag(cosines @ one @ cosines.T) for one in unit], axis=1)
    distance = np.arange(N_LAGS)
    along = [np.exp(-(distance**2) / (4 * width**2)) for width in _WIDTHS]
    for kernel in _KERNELS:
        lags = np.correlate(kernel, kernel, "full")[len(kernel) - 1 :] / np.dot(kernel, kernel)
        along.append(np.pad(lags, (0, N_LAGS - len(lags))))
    lags = np.stack([np.outer(a, b).ravel() for a in along for b in along])
    both = np.kron(to_powers, to_powers)
    return _Atoms(lags, lags @ both.T, both)


def _fit_mixture(powers: Array, trust: Array, trust_above: float) -> Array:
    """How much of each atom (n,) explains the powers (M,) best, relative to each of them.

    Texture only ever adds to them: a fit that is larger counts by ``trust_above`` at least.
    """
    atoms, weights = _atoms().powers[:, 1:].T, trust
    mixture = np.zeros(atoms.shape[1])
    for _ in range(_FITS):
        mixture = optimize.nnls(atoms * (weights / powers)[:, None], weights)[0]
        is_above = atoms @ mixture > powers
        weights = np.where(is_above, np.maximum(trust, trust_above), trust)
    return np.asarray(mixture)


def _free_lags(powers: Array, mixture: Array, error: float, slow: Array) -> Array:
    """The lags of a mixture, moved towards the powers (M,) as far as these are certain.

    Slow cosines, which hold shading too, count less.
    """
    atoms = _atoms()
    lags = mixture @ atoms.lags
    distance = np.add.outer(np.arange(N_LAGS), np.arange(N_LAGS)).ravel()
    stiffness = 1 / (_FREEDOM * lags[0] * np.exp(-distance / _FREEDOM_LAG))
    weights = 1 / (np.where(slow, 4, 1) * error * powers)
    rows = atoms.to_powers[1:] * weights[:, None]
    rest = weights * (powers - atoms.to_powers[1:] @ lags)
    moved = np.linalg.solve(rows.T @ rows + np.diag(stiffness**2), rows.T @ rest)
    return np.asarray((lags + moved).reshape(N_LAGS, N_LAGS))
