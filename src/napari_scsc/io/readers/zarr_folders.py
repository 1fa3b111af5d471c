"""Zarr and OME-Zarr as layers that keep their scale, units and names of axes."""

from __future__ import annotations

import os
from typing import Any

from napari_scsc.io.readers.cube_axes import are_colours
from napari_scsc.io.readers.layer import LayerData, image_layer


def read_zarr(path: str | os.PathLike[str]) -> list[LayerData]:
    """The first image of a zarr, with all of its levels, none of which is read yet."""
    import dask.array

    from napari_scsc.io.sources import open_source
    from napari_scsc.io.sources.zarr_files import level_keys

    opened = open_source(path)
    coarser = [open_source(path, key).array for key in level_keys(path)[1:]]
    arrays = [opened.array, *coarser]
    from_array: Any = dask.array.from_array  # it has no annotations
    # A name made from the path would stay the same when the values change, and caches go by it.
    levels = [from_array(array, chunks=array.chunks, name=False) for array in arrays]
    labels, last = opened.labels or (), opened.array.ndim - 1
    is_rgb = labels[-1:] == ("c",) and are_colours(opened.array, last)
    n = last if is_rgb else last + 1
    data: Any = levels if coarser else levels[0]
    layer = image_layer(data, opened.name, labels[:n], None, is_rgb)
    layer[1]["multiscale"] = bool(coarser)
    for word, values in {"scale": opened.scale, "units": opened.units}.items():
        if values is not None:
            layer[1][word] = values[:n]
    return [layer]
