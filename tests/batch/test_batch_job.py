"""Many files as one job: same bits, nothing kept, nothing lost, and a shell line for it."""

from __future__ import annotations

import csv
import gc
import os
import shlex
import shutil
import signal
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_tools import on_posix, run, start, succeed
from hypothesis import given
from hypothesis import strategies as st

from napari_scsc import (
    Axes,
    Cancellation,
    Cancelled,
    FilterBank,
    UserError,
    denoise,
    learn,
    samples,
)
from napari_scsc.batch import job
from napari_scsc.batch.inputs import find_inputs, open_array
from napari_scsc.batch.job import iter_batch
from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.batch.updates import (
    BatchFinished,
    FileDone,
    FileFailed,
    FileReport,
    FileStarted,
    FileState,
    write_summary,
)
from napari_scsc.cli import main
from napari_scsc.cli.inputs import make_batch_request
from napari_scsc.errors import Message
from napari_scsc.model.general_banks import general_bank_for

OPTIONS = {"quality": "draft", "sigma": 20.0}


def image(seed, shape=(48, 48)):
    return samples.noisy_tissue(shape, seed=seed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_files(count):
    for i in range(count):
        np.save(f"{i}.npy", image(i))
    return tuple(f"{i}.npy" for i in range(count))


def make_request(inputs, **more):
    return BatchRequest(**{"inputs": inputs, "out": "new/", "options": OPTIONS, **more})


def reports_of(request, *args, **more):
    *_, last = iter_batch(request, *args, **more)
    assert isinstance(last, BatchFinished)
    return last.reports


def test_results_are_those_of_the_function(folder):
    updates = list(iter_batch(make_request(make_files(3))))
    started = [u.number for u in updates if isinstance(u, FileStarted)]
    assert started == [u.number for u in updates if isinstance(u, FileDone)] == [0, 1, 2]
    shares = [u.done for u in updates]
    assert shares == sorted(shares)
    for i, report in enumerate(updates[-1].reports):
        assert (report.state, report.sigma) == (FileState.DONE, 20.0)
        assert report.seconds > 0
        np.testing.assert_array_equal(np.load(report.result), denoise(image(i), **OPTIONS))


def test_nothing_of_an_image_is_kept_when_its_result_is_written(folder):
    opened = []

    def watched(path, key):
        found = open_array(path, key)
        opened.append(weakref.ref(found.array))
        return found

    alive = []
    finished = []
    for update in iter_batch(make_request(make_files(30)), open_input=watched):
        if isinstance(update, FileDone):
            finished.append(weakref.ref(update.finished.result))
        if isinstance(update, FileStarted):
            gc.collect()
            alive.append(sum(ref() is not None for ref in (*opened, *finished)))
    assert len(opened) == len(finished) == 30
    assert max(alive) <= 3  # the one before may still be in the hand of whoever looks at it


def test_file_that_fails_does_not_keep_others_from_it(folder):
    inputs = make_files(4)
    Path("0.npy").write_bytes(b"no array")
    np.save("1.npy", np.zeros((3, 4, 5, 6, 7, 8)))
    np.save("2.npy", np.full((48, 48), np.nan))
    updates = list(iter_batch(make_request(inputs)))
    failed = [u for u in updates if isinstance(u, FileFailed)]
    assert [u.report.path for u in failed] == ["0.npy", "1.npy", "2.npy"]
    assert all(u.report.failure.path == u.report.path for u in failed)
    assert os.listdir("new") == ["3.npy"]
    stopped = reports_of(make_request(inputs, on_failure="stop", resume=True))
    assert [str(r.state) for r in stopped] == ["failed", "waiting", "waiting", "waiting"]


def test_full_disk_ends_all(folder, monkeypatch):
    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("napari_scsc.iter_denoise", fail, raising=False)
    with pytest.raises(OSError, match="No space"):
        list(iter_batch(make_request(make_files(2))))


def test_what_is_wrong_for_all_fails_at_the_call(folder):
    inputs = make_files(2)
    for wrong in (
        {"options": {"sigma": -1.0}},
        {"bank": "none.scsc"},
        {"out": "new.npy"},
        {"inputs": ("none.npy",)},
        {"options": {"memory": "plenty"}},
    ):
        with pytest.raises((ValueError, OSError)):
            iter_batch(make_request(**{"inputs": inputs, **wrong}))
    with pytest.raises(UserError):
        make_request(inputs, on_failure="perhaps")


@pytest.mark.parametrize("out", ["a\0b/", "/dev/null/new/"])
def test_folder_that_cannot_be_made_is_told(folder, out):
    with pytest.raises(UserError, match="nothing can be written to this folder"):
        list(iter_batch(make_request(make_files(1), out=out)))


def test_cancelled_batch_goes_on_with_what_is_there(folder):
    inputs, cancellation = make_files(3), Cancellation()
    updates = iter_batch(make_request(inputs), cancellation)
    while not isinstance(next(updates), FileDone):
        pass
    cancellation.cancel()
    with pytest.raises(Cancelled):
        next(updates)
    assert os.listdir("new") == ["0.npy"]
    with pytest.raises(UserError, match="is there already"):
        iter_batch(make_request(inputs))
    states = [str(r.state) for r in reports_of(make_request(inputs, resume=True))]
    assert states == ["was there", "done", "done"]
    np.testing.assert_array_equal(np.load("new/2.npy"), denoise(image(2), **OPTIONS))


def test_fit_of_a_bank_is_told_where_it_is_known(folder, monkeypatch):
    bank = learn([image(9)], tiles=2, filter_shape=(5, 5))
    bank.save("own.scsc")
    monkeypatch.setattr(job, "_fit_of", lambda image, bank, axes, noise: bank and bank.id)
    inputs = make_files(1)
    (report,) = reports_of(make_request(inputs, bank="own.scsc"))
    assert report.fit == FilterBank.load("own.scsc").id
    shutil.rmtree("new")
    (again,) = reports_of(make_request(inputs, bank=bank))
    assert again.fit == report.fit


def test_pattern_makes_each_file_of_a_folder_an_image(folder):
    os.mkdir("night")
    for name in ("a10.TIF", "a2.tif", "b.npy", ".hidden.tif", "notes.txt"):
        Path("night", name).touch()
    found = [os.path.basename(p) for p in find_inputs(["night"], "*.tif *.npy")]
    assert found == ["a2.tif", "a10.TIF", "b.npy"]
    assert find_inputs(["night"]) == ["night"]
    assert find_inputs(["night/b.npy", "night"], "*.npy") == ["night/b.npy"]
    with pytest.raises(UserError, match=r"holds no file like \*\.png"):
        find_inputs(["night"], "*.png")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, None),
        ({"options": {**OPTIONS, "n_jobs": 1}}, None),
        ({"options": {**OPTIONS, "quality": "fast", "seed": 3}}, "(quality, seed)"),
        ({"options": {"quality": "draft"}}, "(sigma)"),
        ({"bank": "general"}, "(filters)"),
        ({"axes": "nx"}, "(axes)"),
    ],
)
def test_what_was_there_says_how_it_was_made_otherwise(folder, changed, named):
    tifffile.imwrite("a.tif", image(1))
    general_bank_for((), (48, 48)).save("own.scsc")
    if "bank" in changed:
        changed = {"bank": "own.scsc"}
    reports_of(make_request(("a.tif",)))
    (report,) = reports_of(make_request(("a.tif",), resume=True, **changed))
    assert report.state is FileState.WAS_THERE
    assert [named in str(warning) for warning in report.warnings] == [True] * (named is not None)


