"""What files say of themselves, and which of their arrays is meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.io.channels import Channel
from napari_scsc.io.filenames import format_shape, natural_key, shorten_list, stem_of
from napari_scsc.io.formats.axis_labels import AxisLabels, are_colours, name_axes
from napari_scsc.io.formats.file_arrays import FileArray
from napari_scsc.io.formats.outside import OutsideError
from napari_scsc.io.units import unit_word

_MAX_LAYER_AXES = 5
_MAX_BYTES = 1 << 62  # numpy counts them in so many bits


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """An array of a file and what the file says of it; made by the formats, see ``open_file``.

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
    translation : tuple of float or None
        Where the first pixel lies along each axis, in its unit.
    channels : tuple of Channel
        One for each value of the axis of channels, where the file tells of them; else none.
    name : str
        Name of the file without its end, and the key if there is one.
    remarks : tuple of Message
        What whoever opened it should know, such as that there is more in the file.
    kind : str or None
        Kind of the data where it is certain; the labels are then letters of ``data.axes``.
    rgb : bool
        Whether the last axis holds the colours of pixels.
    facts : dict
        What else is known, for the metadata of a layer: ``wavelengths``, ``axes_in_file``.
    coarser : tuple of array
        The same image in coarser resolutions, where ``open_all`` found them.
    recipe : dict
        How the values came about, where a result of this package says it; else empty.
    zarr_format : str or None
        The version of OME-Zarr, "0.4" or "0.5", where it is one.
    """

    array: Any
    labels: tuple[str, ...] | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    translation: tuple[float, ...] | None = None
    channels: tuple[Channel, ...] = ()
    name: str = ""
    remarks: tuple[Message, ...] = ()
    kind: str | None = None
    rgb: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    coarser: tuple[Any, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)
    zarr_format: str | None = None

    def for_viewer(self) -> OpenedFile:
        """The same with arrays that a viewer can show: small ones in memory, others lazy."""
        coarser = tuple(map(array_for_viewer, self.coarser))
        return replace(self, array=array_for_viewer(self.array), coarser=coarser)


@dataclass(frozen=True, slots=True)
class StoredArray:
    """One of the arrays in a file that can hold several.

    Attributes
    ----------
    key : str
        Its name in the file; empty where the file holds one only.
    shape : tuple of int
        Lengths of the axes.
    dtype : numpy.dtype or str
        Type of the values; a word where it is none of numpy's.
    load : callable
        Returns the array; lazy if the format allows it.
    spelled : str, sequence of str or None
        What the file says of the axes.
    """

    key: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | str
    load: Callable[[], Any]
    spelled: Any = None

    @property
    def is_image(self) -> bool:
        """Whether it is an array of numbers other than a row, a column or a single value."""
        return is_numeric(self.shape, self.dtype) and sum(n > 1 for n in self.shape) >= 2

    def __str__(self) -> str:
        facts = f"{format_shape(self.shape) or 1} {self.dtype}"
        return f"{self.key} ({facts})" if self.key else facts


def open_one(path: Path, arrays: Sequence[StoredArray], key: str | int | None) -> OpenedFile:
    """Open the array that is meant: the one named, else the largest."""
    if len(arrays) == 1 and not arrays[0].key:
        refuse_key(path, key)
        return _open_stored(path, arrays[0], is_only=True)
    numeric = [array for array in arrays if is_numeric(array.shape, array.dtype)]
    images = [array for array in numeric if array.is_image] or numeric
    stored = {array.key: array for array in (images if key is None else numeric)}
    name = choose(path, {k: math.prod(array.shape) for k, array in stored.items()}, key)
    return _open_stored(path, stored[name], is_only=len(images) == 1)


def open_each(path: Path, arrays: Sequence[StoredArray]) -> list[OpenedFile]:
    """Open all arrays that can be layers, as a viewer needs them."""
    shown = [array for array in arrays if array.is_image and len(array.shape) <= _MAX_LAYER_AXES]
    if not shown:
        inside = f"it holds {shorten_list([str(a) for a in arrays])}" if arrays else "it is empty"
        raise UserError(
            f"no array of numbers with 2 to {_MAX_LAYER_AXES} axes: {inside}", path=path
        )
    opened, left_out = [], []
    for array in shown:
        try:
            opened.append(_open_stored(path, array, len(shown) == 1, for_viewer=True))
        except OutsideError as error:
            left_out.append(error)
    if not opened:
        raise left_out[0]
    remarks = tuple(replace(error.message, path=None) for error in left_out)
    return [replace(opened[0], remarks=(*opened[0].remarks, *remarks)), *opened[1:]]


def _open_stored(
    path: Path, stored: StoredArray, is_only: bool, for_viewer: bool = False
) -> OpenedFile:
    array = stored.load()
    if isinstance(array, np.ndarray):  # graphics cards ask for the byte order of the machine
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if for_viewer:  # before it is described: the values of what is in memory tell colours
        array = array_for_viewer(array)
    opened = describe(path, array, stored.key, spelled=stored.spelled)
    return replace(opened, name=stem_of(path)) if is_only else opened


def array_for_viewer(array: Any) -> Any:
    """The array as a viewer needs it: small ones in memory, others lazy."""
    return array.for_viewer() if isinstance(array, FileArray) else array


def describe(
    path: Path,
    array: Any,
    key: str = "",
    labels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[Any] | None = None,
    *,
    kind: str | None = None,
    rgb: bool | None = None,
    facts: Mapping[str, Any] | None = None,
    spelled: Any = None,
    stem: str | None = None,
    remarks: Sequence[Message] = (),
) -> OpenedFile:
    """Put together what is known; without labels, what names and the shape tell for certain."""
    shape = tuple(array.shape)
    if not is_numeric(shape, array.dtype):
        raise UserError(f"no array of numbers, but {array.dtype} of the shape {shape}", path=path)
    if math.prod(shape) * np.dtype(array.dtype).itemsize > _MAX_BYTES:
        raise UserError(f"declares {format_shape(shape)} values, more than can be", path=path)
    stem = stem_of(path) if stem is None else stem
    if labels is None:
        axes = name_axes(array, (key, stem), spelled)
        facts = {"axes_in_file": "".join(axes.letters)} if axes.letters else None
    else:
        names = tuple(map(str, labels)) if len(labels) == len(shape) else ()
        if rgb is None:
            rgb = names[-1:] == ("c",) and are_colours(array, len(shape) - 1)
        axes = AxisLabels(names, kind, rgb)
    sizes = _usable_scale(scale, len(shape))
    words = None if units is None else tuple(unit_word(unit) or "pixel" for unit in units)
    return OpenedFile(
        array,
        axes.letters or None,
        sizes,
        words if sizes and words and set(words) != {"pixel"} else None,
        name=f"{stem} {key}" if key else stem,
        remarks=tuple(remarks),
        kind=axes.kind,
        rgb=axes.rgb,
        facts=dict(facts or {}),
    )


def _usable_scale(scale: Any, n: int) -> tuple[float, ...] | None:
    """A scale that can be used, or None: what a file says may be anything."""
    try:
        sizes = tuple(float(s) for s in scale)
    except (TypeError, ValueError):
        return None
    return sizes if len(sizes) == n and all(math.isfinite(s) and s for s in sizes) else None


def is_numeric(shape: Sequence[int], dtype: Any) -> bool:
    """Whether it is an array of numbers, and not an empty one."""
    is_number = not isinstance(dtype, str) and np.dtype(dtype).kind in "fiub"
    return is_number and len(shape) > 0 and all(shape)


def refuse_key(path: Path, key: Any) -> None:
    """Refuse a key for what holds one array only."""
    if key is not None:
        raise UserError(f"holds one array only, and none that is called {key!r}", path=path)


def choose(path: Path, sizes: Mapping[str, int], key: str | int | None) -> str:
    """The name of the array that is meant: the only one, or one that is larger than all others."""
    if key is not None:
        wanted = str(key).strip("/")
        if wanted not in sizes:
            raise UserError(f"no array {wanted!r}; there are {list_names(sizes)}", path=path)
        return wanted
    if not sizes:
        raise UserError("holds no array of numbers", path=path)
    largest = [name for name, size in sizes.items() if size == max(sizes.values())]
    if len(largest) > 1:
        raise UserError(
            f"{len(largest)} arrays are equally large, {list_names(largest)}",
            remedy=Remedy.SAY_KEY,
            path=path,
        )
    return largest[0]


def list_names(names: Iterable[str]) -> str:
    """Names of arrays for a message, in the order that people expect."""
    return shorten_list(sorted(map(repr, names), key=natural_key), most=8) or "none"
