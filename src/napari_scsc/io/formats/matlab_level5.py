"""Arrays of numbers in MATLAB files of level 5 (versions 5 to 7).

The parser of scipy can end the process on a damaged file. Of what such files can hold, an image
needs arrays of numbers only, and these are few lines::

    file      128 bytes of header, then elements
    element   type, length, data; a matrix, or a matrix compressed by zlib
    matrix    elements again: flags, lengths of axes, name, values, imaginary values
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.io.formats.opened_file import StoredArray
from napari_scsc.io.formats.unpacking import check_memory

_HEADER_BYTES, _TAG_BYTES = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}
_TYPES[13] = "u8"
# What the classes of matrices that are no arrays of numbers are called, by their number.
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function"}
_CHAR_CLASS = 4
_NUMBER_CLASSES = range(6, 16)
_START_BYTES = 1 << 12  # in which a matrix has said what it is
_MAX_AXES, _MAX_ELEMENTS = 32, 10_000


@dataclass(frozen=True)
class _Element:
    """Where something lies in a file, packed or not, and in which byte order."""

    path: Path
    start: int
    length: int
    packed: bool
    order: str

    def read(self, length: int) -> bytes:
        """So many bytes from its beginning, or all that there are."""
        with open(self.path, "rb") as stream:
            stream.seek(self.start)
            if not self.packed:
                return stream.read(min(length, self.length))
            return zlib.decompressobj().decompress(stream.read(self.length), length)


def list_arrays(path: Path) -> list[StoredArray]:
    """List the variables of a file, of which only arrays of numbers can be loaded."""
    return [_describe(element) for element in _find_elements(path)]


def _find_elements(path: Path) -> list[_Element]:
    n_bytes = os.path.getsize(path)
    found: list[_Element] = []
    with open(path, "rb") as stream:
        header = stream.read(_HEADER_BYTES)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            raise ValueError("it has no header of MATLAB")
        at = _HEADER_BYTES
        while at + _TAG_BYTES <= n_bytes and len(found) < _MAX_ELEMENTS:
            stream.seek(at)
            kind, length = struct.unpack(f"{order}II", stream.read(_TAG_BYTES))
            at += _TAG_BYTES
            if at + length > n_bytes:
                raise ValueError("it is cut off")
            if kind == _COMPRESSED:
                found.append(_Element(path, at, length, True, order))
            elif kind == _MATRIX:
                found.append(_Element(path, at - _TAG_BYTES, length + _TAG_BYTES, False, order))
            at += length if kind == _COMPRESSED else -(-length // 8) * 8
    return found


def _describe(element: _Element) -> StoredArray:
    """What a matrix is, by its first bytes."""
    start, order = element.read(_START_BYTES), element.order
    kind, length = _unpack(f"{order}II", start, 0)
    if kind != _MATRIX:
        raise ValueError(f"an element is of the kind {kind}")
    check_memory(length, "a variable")
    flags, at = _read_part(start, _TAG_BYTES, order)
    lengths, at = _read_part(start, at, order)
    name, at = _read_part(start, at, order)
    (flag,) = _unpack(f"{order}I", flags, 0)
    shape = tuple(_unpack(f"{order}{len(lengths) // 4}i", lengths, 0))
    if not 1 <= len(shape) <= _MAX_AXES:
        raise ValueError(f"a variable has {len(shape)} axes")
    if min(shape) < 0:
        raise ValueError(f"a variable has the shape {shape}")
    key, number = name.decode("latin-1"), flag & 0xFF
    if number == _CHAR_CLASS:  # each row is one text
        shape = shape[:-1]
    if number not in _NUMBER_CLASSES:
        return StoredArray(key, shape, _CLASSES.get(number, "opaque"), partial(_refuse, key))
    stored, values_at, n_bytes = _find_values(start, at, order)
    if math.prod(shape) * stored.itemsize != n_bytes or values_at + n_bytes > length + _TAG_BYTES:
        raise ValueError(f"the variable {key!a} does not have the length that its shape needs")
    if flag >> 11 & 1:  # with imaginary values
        return StoredArray(key, shape, np.dtype(complex), partial(_refuse, key))
    load = partial(_load, element, shape, stored, values_at, n_bytes)
    return StoredArray(key, shape, stored.newbyteorder("="), load)


def _find_values(start: bytes, at: int, order: str) -> tuple[np.dtype[Any], int, int]:
    """Type and place of the values, and how many bytes they have."""
    (kind,) = _unpack(f"{order}I", start, at)
    if kind >> 16:  # up to four bytes lie in the tag
        kind, n_bytes, at = kind & 0xFFFF, kind >> 16, at + 4
    else:
        (n_bytes,), at = _unpack(f"{order}I", start, at + 4), at + _TAG_BYTES
    if kind not in _TYPES:
        raise ValueError(f"values are of the kind {kind}")
    return np.dtype(order + _TYPES[kind]), at, n_bytes


def _read_part(data: bytes, at: int, order: str) -> tuple[bytes, int]:
    """The data of an element of a matrix, and where the next begins."""
    (kind,) = _unpack(f"{order}I", data, at)
    if kind >> 16:
        return data[at + 4 : at + 4 + (kind >> 16)], at + _TAG_BYTES
    (length,) = _unpack(f"{order}I", data, at + 4)
    at += _TAG_BYTES
    if at + length > len(data):
        raise ValueError("it is cut off")
    return data[at : at + length], at + -(-length // 8) * 8


def _unpack(form: str, data: bytes, at: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, data, at)
    except struct.error:
        raise ValueError("it is cut off") from None


def _load(
    element: _Element, shape: tuple[int, ...], stored: np.dtype[Any], at: int, n_bytes: int
) -> Array:
    data = element.read(at + n_bytes)
    if len(data) < at + n_bytes:
        raise ValueError("it is cut off")
    values = np.frombuffer(data, stored, math.prod(shape), at)
    return values.reshape(shape, order="F").astype(stored.newbyteorder("="))


def _refuse(key: str) -> Any:
    raise ValueError(f"the variable {key!a} is no array of real numbers")
