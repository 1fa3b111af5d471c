from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
from cancelling import CancelAtCheck
from hypothesis import given, settings
from hypothesis import strategies as st
from scsc_samples import SMALL, images

from napari_scsc import SCSC, FilterBank, Relative, ZeroCodeWarning
from napari_scsc.cancellation import Cancelled

# --- what comes in ------------------------------------------------------------------------------


def test_nothing_of_the_users_is_changed():
    samples, mask = images(), np.random.default_rng(0).random((14, 13)) < 0.8
    kept, kept_mask = samples.copy(), mask.copy()
    samples.flags.writeable = mask.flags.writeable = False
    model = SCSC(**SMALL)
    model.fit([(x, mask) for x in samples])
    model.encode(samples[0], mask)
    np.testing.assert_array_equal(samples, kept)
    np.testing.assert_array_equal(mask, kept_mask)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint16, ">f4", np.float16, np.float64])
def test_any_real_type_is_taken(dtype):
    x = (20 * images()).astype(dtype)
    model = SCSC(**SMALL, beta=Relative(0.1)).fit(x)
    expected = SCSC(**SMALL, beta=Relative(0.1)).fit(x.astype(np.float32))
    np.testing.assert_allclose(model.bank.filters, expected.bank.filters, atol=1e-6)


def test_masked_values_do_not_matter_for_learning():
    mask = np.random.default_rng(0).random((14, 13)) < 0.8
    banks = [
        SCSC(**SMALL).fit([(np.where(mask, x, fill), mask) for x in images()]).bank.filters
        for fill in (0.0, np.nan)
    ]
    np.testing.assert_array_equal(*banks)


def centred(n, shape):
    samples = images(n, shape)
    return samples - samples.mean(axis=(1, 2), keepdims=True)


def test_learning_from_samples_with_holes_lowers_their_objective():
    mask = np.random.default_rng(0).random((40, 40)) < 0.7
    pairs = [(x, mask) for x in centred(3, (40, 40))]
    updates = list(SCSC(6, 12, (5, 5), beta=0.2, max_iter=60).iter_fit(pairs, passes=4))
    objective = [u.objective for u in updates]
    assert sum(objective[-3:]) < 0.9 * sum(objective[:3])


def test_holes_are_filled_from_what_surrounds_them():
    *samples, x = centred(7, (40, 40))
    mask = np.random.default_rng(0).random(x.shape) < 0.7
    model = SCSC(6, 12, (7, 7), beta=0.2, max_iter=60).fit(samples, passes=2)
    result = model.encode(np.where(mask, x, np.nan), mask, max_iter=200)
    assert np.mean((result.reconstruction - x)[~mask] ** 2) < 0.6 * np.mean(x[~mask] ** 2)


def test_smaller_samples_are_as_good_as_masked_ones():
    large, small = images(1, (16, 15))[0], images(1, (9, 11), seed=1)[0]
    model = SCSC(**SMALL, filters="ball").fit([large, small])
    padded, mask = np.zeros((16, 15)), np.zeros((16, 15), bool)
    padded[:9, :11], mask[:9, :11] = small, True
    expected = SCSC(**SMALL, filters="ball").fit([large, (padded, mask)])
    np.testing.assert_array_equal(model.bank.filters, expected.bank.filters)


def test_orthonormal_filters_are_learned_from_samples_of_any_size_in_any_order():
    shapes = [(9, 11), (16, 15), (5, 40)]
    model = SCSC(**SMALL).fit([images(1, shape)[0] for shape in shapes])
    assert model.n_seen == 3
    rows = model.bank.filters.reshape(len(model.bank.filters), -1)
    np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 20), (20, 1), (2, 3)])
def test_samples_smaller_than_the_filters_are_taken(shape):
    model = SCSC(2, 4, (5, 5), max_iter=10).fit(images(2, shape) + 1)
    assert model.encode(np.ones(shape)).reconstruction.shape == shape


