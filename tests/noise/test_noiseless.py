from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from napari_scsc import denoise, estimate_noise, samples

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def blobs():
    noise = np.random.default_rng(0).standard_normal((128, 128))
    return ndimage.gaussian_filter(noise, 3) > 0


def drawing():
    page = np.full((128, 128), 255, np.uint8)
    page[20:120:20] = page[:, 30:120:25] = 0
    page[60:90, 60:90] = 128
    return page


def few_levels():
    y, x = np.mgrid[:128, :128]
    return (np.round(4 * (np.sin(x / 17) + np.cos(y / 23))) * 12 + 120).astype(np.uint8)


def beads():
    rng = np.random.default_rng(0)
    points = np.zeros((128, 128))
    points[rng.integers(5, 120, 20), rng.integers(5, 120, 20)] = 1e5
    return ndimage.gaussian_filter(points, 1.2).astype(np.uint16)


IMAGES = {
    "binary": lambda: blobs().astype(np.uint8) * 255,
    "binary, float": lambda: blobs().astype(np.float32),
    "drawing": drawing,
    "few levels": few_levels,
    "beads on black": beads,
    "labels": lambda: ndimage.zoom(np.arange(100).reshape(10, 10) % 7, 12, order=0),
    "clean tissue": lambda: samples.tissue((128, 128)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_without_noise_stays_as_it_is(name):
    image = IMAGES[name]()
    found = estimate_noise(image, kind="image")
    assert found.sigma == 0
    assert not found.sure
    np.testing.assert_array_equal(denoise(image, kind="image", quality="draft"), image)


@pytest.mark.parametrize("mean", [0.3, 1.0, 4.0])
def test_single_photons_are_noise(mean):
    light = mean * samples.tissue((160, 160)) / samples.tissue((160, 160)).mean()
    counts = np.random.default_rng(0).poisson(light).astype(np.uint8)
    found = estimate_noise(counts, kind="image")
    assert found.sigma == pytest.approx(np.sqrt(mean), rel=0.3)
