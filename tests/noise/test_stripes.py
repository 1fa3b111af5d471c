from __future__ import annotations

import numpy as np
import pytest
from shared_noise import striped, white

from napari_scsc import samples
from napari_scsc.noise.stripes import row_errors, stripe_level


def level_in(plane, sigma=1.0):
    return stripe_level([plane], [np.ones(plane.shape, bool)], sigma)


@pytest.mark.parametrize("level", [0.3, 0.5, 1.0])
def test_level_of_the_errors_is_found(level):
    assert level_in(striped((200, 220), level)) == pytest.approx(level, rel=0.2)


@pytest.mark.parametrize("sigma", [0.02, 0.1])
def test_content_is_no_stripe(sigma):
    for seed in range(4):
        plane = samples.tissue((160, 180), seed) + np.float32(sigma) * white((160, 180), seed)
        assert level_in(plane, sigma) == 0
        assert level_in(plane.T, sigma) == 0


def test_drawn_lines_are_no_stripes():
    plane = white((200, 200))
    plane[::40] += 8
    assert level_in(plane) == 0


def test_errors_are_found_beside_content():
    clean = samples.tissue((200, 200)).astype(np.float32)
    errors = np.float32(0.05) * white((200, 1), 3)
    found = row_errors(clean + errors + np.float32(0.05) * white(clean.shape), 0.05, 0.05)
    assert np.std(found - errors) < 0.6 * np.std(errors)


def test_an_edge_across_the_image_stays():
    plane = np.zeros((100, 120), np.float32)
    plane[50:] = 5
    found = row_errors(plane + striped(plane.shape, 0.5), 1.0, 0.5)
    assert abs(found).max() < 2


def test_one_row_has_no_error():
    assert row_errors(white((1, 30)), 1.0, 0.5).tolist() == [[0]]
