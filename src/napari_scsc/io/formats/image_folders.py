"""Folders of images as one array: bands of a scene, views of a light field, numbered TIFF files."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data import axes as axes_of
from napari_scsc.errors import Remedy, UserError
from napari_scsc.io.filenames import format_shape, natural_key, shorten_list
from napari_scsc.io.formats import find_format, tiff_files
from napari_scsc.io.formats.file_arrays import FileArray
from napari_scsc.io.formats.image_series import (
    ONE_NUMBER,
    Series,
    find_series,
    group_names,
    last_word,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe, refuse_key
from napari_scsc.io.formats.pictures import common_look, read_colours, read_grey, read_picture

_TIFF_SUFFIXES = (".tif", ".tiff")
_MAX_FILES_LOOKED_INTO = 1000  # when a folder is opened

# What the last word before the number says of it.
_LABELS_BY_WORD = {
    **dict.fromkeys(("t", "time", "frame", "frames"), "t"),
    **dict.fromkeys(("z", "slice", "plane"), "z"),
    **dict.fromkeys(("c", "ch", "channel"), "c"),
}


@dataclass(frozen=True)
class ImageFiles(FileArray):
    """Images of one size, each in a file of its own, stacked along one axis or two."""

    packed_names: bytes  # names of the files, which would be far longer than all else
    n_stacked: int
    decode: Callable[[Path], Array]

    title = "folder of images"
    max_bytes_in_viewer = 1 << 30

    def _read(self, index: tuple[Any, ...]) -> Array:
        names = zlib.decompress(self.packed_names).split(b"/")
        shape = self.shape[self.n_stacked :]
        outer, inner = index[: self.n_stacked], index[self.n_stacked :]
        numbers = np.arange(len(names)).reshape(self.shape[: self.n_stacked])[outer]
        kept = np.broadcast_to(np.zeros((), self.dtype), shape)[inner].shape
        stack = np.empty((numbers.size, *kept), self.dtype)
        for place, number in enumerate(numbers.flat):
            file = self.path / os.fsdecode(names[number])
            image = self.decode(file)
            if image.shape != shape:
                raise UserError(f"has the shape {image.shape}, the others {shape}", path=file)
            stack[place] = image[inner]
        return stack.reshape(numbers.shape + kept)


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a folder of bands, of views, or of TIFF files with numbers."""
    refuse_key(path, key)
    series = find_series(path)
    return _open_numbered(path) if series is None else _open_series(path, series)


def _open_series(path: Path, series: Series) -> OpenedFile:
    are_views = series.kind == "light-field"
    if series.absent:
        images = "views" if are_views else "bands"
        raise UserError(f"{images} are missing: {shorten_list(series.absent, '; ')}", path=path)
    shape, dtype = common_look(series.files)
    has_colours = len(shape) == 3 and shape[2] in (3, 4)
    if len(shape) != 2 and not has_colours:
        raise UserError(
            f"has {format_shape(shape)} values, where an image with two axes is needed",
            path=series.files[0],
        )
    rgb = are_views and has_colours
    decode = read_colours if rgb else read_grey
    kept = (*shape[:2], 3) if rgb else shape[:2]
    array = stack_files(series.files, series.grid, kept, dtype, decode)
    labels = (*axes_of.PRESETS[series.kind].labels, *("c" if rgb else ""))
    return describe(
        path,
        array,
        labels=labels,
        **_find_sizes(series.files[0], array),
        kind=series.kind,
        rgb=rgb,
        facts={"wavelengths": series.wavelengths} if series.wavelengths else None,
        stem=path.name,
    )


def _open_numbered(path: Path) -> OpenedFile:
    """TIFF files whose names differ in the number at their end; the largest group of them."""
    with os.scandir(path) as entries:  # what is neither file nor folder would be waited for
        found = [e.name for e in entries if e.is_file() or e.is_dir()]
    names = sorted((name for name in found if not name.startswith(".")), key=natural_key)
    tiff_names = [name for name in names if Path(name).suffix.lower() in _TIFF_SUFFIXES]
    groups = sorted(group_names(tiff_names, ONE_NUMBER), key=len, reverse=True)
    n_files = [*map(len, groups), 0, 0]
    if n_files[0] < 2 or n_files[0] == n_files[1]:
        raise _explain_no_image(path, names)
    files = tuple(path / name for name, _ in groups[0])
    # To look into each of very many would take long; the others are checked when they are read.
    is_short = len(files) <= _MAX_FILES_LOOKED_INTO
    shape, dtype = common_look(files if is_short else (files[0], files[-1]))
    array = stack_files(files, (len(files),), shape, dtype, read_picture)
    first = _LABELS_BY_WORD.get(last_word(groups[0][0][1]["head"]))
    labels = (first, "y", "x") if first and len(shape) == 2 else None
    sizes = _find_sizes(files[0], array)
    return describe(path, array, labels=labels, **sizes, stem=path.name)


def _explain_no_image(path: Path, names: Sequence[str]) -> UserError:
    """What is wrong with a folder that is no image, and what to do."""
    if path.suffix == ".partial":
        return UserError("is a run that broke off", remedy=Remedy.RESUME, path=path)
    if not names:
        return UserError("is empty", path=path)
    images = [Path(name) for name in names if find_format(Path(name))]
    if not images:
        return UserError(f"holds no images, but {shorten_list(names)}", path=path)
    return UserError(
        f"holds files that are no one image: name them, as in {path.name}/*"
        f"{images[0].suffix.lower()}. Opened as one are bands of a scene, views of a light field, "
        "or a single set of TIFF files with numbers at the end of their names",
        path=path,
    )


def _find_sizes(file: Path, stack: ImageFiles) -> dict[str, Any]:
    """Scale and units of a stack: along the axes of its images what the first of them says."""
    if file.suffix.lower() not in _TIFF_SUFFIXES:
        return {}
    first = tiff_files.open_file(file, None)
    n, kept = stack.n_stacked, stack.shape[stack.n_stacked :]
    if first.scale is None or first.array.shape[:2] != kept[:2]:
        return {}
    units = first.units or ("pixel",) * len(first.scale)
    return {
        "scale": (*[1.0] * n, *first.scale[: len(kept)]),
        "units": (*["pixel"] * n, *units[: len(kept)]),
    }


def stack_files(
    files: Sequence[Path],
    grid: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    decode: Callable[[Path], Array],
) -> ImageFiles:
    """Images of one shape and type as an array ``grid + shape``, of which nothing is read yet."""
    return ImageFiles(
        files[0].parent,
        grid + shape,
        dtype.newbyteorder("="),
        (1,) * len(grid) + shape,
        zlib.compress(b"/".join(os.fsencode(file.name) for file in files)),
        len(grid),
        decode,
    )
