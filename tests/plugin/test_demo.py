from __future__ import annotations

import os
import subprocess
import sys

import imageio.v3 as iio
import numpy as np
import pytest

from napari_scsc import samples
from napari_scsc.data import rgb_pictures


def run_demo(folder, *arguments, **changed):
    done = subprocess.run(
        [sys.executable, "-m", "napari_scsc.plugin.demo", *arguments, "--out", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **changed},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_demo_leaves_pictures_and_the_result(tmp_path):
    folder = tmp_path / "new" / "folder"
    said = run_demo(folder, "--headless", PATH="")  # where no virtual screen is found
    assert "no picture of the window" in said
    for name in (
        "base-filters-B.png",
        "weights-W.png",
        "noisy-and-denoised.png",
        "holes-and-filled.png",
    ):
        assert iio.imread(folder / name).std() > 10
    denoised = iio.imread(folder / "denoised.tif")
    assert denoised.dtype == np.uint16
    clean = 200 * samples.tissue((320, 320)) + 100
    assert np.sqrt(np.mean((denoised - clean) ** 2)) < 3  # the noise has a level of 6


@pytest.mark.slow
@pytest.mark.screen
def test_demo_takes_a_picture_of_the_window(tmp_path):
    run_demo(tmp_path, "--screenshot")
    assert iio.imread(tmp_path / "napari.png")[..., :3].std() > 10


def test_sample_is_the_same_everywhere_and_in_range():
    one, two = samples.tissue((64, 80)), samples.tissue((64, 80))
    np.testing.assert_array_equal(one, two)
    assert one.dtype == np.float32
    assert one.min() >= 0
    assert one.max() <= 1
    assert one.std() > 0.05
    assert not np.array_equal(one, samples.tissue((64, 80), seed=1))


def test_diverging_colours_are_white_at_zero_and_differ_by_sign():
    picture = rgb_pictures.diverging(np.array([[-1.0, 0.0, 1.0]]))
    assert (picture[0, 1] > 240).all()
    assert picture[0, 0, 2] > picture[0, 0, 0]  # blue
    assert picture[0, 2, 0] > picture[0, 2, 2]  # orange
    assert (rgb_pictures.diverging(np.zeros((2, 2))) > 240).all()


def test_mosaic_holds_every_filter_once():
    filters = np.zeros((5, 3, 4))
    filters[:, 1, 1] = [1, 2, 3, 4, 5]
    picture = rgb_pictures.mosaic(filters)
    orange = (picture[..., 0].astype(int) - picture[..., 2] > 100).sum()
    assert orange == 5


def test_grey_runs_from_black_to_white():
    picture = rgb_pictures.grey(np.array([[0.0, 0.5, 1.0, 9.0]]), 0, 1)
    assert picture[0, :, 0].tolist() == [0, 128, 255, 255]
    assert rgb_pictures.grey(np.ones((2, 2))).dtype == np.uint8
