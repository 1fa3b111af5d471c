"""Shards of zarr: files that hold many chunks, so that a large result is few files.

A chunk is written when it is done, to a file of its own; when all chunks of a shard are there, one
task combines their files, as they are, into one. In memory is one compressed chunk at a time.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array

SHARD_BYTES = 1 << 29  # of the values of a shard, at most; smaller results have none

_ABSENT = (1 << 64) - 1  # as the format has it, the place and length of a chunk that is all 0


def shard_lengths(
    shape: tuple[int, ...], chunks: tuple[int, ...], n_values: int
) -> tuple[int, ...] | None:
    """Lengths of a shard of so many values at most; None where one would be a single chunk.

    It holds whole chunks, as long as can be along the last axes, along which the chunks are
    written one after the other: few are waiting for their shard to be complete.
    """
    room = max(1, n_values // math.prod(chunks))
    counts: list[int] = []
    for n, chunk in zip(reversed(shape), reversed(chunks), strict=True):
        needed = -(-n // chunk)
        count = -(-needed // -(-needed // room))  # shards of the same length along the axis
        counts.append(count)
        room //= count
    if math.prod(counts) == 1:
        return None
    return tuple(c * k for c, k in zip(chunks, reversed(counts), strict=True))


@dataclass(frozen=True)
class ShardedArray:
    """An array of zarr version 3 whose chunks are written one by one, and combined into shards.

    Attributes
    ----------
    path : Path
        The folder of the array.
    loose : Path
        The folder of an array that is the same without shards, to which chunks are written.
    chunks, shards : tuple of int
        Lengths of the chunks, and of the shards.
    """

    path: Path
    loose: Path
    chunks: tuple[int, ...]
    shards: tuple[int, ...]

    @property
    def _counts(self) -> tuple[int, ...]:
        """How many chunks a shard has along each axis."""
        return tuple(s // c for s, c in zip(self.shards, self.chunks, strict=True))

    def mark_empty(self, chunk: tuple[int, ...]) -> None:
        """Say of a chunk of zeros, of which zarr makes no file, that it was written."""
        path = _chunk_file(self.loose, chunk)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def pack_all(self) -> None:
        """Combine whatever has been written and is in no shard yet."""
        found = {
            tuple(n // k for n, k in zip(chunk, self._counts, strict=True))
            for chunk in self._written()
        }
        for place in sorted(found):
            self.pack(place)

    def _written(self) -> Iterator[tuple[int, ...]]:
        for folder, _, names in os.walk(self.loose / "c"):
            above = Path(folder).relative_to(self.loose / "c").parts
            for name in names:
                if all(part.isdigit() for part in (*above, name)):
                    yield tuple(map(int, (*above, name)))

    def pack(self, place: tuple[int, ...]) -> None:
        """Combine the chunks of a shard that were written; the others stay as they are in it.

        The shard is there whole, or not at all, and only then the files of its chunks go: it does
        no harm to be killed, nor that the same is done twice at a time.
        """
        counts, target = self._counts, _chunk_file(self.path, place)
        first = [p * k for p, k in zip(place, counts, strict=True)]
        files = {
            inner: _chunk_file(self.loose, tuple(a + i for a, i in zip(first, inner, strict=True)))
            for inner in np.ndindex(counts)
        }
        written = [path for path in files.values() if path.exists()]
        if not written:
            return
        temporary = self.loose / f"shard.{secrets.token_hex(4)}"
        try:
            _combine(files, _Shard(target, counts), temporary)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        for path in written:
            path.unlink(missing_ok=True)


def _combine(files: Mapping[tuple[int, ...], Path], before: _Shard, path: Path) -> None:
    """Write a shard of the chunks in files, and of those that the shard before it has."""
    index = np.full((*before.counts, 2), _ABSENT, np.uint64)
    with open(path, "wb") as stream:
        for inner, file in files.items():
            data = _read(file)
            if data is None:
                data = before.chunk(inner)
            if data:
                index[inner] = stream.tell(), len(data)
                stream.write(data)
        stream.write(_encode_index(index))


class _Shard:
    """The chunks of a shard, if it is there; it is opened when the first one is asked for."""

    def __init__(self, path: Path, counts: tuple[int, ...]) -> None:
        self._path, self.counts = path, counts
        self._index: Array | None = None

    def chunk(self, inner: tuple[int, ...]) -> bytes:
        """The compressed chunk; nothing if it is all 0."""
        if self._index is None:
            self._index = self._read_index()
        start, length = map(int, self._index[inner])
        if start == _ABSENT:
            return b""
        with open(self._path, "rb") as stream:
            stream.seek(start)
            return stream.read(length)

    def _read_index(self) -> Array:
        shape = (*self.counts, 2)
        if not self._path.exists():
            return np.full(shape, _ABSENT, np.uint64)
        n_bytes = 8 * math.prod(shape)
        with open(self._path, "rb") as stream:
            stream.seek(-(n_bytes + 4), os.SEEK_END)  # 4 of the checksum
            return np.frombuffer(stream.read(n_bytes), "<u8").reshape(shape)


def _encode_index(index: Array) -> bytes:
    """The index at the end of a shard: for zarr itself an array, with a checksum."""
    import zarr
    from zarr.codecs import Crc32cCodec
    from zarr.storage import MemoryStore

    written: dict[str, Any] = {}
    array = zarr.create_array(
        store=MemoryStore(written),
        shape=index.shape,
        dtype="<u8",
        chunks=index.shape,
        compressors=(Crc32cCodec(),),
        zarr_format=3,
    )
    array[...] = index
    (chunk,) = (value for key, value in written.items() if key.startswith("c/"))
    return bytes(chunk.to_bytes())


def _chunk_file(folder: Path, chunk: tuple[int, ...]) -> Path:
    return folder.joinpath("c", *map(str, chunk))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
