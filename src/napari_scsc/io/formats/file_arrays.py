"""Arrays that open their file when they are asked, once in a process."""

from __future__ import annotations

import math
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.io.filenames import format_shape

_MAX_OPEN_FILES = 16  # in a process
_MAX_VIEWER_CHUNKS = 200_000
_MAX_VIEWER_BYTES = 16 << 40
_TINY_BYTES, _MAX_TINY_CHUNKS = 4096, 1 << 18
_MAX_REASON = 500  # characters of what a package says of a file
_MAX_SECONDS_WAITED = 10.0  # for chunks that are read, after another has failed
_VIEWER_CHUNK_BYTES = 16 << 20  # that a move of a slider may read, where the file has no say


@dataclass(frozen=True)
class FileArray(ABC):
    """An array in a file, which is opened when a region is read, once in a process.

    Attributes
    ----------
    path : Path
        The file or folder.
    shape : tuple of int
        Lengths of the axes.
    dtype : numpy.dtype
        Type of the values, in the byte order of this machine.
    chunks : tuple of int or None
        Lengths of the blocks that are read as a whole; None where any region can be.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...] | None

    title: ClassVar[str] = "file"
    """What messages call such a file."""

    max_bytes_in_viewer: ClassVar[int] = 0
    """Up to which size a viewer reads the array whole, and not anew at every look."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all values in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        """Read a region; the index holds slices and integers."""
        complete = _complete_index(index, self.shape)
        with naming_file(self.path, self.title):
            self._check_chunk_count(complete)
            return np.asarray(self._read(complete), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(f"{self.path}: an array in a file cannot be had without a copy")
        return np.asarray(self[...], dtype)

    def _check_chunk_count(self, index: tuple[Any, ...]) -> None:
        """Refuse a region of very many tiny chunks, which would be listed, and take for ever."""
        if self.chunks is None or math.prod(self.chunks) * self.dtype.itemsize >= _TINY_BYTES:
            return
        lengths = (
            len(range(*p.indices(n))) if isinstance(p, slice) else 1
            for p, n in zip(index, self.shape, strict=True)
        )
        count = math.prod(map(_count_parts, lengths, self.chunks))
        if count > _MAX_TINY_CHUNKS:
            raise UserError(
                f"{count} chunks of {format_shape(self.chunks)} values cannot be read at once",
                remedy="write it anew in larger chunks",
                path=self.path,
            )

    def for_viewer(self) -> Any:
        """The array as a viewer needs it: in memory if it is small, else a dask array."""
        if self.nbytes <= self.max_bytes_in_viewer:
            return self[...]
        return self._as_dask()

    def _as_dask(self) -> Any:
        import dask
        import dask.array

        if self.nbytes > _MAX_VIEWER_BYTES:
            raise UserError(
                f"{format_shape(self.shape)} values are more than a viewer can be given",
                path=self.path,
            )
        chunks = self._viewer_chunks()
        stored = self.chunks or self.shape
        # dask lists all chunks, and a stranger's file can have any number of them.
        if math.prod(map(_count_parts, self.shape, stored)) > _MAX_VIEWER_CHUNKS:
            chunks = self._merge_chunks(stored)
        from_array: Any = dask.array.from_array  # it has no annotations
        setting: Any = dask.config.set
        with setting({"array.chunk-size": f"{_VIEWER_CHUNK_BYTES}B"}):
            # A name made from the path would stay the same when the values change, and caches go
            # by it; one made from the values would have all of them read.
            return from_array(self, chunks=chunks or "auto", name=False)

    def _merge_chunks(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        """Chunks of the dask array that are several of the file's, up to what a slider may move."""
        merged = list(stored)
        for axis in reversed(range(self.ndim)):
            room = _VIEWER_CHUNK_BYTES // (math.prod(merged) * self.dtype.itemsize)
            merged[axis] = min(merged[axis] * max(room, 1), self.shape[axis])
        return tuple(merged)

    def _viewer_chunks(self) -> tuple[int, ...] | None:
        """Chunks of the dask array; None for as many of the file's as a slider may move."""
        return self.chunks

    @abstractmethod
    def _read(self, index: tuple[Any, ...]) -> Array:
        """Read a region; the index has an entry for every axis."""


