"""Files that are written whole or not at all, and locks on them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside and rename it: it is there whole, or not at all."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON; whole, or not at all."""
    write_atomically(path, json.dumps(value).encode())


def read_json(path: Path) -> Any:
    """What a file of a run in the making says."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged: remove the folder {path.parent}, and begin again"
        ) from error


@contextlib.contextmanager
def exclusive_lock(path: Path, why: str) -> Iterator[None]:
    """Have a file for oneself; whoever else wants it is told ``why`` not.

    The system lets go of it when the process ends, in whatever way. Where it knows no locks, as on
    some file systems of networks, nobody is kept out.
    """
    with open(path, "ab") as stream:
        try:
            _lock(stream.fileno())
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise ValueError(f"{why}: wait for it, or stop it") from None
        yield


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
