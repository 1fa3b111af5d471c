"""Checks of arguments: each raises a ``UserError`` that says what was given and what is allowed."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.errors import UserError, UserTypeError

_MAX_DRAWN_SEED = 1 << 32  # of as many digits as people can compare


def check_file_name(path: str | os.PathLike[str], argument: str | None = None) -> None:
    """Refuse a name that no file can have, which the system does not say in words for users."""
    if "\0" in os.fspath(path):
        raise UserError(f"has a zero byte in its name: {os.fspath(path)!r}", argument=argument)


def check_int(argument: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int between ``least`` and ``most``, both allowed, or raise."""
    limits = f"from {least} on" if most is None else f"from {least} to {most}"
    refusal = f"must be a whole number {limits}, but is {value!r}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise UserTypeError(refusal, argument=argument)
    if value < least or (most is not None and value > most):
        raise UserError(refusal, argument=argument)
    return int(value)


def check_float(
    argument: str,
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
        raise UserTypeError(f"must be a number, {allowed}, but is {value!r}", argument=argument)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= above or number < least or number >= below:
        raise UserError(f"must be {allowed}, but is {value!r:.40}", argument=argument)
    return number


def check_seed(seed: Any = None, rng: Any = None) -> int:
    """Return the one whole number that stands for ``seed`` or ``rng``, or raise.

    Whatever is random depends on that number alone, so that a result can be told how to be made
    again. The generators of numpy draw it, and are moved on by that; without either it is 0.
    """
    if rng is None:
        return 0 if seed is None else check_int("seed", seed, 0)
    if seed is not None:
        raise UserError("says the same as seed, and both are given", argument="rng")
    if isinstance(rng, int | np.integer):
        return check_int("rng", rng, 0)
    if isinstance(rng, np.random.RandomState):
        raise UserTypeError(
            "is a RandomState, which numpy keeps for old programs only",
            argument="rng",
            remedy="give np.random.default_rng(...)",
        )
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise UserTypeError(
            f"must be a whole number from 0 on, or what numpy.random.default_rng takes, but is "
            f"{rng!r:.80}",
            argument="rng",
        ) from None
    return int(generator.integers(_MAX_DRAWN_SEED))


def check_choice(argument: str, value: Any, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the allowed words, or raise."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise UserError(f"must be one of {words}, but is {value!r}", argument=argument)
    return value


def check_sample(
    x: Any, n_joint: int, n_shift: int, mask: Any = None, dtype: DTypeLike = np.float32
) -> tuple[Array, Array | None]:
    """Return a sample (*joint, *shift) and its mask as arrays, or raise.

    The arrays can be the user's own: nobody may write to them.

    Parameters
    ----------
    x : array_like, (*joint, *shift)
        The sample; a masked array brings its mask along.
    n_joint, n_shift : int
        How many joint axes it must have, and how many shift axes after them.
    mask : array_like of bool, (*joint, *shift) or (*shift), optional
        True where the sample was measured. Values where it is False are not looked at.
    dtype : dtype
        Precision of the computation, which limits how large the values can be.
    """
    if isinstance(x, np.ma.MaskedArray):
        if mask is not None:
            raise UserError(
                "the sample is a masked array already", remedy="pass its data with the mask"
            )
        x, mask = x.data, ~np.ma.getmaskarray(x)
    array = np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise UserTypeError(
            f"a sample must hold real numbers (integer or float), but has the type {array.dtype}"
        )
    if array.ndim != n_joint + n_shift:
        raise UserError(
            f"a sample must have {n_joint + n_shift} axes ({n_joint} joint, then {n_shift} shift), "
            f"but has the shape {array.shape}"
        )
    if array.size == 0:
        raise UserError(f"the sample is empty: its shape is {array.shape}")
    known = None if mask is None else _check_mask(mask, array.shape, array.shape[n_joint:])
    _check_values(array, known, np.dtype(dtype))
    return array, known


def _check_values(array: Array, known: Array | None, dtype: np.dtype[Any]) -> None:
    """Refuse measured values that are not finite, or whose squares could overflow when summed."""
    remedy = "pass a mask that is False there"
    measured = array if known is None else np.where(known, array, array.dtype.type(0))
    if measured.dtype.kind == "f" and not np.isfinite(measured).all():
        if known is not None:
            raise UserError("the sample holds NaN or infinite values where its mask is True")
        raise UserError("the sample holds NaN or infinite values", remedy=remedy)
    largest = max(abs(float(measured.max())), abs(float(measured.min())))
    limit = float(np.finfo(dtype).max) ** 0.5 * 1e-4
    if largest > limit:
        raise UserError(
            f"the sample holds values up to {largest:.3g}, and {dtype} takes up to {limit:.0e}",
            remedy=f"if they mark missing data, {remedy}",
        )


def _check_mask(mask: Any, full: tuple[int, ...], shift: tuple[int, ...]) -> Array:
    """Return the mask of a sample as a bool array of one of the two shapes, or raise."""
    known = np.asarray(mask)
    if known.shape not in (full, shift):
        raise UserError(
            f"the mask has the shape {known.shape}, but the sample {full}",
            remedy=f"allowed are {full}" + (f" and {shift}" if shift != full else ""),
        )
    if known.dtype != bool:
        if known.dtype.kind not in "fiu" or not np.isin(known, (0, 1)).all():
            raise UserError("the mask must hold True (measured) and False (missing), or 1 and 0")
        known = known.astype(bool)
    if not known.any():
        raise UserError("the mask is False everywhere: nothing was measured")
    return known
