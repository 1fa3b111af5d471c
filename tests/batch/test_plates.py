"""Plates and wells: each field is an image, chosen or all, and all of them are a plate again."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import zarr
from cli_tools import run, succeed
from ome_tools import SCALE, TRANSLATION, noisy, write_labels, write_plate

from napari_scsc.batch.job import iter_batch, plan_batch
from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.batch.updates import FileState
from napari_scsc.io.formats import list_fields, open_file
from napari_scsc.io.formats.ome_zarr import ome_attributes

OPTIONS = {"quality": "draft", "sigma": 30.0}
WELLS = {"A/1": 2, "A/10": 1, "B/2": 1}
FIELDS = ["A/1/0", "A/1/1", "A/10/0", "B/2/0"]


@pytest.fixture(params=["0.4", "0.5"])
def plate(tmp_path, request):
    path = tmp_path / "plate.ome.zarr"
    images = {
        well: [noisy((2, 3, 16, 16), seed=10 * i + n) for n in range(count)]
        for i, (well, count) in enumerate(WELLS.items())
    }
    write_plate(path, images, request.param)
    group = zarr.open_group(path / "A/1/0", mode="r+")
    write_labels(group, "nuclei", np.ones((16, 16), np.int32), request.param)
    return path


def version_of(path):
    return "0.4" if zarr.open_group(path, mode="r").metadata.zarr_format == 2 else "0.5"


def batch(plate, out, **more):
    request = BatchRequest(inputs=(str(plate),), out=str(out), key="all", options=OPTIONS, **more)
    *_, last = iter_batch(request)
    return last.reports


def plate_of(path):
    return ome_attributes(zarr.open_group(path, mode="r"))["plate"]


def test_fields_are_listed_in_the_order_of_the_plate(plate):
    assert list_fields(plate) == FIELDS
    assert list_fields(plate / "A/1/0") == []
    printed = json.loads(succeed("info", plate, "--json", "--no-noise").stdout)
    assert printed["fields"] == FIELDS
    assert "fields: A/1/0, A/1/1" in succeed("info", plate, "--no-noise").stdout


def test_one_field_is_chosen_by_its_key(plate, tmp_path):
    opened = open_file(plate, "A/10/0")
    assert (opened.scale, opened.translation) == (SCALE[1:], TRANSLATION[1:])
    succeed(
        *("denoise", plate, "--key", "A/10/0", "--out", tmp_path / "a.ome.zarr"),
        *("--quality", "draft", "--sigma", "30"),
    )
    assert open_file(tmp_path / "a.ome.zarr").array.shape == (2, 3, 16, 16)
    (remark,) = open_file(plate).remarks
    assert "'A/1/1' the next" in str(remark)


@pytest.mark.parametrize("wanted", [None, "0.4", "0.5"])
def test_all_fields_become_a_plate_again(plate, tmp_path, wanted):
    target = tmp_path / "clean.ome.zarr"
    reports = batch(plate, target, zarr_format=wanted)
    assert [report.state for report in reports] == [FileState.DONE] * 4
    assert version_of(target) == (wanted or version_of(plate))
    assert list_fields(target) == FIELDS
    before, after = plate_of(plate), plate_of(target)
    assert {**after, "version": None} == {**before, "version": None}
    for well in WELLS:
        described = ome_attributes(zarr.open_group(target, path=well, mode="r"))["well"]
        assert {image["acquisition"] for image in described["images"]} == {7}
    for field in FIELDS:
        source, made = open_file(plate, field), open_file(target, field)
        for name in ("labels", "scale", "units", "translation", "channels"):
            assert getattr(made, name) == getattr(source, name)
        assert made.zarr_format == (wanted or version_of(plate))
        assert (made.array[...] != source.array[...]).any()
    # No more than what belongs to it, and the labels are where they were.
    assert sorted(path.name for path in target.iterdir() if path.is_dir()) == ["A", "B"]
    assert not list(target.rglob("labels"))
    assert (plate / "A/1/0/labels/nuclei").exists()


def test_the_command_line_does_the_same(plate, tmp_path):
    target = tmp_path / "clean.ome.zarr"
    request = BatchRequest(inputs=(str(plate),), out=str(target), key="all", options=OPTIONS)
    assert "--key all" in command_line(request)
    done = succeed(
        "denoise", plate, "--key", "all", "--out", target, "--sigma", 30, "--quality", "draft"
    )
    assert f"{plate}/B/2/0 -> {target / 'B/2/0'}" in done.stdout
    assert list_fields(target) == FIELDS


def test_it_is_no_plate_before_all_fields_are_there(plate, tmp_path):
    target = tmp_path / "clean.ome.zarr"
    kept = tmp_path / "kept"
    shutil.move(plate / "A/10/0/0", kept)
    (plate / "A/10/0/0").mkdir()
    reports = batch(plate, target)
    assert [report.state for report in reports].count(FileState.FAILED) == 1
    assert not (target / "zarr.json").exists()
    assert not (target / ".zgroup").exists()
    shutil.rmtree(plate / "A/10/0/0")
    shutil.move(kept, plate / "A/10/0/0")
    with pytest.raises(ValueError, match="is there already"):
        batch(plate, target)
    reports = batch(plate, target, resume=True)
    states = [report.state for report in reports]
    assert states.count(FileState.WAS_THERE) == 3
    assert states.count(FileState.DONE) == 1
    assert list_fields(target) == FIELDS
    batch(plate, target, resume=True)  # nothing is left to do


def test_errors_of_values_lie_beside_the_fields(plate, tmp_path):
    target = tmp_path / "clean.ome.zarr"
    request = BatchRequest(
        inputs=(str(plate),), out=str(target), key="all", options={**OPTIONS, "error": True}
    )
    list(iter_batch(request))
    assert list_fields(target) == FIELDS
    assert open_file(target / "A/1/0.error").array.dtype == np.float32


def test_several_plates_go_into_a_folder(plate, tmp_path):
    shutil.copytree(plate, tmp_path / "other.ome.zarr")
    request = BatchRequest(
        inputs=(str(plate), str(tmp_path / "other.ome.zarr")),
        out=str(tmp_path / "out"),
        key="all",
        options=OPTIONS,
    )
    assert len(plan_batch(request)) == 8
    list(iter_batch(request))
    for name in ("plate.ome.zarr", "other.ome.zarr"):
        assert list_fields(tmp_path / "out" / name) == FIELDS


def test_a_plate_becomes_nothing_else_than_a_plate(plate, tmp_path):
    done = run("denoise", plate, "--key", "all", "--out", tmp_path / "a.tif", "--sigma", 30)
    assert done.exit_code
    assert "a plate becomes a plate" in done.stderr
    assert ".ome.zarr" in done.stderr


def test_what_is_no_plate_has_no_fields(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones((16, 16)), b=np.ones((16, 16)))
    assert list_fields(tmp_path / "a.npz") == []
    done = run("denoise", tmp_path / "a.npz", "--key", "all", "--out", tmp_path / "b.ome.zarr")
    assert done.exit_code
    assert "'all'" in done.stderr


def test_wells_that_are_missing_are_left_out(plate, tmp_path):
    shutil.rmtree(plate / "B")
    assert list_fields(plate) == FIELDS[:3]
    batch(plate, tmp_path / "clean.ome.zarr")
    assert [well["path"] for well in plate_of(tmp_path / "clean.ome.zarr")["wells"]] == [
        "A/1",
        "A/10",
    ]


def test_a_format_of_zarr_is_for_results_that_are_zarr(tmp_path):
    np.save(tmp_path / "a.npy", noisy((16, 16)))
    done = run("denoise", tmp_path / "a.npy", "--zarr-format", "0.4", "--out", tmp_path / "b.tif")
    assert done.exit_code
    assert "--zarr-format" in done.stderr
    assert "is for results that are zarr" in done.stderr


def test_fields_say_how_they_were_made_and_are_made_again(plate, tmp_path):
    out = tmp_path / "new.ome.zarr"
    batch(plate, out)
    field = open_file(out / "A/1/1")
    assert field.recipe["input"]["path"] == f"{plate}/A/1/1"
    assert "--key all" in field.recipe["command"]
    assert "name the file with --out" in run("again", out / "A/1/1").stderr
    done = succeed("again", out / "A/1/1", "--out", tmp_path / "field.ome.zarr", "--json")
    assert json.loads(done.stdout)["same"]
    made = open_file(tmp_path / "field.ome.zarr")
    np.testing.assert_array_equal(np.asarray(made.array), np.asarray(field.array))
