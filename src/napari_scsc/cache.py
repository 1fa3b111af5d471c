"""Where what was measured on this machine is kept: plans of FFTs, and how fast it is.

What lies there is believed when it is read. So nothing is kept in a folder that others can write,
and nothing read from there: it is then measured anew in each process.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
import warnings
from pathlib import Path


class UnsafeCacheError(RuntimeError):
    """The folder cannot be trusted; whoever wanted it does without."""


def cache_folder() -> Path:
    """The folder, which may not exist yet.

    RuntimeError where there is no home folder, or others can write to it; the latter is said once.
    """
    folder = _chosen_folder()
    problem = find_problem(folder)
    if problem is not None:
        _warn_once(folder, problem)
        raise UnsafeCacheError(f"{folder}: {problem}")
    return folder


def make_cache_folder() -> Path:
    """The folder, made if it is not there yet: for this user alone."""
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return cache_folder()  # somebody else may have been first


def find_problem(folder: Path) -> str | None:
    """Why a folder cannot be trusted; None if it can, or is not there yet."""
    if sys.platform == "win32":  # folders of users are their own there
        return None
    try:
        found = folder.stat()
    except FileNotFoundError:
        return None
    if found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    if found.st_mode & stat.S_IWOTH or (
        found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid)
    ):
        return "other users can write to it"
    return None


def _chosen_folder() -> Path:
    if chosen := os.environ.get("NAPARI_SCSC_CACHE"):
        return Path(chosen)
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    usual = os.environ.get(variable)
    return (Path(usual) if usual else Path.home() / ".cache") / "napari-scsc"


def _is_own_group(number: int) -> bool:
    """Whether nobody else is in a group: many systems give each user one."""
    if sys.platform == "win32":
        return True
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and not group.gr_mem


@functools.cache
def _warn_once(folder: Path, problem: str) -> None:
    warnings.warn(
        f"{folder}: {problem}, so nothing is kept there, and some things take longer. Take the "
        "right to write from the others (chmod go-w), or choose another folder with "
        "NAPARI_SCSC_CACHE",
        RuntimeWarning,
        stacklevel=3,
    )
