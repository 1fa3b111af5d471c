"""What TIFF files say of channels, positions and recipes, written and read again."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import tifffile
from file_tools import equals
from store_tools import values_of, whole

from napari_scsc.io.channels import Channel
from napari_scsc.io.formats import open_all, open_file
from napari_scsc.io.stores import store_for

SHAPE, LABELS = (2, 3, 2, 8, 9), "tzcyx"
CHANNELS = (Channel("DAPI é", "0000FF", (1.5, 200.25)), Channel("<GFP> & 'x'", "00FF7F", (0, 9)))
RECIPE = {"version": "1", "script": 'denoise(x)\n# <tag> & "é"', "noise": {"sigma": [1.5, None]}}
SCALE = (0.5, 2, 1, 0.25, 0.125)
UNITS = ("second", "micrometer", "pixel", "micrometer", "micrometer")
START = (0.0, 10.5, 0.0, -3.25, 2.0)


def written(path, shape=SHAPE, labels=LABELS, dtype="u2", **said):
    values = values_of(shape, dtype)
    store = store_for(path, shape, dtype, shape, labels=labels, **said)
    store.create()
    store.write(whole(shape), values)
    store.finish()
    return values


def kind_of(path):
    with tifffile.TiffFile(path) as file:
        return file.series[0].kind


ALL = {"channels": CHANNELS, "translation": START, "recipe": RECIPE, "scale": SCALE, "units": UNITS}


@pytest.mark.parametrize(
    ("name", "labels", "dtype", "kind"),
    [
        ("a.ome.tif", "tzcyx", "u2", "ome"),
        ("a.ome.tiff", "tczyx", "f4", "ome"),
        ("a.tif", "tzcyx", "u2", "imagej"),
        ("a.tif", "tzcyx", "f8", "ome"),
        ("a.tif", "tzcyx", "i8", "shaped"),
    ],
)
def test_what_is_said_is_read_back(tmp_path, name, labels, dtype, kind):
    order = [LABELS.index(label) for label in labels]
    said = {
        word: values if len(values) != 5 else tuple(values[i] for i in order)
        for word, values in ALL.items()
    }
    values = written(tmp_path / name, tuple(SHAPE[i] for i in order), labels, dtype, **said)
    assert kind_of(tmp_path / name) == kind
    opened = open_file(tmp_path / name)
    equals(opened.array, values)
    assert "".join(opened.labels) == labels
    assert opened.scale == pytest.approx(said["scale"])
    units = [
        "pixel" if label == "c" else unit for label, unit in zip(labels, said["units"], strict=True)
    ]
    assert [u for u, label in zip(opened.units, labels, strict=True) if label != "c"] == [
        u for u, label in zip(units, labels, strict=True) if label != "c"
    ]
    assert opened.translation == pytest.approx(said["translation"])
    assert opened.channels == CHANNELS
    assert opened.recipe == RECIPE


def test_a_file_of_which_nothing_is_known_says_nothing(tmp_path):
    for name in ("a.ome.tif", "b.tif"):
        written(tmp_path / name, (2, 3, 8, 9), "czyx")
        opened = open_file(tmp_path / name)
        assert (opened.translation, opened.channels, opened.recipe) == (None, (), {})


@pytest.mark.parametrize("name", ["a.ome.tif", "a.tif"])
def test_one_channel_without_an_axis_keeps_its_name_and_colour(tmp_path, name):
    written(tmp_path / name, (8, 9), "yx", channels=CHANNELS[:1])
    assert kind_of(tmp_path / name) == "ome"  # ImageJ has no place for the name
    assert open_file(tmp_path / name).channels == CHANNELS[:1]
    written(tmp_path / "b.tif", (8, 9), "yx", channels=(Channel("", "FF0000", (1, 2)),))
    assert kind_of(tmp_path / "b.tif") == "imagej"
    assert open_file(tmp_path / "b.tif").channels == (Channel("", "FF0000", (1, 2)),)


def test_quotation_marks_in_names_do_no_harm(tmp_path):
    written(tmp_path / "a.ome.tif", (8, 9), "yx", channels=(Channel('a "b"'),), name='"c"')
    (channel,) = open_file(tmp_path / "a.ome.tif").channels
    assert channel.name in ('a "b"', "a 'b'")


def test_some_channels_may_be_unknown(tmp_path):
    channels = (Channel(), Channel("red", "FF0000"), Channel("", "", (0, 1)))
    written(tmp_path / "a.ome.tif", (3, 8, 9), "cyx", channels=channels)
    assert open_file(tmp_path / "a.ome.tif").channels == channels


def test_time_that_does_not_begin_at_0_goes_into_ome(tmp_path):
    said = {"scale": (0.5, 1, 1), "units": ("s", "um", "um"), "translation": (7.25, 0, 0)}
    written(tmp_path / "a.tif", (3, 8, 9), "tyx", **said)
    assert kind_of(tmp_path / "a.tif") == "ome"
    assert open_file(tmp_path / "a.tif").translation == (7.25, 0, 0)


def test_other_programs_find_what_is_said(tmp_path):
    written(tmp_path / "a.ome.tif", **ALL)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        image = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
    assert [channel["Color"] for channel in image["Channel"]] == [0x0000FFFF, 0x00FF7FFF]
    assert (image["Plane"][0]["PositionZ"], image["Plane"][2]["PositionZ"]) == (10.5, 12.5)
    assert image["Plane"][0]["PositionYUnit"] == "µm"
    written(tmp_path / "a.tif", **ALL)
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        said = file.imagej_metadata
    assert said["Labels"] == [channel.name for channel in CHANNELS] * 6
    assert said["Ranges"] == (1.5, 200.25, 0, 9)
    assert (said["mode"], said["zorigin"]) == ("composite", -5.25)
    assert said["LUTs"][1][:, -1].tolist() == [0, 255, 127]


def test_stage_positions_without_a_unit_of_length_are_left_alone(tmp_path):
    plane = {"PositionX": [5.0], "PositionY": [2000.0], "PositionYUnit": ["nm"]}
    tifffile.imwrite(
        tmp_path / "a.ome.tif",
        np.ones((8, 9), "u1"),
        metadata={"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "Plane": plane},
    )
    assert open_file(tmp_path / "a.ome.tif").translation == pytest.approx((2.0, 0))


@pytest.mark.parametrize("recipe", ["[1", "[1]", '"words"', ""])
def test_notes_of_others_are_no_recipe(tmp_path, recipe):
    tifffile.imwrite(
        tmp_path / "a.tif",
        np.ones((2, 8, 9), "u1"),
        imagej=True,
        metadata={
            "Info": f"napari-scsc/recipe = {recipe}\nmore",
            "Labels": ["a", "b"],
            "axes": "ZYX",
        },
    )
    opened = open_file(tmp_path / "a.tif")
    assert (opened.recipe, opened.channels) == ({}, ())
    note = {"Namespace": "napari-scsc/recipe", "Value": recipe or "x"}
    windows = {"Namespace": "napari-scsc/windows", "Value": '[[1, "x"], 5]'}
    tifffile.imwrite(
        tmp_path / "b.ome.tif",
        np.ones((2, 8, 9), "u1"),
        metadata={"axes": "CYX", "CommentAnnotation": [note, windows]},
    )
    assert open_file(tmp_path / "b.ome.tif").recipe == {}


def test_labels_that_name_pages_are_no_channels(tmp_path):
    labels = [f"{i}" for i in range(4)]
    tifffile.imwrite(
        tmp_path / "a.tif",
        np.ones((2, 2, 8, 9), "u1"),
        imagej=True,
        metadata={"axes": "ZCYX", "Labels": labels},
    )
    assert open_file(tmp_path / "a.tif").channels == ()


# Pyramids


@pytest.mark.parametrize(
    ("labels", "shape", "dtype"),
    [("yx", (2100, 300), "u2"), ("czyx", (2, 2, 130, 2051), "u1"), ("yxc", (2050, 70, 3), "u1")],
)
def test_large_planes_of_ome_tiff_have_coarser_levels(tmp_path, labels, shape, dtype):
    values = written(tmp_path / "a.ome.tif", shape, labels, dtype, recipe=RECIPE)
    (opened,) = open_all(tmp_path / "a.ome.tif")
    y = labels.index("y")
    assert opened.recipe == RECIPE
    np.testing.assert_array_equal(opened.array, values)
    levels = [opened.array, *opened.coarser]
    assert max(levels[-1].shape[y : y + 2]) <= 512 < max(levels[-2].shape[y : y + 2])
    for finer, coarser in pairwise(levels):
        assert coarser.shape[y] == -(-finer.shape[y] // 2)
        assert coarser.shape[:y] == finer.shape[:y]
        if labels != "yxc":
            height, width = (n // 2 * 2 for n in finer.shape[-2:])
            blocks = np.asarray(finer, np.float64)[..., :height, :width]
            blocks = blocks.reshape(*blocks.shape[:-2], height // 2, 2, width // 2, 2)
            found = np.asarray(coarser)[..., : height // 2, : width // 2]
            assert np.abs(found - blocks.mean((-3, -1))).max() <= 0.5
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        assert len(file.series) == 1
        assert [level.shape for level in file.series[0].levels] == [level.shape for level in levels]


def test_finishing_again_does_no_harm_and_reads_few_rows_at_a_time(tmp_path, monkeypatch):
    from napari_scsc.io.stores import tiff_store

    monkeypatch.setattr(tiff_store, "_MAX_BLOCK_BYTES", 1 << 16)
    shape = (2, 2100, 1000)
    written(tmp_path / "a.ome.tif", shape, "zyx", "u1")
    before = (tmp_path / "a.ome.tif").read_bytes()
    store = store_for(tmp_path / "a.ome.tif", shape, "u1", shape, labels="zyx")
    tracemalloc.start()
    store.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20
    assert (tmp_path / "a.ome.tif").read_bytes() == before


def test_imagej_and_small_planes_have_one_level(tmp_path):
    written(tmp_path / "a.tif", (2100, 30), "yx")
    written(tmp_path / "b.ome.tif", (2048, 30), "yx")
    assert kind_of(tmp_path / "a.tif") == "imagej"
    assert all(open_all(tmp_path / name)[0].coarser == () for name in ("a.tif", "b.ome.tif"))


def test_levels_of_other_programs_are_read(tmp_path):
    values = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as file:
        file.write(values, subifds=1, tile=(16, 16), compression="zlib")
        file.write(values[::2, ::2], subfiletype=1, tile=(16, 16), compression="zlib")
    (opened,) = open_all(tmp_path / "a.ome.tif")
    (coarser,) = opened.coarser
    np.testing.assert_array_equal(coarser, values[::2, ::2])
    np.testing.assert_array_equal(opened.array, values)


def test_a_recipe_is_json_that_any_reader_of_ome_finds(tmp_path):
    written(tmp_path / "a.ome.tif", recipe=RECIPE)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        ome = tifffile.xml2dict(file.ome_metadata)["OME"]
    note = ome["StructuredAnnotations"]["CommentAnnotation"]
    assert note["Namespace"] == "napari-scsc/recipe"
    assert json.loads(note["Value"]) == RECIPE
