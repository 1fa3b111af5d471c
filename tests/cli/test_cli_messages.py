"""What is wrong is one line, in the words of the command line, and an exit code."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_tools import DRAFT, lines_of, run, succeed

from napari_scsc.batch.inputs import naming_inputs
from napari_scsc.cli import main
from napari_scsc.cli.messages import REMEDIES, render
from napari_scsc.cli.options import ARGUMENT_NAMES
from napari_scsc.errors import Message, Remedy, RunInterrupted, UserError
from napari_scsc.learning.options import LearnOptions
from napari_scsc.restore.options import RestoreOptions


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
    "too many axes": (
        ("denoise", "four.npy", "--axes", "t:slide,z,y,x", "-o", "new.tif"),
        1,
        "n in --axes",
    ),
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
    "scsc only": (("learn", "cells.tif", "-o", "new.scsc", "--beta", "1"), 1, "--model scsc"),
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
        raise RunInterrupted("it broke off", remedy=Remedy.RUN_AGAIN)

    monkeypatch.setattr("napari_scsc.iter_denoise", fail, raising=False)
    result = run(*RESTORE)
    assert result.exit_code == 3
    assert "again with --resume" in result.stderr


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
    found = succeed("info", "long.npy", "--axes", "t:slide,z,y,x").stdout
    assert "up to three axes" in found
    assert "call one of them n in --axes" in found


def test_every_remedy_has_words_of_the_command_line():
    assert set(REMEDIES) == set(Remedy)
    for words in REMEDIES.values():
        assert not re.search(r"=|\(|np\.|_", words)
    options = {name for c in main.commands.values() for p in c.params for name in p.opts}
    assert set(re.findall(r"--[\w-]+", " ".join(REMEDIES.values()))) <= options


def test_arguments_are_called_as_the_options_that_set_them():
    arguments = {field.name for kind in (RestoreOptions, LearnOptions) for field in fields(kind)}
    not_offered = {"draw", "ball", "checkpoint", "every", "every_seconds", "rng"}
    assert arguments - set(ARGUMENT_NAMES) == not_offered
    for command in main.commands.values():
        for option in command.params:
            if option.name in ARGUMENT_NAMES:
                assert ARGUMENT_NAMES[option.name] in option.opts


def test_message_is_rendered_with_option_and_remedy():
    message = Message("must be above 0", "n_jobs", Remedy.FILL_MISSING, path="a.tif")
    expected = "a.tif: --jobs must be above 0: inpaint fills them, and denoises with --sigma"
    assert render(message) == expected


@pytest.mark.parametrize("path", ["a.tif", "-"])
def test_error_says_which_input_it_is_about(path):
    name = "standard input" if path == "-" else path
    for error in (UserError("is odd"), ValueError("is odd"), TypeError("is odd")):
        with pytest.raises(UserError) as caught, naming_inputs([path]):
            raise error
        assert str(caught.value) == f"{name}: is odd"
    with pytest.raises(UserError) as caught, naming_inputs([path]):
        raise UserError("is odd", path="b.scsc")
    assert str(caught.value) == "b.scsc: is odd"


def test_input_is_called_by_the_name_that_was_given():
    with pytest.raises(UserError) as caught, naming_inputs(["a.tif"]):
        raise UserError("is odd", path=Path("a.tif").absolute())
    assert str(caught.value) == "a.tif: is odd"


def test_error_about_one_of_several_inputs_names_it():
    with pytest.raises(UserError) as caught, naming_inputs(["a.tif", "b.tif"]):
        raise UserError("is odd", item=2)
    assert str(caught.value) == "b.tif: is odd"
    with pytest.raises(UserError) as caught, naming_inputs(["a.tif", "b.tif"]):
        raise UserError("cannot share filters", argument="images")
    assert render(caught.value.message) == "the inputs cannot share filters"


def test_names_of_files_do_not_move_the_cursor(folder, cells):
    name = "a\x1b[2J\x1b]0;title\x07\u202e.npy"
    np.save(name, cells)
    for result in (
        run("info", name),
        run("denoise", name, "-o", f"{name[:-4]}.tif", *DRAFT),
        run("denoise", f"none{name}", "-o", "b.tif", *DRAFT),
        run("info", "--json", name),
    ):
        told = result.stdout + result.stderr
        assert not [c for c in told.replace("\n", "").replace("\r", "") if not c.isprintable()]
        assert "x1b" in told or "u001b" in told


@pytest.mark.parametrize("name", ["cut.tif", "cut.zarr"])
def test_info_fails_for_values_that_cannot_be_read(folder, cells, name):
    if name == "cut.tif":
        tifffile.imwrite(name, cells, compression="zlib")
        data = Path(name).read_bytes()
        Path(name).write_bytes(data[:500] + bytes(len(data) - 500))
    else:
        import zarr

        zarr.create_array(name, data=cells, chunks=cells.shape)
        Path(name, "c", "0", "0").write_bytes(b"damaged")
    result = run("info", name)
    assert result.exit_code == 1
    assert "shape" in result.stdout
    assert "cannot be read" in result.stderr