def test_constant_and_zero_samples():
    model = SCSC(**SMALL).fit([np.full((14, 13), 3.0), np.ones((14, 13))])
    assert np.isfinite(model.bank.filters).all()
    with pytest.warns(ZeroCodeWarning, match="zero where it was measured"):
        result = model.encode(np.zeros((14, 13)))
    assert not result.Z.any()
    assert not result.reconstruction.any()
    assert result.converged


def test_too_large_beta_is_said():
    with pytest.warns(ZeroCodeWarning, match="beta is 1e"):
        SCSC(**SMALL, beta=1e6).partial_fit(images()[0])


def test_relative_beta_does_not_depend_on_the_scale():
    x = images()
    small = SCSC(**SMALL, beta=Relative(0.1), dtype="float64").fit(x)
    large = SCSC(**SMALL, beta=Relative(0.1), dtype="float64").fit(4096 * x)
    np.testing.assert_allclose(small.bank.filters, large.bank.filters, atol=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 25), st.integers(1, 25), st.integers(1, 6), st.integers(1, 6))
def test_any_size_is_coded_without_complaint(n, m, h, w):
    n_base = min(2, h * w)
    model = SCSC(n_base, 3, (h, w), max_iter=4).fit([images(1, (n, m))[0] + 2])
    result = model.encode(images(1, (m, n))[0] + 2)
    assert result.reconstruction.shape == (m, n)
    assert result.Z.shape == (3, m + h - 1, n + w - 1)
    assert np.isfinite(result.reconstruction).all()


# --- what goes out ------------------------------------------------------------------------------


def test_updates_are_frozen_and_keep_their_values():
    model = SCSC(**SMALL)
    updates, copies = [], []
    for update in model.iter_fit(images()):
        updates.append(update)
        copies.append(update.B.copy())
        with pytest.raises(dataclasses.FrozenInstanceError):
            update.B = None
    for update, copy in zip(updates, copies, strict=True):
        np.testing.assert_array_equal(update.B, copy)
    assert not np.array_equal(copies[0], copies[-1])
    assert all(u.seconds > 0 and 0 <= u.sparsity <= 1 for u in updates)


@pytest.mark.parametrize("weights", ["sample", "shared", "identity"])
def test_use_is_the_sum_of_the_magnitudes_of_each_code(weights):
    n_filters = 3 if weights == "identity" else 6
    model = SCSC(**{**SMALL, "n_filters": n_filters}, weights=weights).fit(images()[1:])
    x = images()[0]
    code = SCSC.from_bank(model.bank).encode(x)
    update = next(model.iter_fit([x]))
    assert update.use.shape == (update.W.shape[1],) == (n_filters,)
    assert update.use.any()
    np.testing.assert_allclose(update.use, np.abs(code.Z).sum(axis=(1, 2)), rtol=1e-4, atol=1e-4)


def test_nothing_is_used_of_a_zero_code():
    with pytest.warns(ZeroCodeWarning):
        update = next(SCSC(**SMALL).iter_fit([np.zeros((14, 13))]))
    np.testing.assert_array_equal(update.use, np.zeros(6))


def test_psnr_is_that_of_the_paper():
    x = images()[0]
    model = SCSC(**SMALL).fit(images()[1:])
    before = SCSC.from_bank(model.bank)
    update = next(model.iter_fit([x]))
    reconstruction = before.encode(x).reconstruction
    expected = 20 * np.log10(np.sqrt(x.size) / np.linalg.norm(x - reconstruction))
    assert update.psnr == pytest.approx(expected, abs=1e-3)


def test_cancelled_sample_leaves_no_trace():
    samples = images()
    model = SCSC(**SMALL).fit(samples[:2])
    before = model.bank

    with pytest.raises(Cancelled):
        list(model.iter_fit(samples[2:], cancellation=CancelAtCheck(3)))
    assert model.bank.id == before.id
    assert model.n_seen == 2
    expected = SCSC(**SMALL).fit(samples).bank.id
    assert model.fit(samples[2:]).bank.id == expected


