"""HDF5 files, those of MATLAB too."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.io.readers.cube_files import hdf5_axes
from napari_scsc.io.sources.file_arrays import Array, FileArray, check_same, handle, reading
from napari_scsc.io.sources.opened import Opened, choose, describe, is_numeric, unreadable


@dataclass(frozen=True)
class Hdf5Array(FileArray):
    """A dataset in an HDF5 file; turned, its axes are in the opposite order, as in MATLAB."""

    key: str
    turned: bool = False

    def _read(self, index: tuple[Any, ...]) -> Array:
        with reading(self, "HDF5 file"):
            dataset = handle(self, self._open)  # h5py has a lock of its own for all calls
            if self.turned:
                return np.asarray(dataset[index[::-1]]).T
            return np.asarray(dataset[index])

    def _open(self) -> Any:
        dataset = _h5py(self.path).File(self.path, "r")[self.key]
        check_same(self, dataset.shape[::-1] if self.turned else dataset.shape)
        return dataset  # which keeps the file open


def _h5py(place: Path) -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError(
            f"{place}: this is an HDF5 file. To open it, install h5py (pip install h5py)"
        ) from None


def open_hdf5(place: Path, key: str | int | None, turned: bool = False) -> Opened:
    """Open a dataset of an HDF5 file; turned, if MATLAB wrote it."""
    h5py = _h5py(place)
    try:
        file = h5py.File(place, "r")
    except OSError as error:
        raise ValueError(unreadable(place, "HDF5 file", error)) from error
    sizes: dict[str, int] = {}

    def visit(name: str, node: Any) -> None:  # links to other files are not followed
        if isinstance(node, h5py.Dataset) and is_numeric(node.shape or (), node.dtype):
            sizes[name] = node.size

    with file:
        try:
            file.visititems(visit)
        except (OSError, RuntimeError, KeyError) as error:
            raise ValueError(unreadable(place, "HDF5 file", error)) from error
        name = choose(place, sizes, key)
        dataset = file[name]
        shape, chunks = tuple(dataset.shape), dataset.chunks
        dtype = dataset.dtype.newbyteorder("=")
        spelled = hdf5_axes(dataset)
    if turned:
        shape, chunks = shape[::-1], chunks and chunks[::-1]
        spelled = spelled and spelled[::-1]
    array = Hdf5Array(place, shape, dtype, chunks, name, turned)
    return describe(place, array, name if len(sizes) > 1 else "", spelled=spelled)
