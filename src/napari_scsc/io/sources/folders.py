"""Folders of images as one array."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.io.filenames import natural, some
from napari_scsc.io.readers.picture_files import common_look, read_colours, read_grey, read_picture
from napari_scsc.io.readers.series import ONE_NUMBER, find_series, grouped, last_word
from napari_scsc.io.sources.file_arrays import Array, FileArray
from napari_scsc.io.sources.opened import Opened, describe, refuse_key
from napari_scsc.io.sources.tiff_files import open_tiff
from napari_scsc.io.sources.zarr_files import is_zarr, open_zarr

_TIFF = (".tif", ".tiff")
_IMAGES = (*_TIFF, ".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".npy", ".h5", ".hdf5")
_MOST_LOOKS = 1000  # files of a folder that are looked into when it is opened

# What the last word before the number says of it.
_COUNTED = {
    **dict.fromkeys(("t", "time", "frame", "frames"), "t"),
    **dict.fromkeys(("z", "slice", "plane"), "z"),
    **dict.fromkeys(("c", "ch", "channel"), "c"),
}


@dataclass(frozen=True)
class ImageFiles(FileArray):
    """Images of one size, each in a file of its own, stacked along one axis or two."""

    packed: bytes  # names of the files, which would be far longer than all else
    n_stacked: int
    decode: Callable[[Path], Array]

    def _read(self, index: tuple[Any, ...]) -> Array:
        names = zlib.decompress(self.packed).split(b"/")
        shape = self.shape[self.n_stacked :]
        outer, inner = index[: self.n_stacked], index[self.n_stacked :]
        numbers = np.arange(len(names)).reshape(self.shape[: self.n_stacked])[outer]
        kept = np.broadcast_to(np.zeros((), self.dtype), shape)[inner].shape
        stack = np.empty((numbers.size, *kept), self.dtype)
        for place, number in enumerate(numbers.flat):
            file = self.path / os.fsdecode(names[number])
            image = self.decode(file)
            if image.shape != shape:
                raise ValueError(f"{file}: has the shape {image.shape}, the others {shape}")
            stack[place] = image[inner]
        return stack.reshape(numbers.shape + kept)


def open_folder(place: Path, key: str | int | None) -> Opened:
    """Open a folder: zarr, bands, views, or TIFF files with numbers."""
    if is_zarr(place) or place.suffix.lower() == ".zarr":
        return open_zarr(place, key)
    refuse_key(place, key)
    series = find_series(place)
    if series is None:
        return _open_numbered(place)
    if series.absent:
        raise ValueError(f"{place}: images are missing: {some(series.absent, '; ')}")
    shape, dtype = common_look(series.files)
    are_views = series.kind == "light-field"
    has_colours = len(shape) == 3 and shape[2] in (3, 4)
    if len(shape) != 2 and not has_colours:
        raise ValueError(f"{series.files[0]}: has the shape {shape}, where (y, x) is needed")
    rgb = are_views and has_colours
    decode = read_colours if rgb else read_grey
    kept = (*shape[:2], 3) if rgb else shape[:2]
    array = _stacked(series.files, series.grid, kept, dtype, decode)
    labels = (*("uv" if are_views else "c"), "y", "x", *(("c",) if rgb else ()))
    scale, units = _sizes(series.files[0], array)
    return describe(place, array, "", labels, scale, units, stem=place.name)


def _open_numbered(place: Path) -> Opened:
    """TIFF files whose names differ in the number at their end; the largest group of them."""
    found = sorted((n for n in os.listdir(place) if not n.startswith(".")), key=natural)
    names = [name for name in found if Path(name).suffix.lower() in _TIFF]
    groups = sorted(grouped(names, ONE_NUMBER), key=len, reverse=True)
    n_files = [*map(len, groups), 0, 0]
    if n_files[0] < 2 or n_files[0] == n_files[1]:
        raise ValueError(f"{place}: {_why_no_image(place, found)}")
    files = tuple(place / name for name, _ in groups[0])
    # To look into each of very many would take long; the others are checked when they are read.
    shape, dtype = common_look(files if len(files) <= _MOST_LOOKS else (files[0], files[-1]))
    array = _stacked(files, (len(files),), shape, dtype, read_picture)
    first = _COUNTED.get(last_word(groups[0][0][1]["head"]))
    labels = (first, "y", "x") if first and len(shape) == 2 else None
    scale, units = _sizes(files[0], array)
    return describe(place, array, "", labels, scale, units, stem=place.name)


def _why_no_image(place: Path, names: Sequence[str]) -> str:
    """What is wrong with a folder that is no image, and what to do."""
    if place.suffix == ".partial":
        return "is a run that broke off: resume it (resume=True), or remove it"
    if not names:
        return "is empty"
    suffixes = [Path(name).suffix.lower() for name in names]
    images = [suffix for suffix in suffixes if suffix in _IMAGES]
    if not images:
        return f"holds no images, but {some(names)}"
    return (
        f"holds files that are no one image: name them, as in {place.name}/*{images[0]}. Opened as "
        "one are bands of a scene, views of a light field, or a single set of TIFF files with "
        "numbers at the end of their names"
    )


def _sizes(file: Path, stack: ImageFiles) -> tuple[Any, Any]:
    """Scale and units of a stack: along the axes of its images what the first of them says."""
    if file.suffix.lower() not in _TIFF:
        return None, None
    first = open_tiff(file, None)
    n, kept = stack.n_stacked, stack.shape[stack.n_stacked :]
    if first.scale is None or first.array.shape[:2] != kept[:2]:
        return None, None
    units = first.units or ("pixel",) * len(first.scale)
    return (*[1.0] * n, *first.scale[: len(kept)]), (*["pixel"] * n, *units[: len(kept)])


def _stacked(
    files: Sequence[Path],
    grid: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    decode: Callable[[Path], Array],
) -> ImageFiles:
    packed = zlib.compress(b"/".join(os.fsencode(file.name) for file in files))
    return ImageFiles(
        files[0].parent,
        grid + shape,
        dtype.newbyteorder("="),
        (1,) * len(grid) + shape,
        packed,
        len(grid),
        decode,
    )
