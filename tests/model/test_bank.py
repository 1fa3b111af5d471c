from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import stat
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc import SCSC, FileFormatError, FilterBank, UserError
from napari_scsc.model import container


@pytest.fixture
def bank():
    rng = np.random.default_rng(0)
    return FilterBank(
        rng.standard_normal((4, 2, 3, 5)).astype(np.float32),
        n_joint=1,
        weights=rng.standard_normal((4, 7)).astype(np.float32),
        settings={"beta": 0.1},
        info={"sample": "Zellkern ä", "n_samples": 3},
    )


@pytest.fixture
def saved(bank, tmp_path):
    bank.save(tmp_path / "bank.scsc")
    return tmp_path / "bank.scsc"


def pack(path, header, arrays=(), compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        if header is not None:
            text = header if isinstance(header, str | bytes) else json.dumps(header)
            archive.writestr("header.json", text)
        for name, data in arrays:
            archive.writestr(name, data)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **options)
    return stream.getvalue()


HEADER = {"kind": "napari-scsc filter bank", "version": 1, "n_joint": 0}
CHECKPOINT = {**HEADER, "kind": "napari-scsc checkpoint", "settings": {}, "joint": [], "shift": [9]}
FILTERS = ("filters.npy", npy(np.ones((2, 3, 3), "<f4")))


def test_loaded_equals_saved(bank, saved):
    loaded = FilterBank.load(saved)
    np.testing.assert_array_equal(loaded.filters, bank.filters)
    np.testing.assert_array_equal(loaded.weights, bank.weights)
    assert loaded.id == bank.id
    assert loaded.n_joint == 1
    assert loaded.joint == (2,)
    assert loaded.support == (3, 5)
    assert loaded.n_base == 4
    assert loaded.settings == bank.settings
    assert loaded.info["sample"] == "Zellkern ä"
    assert loaded.info["written_by"].startswith("napari-scsc ")


def test_any_zip_and_numpy_can_read_the_file(bank, saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.testzip() is None
        header = json.loads(archive.read("header.json"))
        filters = np.load(io.BytesIO(archive.read("filters.npy")), allow_pickle=False)
    assert header["kind"] == "napari-scsc filter bank"
    np.testing.assert_array_equal(filters, bank.filters)


def test_bank_cannot_be_changed(bank):
    with pytest.raises(ValueError, match="read-only"):
        bank.filters[0] = 0
    with pytest.raises(TypeError):
        bank.settings["beta"] = 1
    with pytest.raises(AttributeError):
        bank.filters = None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"filters": np.ones((2, 3, 3), int)}, "float32 or float64"),
        ({"filters": np.full((2, 3, 3), np.nan)}, "NaN"),
        ({"filters": np.ones((2, 0, 3))}, "empty"),
        ({"filters": np.ones((2,))}, "shift axes"),
        ({"filters": np.ones((2, 3, 3)), "n_joint": 2}, "shift axes"),
        ({"filters": np.ones((2, 3, 3)), "n_joint": -1}, "n_joint"),
        ({"filters": np.ones((2, 3, 3)), "weights": np.ones((3, 4))}, r"shape \(2, K\)"),
    ],
)
def test_wrong_banks_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        FilterBank(**arguments)


# --- files that are not what they should be -------------------------------------------------------


