from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cancelling import CancelAtCheck
from lattice_samples import SHAPES, all_patches, flat, pictures
from scipy import linalg

from napari_scsc import FilterBank, LatticeSCSC
from napari_scsc.cancellation import Cancelled

# --- it learns --------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_filters_are_orthonormal_and_the_constants_come_first(shape, n_joint, support):
    n_flat = int(np.prod(shape[:n_joint]))
    model = LatticeSCSC(n_flat + 5, support, n_joint).fit(pictures(3, shape))
    assert isinstance(model.bank, FilterBank)
    assert model.bank.filters.shape == (n_flat + 5, *shape[:n_joint], *support)
    assert (model.bank.joint, model.bank.support) == (shape[:n_joint], support)
    np.testing.assert_allclose(flat(model.bank) @ flat(model.bank).T, np.eye(n_flat + 5), atol=1e-5)
    by_value = flat(model.bank).reshape(n_flat + 5, n_flat, -1)
    assert np.ptp(by_value[:n_flat], axis=2).max() < 1e-6
    assert np.abs(by_value[n_flat:].sum(axis=2)).max() < 1e-4


@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_span_is_that_of_the_svd_of_all_patches(shape, n_joint, support):
    """With few enough patches that all are looked at, the filters are the singular vectors."""
    x = pictures(1, shape)[0]
    n_flat, count = int(np.prod(shape[:n_joint])), 4
    model = LatticeSCSC(n_flat + count, support, n_joint).fit([x])
    patches = all_patches(x, n_joint, support)
    patches = patches.reshape(len(patches), -1)
    right = np.linalg.svd(patches, full_matrices=False)[2][:count]
    angles = linalg.subspace_angles(flat(model.bank)[n_flat:].T, right.T)
    assert np.rad2deg(angles.max()) < 0.1


def test_span_of_many_samples_is_that_of_all_their_patches():
    several = pictures(5)
    model = LatticeSCSC(7, (4, 4)).fit(several)
    patches = np.concatenate([all_patches(x, 0, (4, 4)) for x in several]).reshape(-1, 16)
    right = np.linalg.svd(patches, full_matrices=False)[2][:6]
    assert np.rad2deg(linalg.subspace_angles(flat(model.bank)[1:].T, right.T).max()) < 0.1


def test_strongest_filters_come_first():
    model = LatticeSCSC(9, (4, 4)).fit(pictures())
    patches = np.concatenate([all_patches(x, 0, (4, 4)) for x in pictures()]).reshape(-1, 16)
    powers = ((patches @ flat(model.bank)[1:].T) ** 2).mean(axis=0)
    assert (np.diff(powers) < 0).all()
    np.testing.assert_allclose(model.bank.info["powers"], powers, rtol=1e-3)


def stripes_in_noise():
    """Stripes along one direction: two filters, sine and cosine, and the constant say it all."""
    x = np.sin(np.mgrid[:80, :80][0] * 2 * np.pi / 7)
    return x, x + 0.3 * np.random.default_rng(0).standard_normal((6, 80, 80))


def test_few_filters_stand_above_the_noise_of_simple_data(monkeypatch):
    monkeypatch.setattr("napari_scsc.model.lattice._MIN_FILTER_SHARE", 0.0)
    x, y = stripes_in_noise()
    model = LatticeSCSC(None, (7, 7), sigma=0.3).fit(y)
    assert 3 <= model.bank.n_base <= 24
    clean = all_patches(x, 0, (7, 7)).reshape(-1, 49)
    kept = ((clean @ flat(model.bank).T) ** 2).sum() / (clean**2).sum()
    assert kept > 0.995
    assert LatticeSCSC(None, (7, 7), sigma=0.5).fit(y).bank.n_base == 3


def test_number_of_filters_is_chosen_between_a_share_and_all_of_them():
    _, y = stripes_in_noise()
    counts = [LatticeSCSC(None, (7, 7), sigma=s).fit(y).bank.n_base for s in (0.01, 0.3, 0.5, 9)]
    assert counts[0] == 49
    assert counts == sorted(counts, reverse=True)
    assert 2 <= counts[-1] <= 26


