from __future__ import annotations

import shutil
import sys
from collections import namedtuple

import numpy as np
import pint
import pytest
import tifffile
from store_tools import read, values_of, whole

from napari_scsc.io.stores import store_for


def made(path, shape, dtype, labels, scale=None, units=None, **more):
    store = store_for(path, shape, dtype, shape, labels=labels, scale=scale, units=units, **more)
    store.create()
    values = values_of(shape, dtype)
    store.write(whole(shape), values)
    store.finish()
    np.testing.assert_array_equal(read(store), values)
    np.testing.assert_array_equal(tifffile.imread(path).squeeze(), values.squeeze())
    return store


def kind_of(path):
    with tifffile.TiffFile(path) as file:
        return file.series[0].kind


@pytest.mark.parametrize(
    ("labels", "shape", "dtype", "kind"),
    [
        ("yx", (8, 9), "u1", "imagej"),
        ("tzcyx", (2, 3, 4, 8, 9), "u2", "imagej"),
        ("yxc", (8, 9, 3), "u1", "imagej"),
        ("tyxc", (2, 8, 9, 3), "u1", "imagej"),
        ("tcyx", (2, 3, 8, 9), "f8", "ome"),
        ("czyx", (2, 3, 8, 9), "f4", "ome"),
        ("yxc", (8, 9, 3), "u2", "ome"),
        ("yxc", (8, 9, 31), "f4", "ome"),
        ("yx", (8, 9), "i4", "ome"),
        ("uvyx", (3, 3, 8, 9), "u1", "shaped"),
        ("cyx", (3, 8, 9), "i8", "shaped"),
        ("cyx", (3, 8, 9), "f2", "shaped"),
        ("cxty", (3, 8, 9, 4), "u1", "shaped"),
        (None, (3, 4, 8, 9), "u1", "shaped"),
        (None, (8, 9), "u1", "imagej"),
        ("x", (9,), "u1", "imagej"),
        ("x", (9,), "i8", "shaped"),
    ],
)
def test_tiff_is_of_the_kind_that_suits(tmp_path, labels, shape, dtype, kind):
    made(tmp_path / "a.tif", shape, dtype, labels)
    assert kind_of(tmp_path / "a.tif") == kind
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        letters = file.series[0].axes
    if labels and len(shape) > 1:
        assert letters.lower() == labels.replace("yxc", "yxs")


def test_imagej_knows_the_scale(tmp_path):
    made(
        tmp_path / "a.tif",
        (2, 3, 8, 9),
        "u2",
        "tzyx",
        (2, 0.5, 0.25, 0.125),
        ("ms", "um", "micrometer", pint.Unit("um")),
    )
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        said, tags = file.imagej_metadata, file.pages.first.tags
    assert (said["unit"], said["spacing"], said["finterval"], said["tunit"]) == ("um", 0.5, 2, "ms")
    assert tags["XResolution"].value == (8, 1)
    assert tags["YResolution"].value == (4, 1)


def test_ome_tiff_knows_the_scale(tmp_path):
    units = ("s", "nm", "um", "um")
    made(tmp_path / "a.ome.tif", (2, 3, 8, 9), "u2", "tzyx", (2, 500, 0.5, 0.25), units)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        assert file.series[0].kind == "ome"
        text, tags = file.ome_metadata, file.pages.first.tags
    for words in (
        'PhysicalSizeX="0.25" PhysicalSizeXUnit="µm"',
        'PhysicalSizeY="0.5" PhysicalSizeYUnit="µm"',
        'PhysicalSizeZ="500.0" PhysicalSizeZUnit="nm"',
        'TimeIncrement="2.0" TimeIncrementUnit="s"',
    ):
        assert words in text
    assert tags["XResolution"].value == (40000, 1)
    assert tags["ResolutionUnit"].value == 3


def test_a_name_that_promises_ome_is_kept_or_refused(tmp_path):
    with pytest.raises(ValueError, match=r"b\.ome\.tif"):
        store_for(tmp_path / "b.ome.tif", (3, 4, 8, 9), "u1", (1, 1, 8, 9), labels="uvyx")
    with pytest.raises(ValueError, match="int64"):
        store_for(tmp_path / "b.ome.tif", (8, 9), "i8", (8, 9))


@pytest.mark.skipif(sys.platform == "win32", reason="files with holes are not made by default")
def test_above_four_gigabytes_it_is_bigtiff(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")(1e15, 0, 1e15)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    shape = (10, 20_000, 25_000)
    store = store_for(tmp_path / "a.tif", shape, "u1", (1, 100, 25_000), labels="zyx")
    store.create()
    store.write(np.s_[9:10, 19_900:20_000, :], np.ones((1, 100, 25_000), "u1"))
    with tifffile.TiffFile(store.path) as file:
        assert file.is_bigtiff
        assert file.series[0].shape == shape
        assert file.series[0].axes == "ZYX"
    assert store.open()[9, 19_900:].all()
    assert not store.open()[9, 19_899].any()
