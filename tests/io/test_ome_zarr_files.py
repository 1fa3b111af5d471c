"""What OME-Zarr files of others say is read, and results say it again."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import zarr
from ome_tools import OMERO, SCALE, TRANSLATION, make_group, noisy, write_image, write_labels

from napari_scsc import Output
from napari_scsc.batch.job import iter_batch
from napari_scsc.batch.request import BatchRequest
from napari_scsc.io.channels import Channel
from napari_scsc.io.formats import open_all, open_file
from napari_scsc.io.layers import get_reader
from napari_scsc.io.stores import store_for

VERSIONS = ("0.4", "0.5")
CHANNELS = (
    Channel("DAPI", "0000FF", (100.0, 2000.0)),
    Channel("GFP", "00FF00", (50.5, 900.0)),
)
UNITS = ("second", "pixel", "micrometer", "micrometer", "micrometer")


def all_of(path):
    """A fingerprint of every file below a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def denoised(path, out, **more):
    request = BatchRequest(
        inputs=(str(path),), out=str(out), options={"quality": "draft", "sigma": 30.0}, **more
    )
    *_, last = iter_batch(request)
    (report,) = last.reports
    assert report.failure is None, report.failure
    return open_file(out)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_image_is_read_with_all_that_it_says(tmp_path, version):
    values = noisy((1, 2, 3, 16, 16))
    write_image(make_group(tmp_path / "a.ome.zarr", version), values, version)
    opened = open_file(tmp_path / "a.ome.zarr")
    np.testing.assert_array_equal(opened.array[...], values)
    assert opened.labels == tuple("tczyx")
    assert opened.scale == SCALE
    assert opened.units == UNITS
    assert opened.translation == TRANSLATION
    assert opened.channels == CHANNELS
    assert opened.zarr_format == version
    level = open_file(tmp_path / "a.ome.zarr", "1")
    assert level.scale == (2, 1, 0.5, 0.5, 0.5)
    assert level.channels == CHANNELS


def test_steps_from_pixels_to_the_world_are_taken_one_after_the_other(tmp_path):
    group = make_group(tmp_path / "a.ome.zarr", "0.4")
    write_image(group, noisy((8, 8)), "0.4", scale=(0, 0, 0, 0.5, 0.25))
    (image,) = group.attrs["multiscales"]
    image["coordinateTransformations"] = [
        {"type": "scale", "scale": [10, 4]},
        {"type": "translation", "translation": [1, 2]},
    ]
    group.attrs["multiscales"] = [image]
    opened = open_file(tmp_path / "a.ome.zarr")
    assert opened.scale == (5, 1)
    assert opened.translation == (1001, 802)


@pytest.mark.parametrize(
    "omero",
    [
        [],
        {"channels": "many"},
        {"channels": [1, 2]},
        {"channels": OMERO["channels"][:1]},
        {"channels": [*OMERO["channels"], {}]},
    ],
)
def test_channels_that_make_no_sense_are_left_out(tmp_path, omero):
    group = make_group(tmp_path / "a.ome.zarr", "0.5")
    write_image(group, noisy((2, 1, 8, 8)), "0.5", omero=omero)
    assert open_file(tmp_path / "a.ome.zarr").channels == ()


def test_of_a_channel_what_makes_sense_is_read(tmp_path):
    group = make_group(tmp_path / "a.ome.zarr", "0.5")
    entries = [{"color": "#ff00ff80", "window": {"start": "low", "end": 3}}, {"color": "red"}]
    write_image(group, noisy((2, 1, 8, 8)), "0.5", omero={"channels": entries})
    assert open_file(tmp_path / "a.ome.zarr").channels == (Channel("", "FF00FF"), Channel())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("wanted", [None, *VERSIONS])
def test_a_result_says_what_its_source_says(tmp_path, version, wanted):
    source = tmp_path / "a.ome.zarr"
    write_image(make_group(source, version), noisy((1, 2, 3, 16, 16)), version)
    made = denoised(source, tmp_path / "b.ome.zarr", zarr_format=wanted)
    assert made.zarr_format == (wanted or version)
    assert zarr.open_group(tmp_path / "b.ome.zarr", mode="r").metadata.zarr_format == (
        2 if (wanted or version) == "0.4" else 3
    )
    assert made.array.dtype == np.uint16
    assert (made.labels, made.scale, made.units) == (tuple("tczyx"), SCALE, UNITS)
    assert made.translation == TRANSLATION
    assert made.channels == CHANNELS


def test_what_is_no_ome_zarr_becomes_one_of_the_latest_version(tmp_path):
    np.save(tmp_path / "a.npy", noisy((32, 32)))
    assert denoised(tmp_path / "a.npy", tmp_path / "b.ome.zarr").zarr_format == "0.5"
    made = denoised(tmp_path / "a.npy", tmp_path / "c.ome.zarr", zarr_format="0.4")
    assert made.zarr_format == "0.4"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plain_zarr_says_it_too(tmp_path, version):
    source = tmp_path / "a.ome.zarr"
    write_image(make_group(source, version), noisy((1, 2, 3, 16, 16)), version)
    made = denoised(source, tmp_path / "b.zarr")
    array = zarr.open_array(tmp_path / "b.zarr", mode="r")
    assert array.metadata.zarr_format == (2 if version == "0.4" else 3)
    assert (made.labels, made.scale, made.units) == (tuple("tczyx"), SCALE, UNITS)
    assert made.translation == TRANSLATION
    assert made.channels == CHANNELS