def _count_parts(length: int, part: int) -> int:
    return -(-length // part)


def _complete_index(index: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The index with one entry, a slice or an integer, for each of the axes."""
    n = len(shape)
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if part is not Ellipsis and not isinstance(part, slice | int | np.integer):
            raise TypeError(f"an array in a file takes slices and integers, not {part!r}")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    before, after = parts[:at], parts[at + 1 :]
    if len(before) + len(after) > n or Ellipsis in after:
        raise IndexError(f"{index!r} has too many entries for {n} axes")
    full = (*before, *[slice(None)] * (n - len(before) - len(after)), *after)
    for part, length in zip(full, shape, strict=True):
        if not isinstance(part, slice) and not -length <= part < length:
            raise IndexError(f"{index!r} lies outside of the shape {shape}")
    return full


@dataclass(frozen=True)
class MappedArray(FileArray):
    """Values that lie in a file one after the other, uncompressed."""

    stored: np.dtype[Any]
    offset: int
    order: Literal["C", "F"] = "C"

    max_bytes_in_viewer = 64 << 20

    def for_viewer(self) -> Any:
        """In memory if it is small, else a memory map; a dask array in a foreign byte order."""
        is_mapped = self.nbytes > self.max_bytes_in_viewer and self.stored.isnative
        return self._map() if is_mapped else super().for_viewer()

    def _read(self, index: tuple[Any, ...]) -> Array:
        # Mapped anew each time, which takes microseconds: pages that stay mapped count as memory
        # of the process, and a file that became shorter raises instead of ending it.
        return np.array(self._map()[index], self.dtype)

    def _map(self) -> Any:
        return np.memmap(self.path, self.stored, "r", self.offset, self.shape, self.order)


# Files that this process has open. One lock and not one a thread: a file is opened once.
_open_files: OrderedDict[FileArray, tuple[tuple[int, ...], Any]] = OrderedDict()
_lock = threading.Lock()
_inherited: list[Any] = []


def open_once(array: FileArray, opener: Callable[[], Any]) -> Any:
    """What an array reads from; opened again where the file is no longer the same."""
    status = os.stat(array.path)
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    with _lock:
        cached = _open_files.pop(array, None)
        opened = cached[1] if cached and cached[0] == stamp else opener()
        _open_files[array] = stamp, opened
        while len(_open_files) > _MAX_OPEN_FILES:
            _open_files.popitem(last=False)  # it is closed when its last reader has done
    return opened


class FileChangedError(UserError):
    """A file no longer holds the array that was opened."""


def check_shape(array: FileArray, shape: Sequence[int]) -> None:
    """Refuse a file whose array has another shape by now."""
    if tuple(shape) != array.shape:
        raise FileChangedError(
            f"was changed: its shape was {array.shape} and is {tuple(shape)}", path=array.path
        )


def unreadable(
    path: Path, what: str, error: Exception, remedy: str | None = None
) -> FileFormatError:
    """The error for a file that a package could not read."""
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    reason = str(error)
    if len(reason) > _MAX_REASON:  # some quote what they read
        reason = f"{reason[:_MAX_REASON]} ..."
    return FileFormatError(f"not a readable {what} ({kind}{reason})", remedy=remedy, path=path)


@contextmanager
def naming_file(path: Path, what: str) -> Iterator[None]:
    """Let whatever a package raises while it reads a file say which file that is.

    All that is read from files goes through here: packages raise whatever comes to their minds.
    """
    try:
        yield
    except UserError:
        _let_zarr_finish()
        raise
    except MemoryError:
        _let_zarr_finish()
        raise FileFormatError(
            f"so much of this {what} at once does not fit into memory", path=path
        ) from None
    except Exception as error:
        _let_zarr_finish()
        if isinstance(error, OSError) and error.filename:
            raise  # the system refuses a file, and says which
        raise unreadable(path, what, error) from error


_waiting: set[Any] = set()  # tasks of zarr's loop


def _let_zarr_finish() -> None:
    """Wait for the chunks that zarr still reads after one has failed.

    It leaves them to themselves, and if the process ends meanwhile, each prints a traceback.
    """
    if "zarr" not in sys.modules:
        return
    import asyncio

    async def wait() -> None:
        task = asyncio.current_task()
        _waiting.add(task)
        try:
            # Two threads that wait for each other's waiting would wait for ever.
            unfinished = asyncio.all_tasks() - _waiting
            if unfinished:
                await asyncio.wait(unfinished, timeout=_MAX_SECONDS_WAITED)
        finally:
            _waiting.discard(task)

    with suppress(Exception):  # not a public part of zarr, and nothing depends on it
        from zarr.core.sync import sync

        sync(wait())


def _after_fork() -> None:
    """Forget what the parent has open: its positions in the files would be shared with it."""
    global _lock, _open_files
    _lock = threading.Lock()
    _inherited.append(_open_files)  # closing them here could disturb the parent
    _open_files = OrderedDict()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
