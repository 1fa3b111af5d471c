"""Unpacking what a file holds compressed, within a limit: what it says of its size is not believed.

A few bytes can be made that unpack to gigabytes, and some libraries read past the end of what was
cut off. Each of these functions looks at packed bytes before a library sees them, or unpacks them
itself, and raises ValueError where they cannot be what they should be.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from typing import Any, Protocol

import psutil

_BLOSC_HEADER_BYTES = 16
_MAX_ZSTD_BLOCK_BYTES = 128 << 10
_ZSTD_FRAME, _ZSTD_SKIPPABLE = 0xFD2FB528, 0x184D2A5  # the latter without its last four bits
_MAX_LZMA_MEMORY = 1 << 30
_PIECE_BYTES, _ROUND_BYTES = 1 << 16, 1 << 22

# What a library may unpack without being watched. A frame of zstd need not say how large it is,
# and its blocks say only what it is at most.
HARMLESS_BYTES = 256 << 20
MAX_DEFLATE_RATIO = 1040  # of what zlib unpacks to what was packed


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse what is read as a whole and does not fit into the memory of this machine."""
    total = psutil.virtual_memory().total
    if n_bytes > total:
        raise ValueError(
            f"{what} takes {n_bytes / 1e9:.3g} GB as a whole, and the memory here is "
            f"{total / 1e9:.3g} GB"
        )


def unpack_within(kind: str, data: bytes, limit: int, options: Any = None) -> bytes | None:
    """What was packed, if this module unpacks such a kind; None for others, which it only checks.

    Parameters
    ----------
    kind : str
        As zarr names it: "zlib", "gzip", "bz2", "lzma", "blosc", "lz4", "zstd"; of others nothing
        is known.
    data : bytes
        What is packed.
    limit : int
        Bytes that it may unpack to.
    options : object, optional
        Has ``format`` and ``filters``, of lzma.
    """
    if kind in _CHECKS:
        _CHECKS[kind](data, limit)
        return None
    if kind == "zlib":
        return _unpack(data, limit, _Inflater, one_stream=True)
    if kind == "gzip":
        return _unpack(data, limit, lambda: _Inflater(wbits=31))
    if kind == "bz2":
        return _unpack(data, limit, bz2.BZ2Decompressor)
    if kind == "lzma":
        return _unpack(data, limit, lambda: _lzma_decompressor(options))
    return None


class _Inflater:
    """zlib's object with the names that those of bz2 and lzma have."""

    def __init__(self, wbits: int = zlib.MAX_WBITS) -> None:
        self._inner = zlib.decompressobj(wbits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(data, max_length)


def _unpack(data: bytes, limit: int, make: Any, one_stream: bool = False) -> bytes:
    parts: list[bytes] = []
    left = limit
    while True:
        decompressor: _Decompressor = make()
        # One byte more than is allowed tells that there is more.
        part = decompressor.decompress(data, left + 1)
        if len(part) > left:
            raise ValueError(f"it unpacks to more than the {limit} bytes that were declared")
        if not decompressor.eof:
            raise ValueError("it is cut off")
        parts.append(part)
        left -= len(part)
        data = decompressor.unused_data.lstrip(b"\0")  # some writers fill up
        if one_stream or not data:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _lzma_decompressor(options: Any) -> Any:
    form = getattr(options, "format", lzma.FORMAT_XZ)
    filters = getattr(options, "filters", None)
    if any(f.get("dict_size", 0) > _MAX_LZMA_MEMORY for f in filters or ()):
        raise ValueError("it needs too much memory to unpack")
    if form == lzma.FORMAT_RAW:
        return lzma.LZMADecompressor(form, filters=filters)
    return lzma.LZMADecompressor(form, memlimit=_MAX_LZMA_MEMORY)


def inflates_within(data: bytes, limit: int, wbits: int = zlib.MAX_WBITS) -> bool:
    """Whether zlib unpacks data to so many bytes at most; they are not kept."""
    if len(data) * MAX_DEFLATE_RATIO <= max(limit, HARMLESS_BYTES):
        return True
    decompressor = zlib.decompressobj(wbits)
    found = 0
    for start in range(0, len(data), _PIECE_BYTES):
        piece = data[start : start + _PIECE_BYTES]
        while piece and not decompressor.eof:
            found += len(decompressor.decompress(piece, _ROUND_BYTES))
            piece = decompressor.unconsumed_tail
            if found > limit:
                return False
    return True


def _check_blosc(data: bytes, limit: int) -> None:
    """Blosc goes by what its header says, which must be what is there."""
    if len(data) < _BLOSC_HEADER_BYTES:
        raise ValueError("it is cut off")
    n_bytes, block_bytes, packed_bytes = struct.unpack_from("<III", data, 4)
    if packed_bytes != len(data):
        raise ValueError(f"it has {len(data)} bytes, and should have {packed_bytes}")
    if n_bytes > limit:
        raise ValueError(f"it unpacks to {n_bytes} bytes, and {limit} were declared")
    if n_bytes and not 0 < block_bytes <= max(n_bytes, 1 << 20):
        raise ValueError("its header is damaged")


def _check_lz4(data: bytes, limit: int) -> None:
    if len(data) < 4:
        raise ValueError("it is cut off")
    (n_bytes,) = struct.unpack_from("<i", data)
    if not 0 <= n_bytes <= limit:
        raise ValueError(f"it unpacks to {n_bytes} bytes, and {limit} were declared")


def _check_zstd(data: bytes, limit: int) -> None:
    """Walk through the frames, which say how large they are, or how large their blocks can be."""
    at = found = 0
    try:
        while at < len(data):
            magic, size = struct.unpack_from("<I", data, at)[0], 0
            if magic >> 4 == _ZSTD_SKIPPABLE:
                at += 8 + int(struct.unpack_from("<I", data, at + 4)[0])
                continue
            if magic != _ZSTD_FRAME:
                raise ValueError("it is no frame of zstd")
            at, size = _walk_zstd_frame(data, at + 4)
            found += size
            if found > limit:
                raise ValueError(f"it unpacks to {found} bytes, and {limit} were declared")
    except (struct.error, IndexError):
        raise ValueError("it is cut off") from None


def _walk_zstd_frame(data: bytes, at: int) -> tuple[int, int]:
    """Where a frame ends, and the bytes that it unpacks to; 0 if it does not say and is small."""
    described = data[at]
    size_flag, is_single = described >> 6, described >> 5 & 1
    at += 1 + (not is_single) + (0, 1, 2, 4)[described & 3]
    n_size_bytes = (is_single, 2, 4, 8)[size_flag]
    field = data[at : at + n_size_bytes]
    if len(field) < n_size_bytes:
        raise IndexError
    size = int.from_bytes(field, "little") + (256 if n_size_bytes == 2 else 0)
    at, is_last, at_most = at + n_size_bytes, False, 0
    while not is_last:
        header = int.from_bytes(data[at : at + 3], "little")
        is_last, kind, n_bytes = bool(header & 1), header >> 1 & 3, header >> 3
        if at + 3 > len(data) or kind == 3:
            raise IndexError
        at += 3 + (1 if kind == 1 else n_bytes)
        at_most += n_bytes if kind < 2 else _MAX_ZSTD_BLOCK_BYTES
    if at > len(data):
        raise IndexError
    at += 4 * (described >> 2 & 1)
    if not n_size_bytes:
        return at, at_most if at_most > HARMLESS_BYTES else 0
    return at, size


_CHECKS = {"blosc": _check_blosc, "lz4": _check_lz4, "zstd": _check_zstd}
