"""TIFF as a stranger wrote it: which files it may name, how large its parts may become."""

from __future__ import annotations

import math
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from napari_scsc.io.formats.outside import is_regular, may_follow, outside_error
from napari_scsc.io.formats.unpacking import HARMLESS_BYTES, check_memory, inflates_within

if TYPE_CHECKING:
    from napari_scsc.io.formats.file_arrays import FileArray

_DEFLATE = (8, 32946, 50013)  # as the tag of the compression has it
_MAX_PLANES = 1 << 24
_HARMLESS_TILE_BYTES, _MAX_TILES_PER_PAGE = 32 << 20, 4  # a tile is padded beyond its page
_KEPT_BYTES = 16 << 20  # from which on the last decoded chunk is kept


def check_structure(path: Path, file: Any) -> None:
    """Look at what a TIFF says of its pages, and of other files, before tifffile goes by it."""
    _check_chain(file)
    _check_ome(path, file)


def _check_chain(file: Any) -> None:
    """Raise ValueError if a page names an earlier one as the next: they would have no end."""
    form, handle = file.tiff, file.filehandle
    offset, seen = file.pages.first.offset, set()
    while offset and offset not in seen:
        seen.add(offset)
        try:
            handle.seek(offset)
            (n_tags,) = struct.unpack(form.tagnoformat, handle.read(form.tagnosize))
            handle.seek(offset + form.tagnosize + n_tags * form.tagsize)
            (offset,) = struct.unpack(form.offsetformat, handle.read(form.offsetsize))
        except (struct.error, OSError):  # the chain breaks off, which tifffile bears
            return
    if offset:
        raise ValueError("its pages follow each other in a circle")


def _check_ome(path: Path, file: Any) -> None:
    """Look at what OME-XML says.

    It may name other files, which are opened in the same folder only, and more planes than there
    can be.
    """
    if not file.is_ome:
        return
    from xml.etree import ElementTree

    root = ElementTree.fromstring(file.ome_metadata)
    others = [
        name
        for uuid in root.findall("{*}Image/{*}Pixels/{*}TiffData/{*}UUID")
        if (name := uuid.get("FileName")) is not None
    ]
    outside = [name for name in others if Path(name).name != name or name in ("", ".", "..")]
    if outside and not may_follow():
        raise outside_error(path, "this OME-TIFF", outside)
    for name in dict.fromkeys(others):
        other = path.parent / name
        if other.exists():
            _check_named(other)
    for data in root.findall("{*}Image/{*}Pixels/{*}TiffData"):
        for word in ("IFD", "NumPlanes", "PlaneCount", "FirstC", "FirstT", "FirstZ"):
            _check_count(word, data.get(word, "0"))
    for along in root.findall(".//{*}Modulo/*"):
        steps = [float(along.get(word, usual)) for word, usual in _STEPS]
        if not all(map(math.isfinite, steps)) or steps[2] == 0:
            raise ValueError("its OME metadata count steps that make no sense")
        _check_count("Along", str(abs(int((steps[1] - steps[0]) / steps[2]))))


def _check_named(path: Path) -> None:
    """Raise ValueError if a file that another one names must not be opened."""
    import tifffile

    if not is_regular(path):
        raise ValueError(f"it names {path.name!a}, which is not a file")
    with tifffile.TiffFile(path) as file:
        _check_chain(file)


_STEPS = (("Start", "0"), ("End", "0"), ("Step", "1"))


def _check_count(word: str, text: str) -> None:
    if not 0 <= int(text) <= _MAX_PLANES:
        raise ValueError(f"its OME metadata give {word} as {text[:20]}")


def limit_decoder(page: Any) -> None:
    """Let a page refuse a strip or tile that unpacks to far more than the page declares."""
    shape = page.chunks if page.is_tiled else (page.rowsperstrip, *page.shape[1:])
    declared = math.prod(map(int, shape)) * page.dtype.itemsize
    check_memory(declared, "a strip or tile")
    if declared > max(_HARMLESS_TILE_BYTES, _MAX_TILES_PER_PAGE * page.nbytes):
        raise ValueError(f"one of its tiles has {declared} bytes, its pages {page.nbytes}")
    if page.compression not in _DEFLATE:
        return
    decode, limit = page.decode, 2 * declared + HARMLESS_BYTES

    def decode_within(data: Any, *args: Any, **more: Any) -> Any:
        if data is not None and not inflates_within(bytes(data), limit):
            raise ValueError(f"a strip or tile unpacks to far more than {declared} bytes")
        return decode(data, *args, **more)

    page.decode = decode_within


def check_packed_pages(stream: BinaryIO) -> None:
    """Raise ValueError if a part of a TIFF that is read whole unpacks to more than it declares."""
    import tifffile

    with tifffile.TiffFile(stream) as file:
        _check_chain(file)
        pages: Any = file.series[0].pages
        for page in filter(None, pages):
            check_memory(page.nbytes, "a page")
            if page.keyframe.compression not in _DEFLATE:
                continue
            limit = 2 * page.nbytes + HARMLESS_BYTES
            for start, n_bytes in zip(page.dataoffsets, page.databytecounts, strict=True):
                stream.seek(start)
                if not inflates_within(stream.read(n_bytes), limit):
                    raise ValueError(f"a part of it unpacks to far more than {page.nbytes} bytes")
    stream.seek(0)


class _LastChunk:
    """The chunk that was decoded last, if it was large: of a single strip every look needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Any = None
        self._chunk: Any = None

    def find(self, owner: Any) -> Any:
        with self._lock:
            return self._chunk if self._owner == owner else None

    def keep(self, owner: Any, chunk: Any) -> None:
        with self._lock:
            self._owner, self._chunk = owner, chunk


_last_chunk = _LastChunk()


def keep_last_chunk(store: Any, array: FileArray) -> Any:
    """The store of an array, which decodes a large chunk once for several looks at it."""
    chunk_bytes = math.prod(array.chunks or (0,)) * array.dtype.itemsize
    if chunk_bytes < _KEPT_BYTES:
        return store
    from zarr.storage import WrapperStore

    status = array.path.stat()
    stamp = status.st_ino, status.st_size, status.st_mtime_ns

    class KeepingStore(WrapperStore[Any]):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            owner = array, stamp, key
            chunk = _last_chunk.find(owner) if byte_range is None else None
            if chunk is None:
                chunk = await self._store.get(key, prototype, byte_range)
                if byte_range is None and chunk is not None and len(chunk) >= _KEPT_BYTES:
                    _last_chunk.keep(owner, chunk)
            return chunk

    return KeepingStore(store)
