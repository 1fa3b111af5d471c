"""Pixels that are darker than the law of the noise allows for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from napari_scsc import denoise, estimate_noise
from napari_scsc.noise.model import Noise


def scene(seed=0, shape=(192, 192)):
    """Smooth blobs between 0 and 1000."""
    smooth = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), 8)
    return (smooth - smooth.min()) / np.ptp(smooth) * 1000


def white(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def rms(difference):
    return float(np.sqrt(np.mean(np.square(difference))))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_they_are_restored_where_the_noise_stops_growing(seed):
    clean = scene(seed)
    noisy = clean + np.sqrt(np.maximum(clean - 200, 4)) * white(clean.shape)
    result, error = denoise(noisy, error=True)
    dark = clean < 150
    assert rms((result - clean)[dark]) < rms((noisy - clean)[dark])
    assert rms((result - clean)[dark]) < 3 * error[dark].mean()


def test_noise_of_a_brighter_image_leaves_a_darker_one_what_it_is():
    bright = 500 + scene()
    noise = estimate_noise(bright + np.sqrt(bright - 300) * white(bright.shape))
    assert noise.depends_on_signal
    dark = scene() / 5
    noisy = dark + 2 * white(dark.shape, 2)
    assert rms(denoise(noisy, noise=noise) - dark) < 2


def test_floor_is_kept_where_noise_is_written_down_and_scaled():
    noise = Noise(5.0, 1.0, -200.0, False, True, (), floor=2.0)
    assert Noise.from_json(noise.to_json()) == noise
    values = np.array([0.0, 100.0, 300.0])
    np.testing.assert_allclose(noise.variance(values), [4, 4, 100])
    other = noise.scaled(3.0, 7.0)
    np.testing.assert_allclose(other.variance(3 * values + 7), 9 * noise.variance(values))
