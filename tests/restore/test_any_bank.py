"""A bank of any model and of any image restores as well as the image's own filters."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from reference_cases import SHAPES, noisy

from napari_scsc import denoise, inpaint, learn, samples


@pytest.mark.parametrize("kind", SHAPES)
def test_bank_of_either_model_restores_every_kind_as_its_own_filters_do(kind):
    image = noisy(kind)
    options = {"kind": kind, "quality": "fast", "sigma": 8.0}
    expected = denoise(image, **options)
    for bank in (
        learn(image, kind=kind, sigma=8.0, model="scsc", n_filters=12, tiles=2),
        learn(noisy(kind)[::-1].copy(), kind=kind, sigma=30.0, model="scsc", n_filters=12, tiles=2),
    ):
        found = denoise(image, bank=bank, **options)
        assert np.abs(found.astype(float) - expected).mean() < 0.05 * 8.0


def test_holes_are_filled_with_any_bank_as_with_its_own_filters():
    image = samples.tissue((96, 96))
    missing = np.random.default_rng(0).random(image.shape) < 0.4
    options = {"kind": "image", "quality": "fast"}
    expected = inpaint(image, missing, **options)
    bank = learn(
        samples.tissue((96, 96), seed=5), kind="image", model="scsc", n_filters=12, tiles=2
    )
    np.testing.assert_allclose(inpaint(image, missing, bank=bank, **options), expected, atol=1e-5)


def test_image_with_few_patches_is_left_to_a_bank_of_patches():
    rng = np.random.default_rng(0)
    clean = samples.tissue((200, 200), seed=3)
    noisy_one = clean + 0.1 * rng.standard_normal(clean.shape)
    bank = learn(clean, kind="image", filter_shape=(8, 8))
    own = partial(denoise, kind="image", quality="fast", sigma=0.1)
    small = noisy_one[:28, :28]
    assert np.abs(own(small, bank=bank) - own(small)).max() > 1e-3
    same_shape = learn(noisy_one, kind="image", sigma=0.1, filter_shape=(8, 8))
    np.testing.assert_array_equal(own(noisy_one, bank=bank), own(noisy_one, bank=same_shape))