def test_filled_results_that_were_there_are_compared_with_their_masks_and_saturation(folder):
    tifffile.imwrite("a.tif", image(1))
    mask = np.zeros((48, 48), bool)
    mask[10:14, 10:14] = True
    np.save("mask.npy", mask)
    asked = {
        "inputs": ("a.tif",),
        "task": "inpaint",
        "mask": "mask.npy",
        "options": {"quality": "draft", "saturation": True},
    }
    reports_of(make_request(**asked))
    (report,) = reports_of(make_request(**asked, resume=True))
    assert report.warnings == ()
    np.save("mask.npy", mask.T[::-1])
    (report,) = reports_of(make_request(**asked, resume=True))
    assert report.outdated == ("from a source that has changed since",)
    shown = run("inpaint", "a.tif", "-o", "new/", "--quality", "draft", "--resume")
    assert "with other settings (saturation, mask)" in shown.stderr


def test_file_that_has_gone_fails_alone(folder):
    for name in ("a", "c"):
        np.save(f"{name}.npy", image(1))
    inputs = ("a.npy", "b.npy", "c.npy")
    reports = reports_of(make_request(inputs))
    assert [str(r.state) for r in reports] == ["done", "failed", "done"]
    assert str(reports[1].failure) == "b.npy: there is no such file or folder"
    with pytest.raises(UserError, match=r"b\.npy: there is no such file"):
        iter_batch(make_request(inputs, out="stops", on_failure="stop"))
    with pytest.raises(UserError, match=r"b\.npy: there is no such file"):
        iter_batch(make_request(("b.npy",), out="none"))
    ended = run("denoise", *inputs, "--quality", "draft", "-o", "by command")
    assert ended.exit_code == 1
    assert "b.npy: there is no such file" in ended.stderr
    assert sorted(os.listdir("by command")) == ["a.npy", "c.npy"]


