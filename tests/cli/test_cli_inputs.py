"""What inputs are: their axes, what is said of them, and the names that find them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import zarr
from cli_tools import DRAFT, open_file, run, save, succeed

from napari_scsc import denoise
from napari_scsc.data.image import ImageArray


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


def test_names_that_look_like_patterns_are_names(folder, cells):
    np.save("a[1].npy", cells)
    succeed("denoise", "a[1].npy", "-o", "new.npy", *DRAFT)
    assert json.loads(succeed("info", "a*.npy", "--json").stdout)["input"] == "a[1].npy"


def test_patterns_reach_folders_below(folder):
    os.makedirs("a/b")
    os.rename("cells.tif", "a/b/cells.tif")
    assert "a/b/cells.tif" in succeed("info", "a/**/*.tif", "--no-noise").stdout
