"""Channels of one scene help each other; those of other scenes are restored as if alone."""

from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import denoise, estimate_noise, samples

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
SIDE = 160


def scenes(n):
    return np.stack([samples.tissue((SIDE, SIDE), seed) for seed in range(n)]).astype(np.float32)


def with_noise(clean, sigma=0.1):
    rng = np.random.default_rng(1)
    return clean + np.float32(sigma) * rng.standard_normal(clean.shape).astype(np.float32)


def ratios(clean, noisy, **options):
    """Error of each channel beside that of the channel by itself."""
    together = denoise(noisy, kind="multispectral", quality="fast", **options)
    alone = [denoise(channel, kind="image", quality="fast", **options) for channel in noisy]
    return np.array(
        [np.std(t - c) / np.std(a - c) for t, a, c in zip(together, alone, clean, strict=True)]
    )


@pytest.mark.parametrize("n", [2, 5])
def test_other_scenes_do_no_harm(n):
    clean = scenes(n)
    assert ratios(clean, with_noise(clean)).max() < 1.1


def test_mixtures_of_scenes_help_each_other():
    clean = np.tensordot(np.random.default_rng(3).random((6, 3)), scenes(3), 1).astype(np.float32)
    assert ratios(clean, with_noise(clean)).max() < 0.9


def test_what_is_hidden_by_noise_stays_together():
    clean = np.stack([samples.tissue((SIDE, SIDE), 0)] * 8).astype(np.float32)
    assert ratios(clean, with_noise(clean, 3), sigma=3.0).max() < 0.7


def tinted(grey):
    return grey * np.array([1, 0.85, 0.6]), np.rint


def inverted(grey):
    return np.concatenate([grey, grey / 2, 255 - grey], -1), np.float32


def halved(grey):
    return np.concatenate([grey, grey, grey // 2], -1), np.float32


@pytest.mark.parametrize("make", [tinted, inverted, halved])
def test_colours_made_of_one_grey_image_are_restored_as_that(make):
    grey = samples.tissue((SIDE, SIDE))
    grey = (50 + 150 * grey / grey.max())[..., None]
    noise = 12 * np.random.default_rng(0).standard_normal(grey.shape)
    (clean, _), (noisy, kind) = make(grey), make(np.rint(grey + noise))
    noisy = kind(noisy).astype(np.float32)
    assert estimate_noise(noisy, kind="rgb").joint
    result = denoise(noisy, kind="rgb", quality="fast")
    for channel in range(3):
        alone = denoise(noisy[..., channel].copy(), kind="image", quality="fast")
        error = np.std(result[..., channel] - clean[..., channel])
        assert error < 1.1 * np.std(alone - clean[..., channel])
