"""Wrong arguments fail at the door: naming the argument, what was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array


def check_int(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int within the limits, or raise."""
    limits = f"from {least} on" if most is None else f"from {least} to {most}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number {limits}, but is {value!r}")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{name} must be a whole number {limits}, but is {value!r}")
    return int(value)


def check_float(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
) -> float:
    """Return ``value`` as a finite float within the limits, or raise."""
    allowed = "finite"
    if above > -math.inf:
        allowed += f" and above {above:g}"
    if least > -math.inf:
        allowed += f" and at least {least:g}"
    if below < math.inf:
        allowed += f" and below {below:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, {allowed}, but is {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= above or number < least or number >= below:
        raise ValueError(f"{name} must be {allowed}, but is {value!r:.40}")
    return number


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the allowed words, or raise."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, but is {value!r}")
    return value


def check_sample(
    x: Any, n_joint: int, n_shift: int, mask: Any = None, dtype: DTypeLike = np.float32
) -> tuple[Array, Array | None]:
    """Return a sample and its mask as arrays, checked; neither is ever written to.

    ``mask`` is True where the sample was measured; it has the shape of the sample or of its shift
    axes. Values where it is False are not looked at. ``dtype`` is that of the computation.
    """
    if isinstance(x, np.ma.MaskedArray):
        if mask is not None:
            raise ValueError("the sample is a masked array already: pass its data with the mask")
        x, mask = x.data, ~np.ma.getmaskarray(x)
    array = np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise TypeError(
            f"a sample must hold real numbers (integer or float), but has the type {array.dtype}"
        )
    if array.ndim != n_joint + n_shift:
        raise ValueError(
            f"a sample must have {n_joint + n_shift} axes ({n_joint} joint, then {n_shift} shift), "
            f"but has the shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"the sample is empty: its shape is {array.shape}")
    known = None if mask is None else _mask(mask, array.shape, array.shape[n_joint:])
    measured = array if known is None else np.where(known, array, array.dtype.type(0))
    if not _all_finite(measured):
        raise ValueError(
            "the sample holds NaN or infinite values: pass a mask that is False there"
            if known is None
            else "the sample holds NaN or infinite values where its mask is True"
        )
    # Squares of values are summed: they must not overflow.
    largest = max(abs(float(measured.max())), abs(float(measured.min())))
    limit = float(np.finfo(np.dtype(dtype)).max) ** 0.5 * 1e-4
    if largest > limit:
        raise ValueError(
            f"the sample holds values up to {largest:.3g}, and {np.dtype(dtype)} takes up to "
            f"{limit:.0e}: if they mark missing data, pass a mask that is False there"
        )
    return array, known


def _mask(mask: Any, full: tuple[int, ...], shift: tuple[int, ...]) -> Array:
    known = np.asarray(mask)
    if known.shape not in (full, shift):
        raise ValueError(
            f"the mask has the shape {known.shape}, but the sample {full}: "
            f"allowed are {full}" + (f" and {shift}" if shift != full else "")
        )
    if known.dtype != bool:
        if known.dtype.kind not in "fiu" or not np.isin(known, (0, 1)).all():
            raise ValueError("the mask must hold True (measured) and False (missing), or 1 and 0")
        known = known.astype(bool)
    if not known.any():
        raise ValueError("the mask is False everywhere: nothing was measured")
    return known


def _all_finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())
