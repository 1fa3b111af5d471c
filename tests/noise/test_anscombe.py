from __future__ import annotations

import numpy as np
import pytest

from napari_scsc.noise.anscombe import Anscombe


def photons(mean, read, n=200_000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(mean, n) + read * rng.standard_normal(n)


@pytest.mark.parametrize("read", [0.0, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("mean", [0.1, 0.5, 2.0, 10.0, 55.0, 65.0, 500.0])
@pytest.mark.parametrize("gain", [1.0, 0.02])
def test_mean_of_the_stabilised_values_returns_the_mean(mean, read, gain):
    transform = Anscombe(gain, (gain * read) ** 2)
    back = transform.inverse(transform.forward(gain * photons(mean, read)).mean())
    # The error of a mean of 200 000 values is 0.0022 standard deviations.
    assert abs(back / gain - mean) < 0.01 * np.sqrt(mean + read**2)


@pytest.mark.parametrize("read", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("mean", [4.0, 20.0, 300.0])
def test_noise_is_even_from_four_photons_on(mean, read):
    stabilised = Anscombe(3.0, (3 * read) ** 2).forward(3 * photons(mean, read))
    assert stabilised.std() == pytest.approx(1, abs=0.05)


def test_algebraic_inverse_would_be_biased():
    transform = Anscombe(1.0, 0.0)
    stabilised = transform.forward(photons(1.0, 0.0)).mean()
    assert abs((stabilised / 2) ** 2 - 3 / 8 - 1) > 0.1
    assert transform.inverse(stabilised) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("offset", [-300.0, 0.0, 0.3, 40.0, 1e4])
def test_inverse_rises_everywhere(offset):
    stabilised = np.linspace(0, 300, 200_001)
    back = Anscombe(2.0, offset).inverse(stabilised)
    steps = np.diff(back)
    assert (steps >= 0).all()
    assert (steps[stabilised[:-1] > 2 * np.sqrt(3 / 8)] > 0).all()
    # No jump where the table ends: there the inverse is a parabola, gain * (d / 2)^2.
    bend = np.diff(steps)[stabilised[2:] > 3]
    assert np.abs(bend).max() < 1e-3


@pytest.mark.parametrize("offset", [-50.0, 0.0, 9.0])
def test_bright_values_make_the_round_trip(offset):
    transform = Anscombe(0.5, offset)
    values = np.linspace(500, 1e6, 1000)
    # The transform of a mean is not the mean of the transform, by a quarter of a photon.
    back = transform.inverse(transform.forward(values))
    np.testing.assert_allclose(back - values, 0.5 / 4, atol=1e-3)


def test_pedestal_is_a_shift():
    values = photons(5.0, 0.0, 1000) * 2.0
    plain, raised = Anscombe(2.0, 0.0), Anscombe(2.0, -2.0 * 100)
    stabilised = raised.forward(values + 100)
    np.testing.assert_allclose(stabilised, plain.forward(values), atol=1e-9)
    np.testing.assert_allclose(raised.inverse(stabilised), plain.inverse(stabilised) + 100)


def test_units_do_not_matter():
    values = photons(5.0, 1.0, 1000)
    one = Anscombe(1.0, 1.0)
    for scale in (1e-4, 7.0, 1e4):
        other = Anscombe(scale, scale**2)
        np.testing.assert_allclose(other.forward(scale * values), one.forward(values), atol=1e-9)
        d = np.linspace(0, 40, 100)
        np.testing.assert_allclose(other.inverse(d), scale * one.inverse(d), rtol=1e-9)


def test_tiny_gain_leaves_the_values_as_they_are():
    sigma = 0.1
    transform = Anscombe(1e-5, sigma**2)
    values = np.linspace(-1, 1, 50)
    stabilised = transform.forward(values)
    np.testing.assert_allclose(np.diff(stabilised), np.diff(values) / sigma, rtol=1e-3)
    np.testing.assert_allclose(transform.inverse(stabilised), values, atol=1e-4)


@pytest.mark.parametrize("least", [0.0, 4.0, 900.0])
def test_values_darker_than_the_noise_allows_for_are_kept_apart(least):
    transform = Anscombe(1.0, -10.0, least)
    dark = np.array([-1e6, -100.0, 0.0, 9.0])
    back = transform.inverse(transform.forward(dark))
    np.testing.assert_allclose(np.diff(back), np.diff(dark), rtol=1e-6)
    np.testing.assert_allclose(back, dark, rtol=1e-6, atol=0.3)


@pytest.mark.parametrize("least", [2.0, 50.0, 300.0])
@pytest.mark.parametrize("read", [0.0, 3.0])
def test_mean_is_returned_where_the_noise_has_a_floor(least, read):
    """Half of the level of the darkest pixels, which therefore hardly reach it."""
    mean = 4 * least - read**2
    if mean < 0:
        pytest.skip("all of it is read noise")
    transform = Anscombe(1.0, read**2, least)
    back = transform.inverse(transform.forward(photons(mean, read)).mean())
    assert abs(back - mean) < 0.01 * np.sqrt(mean + read**2)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_precision_is_kept(kind):
    transform = Anscombe(2.0, 3.0)
    values = np.linspace(0, 90, 12, dtype=kind).reshape(3, 4)
    stabilised = transform.forward(values)
    back = transform.inverse(stabilised)
    assert stabilised.dtype == back.dtype == kind
    assert stabilised.shape == back.shape == (3, 4)
    assert transform.forward(np.arange(5)).dtype == np.float64


@pytest.mark.parametrize(
    ("gain", "offset"), [(0.0, 1.0), (-1.0, 1.0), (1.0, np.nan), (1.0, np.inf)]
)
def test_wrong_noise_is_refused(gain, offset):
    with pytest.raises(ValueError, match=r"gain|offset"):
        Anscombe(gain, offset)


@pytest.mark.parametrize("offset", [0.0, 30.0, -200.0])
def test_slope_of_the_inverse_is_how_it_grows(offset):
    transform = Anscombe(2.2, offset)
    stabilised = np.linspace(2, 30, 40)
    grown = transform.inverse(stabilised + 0.1) - transform.inverse(stabilised - 0.1)
    np.testing.assert_allclose(transform.inverse_slope(stabilised), grown / 0.2, rtol=0.15)
