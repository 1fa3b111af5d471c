"""Data with several separate axes: each part is restored by itself, wherever the result goes."""

from __future__ import annotations

import json

import dask.array as da
import numpy as np
import pytest
import zarr

from napari_scsc import (
    denoise,
    encode,
    estimate_noise,
    explain,
    explain_group,
    inpaint,
    learn,
    samples,
)
from napari_scsc.io.formats import open_file

SIGMA = 0.05
DRAFT = {"sigma": SIGMA, "quality": "draft"}


def make_noisy(shape):
    """Stacks or pictures of tissue in all of the axes before them, each of another brightness."""
    picture = samples.tissue(shape[-2:])
    factors = np.linspace(0.5, 1, np.prod(shape[:-2])).reshape(*shape[:-2], 1, 1)
    noise = np.random.default_rng(0).normal(0, SIGMA, shape)
    return (factors * picture + noise).astype(np.float32)


@pytest.fixture(scope="module")
def stacks():
    return make_noisy((2, 2, 6, 24, 24))


@pytest.fixture(scope="module")
def bank(stacks):
    return learn(stacks, axes="tczyx", sigma=SIGMA)


@pytest.fixture(scope="module")
def clean(stacks, bank):
    return denoise(stacks, axes="tczyx", bank=bank, **DRAFT)


# Small enough to be left to the bank: larger images have directions of their own, which all share.
@pytest.mark.parametrize("axes", ["tcyx", "nnyx", "t:separate c:separate y x"])
def test_each_time_point_and_channel_equals_restoring_that_part_alone(axes):
    image = make_noisy((3, 2, 16, 16))
    bank = learn(samples.noisy_tissue((128, 128)), kind="image", filter_shape=(8, 8))
    restored = denoise(image, axes=axes, bank=bank, **DRAFT)
    for index in np.ndindex(3, 2):
        alone = denoise(image[index], kind="image", bank=bank, **DRAFT)
        np.testing.assert_allclose(restored[index], alone, atol=1e-5)


def test_each_stack_equals_coding_it_alone(stacks):
    bank = learn(stacks[0, 0], kind="stack", sigma=SIGMA, model="scsc", n_base=4, n_filters=6)
    facts = {"bank": bank, "method": "scsc-paper", **DRAFT}
    restored = denoise(stacks, axes="tczyx", **facts)
    for index in np.ndindex(2, 2):
        alone = denoise(stacks[index], kind="stack", **facts)
        np.testing.assert_allclose(restored[index], alone, atol=1e-4)


def test_order_of_the_axes_does_not_matter(stacks, bank, clean):
    turned = np.transpose(stacks, (4, 1, 3, 0, 2))
    restored = denoise(turned, axes="xcytz", bank=bank, **DRAFT)
    assert restored.shape == turned.shape
    # Along each axis patches are drawn from the other side: nearly the same is restored.
    difference = np.transpose(restored, (3, 1, 4, 2, 0)) - clean
    assert np.sqrt(np.mean(difference**2)) < 0.2 * SIGMA


def test_lazy_results_have_the_same_bits(stacks, bank, clean):
    lazy = da.from_array(stacks, chunks=(1, 1, 6, 24, 24))
    np.testing.assert_array_equal(denoise(lazy, axes="tczyx", bank=bank, **DRAFT).compute(), clean)


@pytest.mark.parametrize("end", [".tif", ".ome.tif", ".zarr", ".ome.zarr", ".npy"])
def test_files_have_the_same_bits(tmp_path, stacks, bank, clean, end):
    path = tmp_path / f"clean{end}"
    denoise(stacks, axes="tczyx", bank=bank, out=path, **DRAFT)
    opened = open_file(path)
    np.testing.assert_array_equal(np.asarray(opened.array), clean)
    assert end == ".npy" or opened.labels == tuple("tczyx")


@pytest.mark.parametrize("end", [".tif", ".zarr", ".npy"])
def test_several_axes_of_positions_are_written(tmp_path, stacks, bank, clean, end):
    path = tmp_path / f"clean{end}"
    denoise(stacks, axes="nnzyx", bank=bank, out=path, **DRAFT)
    np.testing.assert_array_equal(np.asarray(open_file(path).array), clean)


def test_noise_is_found_and_holes_are_filled(stacks):
    assert estimate_noise(stacks, axes="tczyx").sigma == pytest.approx(SIGMA, rel=0.3)
    missing = np.random.default_rng(1).random(stacks.shape) < 0.1
    filled = inpaint(stacks, missing, axes="tczyx", quality="draft")
    np.testing.assert_array_equal(filled[~missing], stacks[~missing])
    assert np.isfinite(filled).all()


def test_codes_know_each_stack(tmp_path, stacks):
    bank = learn(stacks, axes="tczyx", sigma=SIGMA, model="scsc", n_base=4, n_filters=6)
    codes = encode(stacks, bank, axes="tczyx", sigma=SIGMA, out=tmp_path / "a.codes.zarr")
    assert codes.n_blocks == 4


def test_pixels_are_explained_within_their_stack(clean, bank):
    position = (1, 0, 3, 10, 12)
    found = explain(clean, bank, position, axes="tczyx")
    alone = explain(clean[1, 0], bank, position[2:], kind="stack")
    assert found.position == position
    np.testing.assert_allclose(found.parts, alone.parts)
    group = explain_group(clean, bank, position, axes="tczyx")
    assert all(member[:2] == (slice(1, 2), slice(0, 1)) for member in group.members)


def test_command_line_takes_roles(tmp_path, monkeypatch, stacks, bank, clean):
    from cli_tools import succeed

    monkeypatch.chdir(tmp_path)
    zarr.save_array("stacks.zarr", stacks)
    bank.save("bank.scsc")
    common = ("--bank", "bank.scsc", "--sigma", SIGMA, "--quality", "draft")
    for i, axes in enumerate(("tczyx", "nnzyx", "t, c:separate, z, y, x")):
        succeed("denoise", "stacks.zarr", "--axes", axes, *common, "-o", f"{i}.npy")
        np.testing.assert_array_equal(np.load(f"{i}.npy"), clean)
    facts = json.loads(succeed("info", "stacks.zarr", "--axes", "tczyx", "--json").stdout)
    assert facts["what"] == "time-lapse of stacks, 2 channels"
    assert facts["restores"] == "t, c each by itself; z, y, x together"
    assert "what" in json.loads(succeed("info", "stacks.zarr", "--json").stdout)
