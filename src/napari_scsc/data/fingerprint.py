"""A digest of an image and its mask: tells whether a run goes on with the same data."""

from __future__ import annotations

import hashlib
import math
import os

import numpy as np

from napari_scsc.data.image import ImageArray
from napari_scsc.data.samples import ImageSamples, draw_tiles

_MAX_VALUES_READ_WHOLE = 1 << 26
_VALUES_PER_TILE, _MAX_TILES = 1 << 14, 64  # of an image that is not read whole


def digest(source: ImageSamples, *, whole: bool = True) -> str:
    """A digest of the values and of the mask, in hexadecimal digits.

    Of a large image, of one whose values have to be computed first, or without ``whole``, some
    tiles must do, and the size and the time of the file where that is known.
    """
    found = hashlib.blake2b(digest_size=16)
    source = source.without_cache()
    is_small = math.prod(source.image.shape) <= _MAX_VALUES_READ_WHOLE and not source.image.is_lazy
    if whole and is_small:
        places = draw_tiles(source, _MAX_VALUES_READ_WHOLE // 16, None, seed=0)
    else:
        places = draw_tiles(source, _VALUES_PER_TILE, _MAX_TILES, seed=0)
        found.update(_file_facts(source.image))
    for index, part in places:
        found.update(np.ascontiguousarray(source.read(index, part)).data)
        if source.image.missing is not None:  # else NaN among the values says all
            found.update(np.ascontiguousarray(source.missing(index, part)).data)
    return found.hexdigest()


def _file_facts(image: ImageArray) -> bytes:
    """Size and time of the file that an array is read from; empty if it is not one file."""
    if image.path is None:
        return b""
    facts = os.stat(image.path)
    return f"{facts.st_size} {facts.st_mtime_ns}".encode()
