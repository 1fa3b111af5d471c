"""What recipes hold, and that they are read as they were written, or refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from napari_scsc import Axes, Noise, denoise, inpaint, iter_denoise, iter_inpaint, learn, samples
from napari_scsc.restore.recipe import Recipe, installed_packages

QUICK = {"kind": "image", "quality": "draft"}
CELLS = samples.noisy_tissue((64, 60))


def recipe_of(updates):
    *_, last = updates
    return last.recipe


@pytest.fixture(scope="module")
def values():
    bank = learn(CELLS, kind="image")
    options = {"sigma": 8, "bank": bank, "strength": 1.2, "noise_filters": [3]}
    return recipe_of(iter_denoise(CELLS, **QUICK, **options)).to_json()


def test_recipe_says_what_was_done_and_found():
    mask = np.zeros(CELLS.shape, bool)
    mask[20:24] = True
    *_, last = iter_inpaint(CELLS, mask, **QUICK, sigma=8.0, rng=np.random.default_rng(1))
    values = last.recipe.to_json()
    assert values == json.loads(json.dumps(values, allow_nan=False))
    assert (values["task"], values["bank"]) == ("inpaint", last.bank.id)
    assert (values["filters"], values["mask"]) == (None, {"path": None})
    assert values["input"]["shape"] == [64, 60]
    assert values["input"]["digest"].startswith("all:")
    assert values["noise"]["sigma"] == last.noise.sigma == 8
    assert type(values["options"]["seed"]) is int
    assert values["packages"] == installed_packages()


@pytest.mark.parametrize(
    "noise",
    [
        "white",
        Noise.of_camera(2.2, 100, 1.5),
        np.random.default_rng(0).normal(100, 3, (2, 32, 32)),
    ],
    ids=["word", "Noise", "dark"],
)
def test_recipe_is_read_as_it_was_written(noise):
    axes = Axes("custom", ("time", "y", "x"), ("sample", "shift", "shift"))
    bank = learn(CELLS, kind="image")
    options = {"axes": axes, "quality": "draft", "noise": noise, "bank": bank}
    recipe = recipe_of(iter_denoise(np.stack([CELLS, CELLS]), **options, memory="1 GB"))
    again = Recipe.from_json(json.loads(json.dumps(recipe.to_json())))
    assert again.to_json() == recipe.to_json()
    assert again.options == recipe.options
    assert again.axes == axes
    assert again.noise == recipe.noise
    assert again.given.bank.id == bank.id
    assert dict(again.given.bank.info) == dict(bank.info)


def test_digest_is_that_of_the_values_and_the_mask():
    def digest(image, missing=None):
        run = (
            iter_denoise(image, **QUICK)
            if missing is None
            else iter_inpaint(image, missing, **QUICK)
        )
        return recipe_of(run).origin.digest

    mask = np.zeros(CELLS.shape, bool)
    mask[5, 5] = True
    other = CELLS.copy()
    other[7, 7] += 1
    found = {digest(CELLS), digest(other), digest(CELLS, mask), digest(CELLS, mask[::-1])}
    assert len(found) == 4
    assert digest(CELLS.copy()) == digest(CELLS)


def test_script_does_the_same(tmp_path):
    np.save(tmp_path / "cells.npy", CELLS)
    bank = learn(CELLS, kind="image")
    image = np.load(tmp_path / "cells.npy", mmap_mode="r")
    noise = Noise.of_camera(2.2, 100, 1.5)
    *_, last = iter_denoise(image, **QUICK, noise=noise, bank=bank, seed=4)
    script = last.recipe.script.replace("bank = ...", "bank = given")
    found = {"given": bank}
    exec(script, found)
    np.testing.assert_array_equal(found["result"], last.result)


def test_lazy_results_have_no_recipe_and_others_need_none():
    import dask.array

    *_, last = iter_denoise(dask.array.from_array(CELLS, name=False), **QUICK)
    assert last.recipe is None
    denoise(CELLS, **QUICK)
    inpaint(np.where(CELLS > 150, np.nan, CELLS), **QUICK, sigma=8)


def test_filters_too_large_for_a_recipe_are_named(monkeypatch):
    from napari_scsc.restore import recipe as module

    monkeypatch.setattr(module, "_MAX_BANK_BYTES", 1000)
    bank = learn(CELLS, kind="image")
    values = recipe_of(iter_denoise(CELLS, **QUICK, bank=bank)).to_json()
    assert values["filters"] == {"id": bank.id, "path": None, "data": None}
    assert Recipe.from_json(values).given.bank is None


def changed(values, path, value):
    """The recipe with another value somewhere; without a value there, if it is None."""
    found = copy.deepcopy(values)
    *parents, name = path.split(".")
    inner = found
    for parent in parents:
        inner = inner[parent]
    if value is KeyError:
        del inner[name]
    else:
        inner[name] = value
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", 2),
        ("format", "1"),
        ("task", "encode"),
        ("task", ["denoise"]),
        ("input", None),
        ("input.path", 3),
        ("input.path", ["a", "b"]),
        ("input.shape", [-1, 2]),
        ("input.shape", "ab"),
        ("input.digest", KeyError),
        ("mask", "file"),
        ("axes.roles", ["shift", "import"]),
        ("axes.roles", ["shift"]),
        ("axes.labels", [1, 2]),
        ("options.strength", -1),
        ("options.quality", "superb"),
        ("options.method", "os:system"),
        ("options.seed", 1.5),
        ("options.out", "/tmp/elsewhere"),
        ("options.resume", True),
        ("options.n_jobs", 10**6),
        ("options.noise", {"pickle": "cos\nsystem"}),
        ("options.noise", {"noise": {"sigma": "1"}}),
        ("options.noise_filters", ["__import__"]),
        ("options.memory", "much"),
        ("filters", None),
        ("filters.id", "0" * 16),
        ("filters.data.filters.data", "AAAA"),
        ("filters.data.filters.data", "not base64!"),
        ("filters.data.filters.dtype", "|O"),
        ("filters.data.filters.shape", [2, 2]),
        ("filters.data.n_joint", -1),
        ("noise", KeyError),
        ("noise.sigma", "much"),
        ("noise.joint", [[]]),
        ("packages", []),
        ("script", 3),
    ],
)
def test_damaged_recipe_is_refused_in_words(values, path, value):
    from napari_scsc.batch.again import recipe_in
    from napari_scsc.errors import FileFormatError
    from napari_scsc.io.formats.opened_file import OpenedFile

    assert recipe_in(OpenedFile(CELLS, recipe=values), "a.tif") is not None
    with pytest.raises(FileFormatError, match=r"^a\.tif: has a ") as raised:
        recipe_in(OpenedFile(CELLS, recipe=changed(values, path, value)), "a.tif")
    assert "recipe" in str(raised.value)


def test_another_version_is_told(values):
    assert Recipe.from_json(values).differences_here() == ()
    other = changed(changed(values, "version", "0.0.7"), "packages.numpy", "1.0")
    (words,) = map(str, Recipe.from_json(other).differences_here())
    assert "napari-scsc 0.0.7" in words
    assert "numpy 1.0" in words
    assert "scipy" not in words
