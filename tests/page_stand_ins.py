"""Small data under the names that a page takes for granted: ``image``, ``volume.zarr``, ..."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile
import zarr

from napari_scsc import learn, samples


def names_for(page):
    """The names that the blocks of Python on a page do not make themselves."""
    return {name: MAKE_NAME[name]() for name in NAMES.get(page, ())}


def make_files(page):
    """Make the files that the commands of a page read, in the working folder."""
    for name in FILES.get(page, ()):
        MAKE_FILE[name](Path(name))


def _cells(seed=0):
    return samples.noisy_tissue((72, 64), seed=seed)


def _video():
    return samples.video((8, 48, 48))


def _dask_stack():
    import dask.array

    stack = np.tile(samples.stack((26, 32, 32)), (4, 1, 1))  # a page takes its plane 100
    return dask.array.from_array(stack, chunks=(26, 32, 32))


def _bank_of_video():
    return learn([_video()], kind="video", model="scsc", n_base=4, n_filters=8, tiles=2)


def _tif(seed):
    return lambda path: tifffile.imwrite(path, _cells(seed))


def _columns(path):
    tifffile.imwrite(path, (np.arange(64) == 20) * np.ones((72, 64), np.uint8))


def _night(path):
    path.mkdir()
    for seed in range(2):
        tifffile.imwrite(path / f"well-{seed}.tif", _cells(seed))


def _zarr(path):
    video = _video()
    store = zarr.create_array(
        str(path),
        shape=video.shape,
        chunks=(4, 24, 24),
        dtype=video.dtype,
        dimension_names=("t", "y", "x"),
    )
    store[:] = video
    return store


NAMES = {
    "README.md": ("image", "video", "missing", "first", "second", "third"),
    "docs/index.md": ("image", "missing"),
    "docs/large-data.md": ("volume", "dask_array", "bank"),
}
MAKE_NAME = {
    "image": _cells,
    "first": _cells,
    "second": lambda: _cells(1),
    "third": lambda: _cells(2),
    "missing": lambda: samples.with_holes((72, 64))[1],
    "video": _video,
    "volume": lambda: _zarr(Path("a-volume.zarr")),
    "dask_array": _dask_stack,
    "bank": _bank_of_video,
}

FILES = {
    "README.md": ("cells.tif", "volume.zarr"),
    "docs/index.md": ("cells.tif",),
    "docs/command-line.md": ("cells.tif", "dead-pixels.tif", "embryo.npy", "night1", "volume.zarr"),
    "docs/how-to/batch.md": ("night1",),
    "docs/large-data.md": ("volume.zarr",),
}
MAKE_FILE = {
    "cells.tif": _tif(0),
    "dead-pixels.tif": _columns,
    "embryo.npy": lambda path: np.save(path, samples.stack((8, 48, 48))),
    "night1": _night,
    "volume.zarr": _zarr,
}
