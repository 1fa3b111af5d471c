"""Giving a finished file or folder its name, so that nothing of that name is ever lost."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD, _RENAME_NOREPLACE = -100, 1  # of Linux
_RENAME_EXCL = 4  # of macOS
_NOT_KNOWN_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINKS_HERE = (*_NOT_KNOWN_HERE, errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EACCES)


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
