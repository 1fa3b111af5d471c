"""Results say how they were made, and are made again to the bit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_tools import DRAFT, open_file, run, save, succeed

from napari_scsc import Noise, Output, denoise, inpaint, learn, samples

RESULT = "new.ome.tif"


def made_again(*options, result=RESULT):
    """The values of a result and of what ``again`` makes of it, which says that they are equal."""
    done = succeed("again", result, "--json", *options)
    facts = json.loads(done.stdout)
    assert facts["same"], done.stderr
    assert "napari-scsc:" not in done.stderr
    values = [np.asarray(open_file(path).array) for path in (result, facts["output"])]
    np.testing.assert_array_equal(*values)
    return Path(facts["output"])


@pytest.mark.parametrize("result", ["new.ome.tif", "new.tif", "new.ome.zarr", "new.zarr"])
def test_result_is_made_again_beside_it(folder, result):
    succeed("denoise", "cells.tif", "-o", result, "--strength", 1.3, "--seed", 5, *DRAFT)
    made = made_again(result=result)
    assert made.name == result.replace("new", "new-again")
    (facts,) = map(json.loads, succeed("info", result, "--json").stdout.splitlines())
    (others,) = map(json.loads, succeed("info", made, "--json").stdout.splitlines())
    assert facts["recipe"]["options"] == others["recipe"]["options"]
    assert made_again("-o", "third.tif", result=made).name == "third.tif"
    assert "the same values as" in succeed("again", result, "-o", "4.npy").stdout


def test_result_that_was_there_is_not_said_to_be_the_same(folder):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    save("new-again.ome.tif", np.zeros((72, 64), np.uint16), "yx", None, None)
    done = succeed("again", RESULT, "--resume")
    assert "is there already" in done.stdout
    assert "the same values" not in done.stdout


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_result_is_made_again_in_its_format(folder, version):
    succeed("denoise", "cells.tif", "-o", "new.ome.zarr", "--zarr-format", version, *DRAFT)
    made = made_again(result="new.ome.zarr")
    assert open_file(made).zarr_format == open_file("new.ome.zarr").zarr_format == version


def test_info_tells_the_recipe(folder):
    succeed("denoise", "cells.tif", "-o", RESULT, "--sigma", 9, *DRAFT)
    lines = succeed("info", RESULT).stdout
    for words in ("made_by: napari-scsc 0.", "made_from: cells.tif (72 x 64 uint16)", "sigma 9"):
        assert words in lines
    assert f"command: napari-scsc denoise cells.tif --out {RESULT} " in lines
    assert "made_by" not in succeed("info", "cells.tif").stdout
    command = json.loads(succeed("info", RESULT, "--json").stdout)["recipe"]["command"]
    first = np.asarray(open_file(RESULT).array)
    Path(RESULT).unlink()
    succeed(*command.split()[1:])
    np.testing.assert_array_equal(np.asarray(open_file(RESULT).array), first)


def test_mask_filters_and_axes_are_those_of_then(folder, cells):
    mask = np.zeros(cells.shape, np.uint8)
    mask[30:33] = 1
    tifffile.imwrite("mask.tif", mask)
    save("frames.tif", np.stack([cells, cells[::-1]]), "tyx", None, None)
    learn(cells, kind="image", filter_shape=(6, 6)).save("own.scsc")
    given = ("--mask", "mask.tif", "--bank", "own.scsc", "--axes", "t:separate,y,x", *DRAFT)
    succeed("inpaint", "frames.tif", "-o", RESULT, *given)
    Path("own.scsc").unlink()  # it is in the recipe
    made_again()


def test_saturation_and_noise_that_was_given_are_those_of_then(folder, cells):
    np.save("dark.npy", np.random.default_rng(0).normal(100, 3, (2, 40, 40)))
    succeed("denoise", "cells.tif", "-o", RESULT, "--dark", "dark.npy", *DRAFT)
    Path("dark.npy").unlink()
    made_again()
    level = float(np.percentile(cells, 99))
    succeed("inpaint", "cells.tif", "-o", "filled.ome.tif", "--saturation", level, *DRAFT)
    made_again(result="filled.ome.tif")


def test_result_of_a_script_is_made_again_from_a_file(folder, cells):
    noise = Noise.of_camera(2.2, 100, 1.5)
    denoise(cells, noise=noise, quality="draft", seed=3, out=RESULT)
    refused = run("again", RESULT)
    assert refused.exit_code == 1
    assert "in no file: name the file that you mean with --input" in refused.stderr
    made_again("--input", "cells.tif")
    missing = cells > np.percentile(cells, 98)
    inpaint(cells, missing, quality="draft", out="filled.ome.tif")
    refused = run("again", "filled.ome.tif", "--input", "cells.tif")
    assert "--mask is needed" in refused.stderr
    np.save("mask.npy", missing)
    made_again("--input", "cells.tif", "--mask", "mask.npy", result="filled.ome.tif")


def test_filters_too_large_for_a_recipe_are_asked_for(folder, cells, monkeypatch):
    from napari_scsc.restore import recipe

    monkeypatch.setattr(recipe, "_MAX_BANK_BYTES", 1000)
    bank = learn(cells, kind="image", filter_shape=(6, 6))
    bank.save("own.scsc")
    succeed("denoise", "cells.tif", "-o", RESULT, "--bank", "own.scsc", *DRAFT)
    made_again()
    shutil.move("own.scsc", "moved.scsc")
    assert "own.scsc: is what new.ome.tif was made from, and is not" in run("again", RESULT).stderr
    made_again("--bank", "moved.scsc", "-o", "3.ome.tif")
    learn(cells, kind="image").save("other.scsc")
    refused = run("again", RESULT, "--bank", "other.scsc", "-o", "4.ome.tif")
    assert f"holds other filters than {bank.id}" in refused.stderr
    assert not Path("4.ome.tif").exists()


def test_names_are_looked_for_from_the_result(folder, cells, monkeypatch, tmp_path):
    succeed("denoise", "cells.tif", "-o", f"below/{RESULT}", *DRAFT)
    monkeypatch.chdir(tmp_path.parent)
    made_again(result=f"{tmp_path.name}/below/{RESULT}")
    tmp_path.rename(tmp_path.with_name("moved"))
    made_again("-o", "moved/third.ome.tif", result=f"moved/below/{RESULT}")


def test_image_that_has_changed_or_gone_is_refused(folder, cells):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    before = sorted(p.name for p in folder.iterdir())

    def refuse(words):
        refused = run("again", RESULT)
        assert refused.exit_code == 1
        assert words in refused.stderr
        assert "--input" in refused.stderr

    other = cells.copy()
    other[3, 3] += 1
    save("other.tif", other, "yx", None, None)
    Path("cells.tif").rename("moved.tif")
    refuse("cells.tif: is what new.ome.tif was made from, and is not there any more")
    shutil.copy("other.tif", "cells.tif")
    refuse("cells.tif: the values, or the mask, are not those that the result was made from")
    save("smaller.tif", other[:-8], "yx", None, None)
    Path("smaller.tif").rename("cells.tif")
    refuse("cells.tif: is 64 x 64 uint16, and the result was made from 72 x 64 uint16")
    assert sorted({*before, "moved.tif", "other.tif"}) == sorted(p.name for p in folder.iterdir())
    made_again("--input", "moved.tif")
    done = succeed("again", RESULT, "--input", "other.tif", "-o", "of-other.npy")
    assert "not the same result" in done.stderr
    np.testing.assert_array_equal(np.load("of-other.npy"), denoise(other, quality="draft"))


def test_changed_result_is_told_and_nothing_is_overwritten(folder, cells):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    assert "is an input" in run("again", RESULT, "-o", "cells.tif").stderr
    assert "is there already" in run("again", RESULT, "-o", RESULT).stderr
    pages = tifffile.memmap(RESULT, mode="r+")
    pages[2, 2] += 1
    pages.flush()
    done = run("again", RESULT)
    assert done.exit_code == 1
    assert f"not as in {RESULT}: 1 of {cells.size} values" in done.stderr
    assert run("again", RESULT).exit_code == 1  # its name is taken by now
    np.testing.assert_array_equal(
        tifffile.imread("new-again.ome.tif"), denoise(cells, quality="draft")
    )


def test_what_is_no_result_cannot_be_made_again(folder):
    refused = run("again", "cells.tif")
    assert refused.exit_code == 1
    assert "cells.tif: does not say how it was made" in refused.stderr
    assert run("again", "nowhere.tif").exit_code == 1


def recipe_written(path, values):
    """A file that says it was made by such a recipe."""
    from napari_scsc.io.stores import store_for

    store = store_for(path, (72, 64), np.uint16, (72, 64), labels="yx", recipe=values)
    store.create()
    store.finish()


def test_damaged_recipe_is_told_and_the_rest_of_the_file_as_well(folder):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    values = json.loads(succeed("info", RESULT, "--json").stdout)["recipe"]
    values["options"]["strength"] = "much"
    recipe_written("bad.ome.tif", values)
    refused = run("again", "bad.ome.tif")
    assert refused.exit_code == 1
    assert "bad.ome.tif: has a damaged recipe: strength must be a number" in refused.stderr
    lines = succeed("info", "bad.ome.tif", "--no-noise").stdout
    assert "has a damaged recipe" in lines
    assert "shape: 72, 64" in lines


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"layers": {"a": {"format": 1}}}, "holds several layers"),
        ({"script": "", "options": {}, "version": "0.1.0"}, "is a result that was stopped"),
    ],
)
def test_recipe_of_no_single_whole_result_is_not_followed(folder, values, words):
    recipe_written("other.ome.tif", values)
    refused = run("again", "other.ome.tif")
    assert refused.exit_code == 1
    assert words in refused.stderr
    assert json.loads(succeed("info", "other.ome.tif", "--json").stdout)["recipe"] == values
    succeed("info", "other.ome.tif")


def test_recipe_runs_no_code_and_writes_to_no_other_place(folder, cells):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    values = json.loads(succeed("info", RESULT, "--json").stdout)["recipe"]
    values["script"] = "open('script', 'w')"
    values["command"] = "touch command"
    values["input"]["folder"] = "../../.."
    values["input"]["path"] = str(folder / "cells.tif")
    recipe_written("strange.ome.tif", values)
    before = {p.name for p in folder.iterdir()}
    assert run("again", "strange.ome.tif").exit_code == 1  # its values are zeros
    assert {p.name for p in folder.iterdir()} == {*before, "strange-again.ome.tif"}


def test_other_version_is_a_warning(folder):
    succeed("denoise", "cells.tif", "-o", RESULT, *DRAFT)
    values = json.loads(succeed("info", RESULT, "--json").stdout)["recipe"]
    recipe_written("old.ome.tif", {**values, "version": "0.0.1"})
    done = run("again", "old.ome.tif")
    assert "made with napari-scsc 0.0.1 (here 0." in done.stderr
    assert Path("old-again.ome.tif").exists()


def test_error_lies_beside_and_has_the_recipe(folder):
    succeed("denoise", "cells.tif", "-o", RESULT, "--error", *DRAFT)
    made = made_again()
    first, second = (open_file(p) for p in ("new.error.ome.tif", "new-again.error.ome.tif"))
    np.testing.assert_array_equal(np.asarray(first.array), np.asarray(second.array))
    assert first.recipe == open_file(RESULT).recipe
    assert made.name == "new-again.ome.tif"


def test_key_of_a_file_that_holds_several_is_kept(folder, cells):
    np.savez("several.npz", one=cells, two=cells[::-1])
    succeed("denoise", "several.npz", "--key", "two", "--kind", "image", "-o", RESULT, *DRAFT)
    made_again()


def test_origin_can_be_told_in_python(folder, cells):
    from napari_scsc.run.origin import Origin

    denoise(cells, quality="draft", out=Output(RESULT, origin=Origin(path="cells.tif")))
    made_again()


def test_stack_in_blocks_is_made_again(folder, many_blocks):
    np.save("stack.npy", samples.stack((6, 48, 48)))
    succeed("denoise", "stack.npy", "--kind", "stack", "-o", RESULT, "--memory", "1GB", *DRAFT)
    made_again("--jobs", 1)