def test_bank_obeys_changed_arguments():
    bank = SCSC(**SMALL).fit(images()).bank
    x = images()[0]
    for changes, order in (({"radius": 0.2}, 2), ({"ball": "l1"}, 1)):
        model = SCSC.from_bank(bank, weights="shared", **changes)
        norms = np.linalg.norm(model.encode(x).W, order, axis=0)
        assert (norms <= model.settings.radius * (1 + 1e-5)).all()
    assert SCSC.from_bank(bank, n_filters=9).encode(x).W.shape == (3, 9)
    assert SCSC.from_bank(bank, weights="identity").encode(x).Z.shape[0] == 3
    with pytest.raises(ValueError, match="n_base of the bank is 3, it cannot be 7"):
        SCSC.from_bank(bank, n_base=7)
    odd = FilterBank(bank.filters, settings={"zzz": 1})
    with pytest.raises(ValueError, match="'zzz', which is not an argument"):
        SCSC.from_bank(odd)


def test_warning_points_at_the_caller():
    model = SCSC(**SMALL).fit(images())
    for use in (lambda: model.encode(0 * good), lambda: model.partial_fit(0 * good)):
        with pytest.warns(ZeroCodeWarning) as caught:
            use()
        assert caught[0].filename == __file__


def test_masked_arrays_bring_their_mask():
    mask = np.random.default_rng(0).random((14, 13)) < 0.8
    model = SCSC(**SMALL).fit(images())
    x = np.where(mask, images()[0], 1e9)
    found = model.encode(np.ma.array(x, mask=~mask))
    np.testing.assert_array_equal(found.Z, model.encode(x, mask).Z)
    with pytest.raises(ValueError, match="masked array already"):
        model.encode(np.ma.array(x, mask=~mask), mask)


def test_bank_is_enough_to_code_and_to_go_on():
    samples = images()
    model = SCSC(**SMALL).fit(samples)
    copy = SCSC.from_bank(model.bank)
    np.testing.assert_array_equal(copy.encode(samples[0]).Z, model.encode(samples[0]).Z)
    copy.fit(samples)
    assert copy.bank.filters.shape == model.bank.filters.shape
    assert SCSC.from_bank(model.bank, beta=0.3).settings.beta == 0.3


@pytest.mark.parametrize(("filters", "square"), [("orthonormal", "lags"), ("ball", "h")])
def test_one_core_of_memory_whatever_the_number_of_filters_and_samples(filters, square):
    """The learned state is R^2 P or less: no K^2, and nothing grows with the samples."""

    def history(n_base, n_filters, n_samples, shape=(14, 13)):
        model = SCSC(n_base, n_filters, (3, 4), max_iter=2, filters=filters)
        return model.fit(images(n_samples, shape))._state.history.arrays()

    def total(*sizes):
        return sum(array.nbytes for array in history(*sizes).values())

    assert total(3, 4, 1) == total(3, 400, 1) == total(3, 4, 5)
    assert history(6, 4, 1)[square].nbytes == 4 * history(3, 4, 1)[square].nbytes
    if filters == "orthonormal":
        assert total(3, 4, 1, (14, 13)) == total(3, 4, 1, (28, 31))

    def peak(n_filters, n_samples):
        samples = images(n_samples, (32, 32))
        model = SCSC(3, n_filters, (3, 4), max_iter=2, filters=filters)
        model.fit(samples[:1])  # buffers and caches
        tracemalloc.start()
        model.fit(samples)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(20, 12) < 1.1 * peak(20, 2)
    box = 36 * 36
    assert peak(400, 2) - peak(100, 2) < 300 * box * 4 * 3.5  # a few K x P maps
    assert peak(400, 2) < 400 * 400 * box * 4 / 20  # far from one K x K x P array


