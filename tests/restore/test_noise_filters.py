"""Filters of a bank that show noise: what lies along them is taken away."""

from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import UserError, denoise, learn, samples
from napari_scsc.model.basis import Basis

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


@pytest.fixture(scope="module")
def wavy():
    """A picture with a wave of four pixels, its filters, and those that show the wave."""
    clean = samples.tissue((128, 128)).astype(np.float32)
    wave = 0.05 * np.cos(np.pi / 2 * np.arange(128))
    noise = np.random.default_rng(0).standard_normal(clean.shape)
    image = (clean + wave + 0.02 * noise).astype(np.float32)
    bank = learn(image, kind="image", sigma=0.02)
    powers = np.abs(np.fft.fft2(bank.filters)) ** 2
    shares = (powers[:, 0, 2] + powers[:, 0, 6]) / powers.sum(axis=(1, 2))
    return clean, image, bank, np.flatnonzero(shares > 0.5).tolist()


def strength_of_wave(image):
    return abs(np.fft.fft2(image))[0, 32] / image.size


def test_what_lies_along_them_is_taken_away(wavy):
    clean, image, bank, numbers = wavy
    assert numbers
    options = {"kind": "image", "quality": "fast", "sigma": 0.02, "bank": bank}
    kept = denoise(image, **options)
    result = denoise(image, **options, noise_filters=numbers)
    assert strength_of_wave(kept) > 0.015
    assert strength_of_wave(result) < 0.3 * strength_of_wave(kept)
    assert np.mean((result - clean) ** 2) < 0.5 * np.mean((kept - clean) ** 2)


def test_basis_without_filters_is_orthonormal_and_knows_nothing_of_them(wavy):
    *_, bank, numbers = wavy
    basis = Basis.of(bank).without(bank.filters[numbers])
    gram = basis.vectors @ basis.vectors.T
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)
    along = bank.filters[numbers].reshape(len(numbers), -1)
    assert abs(basis.vectors @ along.T).max() < 1e-5
    assert len(basis.vectors) == len(Basis.of(bank).vectors) - len(numbers)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0,), "brightness"),
        ((1000,), "names the filter"),
        ((-1,), "whole number"),
        ("3", "numbers"),
    ],
)
def test_wrong_numbers_are_refused(wavy, numbers, words):
    _, image, bank, _ = wavy
    options = {"kind": "image", "quality": "draft", "sigma": 0.02, "bank": bank}
    with pytest.raises((UserError, TypeError), match=words):
        denoise(image, **options, noise_filters=numbers)


def test_numbers_need_a_bank(wavy):
    with pytest.raises(UserError, match="there is none"):
        denoise(wavy[1], kind="image", noise_filters=(3,))
