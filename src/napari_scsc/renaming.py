"""Giving a finished file or folder its name, so that nothing of that name is ever lost."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

_AT_FDCWD, _RENAME_NOREPLACE = -100, 1  # of Linux
_RENAME_EXCL = 4  # of macOS
_NOT_KNOWN_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINKS_HERE = (*_NOT_KNOWN_HERE, errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EACCES)


@contextmanager
def whole_file(path: Path, *, is_replaced: bool) -> Iterator[BinaryIO]:
    """A stream to a file that gets its name at the end of the ``with``, if nothing was raised.

    What has the name already must not be there, unless it is to be replaced. On Linux the file has
    no name before, so that nothing is left of it when the process is killed.
    """
    temporary = beside(path)
    nameless = _open_nameless(path.parent)
    try:
        with open(temporary, "xb") if nameless is None else open(nameless, "w+b") as stream:
            yield stream
            stream.flush()
            if nameless is not None:
                if _give_name(nameless, path):
                    return
                if not _give_name(nameless, temporary):
                    stream.seek(0)
                    with open(temporary, "xb") as copy:
                        shutil.copyfileobj(stream, copy)
        if not is_replaced:
            rename_exclusively(temporary, path)
            return
        if path.exists():
            os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def beside(path: Path) -> Path:
    """A temporary name for what will have that name."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


def _open_nameless(folder: Path) -> int | None:
    """A file in a folder that has no name there; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        found = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError:  # if it is the folder, a file with a name will say so
        return None
    if os.path.lexists(_link_to(found)):
        return found
    os.close(found)
    return None


def _link_to(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _give_name(nameless: int, path: Path) -> bool:
    """Let a file without a name have one; False if something has it, or there are no links."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # Only with a folder does Python follow the link, as it must here.
        os.link(_link_to(nameless), path.name, dst_dir_fd=folder, follow_symlinks=True)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def rename_exclusively(source: Path, target: Path) -> None:
    """Rename a file or folder; FileExistsError if something has that name, whoever made it when.

    Systems that can do that in one step are asked to. Elsewhere a file is linked, which fails
    where something is, and only for a folder, or where there are no links, the name is looked at
    first: what could be lost in the moment after that is an empty folder, or a file there.
    """
    if os.name == "nt":
        os.rename(source, target)  # which replaces nothing there
        return
    done = _rename_in_one_step(source, target)
    if not done and not source.is_dir():
        done = _link(source, target)
    if done:
        return
    if os.path.lexists(target):
        raise _name_is_taken(target)
    os.rename(source, target)


def _rename_in_one_step(source: Path, target: Path) -> bool:
    """Whether the system could do it, or was asked in vain."""
    function = _system_call()
    if function is None:
        return False
    if function(os.fsencode(source), os.fsencode(target)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_KNOWN_HERE:
        return False
    if number == errno.EEXIST:
        raise _name_is_taken(target)
    raise OSError(number, os.strerror(number), os.fspath(target))


@cache
def _system_call() -> Any:
    """What renames without replacing, of two names in bytes; None where there is no such call."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            exclusively = library.renamex_np
            return lambda source, target: exclusively(source, target, _RENAME_EXCL)
        rename = library.renameat2
    except (OSError, AttributeError, TypeError):
        return None
    return lambda source, target: rename(_AT_FDCWD, source, _AT_FDCWD, target, _RENAME_NOREPLACE)


def _link(source: Path, target: Path) -> bool:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise _name_is_taken(target) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS_HERE:
            raise
        return False
    os.unlink(source)
    return True


def _name_is_taken(target: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target))
