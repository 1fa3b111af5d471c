"""The preprocessing of the benchmarks: what must hold for any image."""

import numpy as np
import pytest

from laboratory.preprocessing import gaussian, grey, normalise_contrast, preprocess, taper_edges


@pytest.fixture
def image():
    return np.random.default_rng(0).random((40, 53))


@pytest.fixture
def photograph():
    return np.random.default_rng(1).integers(0, 256, (40, 53, 3), np.uint8)


def test_grey_weighs_the_colours():
    colours = 255 * np.eye(3, dtype=np.uint8)
    red, green, blue = grey(colours)
    assert green > red > blue > 0
    assert red + green + blue == pytest.approx(1, abs=1e-7)
    assert (red, green, blue) == pytest.approx((0.299, 0.587, 0.114), abs=1e-4)


def test_windows_have_sum_one_and_are_symmetric():
    window = gaussian(13, 4.773)
    assert window.sum() == pytest.approx(1)
    np.testing.assert_array_equal(window, window[::-1])
    assert window.argmax() == 6


def test_result_is_float32_of_the_same_shape(photograph):
    result = preprocess(photograph)
    assert result.dtype == np.float32
    assert result.shape == photograph.shape[:2]


def test_mean_is_zero_before_the_taper_and_stays_there(photograph):
    # The blurred copy has the mean of the image, so the taper can move it only a little.
    assert abs(preprocess(photograph).mean()) < 1e-2


def test_constant_image_becomes_zero():
    assert np.abs(preprocess(np.full((30, 30, 3), 77, np.uint8))).max() < 1e-5


@pytest.mark.parametrize(("scale", "offset"), [(0.5, 0.0), (2.0, -0.3), (0.1, 0.7)])
def test_contrast_does_not_depend_on_affine_changes_of_intensity(image, scale, offset):
    changed = normalise_contrast(scale * image + offset)
    np.testing.assert_allclose(changed, normalise_contrast(image), atol=1e-8)


def test_inverted_image_has_inverted_contrast(image):
    np.testing.assert_allclose(normalise_contrast(1 - image), -normalise_contrast(image), atol=1e-8)


def test_weak_contrast_is_not_blown_up(image):
    faint = image.copy()
    faint[:, :12] = 0.5 + 1e-4 * (image[:, :12] - 0.5)
    result = normalise_contrast(faint)
    assert np.abs(result[:, :3]).max() < 1e-2 * np.abs(result[:, 20:]).max()


def test_taper_leaves_the_middle_alone(image):
    tapered = taper_edges(image)
    np.testing.assert_allclose(tapered[11:-11, 11:-11], image[11:-11, 11:-11], atol=1e-12)
    assert np.abs(tapered - image)[0].max() > 0.1


def test_taper_makes_opposite_edges_meet():
    ramp = np.add.outer(np.linspace(0, 1, 60), np.linspace(0, 2, 50))
    tapered = taper_edges(ramp)
    for axis in (0, 1):
        jump = np.abs(np.take(ramp, 0, axis) - np.take(ramp, -1, axis)).max()
        left = np.abs(np.take(tapered, 0, axis) - np.take(tapered, -1, axis)).max()
        assert left < 0.25 * jump


def test_taper_stays_within_the_values_of_the_image(image):
    tapered = taper_edges(image)
    assert image.min() <= tapered.min()
    assert tapered.max() <= image.max()


def test_taper_leaves_a_constant_alone():
    np.testing.assert_allclose(taper_edges(np.full((30, 25), 0.4)), 0.4)
