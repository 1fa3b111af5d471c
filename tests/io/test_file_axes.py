from __future__ import annotations

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import tifffile
import zarr
from file_tools import (
    CUBE,
    RNG,
    equals,
    hdf5,
    matlab,
    npy,
    tiff,
    tiff_strips,
    tiff_tiled,
    write_h5,
    write_series,
    write_zarr,
)

from napari_scsc.io.formats import open_file


@pytest.mark.parametrize(
    ("name", "labels", "dtype"),
    [
        ("a.zarr", "uvyx", "f4"),
        ("a.ome.zarr", "tczyx", "f4"),
        ("a.ome.zarr", "cyx", "u1"),
        ("imagej.tif", "tzyx", "u2"),
        ("imagej.tif", "cyx", "f4"),
        ("ome.tif", "ctzyx", "f8"),
        ("b.ome.tif", "tzyx", "u2"),
        ("plain.tif", "uvyx", "f4"),
        ("colours.tif", "yxc", "u1"),
    ],
)
def test_what_a_store_was_told_is_found_again(tmp_path, name, labels, dtype):
    shape = tuple({"y": 8, "x": 9, "c": 3}.get(label, 2) for label in labels)
    known = {"t": (3.0, "second"), "z": (2.0, "micrometer")}
    known |= {"y": (0.5, "micrometer"), "x": (0.25, "micrometer")}
    scale, units = zip(*(known.get(label, (1.0, "pixel")) for label in labels), strict=True)
    values = RNG.integers(0, 255, shape).astype(dtype)
    path = write_zarr(tmp_path / name, values, labels, scale=scale, units=units)
    opened = open_file(path)
    equals(opened.array, values)
    assert opened.labels == tuple(labels)
    assert opened.scale == pytest.approx(scale)
    assert opened.units == units


def test_without_a_scale_none_is_made_up(tmp_path):
    for name in ("a.tif", "b.ome.tif", "a.npy", "a.zarr"):
        opened = open_file(write_zarr(tmp_path / name))
        assert (opened.scale, opened.units) == (None, None)


def test_pages_of_an_unknown_kind_get_no_labels(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", CUBE, metadata=None)
    assert open_file(tmp_path / "a.tif").labels is None


@pytest.mark.parametrize("version", ["0.2", "0.3", "0.4", "0.5"])
def test_all_versions_of_ome_zarr(tmp_path, version):
    new = version == "0.5"
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=3 if new else 2)
    values = RNG.integers(0, 255, (1, 2, 3, 8, 9), "u1")
    group.create_array("full", data=values, chunks=(1, 1, 1, 8, 9))
    group.create_array("half", data=values[..., ::2, ::2])
    image = {"version": version, "datasets": [{"path": "full"}, {"path": "half"}]}
    if version == "0.3":
        image["axes"] = list("tczyx")
    if version >= "0.4":
        kinds = dict(zip("tczyx", ("time", "channel", "space", "space", "space"), strict=True))
        image["axes"] = [{"name": name, "type": kind} for name, kind in kinds.items()]
        for i in (2, 3, 4):
            image["axes"][i]["unit"] = "nanometer"
        for level, factor in zip(image["datasets"], (1, 2), strict=True):
            scale = [1, 1, 5, 0.5 * factor, 0.5 * factor]
            level["coordinateTransformations"] = [{"type": "scale", "scale": scale}]
        image["coordinateTransformations"] = [{"type": "scale", "scale": [10, 1, 1, 1, 1]}]
    group.attrs.update({"ome": {"version": "0.5", "multiscales": [image]}} if new else {})
    if not new:
        group.attrs["multiscales"] = [image]
    opened = open_file(tmp_path / "a.zarr")
    equals(opened.array, values)
    assert opened.labels == tuple("tczyx")
    if version >= "0.4":
        assert opened.scale == (10, 1, 5, 0.5, 0.5)
        assert opened.units == ("pixel", "pixel", "nanometer", "nanometer", "nanometer")
        assert open_file(tmp_path / "a.zarr", "half").scale == (10, 1, 5, 1, 1)
    else:
        assert opened.scale is None


def test_imagej_writes_micro_in_its_own_way(tmp_path):
    tifffile.imwrite(
        tmp_path / "a.tif",
        CUBE,
        imagej=True,
        resolution=(4, 2),
        metadata={"axes": "ZYX", "unit": "\\u00B5m", "spacing": 3.0},
    )
    opened = open_file(tmp_path / "a.tif")
    assert opened.scale == (3.0, 0.5, 0.25)
    assert opened.units == ("micrometer",) * 3


