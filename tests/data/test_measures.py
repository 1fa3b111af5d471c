"""PSNR and SSIM: of known pixels, against a reference that varies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from napari_scsc import UserError, samples
from napari_scsc.data import measures

CLEAN = samples.tissue((48, 64)).astype(float)
NOISY = CLEAN + np.random.default_rng(0).normal(0, 0.1, CLEAN.shape)


def with_hole(image):
    holed = image.copy()
    holed[10:20, 30:45] = np.nan
    return holed


@pytest.mark.parametrize("measure", [measures.psnr, measures.ssim, measures.match_range])
def test_constant_reference_is_refused_in_words(measure):
    with pytest.raises(UserError, match=r"reference is constant \(every value is 3\)"):
        measure(NOISY, np.full_like(CLEAN, 3))


@pytest.mark.parametrize("measure", [measures.psnr, measures.ssim, measures.match_range])
def test_reference_that_knows_nothing_is_refused_in_words(measure):
    with pytest.raises(UserError, match="no pixel that is known in both"):
        measure(NOISY, np.full_like(CLEAN, np.nan))


def test_values_at_unknown_pixels_do_not_count():
    holed = with_hole(CLEAN)
    spoilt = np.where(np.isnan(holed), 1e6, NOISY)
    assert measures.psnr(spoilt, holed) == measures.psnr(NOISY, holed)
    assert measures.ssim(spoilt, holed) == measures.ssim(NOISY, holed)
    known = ~np.isnan(holed)
    assert measures.psnr(NOISY, holed) == pytest.approx(measures.psnr(NOISY[known], CLEAN[known]))
    assert measures.ssim(NOISY, holed) == pytest.approx(measures.ssim(NOISY, CLEAN), abs=0.05)
    assert measures.ssim(CLEAN, holed) == pytest.approx(1)
    assert measures.psnr(CLEAN, holed) == math.inf
    assert measures.known_share(CLEAN, holed) == pytest.approx(known.mean())


def test_reference_of_other_units_with_unknown_pixels_is_scaled_by_the_known_ones():
    scaled, is_scaled = measures.match_range(CLEAN, with_hole(5000 * CLEAN + 70))
    assert is_scaled
    np.testing.assert_allclose(scaled, with_hole(CLEAN), atol=1e-9)
