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
    """Peak signal-to-noise ratio in dB; the peak is the range of the reference.

    Values that are not known (NaN) in one of them do not count, here and below.
    """
    a, b, known = _as_pair(image, reference)
    error = float(np.mean((a - b)[known] ** 2))
    return math.inf if error == 0 else 10 * math.log10(_range_of(b[known]) ** 2 / error)


def ssim(image: Array, reference: Array) -> float:
    """Structural similarity (Wang 2004) over the last two axes, with a Gaussian window of 1.5."""
    a, b, known = _as_pair(image, reference)
    width = (0.0,) * (a.ndim - 2) + (1.5,) * min(2, a.ndim)

    def smooth(values: Array) -> Array:
        return np.asarray(ndimage.gaussian_filter(values, width, truncate=3.5))

    # What is not known is zero, and the weights of the others in a window add up to 1.
    shares = 1.0 if known.all() else np.where(known, smooth(known.astype(float)), 1.0)

    def mean(values: Array) -> Array:
        return np.asarray(smooth(values) / shares)

    peak = _range_of(b[known])
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    ma, mb = mean(a), mean(b)
    va, vb, both = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    score = ((2 * ma * mb + c1) * (2 * both + c2)) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    return float(score[known].mean())


def match_range(image: Array, reference: Array) -> tuple[Array, bool]:
    """The reference in the units of the image, and whether it had to be scaled for that.

    It is where its range or its type tells other units; scale and offset are those of the least
    squares.
    """
    a, b, known = _as_pair(image, reference)
    of_a, of_b = a[known], b[known]
    span = _range_of(of_b)
    is_alike = 1 / _MAX_RATIO < span / max(float(np.ptp(of_a)), 1e-300) < _MAX_RATIO
    if is_alike and np.asarray(image).dtype == np.asarray(reference).dtype:
        return np.asarray(reference), False
    mean = of_b.mean()
    slope = float(np.mean((of_b - mean) * of_a) / np.mean((of_b - mean) ** 2))
    # Of one range after all, in another type: the figures are those of the values themselves.
    if is_alike and abs(slope - 1) < _MAX_SLOPE_ERROR:
        return np.asarray(reference), False
    return slope * (np.asarray(reference, np.float64) - mean) + of_a.mean(), True


def known_share(image: Array, reference: Array) -> float:
    """How much of the values is known in both, 0 to 1."""
    return float(_as_pair(image, reference)[2].mean())


def _range_of(values: Array) -> float:
    """The range of the values of a reference; UserError if they are all the same."""
    span = float(np.ptp(values))
    if span == 0:
        raise UserError(
            f"the reference is constant (every value is {float(values.flat[0]):g}): there is "
            "nothing that an image could be like"
        )
    return span


def _as_pair(image: Array, reference: Array) -> tuple[Array, Array, Array]:
    """Both in double precision, zero where one is not known, and where both are.

    They must have the same shape, and something that is known.
    """
    if np.shape(image) != np.shape(reference):
        raise UserError(
            f"the image has the shape {np.shape(image)}, the reference {np.shape(reference)}"
        )
    a, b = np.asarray(image, np.float64), np.asarray(reference, np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    if not known.any():
        raise UserError("the reference and the image have no pixel that is known in both")
    if known.all():
        return a, b, known
    return np.where(known, a, 0.0), np.where(known, b, 0.0), known
