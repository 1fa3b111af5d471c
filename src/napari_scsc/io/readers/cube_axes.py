"""What the axes of an array are, as far as its file, its name and its shape tell for certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_scsc.data import axes as axes_of

_MOST_LOOKED_AT = 64 << 20  # bytes of an array that is read whole to tell colours


def letters_of(
    shape: tuple[int, ...], names: Sequence[str], spelled: Any
) -> tuple[tuple[str, ...], str | None]:
    """One letter an axis, or none at all, and the kind where that was what told them."""
    n = len(shape)
    hints = [spelled, *(re.split(r"[\W_]", name)[-1] for name in names)]
    for hint in hints:
        hint = hint.lower() if isinstance(hint, str) else hint
        if not hint or len(hint) != n or (isinstance(hint, str) and not {"y", "x"} <= set(hint)):
            continue
        try:
            return axes_of.resolve(shape, axes=hint).labels, None
        except (ValueError, TypeError, AttributeError):
            continue  # a name like any other
    if n == 2:
        return ("y", "x"), None
    if n == 5 and shape[4] == 3:
        four, kind = letters_of(shape[:4], names, None)
        return ((*four, "c"), kind) if four[:2] == ("u", "v") else ((), None)
    try:
        kind = axes_of.resolve(shape, name=" ".join(names)).kind
    except ValueError:
        kind = "light-field" if n == 4 and _is_light_field(shape[2:] + shape[:2]) else ""
    # Where axes of length 1 were put aside, the kind is that of the others.
    fits = kind in axes_of.PRESETS and len(axes_of.PRESETS[kind].labels) == n
    kind = kind if fits else ""
    labels = axes_of.PRESETS[kind].labels if kind else ()
    if kind == "rgb" or not labels:
        return labels, kind or None
    # Programs differ in where they put the axes that are not y and x. One order only must fit.
    outer = n - 2
    if 2 * max(shape[:outer]) <= min(shape[outer:]):
        return labels, kind
    if 2 * max(shape[2:]) <= min(shape[:2]):
        return (*labels[outer:], *labels[:outer]), kind
    return (), None


def _is_light_field(shape: tuple[int, ...]) -> bool:
    try:
        return axes_of.resolve(shape).kind == "light-field"
    except ValueError:
        return False


def are_colours(array: Any, axis: int) -> bool:
    """Whether an axis holds the colours of pixels, by its place, its length and the values."""
    if array.shape[axis] not in (3, 4) or axis != array.ndim - 1:
        return False
    if array.dtype in (np.uint8, np.uint16):
        return True
    if array.dtype.kind != "f" or not isinstance(array, np.ndarray):
        return False
    if array.nbytes > _MOST_LOOKED_AT:
        return False
    return bool(np.all((array >= 0) & (array <= 1)))
