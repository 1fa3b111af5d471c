"""The command line: files in, files out, one line for what is wrong."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from click.testing import CliRunner

from napari_scsc import FilterBank, cli, denoise, inpaint, learn, samples
from napari_scsc.data.image import ImageArray
from napari_scsc.errors import RunInterrupted
from napari_scsc.io.formats import open_file
from napari_scsc.io.stores import store_for
from napari_scsc.restore.groups import passes
from napari_scsc.restore.options import METHODS
from napari_scsc.restore.quality import QUALITIES
from napari_scsc.run import block_grid

DRAFT = ("--quality", "draft")
DOCS = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"


def run(*args, **more):
    # Before version 8.2 of click, both streams were one unless told.
    old = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner = CliRunner(**({"mix_stderr": False} if old else {}))
    return runner.invoke(cli.main, [str(a) for a in args], prog_name="napari-scsc", **more)


def succeed(*args, **more):
    result = run(*args, **more)
    assert result.exit_code == 0, result.stderr
    return result


def save(path, array, labels, scale, units):
    store = store_for(
        path, array.shape, array.dtype, array.shape, labels=labels, scale=scale, units=units
    )
    store.create()
    store.write(tuple(slice(0, n) for n in array.shape), array)
    store.finish()


@pytest.fixture(scope="module")
def cells():
    return samples.noisy_tissue((72, 64))


@pytest.fixture
def folder(tmp_path, monkeypatch, cells):
    """Where the commands run: a folder with an image of which size and units are known."""
    monkeypatch.chdir(tmp_path)
    save("cells.tif", cells, "yx", (0.2, 0.2), ("um", "um"))
    return tmp_path


@pytest.fixture
def many_blocks(monkeypatch):
    monkeypatch.setattr(passes, "_bytes_per_point", lambda *_: 2e4)
    monkeypatch.setattr(block_grid, "CHUNK_VALUES", 3000)


# The same in a process of its own, and a checkpoint after every tile.
PROGRAM = """
import sys
from napari_scsc import cli
from napari_scsc.restore import blocks, plan
plan._bytes_a_point = lambda *_: 2e4
blocks._CHUNK_VALUES = 3000
cli._LOST = 0.0
cli.main(prog_name="napari-scsc")
"""


def start(*args, program=PROGRAM, **more):
    command = [sys.executable, "-c", program, *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **more)


def lines_of(text):
    """What was complained of; the lines of progress left out."""
    return [line for line in text.splitlines() if not re.match(r"\S+: +\d+% ", line)]


# --- what is wrong ------------------------------------------------------------------------------


@pytest.fixture
def wrong(folder, cells):
    """Files that cannot be restored, beside one that can."""
    values = cells.astype(np.float32)
    np.save("many.npy", np.stack([cells] * 5))
    np.save("holes.npy", np.where(values > values.max() - 1, np.nan, values))
    np.save("infinite.npy", np.where(values > values.max() - 1, np.inf, values))
    np.save("four.npy", np.stack([np.stack([cells] * 4)] * 4))
    np.save("row.npy", cells[:3])
    Path("cut.tif").write_bytes(Path("cells.tif").read_bytes()[:3000])
    Path("text.txt").write_text("no image")
    Path("bank.scsc").write_text("no bank")
    np.savez("two.npz", a=cells, b=cells)
    os.mkdir("nothing")
    return folder


RESTORE = ("denoise", "cells.tif", "-o", "new.tif")
WRONG = {
    "no command": (("paint",), 2, "paint"),
    "no such option": (("--loud",), 2, "--loud"),
    "no input": (("denoise", "-o", "new.tif"), 2, "INPUTS"),
    "no output": (("denoise", "cells.tif"), 2, "--out"),
    "missing": (("denoise", "sells.tif", "-o", "new.tif"), 1, "sells.tif"),
    "no match": (("denoise", "s*.tif", "-o", "new"), 1, "s*.tif"),
    "no image": (("denoise", "text.txt", "-o", "new.tif"), 1, "text.txt: of an unknown kind"),
    "cut off": (("denoise", "cut.tif", "-o", "new.tif"), 1, "cut.tif"),
    "empty folder": (("denoise", "nothing", "-o", "new.tif"), 1, "nothing"),
    "which array": (("denoise", "two.npz", "-o", "new.tif"), 1, "--key"),
    "no such array": (("denoise", "two.npz", "--key", "c", "-o", "new.tif"), 1, "'c'"),
    "format": (("denoise", "cells.tif", "-o", "new.png"), 1, "new.png"),
    "no folder": (("denoise", "cells.tif", "-o", "text.txt/new.tif"), 1, "text.txt"),
    "file for several": (("denoise", "cells.tif", "many.npy", "-o", "new.tif"), 2, "folder"),
    "format of a file": ((*RESTORE, "--format", ".npy"), 2, "--format"),
    "kind": (("denoise", "many.npy", "-o", "new.tif"), 1, "with --kind, or"),
    "other kind": ((*RESTORE, "--kind", "video"), 1, "with --axes"),
    "unknown kind": ((*RESTORE, "--kind", "paint"), 2, "--kind"),
    "axes": ((*RESTORE, "--axes", "yxc"), 1, "axes"),
    "unknown axes": ((*RESTORE, "--axes", "y?"), 1, "'?'"),
    "too many axes": (("denoise", "four.npy", "--axes", "tzyx", "-o", "new.tif"), 1, "n in --axes"),
    "small": (("denoise", "row.npy", "-o", "new.tif"), 1, "3 points"),
    "NaN": (
        ("denoise", "holes.npy", "-o", "new.npy"),
        1,
        "inpaint fills them, and denoises with --sigma",
    ),
    "infinite": (("denoise", "infinite.npy", "-o", "new.npy"), 1, "--mask"),
    "sigma": ((*RESTORE, "--sigma", "-1"), 2, "--sigma"),
    "sigma is not a number": ((*RESTORE, "--sigma", "nan"), 1, "sigma"),
    "strength": ((*RESTORE, "--strength", "0"), 2, "--strength"),
    "jobs": ((*RESTORE, "--jobs", "0"), 2, "--jobs"),
    "seed": ((*RESTORE, "--seed", "-1"), 2, "--seed"),
    "memory": ((*RESTORE, "--memory", "plenty"), 1, "--memory"),
    "little memory": ((*RESTORE, "--memory", "2"), 1, "--memory"),
    "scheduler": ((*RESTORE, "--scheduler", "cluster:0"), 1, "--scheduler"),
    "no such bank": ((*RESTORE, "--bank", "new.scsc"), 2, "--bank"),
    "no bank": ((*RESTORE, "--bank", "bank.scsc"), 1, "bank.scsc"),
    "nothing missing": (("inpaint", *RESTORE[1:]), 1, "nothing is missing"),
    "mask": (("inpaint", *RESTORE[1:], "--mask", "many.npy"), 1, "mask"),
    "no such mask": (("inpaint", *RESTORE[1:], "--mask", "new.npy"), 1, "new.npy"),
    "mask of floats": (("inpaint", *RESTORE[1:], "--mask", "holes.npy"), 1, "mask"),
    "nothing piped": (("denoise", "-", "-o", "new.npy"), 1, "standard input"),
    "resumed pipe": (("denoise", "cells.tif", "-o", "-", "--resume"), 2, "--resume"),
    "JSON and values": (("denoise", "cells.tif", "-o", "-", "--json"), 2, "--json"),
    "no file for filters": (("learn", "cells.tif", "-o", "new.tif"), 2, ".scsc"),
    "unequal images": (("learn", "cells.tif", "many.npy", "-o", "new.scsc"), 1, "many.npy"),
    "paper only": (("learn", "cells.tif", "-o", "new.scsc", "--beta", "1"), 1, "--model paper"),
    "too many filters": (
        ("learn", "cells.tif", "-o", "new.scsc", "--n-base", "9999"),
        1,
        "--n-base",
    ),
    "info": (("info", "text.txt"), 1, "text.txt"),
    "info of axes": (("info", "many.npy", "--axes", "yx"), 1, "axes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line_and_an_exit_code(wrong, name):
    args, code, words = WRONG[name]
    result = run(*args)
    assert result.exit_code == code
    assert result.stdout == ""
    (line,) = lines_of(result.stderr)
    assert line.startswith("napari-scsc: ")
    assert words in line
    assert not re.search(r"\w=|Errno|Error", line)  # no words of Python
    assert not [p.name for p in wrong.iterdir() if p.name.startswith("new")]


def test_an_error_that_nobody_expected_is_one_line_too(folder, monkeypatch):
    def fail(*_args, **_options):
        raise KeyError("gone")

    monkeypatch.setattr("napari_scsc.restore.api.iter_denoise", fail)
    monkeypatch.setattr("napari_scsc.iter_denoise", fail, raising=False)
    result = run(*RESTORE)
    assert result.exit_code == 1
    assert lines_of(result.stderr) == ["napari-scsc: KeyError: 'gone'"]


def test_run_that_a_cluster_broke_off_has_an_exit_code_of_its_own(folder, monkeypatch):
    def fail(*_args, **_options):
        raise RunInterrupted("it broke off: run it again with resume")

    monkeypatch.setattr("napari_scsc.iter_denoise", fail, raising=False)
    result = run(*RESTORE)
    assert result.exit_code == 3
    assert "again with --resume" in result.stderr


# --- results ------------------------------------------------------------------------------------


def test_words_to_choose_from_are_those_of_the_library():
    from napari_scsc.data.axes import PRESETS
    from napari_scsc.io import stores

    assert tuple(PRESETS) == cli.KINDS
    assert tuple(QUALITIES) == cli.QUALITIES
    assert METHODS == cli.METHODS
    assert set(cli.FORMATS) <= set(stores._STORES)


@pytest.mark.parametrize("out", ["new.tif", "new.ome.tif", "new.zarr", "new.ome.zarr"])
def test_result_is_that_of_the_function_with_the_scale_of_the_image(folder, cells, out):
    options = {"sigma": 7.0, "strength": 1.2, "quality": "draft", "seed": 3}
    said = [f"--{name}={value}" for name, value in options.items()]
    succeed("denoise", "cells.tif", "-o", out, *said)
    found = open_file(out)
    np.testing.assert_array_equal(np.asarray(found.array), denoise(cells, **options))
    assert found.labels == ("y", "x")
    assert found.scale == pytest.approx((0.2, 0.2))
    assert found.units == ("micrometer", "micrometer")
    assert sorted(p.name for p in folder.iterdir()) == ["cells.tif", out]


def test_mask_says_what_is_filled(folder, cells):
    mask = np.zeros(cells.shape, np.uint8)
    mask[30:33] = 1
    tifffile.imwrite("mask.tif", mask)
    succeed("inpaint", "cells.tif", "--mask", "mask.tif", "-o", "new.tif", *DRAFT)
    expected = inpaint(cells, mask, quality="draft")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), expected)


def test_filters_are_learned_used_and_described(folder, cells):
    succeed("learn", "cells.tif", "-o", "new/own.scsc", "--size", 5, "--tiles", 4)
    bank = FilterBank.load("new/own.scsc")
    assert bank.id == learn([cells], filter_shape=(5, 5), tiles=4).id
    assert os.listdir("new") == ["own.scsc"]
    (facts,) = map(json.loads, succeed("info", "new/own.scsc", "--json").stdout.splitlines())
    assert (facts["id"], facts["shape"], facts["kind"]) == (bank.id, [5, 5], "image")
    succeed("denoise", "cells.tif", "--bank", "new/own.scsc", "-o", "new.npy", *DRAFT)
    np.testing.assert_array_equal(np.load("new.npy"), denoise(cells, bank=bank, quality="draft"))


def test_json_is_one_object_per_result_and_nothing_else(folder, cells):
    np.save("more.npy", cells)
    args = ("cells.tif", "more.npy", "--json")
    restored = succeed("denoise", *args, "-o", "new", *DRAFT).stdout.splitlines()
    assert [json.loads(line)["output"] for line in restored] == [
        str(Path("new", name)) for name in ("cells.tif", "more.npy")
    ]
    assert [json.loads(line)["sigma"] > 0 for line in restored] == [True, True]
    described = succeed("info", *args).stdout.splitlines()
    assert [json.loads(line)["shape"] for line in described] == [list(cells.shape)] * 2
    (learned,) = succeed("learn", *args, "-o", "new.scsc", "--tiles", 2).stdout.splitlines()
    assert json.loads(learned)["filters"] == "new.scsc"


def test_results_in_a_folder_keep_their_format_unless_told(folder, cells):
    import imageio.v3 as iio

    save("a.ome.zarr", cells, "yx", None, None)
    save("b.zarr", cells, "yx", None, None)
    np.save("c.d.npy", cells)
    iio.imwrite("e.png", (cells >> 2).astype(np.uint8))
    inputs = ("cells.tif", "?.ome.zarr", "b.zarr", "c.d.npy", "e.png")
    succeed("denoise", *inputs, "-o", "kept", *DRAFT)
    kept = ["a.ome.zarr", "b.zarr", "c.d.npy", "cells.tif", "e.tif"]
    assert sorted(os.listdir("kept")) == kept
    succeed("denoise", "a.ome.zarr", "c.d.npy", "-o", "told", "--format", ".ome.tif", *DRAFT)
    assert sorted(os.listdir("told")) == ["a.ome.tif", "c.d.ome.tif"]
    succeed("denoise", "e.png", "-o", "told", *DRAFT)
    for name in ("one/", "two", "v1.0/"):
        succeed("denoise", "cells.tif", "-o", name, *DRAFT)
        assert os.listdir(name) == ["cells.tif"]
    assert "e.tif" in os.listdir("told")


def test_two_inputs_never_go_to_one_file(folder, cells):
    np.save("cells.npy", cells)
    result = run("denoise", "cells.tif", "cells.npy", "-o", "new", "--format", ".zarr")
    assert result.exit_code == 1
    assert "would both be written" in result.stderr
    assert not Path("new").exists()


def test_image_that_cannot_be_restored_does_not_keep_others_from_it(folder):
    np.save("a.npy", np.full((40, 40), np.nan))
    result = run("denoise", "a.npy", "cells.tif", "-o", "new", *DRAFT)
    assert result.exit_code == 1
    assert os.listdir("new") == ["cells.tif"]
    assert result.stdout.splitlines() == [f"cells.tif -> {Path('new', 'cells.tif')}"]
    (line,) = lines_of(result.stderr)
    assert line.startswith("napari-scsc: a.npy: ")


@pytest.mark.parametrize("command", ["denoise", "inpaint", "learn"])
def test_nothing_is_overwritten(folder, command):
    out = "old.scsc" if command == "learn" else "old.tif"
    Path(out).write_text("of value")
    result = run(command, "cells.tif", "-o", out)
    assert result.exit_code == 1
    assert lines_of(result.stderr)[0].startswith(f"napari-scsc: {out} is there already")
    assert Path(out).read_text() == "of value"
    before = succeed("info", "cells.tif").stdout
    assert run(command, "cells.tif", "-o", ".").exit_code != 0  # the image itself
    assert succeed("info", "cells.tif").stdout == before


def test_resuming_several_inputs_leaves_out_what_is_there(folder, cells):
    np.save("more.npy", cells)
    succeed("denoise", "cells.tif", "-o", "new/", *DRAFT)
    before = Path("new/cells.tif").stat().st_mtime_ns
    both = ("denoise", "cells.tif", "more.npy", "-o", "new", *DRAFT, "--json")
    assert run(*both).exit_code == 1
    first, second = map(json.loads, succeed(*both, "--resume").stdout.splitlines())
    assert first["was_there"]
    assert "was_there" not in second
    assert Path("new/cells.tif").stat().st_mtime_ns == before


def test_names_that_look_like_patterns_are_names(folder, cells):
    np.save("a[1].npy", cells)
    succeed("denoise", "a[1].npy", "-o", "new.npy", *DRAFT)
    assert json.loads(succeed("info", "a*.npy", "--json").stdout)["input"] == "a[1].npy"


def test_dash_reads_and_writes_arrays(folder, cells):
    stream = io.BytesIO()
    np.save(stream, cells)
    result = succeed("denoise", "-", "-o", "-", *DRAFT, input=stream.getvalue())
    found = np.load(io.BytesIO(result.stdout_bytes))
    np.testing.assert_array_equal(found, denoise(cells, quality="draft"))
    assert lines_of(result.stderr) == []
    cut = run("denoise", "-", "-o", "-", input=stream.getvalue()[:1000])
    assert (cut.exit_code, cut.stdout) == (1, "")
    assert "standard input" in cut.stderr


# --- axes ---------------------------------------------------------------------------------------


def test_axes_of_length_one_are_put_aside_and_kept(folder, cells):
    units = ("s", None, "um", "um", "um")
    five = np.stack([cells] * 6)[None, None]
    save("five.ome.zarr", five, "tczyx", (1, 1, 2, 0.5, 0.5), units)
    for kind in ([], ["--kind", "stack"], ["--axes", "zyx"], ["--axes", "tczyx"]):
        facts = json.loads(succeed("info", "five.ome.zarr", *kind, "--no-noise", "--json").stdout)
        assert facts["kind"] == "stack"
    succeed("denoise", "five.ome.zarr", "-o", "new.ome.zarr", *DRAFT)
    found, before = open_file("new.ome.zarr"), open_file("five.ome.zarr")
    assert found.array.shape == five.shape
    assert (found.labels, found.scale) == (before.labels, before.scale)
    expected = denoise(five[0, 0], kind="stack", quality="draft")
    np.testing.assert_array_equal(np.asarray(found.array)[0, 0], expected)


def test_axis_whose_positions_are_by_themselves_keeps_its_name(folder, cells):
    save("four.tif", np.stack([np.stack([cells] * 3)] * 2), "tzyx", (5, 2, 1, 1), None)
    succeed("denoise", "four.tif", "--axes", "nzyx", "-o", "new.tif", *DRAFT)
    assert open_file("new.tif").labels == ("t", "z", "y", "x")


def test_kind_does_not_undo_the_order_of_the_file(folder, cells):
    save("bands.zarr", np.stack([cells] * 5, -1), "yxc", None, None)
    facts = json.loads(succeed("info", "bands.zarr", "--kind", "multispectral", "--json").stdout)
    assert facts["axes"] == {"y": "shift", "x": "shift", "c": "joint"}


def test_images_with_other_axes_are_not_learned_from_together(folder, cells):
    save("a.tif", np.stack([cells] * 4), "tyx", None, None)
    save("b.tif", np.stack([cells] * 4), "zyx", None, None)
    result = run("learn", "a.tif", "b.tif", "-o", "new.scsc")
    assert result.exit_code == 1
    assert "b.tif: the axes are z, y, x (stack)" in result.stderr


# --- info ---------------------------------------------------------------------------------------


def test_info_reads_little_of_a_large_image(folder, monkeypatch):
    zarr.create_array("large.zarr", shape=(3000, 8000, 8000), chunks=(8, 256, 256), dtype="u2")
    n_read = 0
    read = ImageArray.read

    def counting(self, region):
        nonlocal n_read
        values = read(self, region)
        n_read += values.size
        return values

    monkeypatch.setattr(ImageArray, "read", counting)
    facts = json.loads(succeed("info", "large.zarr", "--kind", "stack", "--json").stdout)
    assert facts["shape"] == [3000, 8000, 8000]
    assert 0 < n_read < 2e7


def test_info_tells_the_noise_that_denoising_finds(folder):
    sigma = json.loads(succeed("info", "cells.tif", "--json").stdout)["sigma"]
    restored = succeed("denoise", "cells.tif", "-o", "new.tif", "--json", *DRAFT)
    assert json.loads(restored.stdout)["sigma"] == pytest.approx(sigma)


def test_info_says_what_it_can_of_an_image_of_unknown_kind(folder, cells):
    np.save("many.npy", np.stack([cells] * 5))
    facts = json.loads(succeed("info", "many.npy", "--json").stdout)
    assert facts["shape"] == [5, *cells.shape]
    assert "--kind" in facts["remarks"][0]
    assert "shape: 5, 72, 64" in succeed("info", "many.npy").stdout


# --- progress -----------------------------------------------------------------------------------


def test_progress_is_lines_in_a_log_and_a_bar_on_a_terminal(folder, monkeypatch):
    log = succeed("learn", "cells.tif", "-o", "a.scsc").stderr.splitlines()
    assert len(log) <= 13
    assert log[-1].startswith("learning: 100%")
    monkeypatch.setattr(cli.work, "is_terminal", lambda stream: True)
    bar = succeed("learn", "cells.tif", "-o", "b.scsc").stderr
    assert bar.rstrip().splitlines()[-1].startswith("learning: 100%|")


# --- processes ----------------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from napari_scsc.cli import main\n"
        "for args in ([], ['denoise'], ['learn'], ['encode']):\n"
        "    main([*args, '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'numba', 'dask', 'zarr', 'tqdm', 'distributed'}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))"
    )
    out, errors = start(program=program).communicate()
    assert (out.splitlines()[-1], errors) == ("loaded:", "")


def test_module_is_the_program():
    command = [sys.executable, "-m", "napari_scsc", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("napari-scsc, version ")


@pytest.mark.parametrize(("words", "expected"), [("de", "plain,denoise"), ("info c", "file,c")])
def test_shell_completes_commands_and_files(words, expected, monkeypatch):
    for name, value in {
        "_NAPARI_SCSC_COMPLETE": "bash_complete",
        "COMP_WORDS": f"napari-scsc {words}",
        "COMP_CWORD": str(len(words.split())),
    }.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "napari_scsc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert expected in done.stdout.splitlines()


on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits are others there")


@on_posix
def test_closed_pipe_is_no_error_worth_words(folder):
    process = start("info", *["cells.tif"] * 3, "--json")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1
    process.stderr.close()


def interrupt(process, is_time):
    """Press Ctrl-C once something is there; return what the process says of it."""
    deadline = time.monotonic() + 60
    while process.poll() is None and not is_time():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == cli.words.INTERRUPTED, errors
    assert out == ""
    return lines_of(errors)


@on_posix
def test_denoising_that_was_stopped_goes_on_to_the_same_bits(folder, many_blocks):
    tifffile.imwrite("large.tif", samples.noisy_tissue((330, 300)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB", "--jobs", 1)
    process = start("denoise", *options, "-o", "new.tif")
    said = interrupt(process, lambda: any(folder.glob("new.tif.partial/done-*.txt")))
    assert said == ["napari-scsc: stopped. --resume goes on with what is in new.tif.partial"]
    assert not Path("new.tif").exists()
    again = run("denoise", *options, "-o", "new.tif")
    assert again.exit_code == 1
    assert "--resume" in again.stderr
    other = run("denoise", *options, "-o", "new.tif", "--resume", "--sigma", 3)
    assert other.exit_code == 1
    assert "sigma" in other.stderr
    succeed("denoise", *options, "-o", "new.tif", "--resume")
    succeed("denoise", *options, "-o", "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))
    assert not list(folder.glob("*.partial"))


@on_posix
@pytest.mark.parametrize("model", ["lattice", "paper"])
def test_learning_that_was_stopped_goes_on_to_the_same_bits(folder, model):
    options = ("cells.tif", "--passes", 60, "--model", model, "--size", 5, "--n-base", 4)
    if model == "paper":
        options = (*options[:2], 6, *options[3:], "--n-filters", 6)
    process = start("learn", *options, "-o", "new.scsc")
    said = interrupt(process, Path("new.scsc.partial").exists)
    assert said == ["napari-scsc: stopped. --resume goes on with what is in new.scsc.partial"]
    assert not Path("new.scsc").exists()
    assert run("learn", *options, "-o", "new.scsc").exit_code == 1
    succeed("learn", *options, "-o", "new.scsc", "--resume")
    succeed("learn", *options, "-o", "whole.scsc")
    assert FilterBank.load("new.scsc").id == FilterBank.load("whole.scsc").id
    assert not list(folder.glob("*.partial"))


@on_posix
def test_second_ctrl_c_ends_it_at_once_and_loses_nothing(folder, many_blocks):
    tifffile.imwrite("large.tif", samples.noisy_tissue((330, 300)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB", "--jobs", 1, "-o", "new.tif")
    process = start("denoise", *options, program=NEVER_STOPS + PROGRAM)
    while not any(folder.glob("new.tif.partial/done-*.txt")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, lines_of(errors)) == (cli.words.INTERRUPTED, "", [])
    succeed("denoise", *options, "--resume")
    succeed("denoise", *options[:-1], "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))


# Blocks that do not listen.
NEVER_STOPS = """
import time
from napari_scsc.restore import blocks
estimate, deaf = blocks._estimate, lambda *_: (lambda: None)
blocks._ticker = deaf
def slowly(*arguments):
    time.sleep(0.5)
    return estimate(*arguments)
