"""The images of a batch: the files that are meant, how they are opened, and what their axes are."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from os.path import abspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_scsc.errors import PathNotFoundError, UserError, message_of
from napari_scsc.io.filenames import natural_key
from napari_scsc.io.formats import is_zarr, open_file

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.model.bank import FilterBank

STANDARD_INPUT = "-"
"""What a front end that can read from a pipe calls it."""


def find_inputs(
    items: Sequence[str], pattern: str | None = None, *, keep_missing: bool = False
) -> list[str]:
    """The files that are meant, each once.

    An item is a name, or a pattern of names for shells that do not know them. With ``pattern``,
    a folder stands for those of its files that match it. With ``keep_missing``, a name of which
    there is no file stays in the list, unless there is none of any.
    """
    found: list[str] = []
    missing: list[str] = []
    for item in items:
        is_name = item == STANDARD_INPUT or os.path.exists(item)
        matches = [item] if is_name else sorted(glob.glob(item, recursive=True))
        if not matches:
            missing.append(item)
            found.append(item)
        for match in matches:
            found += [match] if pattern is None else find_in_folder(match, pattern)
    if missing and (not keep_missing or set(found) == set(missing)):
        raise PathNotFoundError("there is no such file or folder", path=missing[0])
    return list(dict.fromkeys(found))


def find_in_folder(path: str, pattern: str) -> list[str]:
    """The images in a folder whose names match, in the order of people; of a file, itself.

    ``pattern`` is one, or several with spaces between them; small letters match large ones.
    """
    if not os.path.isdir(path) or is_zarr(Path(path)):
        return [path]
    patterns = pattern.lower().split()
    names = [
        name
        for name in os.listdir(path)
        if not name.startswith(".") and any(fnmatchcase(name.lower(), p) for p in patterns)
    ]
    if not names:
        raise PathNotFoundError(f"holds no file like {pattern}", path=path)
    return [os.path.join(path, name) for name in sorted(names, key=natural_key)]


def open_array(path: str, key: str | None = None) -> OpenedFile:
    """An input as a lazy array."""
    if holds_codes(path):
        raise UserError("holds codes, not an image", path=path)
    return open_file(path, key)


def holds_codes(path: str) -> bool:
    """Whether these are codes; of what is no zarr, nothing is opened."""
    if not Path(path, "zarr.json").exists():
        return False
    from napari_scsc.io.codes import is_codes

    return is_codes(path)


def find_axes(image: OpenedFile, kind: str | None, axes: str | Axes | None) -> Axes:
    """What the axes are: as the user says, else as the file does; those of length 1 put aside."""
    from napari_scsc.data.axes import (
        Axes,
        check_kind_of,
        letter_of,
        long_axes,
        resolve,
        split_axes,
        with_short_axes,
    )

    shape, labels, found = tuple(image.array.shape), image.labels, None
    kept = long_axes(shape)
    lengths = [shape[i] for i in kept]
    if isinstance(axes, Axes):
        check_kind_of(axes, kind)
        if len(axes.labels) == len(shape):
            return axes
        found = resolve(lengths, None, axes)
    elif axes is not None:
        said = split_axes(axes)
        if len(said) == len(shape):
            labels = labels or tuple(letter_of(item.partition(":")[0]) for item in said)
            said = tuple(said[i] for i in kept)
        found = resolve(lengths, kind, said)
    elif labels is not None:
        with suppress(ValueError):  # names that say nothing, or not what the user says
            found = resolve(lengths, kind, [labels[i] for i in kept])
    if found is None:
        found = resolve(lengths, kind, name=image.name)
    return with_short_axes(found, shape, labels)


def load_bank(path: str | None) -> FilterBank | None:
    """The filters of a file, if one is given."""
    from napari_scsc.model.bank import FilterBank

    return None if path is None else FilterBank.load(path)


def load_mask(path: str | None) -> Any:
    """Where something is missing, if a mask is given."""
    if path is None:
        return None
    with naming_inputs([path]):
        return open_array(path).array


def load_frames(path: str) -> Any:
    """Dark frames, all of them in memory."""
    import numpy as np

    with naming_inputs([path]):
        return np.asarray(open_array(path).array)


@contextmanager
def naming_inputs(paths: list[str]) -> Iterator[None]:
    """Let an error of a job say which of its inputs it is about, by the name that was given."""
    names = ["standard input" if path == STANDARD_INPUT else path for path in paths]
    only = names[0] if len(names) == 1 else None
    try:
        yield
    except UserError as error:
        message = error.message
        if message.item is not None:
            error.about(path=names[message.item - 1], item=None)
        elif only and message.path in (None, abspath(only)):
            error.about(path=only)
        raise
    except (ValueError, TypeError) as error:  # of a library, which knows of no file
        raise UserError(message_of(error).text, path=only) from error
