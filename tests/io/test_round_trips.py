"""Files of every kind, restored as a batch does it, and read again: all that is said is kept."""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import dask.array as da
import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
import tifffile
import xarray as xr
import zarr
from ome_tools import make_group, noisy, write_image, write_plate
from vendor_tools import write_czi

from napari_scsc.batch.job import iter_batch
from napari_scsc.batch.request import BatchRequest
from napari_scsc.io.channels import Channel
from napari_scsc.io.formats import open_file, vendor_files
from napari_scsc.io.stores import store_for

SIZES = {"t": 2, "c": 2, "z": 3, "y": 16, "x": 18, "u": 3, "v": 3}
SCALE = {"t": 2.0, "c": 1.0, "z": 0.5, "y": 0.25, "x": 0.125}
UNITS = {"t": "second", "z": "micrometer", "y": "micrometer", "x": "micrometer"}
START = {"z": -3.0, "y": 100.0, "x": 200.5}
CHANNELS = (Channel("DAPI", "0000FF", (100, 2000)), Channel("GFP", "00FF00", (50.5, 900)))


def shape_of(axes):
    return tuple(SIZES[axis] for axis in axes)


def values_of(axes, dtype="u2"):
    return noisy(shape_of(axes)).astype(dtype)


def stored(axes, dtype="u2", channels=CHANNELS, **said):
    """A file as our stores write it, with all that can be said of its axes."""

    def make(path):
        values = values_of(axes, dtype)
        shown = channels if "c" in axes or len(channels) == 1 else ()
        known = {
            "scale": [SCALE.get(a, 1.0) for a in axes],
            "units": [UNITS.get(a, "pixel") for a in axes],
            "translation": [START.get(a, 0.0) for a in axes],
        }
        store = store_for(
            path,
            values.shape,
            dtype,
            values.shape,
            labels=axes,
            channels=shown,
            **{**known, **said},
        )
        store.create()
        store.write(tuple(slice(0, n) for n in values.shape), values)
        store.finish()

    return make


def ome_zarr(axes, version):
    return lambda path: write_image(make_group(path, version), values_of(axes), version)


def plate(version):
    images = [values_of("czyx"), values_of("czyx")]
    return lambda path: write_plate(path, {"A/1": images, "B/2": images[:1]}, version)


def plain_zarr(version):
    def make(path):
        zarr.create_array(path, data=values_of("yx"), chunks=(8, 8), zarr_format=version)

    return make


def tiff(values, **how):
    return lambda path: tifffile.imwrite(path, values, **how)


def colours(dtype="u1"):
    scaled = np.stack([values_of("yx")] * 3, -1) / 2000 * np.iinfo(dtype).max
    return scaled.clip(0, np.iinfo(dtype).max).astype(dtype)


def imagej(axes, **more):
    values = values_of(axes)
    metadata = {"axes": axes.upper(), "unit": "um", "spacing": 0.5, "finterval": 2, **more}
    return tiff(values, imagej=True, resolution=(8, 4), metadata=metadata)


def two_series(path):
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(values_of("yx")[:8], metadata={"axes": "YX"})
        described = {"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeZ": 2.0}
        file.write(values_of("zyx"), photometric="minisblack", metadata=described)


def pyramid(path):
    values = values_of("yx")
    described = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    with tifffile.TiffWriter(path, ome=True) as file:
        file.write(values, subifds=1, tile=(16, 16), compression="zlib", metadata=described)
        file.write(values[::2, ::2], subfiletype=1, tile=(16, 16), compression="zlib")


def npy(axes):
    return lambda path: np.save(path, values_of(axes))


def npz(path):
    np.savez(path, cube_czyx=values_of("czyx"), mask=np.eye(4, dtype=bool))


def mat(path):
    scipy.io.savemat(path, {"cube_yxc": np.moveaxis(values_of("cyx"), 0, -1)})


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["deep/video"] = values_of("tyx", "f4")
        file["other"] = values_of("tzyx")


def picture(values):
    return lambda path: iio.imwrite(path, values)


