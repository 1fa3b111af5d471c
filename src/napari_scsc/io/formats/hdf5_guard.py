"""Damage of an HDF5 file that its library reads for ever."""

from __future__ import annotations

import mmap
import os
import struct
from functools import lru_cache
from pathlib import Path

_MOST_BYTES = 1 << 28  # looked through, however large the file is
_HEAP = b"GCOL\1\0\0\0"  # what a collection of strings begins with: its name and its version
_HEADER = struct.Struct("<HHIQ")  # of an entry: number, references, nothing, and length


def check_heaps(path: Path) -> None:
    """Raise ValueError if a collection of strings has an entry without length.

    The library goes on with the entry behind it, which is the same one.
    """
    facts = os.stat(path)
    if _has_endless_heap(path, facts.st_size, facts.st_mtime_ns):
        raise ValueError("its strings are damaged")


@lru_cache(maxsize=8)
def _has_endless_heap(path: Path, size: int, _time: int) -> bool:
    length = min(size, _MOST_BYTES)
    with (
        open(path, "rb") as stream,
        mmap.mmap(stream.fileno(), length, access=mmap.ACCESS_READ) as data,
    ):
        start = data.find(_HEAP)
        while start >= 0:
            if _is_endless(data, start):
                return True
            start = data.find(_HEAP, start + 1)
    return False


def _is_endless(data: mmap.mmap, start: int) -> bool:
    begin = start + len(_HEAP) + 8
    if begin > len(data):
        return False
    (size,) = struct.unpack_from("<Q", data, start + len(_HEAP))
    place, end = begin, min(start + size, len(data))
    while place + _HEADER.size <= end:
        number, _, _, length = _HEADER.unpack_from(data, place)
        if number == 0 and length == 0:
            return True
        # Free space counts its own header, and others are filled up to eight bytes.
        place += length if number == 0 else _HEADER.size + -(-length // 8) * 8
    return False
