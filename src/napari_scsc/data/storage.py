"""Where arrays keep their values: whether writing to one place changes what another shows."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_MAX_OVERLAP_WORK = 10_000  # of numpy, to say for sure whether two views share a value
_MAX_FILES_LISTED = 100_000  # which takes a second
_MAX_BASES = 100  # of a view of a view of ...


@dataclass(frozen=True, slots=True)
class Location:
    """A part of a file or folder: all of it, an array of that name, or a span of its bytes."""

    path: Path
    name: str | None = None
    span: tuple[int, int] | None = None

    def meets(self, other: Location) -> bool:
        """Whether writing to one changes the other."""
        if _lies_in(self.path, other.path) or _lies_in(other.path, self.path):
            return True
        if not _is_same(self.path, other.path):
            return False
        if self.name is not None and other.name is not None:
            return self.name == other.name
        if self.span is not None and other.span is not None:
            return self.span[0] < other.span[1] and other.span[0] < self.span[1]
        return True


def shares_storage(source: Any, out: Any) -> bool:
    """Whether an array that is read, of any kind, would change when ``out`` is written to."""
    written = list(_arrays_in(out))
    return any(_is_shared(read, other) for read in _arrays_in(source) for other in written)


def is_within_storage(source: Any, path: Path) -> bool:
    """Whether something at a path would lie in the files of an array that is read, or be them."""
    place = Location(path)
    return any(place.meets(at) for array in _arrays_in(source) for at in _locations(array))


@dataclass(frozen=True, slots=True)
class UnwrittenChunks:
    """Chunks of a zarr that have no file: never written, or lost; they read as the fill value."""

    count: int
    total: int
    fill_value: Any


def find_unwritten_chunks(source: Any) -> UnwrittenChunks | None:
    """The chunks that are not there, of the first array of zarr that lacks some.

    The format allows that; nobody can tell whether they held something once.
    """
    for array in _arrays_in(source):
        opened = array.open_zarr() if hasattr(array, "open_zarr") else array
        if not _is_zarr(opened) or _count_files(opened) > _MAX_FILES_LISTED:
            continue
        total = _count_files(opened)
        count = total - int(
            opened.nshards_initialized if opened.shards else opened.nchunks_initialized
        )
        if count > 0:
            return UnwrittenChunks(count, total, opened.fill_value)
    return None


def _count_files(array: Any) -> int:
    return int(array.nshards if array.shards else array.nchunks)


def _is_shared(read: Any, written: Any) -> bool:
    if isinstance(read, np.ndarray) and isinstance(written, np.ndarray):
        work: Any = _MAX_OVERLAP_WORK  # annotated as if it could only be 0 or -1
        try:
            if np.shares_memory(read, written, max_work=work):
                return True
        except np.exceptions.TooHardError:
            return True
    if _is_same_in_store(read, written):
        return True
    return any(a.meets(b) for a in _locations(read) for b in _locations(written))


def _is_same_in_store(read: Any, written: Any) -> bool:
    """Whether both are the same array of a zarr store, wherever that is."""
    if not (_is_zarr(read) and _is_zarr(written)):
        return False
    return bool(read.path == written.path and read.store == written.store)


def _arrays_in(source: Any) -> Iterator[Any]:
    """The arrays that hold the values of what may be a graph, a wrapper or a view of them."""
    if _holds_values(source):
        yield source
        return
    finder = _Finder()
    with suppress(Exception):  # whatever an open file raises that cannot be sent anywhere
        finder.dump(source)
    yield from finder.found


def _holds_values(array: Any) -> bool:
    return isinstance(array, np.ndarray) or _is_zarr(array) or _is_hdf5(array) or _is_file(array)


def _is_zarr(array: Any) -> bool:
    return all(hasattr(array, name) for name in ("shape", "store", "path", "chunks"))


def _is_hdf5(array: Any) -> bool:
    return all(hasattr(array, name) for name in ("shape", "file", "name", "chunks"))


def _is_file(array: Any) -> bool:
    """Whether it is one of the arrays that ``io.formats`` makes."""
    return isinstance(getattr(array, "path", None), Path) and hasattr(array, "shape")


def _locations(array: Any) -> Iterator[Location]:
    """Where on a disk an array is, as far as it tells."""
    if isinstance(array, np.ndarray):
        found = _location_of_map(array)
        if found is not None:
            yield found
    elif _is_zarr(array):
        root = getattr(array.store, "root", None) or getattr(array.store, "path", None)
        if isinstance(root, str | os.PathLike):
            place = Path(root)
            yield Location(place / array.path if place.is_dir() else place)
    elif _is_hdf5(array):
        yield Location(Path(array.file.filename), str(array.name))
    else:
        key = getattr(array, "key", None)
        inner = array.path / key if isinstance(key, str) and array.path.is_dir() else array.path
        yield Location(inner)


def _location_of_map(array: np.ndarray[Any, Any]) -> Location | None:
    """The bytes of the file that an array, or what it is a view of, is mapped from."""
    base: Any = array
    for _ in range(_MAX_BASES):
        if isinstance(base, np.memmap) and base.filename is not None:
            mapped = base
            while isinstance(mapped.base, np.memmap):
                mapped = mapped.base
            low, high = np.lib.array_utils.byte_bounds(array)
            start = mapped.offset + low - np.lib.array_utils.byte_bounds(mapped)[0]
            return Location(Path(str(mapped.filename)), span=(start, start + high - low))
        base = getattr(base, "base", None)
        if base is None:
            break
    return None


def _is_same(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)  # by whatever links
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)


def _lies_in(path: Path, folder: Path) -> bool:
    return any(_is_same(parent, folder) for parent in Path(os.path.realpath(path)).parents)


class _Finder:
    """Finds the arrays that an object refers to, by the way it would be sent to a process."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def dump(self, thing: Any) -> None:
        """Go through all that it refers to; what is found is not looked into."""
        import cloudpickle

        found = self.found

        class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
            def persistent_id(self, obj: Any) -> int | None:
                if isinstance(obj, type) or not _holds_values(obj):
                    return None
                found.append(obj)
                return len(found)

        Pickler(io.BytesIO()).dump(thing)
