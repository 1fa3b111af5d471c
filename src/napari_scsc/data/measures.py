"""How near an image is to a reference: PSNR and SSIM."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.errors import UserError

_MAX_RATIO = 3.0  # of two ranges in the same units: noise and outliers widen one of them
_MAX_SLOPE_ERROR = 0.2  # of one image against another in the same units


def psnr(image: Array, reference: Array) -> float:
    """Peak signal-to-noise ratio in dB; the peak is the range of the reference."""
    a, b = _as_pair(image, reference)
    error = float(np.mean((a - b) ** 2))
    peak = float(np.ptp(b))
    return math.inf if error == 0 else 10 * math.log10(max(peak, 1e-300) ** 2 / error)


def ssim(image: Array, reference: Array) -> float:
    """Structural similarity (Wang 2004) over the last two axes, with a Gaussian window of 1.5."""
    a, b = _as_pair(image, reference)
    width = (0.0,) * (a.ndim - 2) + (1.5,) * min(2, a.ndim)

    def mean(values: Array) -> Array:
        return np.asarray(ndimage.gaussian_filter(values, width, truncate=3.5))

    peak = max(float(np.ptp(b)), 1e-300)
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, both = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    score = ((2 * ma * mb + c1) * (2 * both + c2)) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    return float(score.mean())


def match_range(image: Array, reference: Array) -> tuple[Array, bool]:
    """The reference in the units of the image, and whether it had to be scaled for that.

    It is where its range or its type tells other units; scale and offset are those of the least
    squares.
    """
    a, b = _as_pair(image, reference)
    span = float(np.ptp(b))
    is_alike = 1 / _MAX_RATIO < span / max(float(np.ptp(a)), 1e-300) < _MAX_RATIO
    if span == 0 or (is_alike and np.asarray(image).dtype == np.asarray(reference).dtype):
        return np.asarray(reference), False
    b_centred = b - b.mean()
    slope = float(np.mean(b_centred * a) / np.mean(b_centred**2))
    # Of one range after all, in another type: the figures are those of the values themselves.
    if is_alike and abs(slope - 1) < _MAX_SLOPE_ERROR:
        return np.asarray(reference), False
    return slope * b_centred + a.mean(), True


def _as_pair(image: Array, reference: Array) -> tuple[Array, Array]:
    """Both in double precision; they must have the same shape."""
    if np.shape(image) != np.shape(reference):
        raise UserError(
            f"the image has the shape {np.shape(image)}, the reference {np.shape(reference)}"
        )
    return np.asarray(image, np.float64), np.asarray(reference, np.float64)