# --- wrong arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_base": 0}, "n_base must be a whole number from 1 to 10000, but is 0"),
        ({"n_base": 2.5}, "n_base must be a whole number"),
        ({"n_filters": True}, "n_filters"),
        ({"filter_shape": 11}, "filter_shape must be a tuple"),
        ({"filter_shape": ()}, "filter_shape must have 1 to 4"),
        (
            {"filter_shape": (3, 0)},
            r"filter_shape must hold whole numbers .* is \(3, 0\)",
        ),
        ({"filter_shape": (1, 2, 3, 4, 5)}, "1 to 4"),
        ({"n_joint": -1}, "n_joint"),
        ({"beta": 0}, "beta must be finite and above 0, but is 0"),
        ({"beta": float("nan")}, "beta"),
        ({"beta": "10%"}, "beta must be a number"),
        ({"ball": "l3"}, "ball must be one of 'l2', 'l1', but is 'l3'"),
        ({"radius": -1}, "radius"),
        ({"weights": "none"}, "weights must be one of"),
        ({"weights": "identity"}, "n_filters must equal n_base"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1e-3}, "tol"),
        ({"forget": 1.0}, "forget must be finite and at least 0 and below 1"),
        ({"seed": -1}, "seed"),
        ({"dtype": "float16"}, "dtype must be one of"),
    ],
)
def test_wrong_arguments_fail_when_the_object_is_made(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SCSC(**arguments)


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan"), "0.1"])
def test_relative_beta_is_between_zero_and_one(share):
    with pytest.raises((TypeError, ValueError), match="share must be"):
        Relative(share)


good = np.ones((14, 13))
holed = np.where(np.arange(13) == 3, np.nan, good)


@pytest.mark.parametrize(
    ("x", "mask", "message"),
    [
        (np.ones(14), None, r"must have 2 axes \(0 joint, then 2 shift\).*\(14,\)"),
        (np.ones((0, 13)), None, "empty"),
        (good.astype(complex), None, "complex128"),
        (good.astype(object), None, "object"),
        (good > 0, None, "bool"),
        (holed, None, "NaN or infinite values: pass a mask"),
        (np.where(holed > 0, np.inf, good), None, "infinite"),
        (holed, good > 0, "where its mask is True"),
        (np.where(good > 0, -3.4e38, good), None, "up to 3.4e.38.*pass a mask"),
        (good, np.ones((3, 3), bool), r"mask has the shape \(3, 3\), but the sample \(14, 13\)"),
        (good, good < 0, "nothing was measured"),
        (good, 2 * good, "True .measured. and False"),
        ("a", None, "real numbers"),
    ],
)
def test_wrong_samples_fail_at_the_door(x, mask, message):
    model = SCSC(**SMALL).fit(images())
    before = model.bank.id
    for use in (model.partial_fit, model.encode):
        with pytest.raises((TypeError, ValueError), match=message):
            use(x, mask)
    assert model.bank.id == before


def test_larger_samples_and_other_joint_axes_are_refused():
    model = SCSC(**SMALL, filters="ball").fit(images())
    with pytest.raises(ValueError, match="may be smaller, not larger"):
        model.partial_fit(np.ones((15, 13)))
    joint = SCSC(**SMALL, n_joint=1).fit(images(2, (3, 14, 13)))
    for use in (joint.partial_fit, joint.encode):
        with pytest.raises(ValueError, match="joint axes of lengths"):
            use(np.ones((4, 14, 13)))


def test_nothing_learned_yet_is_said(tmp_path):
    model = SCSC(**SMALL)
    for use in (lambda: model.bank, lambda: model.encode(good)):
        with pytest.raises(ValueError, match="call fit or partial_fit"):
            use()
    with pytest.raises(ValueError, match="nothing to write"):
        model.checkpoint(tmp_path / "a.scsc")


def test_an_iterator_cannot_be_passed_through_twice():
    with pytest.raises(ValueError, match="only once"):
        SCSC(**SMALL).fit(iter(images()), passes=2)
    with pytest.raises(ValueError, match="passes"):
        SCSC(**SMALL).fit(images(), passes=0)


def test_no_samples_are_no_learning():
    with pytest.raises(ValueError, match="samples is empty"):
        SCSC(n_base=2, n_filters=3, filter_shape=(3, 3)).fit([])