@pytest.mark.parametrize("version", VERSIONS)
def test_every_level_lies_where_its_pixels_do(tmp_path, version):
    store = store_for(
        tmp_path / "a.ome.zarr",
        (4, 520, 600),
        "u1",
        (4, 300, 300),
        labels="zyx",
        scale=(2, 0.5, 0.25),
        translation=(1, 10, 100),
        zarr_format=version,
    )
    store.create()
    store.finish()
    places = [open_file(store.path, str(level)) for level in range(3)]
    assert [place.scale for place in places] == [(2, 0.5, 0.25), (2, 1, 0.5), (2, 2, 1)]
    assert [place.translation for place in places] == [
        (1, 10, 100),
        (1, 10.25, 100.125),
        (1, 10.75, 100.375),
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("suffix", [".zarr", ".ome.zarr"])
def test_the_recipe_is_kept(tmp_path, version, suffix):
    recipe = {"version": "1", "options": {"sigma": 2.5, "names": ["a", None]}}
    store = store_for(
        tmp_path / f"a{suffix}", (8, 8), "f4", (8, 8), recipe=recipe, zarr_format=version
    )
    store.create()
    store.write((slice(0, 8), slice(0, 8)), np.ones((8, 8), "f4"))
    store.finish()
    assert open_file(store.path).recipe == recipe
    node = zarr.open(store.path, mode="r")
    assert node.attrs["napari-scsc"] == {"recipe": recipe}


def test_a_window_that_nobody_gave_is_the_range_of_the_values(tmp_path):
    values = np.zeros((2, 4, 300), "f4")
    values[0, :, 10:20], values[1, :, 200:] = 5, -3
    values[1, 0, :2] = np.nan
    store = store_for(
        tmp_path / "a.ome.zarr",
        values.shape,
        "f4",
        (1, 4, 100),
        labels="cyx",
        channels=(Channel("a"), Channel("b", "ABCDEF")),
    )
    store.create()
    for start in range(0, 300, 100):
        for number in range(2):
            region = (slice(number, number + 1), slice(0, 4), slice(start, start + 100))
            store.write(region, values[region])
    store.finish()
    first, second = open_file(store.path).channels
    assert first == Channel("a", "FF00FF", (0, 5))
    assert second == Channel("b", "ABCDEF", (-3, 0))


@pytest.mark.parametrize("version", VERSIONS)
def test_labels_are_no_image_of_the_file_and_stay_as_they_are(tmp_path, version):
    source = tmp_path / "a.ome.zarr"
    group = make_group(source, version)
    write_image(group, noisy((16, 16)), version, omero=None)
    write_labels(group, "nuclei", np.ones((16, 16), np.int32), version)
    before = all_of(source)
    assert not open_file(source).remarks
    assert len(open_all(source)) == 1
    denoised(source, tmp_path / "b.ome.zarr")
    assert all_of(source) == before
    assert not (tmp_path / "b.ome.zarr" / "labels").exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_labels_are_read_by_their_name_only(tmp_path, version):
    group = make_group(tmp_path / "a.zarr", version)
    write_labels(group, "nuclei", np.full((16, 16), 3, np.int32), version)
    inner = group.create_group("picture")
    write_image(inner, noisy((16, 16)), version, omero=None)
    opened = open_file(tmp_path / "a.zarr")
    assert opened.array.dtype == np.uint16
    assert not opened.remarks
    labels = open_file(tmp_path / "a.zarr", "labels/nuclei")
    assert (labels.array[...] == 3).all()


def test_another_format_of_zarr_is_another_request(tmp_path):

    for wrong in ("0.3", "5", 0.5):
        with pytest.raises(ValueError, match=r"zarr_format.*'0\.4', '0\.5'"):
            Output(tmp_path / "a.zarr", zarr_format=wrong)
        with pytest.raises(ValueError, match="zarr_format"):
            BatchRequest(inputs=("a",), out="b", zarr_format=wrong)
        with pytest.raises(ValueError, match="zarr_format"):
            store_for(tmp_path / "a.zarr", (4, 4), "f4", (4, 4), zarr_format=wrong)


@pytest.mark.parametrize("version", VERSIONS)
def test_channels_of_a_result_are_layers_as_those_of_its_source(tmp_path, version):
    source = tmp_path / "a.ome.zarr"
    write_image(make_group(source, version), noisy((1, 2, 3, 16, 16)), version)
    denoised(source, tmp_path / "b.ome.zarr")
    made, given = (get_reader(str(path))(str(path)) for path in (tmp_path / "b.ome.zarr", source))
    assert [arguments["name"] for _, arguments, _ in made] == ["b: DAPI", "b: GFP"]
    for (_, first, _), (_, second, _) in zip(made, given, strict=True):
        for name in ("scale", "units", "translate", "axis_labels", "colormap", "contrast_limits"):
            assert first[name] == second[name]
