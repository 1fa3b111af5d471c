"""A digest of an image and its mask: tells whether a run goes on with the same data.

It is that of the values, however they are stored: a copy of a file has the same.
"""

from __future__ import annotations

import hashlib
import math
import os
from typing import Any

import numpy as np

from napari_scsc._types import Region
from napari_scsc.data.image import ImageArray
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.errors import UserError

_MAX_VALUES_READ_WHOLE = 1 << 26
_VALUES_PER_TILE, _MAX_TILES = 1 << 14, 64  # of an image that is not read whole
_FEW_TILES = 6
_WHOLE, _TILES = "all", "tiles"  # what a digest was made of


def digest(source: ImageSamples, *, whole: bool = True) -> str:
    """A digest of the values and of the mask: what was read, and hexadecimal digits.

    Of a large image, of one whose values have to be computed first, or without ``whole``, some
    tiles must do; ``file_facts`` tells more of a file.
    """
    found = hashlib.blake2b(digest_size=16)
    source = source.without_cache()
    is_small = math.prod(source.image.shape) <= _MAX_VALUES_READ_WHOLE and not source.image.is_lazy
    part = _WHOLE if whole and is_small else _TILES
    if part == _WHOLE:
        places = draw_tiles(source, _MAX_VALUES_READ_WHOLE // 16, None, seed=0)
    else:
        places = draw_tiles(source, _VALUES_PER_TILE, _MAX_TILES, seed=0)
    for index, region in places:
        _add_tile(found, source, index, region)
    return f"{part}:{found.hexdigest()}"


def digest_some(source: ImageSamples) -> str:
    """A digest of a few tiles, which tells whether two processes see the same image."""
    found = hashlib.blake2b(digest_size=16)
    source = source.without_cache()
    for index, region in draw_tiles(source, _VALUES_PER_TILE, _FEW_TILES, seed=1):
        _add_tile(found, source, index, region)
    return found.hexdigest()


def digest_tile(source: ImageSamples, index: tuple[int, ...], region: Region) -> str:
    """A digest of the values and the mask of a tile, which stays in the memory of ``source``."""
    found = hashlib.blake2b(digest_size=16)
    _add_tile(found, source, index, region)
    return found.hexdigest()


def _add_tile(found: Any, source: ImageSamples, index: tuple[int, ...], region: Region) -> None:
    found.update(np.ascontiguousarray(source.read(index, region)).data)
    if source.image.missing is not None:  # else NaN among the values says all
        found.update(np.ascontiguousarray(source.missing(index, region)).data)


def image_changed(path: str | os.PathLike[str] | None = None) -> UserError:
    """The error for an image that is no longer what was read of it; ``path`` keeps its blocks."""
    rest = "" if path is None else f", and remove {os.fspath(path)}"
    return UserError(
        "the image, or its mask, changed while it was restored: parts of the result would be of "
        "one, and parts of the other",
        remedy=f"begin again when nothing writes to it any more{rest}",
    )


def is_of_all(known: str) -> bool:
    """Whether a digest was made of all values."""
    return known.startswith(f"{_WHOLE}:")


def has_digest(source: ImageSamples, known: str) -> bool:
    """Whether the values and the mask are those that a digest was made of."""
    return digest(source, whole=is_of_all(known)) == known


def file_facts(image: ImageArray) -> str:
    """Size and time of the file that an array is read from; empty if it is not one file."""
    if image.path is None:
        return ""
    facts = os.stat(image.path)
    return f"{facts.st_size} {facts.st_mtime_ns}"
