"""Files of numpy: .npy and .npz. Python objects in them are never loaded."""

from __future__ import annotations

import math
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy

from napari_scsc._types import Array
from napari_scsc.io.formats.file_arrays import MappedArray, unreadable
from napari_scsc.io.formats.opened_file import StoredArray
from napari_scsc.io.formats.unpacking import check_memory

_MAX_HEADER_BYTES = 1 << 20
_HEADER_READERS: Any = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


def list_arrays(path: Path) -> list[StoredArray]:
    """List the array of a .npy file, of which nothing is read, or those of a .npz file."""
    if path.suffix.lower() == ".npz":
        return _list_npz(path)
    array = _map_npy(path)
    return [StoredArray("", array.shape, array.dtype, lambda: array)]


def _map_npy(path: Path) -> MappedArray:
    try:
        mapped = npy.open_memmap(path, mode="r")
    except Exception as error:
        why = "Python objects are not read, since that could run code"
        remedy = why if _holds_objects(path) else None
        raise unreadable(path, ".npy file", error, remedy) from error
    order: Literal["C", "F"] = "C" if mapped.flags.c_contiguous else "F"
    dtype = mapped.dtype.newbyteorder("=")
    return MappedArray(path, mapped.shape, dtype, None, mapped.dtype, mapped.offset, order)


def _holds_objects(path: Path) -> bool:
    with suppress(Exception), open(path, "rb") as stream:  # of a damaged header
        return bool(_HEADER_READERS[npy.read_magic(stream)](stream)[2].hasobject)
    return False


def _list_npz(path: Path) -> list[StoredArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            headers = {m.filename.removesuffix(".npy"): _read_header(archive, m) for m in members}
    except Exception as error:  # zipfile raises many kinds on a damaged file
        raise unreadable(path, ".npz file", error) from error
    spelled = None
    if "axes" in headers and headers["axes"][0] == () and headers["axes"][1].kind == "U":
        spelled = str(_load_member(path, "axes"))
    return [
        StoredArray(key, shape, dtype, partial(_load_member, path, key), spelled)
        for key, (shape, dtype) in headers.items()
    ]


def _read_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array; one of a version that is not known counts as objects."""
    with archive.open(member) as opened:
        stream: Any = opened
        version = npy.read_magic(stream)
        if version == (2, 0) and int.from_bytes(stream.peek(4)[:4], "little") > _MAX_HEADER_BYTES:
            raise ValueError(f"the header of {member.filename} is damaged")
        read = _HEADER_READERS.get(version)
        shape, _, dtype = read(stream) if read else ((), False, np.dtype("O"))
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{member.filename} is cut off")
    check_memory(member.file_size, member.filename)
    return shape, dtype


def _load_member(path: Path, key: str) -> Array:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{key}.npy") as stream:
            return np.asarray(npy.read_array(stream, allow_pickle=False))
    except Exception as error:
        raise unreadable(path, ".npz file", error) from error