def test_command_line_has_pattern_summary_and_failures(folder):
    os.mkdir("night")
    for i in range(3):
        np.save(f"night/{i}.npy", image(i))
    Path("night/1.npy").write_bytes(b"no array")
    options = ("--pattern", "*.npy", "--sigma", 20, "--quality", "draft", "--summary", "all.csv")
    result = run("denoise", "night", "-o", "new", *options)
    assert result.exit_code == 1
    assert sorted(os.listdir("new")) == ["0.npy", "2.npy"]
    with open("all.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["state"] for row in rows] == ["done", "failed", "done"]
    assert "1.npy" in rows[1]["failure"]
    assert run("denoise", "night", "-o", "other", *options).exit_code == 1  # the summary is there
    assert not Path("other").exists()
    stopped = run("denoise", "night", "-o", "other", *options[:-2], "--on-failure", "stop")
    assert (stopped.exit_code, os.listdir("other")) == (1, ["0.npy"])


def test_summary_says_what_is_known_in_the_words_of_the_front_end(folder):
    reports = [
        FileReport("a, b.tif", Path("new/a, b.tif"), FileState.DONE, 2.5, "not sure", 1.5),
        FileReport("c.tif", Path("new/c.tif"), FileState.FAILED, failure=Message("is odd")),
    ]
    write_summary(reports, "all.csv", lambda message: message.text.upper())
    with open("all.csv", newline="", encoding="utf-8") as stream:
        first, second = csv.DictReader(stream)
    assert (first["file"], first["sigma"], first["noise"]) == ("a, b.tif", "2.5", "not sure")
    assert (second["result"], second["failure"]) == ("", "IS ODD")
    assert os.listdir() == ["all.csv"]


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
options = st.fixed_dictionaries(
    {},
    optional={
        "sigma": st.floats(1e-3, 1e6),
        "strength": st.floats(0.1, 3),
        "quality": st.sampled_from(["draft", "fast", "balanced"]),
        "seed": st.integers(0, 9),
        "n_jobs": st.integers(1, 9),
        "outliers": st.sampled_from(["auto", "fill", "keep"]),
        "noise": st.sampled_from(["auto", "white"]),
        "memory": st.sampled_from(["2GB", "100 MB"]),
        "noise_filters": st.tuples(st.integers(0, 9), st.integers(0, 9)),
    },
)


@given(
    st.lists(words.filter(lambda w: w != "--"), min_size=1, max_size=3).map(tuple),
    words.filter(lambda w: not w.startswith("-")),
    options,
    st.fixed_dictionaries(
        {},
        optional={
            "task": st.sampled_from(["denoise", "inpaint"]),
            "pattern": st.just("*.tif *.npy"),
            "kind": st.just("stack"),
            "axes": st.just("nzyx"),
            "key": words.filter(lambda w: not w.startswith("-")),
            "format": st.just(".ome.zarr"),
            "on_failure": st.sampled_from(["go-on", "stop"]),
            "resume": st.booleans(),
        },
    ),
)
def test_shell_line_asks_for_the_same(inputs, out, options, more):
    request = BatchRequest(inputs=inputs, out=out, options=options, **more)
    program, task, *arguments = shlex.split(command_line(request))
    assert program == "napari-scsc"
    context = main.commands[task].make_context(task, arguments)
    assert make_batch_request(task, context.params) == request


def test_files_of_a_request_are_in_its_shell_line(folder):
    for name in ("own.scsc", "mask.tif", "dark.tif"):
        Path(name).touch()
    request = make_request(
        ("a.tif",), task="inpaint", bank="own.scsc", mask="mask.tif", dark="dark.tif"
    )
    _, task, *arguments = shlex.split(command_line(request))
    context = main.commands[task].make_context(task, arguments)
    assert make_batch_request(task, context.params) == request


def test_axes_that_have_letters_are_in_the_shell_line_and_others_are_refused():
    stack = Axes("stack", ("z", "y", "x"), ("shift", "shift", "shift"))
    assert "--kind stack --axes zyx" in command_line(make_request(("a",), axes=stack))
    series = Axes("custom", ("t", "y", "x"), ("sample", "shift", "shift"))
    assert "--axes nyx" in command_line(make_request(("a",), axes=series))
    joint = Axes("custom", ("z", "y", "x"), ("joint", "shift", "shift"))
    assert "--axes 'z:joint, y:slide, x:slide'" in command_line(make_request(("a",), axes=joint))
    odd = Axes("custom", ("view_angle", "y", "x"), ("joint", "shift", "shift"))
    with pytest.raises(UserError, match="cannot be said"):
        command_line(make_request(("a",), axes=odd))


@on_posix
@pytest.mark.slow
def test_batch_that_was_killed_goes_on_to_the_same_bits(folder):
    for i in range(4):
        np.save(f"{i}.npy", image(i, (200, 180)))
    options = ("--quality", "fast", "--memory", "100MB", "--jobs", 1)
    process = start("denoise", *(f"{i}.npy" for i in range(4)), "-o", "new", *options)
    while not (Path("new/1.npy").exists() and any(folder.glob("new/2.npy.partial/*"))):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not Path("new/3.npy").exists()
    again = start("denoise", "?.npy", "-o", "new", *options, "--resume")
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    whole = start("denoise", "?.npy", "-o", "whole", *options)
    whole.communicate()
    for i in range(4):
        np.testing.assert_array_equal(np.load(f"new/{i}.npy"), np.load(f"whole/{i}.npy"))
    assert not list(folder.glob("new/*.partial"))


def test_results_that_are_there_are_said_on_the_command_line(folder):
    make_files(2)
    line = command_line(make_request(("?.npy",)))
    succeed(*shlex.split(line)[1:])
    again = succeed(*shlex.split(line)[1:], "--resume")
    assert again.stdout.count("is there already") == 2
