from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
import zarr
from file_tools import (
    CUBE,
    hdf5,
    npy,
    numbered,
    tiff,
    tiff_strips,
    tiff_tiled,
    write_h5,
    zarr_array,
)

from napari_scsc.errors import Remedy, UserError
from napari_scsc.io.formats import open_file, zarr_guard
from napari_scsc.io.formats.file_arrays import unreadable

# What cannot be read


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.tif: there is no such file or folder"):
        open_file(tmp_path / "none.tif")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.scsc", "a.zarr"])
def test_unknown_kinds_say_in_two_lines_what_can_be_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"nothing")
    ending = path.suffix or "without an ending"
    with pytest.raises(ValueError, match=rf"{name}: .*{ending}.*Can be read") as raised:
        open_file(path)
    assert len(str(raised.value).removeprefix(str(path.parent))) <= 2 * 80


def test_a_folder_of_other_things_says_what_it_should_hold(tmp_path):
    (tmp_path / ".DS_Store").touch()
    with pytest.raises(ValueError, match="is empty"):
        open_file(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"holds no images, but notes\.txt"):
        open_file(tmp_path)
    for i in range(3):
        for letter in "ab":
            iio.imwrite(tmp_path / f"{letter}_{i}.tif", CUBE[0])
    words = rf"are no one image: name them, as in {tmp_path.name}/\*\.tif.* bands .* views .* TIFF"
    with pytest.raises(ValueError, match=words):
        open_file(tmp_path)


@pytest.mark.parametrize("name", ["a.tif.partial", "a.zarr.partial"])
def test_a_run_that_broke_off_is_called_so(tmp_path, name):
    (tmp_path / name).mkdir()
    np.save(tmp_path / name / "result.npy", CUBE)
    with pytest.raises(UserError, match="is a run that broke off") as raised:
        open_file(tmp_path / name)
    assert raised.value.message.remedy is Remedy.RESUME


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.tif")
    with pytest.raises(ValueError, match="not a file"):
        open_file(tmp_path / "a.tif")


@pytest.mark.parametrize("suffix", [".tif", ".h5", ".npy", ".npz", ".mat", ".png", ".gif"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 20, b"II*\0garbage", b"\x93NUMPYgarbage"])
def test_damaged_files_raise_and_are_named(tmp_path, suffix, content, caplog):
    caplog.set_level(logging.CRITICAL)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"a{suffix}"):
        open_file(path)


@pytest.mark.parametrize("make", [npy, tiff])
def test_files_that_are_cut_off_raise(tmp_path, make):
    path = make(tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ValueError, match=path.name):
        open_file(path).array[:]


def damaged_zarr(path, zarr_format=3):
    zarr.create_array(path / "a.zarr", data=CUBE, chunks=(1, 5, 5), zarr_format=zarr_format)
    chunks = [p for p in (path / "a.zarr").rglob("*") if p.is_file() and "zarr" not in p.name]
    min(p for p in chunks if p.name != ".zattrs").write_text("no chunk")
    return path / "a.zarr"


def damaged_hdf5(path):
    with h5py.File(path / "a.h5", "w") as file:
        file.create_dataset("a", data=CUBE, chunks=(1, 30, 40), compression="gzip")
        place = file["a"].id.get_chunk_info(0).byte_offset
    with open(path / "a.h5", "r+b") as stream:
        stream.seek(place)
        stream.write(b"no chunk")
    return path / "a.h5"


@pytest.mark.parametrize(
    "make", [damaged_zarr, lambda path: damaged_zarr(path, 2), damaged_hdf5, tiff_tiled, npy]
)
def test_damage_that_is_found_when_reading_names_the_file(tmp_path, make):
    path = make(tmp_path)
    array = pickle.loads(pickle.dumps(open_file(path).array))
    if path.suffix in (".tif", ".npy"):
        os.truncate(path, 1000)
    with pytest.raises(ValueError, match=rf"{path.name}: not a readable"):
        array[:]
    if path.suffix in (".zarr", ".h5"):  # what is whole is read nevertheless
        np.testing.assert_array_equal(array[1:], CUBE[1:])


