from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import ndimage

from napari_scsc import samples
from napari_scsc.noise import estimate, planes
from napari_scsc.noise.estimate import estimate_from_planes


@functools.cache
def tissue(seed=0, shape=(200, 220)):
    return samples.tissue(shape, seed).astype(np.float64)


def white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def with_photons(x, gain, read=0.0, pedestal=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return gain * rng.poisson(x / gain) + read * rng.standard_normal(x.shape) + pedestal


def said(noise):
    return " ".join(map(str, noise.remarks))


@pytest.mark.parametrize("sigma", [0.01, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("seed", [0, 2])
def test_level_of_white_noise_is_found(sigma, seed):
    x = tissue(seed)
    found = estimate_from_planes([x + sigma * white(x.shape, seed)])
    assert found.sigma == pytest.approx(sigma, rel=0.05)
    assert found.sure
    assert found.gain == 0
    assert found.offset == pytest.approx(found.sigma**2)
    assert not found.correlated
    assert not found.remarks


def test_choosing_flat_patches_does_not_favour_weak_noise():
    # Pure noise: choosing patches by what is measured in them would find far too little.
    levels = [estimate_from_planes([white((100, 100), seed)]).sigma for seed in range(8)]
    assert np.mean(levels) == pytest.approx(1, abs=0.01)


def test_units_do_not_matter():
    x = with_photons(tissue(), 0.02, 0.02)
    one = estimate_from_planes([x])
    for scale, shift in ((1, 5.0), (3e4, 0.0), (1e-3, -7.0)):
        other = estimate_from_planes([scale * x + shift])
        assert other.sigma == pytest.approx(scale * one.sigma, rel=1e-3)
        assert other.gain == pytest.approx(scale * one.gain, rel=1e-2)
        values = np.array([0.1, 0.5])
        np.testing.assert_allclose(
            other.variance(scale * values + shift), scale**2 * one.variance(values), rtol=1e-2
        )
    turned = estimate_from_planes([-(tissue() + 0.1 * white(tissue().shape))])
    assert turned.sigma == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("gain", "read", "pedestal"), [(0.2, 0, 0), (0.05, 0.05, 0), (0.01, 0, 0), (0.02, 0.01, 2.0)]
)
def test_curve_of_photon_noise_is_found(gain, read, pedestal):
    x = tissue(3, (300, 300))
    found = estimate_from_planes([with_photons(x, gain, read, pedestal)])
    assert found.depends_on_signal
    assert found.gain == pytest.approx(gain, rel=0.15)
    assert found.sigma == pytest.approx(np.sqrt(gain * x.mean() + read**2), rel=0.05)
    bright = np.quantile(x, 0.95)
    assert found.variance(bright + pedestal) == pytest.approx(gain * bright + read**2, rel=0.1)
    assert found.offset == pytest.approx(read**2 - gain * pedestal, abs=0.25 * gain)


@pytest.mark.parametrize("blur", [0.5, 1.0])
def test_noise_that_neighbours_share_is_reported_and_measured_in_full(blur):
    x = tissue()
    noisy = ndimage.gaussian_filter(white(x.shape), blur, mode="wrap")
    found = estimate_from_planes([x + noisy * (0.1 / noisy.std())])
    assert found.correlated
    assert found.sure
    assert found.lags[0][0] == 1
    assert "alike" in said(found)
    assert found.sigma == pytest.approx(0.1, rel=0.12)


@pytest.mark.parametrize("axis", [0, 1])
def test_stripes_are_reported(axis):
    x = tissue()
    stripes = white((x.shape[0], 1) if axis == 0 else (1, x.shape[1]), seed=1)
    found = estimate_from_planes([x + 0.05 * white(x.shape) + 0.03 * stripes])
    assert found.correlated
    assert "stripes" in said(found)
    assert found.sigma == pytest.approx(np.hypot(0.05, 0.03), rel=0.12)


def test_texture_everywhere_makes_unsure():
    texture = ndimage.gaussian_filter(white((128, 128)), 0.8, mode="wrap")
    texture = texture * (0.5 + np.abs(ndimage.gaussian_filter(white((128, 128), 1), 4))) * 30
    found = estimate_from_planes([texture + 0.01 * white(texture.shape, 2)])
    assert not found.sure
    assert found.remarks


def test_clipped_pixels_are_left_out():
    x = tissue()
    noisy = x + 0.1 * white(x.shape)
    clipped = np.clip(noisy, 0.0, None)
    assert (clipped == 0).mean() > 0.1
    found = estimate_from_planes([clipped])
    assert "clipped" in said(found)
    assert not found.sure
    # As near as can be: in most of this picture half of the noise is cut off.
    bright = np.clip(noisy + 0.25, 0.0, None)
    assert (bright == 0).any()
    assert estimate_from_planes([bright]).sigma == pytest.approx(0.1, rel=0.05)


def test_dark_counts_are_not_taken_for_clipped():
    rng = np.random.default_rng(0)
    found = estimate_from_planes([rng.poisson(0.5 + 2 * tissue()).astype(float)])
    assert "clipped" not in said(found)
    assert found.sigma == pytest.approx(np.sqrt(0.5 + 2 * tissue().mean()), rel=0.05)


def test_noise_below_the_quantisation_makes_unsure():
    x = 20 * tissue()
    fine = estimate_from_planes([np.round(x + 2.0 * white(x.shape))])
    assert fine.sure
    assert fine.sigma == pytest.approx(np.sqrt(4 + 1 / 12), rel=0.05)
    coarse = estimate_from_planes([np.round(x + 0.2 * white(x.shape))])
    assert not coarse.sure
    assert "step" in said(coarse)


def test_inverted_photon_noise_is_reported():
    found = estimate_from_planes([-with_photons(tissue(3, (300, 300)), 0.05)])
    assert found.gain == 0
    assert not found.sure
    assert "inverted" in said(found)
    assert found.sigma == pytest.approx(np.sqrt(0.05 * tissue(3, (300, 300)).mean()), rel=0.1)


def test_constant_image_has_no_noise():
    found = estimate_from_planes([np.full((40, 40), 3.0)])
    assert found.sigma == found.gain == found.offset == 0
    assert not found.sure
    assert found.remarks


def test_drawing_without_noise_has_none():
    rows, columns = np.mgrid[:128, :128]
    found = estimate_from_planes([np.where((rows - 64) ** 2 + (columns - 64) ** 2 < 900, 1.0, 0.0)])
    assert found.sigma == 0
    assert not found.sure


@pytest.mark.parametrize("shape", [(6, 7), (5,), (20, 20), (40, 40)])
def test_small_images_give_a_guess_and_say_so(shape):
    found = estimate_from_planes([white(shape)])
    assert 0.3 < found.sigma < 2
    assert not found.sure
    assert found.remarks


def test_unknown_pixels_have_no_influence():
    x = tissue() + 0.1 * white(tissue().shape)
    known = np.ones(x.shape, bool)
    known[40:90, 50:120] = False
    known[::41] = False
    spoilt = np.where(known, x, 1e6 * white(x.shape, 1))
    found = estimate_from_planes([spoilt], [known])
    assert found == estimate_from_planes([np.where(known, x, np.nan)])
    assert found.sigma == pytest.approx(0.1, rel=0.05)


def test_padding_is_no_measurement():
    x = np.zeros((300, 300))
    x[50:250, 40:260] = 0.5 + tissue() + 0.1 * white(tissue().shape)
    assert estimate_from_planes([x]).sigma == pytest.approx(0.1, rel=0.05)


def test_planes_are_taken_together():
    x = tissue(3, (300, 300))
    noisy = with_photons(x, 0.05)
    whole = estimate_from_planes([noisy])
    parts = estimate_from_planes([noisy[:100], noisy[100:200], noisy[200:]])
    assert parts.sigma == pytest.approx(whole.sigma, rel=0.03)
    assert parts.gain == pytest.approx(whole.gain, rel=0.1)


def test_lines_have_noise_too():
    t = np.linspace(0, 1, 4000)
    found = estimate_from_planes(
        [np.sin(9 * t) + 0.05 * white(t.shape), np.cos(7 * t) + 0.05 * white(t.shape, 1)]
    )
    assert found.sigma == pytest.approx(0.05, rel=0.05)
    assert found.sure


def test_large_data_are_sampled(monkeypatch):
    x = tissue() + 0.1 * white(tissue().shape)
    seen = []
    cut = estimate.cut_cosine_patches

    def counted(planes, masks, most):
        seen.append(sum(plane.size for plane in planes))
        return cut(planes, masks, most)

    monkeypatch.setattr(estimate, "cut_cosine_patches", counted)
    monkeypatch.setattr(planes, "_MAX_PIXELS", 20_000)
    monkeypatch.setattr(planes, "_PIECE_SIDE", 50)
    first = estimate_from_planes([x, x + 1])
    assert seen[0] <= 22_500
    assert first == estimate_from_planes([x, x + 1])
    assert first.sigma == pytest.approx(0.1, rel=0.1)


def test_integers_and_floats_are_the_same_data():
    x = np.round(1000 * tissue() + 50 * white(tissue().shape) + 300).astype(np.int32)
    assert estimate_from_planes([x]) == estimate_from_planes([x.astype(np.float64)])


@pytest.mark.parametrize(
    ("planes", "known", "message"),
    [
        ([], None, "at least one"),
        ([np.zeros((2, 3, 4))], None, "one or two axes"),
        ([np.zeros((9, 9))], [], "known holds 0"),
        ([np.zeros((9, 9))], [np.ones((9, 8), bool)], "shape"),
        ([np.zeros((9, 9))], [np.zeros((9, 9), bool)], "nothing was measured"),
    ],
)
def test_wrong_arguments_are_refused(planes, known, message):
    with pytest.raises(ValueError, match=message):
        estimate_from_planes(planes, known)
