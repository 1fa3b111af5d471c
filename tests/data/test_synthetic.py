from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import samples
from napari_scsc.data import axes

NOISY = {
    "noisy_tissue": ((96, 80), "image"),
    "video": ((6, 48, 64), "video"),
    "stack": ((8, 48, 64), "stack"),
    "multispectral": ((9, 48, 40), "multispectral"),
    "light_field": ((3, 5, 40, 48), "light-field"),
}


def make(name, *args, **options):
    made = getattr(samples, name)(*args, **options)
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize("name", [*NOISY, "with_holes"])
def test_same_seed_same_sample_and_another_seed_another(name):
    shape = NOISY.get(name, ((64, 64), ""))[0]
    first = make(name, shape, 3)
    np.testing.assert_array_equal(first, make(name, shape, 3))
    assert (first != make(name, shape, 4)).mean() > 0.1


@pytest.mark.parametrize("name", NOISY)
def test_shape_is_the_one_asked_for_and_fits_the_kind(name):
    shape, kind = NOISY[name]
    made = make(name, shape)
    assert made.shape == shape
    assert made.dtype == np.uint16
    assert len(axes.PRESETS[kind].labels) == made.ndim


@pytest.mark.parametrize("name", NOISY)
def test_noise_is_that_of_photons_and_reading_around_the_clean_one(name):
    shape, _ = NOISY[name]
    noisy, clean = make(name, shape), make(name, shape, clean=True)
    assert clean.dtype == np.float32
    noise = noisy - clean.astype(float)
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(noise.size)
    # The variance grows with the signal: gain for a count above the offset, and that of reading.
    expected = 2.2 * (clean - 100) + 3.5**2 + 1 / 12
    assert noise.var() == pytest.approx(expected.mean(), rel=0.1)
    bright = clean > np.median(clean)
    assert noise[bright].var() > noise[~bright].var()


def test_cells_of_the_video_move():
    clean = samples.video((12, 64, 64), clean=True)
    change = [np.abs(clean[t] - clean[0]).mean() for t in (1, 4, 11)]
    assert 0 < change[0] < change[1] < change[2]


def test_multispectral_scene_mixes_few_smooth_spectra():
    clean = samples.multispectral((31, 40, 40), clean=True) - 100
    values = np.linalg.svd(clean.reshape(31, -1).astype(float), compute_uv=False)
    assert values[5] < 1e-5 * values[0]
    assert values[4] > 1e-3 * values[0]
    assert np.abs(np.diff(clean, axis=0)).mean() < 0.2 * clean.mean()


def test_views_of_the_light_field_show_the_same_scene_moved():
    views = samples.light_field((5, 5, 64, 64), clean=True).astype(float)
    middle = views[2, 2]

    def likeness(view):
        return np.corrcoef(middle.ravel(), view.ravel())[0, 1]

    assert 1 > likeness(views[2, 3]) > likeness(views[2, 4]) > 0.3
    # The views are in order: downwards in the first axis, to the right in the second.
    wall = np.roll(views[2, 3], (0, -1), axis=(0, 1)), np.roll(views[2, 3], (0, 1), axis=(0, 1))
    assert likeness(wall[1]) > likeness(wall[0])  # most of the scene goes left from view to view


def test_holes_are_where_the_mask_says_and_nowhere_else():
    image, missing = samples.with_holes()
    clean, same = samples.with_holes(clean=True)
    np.testing.assert_array_equal(missing, same)
    assert missing.dtype == bool
    assert (image[missing] == 0).all()
    assert np.abs(image - clean)[~missing].max() < 0.06
    np.testing.assert_array_equal(clean, samples.tissue())
    assert 0.02 < missing.mean() < 0.15
    assert missing.all(axis=0).any()  # dead columns
    assert not missing.all(axis=1).any()
