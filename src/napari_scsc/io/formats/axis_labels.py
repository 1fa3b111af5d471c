"""What the axes of an array are, as far as its file, its name and its shape tell for certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from napari_scsc.data import axes as axes_of

_NAPARI_ORDER = "ntzcuvyx"  # colours of pixels come after them
_MAX_BYTES_TO_TELL_COLOURS = 64 << 20  # of an array all of whose values are looked at


class AxisLabels(NamedTuple):
    """Axes of an array in its own order: a letter each, the kind of data, and if it has colours."""

    letters: tuple[str, ...] = ()
    kind: str | None = None
    rgb: bool = False


def name_axes(array: Any, names: Sequence[str], spelled: Any = None) -> AxisLabels:
    """Name the axes of an array; no letters where it can be read in two ways.

    Parameters
    ----------
    array : array
        Only its shape and type are looked at, and the values of a small one in memory.
    names : sequence of str
        Names of the array and its file, which may end with the axes (``cloth_yxc``) or hold a
        word such as "video".
    spelled : str or sequence of str, optional
        What the file says of the axes.
    """
    shape = tuple(array.shape)
    if len(shape) == 1:
        return AxisLabels(("x",))
    letters, word_kind = _letters_of(shape, names, spelled)
    rgb = "c" in letters and are_colours(array, letters.index("c"))
    if not letters or (word_kind == "rgb" and not rgb):
        return AxisLabels()  # guessed to be colours from the shape, but the values say otherwise
    order = napari_order(letters, rgb)
    lengths, ordered = [shape[i] for i in order], [letters[i] for i in order]
    kind = axes_of.resolve(lengths, axes=ordered, rgb=rgb).kind
    if word_kind == "time-lapse" and kind == "video":
        kind = word_kind
    return AxisLabels(letters, kind, rgb)


def napari_order(letters: Sequence[str], rgb: bool) -> list[int]:
    """Positions of the axes in the order in which napari expects them."""
    order = _NAPARI_ORDER.replace("c", "") + "c" if rgb else _NAPARI_ORDER
    return sorted(range(len(letters)), key=lambda i: order.index(axes_of.letter_of(letters[i])))


def are_colours(array: Any, axis: int) -> bool:
    """Whether an axis holds the colours of pixels, by its place, its length and the values."""
    if array.shape[axis] not in (3, 4) or axis != array.ndim - 1:
        return False
    if array.dtype in (np.uint8, np.uint16):
        return True
    if array.dtype.kind != "f" or not isinstance(array, np.ndarray):
        return False
    if array.nbytes > _MAX_BYTES_TO_TELL_COLOURS:
        return False
    return bool(np.all((array >= 0) & (array <= 1)))


def _letters_of(
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
        four, kind = _letters_of(shape[:4], names, None)
        return ((*four, "c"), kind) if four[:2] == ("u", "v") else ((), None)
    return _letters_by_kind(shape, _guess_kind(shape, names))


def _guess_kind(shape: tuple[int, ...], names: Sequence[str]) -> str:
    """The kind that words in the names, or the shape alone, leave no doubt about; else nothing."""
    try:
        kind = axes_of.resolve(shape, name=" ".join(names)).kind
    except ValueError:
        kind = "light-field" if len(shape) == 4 and _is_light_field(shape[2:] + shape[:2]) else ""
    # Where axes of length 1 were put aside, the kind is that of the others.
    fits = kind in axes_of.PRESETS and len(axes_of.PRESETS[kind].labels) == len(shape)
    return kind if fits else ""


def _letters_by_kind(shape: tuple[int, ...], kind: str) -> tuple[tuple[str, ...], str | None]:
    labels = axes_of.PRESETS[kind].labels if kind else ()
    if kind == "rgb" or not labels:
        return labels, kind or None
    # Programs differ in where they put the axes that are not y and x. One order only must fit.
    outer = len(shape) - 2
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
