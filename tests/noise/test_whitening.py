from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from shared_noise import blurred, blurred_lags, striped, white

from napari_scsc.noise.model import Noise, rounded_rows
from napari_scsc.noise.whitening import Whitening

WIDTH = 0.6  # of a blur after which noise has some power at all frequencies
ALONG = blurred_lags(WIDTH, 8)
BLURRED = rounded_rows(np.outer(ALONG, ALONG))
WHITE = Noise(1.0, 0.0, 1.0, correlated=False, sure=True, remarks=())
CORRELATED = dataclasses.replace(WHITE, correlated=True, lags=BLURRED)


def correlation(values, axis):
    ahead, behind = (
        np.take(values, range(1, values.shape[axis]), axis),
        np.take(values, range(values.shape[axis] - 1), axis),
    )
    return float((ahead * behind).mean() / values.var())


def test_white_noise_needs_none():
    assert Whitening.of(WHITE, 1) is None
    assert Whitening.of(CORRELATED, 1) is not None


@pytest.mark.parametrize("shape", [(1, 64, 80), (1, 97, 31), (3, 50, 50), (1, 12, 40, 44)])
def test_colour_undoes_whiten(shape):
    values = white(shape)
    noise = dataclasses.replace(CORRELATED, depth=(1.0, 0.4, 0.1))
    whitening = Whitening.of(noise, shape[0])
    np.testing.assert_allclose(whitening.colour(whitening.whiten(values, 1.0)), values, atol=2e-5)


def test_blurred_noise_becomes_white_of_the_same_level():
    noise = blurred((200, 220), WIDTH)[None]
    found = Whitening.of(CORRELATED, 1).whiten(noise, 1.0)
    assert found.std() == pytest.approx(1, abs=0.03)
    assert abs(correlation(found, 1)) < 0.05
    assert abs(correlation(found, 2)) < 0.05
    assert correlation(noise, 1) > 0.4


def test_noise_along_the_first_axis_becomes_white():
    noise = blurred((40, 60, 60), WIDTH, axes=[0])[None]
    whitening = Whitening.of(
        dataclasses.replace(WHITE, correlated=True, depth=tuple(ALONG.tolist())), 1
    )
    found = whitening.whiten(noise, 1.0)
    assert abs(correlation(found, 1)) < 0.05
    assert found.std() == pytest.approx(1, abs=0.03)


def test_errors_of_rows_and_columns_are_taken_away():
    noise = striped((120, 128), 0.6) + striped((128, 120), 0.6, seed=4).T
    model = dataclasses.replace(
        WHITE, sigma=(2 + 2 * 0.36) ** 0.5, correlated=True, rows=0.6, columns=0.6
    )
    found = Whitening.of(model, 1).whiten(noise[None], model.sigma)[0]
    for axis in (0, 1):
        assert found.mean(axis=axis).std() < 0.55 * noise.mean(axis=axis).std()


def test_joint_values_share_no_noise_any_more():
    shared = np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]])
    noise = np.einsum("ij,jyx->iyx", np.linalg.cholesky(shared), white((3, 80, 80)))
    model = dataclasses.replace(WHITE, shared=rounded_rows(shared))
    whitening = Whitening.of(model, 3)
    found = whitening.whiten(noise, 1.0)
    np.testing.assert_allclose(np.corrcoef(found.reshape(3, -1)), np.eye(3), atol=0.03)
    np.testing.assert_allclose(whitening.colour(found), noise, atol=1e-5)


def test_it_can_be_sent_to_other_processes():
    values = white((1, 30, 30))
    whitening = Whitening.of(CORRELATED, 1)
    copy = pickle.loads(pickle.dumps(whitening))
    np.testing.assert_array_equal(copy.whiten(values, 1.0), whitening.whiten(values, 1.0))
