"""Where an image that is restored comes from, as far as somebody knows it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from napari_scsc.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The files that a restoration reads, for the recipe of its result.

    Made by whoever opens the files: a batch, the dock. The functions of Python get arrays.

    Attributes
    ----------
    path, mask, bank : str, optional
        The files of the image, of its mask and of the filters, as the user named them.
    key : str, optional
        Which array of the file of the image it is.
    folder : str
        The folder that these names begin in, seen from the folder of the result.
    command, script : str
        The shell line, and the lines of Python, that do the same. They are for people: nothing
        ever runs them.
    digest : str
        Of the values and the mask that the image must have; see ``data.fingerprint``. Empty if it
        may be any.
    """

    path: str | None = None
    mask: str | None = None
    bank: str | None = None
    key: str | None = None
    folder: str = ""
    command: str = ""
    script: str = ""
    digest: str = ""

    def locate(self, path: str, result: Path) -> Path:
        """Where a file with one of these names is, if its result is at ``result``."""
        here = result.absolute().parent
        found = Path(os.path.normpath(here / self.folder / path))
        if found.drive.startswith("\\\\") and found.drive != here.drive:
            raise UserError(  # looking there would tell a stranger who asks
                "is on another computer, and is not looked for there", path=str(found)
            )
        return found


def folder_seen_from(result: Path) -> str:
    """The folder that this process works in, seen from the folder of a result."""
    try:
        return os.path.relpath(os.getcwd(), result.absolute().parent)
    except ValueError:  # on another drive
        return os.getcwd()