def test_all_filters_make_a_complete_basis():
    model = LatticeSCSC(16, (4, 4)).fit(pictures(2))
    np.testing.assert_allclose(flat(model.bank).T @ flat(model.bank), np.eye(16), atol=1e-5)


def test_brightness_of_a_sample_does_not_matter():
    plain, brighter = (LatticeSCSC(6, (4, 4)).fit(pictures() + b).bank for b in (0, 5))
    angles = linalg.subspace_angles(flat(plain).T, flat(brighter).T)
    assert np.rad2deg(angles.max()) < 0.5


def test_forgetting_follows_what_comes_last():
    rows, columns = np.mgrid[:40, :40]
    first, then = np.sin(rows), np.sin(columns)

    def share_of_the_last(forget):
        model = LatticeSCSC(2, (5, 5), forget=forget).fit([first] * 6 + [then] * 4)
        patches = all_patches(then, 0, (5, 5)).reshape(-1, 25)
        return ((patches @ flat(model.bank).T) ** 2).sum() / (patches**2).sum()

    assert share_of_the_last(0.0) < 0.2
    assert share_of_the_last(0.6) > 0.5


# --- the same bits ------------------------------------------------------------------------------


def test_same_seed_gives_the_same_bits():
    one, other = (LatticeSCSC(8, (5, 5), seed=3).fit(pictures()).bank for _ in range(2))
    assert one.filters.tobytes() == other.filters.tobytes()


def test_other_seed_looks_at_other_patches(monkeypatch):
    monkeypatch.setattr("napari_scsc.model.lattice_patches._MAX_PATCHES_PER_SAMPLE", 100)
    one, other = (LatticeSCSC(8, (5, 5), seed=s).fit(pictures()).bank for s in (0, 1))
    assert one.id != other.id


@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
@pytest.mark.parametrize("stop", [1, 3])
def test_resumed_equals_uninterrupted_to_the_bit(shape, n_joint, support, stop, tmp_path):
    several = pictures(4, shape)
    n_base = int(np.prod(shape[:n_joint])) + 4
    whole = LatticeSCSC(n_base, support, n_joint, sigma=0.1, forget=0.1, seed=2).fit(several)
    model = LatticeSCSC(n_base, support, n_joint, sigma=0.1, forget=0.1, seed=2)
    model.fit(several[:stop]).checkpoint(tmp_path / "half")
    resumed = LatticeSCSC.resume(tmp_path / "half")
    assert resumed.settings == model.settings
    assert resumed.n_seen == stop
    assert resumed.bank.filters.tobytes() == model.bank.filters.tobytes()
    resumed.fit(several[stop:])
    assert resumed.bank.filters.tobytes() == whole.bank.filters.tobytes()
    assert resumed.n_seen == 4


def test_resumed_without_a_number_of_filters_is_the_same_too(tmp_path):
    several = pictures() + 0.2 * np.random.default_rng(0).standard_normal((4, 40, 36))
    whole = LatticeSCSC(None, (5, 5), sigma=0.2).fit(several)
    LatticeSCSC(None, (5, 5), sigma=0.2).fit(several[:2]).checkpoint(tmp_path / "half")
    resumed = LatticeSCSC.resume(tmp_path / "half").fit(several[2:])
    assert resumed.bank.filters.tobytes() == whole.bank.filters.tobytes()


def test_fit_is_the_loop_over_partial_fit():
    model = LatticeSCSC(6, (4, 4))
    for x in pictures():
        assert model.partial_fit(x) is model
    assert model.bank.id == LatticeSCSC(6, (4, 4)).fit(pictures()).bank.id


@pytest.mark.parametrize("forget", [0.0, 0.2])
def test_neither_batch_nor_number_of_threads_changes_what_is_learned(forget):
    several = [(x, x > -1) for x in pictures(7)]
    banks = {
        LatticeSCSC(8, (5, 5), sigma=0.1, forget=forget)
        .fit(several, batch=batch, n_jobs=n_jobs)
        .bank.filters.tobytes()
        for batch, n_jobs in [(1, 1), (3, 1), (3, 2), (7, 4), (100, 3)]
    }
    assert len(banks) == 1


