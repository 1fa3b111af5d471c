from __future__ import annotations

import numpy as np
import pytest

from napari_scsc.noise.model import Noise, rounded_rows
from napari_scsc.noise.noise_filters import noise_covariance, noise_filters, noise_spectrum
from napari_scsc.plugin.plots import Plots

ALONG = 0.6 ** np.arange(8)
WHITE = Noise(2.0, 0.0, 4.0, correlated=False, sure=True, remarks=())
ALIKE = Noise(2.0, 0.0, 4.0, True, True, (), lags=rounded_rows(np.outer(ALONG, ALONG)))
STRIPED = Noise(1.0, 0.0, 1.0, True, True, (), rows=0.7)


@pytest.mark.parametrize("noise", [WHITE, ALIKE, STRIPED])
def test_covariance_is_one_of_a_noise(noise):
    found = noise_covariance(noise)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_allclose(np.diag(found), 1, atol=0.02)
    assert np.linalg.eigvalsh(found).min() > -1e-9


def test_filters_are_the_strongest_directions():
    filters, powers = noise_filters(ALIKE, 6)
    flat = filters.reshape(6, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(6), atol=1e-8)
    assert (np.diff(powers) <= 1e-9).all()
    assert np.ptp(filters[0]) < 0.2  # blotches: the strongest is nearly constant
    assert len(noise_filters(WHITE, 6)[0]) == 0
    rows = noise_filters(STRIPED, 8)[0]
    assert np.abs(rows - rows.mean(axis=2, keepdims=True)).max() < 1e-6


def test_spectrum_of_blotches_falls_and_that_of_white_noise_is_even():
    down, right = noise_spectrum(ALIKE, 9)
    assert down[0] > 4 * down[-1]
    assert right[0] > 4 * right[-1]
    np.testing.assert_allclose(noise_spectrum(WHITE, 9)[0], 1, atol=1e-6)


def test_noise_is_shown_saved_and_forgotten(qtbot, tmp_path):
    plots = Plots()
    qtbot.addWidget(plots)
    plots.tabs.setCurrentWidget(plots.noise)
    plots.show()
    plots.noise.show_noise(ALIKE)
    qtbot.waitUntil(lambda: plots.noise.picture.isVisible())
    assert "times as strong" in plots.noise.text.text()
    plots.save_table(tmp_path / "noise.csv")
    assert len((tmp_path / "noise.csv").read_text().splitlines()) == 17
    plots.noise.show_noise(WHITE)
    qtbot.waitUntil(lambda: "White noise" in plots.noise.text.text())
    assert not plots.noise.picture.isVisible()
    plots.clear()
    qtbot.waitUntil(lambda: "appears here" in plots.noise.text.text())
