from __future__ import annotations

import json

import dask.array as da
import numpy as np
import pytest
from cancelling import CancelAtCheck
from cli_tools import succeed
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc import (
    Cancelled,
    FilterBank,
    UserError,
    bank_fit,
    general_bank,
    learn,
    samples,
)
from napari_scsc.data.image import ImageArray

ROWS, COLUMNS = np.mgrid[:192, :192]
MEASURES = ("energy_outside", "energy_to_gain", "objective")


def wave(down, across):
    """A wave of so many periods in eight pixels."""
    return np.cos(2 * np.pi * (down * ROWS + across * COLUMNS) / 8)


def bank_of_wave(down, across):
    """The patches of a wave: whichever is cut out, it is a mixture of two."""
    whole = wave(down, across)
    filters = np.stack([whole[:8, :8], whole[1:9, 2:10]])
    filters = np.linalg.qr(filters.reshape(2, -1).T)[0].T.reshape(2, 8, 8)
    return FilterBank(filters, info={"learner": "lattice"})


def add_noise(image, level, seed=0):
    return image + np.random.default_rng(seed).normal(0, level, image.shape)


@pytest.mark.parametrize("model", ["patches", "scsc"])
@pytest.mark.parametrize(
    ("kind", "image"),
    [
        ("image", samples.noisy_tissue((160, 160))),
        ("image", samples.noisy_tissue((48, 48), seed=3)),
        ("image", samples.tissue((128, 128))),
        ("image", add_noise(np.zeros((128, 128)), 1.0)),
        ("video", samples.video((8, 64, 64))),
        ("video", add_noise(np.zeros((8, 64, 64)) + np.sign(np.sin(2.2 * np.arange(64))), 1.0)),
        ("multispectral", samples.multispectral((8, 64, 64))),
    ],
)
def test_bank_fits_the_image_that_it_was_learned_from(kind, image, model):
    few = {"n_base": 8, "n_filters": 12} if model == "scsc" else {}
    bank = learn(image, kind=kind, model=model, **few)
    fit = bank_fit(image, bank, kind=kind)
    assert fit.verdict == "fits"
    assert (fit.distance_of_weights is None) == (bank.weights is None)


def test_bank_fits_other_images_of_the_same_kind():
    bank = learn(samples.noisy_tissue((256, 256), seed=0), kind="image")
    for seed in (1, 2):
        other = samples.noisy_tissue((256, 256), seed=seed)
        assert bank_fit(other, bank, kind="image").verdict == "fits"
        assert bank_fit(other, general_bank("image"), kind="image").verdict == "fits"


def test_nothing_of_an_image_of_the_filters_lies_outside():
    fit = bank_fit(5 + wave(1, 2), bank_of_wave(1, 2), kind="image", sigma=1e-3)
    assert fit.energy_outside == pytest.approx(0, abs=1e-5)
    assert fit.verdict == "fits"


@pytest.mark.parametrize("level", [1e-3, 0.1, 0.5])
def test_orthogonal_texture_does_not_fit(level):
    image = add_noise(wave(2, 1), level)
    fit = bank_fit(image, bank_of_wave(1, 2), kind="image", sigma=level)
    assert fit.energy_outside == pytest.approx(1, abs=0.15)
    assert fit.energy_to_gain == pytest.approx(1, abs=0.15)
    assert fit.verdict == "learn again"


@pytest.mark.parametrize("level", [0.01, 0.1, 0.5, 2.0, 10.0])
def test_noise_does_not_make_a_fitting_bank_fail(level):
    image = add_noise(wave(1, 2), level)
    for noise in (None, level):
        fit = bank_fit(image, bank_of_wave(1, 2), kind="image", sigma=noise)
        assert fit.verdict == "fits"
    assert fit.energy_outside < 0.1


def test_noise_alone_costs_half_its_variance():
    image = add_noise(np.zeros((192, 192)), 3.0)
    fit = bank_fit(image, bank_of_wave(1, 2), kind="image", sigma=3.0)
    assert fit.objective == pytest.approx(0.5, rel=0.05)


