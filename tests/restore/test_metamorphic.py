"""What a change of the image that changes nothing of its meaning does to its result.

No reference is needed: the result of the changed image is the changed result. Where the same sums
are done in another order, or filters are learned from other places, it is so within a share of the
noise, which each test states.
"""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_scsc import denoise, estimate_noise

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")

SIGMA = 8.0
SHAPE = (48, 44)
few = settings(max_examples=4, deadline=None)
seeds = st.integers(0, 1000)
TURNS = {
    "up and down": lambda x: x[..., ::-1, :],
    "left and right": lambda x: x[..., ::-1],
    "half a turn": lambda x: x[..., ::-1, ::-1],
    "transposed": lambda x: x.swapaxes(-1, -2),
    "a quarter": lambda x: np.rot90(x, axes=(-2, -1)),
}


def picture(shape=SHAPE):
    y, x = (np.arange(n, dtype=np.float64) for n in shape[-2:])
    y = y[:, None]
    clean = 120 + 40 * np.sin(y / 6 + x / 9) + 30 * (x > y) + 20 * (np.hypot(y - 20, x - 15) < 9)
    return np.broadcast_to(clean, shape)


def noisy(seed, shape=SHAPE, level=SIGMA):
    noise = np.random.default_rng(seed).standard_normal(shape)
    return (picture(shape) + level * noise).astype(np.float32)


def restored(image, **options):
    options = {"kind": "image", "quality": "draft", "n_jobs": 1, **options}
    return denoise(np.ascontiguousarray(image), **options)


def differ(one, other):
    """Root mean square of the difference, in noise levels."""
    return float(np.sqrt(np.mean((np.asarray(one, float) - other) ** 2))) / SIGMA


@few
@given(seed=seeds, factor=st.floats(-3, 3).map(lambda e: 10.0**e), offset=st.floats(-1e3, 1e3))
def test_units_do_not_matter(seed, factor, offset):
    """The noise is found anew; only rounding is another: 2 % of the noise."""
    image = noisy(seed).astype(np.float64)
    result = restored(image)
    assert differ(result, image) > 0.7
    shifted = restored(factor * (image + offset)) / factor - offset
    assert differ(shifted, result) < 0.02


@few
@given(seed=seeds, name=st.sampled_from(sorted(TURNS)))
def test_flipped_and_turned_images_give_flipped_and_turned_results(seed, name):
    """Filters are learned from other places: 15 % of the noise."""
    image, turn = noisy(seed), TURNS[name]
    result = restored(image, sigma=SIGMA)
    assert differ(restored(turn(image), sigma=SIGMA), turn(result)) < 0.15


@few
@given(seed=seeds, dtype=st.sampled_from(["uint8", "int16", ">u2", "int32", "uint64", "float64"]))
def test_type_does_not_matter(seed, dtype):
    """Whole numbers are rounded: half a count."""
    image = np.clip(np.rint(noisy(seed)), 0, 255).astype(np.float32)
    result = restored(image.astype(dtype))
    assert result.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_allclose(result.astype(float), restored(image), atol=0.51)


@few
@given(seed=seeds, rows=st.integers(7, 48), columns=st.integers(5, 44))
def test_chunks_do_not_matter(seed, rows, columns):
    """A lazy array is restored as what it holds, to the bit."""
    image = noisy(seed)
    chunked = denoise(
        da.from_array(image, chunks=(rows, columns)), kind="image", quality="draft", sigma=SIGMA
    )
    np.testing.assert_array_equal(chunked.compute(), restored(image, sigma=SIGMA))


@few
@given(seed=seeds, n_jobs=st.integers(2, 5), quality=st.sampled_from(["draft", "fast"]))
def test_threads_do_not_matter(seed, n_jobs, quality):
    """To the bit."""
    image = noisy(seed)
    alone = restored(image, quality=quality)
    np.testing.assert_array_equal(restored(image, quality=quality, n_jobs=n_jobs), alone)


def noisy_bands(seed, levels):
    shape = (len(levels), 96, 96)
    noise = np.random.default_rng(seed).standard_normal(shape)
    return (picture(shape) + np.array(levels)[:, None, None] * noise).astype(np.float32)


@few
@given(seed=seeds, factor=st.floats(-3, 0).map(lambda e: 10.0**e))
def test_units_of_a_channel_do_not_matter(seed, factor):
    """Noise that differs is found for each: 5 % of the noise."""
    image = noisy_bands(seed, [8, 32]).astype(np.float64)
    scaled = image.copy()
    scaled[0] *= factor
    result = restored(image, kind="multispectral")
    found = restored(scaled, kind="multispectral")
    found[0] /= factor
    assert differ(found, result) < 0.05


@few
@given(seed=seeds, order=st.permutations(range(4)))
def test_order_of_bands_does_not_matter(seed, order):
    """Bands with noise of their own: the same as in another order, but for 10 % of the noise."""
    image = noisy_bands(seed, [4, 8, 16, 32])
    result = restored(image, kind="multispectral")
    found = restored(image[list(order)], kind="multispectral")
    assert differ(found, result[list(order)]) < 0.1


@few
@given(seed=seeds, loud=st.sets(st.integers(0, 3), min_size=1, max_size=3))
def test_noise_of_bands_is_found_whichever_they_are(seed, loud):
    levels = [30.0 if i in loud else 5.0 for i in range(4)]
    found = estimate_noise(noisy_bands(seed, levels), kind="multispectral")
    assert [part.sigma for part in found.joint] == pytest.approx(levels, rel=0.15)


@few
@given(seed=seeds, order=st.permutations(range(3)))
def test_order_of_frames_does_not_matter(seed, order):
    """Frames that are restored one by one: 15 % of the noise, for filters of other places."""
    image = noisy(seed, (3, *SHAPE))
    options = {"kind": "time-lapse", "sigma": SIGMA}
    result = restored(image, **options)
    assert differ(restored(image[list(order)], **options), result[list(order)]) < 0.15


@few
@given(seed=seeds, top=st.integers(0, 16), left=st.integers(0, 12))
def test_crop_gives_the_crop_of_the_result(seed, top, left):
    """Away from its borders; what lies around adds similar patches: 30 % of the noise."""
    image = noisy(seed, (64, 60))
    crop = np.s_[top : top + 48, left : left + 48]
    inside = np.s_[8:-8, 8:-8]
    whole, alone = restored(image, sigma=SIGMA)[crop], restored(image[crop], sigma=SIGMA)
    assert differ(alone[inside], whole[inside]) < 0.3
