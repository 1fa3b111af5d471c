"""What the tests of formats share: one cube, written to files of many kinds."""

from __future__ import annotations

import h5py
import imageio.v3 as iio
import numpy as np
import tifffile
import zarr

from napari_scsc.io.stores import store_for

RNG = np.random.default_rng(0)
CUBE = RNG.integers(0, 60_000, (5, 30, 40), "u2")


def equals(array, values):
    np.testing.assert_array_equal(array[...], values)
    assert array.shape == values.shape
    assert array.dtype == values.dtype.newbyteorder("=")
    assert array.dtype.isnative


def write_h5(path, **datasets):
    with h5py.File(path, "w") as file:
        for key, values in datasets.items():
            file.create_dataset(key, data=values, chunks=(1, *values.shape[1:]))
    return path


def write_zarr(path, values=None, labels="zyx", **more):
    values = CUBE if values is None else values
    store = store_for(path, values.shape, values.dtype, values.shape, labels=labels, **more)
    store.create()
    store.write(tuple(slice(0, n) for n in values.shape), values)
    store.finish()
    return path


def write_series(folder, names, images):
    folder.mkdir(parents=True)
    for name, image in zip(names, images, strict=True):
        iio.imwrite(folder / name, image)
    return folder


def npy(path):
    np.save(path / "a.npy", CUBE)
    return path / "a.npy"


def npy_fortran(path):
    np.save(path / "a.npy", np.asfortranarray(CUBE))
    return path / "a.npy"


def npy_swapped(path):
    np.save(path / "a.npy", CUBE.astype(">u2"))
    return path / "a.npy"


def tiff(path, **how):
    tifffile.imwrite(path / "a.tif", CUBE, **{"metadata": {"axes": "ZYX"}, **how})
    return path / "a.tif"


def tiff_swapped(path):
    return tiff(path, byteorder=">")


def tiff_tiled(path):
    return tiff(path, tile=(16, 16))


def tiff_strips(path):
    return tiff(path, compression="zlib", rowsperstrip=7)


def tiff_imagej(path):
    return tiff(path, imagej=True)


def tiff_ome(path):
    return tiff(path, ome=True, compression="zlib", byteorder=">")


def tiff_pyramid(path):
    with tifffile.TiffWriter(path / "a.tif", ome=True) as file:
        file.write(CUBE, subifds=1, tile=(16, 16), metadata={"axes": "ZYX"})
        file.write(CUBE[:, ::2, ::2], subfiletype=1, tile=(16, 16))
    return path / "a.tif"


def hdf5(path):
    return write_h5(path / "a.h5", data=CUBE)


def hdf5_swapped(path):
    return write_h5(path / "a.hdf5", data=CUBE.astype(">u2"))


def matlab(path):
    """A file of MATLAB 7.3, which is HDF5 after a header, with its axes in the opposite order."""
    with h5py.File(path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("cube", data=CUBE.T, chunks=(40, 30, 1))
    with open(path / "a.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")
    return path / "a.mat"


def zarr_array(path):
    return write_zarr(path / "a.zarr")


def zarr_2(path):
    zarr.create_array(path / "a.zarr", data=CUBE, chunks=(1, 16, 16), zarr_format=2)
    return path / "a.zarr"


def ome_zarr(path):
    return write_zarr(path / "a.ome.zarr")


def bands(path):
    return write_series(path / "scene", [f"x_ms_{i:02d}.png" for i in range(1, 6)], CUBE)


def numbered(path):
    return write_series(path / "run.1", [f"img_{i}.tif" for i in (8, 9, 10, 11, 12)], CUBE)


LAZY = [npy, npy_fortran, npy_swapped, tiff, tiff_swapped, tiff_tiled, tiff_strips, tiff_imagej]
LAZY += [tiff_ome, tiff_pyramid, hdf5, hdf5_swapped, matlab, zarr_array, zarr_2, ome_zarr, bands]
LAZY += [numbered]
