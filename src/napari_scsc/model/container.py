"""The file format of banks and checkpoints: a zip of .npy arrays and one JSON header.

Nothing in it can run code (no pickle), nothing in it is compressed (what is read is never larger
than the file), and a file appears whole or not at all (written beside, then renamed).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from napari_scsc._types import Array
from napari_scsc.checks import check_file_name
from napari_scsc.errors import FileFormatError, PathExistsError, Remedy
from napari_scsc.renaming import whole_file

_HEADER = "header.json"
_MAX_HEADER_BYTES = 1 << 20
_MAX_MEMBERS = 64
_MAX_AXES = 16
_DTYPES = tuple(np.dtype(t) for t in ("<f4", "<f8", "<c8", "<c16"))


def write(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    overwrite: bool = True,
) -> None:
    """Write the arrays and the header to ``path``, replacing what is there only when complete.

    Without ``overwrite`` nothing is replaced, whenever it appeared.
    """
    check_file_name(path)
    target = Path(path)
    if not overwrite and os.path.lexists(target):
        raise _is_there_already(target)
    lines = json.dumps({"kind": kind, "version": version, **header}, indent=1, allow_nan=False)
    try:
        with whole_file(target, is_replaced=overwrite) as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_HEADER, lines)
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
                        npy.write_array(member, little, version=(1, 0), allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise _is_there_already(target) from None


def _is_there_already(path: Path) -> PathExistsError:
    return PathExistsError("is there already", path=path, remedy=Remedy.OVERWRITE)


def read(
    path: str | os.PathLike[str], kind: str, version: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what ``write`` wrote, or raise FileFormatError saying what is wrong with it."""
    check_file_name(path)
    if Path(path).exists() and not Path(path).is_file():  # opening a pipe would wait for ever
        raise FileFormatError("not a file", path=path)
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = _check_members(archive, os.fstat(stream.fileno()).st_size)
                header = _read_header(archive, members, kind, version)
                arrays = {
                    name.removesuffix(".npy"): _read_array(archive, info)
                    for name, info in members.items()
                    if name.endswith(".npy")
                }
        except FileFormatError as error:
            raise error.about(path=os.fspath(path)) from None
        except Exception as error:  # zipfile and its codecs raise many kinds on a damaged file
            raise FileFormatError(
                f"not a readable {kind} file ({type(error).__name__}: {error})", path=path
            ) from error
    return header, arrays


def read_kind(path: str | os.PathLike[str]) -> str | None:
    """The kind that the header of a container says; None for any other file."""
    if not Path(path).is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(_HEADER)
            header = json.loads(archive.read(info)) if info.file_size <= _MAX_HEADER_BYTES else None
    except Exception:  # zipfile and its codecs raise many kinds on a damaged file
        return None
    kind = header.get("kind") if isinstance(header, dict) else None
    return kind if isinstance(kind, str) else None


@contextlib.contextmanager
def reporting_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what a well-formed file with wrong contents raises into FileFormatError."""
    try:
        yield
    except FileFormatError as error:
        raise error.about(path=os.fspath(path)) from None
    except KeyError as error:
        raise FileFormatError(f"{error} is missing", path=path) from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileFormatError(str(error), path=path) from None
    except Exception as error:  # codecs and what rebuilds objects raise many kinds
        if isinstance(error, OSError) and error.filename:
            raise  # the system refuses a file, and says which
        words = f"not readable ({type(error).__name__}: {error})"
        raise FileFormatError(words, path=path) from error


def _check_members(archive: zipfile.ZipFile, file_size: int) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive by name, if none of them can do harm."""
    infos = archive.infolist()
    if len(infos) > _MAX_MEMBERS:
        raise FileFormatError(f"{len(infos)} members where at most {_MAX_MEMBERS} are allowed")
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise FileFormatError("two members have the same name")
    if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
        raise FileFormatError("a member is compressed or encrypted")
    if sum(info.file_size for info in infos) > file_size:
        raise FileFormatError("its members claim to be larger than the file")
    return members


def _read_header(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], kind: str, version: int
) -> dict[str, Any]:
    info = members.get(_HEADER)
    if info is None or info.file_size > _MAX_HEADER_BYTES:
        raise FileFormatError(f"not a {kind} file: it has no usable {_HEADER}")
    header = json.loads(archive.read(info))
    if not isinstance(header, dict) or header.get("kind") != kind:
        found = header.get("kind") if isinstance(header, dict) else None
        raise FileFormatError(f"not a {kind} file, but {found!r}")
    found = header.get("version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise FileFormatError(f"its version is {found!r}")
    if found > version:
        raise FileFormatError(
            f"written by a later napari-scsc (file version {found}, this one reads {version})",
            remedy="please update napari-scsc",
        )
    return header


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    stream = BytesIO(archive.read(info))
    if npy.read_magic(stream) != (1, 0):
        raise FileFormatError(f"{info.filename} is of an unknown .npy version")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    if dtype not in _DTYPES or fortran:
        raise FileFormatError(f"{info.filename} holds {dtype}, which is not allowed")
    if any(n < 0 for n in shape) or len(shape) > _MAX_AXES:
        raise FileFormatError(f"{info.filename} has the shape {shape}")
    if math.prod(shape) * dtype.itemsize != info.file_size - stream.tell():
        raise FileFormatError(f"{info.filename} does not have the length that its shape needs")
    array = np.frombuffer(stream.getbuffer(), dtype, offset=stream.tell()).reshape(shape)
    array = array.astype(dtype.newbyteorder("="))
    if not np.isfinite(array).all():
        raise FileFormatError(f"{info.filename} holds NaN or infinite values")
    return array
