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


def fine_checkers():
    y, x = np.mgrid[:128, :128]
    return ((y + x) % 2 * 255).astype(np.uint8)


def points():
    rng = np.random.default_rng(0)
    image = np.zeros((128, 128), np.uint8)
    image[rng.integers(5, 120, 40), rng.integers(5, 120, 40)] = 1
    return image


def tissue_in_bytes(side=256):
    """Rounding is all that looks like noise."""
    clean = samples.tissue((side, side))
    return np.rint(255 * clean / clean.max()).astype(np.uint8)


def tissue_beside_nothing():
    image = tissue_in_bytes()
    image[:, :128] = 17
    return image


def screened():
    """A gradient as black and white points."""
    y, x = np.mgrid[:128, :128]
    screen = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
    return ((0.7 * x + 0.3 * y) / 128 > np.tile(screen, (32, 32))).astype(np.uint8) * np.uint8(255)


IMAGES = {
    "checkerboard of single pixels": fine_checkers,
    "points of one pixel": points,
    "tissue in bytes": tissue_in_bytes,
    "less tissue in bytes": lambda: tissue_in_bytes(192),
    "tissue beside nothing": tissue_beside_nothing,
    "screened": screened,
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
    assert "left as it is" in str(found.remarks[0])
    np.testing.assert_array_equal(denoise(image, kind="image", quality="draft"), image)


def test_a_screenshot_stays_as_it_is():
    """Its bar, text and frame are even, and the channels differ."""
    page = np.full((128, 128, 3), 240, np.uint8)
    page[:16] = (40, 90, 160)
    page[:4] = np.linspace(60, 200, 128).astype(np.uint8)[:, None]
    page[64:, 64::9] = 180
    page[40:60:3, 10:60, 0] = np.arange(50) * 7 % 255
    np.testing.assert_array_equal(denoise(page, kind="rgb", quality="draft"), page)


@pytest.mark.parametrize("mean", [0.3, 1.0, 4.0])
def test_single_photons_are_noise(mean):
    light = mean * samples.tissue((160, 160)) / samples.tissue((160, 160)).mean()
    counts = np.random.default_rng(0).poisson(light).astype(np.uint8)
    found = estimate_noise(counts, kind="image")
    assert found.sigma == pytest.approx(np.sqrt(mean), rel=0.3)
