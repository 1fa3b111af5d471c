"""Images without noise that look as if they had some: they stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy import ndimage
from shared_noise import white

from napari_scsc import denoise, estimate_noise, samples

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")

SCREEN = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16


def shades(seed, side=160):
    smooth = ndimage.gaussian_filter(white((side, side), seed), 10)
    return (smooth - smooth.min()) / np.ptp(smooth)


def screened(seed):
    grey = shades(seed)
    return (grey > np.tile(SCREEN, [n // 4 for n in grey.shape])) * np.uint8(255)


def diffused(seed):
    """Black and white points by the rule of Floyd and Steinberg."""
    return np.asarray(Image.fromarray(np.uint8(255 * shades(seed))).convert("1")) * np.uint8(255)


def glyphs(seed):
    rng = np.random.default_rng(seed)
    shapes = rng.random((20, 7, 5)) < 0.5
    page = np.zeros((128, 128), np.uint8)
    for row in range(5, 120, 10):
        for column in range(5, 122, 7):
            page[row : row + 7, column : column + 5] = 255 * shapes[rng.integers(20)]
    return page


def text(seed):
    page = Image.new("L", (256, 256), 255)
    for row in range(seed, 256, 12):
        ImageDraw.Draw(page).text((2, row), "the quick brown fox jumps over a lazy dog", fill=0)
    return np.asarray(page)


def smooth_lines(seed):
    page, rng = Image.new("L", (1024, 1024), 0), np.random.default_rng(seed)
    for _ in range(60):
        a, b = rng.integers(0, 1024, (2, 2))
        ImageDraw.Draw(page).line([tuple(a), tuple(b)], fill=255, width=6)
    return np.asarray(page).reshape(256, 4, 256, 4).mean((1, 3)).astype(np.uint8)


def rings(seed):
    y, x = np.mgrid[-1:1:192j, -1:1:192j]
    return (0.5 + 0.5 * np.cos((90 + seed) * (x**2 + y**2))).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [screened, diffused, glyphs, text, smooth_lines, rings])
def test_what_was_drawn_stays_as_it_is(make, seed):
    drawn = make(seed)
    np.testing.assert_array_equal(denoise(drawn, kind="image", quality="draft"), drawn)
    found = estimate_noise(drawn, kind="image")
    assert not found.sure
    assert "as it is" in str(found.remarks[0])


def test_channels_that_were_drawn_stay_as_they_are():
    drawn = np.stack([diffused(seed) // (seed + 1) for seed in range(3)])
    result = denoise(drawn, kind="multispectral", quality="draft")
    np.testing.assert_array_equal(result, drawn)


def test_a_channel_in_which_no_noise_is_seen_has_that_of_the_others():
    clean = np.stack([samples.tissue((160, 160), seed) for seed in range(3)]).astype(np.float32)
    clean[1] = ndimage.zoom(rings(0), 160 / 192, order=1)
    noisy = clean + np.float32(0.02) * white(clean.shape)
    result = denoise(noisy, kind="multispectral", quality="fast")
    assert abs(result - clean)[1].mean() < abs(noisy - clean)[1].mean()


@pytest.mark.parametrize("photons", [0.1, 0.3, 1.0])
def test_few_photons_are_no_drawing(photons):
    clean = photons * samples.tissue((200, 220)) / samples.tissue((200, 220)).mean()
    counts = np.random.default_rng(0).poisson(clean).astype(np.float32)
    assert estimate_noise(counts, kind="image").gain == pytest.approx(1, rel=0.1)