def test_samples_of_a_batch_have_the_same_filters_and_their_own_weights():
    one, *_, last = LatticeSCSC(6, (4, 4)).iter_fit(pictures(), batch=4)
    np.testing.assert_array_equal(one.B, last.B)
    assert not np.array_equal(one.W, last.W)
    assert (one.sample, last.sample) == (1, 4)


def test_wrong_sample_spoils_its_batch_only():
    model = LatticeSCSC(6, (4, 4), 1).fit(pictures(2, (3, 20, 20)))
    before = model.bank.id
    batch = [*pictures(1, (3, 20, 20)), *pictures(1, (2, 20, 20))]
    with pytest.raises(ValueError, match=r"\(3,\)"):
        model.fit(batch, batch=2)
    assert model.n_seen == 2
    assert model.bank.id == before


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("n_jobs", 0), ("batch", None)])
def test_wrong_batches_are_named(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        LatticeSCSC().iter_fit(pictures(), **{name: value})


@pytest.mark.parametrize("kind", ["<f8", ">f4", "f2", "u1", ">i2"])
def test_type_order_and_flags_of_a_sample_do_not_matter(kind):
    values = np.round(40 * pictures(1)[0] + 120).clip(0, 255)
    expected = LatticeSCSC(6, (4, 4)).fit([values]).bank.filters
    given = np.asfortranarray(values.astype(kind))
    given.flags.writeable = False
    np.testing.assert_allclose(
        LatticeSCSC(6, (4, 4)).fit([given]).bank.filters, expected, atol=1e-5
    )


def test_sample_is_not_written_to():
    x = pictures(1)[0]
    before = x.tobytes()
    LatticeSCSC(6, (4, 4)).fit([(x, x > -0.5)])
    assert x.tobytes() == before


# --- what was not measured ----------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [0.0, 1e6, -3.0])
@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_missing_values_have_no_influence(shape, n_joint, support, garbage):
    x = pictures(1, shape)[0]
    known = np.ones(shape[n_joint:], bool)
    known[..., 3:5] = False
    n_base = int(np.prod(shape[:n_joint])) + 4
    plain = LatticeSCSC(n_base, support, n_joint).fit([(x, known)])
    spoiled = np.where(known, x, garbage).astype(np.float32)
    other = LatticeSCSC(n_base, support, n_joint).fit([(spoiled, known)])
    assert plain.bank.filters.tobytes() == other.bank.filters.tobytes()


def test_value_that_only_one_joint_plane_lacks_has_no_influence():
    x = pictures(1, (3, 30, 32))[0]
    known = np.ones(x.shape, bool)
    known[1, 10:14, 7] = False
    banks = [LatticeSCSC(7, (4, 4), 1).fit([(np.where(known, x, g), known)]).bank for g in (0, 1e9)]
    assert banks[0].id == banks[1].id


def test_not_finite_values_may_hide_under_the_mask():
    x = pictures(1)[0]
    known = np.random.default_rng(0).random(x.shape) > 0.02
    plain = LatticeSCSC(6, (4, 4)).fit([(x, known)])
    for garbage in (np.nan, np.inf):
        model = LatticeSCSC(6, (4, 4)).fit([(np.where(known, x, garbage), known)])
        assert model.bank.id == plain.bank.id


def test_masked_arrays_are_samples_with_a_mask():
    x = pictures(1)[0]
    known = np.random.default_rng(0).random(x.shape) > 0.02
    plain = LatticeSCSC(6, (4, 4)).fit([(x, known)])
    masked = np.ma.MaskedArray(np.where(known, x, 1e5), ~known)
    assert LatticeSCSC(6, (4, 4)).fit([masked]).bank.id == plain.bank.id


def test_sample_without_a_whole_patch_changes_nothing():
    model = LatticeSCSC(6, (4, 4)).fit(pictures())
    before = model.bank.id
    known = np.zeros((40, 36), bool)
    known[::3, ::3] = True
    update = next(model.iter_fit([(pictures(1, seed=9)[0], known)]))
    assert model.bank.id == before
    assert update.sample == model.n_seen == 5
    assert (update.objective, update.sparsity) == (0, 0)
    np.testing.assert_array_equal(update.use, np.zeros(5))


# --- updates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "n_joint", "support"), SHAPES)
def test_updates_agree_with_what_was_learned(shape, n_joint, support):
    n_flat = int(np.prod(shape[:n_joint]))
    model = LatticeSCSC(n_flat + 5, support, n_joint, sigma=0.1)
    seconds = 0.0
    for number, update in enumerate(model.iter_fit(pictures(3, shape)), 1):
        assert update.sample == number
        np.testing.assert_array_equal(update.B, model.bank.filters)
        assert update.W.shape == (n_flat + 5, 5)
        np.testing.assert_array_equal(update.W[:n_flat], 0)
        np.testing.assert_allclose(update.W.T @ update.W, np.eye(5), atol=1e-4)
        assert update.use.shape == (5,)
        assert update.objective > 0
        assert 0 < update.sparsity <= 1
        assert np.isfinite(update.psnr)
        assert update.seconds > seconds
        assert update.converged
        seconds = update.seconds
        with pytest.raises(dataclasses.FrozenInstanceError):
            update.sample = 7


def test_updates_are_not_written_to_later():
    model = LatticeSCSC(6, (4, 4))
    updates = model.iter_fit(pictures())
    first = next(updates)
    copies = first.B.copy(), first.W.copy(), first.use.copy()
    list(updates)
    np.testing.assert_array_equal(first.B, copies[0])
    np.testing.assert_array_equal(first.W, copies[1])
    np.testing.assert_array_equal(first.use, copies[2])


def test_weights_rotate_to_where_the_sample_varies_most():
    model = LatticeSCSC(9, (4, 4)).fit(pictures(5))
    x = pictures(1, seed=7)[0]
    update = next(model.iter_fit([x]))
    own = update.B.reshape(9, -1).T.astype(np.float64) @ update.W  # D = B W
    patches = all_patches(x, 0, (4, 4)).reshape(-1, 16)
    powers = ((patches @ own) ** 2).mean(axis=0)
    assert (np.diff(powers) < 0).all()


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_use_is_the_sum_of_the_magnitudes_of_the_codes_above_the_threshold(sigma):
    x = pictures(1)[0]
    update = next(LatticeSCSC(9, (4, 4), sigma=sigma).iter_fit([x]))
    own = update.B.reshape(9, -1).T.astype(np.float64) @ update.W
    codes = np.abs(all_patches(x, 0, (4, 4)).reshape(-1, 16) @ own)
    codes[codes <= 2.7 * sigma] = 0
    assert update.use.shape == (8,)
    np.testing.assert_allclose(update.use, codes.sum(axis=0), rtol=1e-3)


def test_more_noise_leaves_fewer_codes():
    shares = [
        next(LatticeSCSC(9, (4, 4), sigma=s).iter_fit(pictures(1))).sparsity
        for s in (0.0, 0.05, 0.5)
    ]
    assert shares[0] > 0.99
    assert shares[0] > shares[1] > shares[2]


def test_objective_is_half_the_error_plus_the_price_of_the_codes():
    x = pictures(1)[0]
    free, dear = (next(LatticeSCSC(16, (4, 4), sigma=s).iter_fit([x])) for s in (0.0, 0.2))
    assert free.objective == pytest.approx(0, abs=1e-3)
    assert dear.objective > 1
    assert dear.psnr < free.psnr


def test_cancelling_ends_before_the_next_sample():
    model = LatticeSCSC(6, (4, 4))
    with pytest.raises(Cancelled):
        list(model.iter_fit(pictures(), cancellation=CancelAtCheck(3)))
    assert model.n_seen == 2
    assert model.bank.id == LatticeSCSC(6, (4, 4)).fit(pictures()[:2]).bank.id