@given(factor=st.floats(1e-3, 1e3), offset=st.floats(-10, 10))
@settings(max_examples=10, deadline=None)
def test_units_of_the_image_do_not_matter(factor, offset):
    image = add_noise(wave(1, 2) + 0.5 * wave(2, 1), 0.2)
    bank = bank_of_wave(1, 2)
    fit = bank_fit(image, bank, kind="image", sigma=0.2)
    scaled = bank_fit(factor * (image + offset), bank, kind="image", sigma=0.2 * factor)
    for name in MEASURES:
        assert getattr(scaled, name) == pytest.approx(getattr(fit, name), rel=1e-2)
    assert scaled.sigma == pytest.approx(factor * fit.sigma)


def test_tiles_show_where_a_bank_does_not_fit():
    image = np.where(COLUMNS < 96, wave(1, 2), wave(2, 1))
    fit = bank_fit(image, bank_of_wave(1, 2), kind="image", sigma=1e-3)
    assert len({str(tile.region) for tile in fit.tiles}) == len(fit.tiles) > 4
    for tile in fit.tiles:
        assert image[tile.region].size > 0
        if tile.region[1].stop <= 96:
            assert tile.energy_outside < 0.01
        if tile.region[1].start >= 96:
            assert tile.energy_outside > 0.95


def test_only_a_few_tiles_of_a_large_image_are_read(monkeypatch):
    n_read, read = [], ImageArray.read

    def counting(self, region):
        values = read(self, region)
        n_read.append(values.size)
        return values

    monkeypatch.setattr(ImageArray, "read", counting)
    tile = np.asarray(samples.noisy_tissue((256, 256)))
    image = da.tile(da.from_array(tile, chunks=128), (50, 50))
    fit = bank_fit(image, general_bank("image"), kind="image")
    assert fit.verdict == "fits"
    assert sum(n_read) < 2e7  # of 1.6e8


def test_lazy_arrays_give_the_same():
    image = samples.noisy_tissue((192, 160))
    bank = general_bank("image")
    lazy = bank_fit(da.from_array(image, chunks=50), bank, kind="image", seed=3)
    assert lazy == bank_fit(image, bank, kind="image", seed=3)


def test_several_separate_axes_and_missing_values_are_understood():
    images = [samples.noisy_tissue((64, 64), seed=i) for i in range(6)]
    image = np.stack(images).reshape(2, 3, 64, 64).astype(np.float32)
    bank = learn(image, axes="tcyx")
    image[0, 1, 20:24, 30:40] = np.nan
    fit = bank_fit(image, bank, axes="tcyx")
    assert fit.verdict == "fits"
    assert all(len(tile.region) == 4 for tile in fit.tiles)


def test_what_cannot_be_judged_is_refused():
    bank = general_bank("image")
    with pytest.raises(UserError, match="filters over joint axes"):
        bank_fit(np.zeros((9, 64, 64)), bank, kind="video")
    with pytest.raises(UserError, match="constant"):
        bank_fit(np.zeros((64, 64)), bank, kind="image")
    with pytest.raises(UserError, match="must be a FilterBank"):
        bank_fit(np.zeros((64, 64)), None, kind="image")
    image = samples.noisy_tissue((64, 64)).astype(float)
    image[::4, ::4] = np.nan
    with pytest.raises(UserError, match="every patch"):
        bank_fit(image, bank, kind="image")


def test_it_can_be_cancelled():
    with pytest.raises(Cancelled):
        bank_fit(
            samples.noisy_tissue((128, 128)),
            general_bank("image"),
            kind="image",
            cancellation=CancelAtCheck(3),
        )


def test_command_line_tells_whether_a_bank_fits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("waves.npy", add_noise(wave(1, 2), 0.1))
    for axes, word in (((1, 2), "fits"), ((2, 1), "learn again")):
        bank_of_wave(*axes).save("mine.scsc", overwrite=True)
        printed = succeed("info", "waves.npy", "--bank", "mine.scsc", "--json").stdout
        facts = json.loads(printed)
        assert facts["fit"] == word
        assert {"energy_outside", "energy_to_gain", "objective_per_noise_level"} <= set(facts)
        assert "distance_of_weights" not in facts
    assert f"fit: {word}" in succeed("info", "waves.npy", "--bank", "mine.scsc").stdout


def test_filters_of_one_pixel_have_nothing_outside():
    bank = FilterBank(np.ones((1, 1, 1), np.float32), info={"learner": "lattice"})
    found = bank_fit(samples.noisy_tissue((64, 64)), bank, kind="image")
    assert all(np.isfinite(getattr(found, name)) for name in MEASURES)
    assert found.energy_outside == found.energy_to_gain == 0
