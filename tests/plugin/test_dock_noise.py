"""The dock finds noise that pixels share, shows it, and is told of it."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import finish, run_script
from scipy import ndimage

from napari_scsc import samples
from napari_scsc.plugin.sections.learn_section import PATCHES

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def blotchy(shape=(128, 128)):
    noise = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal(shape), 0.7)
    clean = samples.tissue(shape).astype(np.float32)
    clean[:40] = 0.1
    return clean, clean + np.float32(0.1 / noise.std()) * noise.astype(np.float32)


def error(clean, layer):
    return float(np.sqrt(np.mean((layer.data - clean) ** 2)))


def test_noise_that_neighbours_share_is_found_shown_and_taken_away(make_light_dock):
    clean, noisy = blotchy()
    viewer, dock = make_light_dock(noisy, name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert "shared by neighbours" in dock.noise
    assert len(dock.plots.noise._filters) == 16
    found = error(clean, dock.result)
    dock.noise_model = "white"
    dock.denoise()
    finish(dock)
    assert error(clean, dock.result) > 1.2 * found
    assert "noise='white'" in dock.script
    left = run_script(viewer, dock.script)
    np.testing.assert_array_equal(left["result"], dock.result.data)


def test_noise_is_measured_in_an_empty_area(make_light_dock):
    clean, noisy = blotchy()
    viewer, dock = make_light_dock(noisy, name="mine")
    viewer.add_shapes([[[2, 2], [2, 120], [36, 120], [36, 2]]], name="background")
    dock.quality, dock.empty_layer = "fast", "background"
    dock.denoise()
    finish(dock)
    assert error(clean, dock.result) < 0.06
    assert "estimate_noise" in dock.script
    left = run_script(viewer, dock.script)
    np.testing.assert_array_equal(left["result"], dock.result.data)


def test_an_empty_area_that_marks_nothing_is_told_of(make_light_dock):
    viewer, dock = make_light_dock(blotchy()[1], name="mine")
    viewer.add_labels(np.zeros((128, 128), int), name="nothing")
    dock.quality, dock.empty_layer = "fast", "nothing"
    dock.attempt(dock.denoise)
    finish(dock)
    assert "marks nothing" in dock.message


def test_hot_pixels_are_kept_or_filled(make_light_dock):
    clean = samples.tissue((96, 96)).astype(np.float32)
    noisy = clean + np.float32(0.03) * np.random.default_rng(0).standard_normal((96, 96)).astype(
        np.float32
    )
    noisy[50, 50] = 5
    _, dock = make_light_dock(noisy, name="mine")
    dock.quality = "fast"
    for choice, least, most in (("keep", 1.0, 6.0), ("fill", 0.0, 1.0)):
        dock.outliers = choice
        dock.denoise()
        finish(dock)
        assert least <= dock.result.data[50, 50] <= most


def test_a_filter_that_shows_noise_is_ticked(make_light_dock, qtbot):
    clean = samples.tissue((96, 96)).astype(np.float32)
    noise = np.random.default_rng(0).standard_normal(clean.shape)
    image = clean + 0.06 * np.cos(np.pi / 2 * np.arange(96)) + 0.02 * noise
    viewer, dock = make_light_dock(image.astype(np.float32), name="mine")
    dock.quality, dock.sigma, dock.model = "fast", 0.02, PATCHES
    dock.learn()
    finish(dock)
    dock.denoise()
    finish(dock)
    before = error(clean, dock.result)
    tab = dock.plots.filters
    dock.plots.show()
    tab.draw(dock.plots._data.content, ())
    powers = np.abs(np.fft.fft2(dock.bank.filters)) ** 2
    shares = (powers[:, 0, 2] + powers[:, 0, 6]) / powers.sum(axis=(1, 2))
    assert not tab.is_noise.isEnabled()  # the first one is the brightness
    for number in np.flatnonzero(shares > 0.5).tolist():
        tab.picture.over.emit(number, 1, 1)
        tab.is_noise.click()
    assert tab.noise_filters
    dock.denoise()
    finish(dock)
    assert error(clean, dock.result) < 0.7 * before
    assert "noise_filters=" in dock.script
    left = run_script(viewer, dock.script)
    np.testing.assert_array_equal(left["result"], dock.result.data)
