"""One sampler, one loop: whoever learns from an image gets the same filters."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import zarr
from reference_cases import SHAPES, noisy

from napari_scsc import LatticeSCSC, denoise, iter_denoise, iter_learn, learn, samples
from napari_scsc.data.samples import draw_tiles, open_samples
from napari_scsc.noise.find import find_noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.methods import METHODS
from napari_scsc.run.updates import LEARNING_SHARE, TileLearned


def large(shape=(300, 260)):
    """Several tiles."""
    rng = np.random.default_rng(0)
    return (samples.tissue(shape) + 0.1 * rng.standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        pytest.param(k, m, marks=[pytest.mark.slow] if m == "ocsc-paper" and k != "image" else [])
        for k in SHAPES
        for m in METHODS
    ],
)
def test_denoising_with_the_filters_of_learn_changes_nothing(kind, method):
    image = noisy(kind)
    options = {"kind": kind, "method": method, "quality": "fast", "sigma": 8.0}
    bank = learn(image, kind=kind, model=METHODS[method].model, sigma=8.0)
    np.testing.assert_array_equal(denoise(image, **options), denoise(image, bank=bank, **options))


@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_filters_do_not_depend_on_the_strength(strength):
    image = large()
    bank = learn(image, kind="image")
    options = {"kind": "image", "quality": "draft", "strength": strength}
    np.testing.assert_array_equal(denoise(image, **options), denoise(image, bank=bank, **options))


def test_filters_of_learn_are_those_of_denoise_with_noise_that_is_estimated():
    image = large()
    *_, last = iter_denoise(image, kind="image", quality="draft")
    assert learn(image, kind="image").id == last.bank.id


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x, _: da.from_array(x, chunks=(64, 100)),
        lambda x, folder: zarr.create_array(folder / "a.zarr", data=x, chunks=(50, 260)),
    ],
    ids=["dask", "zarr"],
)
def test_filters_do_not_depend_on_the_kind_of_array(wrap, tmp_path):
    image = large()
    assert learn(wrap(image, tmp_path), kind="image").id == learn(image, kind="image").id


def test_one_array_is_learned_from_like_a_list_of_one():
    image = large()
    assert learn(image, kind="image").id == learn([image], kind="image").id


def test_learning_is_the_learner_on_the_tiles_that_are_drawn():
    image = open_samples(large(), None, "image", None)
    working = WorkingValues(image, find_noise(image, 0.1))
    tiles = [working.to_work(image.read(*p)) for p in draw_tiles(image, 128 * 128, 16, seed=0)]
    bank = learn(large(), kind="image", sigma=0.1)
    learner = LatticeSCSC(None, bank.support, 1, sigma=working.sigma)
    expected = learner.fit(tile[:1] for tile in tiles).bank
    assert bank.filters.tobytes() == expected.filters[:, 0].tobytes()


def test_learning_takes_a_small_share_of_a_restoration():
    updates = iter_denoise(large(), kind="image", quality="draft")
    assert all(u.done <= LEARNING_SHARE for u in updates if isinstance(u, TileLearned))
    (*_, last), _ = (
        [u.done for u in iter_learn(large(), kind="image") if isinstance(u, TileLearned)],
        None,
    )
    assert last == 1
