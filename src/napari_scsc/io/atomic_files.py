"""Files that are written whole or not at all, and locks on them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.renaming import beside, rename_exclusively, whole_file

WAIT_OR_STOP = "wait for it, or stop it"


@contextlib.contextmanager
def made_beside(path: Path) -> Iterator[Path]:
    """A temporary path for a file or folder, which gets its name at the end of the ``with``.

    When something is raised, nothing is left of it. What has the name already must not be there.
    """
    temporary = beside(path)
    try:
        yield temporary
        rename_exclusively(temporary, path)
    except BaseException:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; it is there whole, or not at all."""
    with whole_file(Path(path), is_replaced=True) as stream:
        stream.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; whole, or not at all."""
    write_atomically(path, json.dumps(value).encode())


def read_json(path: Path) -> Any:
    """The value in a JSON file of a run in the making; FileFormatError if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        remedy = f"remove the folder {path.parent}, and begin again"
        raise FileFormatError("is damaged", remedy=remedy, path=path) from error


def is_locked(path: Path) -> bool:
    """Whether some process has locked a file; False where that cannot be told."""
    try:
        with exclusive_lock(path, "") if path.exists() else contextlib.nullcontext():
            return False
    except UserError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def exclusive_lock(path: Path, why: str) -> Iterator[None]:
    """Lock a file for the time of a ``with``; whoever else wants it is told ``why`` not.

    The system lets go of it when the process ends, in whatever way. Where it knows no locks, as on
    some file systems of networks, nobody is kept out.
    """
    with open(path, "ab") as stream:
        try:
            _lock(stream.fileno())
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise UserError(why, remedy=WAIT_OR_STOP) from None
        yield


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
