"""Pictures in files of their own."""

from __future__ import annotations

import contextlib
import importlib.util
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from napari_scsc.io.filenames import lengths, some

Array = NDArray[Any]


def read_picture(file: Path) -> Array:
    """The values of a picture: (y, x), or (y, x, c)."""
    import imageio.v3 as iio

    with _picture(file) as (stream, plugin):
        return np.asarray(iio.imread(stream, plugin=plugin))


def read_colours(file: Path) -> Array:
    """Red, green and blue of a picture, without what may follow them."""
    return read_picture(file)[..., :3]


def read_grey(file: Path) -> Array:
    """The one value that each pixel of a picture has, (y, x)."""
    image = read_picture(file)
    if image.ndim == 3 and not is_grey(image):
        raise ValueError(f"{file}: is in colour, but a band of a scene has one value a pixel")
    return image if image.ndim == 2 else image[..., 0]


def is_grey(image: Array) -> bool:
    """Whether red, green and blue of all pixels are the same."""
    return bool((image[..., 1:3] == image[..., :1]).all())


def common_look(files: Sequence[Path]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of all the images, read from their headers."""
    looks = {file: _properties(file) for file in files}
    usual, _ = Counter(looks.values()).most_common(1)[0]
    odd = [f"{file.name} has {_say(look)}" for file, look in looks.items() if look != usual]
    if odd:
        raise ValueError(
            f"{files[0].parent}: all images of one scene must have the same size and type. Most "
            f"have {_say(usual)}, but {some(odd)}"
        )
    return usual


def _properties(file: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    import imageio.v3 as iio

    with _picture(file) as (stream, plugin):
        found = iio.improps(stream, plugin=plugin)
    return tuple(found.shape), np.dtype(found.dtype)


@contextlib.contextmanager
def _picture(file: Path) -> Iterator[tuple[BinaryIO, str]]:
    """An open image file and the one plugin to read it with; what it raises names the file.

    Left alone, imageio tries one plugin after the other on a damaged file, and leaves it open.
    """
    has_tifffile = importlib.util.find_spec("tifffile") is not None
    is_tiff = file.suffix.lower() in (".tif", ".tiff")
    with open(file, "rb") as stream:
        try:
            yield stream, "tifffile" if is_tiff and has_tifffile else "pillow"
        except Exception as error:  # the plugins raise many kinds
            raise ValueError(f"{file}: not a readable image ({error})") from error


def _say(look: tuple[tuple[int, ...], np.dtype[Any]]) -> str:
    return f"{lengths(look[0])} {look[1]}"
