"""The personal dictionary of a pixel's group: what the second pass does, and nothing else."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from test_explain import Lazy, each_kind, make_bank, noise

from napari_scsc import (
    Axes,
    FilterBank,
    Noise,
    PersonalDictionary,
    explain_group,
    learn,
    samples,
)
from napari_scsc.groups.denoiser import N_COMPARED, GroupDenoiser
from napari_scsc.model.basis import Basis
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.restore.passes import passes_for


def even_noise(sigma):
    return Noise(sigma, 0.0, sigma**2, correlated=False, sure=True, remarks=())


def starts(group):
    """Where the members begin, joint axes left out."""
    return [tuple(s.start for s in region if s.start is not None) for region in group.members]


def patches_of(x, group):
    """The members as rows, in the order of the filters: joint axes first."""
    joint = [i for i, s in enumerate(group.members[0]) if s == slice(None)]
    rows = [np.moveaxis(x[region], joint, range(len(joint))).ravel() for region in group.members]
    return np.array(rows, np.float64)


# --- what it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("orthonormal", [True, False])
@each_kind
def test_filters_are_orthonormal_mixtures_of_the_base_filters(kind, shape, span, orthonormal):
    x, bank = 100 + noise(shape), make_bank(span, 5, orthonormal=orthonormal)
    group = explain_group(x, bank, tuple(n // 2 for n in shape), kind=kind)
    assert isinstance(group, PersonalDictionary)
    count = len(group.powers)
    assert 0 < count <= 5
    assert group.weights.shape == (5, count)
    assert group.filters.shape == (count, *bank.filters.shape[1:])
    assert group.mean.shape == bank.filters.shape[1:]
    flat = group.filters.reshape(count, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(count), atol=1e-5)
    mixed = np.tensordot(group.weights.T, bank.filters, axes=1)
    np.testing.assert_allclose(mixed, group.filters, atol=1e-5)
    if orthonormal:
        np.testing.assert_allclose(group.weights.T @ group.weights, np.eye(count), atol=1e-5)


@each_kind
def test_powers_descend_and_are_all_of_how_the_patches_differ(kind, shape, span):
    x, bank = 100 + noise(shape), make_bank(span, 5)
    group = explain_group(x, bank, tuple(n // 2 for n in shape), kind=kind)
    patches = patches_of(x, group)
    deviations = patches - patches.mean(axis=0)
    assert (np.diff(group.powers) <= 0).all()
    along = deviations @ group.filters.reshape(len(group.filters), -1).T
    np.testing.assert_allclose(np.square(along).mean(axis=0), group.powers, rtol=1e-6)
    # The filters of a group vary by themselves: no two of them together.
    moments = along.T @ along / len(along)
    np.testing.assert_allclose(moments, np.diag(group.powers), atol=1e-5 * group.powers[0])
    total = np.square(deviations).sum() / len(patches)
    assert group.powers.sum() + group.outside == pytest.approx(total, rel=1e-5)


@each_kind
def test_first_member_has_the_pixel_in_its_middle_as_far_as_there_is_room(kind, shape, span):
    x, bank = noise(shape), make_bank(span, 4)
    for position in itertools.product(*({0, n // 2, n - 1} for n in shape)):
        group = explain_group(x, bank, position, kind=kind)
        assert group.position == position
        lengths = iter((1, *span[1]) if kind == "time-lapse" else span[1])
        for i, n, region in zip(position, shape, group.members[0], strict=True):
            if region != slice(None):  # as it is on joint axes
                h = next(lengths)
                start = min(max(i - h // 2, 0), n - h)
                assert region == slice(start, start + h)


@pytest.mark.parametrize("of_patches", [True, False])
@each_kind
def test_members_are_the_nearest_patches_of_the_window(kind, shape, span, of_patches):
    x, bank = noise(shape), make_bank(span)
    compared = np.eye(np.prod((*span[0], *span[1])))
    if of_patches:  # their leading coefficients are compared
        bank = FilterBank(bank.filters, bank.n_joint, info={"learner": "lattice"})
        basis = Basis.of(bank)
        vectors = basis.vectors[:N_COMPARED].reshape(-1, basis.n_flat, np.prod(span[1]))
        compared = np.einsum("rkp,kc->rcp", vectors, basis.mixtures).reshape(len(vectors), -1)
    group = explain_group(x, bank, tuple(n // 2 for n in shape), kind=kind)
    patches = patches_of(x, group) @ compared.T
    distances = np.square(patches - patches[0]).sum(axis=1)
    assert (np.diff(distances) >= -1e-4).all()
    first = group.members[0]
    along = []  # every patch: these images are smaller than the window
    for axis, (region, n) in enumerate(zip(first, shape, strict=True)):
        if region == slice(None) or (kind == "time-lapse" and axis == 0):
            along.append([region])
        else:
            h = region.stop - region.start
            along.append([slice(s, s + h) for s in range(n - h + 1)])
    every = SimpleNamespace(members=[first, *itertools.product(*along)])
    all_patches = patches_of(x, every)[1:] @ compared.T
    all_distances = np.sort(np.square(all_patches - patches[0]).sum(axis=1))
    np.testing.assert_allclose(distances, all_distances[: len(distances)], atol=1e-4)
    assert len(set(map(str, group.members))) == len(group.members)


def test_group_of_a_real_picture_has_its_full_size_and_stays_in_the_window():
    x = samples.tissue((128, 128))
    group = explain_group(x, make_bank(((), (6, 6)), 12), (100, 40), kind="image")
    (last,) = passes_for((6, 6), "balanced").wiener
    assert len(group.members) == last.size
    offsets = np.abs(np.subtract(starts(group), starts(group)[0]))
    assert (offsets <= last.reach).all()


def test_filters_hold_what_a_group_varies_by():
    """Patches of a grating differ by its phase: two filters say all of it."""
    y, x = np.mgrid[:60, :60]
    image = 5 + np.sin(0.7 * x + 0.4 * y)
    group = explain_group(image, make_bank(((), (6, 6))), (30, 30), kind="image")
    assert group.powers[:2].sum() > 0.999 * group.powers.sum()


def test_constant_image_has_a_mean_and_no_filters():
    bank = FilterBank(np.full((1, 4, 4), 0.25, np.float32))
    group = explain_group(np.full((20, 20), 7.0), bank, (3, 3), kind="image")
    np.testing.assert_allclose(group.mean, 7)
    assert group.weights.shape == (1, 0)
    assert group.filters.shape == (0, 4, 4)
    assert len(group.members) == 64


# --- the truth ------------------------------------------------------------------------------------


def groups_of_the_second_pass(x, bank, sigma):
    """The pilot of the second pass of a restoration, the coefficients of that, and the groups."""
    seen = []
    denoiser = GroupDenoiser(Basis.of(bank), passes_for(bank.support, "balanced"))
    kernels = denoiser._kernels

    def wiener(values, pilot, groups, *rest):
        seen.append((pilot, groups))
        kernels.wiener(values, pilot, groups, *rest)

    denoiser._kernels = SimpleNamespace(
        match=kernels.match, threshold=kernels.threshold, wiener=wiener
    )
    first, _ = (e.values.copy() for e in denoiser.estimates(x[None].astype(np.float32), sigma))
    return first[0], seen[0][0], np.concatenate([groups for _, groups in seen]), kernels


def test_group_and_weights_are_those_of_the_second_pass():
    x = samples.noisy_tissue((72, 80)).astype(np.float64)
    sigma = 12.0
    bank = learn(x, kind="image", n_base=40)
    pilot, like, groups, kernels = groups_of_the_second_pass(x, bank, sigma)
    places = tuple(n - p + 1 for n, p in zip(x.shape, bank.support, strict=True))
    basis = Basis.of(bank)
    for members in groups[:: len(groups) // 7]:
        start = np.unravel_index(members[0], places)
        position = tuple(int(s) + p // 2 for s, p in zip(start, bank.support, strict=True))
        group = explain_group(pilot, bank, position, kind="image", noise=even_noise(sigma))
        found = np.ravel_multi_index(np.transpose(starts(group)), places)
        assert found[0] == members[0]
        # Single precision breaks ties in its own way.
        assert len(set(found) & set(members)) >= len(members) - 1
        # What the kernel gives for this group, written out with the filters of the group. Its
        # patches are copied one after the other: in the picture they overlap.
        patches, pilots = (patches_of(z, group) for z in (x, pilot))
        total = np.zeros(patches.size, np.float32)
        tallies = np.zeros((3, patches.size), np.float32)
        points, offsets = np.arange(0, patches.size, patches.shape[1]), np.arange(patches.shape[1])
        kernels.wiener(
            patches.astype(np.float32).ravel(), like[found], np.arange(len(found))[None], sigma,
            basis.vectors, basis.n_flat, points, offsets, total, 0, tallies,
        )  # fmt: skip
        shrunk = total.reshape(patches.shape) / tallies[0, points, None]
        directions = group.filters.reshape(len(group.filters), -1)
        deviations = (patches - patches.mean(axis=0)) @ directions.T
        power = np.square((pilots - pilots.mean(axis=0)) @ directions.T)
        estimate = (power / (power + (1.1 * sigma) ** 2) * deviations) @ directions
        shrunk_deviations = shrunk - shrunk.mean(axis=0)
        # The pass leaves out what is far below the noise, and turns its filters once.
        difference = shrunk_deviations - (estimate - estimate.mean(axis=0))
        assert np.sqrt(np.mean(difference**2)) < 0.1 * sigma


def test_noise_that_grows_is_made_even_before_patches_are_compared():
    x = 50 + 400 * samples.tissue((60, 60))
    bank = make_bank(((), (5, 5)), 9)
    photons = Noise(20.0, 2.0, 30.0, correlated=False, sure=True, remarks=())
    found = explain_group(x, bank, (30, 20), kind="image", noise=photons)
    even = Anscombe(2.0, 30.0).forward(x)
    expected = explain_group(even, bank, (30, 20), kind="image", noise=even_noise(1.0))
    assert found.members == expected.members
    np.testing.assert_allclose(found.filters, expected.filters, atol=1e-5)
    assert found.members != explain_group(x, bank, (30, 20), kind="image").members


def test_filters_far_below_the_noise_are_left_out():
    x, bank = samples.tissue((60, 60)), make_bank(((), (5, 5)))
    every, few = (
        explain_group(x, bank, (30, 20), kind="image", noise=n) for n in (None, even_noise(1.0))
    )
    assert len(few.powers) < len(every.powers)
    np.testing.assert_allclose(few.powers, every.powers[: len(few.powers)])


@pytest.mark.parametrize("change", [lambda x: x + 3e4, lambda x: 1e-9 * x, lambda x: 1e12 * x])
def test_brightness_and_scale_do_not_change_the_group(change):
    x, bank = samples.tissue((60, 60)).astype(np.float64), make_bank(((), (5, 5)))
    one, other = (explain_group(z, bank, (30, 20), kind="image") for z in (x, change(x)))
    assert set(starts(one)) == set(starts(other))
    np.testing.assert_allclose(np.abs(one.filters[0]), np.abs(other.filters[0]), atol=1e-3)


# --- which image, and how much of it --------------------------------------------------------------


@pytest.mark.parametrize("t", range(3))
def test_group_lies_in_the_sample_of_the_pixel(t):
    x, bank = noise((3, 19, 18)), make_bank(((), (4, 4)), 5)
    found = explain_group(x, bank, (t, 8, 4), kind="time-lapse")
    alone = explain_group(x[t], bank, (8, 4), kind="image")
    assert all(region[0] == slice(t, t + 1) for region in found.members)
    assert [region[1:] for region in found.members] == list(alone.members)
    np.testing.assert_array_equal(found.filters, alone.filters)


def test_order_of_the_axes_does_not_matter():
    x, bank = noise((4, 19, 18)), make_bank(((4,), (3, 2)), 5)
    first = explain_group(x, bank, (1, 7, 2), kind="multispectral")
    last = explain_group(x.transpose(1, 2, 0), bank, (7, 2, None), axes="yxc")
    np.testing.assert_array_equal(first.filters, last.filters)
    assert [region[1:] for region in first.members] == [region[:2] for region in last.members]


def test_patches_with_missing_values_are_no_members():
    x, bank = noise((40, 40)), make_bank(((), (4, 4)), 6)
    y = x.copy()
    y[::7, 20] = np.nan
    y[3, 3] = np.inf
    group = explain_group(y, bank, (30, 10), kind="image")
    assert len(group.members) == 64
    assert np.isfinite(patches_of(y, group)).all()
    assert np.isfinite(group.filters).all()
    with pytest.raises(ValueError, match="missing or infinite"):
        explain_group(y, bank, (21, 20), kind="image")


def test_group_is_smaller_where_few_patches_are_known():
    y = np.full((30, 30), np.nan)
    y[:6, :6] = noise((6, 6))
    group = explain_group(y, make_bank(((), (4, 4)), 6), (2, 2), kind="image")
    assert len(group.members) == 9
    assert np.isfinite(patches_of(y, group)).all()


def test_no_more_is_read_than_the_window():
    lazy = Lazy(noise((5, 3, 200, 300)))
    axes = Axes("custom", tuple("ncyx"), ("sample", "joint", "shift", "shift"))
    group = explain_group(lazy, make_bank(((3,), (4, 5)), 6), (2, 1, 90, 299), axes=axes)
    # The patch begins at 88 and 295; 32 places to either side, and the length of a patch.
    read = (slice(2, 3), slice(None), slice(56, 124), slice(263, 300))
    assert set(map(str, lazy.read)) == {str(read)}
    assert group.members[0] == (slice(2, 3), slice(None), slice(88, 92), slice(295, 300))


def test_wrong_arguments_are_refused():
    x, bank = noise((20, 20)), make_bank(((), (4, 4)), 5)
    with pytest.raises(TypeError, match="FilterBank"):
        explain_group(x, bank.filters, (3, 3), kind="image")
    with pytest.raises(ValueError, match="position"):
        explain_group(x, bank, (3, 20), kind="image")
    with pytest.raises(ValueError, match="filters"):
        explain_group(x, make_bank(((3,), (4, 4)), 5), (3, 3), kind="image")
