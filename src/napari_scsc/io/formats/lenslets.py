"""Lenslet images: the views of a light field, pixel by pixel beside each other."""

from __future__ import annotations

import re
from pathlib import Path

from napari_scsc._types import Array
from napari_scsc.errors import UserError
from napari_scsc.io.formats.opened_file import OpenedFile, describe, refuse_key
from napari_scsc.io.formats.pictures import read_picture

_LYTRO_ILLUM = 14, 14  # views of the camera whose files end with "_eslf"


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a lenslet image as the views that it holds, (u, v, y, x); its name says how many."""
    refuse_key(path, key)
    image = read_picture(path)
    rgb = image.ndim == 3 and image.shape[2] in (3, 4)
    try:
        views = lenslet_to_views(image[..., :3] if rgb else image, *_count_views(path.stem))
    except UserError as error:
        raise error.about(path=str(path)) from None
    return describe(path, views, labels="uvyxc" if rgb else "uvyx", kind="light-field", rgb=rgb)


def _count_views(stem: str) -> tuple[int, int]:
    """How many views lie behind a lens, from top to bottom and from left to right."""
    match = re.search(r"_(\d+)x(\d+)$", stem)
    return (int(match[1]), int(match[2])) if match else _LYTRO_ILLUM


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
        raise UserError(f"a lenslet image has the axes (y, x) or (y, x, c), not {image.shape}")
    height, width = image.shape[:2]
    if n_u < 1 or n_v < 1 or height % n_u or width % n_v or not image.size:
        raise UserError(
            f"an image of {height} x {width} pixels cannot have {n_u} x {n_v} pixels behind each "
            "lens: its height and width must be multiples of them"
        )
    split = image.reshape(height // n_u, n_u, width // n_v, n_v, *image.shape[2:])
    return split.transpose(1, 3, 0, 2, *range(4, split.ndim))
