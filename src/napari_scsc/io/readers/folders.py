"""Folders of the bands of a scene or of the views of a light field."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.data import axes as axes_of
from napari_scsc.io.filenames import lengths, some
from napari_scsc.io.readers.layer import LayerData, image_layer
from napari_scsc.io.readers.picture_files import common_look, read_colours, read_grey
from napari_scsc.io.readers.series import find_series

Array = NDArray[Any]

_IN_MEMORY = 1 << 30  # bytes of images that are read at once, not anew at every look


def read_folder(path: str | os.PathLike[str]) -> list[LayerData]:
    """The bands (c, y, x) or the views (u, v, y, x) in a folder as one image layer.

    All images must have the same size and type. Views in colour make an RGB layer.
    """
    folder = Path(path)
    series = find_series(folder)
    if series is None:
        raise ValueError(
            f"{folder}: neither bands of a scene (name_ms_01.png, name_ms_02.png, ...) nor views "
            "of a light field (view_00_00.png, view_00_01.png, ...): open it with napari's own "
            "reader"
        )
    if series.absent:
        what = "bands" if series.kind == "multispectral" else "views"
        raise ValueError(f"{folder}: {what} are missing: {some(series.absent, '; ')}")
    shape, dtype = common_look(series.files)
    colours = len(shape) == 3 and shape[2] in (3, 4)
    if len(shape) != 2 and not colours:
        raise ValueError(
            f"{series.files[0]}: has {lengths(shape)} values, where an image with two axes is "
            "needed"
        )
    rgb = colours and series.kind == "light-field"
    read = read_colours if rgb else read_grey
    kept = (*shape[:2], 3) if rgb else shape[:2]
    data = _stack(series.files, read, kept, dtype, series.grid)
    labels = axes_of.PRESETS[series.kind].labels
    known = {"wavelengths": series.wavelengths} if series.wavelengths else {}
    return [image_layer(data, folder.name, labels, series.kind, rgb, known)]


def _stack(
    files: Sequence[Path],
    read: Callable[[Path], Array],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    grid: tuple[int, ...],
) -> Any:
    if len(files) * math.prod(shape) * dtype.itemsize <= _IN_MEMORY:
        whole = np.empty((len(files), *shape), dtype)
        for i, file in enumerate(files):
            whole[i] = read(file)
        return whole.reshape(grid + shape)
    import dask
    import dask.array

    lazily: Any = dask.delayed(read)
    from_delayed: Any = dask.array.from_delayed
    pieces = [from_delayed(lazily(file), shape, dtype) for file in files]
    stack: Any = dask.array.stack
    return stack(pieces).reshape(grid + shape)
