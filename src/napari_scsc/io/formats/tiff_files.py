"""TIFF files."""

from __future__ import annotations

import math
import re
import weakref
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.io.formats.file_arrays import (
    FileArray,
    MappedArray,
    check_shape,
    open_once,
    unreadable,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe
from napari_scsc.io.formats.tiff_guard import check_structure, keep_last_chunk, limit_decoder
from napari_scsc.io.formats.tiff_metadata import find_facts

_MAX_PAGE_BYTES = 64 << 20  # of a page of strips that is decoded as a whole


@dataclass(frozen=True)
class TiffArray(FileArray):
    """A series of a TIFF file that is compressed, tiled or scattered."""

    series: int
    level: int
    whole_pages: bool

    title = "TIFF file"

    def _read(self, index: tuple[Any, ...]) -> Array:
        return np.asarray(open_once(self, self._open)[index])

    def _open(self) -> Any:
        import tifffile
        import zarr

        file = tifffile.TiffFile(self.path)
        try:
            check_structure(self.path, file)
            series = file.series[self.series].levels[self.level]
            store = keep_last_chunk(_page_chunks(series, self.whole_pages), self)
            array: Any = zarr.open_array(store=store, mode="r")
            check_shape(self, array.shape)
        except BaseException:
            file.close()
            raise
        weakref.finalize(array, file.close)  # not before the last reader has done
        return array


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a series of a TIFF file; the key is its number."""
    return _open_series(path, key, with_levels=False)


def open_levels(path: Path, key: str | int | None) -> OpenedFile:
    """Open a series with all of its levels, for a viewer."""
    return _open_series(path, key, with_levels=True)


def _open_series(path: Path, key: str | int | None, with_levels: bool) -> OpenedFile:
    import tifffile

    if not re.fullmatch(r"\d{1,6}", "0" if key is None else str(key)):
        raise UserError(f"the key of a TIFF file is the number of a series, not {key!r}", path=path)
    number = 0 if key is None else int(key)
    try:
        with tifffile.TiffFile(path) as file:
            check_structure(path, file)
            n_series = len(file.series)
            if number < n_series:
                n_levels = _count_levels(file.series[number]) if with_levels else 1
                arrays = [_find_array(path, file, number, level) for level in range(n_levels)]
                facts = find_facts(file, number)
    except UserError:
        raise
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise unreadable(path, "TIFF file", error) from error
    if number >= n_series:
        raise UserError(f"holds {n_series} series, and none with the number {number}", path=path)
    remarks = []
    if key is None and n_series > 1:
        text = f"holds {n_series} series, this is the first and '1' the next"
        remarks.append(Message(text, remedy=Remedy.SAY_KEY))
    name = "" if key is None else str(key)
    opened = describe(
        path, arrays[0], name, facts.labels, facts.scale, facts.units, remarks=remarks
    )
    return replace(
        opened,
        translation=facts.translation,
        channels=facts.channels,
        coarser=tuple(arrays[1:]),
        recipe=facts.recipe,
    )


def _count_levels(series: Any) -> int:
    """How many levels a viewer can show: each of the same axes, and coarser than the one before."""
    n_levels = 1
    for finer, coarser in pairwise(series.levels):
        if coarser.axes != finer.axes or math.prod(coarser.shape) >= math.prod(finer.shape):
            break
        n_levels += 1
    return n_levels


def _find_array(path: Path, file: Any, number: int, level: int) -> FileArray:
    import zarr

    series = file.series[number].levels[level]
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
    return TiffArray(path, tuple(array.shape), dtype, array.chunks, number, level, whole)


def _page_chunks(series: Any, whole_pages: bool) -> Any:
    """A store of zarr that decodes pages, or their strips and tiles, when they are asked for."""
    limit_decoder(series.keyframe)
    return series.aszarr(level=0, chunkmode="page" if whole_pages else "strile")
