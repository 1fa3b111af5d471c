"""What files say of themselves, and which of their arrays is meant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.io.filenames import natural, some, stem_of
from napari_scsc.io.readers.cube_axes import are_colours, letters_of
from napari_scsc.io.units import unit_word


@dataclass(frozen=True, slots=True)
class Opened:
    """What a file holds; see ``open_source``.

    Attributes
    ----------
    array : array
        With ``shape``, ``dtype``, ``chunks`` and slicing; its axes are in the order of the file.
    labels : tuple of str or None
        A name for every axis, also for that of colours; None where nothing tells them.
    scale : tuple of float or None
        Size of a pixel along each axis.
    units : tuple of str or None
        Units of the scale; "pixel" where an axis has none.
    name : str
        Name of the file without its end, and the key if there is one.
    remarks : tuple of str
        What whoever opened it should know, such as that there is more in the file.
    """

    array: Any
    labels: tuple[str, ...] | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    name: str = ""
    remarks: tuple[str, ...] = ()


def describe(
    place: Path,
    array: Any,
    key: str = "",
    labels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[Any] | None = None,
    spelled: Any = None,
    stem: str | None = None,
    remarks: Sequence[str] = (),
) -> Opened:
    """Put together what is known; without labels, what names and the shape tell for certain."""
    shape = tuple(array.shape)
    if not is_numeric(shape, array.dtype):
        raise ValueError(f"{place}: no array of numbers, but {array.dtype} of the shape {shape}")
    stem = stem_of(place) if stem is None else stem
    if labels is None:
        labels = _labels(array, (key, stem), spelled)
    words = None if units is None else tuple(unit_word(unit) or "pixel" for unit in units)
    sizes = _sizes(scale, len(shape))
    return Opened(
        array,
        tuple(map(str, labels)) if labels and len(labels) == len(shape) else None,
        sizes,
        words if sizes and words and set(words) != {"pixel"} else None,
        f"{stem} {key}" if key else stem,
        tuple(remarks),
    )


def _labels(array: Any, names: Sequence[str], spelled: Any) -> tuple[str, ...]:
    shape = tuple(array.shape)
    if len(shape) == 1:
        return ("x",)
    letters, kind = letters_of(shape, names, spelled)
    if kind == "rgb" and not are_colours(array, 2):
        return ()  # guessed from the shape, but the values say otherwise
    return letters


def _sizes(scale: Any, n: int) -> tuple[float, ...] | None:
    """A scale that can be used, or None: what a file says may be anything."""
    try:
        sizes = tuple(float(s) for s in scale)
    except (TypeError, ValueError):
        return None
    return sizes if len(sizes) == n and all(math.isfinite(s) and s for s in sizes) else None


def is_numeric(shape: Sequence[int], dtype: Any) -> bool:
    """Whether it is an array of numbers, and not an empty one."""
    return len(shape) > 0 and all(shape) and np.dtype(dtype).kind in "fiub"


def refuse_key(place: Path, key: Any) -> None:
    """Refuse a key for what holds one array only."""
    if key is not None:
        raise ValueError(f"{place}: holds one array only, and none that is called {key!r}")


def choose(place: Path, sizes: Mapping[str, int], key: str | int | None) -> str:
    """The name of the array that is meant: the only one, or one that is larger than all others."""
    if key is not None:
        wanted = str(key).strip("/")
        if wanted not in sizes:
            raise ValueError(f"{place}: no array {wanted!r}; there are {listed(sizes)}")
        return wanted
    if not sizes:
        raise ValueError(f"{place}: holds no array of numbers")
    largest = [name for name, size in sizes.items() if size == max(sizes.values())]
    if len(largest) > 1:
        raise ValueError(
            f"{place}: {len(largest)} arrays are equally large: say which with key=..., out of "
            f"{listed(largest)}"
        )
    return largest[0]


def listed(names: Iterable[str]) -> str:
    """Names of arrays for a message, in the order that people expect."""
    return some(sorted(map(repr, names), key=natural), most=8) or "none"


def unreadable(place: Path, what: str, error: Exception) -> str:
    """What to say of a file that a package could not read."""
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"{place}: not a readable {what} ({kind}{error})"