def folder(names):
    def make(path):
        path.mkdir()
        for number, name in enumerate(names):
            iio.imwrite(path / name, noisy((16, 18), number))

    return make


def numbered(path):
    path.mkdir()
    for number in range(4):
        values = noisy((16, 18), number)
        tifffile.imwrite(path / f"z{number}.tif", values, resolution=(2e4, 4e4), resolutionunit=3)


def gif(path):
    iio.imwrite(path, (values_of("tyx") / 8).clip(0, 255).astype("u1"))


def czi(path):
    write_czi(path, values_of("tczyx"))


def vendor(path):
    path.write_text("")


class StandIn:
    """What bioio's readers are asked for; see test_vendor_files.py for real ones."""

    scenes = ("first", "second")
    channel_names = ("DAPI", "GFP")
    scale = types.SimpleNamespace(T=2.0, C=None, Z=0.5, Y=0.25, X=0.125)
    metadata = None

    def __init__(self, path):
        self.axes = "tczyx"

    def set_scene(self, number):
        self.axes = ("tczyx", "czyx")[number]

    @property
    def xarray_dask_data(self):
        return xr.DataArray(da.from_array(values_of(self.axes)), dims=list(self.axes.upper()))


bands = folder([f"scene_ms_{i:02d}.png" for i in range(1, 6)])
views = folder([f"view_{u:02d}_{v:02d}.png" for u in range(3) for v in range(3)])
LUTS = {"Labels": ["a", "b"] * 6, "Ranges": (1.0, 9.0, 0.0, 7.0), "mode": "composite"}
TILED = {"tile": (16, 16), "metadata": {"axes": "ZYX"}, "photometric": "minisblack"}
ONE = (Channel("DAPI", "0000FF", (100, 2000)),)

# How it is made, its name, the name of the result, and what else the batch is told.
ROWS = [
    (ome_zarr("tczyx", "0.5"), "a.ome.zarr", "b.ome.zarr", {}),
    (ome_zarr("tczyx", "0.4"), "a.ome.zarr", "b.ome.zarr", {}),
    (ome_zarr("czyx", "0.4"), "a.ome.zarr", "b.zarr", {}),
    (ome_zarr("tczyx", "0.4"), "a.ome.zarr", "b.ome.tif", {}),
    (ome_zarr("czyx", "0.5"), "a.ome.zarr", "b.tif", {}),
    (ome_zarr("czyx", "0.5"), "a.ome.zarr", "b.ome.zarr", {"zarr_format": "0.4"}),
    (stored("zyx", "f4"), "a.ome.zarr", "b.ome.zarr", {}),
    (stored("yx", "u1", ONE), "a.ome.zarr", "b.ome.zarr", {}),
    (plate("0.4"), "a.ome.zarr", "b.ome.zarr", {"key": "A/1/1"}),
    (plate("0.5"), "a.ome.zarr", "b.ome.tif", {"key": "B/2/0"}),
    (stored("tczyx"), "a.zarr", "b.zarr", {}),
    (plain_zarr(2), "a.zarr", "b.zarr", {}),
    (plain_zarr(3), "a.zarr", "b.tif", {}),
    (stored("tzcyx"), "a.ome.tif", "b.ome.tif", {}),
    (stored("tczyx"), "a.ome.tif", "b.ome.zarr", {}),
    (stored("tczyx", "f4"), "a.ome.tiff", "b.ome.tiff", {}),
    (stored("cyx", "u1"), "a.ome.tif", "b.zarr", {}),
    (stored("zyx", "i4", ONE), "a.ome.tif", "b.ome.tif", {}),
    (stored("yx", "f8", ONE), "a.ome.tif", "b.tif", {}),
    (tiff(colours(), metadata={"axes": "YXS"}), "a.ome.tif", "b.ome.tif", {}),
    (tiff(colours("u2"), metadata={"axes": "YXS"}), "a.ome.tif", "b.tif", {}),
    (two_series, "a.ome.tif", "b.ome.tif", {"key": "1"}),
    (pyramid, "a.ome.tif", "b.ome.tif", {}),
    (stored("tzcyx"), "a.tif", "b.tif", {}),
    (imagej("tzcyx", **LUTS), "a.tif", "b.tif", {}),
    (imagej("tzcyx", **LUTS), "a.tif", "b.ome.tif", {}),
    (imagej("zyx", zorigin=4.0), "a.tif", "b.tif", {}),
    (tiff(colours(), imagej=True), "a.tif", "b.tif", {}),
    (stored("uvyx", scale=None, units=None, translation=None), "a.tif", "b.tif", {}),
    (stored("czyx", "i8"), "a.tif", "b.tif", {}),
    (tiff(values_of("yx"), resolution=(2e4, 4e4), resolutionunit=3), "a.tif", "b.tif", {}),
    (tiff(values_of("zyx"), **TILED), "a.tif", "b.ome.zarr", {}),
    (npy("tyx"), "a_tyx.npy", "b_tyx.npy", {}),
    (npy("zyx"), "a_zyx.npy", "b.ome.tif", {}),
    (npz, "a.npz", "b.ome.zarr", {}),
    (mat, "a.mat", "b.tif", {}),
    (hdf5, "a.h5", "b.ome.zarr", {"key": "deep/video"}),
    (picture(colours()), "a.png", "b.tif", {}),
    (picture(values_of("yx")), "a.png", "b.ome.tif", {}),
    (bands, "scene", "b.tif", {}),
    (views, "field", "b.tif", {}),
    (picture(noisy((48, 54))), "a_lenslet_3x3.png", "b.tif", {}),
    (numbered, "slices", "b.ome.zarr", {}),
    (gif, "video.gif", "b.tif", {}),
    (czi, "a.czi", "b.ome.tif", {}),
    (czi, "a.czi", "b.ome.zarr", {}),
    (vendor, "a.nd2", "b.ome.tif", {}),
    (vendor, "a.lif", "b.ome.zarr", {"key": "second"}),
]


