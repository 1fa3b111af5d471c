"""Pictures with a channel of transparency: it stays as it is, and what is said is true."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from napari_scsc import denoise, estimate_noise, samples

SIDE = 96
ROW, COLUMN = np.indices((SIDE, SIDE)) - SIDE // 2
ALPHAS = {
    "opaque": np.ones((SIDE, SIDE)),
    "transparent": np.zeros((SIDE, SIDE)),
    "disc": (np.hypot(ROW, COLUMN) < 0.4 * SIDE).astype(float),
    "soft": np.clip(1 - np.hypot(ROW, COLUMN) / SIDE, 0, 1),
}


@pytest.fixture(scope="module")
def colours():
    """Grey as RGB, with noise of its own in each colour."""
    clean = samples.tissue((SIDE, SIDE))
    clean = 50 + 150 * (clean - clean.min()) / np.ptp(clean)
    noisy = clean[..., None] + np.random.default_rng(0).normal(0, 12, (SIDE, SIDE, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("name", ALPHAS)
def test_transparency_stays_to_the_bit_and_colours_lose_their_noise(colours, name, dtype):
    largest = 255 if dtype == np.uint8 else 1
    alpha = (ALPHAS[name] * largest).astype(dtype)
    rgb = colours if dtype == np.uint8 else (colours / np.float32(255)).astype(dtype)
    image = np.dstack([rgb, alpha])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = denoise(image, quality="draft")
    np.testing.assert_array_equal(result[..., 3], alpha)
    assert np.mean(result[..., :3] != rgb) > 0.9
    said = " ".join(str(one.message) for one in told)
    is_constant = np.ptp(alpha) == 0
    assert ("no noise was found in some of the channels" in said) == (not is_constant)
    assert "the image is left as it is" not in said
    assert "clipped" not in said


@pytest.mark.parametrize("name", ["opaque", "transparent"])
def test_constant_channel_changes_nothing_of_the_noise_of_the_others(colours, name):
    expected = estimate_noise(colours)
    alpha = (255 * ALPHAS[name]).astype(np.uint8)
    found = estimate_noise(np.dstack([colours, alpha]))
    assert found.sigma == pytest.approx(expected.sigma, rel=0.05)
    assert found.sure
    assert [part.sigma > 0 for part in found.joint] == [True, True, True, False]
