"""TIFF files."""

from __future__ import annotations

import math
import re
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.io.formats.file_arrays import (
    FileArray,
    MappedArray,
    check_shape,
    naming_file,
    open_once,
    unreadable,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe

_MAX_PAGE_BYTES = 64 << 20  # of a page of strips that is decoded as a whole
# Of each unit of resolution its micrometres, and the resolutions that say nothing of the size of a
# pixel: 72 and 96 dots an inch are what programs write for a screen, and 1 is for nothing at all.
_RESOLUTION_UNITS: dict[int, tuple[float, tuple[float, ...]]] = {
    2: (25_400.0, (1, 72, 96)),  # an inch
    3: (10_000.0, (1, 72 / 2.54, 96 / 2.54)),  # a centimetre
}
_LABELS = {**dict(zip("TZCYXUVN", "tzcyxuvn", strict=True)), "S": "c"}

Sizes = dict[str, tuple[float, str]]
"""Of the letters of axes, the size of a pixel and its unit."""


@dataclass(frozen=True)
class TiffArray(FileArray):
    """A series of a TIFF file that is compressed, tiled or scattered."""

    series: int
    whole_pages: bool

    def _read(self, index: tuple[Any, ...]) -> Array:
        with naming_file(self, "TIFF file"):
            return np.asarray(open_once(self, self._open)[index])

    def _open(self) -> Any:
        import tifffile
        import zarr

        file = tifffile.TiffFile(self.path)
        try:
            store = _page_chunks(file.series[self.series], self.whole_pages)
            array: Any = zarr.open_array(store=store, mode="r")
            check_shape(self, array.shape)
        except BaseException:
            file.close()
            raise
        weakref.finalize(array, file.close)  # not before the last reader has done
        return array


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a series of a TIFF file; the key is its number."""
    import tifffile

    if not re.fullmatch(r"\d{1,6}", "0" if key is None else str(key)):
        raise UserError(f"the key of a TIFF file is the number of a series, not {key!r}", path=path)
    number = 0 if key is None else int(key)
    try:
        with tifffile.TiffFile(path) as file:
            n_series = len(file.series)
            if number < n_series:
                array = _find_array(path, file, number)
                labels, scale, units = _find_axes(file, number)
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise unreadable(path, "TIFF file", error) from error
    if number >= n_series:
        raise UserError(f"holds {n_series} series, and none with the number {number}", path=path)
    remarks = []
    if key is None and n_series > 1:
        text = f"holds {n_series} series, this is the first and '1' the next"
        remarks.append(Message(text, remedy=Remedy.SAY_KEY))
    name = "" if key is None else str(key)
    return describe(path, array, name, labels, scale, units, remarks=remarks)


def _find_array(path: Path, file: Any, number: int) -> FileArray:
    import zarr

    series = file.series[number]
    if series.dtype is None:
        raise ValueError("its pixels are of a type that is not known")
    stored = np.dtype(series.dtype).newbyteorder(file.byteorder)
    dtype, shape = stored.newbyteorder("="), tuple(series.shape)
    offset = None if series.is_multifile else series.dataoffset
    if offset is not None:
        if offset + math.prod(shape) * dtype.itemsize > path.stat().st_size:
            raise ValueError("the file is cut off")
        return MappedArray(path, shape, dtype, None, stored, offset)
    page = series.keyframe
    whole = not page.is_tiled and page.size * dtype.itemsize <= _MAX_PAGE_BYTES
    array: Any = zarr.open_array(store=_page_chunks(series, whole), mode="r")
    return TiffArray(path, tuple(array.shape), dtype, array.chunks, number, whole)


def _page_chunks(series: Any, whole_pages: bool) -> Any:
    """A store of zarr that decodes pages, or their strips and tiles, when they are asked for."""
    return series.aszarr(level=0, chunkmode="page" if whole_pages else "strile")


def _find_axes(file: Any, number: int) -> tuple[Any, Any, Any]:
    """Labels, scale and units of a series, as far as the file knows them."""
    series = file.series[number]
    letters = series.axes
    labels: Any = [_LABELS.get(letter, "") for letter in letters]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = None  # what tifffile calls Q or I is not known
    known: Sizes = {}
    if series.kind == "ome":
        known = _ome_sizes(file.ome_metadata, number)
    elif series.kind == "imagej":
        known = _imagej_sizes(file)
    elif series.kind == "shaped":
        metadata = file.shaped_metadata[number]
        if metadata.get("scale"):
            return labels, metadata["scale"], metadata.get("units")
    known = known or _resolution_sizes(series.keyframe)
    if not known:
        return labels, None, None
    sizes = [known.get(letter, (1.0, "pixel")) for letter in letters]
    return labels, [size for size, _ in sizes], [unit for _, unit in sizes]


def _ome_sizes(text: str, number: int) -> Sizes:
    from xml.etree import ElementTree

    images = ElementTree.fromstring(text).findall("{*}Image/{*}Pixels")
    attributes = images[number].attrib if number < len(images) else {}
    names = {letter: (f"PhysicalSize{letter}", "µm") for letter in "XYZ"}
    names["T"] = "TimeIncrement", "s"
    return {
        letter: (float(attributes[name]), attributes.get(f"{name}Unit", usual))
        for letter, (name, usual) in names.items()
        if name in attributes
    }


def _imagej_sizes(file: Any) -> Sizes:
    metadata = file.imagej_metadata or {}
    unit = str(metadata.get("unit", "pixel")).replace("\\u00B5", "µ")
    sizes = {letter: (1 / per, unit) for letter, per in _resolutions(file.pages.first).items()}
    if "unit" not in metadata:  # then the tag has the unit, if anything has
        sizes |= _resolution_sizes(file.pages.first)
    if "spacing" in metadata:
        sizes["Z"] = abs(float(metadata["spacing"])), unit
    if metadata.get("finterval"):
        sizes["T"] = float(metadata["finterval"]), str(metadata.get("tunit", "s"))
    return {} if set(sizes.values()) <= {(1.0, "pixel")} else sizes


def _resolution_sizes(page: Any) -> Sizes:
    """Sizes of pixels by the tags that every TIFF may have, where they are more than a default."""
    tag = page.tags.get("ResolutionUnit")
    micrometres, defaults = _RESOLUTION_UNITS.get(0 if tag is None else int(tag.value), (0.0, ()))
    found = _resolutions(page)
    if not micrometres or all(_is_one_of(per, defaults) for per in found.values()):
        return {}
    return {letter: (micrometres / per, "µm") for letter, per in found.items()}


def _is_one_of(per: float, defaults: tuple[float, ...]) -> bool:
    # Programs round: what is 72 dots an inch to one is 72.009 to another.
    return any(math.isclose(per, default, rel_tol=1e-3) for default in defaults)


def _resolutions(page: Any) -> dict[str, float]:
    """Pixels in a unit along X and Y, as far as the tags say."""
    found = {}
    for letter in "XY":
        tag = page.tags.get(f"{letter}Resolution")
        if tag is not None and all(tag.value):
            found[letter] = tag.value[0] / tag.value[1]
    return found
