"""Any file as an array that is read region by region, here and in other processes.

``open_source`` looks at what a file says of itself and reads none of its values, but for the kinds
that can only be decoded as a whole (.npz, .mat, pictures, videos). The arrays that it gives back
hold nothing open that would have to be sent along: they pickle as the path and what is needed to
open it again. Nothing that is read can run code.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from napari_scsc.io.readers.lenslets import lenses_in
from napari_scsc.io.sources.file_arrays import FileArray
from napari_scsc.io.sources.folders import open_folder
from napari_scsc.io.sources.hdf5_files import open_hdf5
from napari_scsc.io.sources.opened import Opened
from napari_scsc.io.sources.other_files import (
    open_cubes,
    open_lenslet,
    open_npy,
    open_picture,
    open_video,
)
from napari_scsc.io.sources.tiff_files import open_tiff

__all__ = ["FileArray", "Opened", "open_source"]

_READABLE = (
    "Can be read: TIFF, HDF5, .npy, .npz, .mat, pictures, videos, and folders of zarr or images"
)

_BY_SUFFIX: dict[str, Callable[[Path, str | int | None], Opened]] = {
    ".npy": open_npy,
    **dict.fromkeys((".tif", ".tiff"), open_tiff),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".ims"), open_hdf5),
    **dict.fromkeys((".npz", ".mat"), open_cubes),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm"), open_picture),
    **dict.fromkeys((".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm"), open_video),
}


def open_source(path: str | os.PathLike[str], key: str | int | None = None) -> Opened:
    """Open a file or a folder as an array that can be sent to other processes.

    Parameters
    ----------
    path : path
        Zarr or OME-Zarr, TIFF, HDF5 (.h5, .hdf5, .hdf, .ims), .npy, .npz, .mat, a picture (.png,
        .jpg, .bmp, .pgm, .ppm), a lenslet image, a video (.gif, .mp4, .avi, .mov, .mkv, .webm), or
        a folder of bands, of views or of numbered TIFF files.
    key : str or int, optional
        Which array of the file: a path in zarr or HDF5, a name in .npz or .mat, the number of a
        series in TIFF. Without it, zarr gives the finest level of its first image or array, TIFF
        its first series, and the others their largest array.

    Raises
    ------
    OSError
        If there is nothing of that name, or it must not be read.
    ValueError
        If it is of another kind, damaged, or holds no array of numbers; or if the key is missing,
        or there is none of that name.
    ImportError
        If a package that reads it is not installed.
    """
    place = Path(path).absolute()  # other processes may work in other folders
    if not place.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", str(place))
    if place.is_dir():
        return open_folder(place, key)
    if not place.is_file():  # opening a pipe would wait for ever
        raise ValueError(f"{place}: not a file")
    with open(place, "rb") as stream:
        start = stream.read(19)
    suffix = place.suffix.lower()
    if suffix == ".mat" and start == b"MATLAB 7.3 MAT-file":
        return open_hdf5(place, key, turned=True)
    if lenses_in(place.name):
        return open_lenslet(place, key)
    opener = _BY_SUFFIX.get(suffix)
    if opener is None:
        ending = suffix or "without an ending"
        raise ValueError(f"{place}: of an unknown kind ({ending}). {_READABLE}")
    return opener(place, key)
