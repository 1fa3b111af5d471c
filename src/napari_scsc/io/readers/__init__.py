"""Readers of napari: filter banks, folders of bands or views, lenslet images, cubes and videos.

Every reader gives layers whose axes are named and lie in napari's order, so that nobody has to say
what the data are. A name is given only where it is certain; what can be read in two ways is left to
the user. Nothing that is read can run code: no pickle is ever loaded.

``get_reader`` looks at names only. What it accepts:

- ``*.scsc``: a filter bank, as a layer of filters.
- A folder of the bands of one scene: ``name_ms_01.png`` to ``name_ms_31.png``, ``band_1.tif``,
  ``scene_450nm.png``, or any name with the numbers 1 to 31. A folder of the views of a light field:
  ``view_00_07.png`` with a full grid of numbers, or ``input_Cam000.png`` with a square number of
  them. Other folders are left to napari.
- A folder of zarr or OME-Zarr, which napari itself opens without scale, units and names of axes.
- A lenslet image whose name says how many views lie behind a lens: ``name_lenslet_9x9.png``, or
  ``name_eslf.png`` for the 14 x 14 of a Lytro Illum.
- ``*.npy``, ``*.npz``, ``*.mat``, ``*.h5`` and ``*.hdf5``: all arrays of numbers with 2 to 5 axes.
  The end of a name may spell the axes, as in ``cloth_yxc.npz``.
- ``*.gif``, and with a decoder ``*.mp4``, ``*.avi``, ``*.mov``, ``*.mkv`` and ``*.webm``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from napari_scsc.io.readers.banks import bank_layer, filter_labels, read_bank
from napari_scsc.io.readers.cube_files import ARRAYS
from napari_scsc.io.readers.cubes import read_cube
from napari_scsc.io.readers.folders import read_folder
from napari_scsc.io.readers.layer import LayerData
from napari_scsc.io.readers.lenslets import lenses_in, lenslet_to_views, read_lenslet
from napari_scsc.io.readers.series import find_series
from napari_scsc.io.readers.videos import read_video
from napari_scsc.io.readers.zarr_folders import read_zarr

__all__ = [
    "LayerData",
    "Reader",
    "bank_layer",
    "filter_labels",
    "get_reader",
    "lenslet_to_views",
    "read_bank",
    "read_cube",
    "read_folder",
    "read_lenslet",
    "read_video",
    "read_zarr",
]

Reader = Callable[[Any], list[LayerData]]

_BY_SUFFIX: dict[str, Callable[[Path], list[LayerData]]] = {
    ".scsc": read_bank,
    **dict.fromkeys(ARRAYS, read_cube),
    **dict.fromkeys((".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm"), read_video),
}


def get_reader(path: str | os.PathLike[str] | Sequence[str]) -> Reader | None:
    """Return the function that reads ``path`` into layers, or None if it is not ours."""
    if not isinstance(path, str | os.PathLike):
        if len(path) != 1:
            return None
        path = path[0]
    place = Path(path)
    read: Callable[[Path], list[LayerData]] | None
    if place.is_dir():
        read = _reader_of_folder(place)
    elif not place.is_file():
        read = None
    elif lenses_in(place.name):
        read = read_lenslet
    else:
        read = _BY_SUFFIX.get(place.suffix.lower())
    if read is None:
        return None
    chosen = read
    return lambda _: chosen(place)


def _reader_of_folder(place: Path) -> Callable[[Path], list[LayerData]] | None:
    from napari_scsc.io.sources.zarr_files import is_zarr

    if is_zarr(place):
        return read_zarr
    return read_folder if find_series(place) else None
