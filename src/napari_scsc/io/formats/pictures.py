"""Pictures: PNG, JPEG, BMP, PGM and PPM, and the images of folders."""

from __future__ import annotations

import contextlib
import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.io.filenames import format_shape, shorten_list
from napari_scsc.io.formats.opened_file import OpenedFile, describe, refuse_key
from napari_scsc.io.formats.outside import is_regular
from napari_scsc.io.formats.tiff_guard import check_packed_pages

Look = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an image."""


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a picture, which is read whole."""
    refuse_key(path, key)
    image = read_picture(path)
    rgb = image.ndim == 3 and image.shape[2] in (3, 4)
    kind = "rgb" if rgb else "image" if image.ndim == 2 else None
    return describe(path, image, labels=("y", "x", "c")[: image.ndim], kind=kind, rgb=rgb)


def read_picture(file: Path) -> Array:
    """The values of a picture: (y, x), or (y, x, c)."""
    import imageio.v3 as iio

    with _open_picture(file) as (stream, plugin):
        return np.asarray(iio.imread(stream, plugin=plugin))


def read_colours(file: Path) -> Array:
    """Red, green and blue of a picture, without what may follow them."""
    return read_picture(file)[..., :3]


def read_grey(file: Path) -> Array:
    """The one value that each pixel of a picture has, (y, x)."""
    image = read_picture(file)
    if image.ndim == 3 and not is_grey(image):
        raise UserError("is in colour, but a band of a scene has one value a pixel", path=file)
    return image if image.ndim == 2 else image[..., 0]


def is_grey(image: Array) -> bool:
    """Whether red, green and blue of all pixels are the same."""
    return bool((image[..., 1:3] == image[..., :1]).all())


def common_look(files: Sequence[Path]) -> Look:
    """Shape and type of all the images, read from their headers."""
    looks = {file: _read_look(file) for file in files}
    usual, _ = Counter(looks.values()).most_common(1)[0]
    odd = [f"{file.name} has {_say(look)}" for file, look in looks.items() if look != usual]
    if odd:
        raise UserError(
            "all images of one scene must have the same size and type. Most have "
            f"{_say(usual)}, but {shorten_list(odd)}",
            path=files[0].parent,
        )
    return usual


def _read_look(file: Path) -> Look:
    import imageio.v3 as iio

    with _open_picture(file) as (stream, plugin):
        found = iio.improps(stream, plugin=plugin)
    return tuple(found.shape), np.dtype(found.dtype)


@contextlib.contextmanager
def _open_picture(file: Path) -> Iterator[tuple[BinaryIO, str]]:
    """An open image file and the one plugin to read it with; what it raises names the file.

    Left alone, imageio tries one plugin after the other on a damaged file, and leaves it open.
    """
    if not is_regular(file):  # opening a pipe would wait for ever
        raise UserError("not a file", path=file)
    has_tifffile = importlib.util.find_spec("tifffile") is not None
    is_tiff = file.suffix.lower() in (".tif", ".tiff")
    with open(file, "rb") as stream:
        try:
            if is_tiff and has_tifffile:
                check_packed_pages(stream)
            yield stream, "tifffile" if is_tiff and has_tifffile else "pillow"
        except Exception as error:  # the plugins raise many kinds
            raise FileFormatError(f"not a readable image ({error})", path=file) from error


def _say(look: Look) -> str:
    return f"{format_shape(look[0])} {look[1]}"