@pytest.mark.parametrize("metadata", [None, {}])  # with {}, tifffile describes the shape
@pytest.mark.parametrize(
    ("unit", "resolution", "scale"),
    [
        ("CENTIMETER", (20_000, 40_000), (0.25, 0.5)),
        ("INCH", (25_400, 12_700), (2.0, 1.0)),
        ("INCH", (72, 720), (25_400 / 720, 25_400 / 72)),
        ("NONE", (20_000, 40_000), None),
        # What programs write that know nothing of the size.
        ("INCH", (72, 72), None),
        ("INCH", (96, 96), None),
        ("INCH", (1, 1), None),
        ("CENTIMETER", (28.35, 28.35), None),
        ("CENTIMETER", (37.8, 37.8), None),
        ("CENTIMETER", (1, 1), None),
    ],
)
def test_the_resolution_of_any_tiff_is_the_size_of_its_pixels(
    tmp_path, unit, resolution, scale, metadata
):
    path = tmp_path / "a.tif"
    tifffile.imwrite(
        path, CUBE[0], resolution=resolution, resolutionunit=unit, metadata=metadata, software=""
    )
    opened = open_file(path)
    assert opened.labels == ("y", "x")
    assert opened.scale == (scale if scale is None else pytest.approx(scale, rel=1e-4))
    assert opened.units == (None if scale is None else ("micrometer", "micrometer"))


def test_the_resolution_is_that_of_the_series(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        for n, rows in ((1000, 30), (500, 7)):
            resolution = {"resolution": (n, n), "resolutionunit": "CENTIMETER"}
            file.write(CUBE[0, :rows], metadata=None, **resolution)
    assert open_file(tmp_path / "a.tif").scale == pytest.approx((10, 10))
    assert open_file(tmp_path / "a.tif", 1).scale == pytest.approx((20, 20))


def test_imagej_without_a_unit_has_that_of_the_resolution(tmp_path):
    how = {"resolution": (1000, 500), "resolutionunit": "CENTIMETER"}
    opened = open_file(tiff(tmp_path, imagej=True, **how))
    assert opened.scale == pytest.approx((1, 20, 10))
    assert opened.units == ("pixel", "micrometer", "micrometer")


def test_an_unknown_axis_costs_its_name_and_not_the_scale(tmp_path):
    sizes = {f"PhysicalSize{letter}": size for letter, size in (("X", 0.25), ("Y", 0.5))}
    opened = open_file(tiff(tmp_path, ome=True, metadata={"axes": "QYX", **sizes}))
    assert opened.labels is None
    assert opened.scale == (1, 0.5, 0.25)
    assert opened.units == ("pixel", "micrometer", "micrometer")


@pytest.mark.parametrize("names", ["img_{}.tif", "x_ms_{}.tif"])
def test_a_folder_has_the_scale_of_its_first_image(tmp_path, names):
    for i, image in enumerate(CUBE, 1):
        tifffile.imwrite(
            tmp_path / names.format(i),
            image,
            imagej=True,
            resolution=(4, 2),
            metadata={"unit": "um"},
        )
    opened = open_file(tmp_path)
    equals(opened.array, CUBE)
    assert opened.scale == (1, 0.5, 0.25)
    assert opened.units == ("pixel", "micrometer", "micrometer")


def test_axes_of_length_one_are_no_riddle(tmp_path):
    for shape in ((1, 1, 2), (1, 8, 9), (1, 20, 30, 3)):
        np.save(tmp_path / "a.npy", np.zeros(shape, "u1"))
        assert open_file(tmp_path / "a.npy").labels is None


def test_hdf5_names_its_axes(tmp_path):
    with h5py.File(write_h5(tmp_path / "a.h5", data=CUBE), "r+") as file:
        file["data"].attrs["axes"] = "tyx"
    assert open_file(tmp_path / "a.h5").labels == ("t", "y", "x")


@pytest.mark.parametrize(
    ("head", "label"), [("frame_", "t"), ("z", "z"), ("img_ch", "c"), ("img_", None)]
)
def test_a_word_before_the_number_says_what_it_counts(tmp_path, head, label):
    folder = write_series(tmp_path / "a", [f"{head}{i:03d}.tif" for i in range(5)], CUBE)
    (folder / "notes.txt").touch()
    iio.imwrite(folder / "overview.tif", CUBE[0])
    opened = open_file(folder)
    assert opened.labels == ((label, "y", "x") if label else None)
    assert opened.array.chunks == (1, 30, 40)
    equals(opened.array, CUBE)


def test_chunks_are_those_of_the_file(tmp_path):
    assert open_file(hdf5(tmp_path)).array.chunks == (1, 30, 40)
    assert open_file(tiff_tiled(tmp_path)).array.chunks == (1, 16, 16)
    assert open_file(tiff_strips(tmp_path)).array.chunks == (1, 30, 40)
    assert open_file(matlab(tmp_path)).array.chunks == (1, 30, 40)
    assert open_file(npy(tmp_path)).array.chunks is None
