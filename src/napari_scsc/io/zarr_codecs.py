"""How chunks of zarr are compressed: so that a damaged one is an error, and no crash."""

from __future__ import annotations

from typing import Any


def choose_compressors(zarr_version: int, compressed: bool = True) -> Any:
    """What zarr compresses chunks with, and how it tells those that are damaged.

    Blosc, which zarr would choose, has no checksum, and can end the process when a chunk was cut
    off. Of version 2, zlib is what readers in all languages have, and it brings a checksum.
    """
    if zarr_version == 2:
        return {"id": "zlib", "level": 1} if compressed else None
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return (ZstdCodec(level=3), Crc32cCodec()) if compressed else (Crc32cCodec(),)
