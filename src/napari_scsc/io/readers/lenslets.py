"""Lenslet images: the views of a light field, pixel by pixel beside each other."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from napari_scsc.io.readers.layer import LayerData, image_layer
from napari_scsc.io.readers.picture_files import read_picture

Array = NDArray[Any]

_LENSES = re.compile(r".*_lenslet_(\d{1,2})x(\d{1,2})\.(?:png|tif|tiff)", re.IGNORECASE)


def lenses_in(name: str) -> tuple[int, int] | None:
    """How many views lie behind a lens, from top to bottom and from left to right, or None."""
    if name.lower().endswith("_eslf.png"):
        return 14, 14
    match = _LENSES.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def lenslet_to_views(image: Array, n_u: int, n_v: int) -> Array:
    """The views of a light field from an image with ``n_u`` x ``n_v`` pixels behind each lens.

    Parameters
    ----------
    image : ndarray, (y n_u, x n_v) or (y n_u, x n_v, c)
        Pixel ``(i n_u + u, j n_v + v)`` is what view ``(u, v)`` sees at ``(i, j)``.
    n_u, n_v : int
        How many views there are, from top to bottom and from left to right.

    Returns
    -------
    ndarray, (n_u, n_v, y, x) or (n_u, n_v, y, x, c)
        No copy: writing to it writes to the image.
    """
    if image.ndim not in (2, 3):
        raise ValueError(f"a lenslet image has the axes (y, x) or (y, x, c), not {image.shape}")
    height, width = image.shape[:2]
    if n_u < 1 or n_v < 1 or height % n_u or width % n_v or not image.size:
        raise ValueError(
            f"an image of {height} x {width} pixels cannot have {n_u} x {n_v} pixels behind each "
            "lens: its height and width must be multiples of them"
        )
    split = image.reshape(height // n_u, n_u, width // n_v, n_v, *image.shape[2:])
    return split.transpose(1, 3, 0, 2, *range(4, split.ndim))


def read_lenslet(path: str | os.PathLike[str]) -> list[LayerData]:
    """A lenslet image as the views that it holds, (u, v, y, x); its name says how many."""
    place = Path(path)
    lenses = lenses_in(place.name)
    if lenses is None:
        raise ValueError(
            f"{place}: the name must say how many pixels lie behind a lens, as in "
            "scene_lenslet_9x9.png"
        )
    image = read_picture(place)
    rgb = image.ndim == 3 and image.shape[2] in (3, 4)
    try:
        views = lenslet_to_views(image[..., :3] if rgb else image, *lenses)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return [image_layer(views, place.stem, tuple("uvyx"), "light-field", rgb)]