blocks._estimate = slowly
"""


# What is compiled is kept in files too, and must not be what fails.
LIMITED = """
import resource
from napari_scsc.restore.groups import group_kernels
group_kernels.warm_up()
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
"""


@on_posix
def test_full_disk_is_one_line_and_resumed_when_there_is_room(folder, cells):
    np.save("a.npy", cells)
    np.save("b.npy", cells)
    process = start("denoise", "a.npy", "b.npy", "-o", "new", *DRAFT, program=LIMITED + PROGRAM)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    (line,) = lines_of(errors)  # and not one for each input
    assert "--resume goes on" in line
    succeed("denoise", "a.npy", "b.npy", "-o", "new", *DRAFT, "--resume")
    np.testing.assert_array_equal(np.load("new/b.npy"), denoise(cells, quality="draft"))


@pytest.mark.slow
def test_cluster_gives_the_same_bits_and_is_stopped_quietly(folder):
    tifffile.imwrite("large.tif", samples.noisy_tissue((500, 400)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB")
    on_two = ("--scheduler", "cluster:2")
    if sys.platform != "win32":
        program = "from napari_scsc.cli import main\nif __name__ == '__main__': main()"
        process = start("denoise", *options, *on_two, "-o", "new.tif", program=program)
        said = interrupt(process, lambda: any(folder.glob("new.tif.partial/blocks/*.npy")))
        assert said == ["napari-scsc: stopped. --resume goes on with what is in new.tif.partial"]
    succeed("denoise", *options, *on_two, "-o", "new.tif", "--resume")
    succeed("denoise", *options, "-o", "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))
    succeed("learn", "large.tif", *on_two, "-o", "new.scsc", "--tiles", 4)
    succeed("learn", "large.tif", "-o", "whole.scsc", "--tiles", 4)
    assert FilterBank.load("new.scsc").id == FilterBank.load("whole.scsc").id


# --- nothing of the user's is lost ----------------------------------------------------------------


def test_input_is_never_its_own_result(folder):
    before = Path("cells.tif").read_bytes()
    for more in ((), ("--resume",)):
        result = run("denoise", "cells.tif", "-o", folder, *DRAFT, *more)
        assert result.exit_code == 1
        assert "cells.tif is an input" in result.stderr
    assert Path("cells.tif").read_bytes() == before


@on_posix
def test_results_are_called_as_links_are(folder):
    os.mkdir("links")
    os.symlink(folder / "cells.tif", "links/monday.tif")
    succeed("denoise", "links/monday.tif", "-o", "out", *DRAFT)
    assert os.listdir("out") == ["monday.tif"]


@on_posix
def test_learning_does_not_go_on_with_another_image(folder, cells):
    np.save("a.npy", cells)
    process = start("learn", "a.npy", "--passes", 60, "--size", 5, "-o", "new.scsc")
    interrupt(process, Path("new.scsc.partial").exists)
    mixed = np.random.default_rng(0).permuted(cells.ravel()).reshape(cells.shape)
    np.save("a.npy", mixed)
    result = run("learn", "a.npy", "--passes", 60, "--size", 5, "-o", "new.scsc", "--resume")
    assert result.exit_code == 1
    assert "the images differed" in result.stderr


def test_image_that_nothing_can_be_learned_from_is_named(folder):
    np.save("flat.npy", np.full((64, 64), 7.0))
    result = run("learn", "cells.tif", "flat.npy", "-o", "new.scsc")
    assert result.exit_code == 1
    assert re.search(r"flat\.npy: the image is constant", result.stderr)


def test_other_series_of_a_file_are_mentioned(folder, cells):
    with tifffile.TiffWriter("two.tif") as writer:
        writer.write(cells)
        writer.write(cells[:40, :40])
    result = succeed("denoise", "two.tif", "-o", "clean.tif", *DRAFT)
    said = "holds 2 series, this is the first and '1' the next: say which with --key"
    assert f"two.tif: {said}" in result.stderr
    assert said in succeed("info", "two.tif", "--no-noise").stdout


def test_axes_that_cannot_be_restored_are_mentioned(folder):
    np.save("long.npy", np.random.default_rng(0).normal(size=(5, 6, 20, 20)))
    found = succeed("info", "long.npy", "--axes", "tzyx").stdout
    assert "up to three axes" in found
    assert "call one of them n in --axes" in found


def test_patterns_reach_folders_below(folder):
    os.makedirs("a/b")
    os.rename("cells.tif", "a/b/cells.tif")
    assert "a/b/cells.tif" in succeed("info", "a/**/*.tif", "--no-noise").stdout


def test_demonstration_overwrites_nothing(folder):
    os.mkdir("out")
    Path("out/denoised.tif").write_text("mine")
    result = run("demo", "--headless")
    assert result.exit_code == 1
    assert "--out" in result.stderr
    assert Path("out/denoised.tif").read_text() == "mine"


# --- documentation ------------------------------------------------------------------------------


@on_posix
@pytest.mark.slow
def test_examples_of_the_page_work_as_written(folder, cells):
    os.mkdir("night1")
    for name in ("a", "b"):
        save(f"night1/{name}.tif", cells, "yx", None, None)
    np.save("embryo.npy", np.stack([samples.noisy_tissue((72, 64), seed=i) for i in range(8)]))
    tifffile.imwrite("dead-pixels.tif", (np.arange(64) == 20) * np.ones(cells.shape, np.uint8))
    examples = re.findall(r"^```sh\n(.*?)^```", DOCS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(examples) == 5
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for example in examples:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", example],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        assert done.returncode == 0, example + done.stderr
    assert sorted(os.listdir("night1-clean")) == ["a.tif", "b.tif"]
    assert open_file("embryo.ome.zarr").labels == ("z", "y", "x")
    assert float(done.stdout) > 0
    for name in ("cells-clean.tif", "cells.npy", "cells.zarr"):
        assert np.asarray(open_file(name).array).std() < cells.std()
    filled = tifffile.imread("cells-filled.tif")
    assert (filled != cells).any(axis=0).nonzero()[0].tolist() == [20]
