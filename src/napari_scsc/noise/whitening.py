"""Whitening: values whose noise is correlated, turned into values whose noise is white, and back.

Errors that rows, columns or frames share are estimated and taken away. What is left is stationary:
cosines over the whole array are nearly independent of each other, and each is divided by the level
that the noise has there. Joint values are mixed so that they share no noise. Nothing of the rest is
lost: ``colour`` undoes it to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft

from napari_scsc._types import Array
from napari_scsc.noise.fixed_pattern import fixed_pattern
from napari_scsc.noise.model import Noise
from napari_scsc.noise.stripes import row_errors

_MIN_POWER = 1e-2  # of the largest of a spectrum: less cannot be told from nothing
_TYPICAL_SIDE = 32  # of an array whose cosines stand for those of all
_MIN_SHARED = 1e-2  # the same of what joint values share
_ERROR_OF_COLOUR = 1.15  # and the spectrum is not known exactly
_LEFT_OF_SHARED = 0.2  # of the power of such errors: where they cannot be told from content


@dataclass(frozen=True, slots=True)
class JointSpectrum:
    """What is alike in the noise of one joint value, or of all; see ``Noise``."""

    lags: tuple[tuple[float, ...], ...]
    depth: tuple[float, ...]
    rows: float  # levels of errors, relative to that of all noise
    columns: float
    frames: float

    @classmethod
    def of(cls, noise: Noise) -> JointSpectrum:
        """That of a noise."""
        level = noise.sigma or 1.0
        shared = (part / level for part in (noise.rows, noise.columns, noise.frames))
        return cls(noise.lags, noise.depth, *shared)

    @property
    def is_white(self) -> bool:
        """Whether nothing is alike."""
        return not (self.lags or self.depth or self.shared)

    @property
    def shared(self) -> float:
        """Share of the variance that rows, columns and frames share."""
        return self.rows**2 + self.columns**2 + self.frames**2

    @property
    def white_share(self) -> float:
        """Level of what is left without these errors, relative to all of it."""
        return math.sqrt(max(1 - (1 - _LEFT_OF_SHARED) * self.shared, _MIN_POWER))


class Whitening:
    """Makes noise white in arrays (C, *shift), of the same level, and undoes it."""

    def __init__(self, noise: Noise, n_joint: int) -> None:
        parts = noise.joint or (noise,)
        spectra = tuple(map(JointSpectrum.of, parts))
        self._spectra = spectra if len(spectra) == n_joint else spectra[:1] * n_joint
        self._mixing = _whitening_mixtures(noise.shared) if noise.shared else None

    @classmethod
    def of(cls, noise: Noise, n_joint: int) -> Whitening | None:
        """What makes a noise white; None if it is."""
        parts = noise.joint or (noise,)
        if not noise.shared and all(JointSpectrum.of(part).is_white for part in parts):
            return None
        return cls(noise, n_joint)

    def whiten(self, values: Array, sigma: float) -> Array:
        """Values (C, *shift) with white noise; that of ``values`` has the level ``sigma``."""
        white = np.stack(
            [self._divide(one, values[c], sigma) for c, one in enumerate(self._spectra)]
        )
        if self._mixing is not None:
            white = np.tensordot(self._mixing[0], white, axes=1)
        return white.astype(np.float32, copy=False)

    def colour(self, white: Array) -> Array:
        """Values (C, *shift) from white ones."""
        if self._mixing is not None:
            white = np.tensordot(self._mixing[1], white, axes=1)
        values = np.stack([self._multiply(one, white[c]) for c, one in enumerate(self._spectra)])
        return values.astype(np.float32, copy=False)

    def colour_error(self, error: Array, sigma: float) -> Array:
        """Standard errors of coloured values, of those (C, *shift) of white ones."""
        variance = np.square(error)
        if self._mixing is not None:
            variance = np.tensordot(np.square(self._mixing[1]), variance, axes=1)
        factors = np.array([_error_factor(one) for one in self._spectra], np.float32)
        left = np.array([_LEFT_OF_SHARED * one.shared for one in self._spectra], np.float32)
        return np.asarray(np.sqrt(variance.T * factors**2 + left * np.float32(sigma) ** 2).T)

    def _divide(self, spectrum: JointSpectrum, values: Array, sigma: float) -> Array:
        level = sigma * math.sqrt(max(1 - spectrum.shared, _MIN_POWER))
        if spectrum.frames and values.ndim == 3:
            values = values - fixed_pattern(values, level, sigma * spectrum.frames)
        if spectrum.rows and values.ndim > 1:
            values = _without_row_errors(values, level, sigma * spectrum.rows)
        if spectrum.columns and values.ndim > 1:
            turned = values.swapaxes(-1, -2)
            turned = _without_row_errors(turned, level, sigma * spectrum.columns)
            values = turned.swapaxes(-1, -2)
        values = values / np.float32(spectrum.white_share)
        if not (spectrum.lags or spectrum.depth):
            return values
        levels = cosine_levels(spectrum.lags, spectrum.depth, values.shape)
        return np.asarray(fft.idctn(fft.dctn(values, norm="ortho") / levels, norm="ortho"))

    def _multiply(self, spectrum: JointSpectrum, white: Array) -> Array:
        white = white * np.float32(spectrum.white_share)
        if not (spectrum.lags or spectrum.depth):
            return white
        levels = cosine_levels(spectrum.lags, spectrum.depth, white.shape)
        return np.asarray(fft.idctn(fft.dctn(white, norm="ortho") * levels, norm="ortho"))


@lru_cache(maxsize=16)
def _error_factor(spectrum: JointSpectrum) -> float:
    """How much larger errors become with the colour of the noise.

    What is left of noise is where there is content, which is where most noise is: powers count by
    themselves.
    """
    factor = spectrum.white_share
    if spectrum.lags or spectrum.depth:
        shape = (_TYPICAL_SIDE,) * (3 if spectrum.depth else 2)
        powers = np.square(cosine_levels(spectrum.lags, spectrum.depth, shape), dtype=np.float64)
        factor *= _ERROR_OF_COLOUR * math.sqrt(np.mean(powers**2) / np.mean(powers))
    return float(factor)


def _without_row_errors(values: Array, sigma: float, level: float) -> Array:
    planes = values.reshape(-1, *values.shape[-2:])
    cleaned = np.stack([plane - row_errors(plane, sigma, level) for plane in planes])
    return cleaned.reshape(values.shape)


@lru_cache(maxsize=16)
def cosine_levels(
    lags: tuple[tuple[float, ...], ...], depth: tuple[float, ...], shape: tuple[int, ...]
) -> Array:
    """Levels of the noise in the cosines of an array, 1 in the mean of the squares."""
    power: Array = np.ones(1)
    if lags:
        *_, n_rows, n_columns = (1, *shape)
        power = (
            _cosine_sums(len(lags), n_rows)
            @ np.array(lags)
            @ _cosine_sums(len(lags[0]), n_columns).T
        )
        power = power.reshape(shape[-2:])
    if depth and len(shape) == 3:
        power = (_cosine_sums(len(depth), shape[0]) @ np.array(depth))[:, None, None] * power
    power = np.maximum(power, _MIN_POWER * power.max())
    return np.asarray(np.sqrt(power / power.mean()), np.float32)


def _cosine_sums(n_lags: int, length: int) -> Array:
    """(length, n_lags): what a covariance at each lag adds to the power of each cosine.

    Large lags count less: they are uncertain, and without any beyond them the power would swing.
    """
    lags = np.arange(n_lags)
    taper = 0.5 + 0.5 * np.cos(np.pi * lags / n_lags)
    frequency = np.pi * np.arange(length) / length
    return np.asarray(np.cos(np.outer(frequency, lags)) * np.where(lags, 2, 1) * taper)


def _whitening_mixtures(shared: tuple[tuple[float, ...], ...]) -> tuple[Array, Array]:
    """Mixtures (C, C) of joint values that share no noise, and their inverse."""
    powers, vectors = np.linalg.eigh(np.array(shared))
    levels = np.sqrt(np.maximum(powers, _MIN_SHARED * powers.max()))
    forth = (vectors / levels) @ vectors.T
    back = (vectors * levels) @ vectors.T
    return forth.astype(np.float32), back.astype(np.float32)
