"""Files of MATLAB; from version 7.3 on they are HDF5."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from napari_scsc._types import Array
from napari_scsc.io.formats import hdf5_files, matlab_level5
from napari_scsc.io.formats.file_arrays import unreadable
from napari_scsc.io.formats.opened_file import StoredArray
from napari_scsc.io.formats.unpacking import check_memory

_HDF5_START = b"MATLAB 7.3 MAT-file"
_MAX_BYTES_PER_VALUE = 8
_NUMBER_CLASSES = {"double", "single", "logical"}
_NUMBER_CLASSES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def list_arrays(path: Path) -> list[StoredArray]:
    """List the variables of a .mat file."""
    with open(path, "rb") as stream:
        start = stream.read(len(_HDF5_START))
    if start == _HDF5_START:
        return hdf5_files.list_arrays(path, reversed_axes=True)
    try:
        if 0 not in start[:4]:  # as the first version that had arrays of more axes tells the older
            return matlab_level5.list_arrays(path)
    except Exception as error:
        raise unreadable(path, "MATLAB file", error) from error
    return _list_level4(path)


def _list_level4(path: Path) -> list[StoredArray]:
    from scipy import io

    try:
        variables = io.whosmat(path)
        keys = [key for key, _, kind in variables if kind in _NUMBER_CLASSES]
        sizes = [math.prod(shape) for key, shape, _ in variables if key in keys]
        check_memory(sum(sizes) * _MAX_BYTES_PER_VALUE, "what it holds")
        loaded = io.loadmat(path, variable_names=keys) if keys else {}
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise unreadable(path, "MATLAB file", error) from error
    arrays = []
    for key, shape, kind in variables:
        values: Array | None = loaded.get(key)
        # Only the values tell which numbers are complex.
        dtype = kind if values is None else values.dtype
        arrays.append(StoredArray(key, tuple(shape), dtype, partial(loaded.get, key)))
    return arrays