def test_a_damaged_chunk_of_zarr_leaves_nothing_behind_that_complains(tmp_path):
    code = f"""
from napari_scsc.io.formats import open_file
try:
    open_file({os.fspath(damaged_zarr(tmp_path))!r}).array[:]
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "a.zarr: not a readable zarr" in done.stdout
    assert done.stderr == ""


def test_what_the_system_refuses_stays_an_error_of_the_system(tmp_path):
    for make in (hdf5, zarr_array, tiff_strips):
        path = make(tmp_path)
        array = open_file(path).array
        os.rename(path, tmp_path / f"moved-{path.name}")
        with pytest.raises(FileNotFoundError, match=path.name):
            array[:1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"zarr_format": 3}', '{"zarr_format": 9}'])
@pytest.mark.parametrize("mark", ["zarr.json", ".zarray", ".zgroup"])
def test_damaged_zarr_raises_and_is_named(tmp_path, mark, text):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / mark).write_text(text)
    with pytest.raises(ValueError, match=r"a\.zarr: not a readable zarr"):
        open_file(tmp_path / "a.zarr")


@pytest.mark.parametrize(
    "image",
    [
        {"datasets": []},
        {"datasets": [{"path": "none"}]},
        {"datasets": [{"path": "../0"}]},
        {"axes": 3, "datasets": [{"path": "0"}]},
        {"axes": [{}, {}, {}], "datasets": [{"path": "0"}]},
        {"datasets": [{"path": "0", "coordinateTransformations": [3]}]},
        "image",
    ],
)
def test_damaged_ome_metadata_raise_and_are_named(tmp_path, image):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("0", data=CUBE)
    group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
    with pytest.raises(ValueError, match=r"a\.zarr"):
        open_file(tmp_path / "a.zarr")


def test_a_scale_that_makes_no_sense_is_left_out(tmp_path):
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("0", data=CUBE)
    axes = [{"name": name} for name in "zyx"]
    for scale in ([0, 1, 1], [1, 1], ["a", 1, 1]):
        steps = [{"type": "scale", "scale": scale}]
        image = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}
        group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}
        opened = open_file(tmp_path / "a.zarr")
        assert opened.scale is None
        assert opened.labels == ("z", "y", "x")


def test_what_holds_no_numbers_is_refused(tmp_path):
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    np.save(tmp_path / "one.npy", np.float32(3))
    np.save(tmp_path / "complex.npy", np.zeros((3, 3), complex))
    np.savez(tmp_path / "words.npz", a=np.array(["a", "b"]))
    write_h5(tmp_path / "a.h5")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["words"] = ["a", "b"]
        file["nothing"] = h5py.Empty("f4")
    zarr.create_group(tmp_path / "a.zarr")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=path.name):
            open_file(path)


@pytest.mark.parametrize("make", [npy, numbered])
def test_a_key_where_there_is_one_array_is_refused(tmp_path, make):
    with pytest.raises(ValueError, match="none that is called 'b'"):
        open_file(make(tmp_path), "b")


def test_without_h5py_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = hdf5(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        open_file(path)


@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_damaged_npy_is_not_said_to_hold_objects(tmp_path, damage):
    path = tmp_path / "a.npy"
    np.save(path, CUBE)
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-9], "other": b"no numpy" * 30, "empty": b""}[damage])
    with pytest.raises(ValueError, match=r"not a readable \.npy file") as raised:
        open_file(path)
    assert "Python objects" not in str(raised.value)


def test_what_is_said_of_a_damaged_file_is_short(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"x": np.zeros((80, 50))})
    whole = bytearray(path.read_bytes())
    at = whole.index(np.array([5, 8], "<u4").tobytes())  # the lengths of the axes
    whole[at + 4 : at + 8] = np.array(4 * 900, "<u4").tobytes()
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="a variable has 900 axes") as raised:
        open_file(path)
    assert len(str(raised.value)) < 300


def test_what_a_package_says_of_a_file_is_cut_off(tmp_path):
    error = unreadable(tmp_path / "a.tif", "TIFF", ValueError("7 " * 9000))
    assert len(str(error)) < 800


# Nothing that is read can run code


class Trap:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_python_objects_are_never_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([Trap()], object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=np.array([[Trap()]], object))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match=name) as raised:
            open_file(tmp_path / name)
    assert "Python objects" in str(raised.value) or name == "a.npz"
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("where", ["filters", "compressor"])
@pytest.mark.parametrize("dtype", ["<f4", "|O"])
def test_zarr_written_with_pickle_is_refused(tmp_path, monkeypatch, where, dtype):
    monkeypatch.chdir(tmp_path)
    codec = {"id": "pickle", "protocol": 5}
    metadata = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "fill_value": 0}
    metadata |= {"order": "C", "filters": None, "compressor": None}
    metadata[where] = [codec] if where == "filters" else codec
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps(metadata))
    (tmp_path / "a.zarr" / "0").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"a\.zarr"):
        open_file(tmp_path / "a.zarr").array[:]
    assert not (tmp_path / "executed").exists()


def test_the_check_for_pickle_looks_at_every_codec():
    class Codec:
        codec_id = "pickle"

    class Metadata:
        filters = (object(), Codec())
        compressor = None

    class Stored:
        metadata = Metadata()

    with pytest.raises(ValueError, match="pickle"):
        zarr_guard.check_codecs(Stored())
