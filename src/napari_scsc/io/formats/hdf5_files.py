"""HDF5 files, those of MATLAB too."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import MissingPackageError
from napari_scsc.io.formats.file_arrays import FileArray, check_shape, open_once, unreadable
from napari_scsc.io.formats.hdf5_chunks import check_packed_chunks
from napari_scsc.io.formats.hdf5_guard import check_heaps
from napari_scsc.io.formats.opened_file import StoredArray, is_numeric
from napari_scsc.io.formats.outside import OutsideError, may_follow, outside_error


@dataclass(frozen=True)
class Hdf5Array(FileArray):
    """A dataset in an HDF5 file; MATLAB writes its axes from the last to the first."""

    key: str
    reversed_axes: bool = False

    title = "HDF5 file"

    def _read(self, index: tuple[Any, ...]) -> Array:
        dataset = open_once(self, self._open)  # h5py has a lock of its own for all calls
        stored_index = index[::-1] if self.reversed_axes else index
        check_packed_chunks(dataset, stored_index)
        values = np.asarray(dataset[stored_index])
        return values.T if self.reversed_axes else values

    def _open(self) -> Any:
        dataset = _import_h5py(self.path).File(self.path, "r")[self.key]
        _check_inside(self.path, self.key, dataset)
        check_shape(self, dataset.shape[::-1] if self.reversed_axes else dataset.shape)
        return dataset  # which keeps the file open

    def _viewer_chunks(self) -> None:
        """None: the chunks of HDF5 files are often too small to be shown one by one."""


def list_arrays(path: Path, reversed_axes: bool = False) -> list[StoredArray]:
    """List the datasets of an HDF5 file; MATLAB's have their axes reversed."""
    h5py = _import_h5py(path)
    arrays: list[StoredArray] = []

    def visit(key: str, node: Any) -> None:  # links to other files are not followed
        if isinstance(node, h5py.Dataset):
            arrays.append(_describe_dataset(path, key, node, reversed_axes))

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except Exception as error:  # h5py raises many kinds on a damaged file
        raise unreadable(path, "HDF5 file", error) from error
    return arrays


def _describe_dataset(path: Path, key: str, dataset: Any, reversed_axes: bool) -> StoredArray:
    shape, chunks = dataset.shape or (), dataset.chunks
    spelled = _axes_of(dataset) if is_numeric(shape, dataset.dtype) else None
    if reversed_axes:
        shape, chunks, spelled = shape[::-1], chunks and chunks[::-1], spelled and spelled[::-1]
    dtype = dataset.dtype.newbyteorder("=")
    load: Callable[[], Any] = partial(Hdf5Array, path, shape, dtype, chunks, key, reversed_axes)
    try:
        _check_inside(path, key, dataset)
    except OutsideError as error:
        load = partial(_refuse, error)
    return StoredArray(key, shape, dataset.dtype, load, spelled)


def _refuse(error: OutsideError) -> Any:
    raise error


def _check_inside(path: Path, key: str, dataset: Any) -> None:
    """Refuse a dataset whose values lie in other files."""
    if may_follow():
        return
    names = [str(entry[0]) for entry in dataset.external or ()]
    if dataset.is_virtual:
        names += [source.file_name for source in dataset.virtual_sources()]
    others = [name for name in names if name != "."]
    if others:
        raise outside_error(path, f"dataset {key!r}", others)


def _axes_of(dataset: Any) -> Any:
    """What a dataset says of its axes: a string, a list of names, or None."""
    labels = [dimension.label for dimension in dataset.dims]
    if all(labels):
        return labels
    for key in ("axes", "axis_labels"):
        if key not in dataset.attrs:
            continue
        if dataset.attrs.get_id(key).dtype.kind == "O":  # strings lie elsewhere in the file
            check_heaps(Path(dataset.file.filename))
        value = dataset.attrs[key]
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, np.ndarray):
            return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in value]
        if isinstance(value, str):
            return value
    return None


def _import_h5py(path: Path) -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise MissingPackageError(
            "this is an HDF5 file, and the package that reads it is missing",
            remedy="install it beside napari-scsc (pip install h5py), and start again",
            path=path,
        ) from None
