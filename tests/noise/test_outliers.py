from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from shared_noise import psnr, white

from napari_scsc import denoise, estimate_noise, samples
from napari_scsc.noise.outliers import LIKELY, SURE, find_outliers

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


@pytest.fixture(scope="module")
def hot():
    clean = samples.tissue((160, 160)).astype(np.float32)
    noisy = clean + np.float32(0.03) * white(clean.shape)
    places = np.random.default_rng(3).random(clean.shape) < 0.001
    noisy[places] += 0.8
    return clean, noisy, places


def test_single_pixels_that_stand_out_are_found(hot):
    _, noisy, places = hot
    found, _ = find_outliers(noisy, 0.03, SURE)
    assert np.count_nonzero(found & places) >= 0.8 * np.count_nonzero(places)
    assert not (found & ~places).any()


def test_a_point_as_sharp_as_a_lens_can_show_is_none():
    for width in (0.8, 1.2):
        plane = np.zeros((41, 41), np.float32)
        plane[20, 20] = 1
        plane = 100 * ndimage.gaussian_filter(plane, width) / ndimage.gaussian_filter(
            plane, width
        ).max() + white(plane.shape)
        assert not find_outliers(plane, 1.0, SURE)[0][18:23, 18:23].any()


def test_noise_has_none():
    assert not find_outliers(white((500, 500)), 1.0, LIKELY + 1)[0].any()


def test_what_stands_out_is_replaced_by_what_is_around(hot):
    clean, noisy, places = hot
    found, cleaned = find_outliers(noisy, 0.03, LIKELY)
    assert abs(cleaned - clean)[places].mean() < 0.15
    np.testing.assert_array_equal(cleaned == noisy, ~found)


def test_they_are_reported_and_filled_where_there_are_certainly_such(hot):
    clean, noisy, places = hot
    found = estimate_noise(noisy, kind="image")
    assert found.outliers == pytest.approx(places.mean(), rel=0.3)
    assert "stand out" in str(found.remarks[-1])
    kept = denoise(noisy, kind="image", quality="fast", outliers="keep")
    filled = denoise(noisy, kind="image", quality="fast")
    assert psnr(clean, filled) > psnr(clean, kept) + 1
    alone = places & (ndimage.uniform_filter(places.astype(float), 5) < 1.5 / 25)
    assert abs(filled - clean)[alone].mean() < 0.1


def test_few_that_are_kept_stay_as_they_are_and_spoil_nothing_around():
    clean = 400 + 1000 * samples.tissue((192, 192))
    rng = np.random.default_rng(0)
    noisy = np.round(clean + 100 * rng.standard_normal(clean.shape)).clip(0).astype(np.uint16)
    hot = noisy.copy()
    hot[96, 96], hot[0, 40], hot[10, 191] = 65535, 60000, 30000
    away = hot == noisy
    alone, beside = denoise(noisy, kind="image"), denoise(hot, kind="image")
    np.testing.assert_array_equal(beside[~away], hot[~away])
    errors = [np.sqrt(np.mean(np.square(x - clean)[away])) for x in (alone, beside)]
    assert errors[1] < 1.05 * errors[0]


@pytest.mark.parametrize("least", [LIKELY, SURE, 30.0])
def test_what_is_found_is_what_the_definition_says(least):
    """Far off from the median of the eight around, which lie close together."""
    values = white((3, 40, 50)) * np.float32(1 + 20 * (white((3, 40, 50)) > 2))
    footprint = np.ones((1, 3, 3))
    footprint[0, 1, 1] = 0
    around = [
        ndimage.generic_filter(values, f, footprint=footprint, mode="mirror")
        for f in (lambda v: np.sort(v)[4], np.max, np.min)
    ]
    off = abs(values - around[0])
    spread = np.maximum(around[1] - around[0], around[0] - around[2])
    expected = (off > least) & (spread < np.maximum(4, 0.25 * off))
    found, cleaned = find_outliers(values, 1.0, least)
    assert expected.any()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cleaned, np.where(expected, around[0], values))
