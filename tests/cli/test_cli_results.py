"""Files in, files out: results are those of the functions, and nothing is lost."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_tools import DRAFT, lines_of, on_posix, open_file, run, save, succeed

from napari_scsc import FilterBank, denoise, inpaint, iter_denoise, learn
from napari_scsc.cli.options import DENOISE, LEARN
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.quality import LEVELS


def test_words_to_choose_from_are_those_of_the_library():
    from napari_scsc.data.axes import PRESETS
    from napari_scsc.io import stores
    from napari_scsc.learning import models

    offered = {p.name: getattr(p.type, "choices", ()) for p in (*DENOISE, *LEARN)}
    assert tuple(offered["kind"]) == tuple(PRESETS)
    assert tuple(offered["model"]) == tuple(models.MODELS)
    assert tuple(offered["quality"]) == tuple(LEVELS)
    assert tuple(offered["method"]) == tuple(METHODS)
    assert set(offered["format"]) <= set(stores._STORES)


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


def test_error_lies_beside_the_result(folder, cells):
    result = succeed("denoise", "cells.tif", "-o", "new.ome.zarr", "--error", "--json", *DRAFT)
    assert json.loads(result.stdout)["error"] == "new.error.ome.zarr"
    _, expected = denoise(cells, quality="draft", error=True)
    found = open_file("new.error.ome.zarr")
    np.testing.assert_array_equal(np.asarray(found.array), expected)
    assert found.scale == pytest.approx((0.2, 0.2))
    refused = run("denoise", "cells.tif", "-o", "-", "--error", *DRAFT)
    assert "--error needs a file" in refused.stderr


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


def test_learned_are_the_tiles_that_denoise_learns_from_unless_told(folder, cells):
    succeed("learn", "cells.tif", "-o", "same.scsc")
    succeed("denoise", "cells.tif", "-o", "new.npy", *DRAFT)
    succeed("denoise", "cells.tif", "-o", "with.npy", "--bank", "same.scsc", *DRAFT)
    np.testing.assert_array_equal(np.load("new.npy"), np.load("with.npy"))
    for tiles, argument in {"auto": "auto", "3": 3, "0": None}.items():
        out = f"{tiles}.scsc"
        succeed("learn", "cells.tif", "-o", out, "--size", 5, "--tiles", tiles)
        bank = learn(cells, filter_shape=(5, 5), tiles=argument)
        assert FilterBank.load(out).id == bank.id


@pytest.mark.parametrize("tiles", ["-1", "some", "1.5"])
def test_number_of_tiles_that_is_none_is_not_understood(folder, tiles):
    result = run("learn", "cells.tif", "-o", "new.scsc", "--tiles", tiles)
    assert result.exit_code == 2
    assert "--tiles" in result.stderr


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
    assert lines_of(result.stderr)[0].startswith(f"napari-scsc: {out}: is there already")
    assert Path(out).read_text() == "of value"
    before = succeed("info", "cells.tif").stdout
    assert run(command, "cells.tif", "-o", ".").exit_code != 0  # the image itself
    assert succeed("info", "cells.tif").stdout == before


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


def test_progress_is_lines_in_a_log_and_a_bar_on_a_terminal(folder, monkeypatch):
    log = succeed("learn", "cells.tif", "-o", "a.scsc").stderr.splitlines()
    assert len(log) <= 13
    assert log[-1].startswith("learning: 100%")
    monkeypatch.setattr("napari_scsc.cli.batch.is_terminal", lambda stream: True)
    bar = succeed("learn", "cells.tif", "-o", "b.scsc").stderr
    assert bar.rstrip().splitlines()[-1].startswith("learning: 100%|")


def test_demonstration_overwrites_nothing(folder):
    os.mkdir("out")
    Path("out/denoised.tif").write_text("mine")
    result = run("demo", "--headless")
    assert result.exit_code == 1
    assert "--out" in result.stderr
    assert Path("out/denoised.tif").read_text() == "mine"


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_run_that_goes_on_elsewhere_is_not_said_to_have_broken_off(folder, cells, resume):
    updates = iter_denoise(cells, out="new.zarr", quality="draft")
    next(updates)
    result = run("denoise", "cells.tif", "-o", "new.zarr", *DRAFT, *resume)
    assert "another run is working on new.zarr.partial" in result.stderr
    assert "broke off" not in result.stderr
    updates.close()
    result = run("denoise", "cells.tif", "-o", "new.zarr", *DRAFT)
    assert "broke off" in result.stderr
