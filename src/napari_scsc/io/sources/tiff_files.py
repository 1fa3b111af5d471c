"""TIFF files."""

from __future__ import annotations

import math
import re
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.io.sources.file_arrays import (
    Array,
    FileArray,
    MappedArray,
    check_same,
    handle,
    reading,
)
from napari_scsc.io.sources.opened import Opened, describe, unreadable

_LARGEST_PAGE = 64 << 20  # bytes of a page of strips that is decoded as a whole
# Of each unit of resolution its micrometres, and the resolutions that say nothing of the size of a
# pixel: 72 and 96 dots an inch are what programs write for a screen, and 1 is for nothing at all.
_OF_RESOLUTION: dict[int, tuple[float, tuple[float, ...]]] = {
    2: (25_400.0, (1, 72, 96)),  # an inch
    3: (10_000.0, (1, 72 / 2.54, 96 / 2.54)),  # a centimetre
}
_OF_TIFF = {**dict(zip("TZCYXUVN", "tzcyxuvn", strict=True)), "S": "c"}


@dataclass(frozen=True)
class TiffArray(FileArray):
    """A series of a TIFF file that is compressed, tiled or scattered."""

    series: int
    whole_pages: bool

    def _read(self, index: tuple[Any, ...]) -> Array:
        with reading(self, "TIFF file"):
            return np.asarray(handle(self, self._open)[index])

    def _open(self) -> Any:
        import tifffile
        import zarr

        file = tifffile.TiffFile(self.path)
        try:
            store = _tiff_chunks(file.series[self.series], self.whole_pages)
            array: Any = zarr.open_array(store=store, mode="r")
            check_same(self, array.shape)
        except BaseException:
            file.close()
            raise
        weakref.finalize(array, file.close)  # not before the last reader has done
        return array


def open_tiff(place: Path, key: str | int | None) -> Opened:
    """Open a series of a TIFF file."""
    import tifffile

    number = 0 if key is None else key
    if not re.fullmatch(r"\d{1,6}", str(number)):
        raise ValueError(f"{place}: the key of a TIFF file is the number of a series, not {key!r}")
    try:
        with tifffile.TiffFile(place) as file:
            n_series = len(file.series)
            if int(number) < n_series:
                array = _tiff_array(place, file, int(number))
                labels, scale, units = _tiff_meaning(file, int(number))
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise ValueError(unreadable(place, "TIFF file", error)) from error
    if int(number) >= n_series:
        raise ValueError(f"{place}: holds {n_series} series, and none with the number {number}")
    remarks = []
    if key is None and n_series > 1:
        remarks.append(f'holds {n_series} series, this is the first: key="1" is the next')
    name = "" if key is None else str(key)
    return describe(place, array, name, labels, scale, units, remarks=remarks)


def _tiff_array(place: Path, file: Any, number: int) -> FileArray:
    import zarr

    series = file.series[number]
    if series.dtype is None:
        raise ValueError("its pixels are of a type that is not known")
    stored = np.dtype(series.dtype).newbyteorder(file.byteorder)
    dtype, shape = stored.newbyteorder("="), tuple(series.shape)
    offset = None if series.is_multifile else series.dataoffset
    if offset is not None:
        if offset + math.prod(shape) * dtype.itemsize > place.stat().st_size:
            raise ValueError("the file is cut off")
        return MappedArray(place, shape, dtype, None, stored, offset)
    page = series.keyframe
    whole = not page.is_tiled and page.size * dtype.itemsize <= _LARGEST_PAGE
    array: Any = zarr.open_array(store=_tiff_chunks(series, whole), mode="r")
    return TiffArray(place, tuple(array.shape), dtype, array.chunks, number, whole)


def _tiff_chunks(series: Any, whole_pages: bool) -> Any:
    """A store of zarr that decodes pages, or their strips and tiles, when they are asked for."""
    return series.aszarr(level=0, chunkmode="page" if whole_pages else "strile")


def _tiff_meaning(file: Any, number: int) -> tuple[Any, Any, Any]:
    """Labels, scale and units of a series, as far as the file knows them."""
    series = file.series[number]
    letters = series.axes
    labels: Any = [_OF_TIFF.get(letter, "") for letter in letters]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = None  # what tifffile calls Q or I is not known
    known = {}
    if series.kind == "ome":
        known = _ome_sizes(file.ome_metadata, number)
    elif series.kind == "imagej":
        known = _imagej_sizes(file)
    elif series.kind == "shaped":
        said = file.shaped_metadata[number]
        if said.get("scale"):
            return labels, said["scale"], said.get("units")
    known = known or _resolution_sizes(series.keyframe)
    if not known:
        return labels, None, None
    sizes = [known.get(letter, (1.0, "pixel")) for letter in letters]
    return labels, [size for size, _ in sizes], [unit for _, unit in sizes]


def _ome_sizes(text: str, number: int) -> dict[str, tuple[float, str]]:
    from xml.etree import ElementTree

    images = ElementTree.fromstring(text).findall("{*}Image/{*}Pixels")
    said = images[number].attrib if number < len(images) else {}
    names = {letter: (f"PhysicalSize{letter}", "µm") for letter in "XYZ"}
    names["T"] = "TimeIncrement", "s"
    return {
        letter: (float(said[name]), said.get(f"{name}Unit", usual))
        for letter, (name, usual) in names.items()
        if name in said
    }


def _imagej_sizes(file: Any) -> dict[str, tuple[float, str]]:
    said = file.imagej_metadata or {}
    unit = str(said.get("unit", "pixel")).replace("\\u00B5", "µ")
    sizes = {letter: (1 / per, unit) for letter, per in _resolutions(file.pages.first).items()}
    if "unit" not in said:  # then the tag has the unit, if anything has
        sizes |= _resolution_sizes(file.pages.first)
    if "spacing" in said:
        sizes["Z"] = abs(float(said["spacing"])), unit
    if said.get("finterval"):
        sizes["T"] = float(said["finterval"]), str(said.get("tunit", "s"))
    return {} if set(sizes.values()) <= {(1.0, "pixel")} else sizes


def _resolution_sizes(page: Any) -> dict[str, tuple[float, str]]:
    """Sizes of pixels by the tags that every TIFF may have, where they are more than a default."""
    tag = page.tags.get("ResolutionUnit")
    micrometres, defaults = _OF_RESOLUTION.get(0 if tag is None else int(tag.value), (0.0, ()))
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
