"""What a run writes appears under its name, and nothing that is not its own is ever lost."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from napari_scsc import UserError, denoise, iter_denoise, renaming, samples
from napari_scsc.run import blocks
from napari_scsc.run.updates import BlocksDone

OPTIONS = {"kind": "image", "quality": "draft", "sigma": 10.0, "n_jobs": 1}


@pytest.fixture
def image():
    return samples.noisy_tissue((64, 60)).astype(np.float32)


@pytest.fixture
def expected(image):
    return denoise(image, **OPTIONS)


def run_until_written(image, path, **options):
    """A run of which the result is nearly whole."""
    updates = iter_denoise(image, out=path, **OPTIONS, **options)
    next(update for update in updates if isinstance(update, BlocksDone))
    return updates


@pytest.fixture(params=["in one step", "by a link", "by looking"])
def system(request, monkeypatch):
    """Systems that can do more or less."""
    if request.param != "in one step":
        monkeypatch.setattr(renaming, "_system_call", lambda: None)
    if request.param == "by looking":
        monkeypatch.setattr(renaming, "_link", lambda *_: False)


def test_rename_never_replaces(system, tmp_path):
    for make in (os.mkdir, lambda p: p.write_text("of " + p.name)):
        source, target = tmp_path / "made", tmp_path / "name"
        make(source)
        target.write_text("thesis")
        with pytest.raises(FileExistsError):
            renaming.rename_exclusively(source, target)
        assert target.read_text() == "thesis"
        assert source.exists()
        target.unlink()
        renaming.rename_exclusively(source, target)
        assert os.listdir(tmp_path) == ["name"]
        if target.is_dir():
            target.rmdir()


@pytest.mark.parametrize("missing", [None, "_open_nameless", "_give_name"])
def test_file_is_there_whole_or_not_at_all(system, missing, tmp_path, monkeypatch):
    if missing is not None:
        monkeypatch.setattr(renaming, missing, lambda *_: None)
    path = tmp_path / "name"

    def write(text, is_replaced, error=None):
        with renaming.whole_file(path, is_replaced=is_replaced) as stream:
            stream.write(text)
            if error:
                raise error

    with pytest.raises(KeyboardInterrupt):
        write(b"half", False, KeyboardInterrupt)
    assert os.listdir(tmp_path) == []
    write(b"first", False)
    with pytest.raises(FileExistsError):
        write(b"second", False)
    with pytest.raises(KeyboardInterrupt):
        write(b"half", True, KeyboardInterrupt)
    assert path.read_bytes() == b"first"
    write(b"second", True)
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["name"]


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name")
def test_killed_process_leaves_nothing_of_a_file(tmp_path):
    program = (
        "import os, signal, sys; from pathlib import Path; from napari_scsc import renaming\n"
        "with renaming.whole_file(Path(sys.argv[1]), is_replaced=True) as stream:\n"
        "    stream.write(bytes(1 << 20)); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "name"], check=False)
    assert done.returncode < 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".npy", ".tif", ".zarr"])
def test_file_that_appears_during_a_run_stays_and_so_does_the_result(
    image, expected, tmp_path, suffix
):
    path = tmp_path / f"late{suffix}"
    updates = run_until_written(image, path)
    path.write_text("thesis")
    with pytest.raises(FileExistsError, match=r"kept in .*\.partial: move it away, and resume"):
        list(updates)
    assert path.read_text() == "thesis"
    for resume in (True, False):
        with pytest.raises(FileExistsError, match="is there already"):
            denoise(image, out=path, resume=resume, **OPTIONS)
        assert path.read_text() == "thesis"
    path.unlink()
    result = denoise(image, out=path, resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert os.listdir(tmp_path) == [path.name]


def test_map_that_appears_during_a_run_stays(image, tmp_path):
    path, beside = tmp_path / "a.npy", tmp_path / "a.error.npy"
    updates = run_until_written(image, path, error=True)
    beside.write_text("thesis")
    with pytest.raises(FileExistsError, match="kept in"):
        list(updates)
    with pytest.raises(FileExistsError, match="is there already"):
        denoise(image, out=path, error=True, resume=True, **OPTIONS)
    assert beside.read_text() == "thesis"
    beside.unlink()
    denoise(image, out=path, error=True, resume=True, **OPTIONS)
    assert sorted(os.listdir(tmp_path)) == ["a.error.npy", "a.npy"]


def test_folder_of_the_user_beside_a_finished_result_stays(image, tmp_path):
    path, folder = tmp_path / "done.npy", tmp_path / "done.npy.partial"
    denoise(image, out=path, **OPTIONS)
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(FileExistsError, match="is there already"):
        denoise(image, out=path, resume=True, **OPTIONS)
    assert (folder / "thesis.txt").read_text() == "all of it"


def test_files_put_into_the_folder_of_a_run_stay(image, expected, tmp_path):
    path, folder = tmp_path / "a.npy", tmp_path / "a.npy.partial"
    updates = run_until_written(image, path)
    (folder / "thesis.txt").write_text("all of it")
    (folder / "blocks").mkdir(exist_ok=True)
    (folder / "blocks" / "figure.npy").write_text("1")
    *_, last = updates
    np.testing.assert_array_equal(np.asarray(last.result), expected)
    assert sorted(os.listdir(folder)) == ["blocks", "thesis.txt"]
    assert os.listdir(folder / "blocks") == ["figure.npy"]


@pytest.mark.parametrize("error", [False, True])
def test_run_that_was_killed_after_its_last_rename_is_cleared_away(
    image, expected, tmp_path, monkeypatch, error
):
    path, folder = tmp_path / "a.npy", tmp_path / "a.npy.partial"
    with monkeypatch.context() as patched:
        patched.setattr("napari_scsc.run.partial.PartialFolder._remove", lambda _: None)
        denoise(image, out=path, error=error, **OPTIONS)
    assert folder.exists()
    with pytest.raises(FileExistsError, match="is there already"):
        denoise(image, out=path, error=error, resume=True, **OPTIONS)
    assert not folder.exists()
    np.testing.assert_array_equal(np.load(path), expected)


def test_run_that_was_killed_between_its_renames_goes_on(image, expected, tmp_path, monkeypatch):
    path, beside = tmp_path / "a.npy", tmp_path / "a.error.npy"
    rename = renaming.rename_exclusively

    def killed(source, target):
        if target == path:
            raise KeyboardInterrupt
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("napari_scsc.run.partial.rename_exclusively", killed)
        with pytest.raises(KeyboardInterrupt):
            denoise(image, out=path, error=True, **OPTIONS)
    assert beside.exists()
    result, _ = denoise(image, out=path, error=True, resume=True, **OPTIONS)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert sorted(os.listdir(tmp_path)) == ["a.error.npy", "a.npy"]


def test_name_of_a_broken_link_is_taken(image, tmp_path):
    path = tmp_path / "a.npy"
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(FileExistsError, match="is there already"):
        denoise(image, out=path, **OPTIONS)
    assert os.path.islink(path)


def test_run_that_is_under_way_is_not_called_broken_off(image, tmp_path):
    updates = iter_denoise(image, out=tmp_path / "a.zarr", **OPTIONS)
    next(updates)
    for resume in (False, True):
        with pytest.raises(ValueError, match=r"another run is working.*: wait for it"):
            denoise(image, out=tmp_path / "a.zarr", resume=resume, **OPTIONS)
    updates.close()
    with pytest.raises(FileExistsError, match="broke off"):
        denoise(image, out=tmp_path / "a.zarr", **OPTIONS)


def test_what_a_killed_run_had_begun_goes_with_its_folder(image, tmp_path):
    path, folder = tmp_path / "a.zarr", tmp_path / "a.zarr.partial"
    updates = run_until_written(image, path)
    (folder / ".result.zarr.0123abcd").mkdir()
    (folder / ".result.zarr.0123abcd" / "zarr.json").write_text("{}")
    (folder / ".request.json.0123abcd").write_text("{}")
    list(updates)
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("suffix", [".npy", ".tif", ".zarr"])
def test_run_that_is_refused_before_anything_is_made_leaves_nothing(
    image, tmp_path, monkeypatch, suffix
):
    def refuse(*_):
        raise UserError("sees other values of the image")

    monkeypatch.setattr(blocks.BlockRun, "take_block", refuse)
    with pytest.raises(UserError, match="sees other values"):
        denoise(image, out=tmp_path / f"a{suffix}", error=True, **OPTIONS)
    assert os.listdir(tmp_path) == []


def test_run_that_is_refused_keeps_what_was_there(image, tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    run_until_written(image, path).close()
    there = {*os.listdir(tmp_path / "a.npy.partial")} - {"stop"}
    monkeypatch.setattr(
        blocks.BlockRecords, "steps", lambda _: (_ for _ in ()).throw(UserError("refused"))
    )
    with pytest.raises(UserError, match="refused"):
        denoise(image, out=path, resume=True, **OPTIONS)
    assert {*os.listdir(tmp_path / "a.npy.partial")} >= there
