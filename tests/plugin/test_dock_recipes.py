"""What the dock makes has a recipe that is followed without it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from dock_tools import finish, noisy_cells, slow_down

from napari_scsc.cli import main
from napari_scsc.io.formats import open_file
from napari_scsc.io.stores import store_for
from napari_scsc.restore.recipe import Recipe

pytestmark = pytest.mark.screen


def save(path, layer):
    """A result as a file with its recipe, as the plugin saves layers."""
    recipe = layer.metadata["napari_scsc"]["recipe"]
    values = np.asarray(layer.data)
    store = store_for(path, values.shape, values.dtype, values.shape, recipe=recipe)
    store.create()
    store.write(tuple(slice(0, n) for n in values.shape), values)
    store.finish()


def made_again(path, *options):
    done = CliRunner().invoke(main, ["again", str(path), "--json", *map(str, options)])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cells.tif"
    tifffile.imwrite(path, noisy_cells((48, 56)))
    return path


def test_result_of_a_layer_from_a_file_is_made_again(make_light_dock, cells):
    viewer, dock = make_light_dock()
    viewer.open(cells, plugin="napari")
    dock.quality, dock.strength = "draft", 1.2
    dock.learn()
    finish(dock)
    dock.denoise()
    finish(dock)
    recipe = Recipe.from_json(dock.result.metadata["napari_scsc"]["recipe"])
    assert recipe.given.bank.id == dock.bank.id  # in no file but this
    assert recipe.origin.path == str(cells)
    save("new.ome.tif", dock.result)
    assert made_again("new.ome.tif")["same"]
    (reopened,) = viewer.open("new.ome.tif", plugin="napari-scsc")
    assert reopened.metadata["napari_scsc"]["recipe"] == recipe.to_json()


def test_recipe_of_a_layer_has_the_command_where_there_is_one(make_light_dock, cells):
    viewer, dock = make_light_dock()
    viewer.open(cells, plugin="napari")
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    command = dock.result.metadata["napari_scsc"]["recipe"]["command"]
    assert CliRunner().invoke(main, command.split()[1:]).exit_code == 0
    written = open_file("cells-denoised.tif")
    np.testing.assert_array_equal(np.asarray(written.array), dock.result.data)


def test_mask_that_was_a_layer_is_asked_for(make_light_dock, cells):
    viewer, dock = make_light_dock()
    viewer.open(cells, plugin="napari")
    mask = np.zeros((48, 56), np.uint8)
    mask[20:23] = 1
    viewer.add_labels(mask, name="holes")
    dock.sources = ["cells"]
    dock.task, dock.missing_layer, dock.quality = "Fill holes", "holes", "draft"
    dock.inpaint()
    finish(dock)
    recipe = dock.result.metadata["napari_scsc"]["recipe"]
    assert (recipe["mask"], recipe["command"]) == ({"path": None}, "")
    save("new.ome.tif", dock.result)
    refused = CliRunner().invoke(main, ["again", "new.ome.tif"])
    assert "--mask is needed" in refused.output
    np.save("holes.npy", mask)
    assert made_again("new.ome.tif", "--mask", "holes.npy")["same"]


def test_result_that_is_not_whole_has_no_recipe_to_follow(make_light_dock, monkeypatch, qtbot):
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells(), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None)
    dock.stop()
    finish(dock)
    recipe = dock.result.metadata["napari_scsc"]["recipe"]
    assert "partial" in dock.result.name
    assert recipe["script"] == dock.script
    assert "format" not in recipe
