from __future__ import annotations

import numpy as np
import pytest
from shared_noise import blurred, blurred_lags, white

from napari_scsc import samples
from napari_scsc.noise.correlation import N_LAGS, find_correlation


def found_in(plane, variance=1.0, usable=None):
    usable = np.ones(plane.shape, bool) if usable is None else usable
    return find_correlation([plane], [usable], lambda means: np.full_like(means, variance))


@pytest.mark.parametrize("width", [0.45, 0.7, 1.0])
def test_lags_of_blurred_noise_are_found(width):
    along = blurred_lags(width, N_LAGS)
    found = found_in(blurred((256, 256), width))
    np.testing.assert_allclose(found.lags, np.outer(along, along), atol=0.06)


def test_lags_are_found_beside_content():
    clean = samples.tissue((256, 256)).astype(np.float32)
    noise = blurred(clean.shape)
    along = blurred_lags(0.7, N_LAGS)
    found = found_in(clean + np.float32(0.1) * noise, 0.01)
    np.testing.assert_allclose(found.lags, np.outer(along, along), atol=0.12)


def test_axes_are_told_apart():
    lags = (
        found_in(blurred((256, 256), 1.0, axes=[1])).lags / found_in(white((256, 256))).lags[0, 0]
    )
    assert lags[0, 1] == pytest.approx(blurred_lags(1.0, 2)[1], abs=0.06)
    assert abs(lags[1, 0]) < 0.06


def test_level_does_not_matter_but_that_of_the_variance_assumed():
    plane = blurred((128, 128))
    one, other = found_in(plane, 1.0), found_in(5 * plane, 25.0)
    np.testing.assert_allclose(one.lags, other.lags, rtol=1e-4, atol=1e-5)


def test_masked_pixels_are_not_looked_at():
    plane, usable = blurred((256, 256)), np.ones((256, 256), bool)
    usable[:, 200:] = False
    spoilt = np.where(usable, plane, 1e3)
    np.testing.assert_allclose(
        found_in(spoilt, usable=usable).lags, found_in(plane, usable=usable).lags
    )


def test_small_planes_say_nothing():
    assert found_in(white((20, 200))) is None
    assert found_in(white((30, 30))) is None
