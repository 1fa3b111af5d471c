"""What numpy, dask, zarr, xarray and other arrays have in common: shape, type, names, a region.

No other module asks which library an array is of. None of the libraries need be installed, nor is
any imported to find out: what an array has tells what it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.errors import UserError, UserTypeError

Chunks = tuple[int | tuple[int, ...], ...]
"""Of each axis: the lengths of its chunks, or the one length that all but the last have."""


def is_xarray(array: Any) -> bool:
    """Whether it is an xarray."""
    return hasattr(type(array), "dims") and hasattr(type(array), "coords")


def is_dask(array: Any) -> bool:
    """Whether it is a dask array, or an xarray of one."""
    return hasattr(type(array), "__dask_graph__") and array.__dask_graph__() is not None


def inspect_array(array: Any, noun: str) -> tuple[Any, tuple[int, ...], np.dtype[Any]]:
    """What holds the values, its shape and its type; of a multiscale image, its finest level.

    ``noun`` is what errors call it, such as "image".
    """
    if isinstance(array, memoryview):  # its slices are no arrays
        array = np.asarray(array)
    if isinstance(array, Sequence) and not isinstance(array, str | bytes):
        levels = list(array)
        if levels and all(hasattr(level, "shape") and _is_array(level) for level in levels):
            _check_levels([tuple(level.shape) for level in levels], noun)
            return inspect_array(levels[0], noun)
        array = np.asarray(array)
    if not _is_array(array):
        raise UserTypeError(
            f"the {noun} must be an array (numpy, dask, zarr, xarray or alike), "
            f"but is of the type {type(array).__name__}"
        )
    if not _is_sliceable(array):
        array = np.asarray(array)
    lengths = tuple(array.shape)
    if any(n != n for n in lengths):  # dask says NaN where it does not know
        raise UserError(
            f"the {noun} has axes of unknown length",
            remedy="call compute_chunk_sizes() of the dask array",
        )
    shape = tuple(int(n) for n in lengths)
    if not shape:
        raise UserError(f"the {noun} is a single value: it must have at least one axis")
    if 0 in shape:
        raise UserError(f"the {noun} is empty: its shape is {shape}")
    try:
        dtype = np.dtype(array.dtype)
    except TypeError:  # a type of another library: one value tells what it is in numpy
        dtype = read_region(array, (slice(0, 1),) * len(shape)).dtype
    return _with_absolute_path(array), shape, dtype


def _is_array(array: Any) -> bool:
    if isinstance(array, type):
        return False
    return _is_sliceable(array) or any(
        hasattr(array, a) for a in ("__array__", "__array_interface__")
    )


def _is_sliceable(array: Any) -> bool:
    return all(hasattr(array, a) for a in ("shape", "dtype", "__getitem__"))


def _check_levels(shapes: list[tuple[int, ...]], noun: str) -> None:
    """Refuse a sequence of arrays that do not shrink as the levels of one image do."""
    for finer, coarser in itertools.pairwise(shapes):
        if (
            len(finer) != len(coarser)
            or finer == coarser
            or any(c > f for f, c in zip(finer, coarser, strict=True))
        ):
            raise UserError(
                f"a sequence of arrays is taken for the levels of one multiscale {noun}, but they "
                f"do not shrink: {', '.join(map(str, shapes))}. Stack them to one array, or pass "
                "one of them"
            )


def read_region(source: Any, region: Region) -> Array:
    """Read a region as numpy, masked where the source is."""
    part = source[region]
    if is_xarray(part):
        part = part.data  # of the whole it would read the whole, where xarray is lazy
    if is_dask(part):
        # Inside a task of dask, its scheduler has no thread left that it could wait for.
        part = part.compute(**({"scheduler": "synchronous"} if _in_task.get() else {}))
    return part if isinstance(part, np.ndarray) else np.asarray(part)


def check_is_there(source: Any) -> None:
    """Refuse an array of zarr that cannot be reached any more, as on a machine without its folder.

    Its chunks would all be taken for chunks that were never written, which hold the fill value.
    """
    place = getattr(source, "store_path", None)
    if place is None or not hasattr(type(source), "open"):
        return
    with suppress(Exception):  # of many kinds, and some of them cannot be sent by workers
        type(source).open(place)
        return
    raise UserError(
        "the image cannot be reached: its zarr is not there, or not from this machine",
        path=str(place),
    )


def _with_absolute_path(source: Any) -> Any:
    """The same array; one of zarr by its absolute path, since others may work in other folders."""
    place: Any = getattr(source, "store_path", None)
    root = getattr(getattr(place, "store", None), "root", None)
    if not isinstance(root, Path) or root.is_absolute():
        return source
    check_is_there(source)
    store = type(place.store)(root.absolute(), read_only=True)
    return type(source).open(type(place)(store, place.path))


_in_task: ContextVar[bool] = ContextVar("inside a task of dask", default=False)


@contextmanager
def in_task() -> Iterator[None]:
    """Read dask arrays in this thread: for code that runs as a task of dask itself."""
    before = _in_task.set(True)
    try:
        yield
    finally:
        _in_task.reset(before)


def is_masked(source: Any) -> bool:
    """Whether it is a masked array that hides something, in numpy, or one in dask."""
    inner = source.data if is_xarray(source) and is_dask(source) else source
    hides = isinstance(inner, np.ma.MaskedArray) and inner.mask is not np.ma.nomask
    return hides or isinstance(getattr(inner, "_meta", None), np.ma.MaskedArray)


def axis_labels(source: Any, n: int) -> tuple[str, ...] | None:
    """The names of its ``n`` axes, where the array knows them."""
    if is_xarray(source):
        return tuple(map(str, source.dims))
    names = getattr(getattr(source, "metadata", None), "dimension_names", None)  # zarr
    if names is None or len(names) != n or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def array_name(source: Any) -> str:
    """The name that somebody gave to the array; empty where it has none."""
    name = getattr(source, "name", None)
    # The name of a dask array is a key of its graph; zarr and HDF5 begin theirs with a slash.
    if not isinstance(name, str) or (is_dask(source) and not is_xarray(source)):
        return ""
    return name.strip("/")


def chunk_lengths(source: Any, n: int) -> Chunks | None:
    """Lengths of the chunks along its ``n`` axes; None where it is not in chunks."""
    chunks = getattr(source, "chunks", None)
    if not isinstance(chunks, tuple | list) or len(chunks) != n:
        return None
    # Of dask and xarray the lengths of all chunks, of zarr and HDF5 one length an axis.
    return tuple(tuple(map(int, c)) if isinstance(c, tuple | list) else int(c) for c in chunks)
