"""What the command line is told of noise, and tells of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cli_tools import DRAFT, open_file, run, succeed
from scipy import ndimage

from napari_scsc import FilterBank, denoise, inpaint, samples

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


@pytest.fixture
def blotchy(folder):
    noise = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal((160, 160)), 0.7)
    image = samples.tissue((160, 160)) + 0.1 * noise / noise.std()
    np.save("blotchy.npy", image.astype(np.float32))
    return image.astype(np.float32)


def test_info_tells_what_pixels_share(blotchy):
    found = json.loads(succeed("info", "blotchy.npy", "--kind", "image", "--json").stdout)
    assert found["sigma"] == pytest.approx(0.1, rel=0.1)
    assert found["correlation_of_neighbours"] == pytest.approx([0.6, 0.6], abs=0.1)


def test_info_tells_photons(folder):
    light = 40 * samples.tissue((160, 160)) + 3
    counts = 2.0 * np.random.default_rng(0).poisson(light)
    np.save("photons.npy", counts.astype(np.float32))
    found = json.loads(succeed("info", "photons.npy", "--kind", "image", "--json").stdout)
    assert found["gain"] == pytest.approx(2, rel=0.25)
    assert found["photons_at_the_mean"] == pytest.approx(light.mean(), rel=0.35)


@pytest.mark.parametrize("word", ["white", "correlated"])
def test_words_for_noise_are_those_of_the_function(blotchy, word):
    succeed("denoise", "blotchy.npy", "--kind", "image", "-o", "out.npy", "--noise", word, *DRAFT)
    expected = denoise(blotchy, kind="image", quality="draft", noise=word)
    np.testing.assert_array_equal(np.asarray(open_file("out.npy").array), expected)


def test_dark_frames_are_read(blotchy):
    dark = np.random.default_rng(1).normal(0, 0.1, (3, 160, 160)).astype(np.float32)
    np.save("dark.npy", dark)
    given = ("denoise", "blotchy.npy", "--kind", "image", "-o", "out.npy", "--dark", "dark.npy")
    succeed(*given, *DRAFT)
    expected = denoise(blotchy, kind="image", quality="draft", noise=dark)
    np.testing.assert_array_equal(np.asarray(open_file("out.npy").array), expected)
    refused = run(*given, "--noise", "white", "--out", "other.npy", *DRAFT)
    assert "give one" in refused.stderr


def test_filters_that_show_noise_are_named(blotchy):
    succeed("learn", "blotchy.npy", "--kind", "image", "-o", "mine.scsc")
    given = ("denoise", "blotchy.npy", "--kind", "image", "-o", "out.npy", "--bank", "mine.scsc")
    succeed(*given, "--noise-filters", "3, 4", *DRAFT)
    bank = FilterBank.load("mine.scsc")
    expected = denoise(blotchy, kind="image", quality="draft", bank=bank, noise_filters=(3, 4))
    np.testing.assert_array_equal(np.asarray(open_file("out.npy").array), expected)
    assert "not like 4,5" in run(*given, "--noise-filters", "x", *DRAFT).stderr


def test_saturation_is_that_of_the_function(folder):
    image = np.minimum((samples.tissue((96, 96)) * 4000).astype(np.uint16), 2200)
    np.save("clipped.npy", image)
    given = ("inpaint", "clipped.npy", "--kind", "image", "-o", "out.npy", "--saturation", "2200")
    succeed(*given, *DRAFT)
    expected = inpaint(image, kind="image", quality="draft", saturation=2200.0)
    np.testing.assert_array_equal(np.asarray(open_file("out.npy").array), expected)
    assert expected[image == 2200].min() >= 2200
