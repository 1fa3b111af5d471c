"""What a file says lies in other files: it is not read without the user's word.

A file from a stranger could name any file of the user's, and show it as pixels.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from napari_scsc.errors import UserError
from napari_scsc.io.filenames import shorten_list

FOLLOW = "NAPARI_SCSC_FOLLOW"


class OutsideError(UserError):
    """The values lie in other files, which are not read."""


def may_follow() -> bool:
    """Whether the user said that files may name other files."""
    return os.environ.get(FOLLOW) == "1"


def outside_error(path: Path, what: str, names: Iterable[str]) -> OutsideError:
    """The error for values that lie elsewhere."""
    # What is printed comes from a stranger, and could hold escape codes.
    shown = shorten_list([ascii(name)[1:-1] for name in dict.fromkeys(names)])
    return OutsideError(
        f"{what} takes its values from other files, which were not read: {shown}",
        remedy=f"if you trust it, set {FOLLOW}=1 in the environment, and start again",
        path=path,
    )


def is_regular(path: Path) -> bool:
    """Whether it is a file that can be opened without waiting; a link to one is."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False
