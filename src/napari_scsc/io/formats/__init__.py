"""Any file as an array that is read region by region: for layers, command line and clusters alike.

A format is a module of this package and a line in ``FORMATS``. The module has one of

- ``open_file(path, key) -> OpenedFile``: the one array that is meant, not read yet where the format
  allows it. It pickles as the path and what is needed to open it again;
- ``list_arrays(path) -> list[StoredArray]``, for files that hold several arrays of any kind.

One whose images have several resolutions also has ``open_levels(path, key)``, for viewers.
Nothing that is read can run code: no pickle is ever loaded. This list imports no format and no
numpy, so that napari can ask quickly whether a file is ours.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from napari_scsc.errors import PathNotFoundError, UserError

if TYPE_CHECKING:
    from napari_scsc.io.formats.opened_file import OpenedFile


class Format(NamedTuple):
    """A kind of file, told by its name.

    Attributes
    ----------
    module : str
        The module of this package that opens it.
    title : str
        What messages call it.
    suffixes : tuple of str
        Ends of the names, in small letters.
    in_napari : bool
        Whether napari offers it for a dropped file; its patterns are then in ``napari.yaml``.
    stem : str
        A regular expression for the name without its end.
    """

    module: str
    title: str
    suffixes: tuple[str, ...]
    in_napari: bool
    stem: str = ".*"


_LENSLET_SUFFIXES = (".png", ".tif", ".tiff")
_PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm")
_FILM_SUFFIXES = (".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm")

# The first that fits a name is taken. What napari opens as well itself is not offered to it, since
# it would ask each time: plain TIFF, .npy, pictures and videos. Of OME-TIFF it takes the values
# only, of .npz the first array, and HDF5 it claims but cannot read.
FORMATS = (
    Format("lenslets", "lenslet images", _LENSLET_SUFFIXES, True, r".*_lenslet_\d{1,2}x\d{1,2}"),
    Format("lenslets", "lenslet images", (".png",), True, ".*_eslf"),
    Format("tiff_files", "TIFF", (".tif", ".tiff"), True, r".*\.ome"),
    Format("tiff_files", "TIFF", (".tif", ".tiff"), False),
    Format("hdf5_files", "HDF5", (".h5", ".hdf5"), True),
    Format("hdf5_files", "HDF5", (".hdf", ".ims"), False),
    Format("numpy_files", ".npy", (".npy",), False),
    Format("numpy_files", ".npz", (".npz",), True),
    Format("matlab_files", ".mat", (".mat",), True),
    Format("vendor_files", "CZI/ND2/LIF", (".czi", ".nd2", ".lif"), True),
    Format("pictures", "pictures", _PICTURE_SUFFIXES, False),
    Format("videos", "videos", _FILM_SUFFIXES, False),
)


def open_file(path: str | os.PathLike[str], key: str | int | None = None) -> OpenedFile:
    """Open a file or a folder as an array that can be sent to other processes.

    It looks at what a file says of itself and reads none of its values, but for the formats that
    can only be decoded as a whole: .npz, .mat, pictures, videos.

    Parameters
    ----------
    path : path
        Zarr or OME-Zarr, TIFF, HDF5 (.h5, .hdf5, .hdf, .ims), .npy, .npz, .mat, CZI, ND2 and LIF
        (with the extra ``vendors``), a picture (.png, .jpg, .bmp, .pgm, .ppm), a lenslet image, a
        video (.gif, .mp4, .avi, .mov, .mkv, .webm), or a folder of bands, of views or of numbered
        TIFF files.
    key : str or int, optional
        Which array of the file: a path in zarr or HDF5, a name in .npz or .mat, the number of a
        series in TIFF, the name or number of a scene in CZI, ND2 and LIF. Without it, zarr gives
        the finest level of its first image or array, TIFF its first series, files of microscopes
        their first scene, and the others their largest array.

    Returns
    -------
    OpenedFile
        The array, and what the file says of its axes.

    Raises
    ------
    PathNotFoundError
        If there is nothing of that name; another OSError if it must not be read.
    UserError
        If it is of another kind, damaged, or holds no array of numbers; or if the key is missing,
        or there is none of that name.
    MissingPackageError
        If a package that reads it is not installed.
    """
    from napari_scsc.io.formats.file_arrays import naming_file
    from napari_scsc.io.formats.opened_file import open_one

    place = _absolute(path)
    module, title = _module_for(place)
    with naming_file(place, title):
        if hasattr(module, "list_arrays"):
            return open_one(place, module.list_arrays(place), key)
        opened: OpenedFile = module.open_file(place, key)
        return opened


def open_all(path: str | os.PathLike[str]) -> list[OpenedFile]:
    """Open every array of a file that can be shown, as a viewer needs it.

    What is small is read; larger arrays are memory maps or dask arrays, of which nothing is read
    yet. An image of several resolutions has all of them. Raises what ``open_file`` raises.
    """
    from napari_scsc.io.formats.file_arrays import naming_file
    from napari_scsc.io.formats.opened_file import open_each

    place = _absolute(path)
    module, title = _module_for(place)
    with naming_file(place, title):
        if hasattr(module, "list_arrays"):
            return open_each(place, module.list_arrays(place))
        opened: OpenedFile = getattr(module, "open_levels", module.open_file)(place, None)
        return [opened.for_viewer()]


def list_fields(path: str | os.PathLike[str]) -> list[str]:
    """The keys of the images of a plate of OME-Zarr, as "A/1/0"; none of what is no plate."""
    place = _absolute(path)
    if not place.is_dir() or not is_zarr(place):
        return []
    from napari_scsc.io.formats.file_arrays import naming_file
    from napari_scsc.io.formats.zarr_files import list_fields as list_fields_of

    with naming_file(place, "zarr"):
        return list_fields_of(place)


def find_format(path: Path) -> Format | None:
    """The format of a file by its name; None if it is none of ours."""
    suffix = path.suffix.lower()
    for known in FORMATS:
        if suffix in known.suffixes and re.fullmatch(known.stem, path.stem, re.I | re.S):
            return known
    return None


def is_zarr(folder: Path) -> bool:
    """Whether a folder holds zarr, of version 2 or 3."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return any((folder / mark).is_file() for mark in marks)


def _absolute(path: str | os.PathLike[str]) -> Path:
    """The whole path, since other processes may work in other folders."""
    if "\0" in os.fspath(path):
        raise PathNotFoundError(
            "no file can have such a name", path=os.fspath(path).replace("\0", "?")
        )
    return Path(path).absolute()


def _module_for(path: Path) -> tuple[Any, str]:
    """The module that opens a file or folder, and what messages call it."""
    if not path.exists():
        raise PathNotFoundError("there is no such file or folder", path=path)
    if path.is_dir():
        in_zarr = is_zarr(path) or path.suffix.lower() == ".zarr"
        if in_zarr:
            return _import_module("zarr_files"), "zarr"
        return _import_module("image_folders"), "folder"
    if not path.is_file():  # opening a pipe would wait for ever
        raise UserError("not a file", path=path)
    with open(path, "rb"):  # raises what the system says of a file that must not be read
        pass
    known = find_format(path)
    if known is None:
        titles = ", ".join(dict.fromkeys(known.title for known in FORMATS))
        raise UserError(
            f"of an unknown kind ({path.suffix.lower() or 'without an ending'}). Can be read: "
            f"{titles}, folders of zarr or images",
            path=path,
        )
    return _import_module(known.module), f"{known.title} file"


def _import_module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