@settings(max_examples=150)
@given(st.data())
def test_damage_is_noticed_or_harmless(tmp_path_factory, data):
    """Whatever bytes are changed or cut off: a clear error, or a bank that is whole."""
    folder = tmp_path_factory.mktemp("damage", numbered=True)
    path = folder / "bank.scsc"
    original = FilterBank(np.random.default_rng(0).standard_normal((2, 3, 3)).astype("f4"))
    original.save(path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(FileFormatError):  # anything else is a failure
        np.testing.assert_array_equal(FilterBank.load(path).filters, original.filters)


class RunsCode:
    def __reduce__(self):
        return (os.mkdir, ("it-ran",))


def hostile_files(header):
    objects = np.array([RunsCode()], object)
    lying = bytearray(npy(np.ones((2, 3, 3), "<f4")))
    lying = lying.replace(b"(2, 3, 3)", b"(2**9**9)")
    huge = bytearray(npy(np.ones((2, 3, 3), "<f4"))).replace(
        b"(2, 3, 3), }                 ", b"(99999, 99999, 99999), }      "
    )
    deep = b"[" * 100_000
    return {
        "a pickle": lambda p: p.write_bytes(pickle.dumps(RunsCode())),
        "an object array": lambda p: pack(
            p, header, [("filters.npy", npy(objects, allow_pickle=True))]
        ),
        "code in the shape": lambda p: pack(p, header, [("filters.npy", bytes(lying))]),
        "a huge shape": lambda p: pack(p, header, [("filters.npy", bytes(huge))]),
        "a zip bomb": lambda p: pack(
            p, header, [("filters.npy", bytes(1 << 24))], zipfile.ZIP_DEFLATED
        ),
        "a deep header": lambda p: pack(p, deep, [FILTERS]),
        "a large header": lambda p: pack(p, json.dumps({**header, "a": "x" * (2 << 20)})),
        "no header": lambda p: pack(p, None, [FILTERS]),
        "a header that is a list": lambda p: pack(p, [1], [FILTERS]),
        "another kind": lambda p: pack(p, {**header, "kind": "cake"}, [FILTERS]),
        "no filters": lambda p: pack(p, header),
        "no n_joint": lambda p: pack(p, {**header, "n_joint": None}, [FILTERS]),
        "settings that are no mapping": lambda p: pack(p, {**header, "settings": 3}, [FILTERS]),
        "NaN": lambda p: pack(p, header, [("filters.npy", npy(np.full((2, 3, 3), np.nan)))]),
        "a strange version": lambda p: pack(p, {**header, "version": "1"}, [FILTERS]),
        "the same member twice": lambda p: pack_twice(p, header),
        "too many members": lambda p: pack(p, header, [(f"{i}.npy", b"") for i in range(99)]),
        "a member outside": lambda p: pack(p, header, [("../../filters.npy", FILTERS[1])]),
        "nothing": lambda p: p.write_bytes(b""),
        "a text": lambda p: p.write_text("filters"),
    }


def pack_twice(path, header):
    with pytest.warns(UserWarning, match="Duplicate"):
        pack(path, header, [FILTERS, FILTERS])


@pytest.mark.parametrize("what", hostile_files(HEADER))
@pytest.mark.parametrize(("load", "header"), [(FilterBank.load, HEADER), (SCSC.resume, CHECKPOINT)])
def test_hostile_files_give_a_clear_error(tmp_path, monkeypatch, what, load, header):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bank.scsc"
    hostile_files(header)[what](path)
    with pytest.raises(FileFormatError, match=r"bank\.scsc"):
        load(path)
    assert not Path("it-ran").exists()
    assert os.listdir(tmp_path) == ["bank.scsc"]


def test_file_of_a_later_version_asks_for_an_update(tmp_path):
    pack(tmp_path / "bank.scsc", {**HEADER, "version": 2}, [FILTERS])
    with pytest.raises(FileFormatError, match="update napari-scsc"):
        FilterBank.load(tmp_path / "bank.scsc")


def test_bank_and_checkpoint_are_told_apart(saved, tmp_path):
    with pytest.raises(FileFormatError, match="not a napari-scsc checkpoint file"):
        SCSC.resume(saved)
    SCSC(2, 3, (3, 3), max_iter=2).fit(np.random.default_rng(0).random((1, 9, 9))).checkpoint(
        tmp_path / "checkpoint.scsc"
    )
    with pytest.raises(FileFormatError, match="not a napari-scsc filter bank file"):
        FilterBank.load(tmp_path / "checkpoint.scsc")


@pytest.mark.parametrize("filters", ["orthonormal", "ball"])
def test_checkpoint_with_inconsistent_shapes_is_refused(tmp_path, filters):
    path = tmp_path / "checkpoint.scsc"
    model = SCSC(2, 3, (3, 3), max_iter=2, filters=filters)
    model.fit(np.random.default_rng(0).random((1, 9, 9))).checkpoint(path)
    header, arrays = container.read(path, "napari-scsc checkpoint", 1)
    del header["kind"], header["version"]
    changes = [
        {"settings": {**header["settings"], "filter_shape": [10**14 + 1, 3]}},
        {"settings": {**header["settings"], "filter_shape": [3]}},
        {"count": 10**400},
        {"n_seen": 10**4000},
        {"settings": {**header["settings"], "n_base": 10**9}},
        {"settings": {**header["settings"], "surprise": 1}},
        {"n_seen": -1},
    ]
    if filters == "ball":  # whose history has the size of a sample
        changes += [
            {"shift": [900_000, 900_000]},
            {"shift": [10**15 + 1, 9]},
            {"shift": [9]},
            {"shift": "99"},
            {"rho": None},
        ]
    for change in changes:
        container.write(path, "napari-scsc checkpoint", 1, {**header, **change}, arrays)
        with pytest.raises(FileFormatError, match=r"checkpoint\.scsc"):
            SCSC.resume(path)


def test_checkpoint_with_arrays_of_the_wrong_type_is_refused(tmp_path):
    path = tmp_path / "checkpoint.scsc"
    SCSC(2, 3, (3, 3), max_iter=2).fit(np.random.default_rng(0).random((1, 9, 9))).checkpoint(path)
    header, arrays = container.read(path, "napari-scsc checkpoint", 1)
    del header["kind"], header["version"]
    arrays["filters"] = arrays["filters"].astype("c8")
    container.write(path, "napari-scsc checkpoint", 1, header, arrays)
    with pytest.raises(FileFormatError, match="filters holds complex64"):
        SCSC.resume(path)


@pytest.mark.parametrize("shift", [1, 1000, 2**31])
def test_wrong_offset_in_the_archive_is_a_format_error(saved, shift):
    content = bytearray(saved.read_bytes())
    place = content.rindex(b"PK\x05\x06") + 16
    offset = int.from_bytes(content[place : place + 4], "little")
    content[place : place + 4] = ((offset + shift) % 2**32).to_bytes(4, "little")
    saved.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"bank\.scsc"):
        FilterBank.load(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.scsc")
    with pytest.raises(FileFormatError, match="not a file"):
        FilterBank.load(tmp_path / "pipe.scsc")


def test_bank_can_be_sent_to_another_process(bank):
    copy = pickle.loads(pickle.dumps(bank))
    assert copy.id == bank.id
    assert copy.settings == bank.settings


def test_settings_are_the_same_before_and_after_saving(tmp_path):
    bank = FilterBank(
        np.ones((1, 3)), n_joint=np.int64(0), settings={"filter_shape": (3,)}, info={"a": (1, 2)}
    )
    bank.save(tmp_path / "a.scsc")
    loaded = FilterBank.load(tmp_path / "a.scsc")
    assert loaded.settings == bank.settings
    assert loaded.info["a"] == bank.info["a"]
    with pytest.raises(ValueError, match="only what JSON can"):
        FilterBank(np.ones((1, 3)), info={"array": np.ones(3)})


def test_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        FilterBank.load(tmp_path / "none.scsc")


# --- files appear whole or not at all -------------------------------------------------------------


@pytest.mark.parametrize("where", ["writestr", "fsync", "replace"])
def test_full_disk_leaves_the_old_file(bank, saved, monkeypatch, where):
    before = saved.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    target = zipfile.ZipFile if where == "writestr" else os
    with monkeypatch.context() as patched:
        patched.setattr(target, where, full)
        with pytest.raises(OSError, match="No space"):
            FilterBank(bank.filters * 2, 1).save(saved, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_file_has_the_usual_permissions(bank, tmp_path):
    path = tmp_path / "bank.scsc"
    (tmp_path / "other").write_text("")
    usual = stat.S_IMODE((tmp_path / "other").stat().st_mode)
    bank.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == usual
    path.chmod(0o640)
    bank.save(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_name_that_no_file_can_have_is_refused(bank):
    for attempt in (bank.save, FilterBank.load):
        with pytest.raises(UserError, match="zero byte"):
            attempt("a\0b.scsc")


def test_bank_is_not_written_over_a_file_unless_that_is_said(bank, tmp_path):
    path = tmp_path / "thesis.scsc"
    path.write_text("all of it")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        bank.save(path)
    assert path.read_text() == "all of it"
    assert os.listdir(tmp_path) == [path.name]
    bank.save(path, overwrite=True)
    assert FilterBank.load(path).id == bank.id


def test_file_that_appears_while_a_bank_is_written_stays(bank, tmp_path, monkeypatch):
    path = tmp_path / "thesis.scsc"
    monkeypatch.setattr(os, "fsync", lambda _: path.write_text("all of it"))
    with pytest.raises(FileExistsError, match="is there already"):
        bank.save(path)
    assert path.read_text() == "all of it"
    assert os.listdir(tmp_path) == [path.name]