@pytest.fixture
def stand_in(monkeypatch):
    module = types.ModuleType("stand_in_for_bioio")
    module.Reader = StandIn
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for suffix in (".nd2", ".lif"):
        package = vendor_files._Package(module.__name__, "bioio")
        monkeypatch.setitem(vendor_files._PACKAGES, suffix, package)


def restored(path, out, **told):
    options = {"quality": "draft", "sigma": 30.0}
    *_, last = iter_batch(BatchRequest(inputs=(str(path),), out=str(out), options=options, **told))
    (report,) = last.reports
    assert report.failure is None, report.failure
    return open_file(out)


def said_of(opened):
    """What is kept; where nothing is said, pixels are meant, which begin at 0."""
    n = opened.array.ndim
    return {
        "shape": tuple(opened.array.shape),
        "dtype": opened.array.dtype,
        "axes": opened.labels,
        "rgb": opened.rgb,
        "units": opened.units or ("pixel",) * n,
        "names": [channel.name for channel in opened.channels],
    }


def places_of(opened):
    n = opened.array.ndim
    return np.array([opened.scale or (1.0,) * n, opened.translation or (0.0,) * n])


def colours_and_windows_of(opened, told):
    """Those that the source tells; OME-Zarr must have some, and makes up the others."""
    pairs = zip(opened.channels, told.channels, strict=True)
    return [(c.colour if t.colour else "", c.window if t.window else None) for c, t in pairs]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("make", "name", "out", "told"), ROWS, ids=[f"{i}-{r[1]}-{r[2]}" for i, r in enumerate(ROWS)]
)
def test_a_restored_file_says_what_its_source_says(tmp_path, make, name, out, told):
    path = tmp_path / name
    make(path)
    before = open_file(path, told.get("key"))
    after = restored(path, tmp_path / out, **told)
    if before.labels is None:  # what nobody named is named by what restored it
        after = replace(after, labels=None)
    assert said_of(after) == said_of(before)
    np.testing.assert_allclose(places_of(after), places_of(before), rtol=1e-6)
    assert colours_and_windows_of(after, before) == colours_and_windows_of(before, before)
    assert not np.array_equal(after.array[...], before.array[...])
