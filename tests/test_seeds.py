"""``rng=`` is taken wherever ``seed=`` is, and stands for one number."""

from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import SCSC, LatticeSCSC, bank_fit, denoise, encode, iter_denoise, learn, samples
from napari_scsc.checks import check_seed
from napari_scsc.data.synthetic import tissue
from napari_scsc.learning.options import LearnOptions
from napari_scsc.restore.options import RestoreOptions

IMAGE = samples.noisy_tissue((48, 48))
MAKERS = {
    "denoise": lambda **given: denoise(IMAGE, kind="image", sigma=20, quality="draft", **given),
    "learn": lambda **given: learn(IMAGE, kind="image", **given).info["arguments"]["seed"],
    "SCSC": lambda **given: SCSC(3, 4, (3, 3), max_iter=2, **given).fit(IMAGE[None]).bank.filters,
    "LatticeSCSC": lambda **given: LatticeSCSC(6, (4, 4), **given).seed,
    "tissue": lambda **given: tissue((32, 32), **given),
    "video": lambda **given: samples.video((4, 32, 32), **given),
}


@pytest.mark.parametrize("name", MAKERS)
def test_number_given_as_rng_is_the_seed(name):
    make = MAKERS[name]
    expected = make(seed=3)
    np.testing.assert_array_equal(make(rng=3), expected)
    if name != "denoise":  # all of a small image is learned from
        assert not np.array_equal(make(), expected)


@pytest.mark.parametrize("name", MAKERS)
def test_seed_is_0_unless_given(name):
    make = MAKERS[name]
    expected = make(seed=0)
    np.testing.assert_array_equal(make(), expected)
    np.testing.assert_array_equal(make(rng=None), expected)
    np.testing.assert_array_equal(make(seed=None), expected)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_seed_and_rng_are_not_given_together(name, seed):
    with pytest.raises(ValueError, match="rng says the same as seed, and both are given"):
        MAKERS[name](seed=seed, rng=1)


def test_whether_a_bank_fits_takes_rng():
    bank = learn(IMAGE, kind="image")
    assert bank_fit(IMAGE, bank, kind="image", rng=2) == bank_fit(IMAGE, bank, kind="image", seed=2)
    with pytest.raises(ValueError, match="both are given"):
        bank_fit(IMAGE, bank, kind="image", seed=2, rng=2)


def test_coding_is_not_random():
    with pytest.raises(TypeError, match="no argument 'rng'"):
        encode(IMAGE, None, out="a.zarr", rng=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.random.default_rng(5),
        lambda: np.random.PCG64(5),
        lambda: np.random.SeedSequence(5),
        lambda: [5, 6],
        lambda: np.int64(5),
    ],
)
def test_equal_generators_stand_for_equal_numbers(make):
    seed = check_seed(None, make())
    assert type(seed) is int
    assert seed == check_seed(None, make()) == RestoreOptions(rng=make()).seed
    assert seed == LearnOptions(rng=make()).seed


def test_generator_is_moved_on():
    rng = np.random.default_rng(5)
    assert check_seed(None, rng) != check_seed(None, rng)


def test_options_keep_the_number_that_was_drawn():
    options = RestoreOptions(rng=np.random.default_rng(5))
    assert options.fingerprint()["seed"] == options.seed
    assert options.rng is None
    assert "rng" not in LearnOptions(rng=5).fingerprint()


@pytest.mark.parametrize(
    "rng", [-1, 1.5, "5", True, object(), np.random.RandomState(5), [0.5], [-1]]
)
def test_what_is_no_generator_is_refused_at_the_call(rng):
    with pytest.raises((ValueError, TypeError), match=r"^rng ") as raised:
        iter_denoise(IMAGE, kind="image", rng=rng)
    assert raised.value.message.argument == "rng"


def test_learner_goes_on_from_a_bank_with_another_generator():
    bank = LatticeSCSC(6, (4, 4)).fit(IMAGE[None]).bank
    assert LatticeSCSC.from_bank(bank, rng=7).seed == 7
    bank = SCSC(3, 4, (3, 3), max_iter=2).fit(IMAGE[None]).bank
    assert SCSC.from_bank(bank, rng=7).settings.seed == 7
