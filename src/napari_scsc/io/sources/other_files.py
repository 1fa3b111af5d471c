"""Files of numpy and MATLAB, pictures, lenslet images and videos."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from numpy.lib import format as npy

from napari_scsc.io.readers.cube_files import ARRAYS, native
from napari_scsc.io.readers.layer import LayerData
from napari_scsc.io.readers.lenslets import read_lenslet
from napari_scsc.io.readers.picture_files import read_picture
from napari_scsc.io.readers.videos import read_video
from napari_scsc.io.sources.file_arrays import MappedArray
from napari_scsc.io.sources.opened import Opened, choose, describe, refuse_key, unreadable


def open_npy(place: Path, key: str | int | None) -> Opened:
    """Open a .npy file, of which nothing is read yet."""
    refuse_key(place, key)
    try:
        mapped = npy.open_memmap(place, mode="r")
    except Exception as error:
        raise ValueError(
            f"{unreadable(place, '.npy file', error)}. Python objects are not read, since that "
            "could run code"
        ) from error
    order: Literal["C", "F"] = "C" if mapped.flags.c_contiguous else "F"
    dtype = mapped.dtype.newbyteorder("=")
    array = MappedArray(place, mapped.shape, dtype, None, mapped.dtype, mapped.offset, order)
    return describe(place, array)


def open_cubes(place: Path, key: str | int | None) -> Opened:
    """Open an array of a .npz or .mat file."""
    found = {one.key: one for one in ARRAYS[place.suffix.lower()](place, [])}
    name = choose(place, {k: one.array.size for k, one in found.items()}, key)
    array = native(found[name].array)
    return describe(place, array, name if len(found) > 1 else "", spelled=found[name].spelled)


def open_picture(place: Path, key: str | int | None) -> Opened:
    """Open a picture."""
    refuse_key(place, key)
    image = read_picture(place)
    return describe(place, image, labels=("y", "x", "c")[: image.ndim])


def open_lenslet(place: Path, key: str | int | None) -> Opened:
    """Open a lenslet image as the views that it holds."""
    return _from_layers(place, read_lenslet, key)


def open_video(place: Path, key: str | int | None) -> Opened:
    """Open a video."""
    return _from_layers(place, read_video, key)


def _from_layers(
    place: Path, read: Callable[[Path], list[LayerData]], key: str | int | None
) -> Opened:
    refuse_key(place, key)
    ((data, known, _),) = read(place)
    return describe(place, data, labels=(*known["axis_labels"], *(("c",) if known["rgb"] else ())))
