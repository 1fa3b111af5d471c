"""Zarr as a stranger wrote it: only files are opened, and no chunk is unpacked that looks wrong."""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import ShardingCodec
from zarr.storage import LocalStore

from napari_scsc.io.formats.unpacking import check_memory, unpack_within

# They make Python objects, by code that was never meant for what a stranger wrote.
_OBJECT_CODECS = ("pickle", "json2", "msgpack2", "vlen-utf8", "vlen-bytes", "vlen-array")
_MAX_DOCUMENT_BYTES = 1 << 28
_MAX_CHUNKS_PER_SHARD = 1 << 24
_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
# Filters can make values larger before they are compressed, and compressors what is random.
_MAX_FILTER_RATIO, _SLACK_BYTES = 16, 1 << 16


class RegularFiles(LocalStore):
    """A folder of which only regular files are opened: a pipe would be waited for, for ever."""

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """The bytes of a file, or None if there is none."""
        self._check(key)
        return await super().get(key, prototype, byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
        """The bytes of some parts of files."""
        wanted = list(key_ranges)
        for key, _ in wanted:
            self._check(key)
        return await super().get_partial_values(prototype, wanted)

    def _check(self, key: str) -> None:
        path = self.root / key
        try:
            found = path.stat()
        except (OSError, ValueError):  # there is none
            return
        if stat.S_ISDIR(found.st_mode):
            return
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{key} is not a file")
        if path.name in _DOCUMENTS and found.st_size > _MAX_DOCUMENT_BYTES:
            raise ValueError(f"{key} has {found.st_size} bytes")


def open_zarr(path: Path) -> Any:
    """The group or array at the top of a folder, to be read."""
    import zarr

    return zarr.open(store=RegularFiles(path, read_only=True), mode="r")


def open_guarded_array(path: Path, key: str) -> Any:
    """An array of a folder whose chunks are looked at before they are unpacked."""
    import zarr

    array: Any = zarr.open_array(store=RegularFiles(path, read_only=True), path=key, mode="r")
    check_codecs(array)
    lowest = array.async_array
    pipeline = lowest.codec_pipeline
    declared = int(np.prod(array.chunks, dtype=object)) * array.dtype.itemsize
    guarded = type(pipeline).from_codecs([_guard(codec, declared) for codec in pipeline])
    object.__setattr__(lowest, "codec_pipeline", guarded)  # of a frozen class
    return array


def check_codecs(array: Any) -> None:
    """Refuse what was written with pickle and the like, which could run code when it is read."""
    metadata = array.metadata
    codecs = [*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None)]
    names = [str(getattr(codec, "codec_id", "")) for codec in codecs]
    names += [_name_of(codec) for codec in getattr(metadata, "codecs", None) or ()]
    for word in _OBJECT_CODECS:
        if any(word in name for name in names):
            raise ValueError(f"it was written with {word}, and reading it could run code")


def check_chunks(array: Any) -> None:
    """Refuse chunks that no writer makes: empty ones, and shards of more chunks than can be."""
    if any(n < 1 for n in array.chunks):
        raise ValueError(f"its chunks have the shape {array.chunks}")
    shards = getattr(array, "shards", None)
    if shards is None:
        return
    n_inner = np.prod([s // c for s, c in zip(shards, array.chunks, strict=True)], dtype=object)
    if n_inner > _MAX_CHUNKS_PER_SHARD:
        raise ValueError(f"its shards {shards} hold {n_inner} chunks each")


def _name_of(codec: Any) -> str:
    """The name of a codec as zarr 3 spells it, or numcodecs."""
    name = getattr(codec, "codec_id", None) or getattr(codec, "codec_name", None)
    if name is None:
        described = codec.to_dict() if hasattr(codec, "to_dict") else {}
        name = described.get("name", "")
    return str(name).removeprefix("numcodecs.")


def _guard(codec: Any, declared: int) -> Any:
    """The same codec, which looks before it unpacks."""
    if isinstance(codec, ShardingCodec):
        codecs = tuple(_guard(inner, declared) for inner in codec.codecs)
        index = tuple(_guard(inner, declared) for inner in codec.index_codecs)
        return replace(codec, codecs=codecs, index_codecs=index)
    if isinstance(codec, BytesBytesCodec):
        return _GuardedCodec(codec)
    if getattr(codec, "compressor", None) is not None:  # of version 2
        ratio = _MAX_FILTER_RATIO if codec.filters else 1
        return replace(codec, compressor=_GuardedCompressor(codec.compressor, declared * ratio))
    return codec


def _unpack(codec: Any, options: Any, data: Any, declared: int) -> bytes | None:
    check_memory(declared, "a chunk")
    return unpack_within(
        _name_of(codec), bytes(data), declared + declared // 8 + _SLACK_BYTES, options
    )


@dataclass(frozen=True)
class _GuardedCodec(BytesBytesCodec):
    """A compressor of version 3 that looks at a chunk before it unpacks it."""

    inner: Any

    @property
    def is_fixed_size(self) -> bool:  # type: ignore[override] # a plain attribute there
        return bool(self.inner.is_fixed_size)

    def to_dict(self) -> Any:
        return self.inner.to_dict()

    def evolve_from_array_spec(self, array_spec: Any) -> Any:
        return replace(self, inner=self.inner.evolve_from_array_spec(array_spec))

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return int(self.inner.compute_encoded_size(input_byte_length, chunk_spec))

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        n_values = int(np.prod(chunk_spec.shape, dtype=object))
        declared = n_values * chunk_spec.dtype.to_native_dtype().itemsize
        options = getattr(self.inner, "_codec", None)  # of those that come from numcodecs
        unpacked = _unpack(self.inner, options, chunk_data.to_bytes(), declared)
        if unpacked is not None:
            return chunk_spec.prototype.buffer.from_bytes(unpacked)
        return await self.inner._decode_single(chunk_data, chunk_spec)


@dataclass(frozen=True)
class _GuardedCompressor:
    """A compressor of version 2 that looks at a chunk before it unpacks it."""

    inner: Any
    declared: int

    def decode(self, packed: Any, out: Any = None) -> Any:
        """What was packed."""
        unpacked = _unpack(self.inner, self.inner, packed, self.declared)
        return self.inner.decode(packed) if unpacked is None else unpacked
