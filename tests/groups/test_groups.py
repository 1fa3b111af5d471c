from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from cancelling import CallingCancellation
from scipy import ndimage

from napari_scsc import FilterBank, LatticeSCSC, inpaint, samples
from napari_scsc.data.samples import open_samples
from napari_scsc.groups import compiling, group_kernels
from napari_scsc.groups.denoiser import GroupDenoiser, planes_of, reference_places
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.groups.patches import PatchGrid
from napari_scsc.learning.models import patch_shape
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.noise.cosines import cosine_basis
from napari_scsc.restore.passes import passes_for, tile_shape
from napari_scsc.restore.quality import QUALITIES

SHAPES = [((30,), (5,)), ((14, 17), (4, 3)), ((7, 9, 8), (3, 2, 3))]


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


def noisy_tissue(sigma, shape=(72, 64)):
    x = samples.tissue(shape)
    return x, x + sigma * np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def cosines(n_joint, patch, count=None):
    """A basis of cosines: all, or the slowest along the first axis."""
    mixtures = np.eye(n_joint, dtype=np.float32)
    one = cosine_basis(1, patch)
    size = one.shape[1]
    flats = np.kron(np.eye(n_joint), np.full((1, size), size**-0.5))
    lively = np.kron(np.eye(n_joint), one[1:])[:count]
    return Basis(mixtures, patch, np.vstack([flats, lively]).astype(np.float32))


def passes(patch, sizes=(16, 24), reach=6, step=None):
    """A thresholding pass and, for a second size, a Wiener pass."""
    step = step or tuple(max(1, p // 2) for p in patch)
    first, *others = (GroupPass(step, (reach,) * len(patch), size) for size in sizes)
    return Passes(first, tuple(others))


# --- patches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_joint", [1, 3])
@pytest.mark.parametrize(("shift", "patch"), SHAPES)
def test_patches_put_together_are_the_sample(n_joint, shift, patch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_joint, *shift)).astype(np.float32)
    grid = PatchGrid(n_joint, shift, patch)
    basis = cosine_basis(n_joint, patch)
    patches = grid.express(x, basis) @ basis
    total, weights = np.zeros((2, x.size), np.float32)
    for weight, start, patch_values in zip(
        rng.uniform(0.1, 2, len(patches)), grid.points, patches, strict=True
    ):
        total[start + grid.offsets] += weight * patch_values
        weights[start] += weight
    norm = grid.cover(weights.reshape(*shift, n_joint)[..., 0])
    back = np.moveaxis(total.reshape(*shift, n_joint), -1, 0) / norm
    np.testing.assert_allclose(back, x, atol=1e-5)


@pytest.mark.parametrize(
    ("n_joint", "patch"), [(1, (8, 8)), (3, (4, 4)), (1, (3, 4, 5)), (2, (7,))]
)
def test_cosines_are_orthonormal_and_begin_with_the_constant(n_joint, patch):
    basis = cosine_basis(n_joint, patch, np.float64)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    assert np.ptp(basis[0]) < 1e-12


def test_large_samples_are_expressed_in_parts(monkeypatch):
    x = np.random.default_rng(0).standard_normal((1, 20, 15)).astype(np.float32)
    grid, basis = PatchGrid(1, (20, 15), (3, 3)), cosine_basis(1, (3, 3))
    whole = grid.express(x, basis)
    monkeypatch.setattr("napari_scsc.groups.patches._ROWS", 40)
    np.testing.assert_allclose(grid.express(x, basis), whole, atol=1e-6)


def test_sample_smaller_than_a_patch_is_refused():
    with pytest.raises(ValueError, match="smaller than a patch"):
        PatchGrid(1, (5, 9), (8, 8))


def test_sample_of_the_size_of_a_patch_is_one_patch():
    x = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32)
    grid = PatchGrid(2, (4, 5), (4, 5))
    assert grid.places == (1, 1)
    basis = cosine_basis(2, (4, 5))
    np.testing.assert_allclose(grid.express(x, basis)[0], basis @ x.ravel(), atol=1e-5)


# --- groups -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
@pytest.mark.parametrize("places", [(1, 9, 11), (4, 5, 6), (1, 1, 30)])
def test_matches_are_the_nearest_in_the_window(places, kernels, monkeypatch):
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal((np.prod(places), 5)).astype(np.float32)
    reach, size = np.minimum(np.array([2, 3, 4]), np.array(places) - 1), 4
    references = reference_places(places, (2, 3, 3))
    found = group_kernels.get().match(planes_of(coefficients, places), references, reach, size)
    index = np.arange(np.prod(places)).reshape(places)
    for place, members in zip(references, found, strict=True):
        window = index[
            tuple(slice(max(0, p - r), p + r + 1) for p, r in zip(place, reach, strict=True))
        ].ravel()
        reference = coefficients[index[tuple(place)]]
        distance = ((coefficients[window] - reference) ** 2).sum(axis=1)
        expected = window[np.argsort(distance, kind="stable")[:size]]
        assert members[0] == index[tuple(place)]
        np.testing.assert_array_equal(members, expected)


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
def test_reference_is_in_its_own_group_though_others_are_equal(kernels, monkeypatch):
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
    same = np.zeros((40, 3), np.float32)
    references = reference_places((1, 1, 40), (1, 1, 5))
    planes = planes_of(same, (1, 1, 40))
    found = group_kernels.get().match(planes, references, np.array([0, 0, 9]), 6)
    np.testing.assert_array_equal(found[:, 0], references[:, 2])
    assert all(len(set(members)) == 6 for members in found)


@pytest.mark.parametrize("step", [1, 3, 8])
@pytest.mark.parametrize("places", [(1, 1, 1), (1, 1, 9), (2, 7, 13)])
def test_references_leave_no_gap(places, step):
    references = reference_places(places, (step,) * 3)
    for axis, n in enumerate(places):
        along = np.unique(references[:, axis])
        assert along[0] == 0
        assert along[-1] == n - 1
        assert np.diff(along, prepend=0).max() <= step


@pytest.mark.parametrize("sizes", [(10,), (10, 12), (40, 48), (2, 1)])
@pytest.mark.parametrize("patch", [(5, 5), (8, 8)])
def test_plain_numpy_equals_compiled(patch, sizes, monkeypatch):
    _, y = noisy_tissue(0.1, (36, 33))
    denoised = []
    for kernels in ("numba", "numpy"):
        monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
        denoiser = GroupDenoiser(cosines(1, patch), passes(patch, sizes))
        denoised += denoiser.estimates(y[None], 0.1)
    for found, expected in zip(denoised[: len(sizes)], denoised[len(sizes) :], strict=True):
        np.testing.assert_allclose(found.values, expected.values, atol=2e-5)
        np.testing.assert_allclose(found.error, expected.error, rtol=1e-3)
        # A patch at the very limit of being alike may be on either side of it.
        np.testing.assert_allclose(found.support, expected.support, atol=0.1)


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
def test_equals_come_in_the_order_of_their_rows_from_the_reference_on(kernels, monkeypatch):
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
    planes = np.zeros((1, 9, 4, 9), np.float32)
    (found,) = group_kernels.get().match(planes, np.array([[0, 4, 4]]), np.array([0, 2, 2]), 25)
    rows, columns = np.divmod(found, 9)
    np.testing.assert_array_equal(rows[1:], np.repeat([4, 5, 3, 6, 2], 5)[1:])
    np.testing.assert_array_equal(columns[5:10], [2, 3, 4, 5, 6])


# --- shrinkage --------------------------------------------------------------------------------


def shrunk(kernel, *arguments, n_values, basis):
    """What a kernel makes of one group whose patches do not overlap."""
    total, tallies = np.zeros(n_values, np.float32), np.zeros((3, n_values), np.float32)
    points = np.arange(0, n_values, basis.shape[1])
    kernel(*arguments, points, np.arange(basis.shape[1]), total, 0, tallies)
    return total.reshape(len(points), -1) / tallies[0, points][:, None]


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
@pytest.mark.parametrize("rank", [0, 1, 3, 12, 25])
def test_threshold_is_the_shrinkage_of_singular_values(rank, kernels, monkeypatch):
    """Beside a plain statement of the formula, with all singular values."""
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
    rng = np.random.default_rng(rank)
    n, n_base, sigma = 32, 40, 0.5
    basis = np.linalg.qr(rng.standard_normal((n_base, n_base)))[0].astype(np.float32)
    signal = 8 * rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n_base))
    x = (signal + sigma * rng.standard_normal((n, n_base)) + 3).astype(np.float32)
    start = np.full(n, 0.1, np.float32) + rng.standard_normal(n).astype(np.float32)
    start /= np.linalg.norm(start)
    found = shrunk(
        group_kernels.get().threshold,
        x, np.arange(n)[None], sigma, 1.0, basis, 1, start,
        n_values=n * n_base,
        basis=basis,
    )  # fmt: skip
    mean = x.mean(axis=0)
    left, strengths, right = np.linalg.svd(x - mean, full_matrices=False)
    ratios, aspect = strengths**2 / (sigma**2 * n_base), n / n_base
    square = np.maximum((ratios - aspect - 1) ** 2 - 4 * aspect, 0)
    factors = np.where(ratios > (1 + np.sqrt(aspect)) ** 2, np.sqrt(square) / ratios, 0)
    assert np.count_nonzero(factors) == rank
    expected = (mean + (left * factors * strengths) @ right) @ basis
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
def test_wiener_weighs_by_the_power_of_the_pilot_where_that_varies(kernels, monkeypatch):
    """A pilot of two directions: what lies outside of them goes, what lies inside is weighed."""
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", kernels)
    rng = np.random.default_rng(0)
    n, n_base, sigma = 24, 30, 0.5
    basis = np.linalg.qr(rng.standard_normal((n_base, n_base)))[0].astype(np.float32)
    pilot = (rng.standard_normal((n, 2)) * [9, 6]) @ np.linalg.qr(rng.standard_normal((n_base, 2)))[
        0
    ].T
    pilot = (pilot + 4).astype(np.float32)
    noisy = pilot + sigma * rng.standard_normal(pilot.shape).astype(np.float32)
    found = shrunk(
        group_kernels.get().wiener,
        (noisy @ basis).ravel(), pilot, np.arange(n)[None], sigma, basis, 0,
        n_values=n * n_base,
        basis=basis,
    )  # fmt: skip
    mean, mean_q = noisy.mean(axis=0), pilot.mean(axis=0)
    square = (mean_q**2).sum()
    mean = mean * square / (square + n_base * sigma**2 / n)
    _, _, directions = np.linalg.svd(pilot - mean_q, full_matrices=False)
    power = ((pilot - mean_q) @ directions[:2].T) ** 2
    share = power / (power + (1.1 * sigma) ** 2)
    inside = share * ((noisy - noisy.mean(axis=0)) @ directions[:2].T)
    expected = (mean + inside @ directions[:2]) @ basis
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


# --- the error --------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(16,), (16, 24)])
@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_error_grows_with_the_values_and_their_noise(sizes, factor):
    _, y = noisy_tissue(0.1, (40, 44))
    y = y[None].astype(np.float32)
    denoiser = GroupDenoiser(cosines(1, (6, 6)), passes((6, 6), sizes))
    *_, one = denoiser.estimates(y, 0.1)
    *_, other = denoiser.estimates(np.float32(factor) * y, 0.1 * factor)
    np.testing.assert_allclose(other.error, factor * one.error, rtol=1e-3)
    np.testing.assert_allclose(other.support, one.support, atol=0.1)
    assert (one.error > 0).all()
    assert (one.error <= np.float32(0.1)).all()


@pytest.mark.parametrize("sizes", [(24,), (24, 32)])
def test_truth_lies_within_the_error_about_as_often_as_it_should(sizes):
    x, y = noisy_tissue(0.1, (128, 128))
    *_, last = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8), sizes)).estimates(y[None], 0.1)
    away = np.abs(last.values[0] - x) / last.error
    # Sure of itself on what was drawn by a few formulas: photographs have more to lose.
    assert 0.6 < (away < 1).mean() < 0.95
    assert (away < 2).mean() > 0.9


def test_error_is_the_noise_where_no_group_was():
    _, y = noisy_tissue(0.1, (40, 40))
    wanted = np.zeros(y.shape, bool)
    wanted[4:6, 4:6] = True
    denoiser = GroupDenoiser(cosines(1, (6, 6)), passes((6, 6), reach=3))
    *_, last = denoiser.estimates(y[None], 0.1, wanted)
    assert last.error[-1, -1] == np.float32(0.1)
    assert last.support[-1, -1] == 1
    assert last.error[5, 5] < 0.1


@pytest.mark.parametrize("sizes", [(24,), (24, 24)])
def test_support_is_low_where_structure_is_rare(sizes):
    rng = np.random.default_rng(0)
    x = np.zeros((72, 72), np.float32)
    x[30:42, 30:42] = rng.choice([-1, 1], (12, 12))
    y = x + np.float32(0.1) * rng.standard_normal(x.shape).astype(np.float32)
    *_, last = GroupDenoiser(cosines(1, (6, 6)), passes((6, 6), sizes)).estimates(y[None], 0.1)
    assert last.support[34:38, 34:38].max() < 3
    assert last.support[:12, :12].min() > 20
    assert last.error[34:38, 34:38].min() > 3 * last.error[:12, :12].max()


# --- the passes -------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(24,), (24, 32)])
def test_noise_goes_and_the_picture_stays(sizes):
    x, y = noisy_tissue(0.1)
    own = passes((8, 8), sizes, reach=16)
    result = GroupDenoiser(cosines(1, (8, 8)), own).denoise(y[None], 0.1)[0]
    assert result.dtype == np.float32
    assert psnr(result, x) > psnr(y, x) + 10


def test_second_pass_improves_on_the_first():
    x, y = noisy_tissue(0.1, (96, 96))
    own = passes_for((8, 8), "balanced")
    first, both = (
        GroupDenoiser(cosines(1, (8, 8)), replace(own, wiener=wiener)).denoise(y[None], 0.1)[0]
        for wiener in ((), own.wiener)
    )
    assert psnr(both, x) > psnr(first, x) + 0.3


def test_what_is_wanted_is_denoised_and_what_is_far_from_it_stays():
    x, y = noisy_tissue(0.1, (96, 90))
    wanted = np.zeros(x.shape, bool)
    wanted[30:44, 40:60] = True
    denoiser = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8), reach=9))
    result = denoiser.denoise(y[None], 0.1, wanted)[0]
    assert psnr(result[wanted], x[wanted]) > psnr(y[wanted], x[wanted]) + 6
    # A patch that touches it, and then as far as a group and another patch reach.
    near = ndimage.binary_dilation(wanted, iterations=8 + 9 + 8, structure=np.ones((3, 3)))
    np.testing.assert_array_equal(result[~near], y[~near])
    everywhere = denoiser.denoise(y[None], 0.1, np.ones(x.shape, bool))
    np.testing.assert_array_equal(everywhere, denoiser.denoise(y[None], 0.1))


def test_next_to_no_noise_changes_next_to_nothing():
    x, _ = noisy_tissue(0.1)
    result = GroupDenoiser(cosines(1, (6, 6)), passes((6, 6))).denoise(x[None], 1e-4)[0]
    assert np.abs(result - x).max() < 1e-3


@pytest.mark.parametrize(("shift", "patch"), SHAPES)
def test_constant_stays_constant(shift, patch):
    x = np.full((2, *shift), 0.3, np.float32)
    result = GroupDenoiser(cosines(2, patch), passes(patch)).denoise(x, 0.1)
    np.testing.assert_allclose(result, x, atol=1e-6)


def test_brightness_is_carried_through():
    _, y = noisy_tissue(0.1)
    denoiser = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8)))
    plain, brighter = (denoiser.denoise(v[None], 0.1) for v in (y, y + 2))
    np.testing.assert_allclose(brighter - 2, plain, atol=2e-3)


@pytest.mark.parametrize("factor", [100.0, 60_000.0])
def test_scale_is_carried_through(factor):
    _, y = noisy_tissue(0.1)
    denoiser = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8)))
    plain = denoiser.denoise(y[None], 0.1)
    scaled = denoiser.denoise(y[None] * np.float32(factor), 0.1 * factor)
    np.testing.assert_allclose(scaled / factor, plain, atol=2e-3)


@pytest.mark.parametrize("count", [0, 6])
def test_result_lies_in_the_span_of_the_basis(count):
    """Where patches do not overlap, each is a mixture of the basis and nothing else."""
    _, y = noisy_tissue(0.1, (24, 24))
    basis = cosines(1, (8, 8), count)
    one = passes((8, 8), (1, 1), reach=0, step=(8, 8))
    grid = PatchGrid(1, (24, 24), (8, 8))
    result = GroupDenoiser(basis, one).denoise(y[None], 0.1)
    assert len(basis.vectors) == 1 + count
    corners = [r * 17 + c for r in (0, 8, 16) for c in (0, 8, 16)]
    every = cosine_basis(1, (8, 8))
    inside = (grid.express(result, basis.vectors)[corners] ** 2).sum()
    assert inside == pytest.approx((grid.express(result, every)[corners] ** 2).sum(), rel=1e-4)


@pytest.mark.parametrize("shift", [(8, 8), (8, 9), (10, 8), (9, 9)])
def test_samples_hardly_larger_than_a_patch_are_denoised(shift):
    """There are fewer reference places than parts of a pass."""
    x = np.full((1, *shift), 0.5, np.float32)
    y = x + 0.1 * np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    result = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8))).denoise(y, 0.1)
    assert np.isfinite(result).all()
    assert psnr(result, x) > psnr(y, x) + 2


def test_lanczos_begins_with_a_vector_of_length_one_in_groups_that_are_smaller_than_asked_for():
    y = np.random.default_rng(0).standard_normal((1, 9, 9)).astype(np.float32)
    denoiser = GroupDenoiser(cosines(1, (8, 8)), passes((8, 8), (16,)))
    seen = []

    def threshold(coefficients, groups, *rest):
        seen.append((groups.shape[1], rest[4]))
        kernels.threshold(coefficients, groups, *rest)

    kernels = denoiser._kernels
    denoiser._kernels = SimpleNamespace(match=kernels.match, threshold=threshold)
    denoiser.denoise(y, 1.0)
    for size, start in seen:
        assert size == len(start) == 4
        assert np.linalg.norm(start) == pytest.approx(1)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_result_does_not_depend_on_the_executor(n_workers):
    _, y = noisy_tissue(0.1, (40, 44))
    basis, own = cosines(1, (6, 6)), passes((6, 6))
    alone = GroupDenoiser(basis, own).denoise(y[None], 0.1)
    with ThreadPoolExecutor(n_workers) as pool:
        together = GroupDenoiser(basis, own, pool).denoise(y[None], 0.1)
    np.testing.assert_array_equal(alone, together)


def test_cancelling_ends_a_pass():
    _, y = noisy_tissue(0.1, (40, 44))
    calls = []

    def tick():
        calls.append(threading.get_ident())
        if len(calls) == 3:
            raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        GroupDenoiser(
            cosines(1, (6, 6)), passes((6, 6)), cancellation=CallingCancellation(tick)
        ).denoise(y[None], 0.1)
    assert len(calls) == 3


def test_input_is_not_written_to():
    _, y = noisy_tissue(0.1, (30, 30))
    y = y[None].copy()
    y.flags.writeable = False
    before = y.tobytes()
    GroupDenoiser(cosines(1, (6, 6)), passes((6, 6))).denoise(y, 0.1)
    assert y.tobytes() == before


# --- the basis --------------------------------------------------------------------------------


def mixed(n_joint=20, rank=3, shape=(40, 36)):
    """A sample of that rank over its joint axis."""
    rng = np.random.default_rng(1)
    parts = np.stack([samples.tissue(shape, seed=i) for i in range(rank)])
    return np.tensordot(rng.standard_normal((n_joint, rank)), parts, axes=1).astype(np.float32)


def random_bank(n_base=9, joint=(), support=(5, 4), seed=0):
    rng = np.random.default_rng(seed)
    filters = rng.standard_normal((n_base, *joint, *support))
    norms = np.sqrt((filters**2).reshape(n_base, -1).sum(axis=1))
    filters /= norms.reshape(-1, *(1,) * (filters.ndim - 1))
    return FilterBank(filters.astype(np.float32), len(joint))


@pytest.mark.parametrize(
    ("joint", "support"), [((), (7,)), ((), (5, 4)), ((3,), (4, 4)), ((2, 2), (3, 3))]
)
def test_basis_is_orthonormal_constants_first_and_holds_every_filter(joint, support):
    bank = random_bank(6, joint, support)
    basis = Basis.of(bank)
    gram = basis.vectors @ basis.vectors.T
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-5)
    assert basis.patch == support
    assert basis.n_flat == len(basis.mixtures)
    size = np.prod(support)
    flats = basis.vectors[: basis.n_flat].reshape(basis.n_flat, basis.n_flat, size)
    assert np.ptp(flats, axis=2).max() < 1e-6
    others = basis.vectors[basis.n_flat :].reshape(-1, basis.n_flat, size)
    assert np.abs(others.sum(axis=2)).max() < 1e-4
    flat = bank.filters.reshape(6, -1, size)
    projected = np.einsum("kc,rcp->rkp", basis.mixtures, flat).reshape(6, -1)
    np.testing.assert_allclose((projected**2).sum(axis=1), 1, atol=1e-4)
    within = (projected @ basis.vectors.T) @ basis.vectors
    np.testing.assert_allclose(within, projected, atol=1e-5)


def test_filters_that_say_the_same_make_a_small_basis():
    bank = random_bank(3)
    doubled = FilterBank(np.concatenate([bank.filters, -bank.filters, bank.filters]))
    assert len(Basis.of(doubled).vectors) == len(Basis.of(bank).vectors) == 4


def test_basis_of_constant_filters_is_the_constant():
    bank = FilterBank(np.full((2, 4, 4), 0.25, np.float32))
    np.testing.assert_allclose(Basis.of(bank).vectors, np.full((1, 16), 0.25), atol=1e-6)


def test_basis_of_a_joint_bank_has_its_mixtures():
    x = mixed(8, 2)
    rng = np.random.default_rng(0)
    mixtures = np.linalg.qr(rng.standard_normal((8, 2)))[0].T
    inner = random_bank(5, (2,), (4, 4)).filters
    bank = FilterBank(np.einsum("kc,rkyx->rcyx", mixtures, inner).astype(np.float32), 1)
    basis = Basis.of(bank)
    assert basis.mixtures.shape == (2, 8)
    np.testing.assert_allclose(basis.mixtures @ basis.mixtures.T, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(basis.mixtures.T @ basis.mixtures, mixtures.T @ mixtures, atol=1e-5)
    assert basis.project(x).shape == (2, 40, 36)
    assert basis.back(basis.project(x)).shape == x.shape


def test_white_noise_stays_white_in_the_mixtures():
    basis = Basis.of(random_bank(12, (6,), (4, 4)))
    noise = np.random.default_rng(0).standard_normal((6, 60, 60)).astype(np.float32)
    few = basis.project(noise).reshape(basis.n_flat, -1)
    np.testing.assert_allclose(np.cov(few), np.eye(len(few)), atol=0.08)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_narrowed_basis_lies_within_the_wider_one(rank):
    sample = mixed(6, rank, (30, 30))
    wide = Basis.of(random_bank(20, (6,), (3, 3)))
    narrow = wide.narrowed(sample, 1e-3)
    assert len(narrow.mixtures) == rank
    assert narrow.patch == wide.patch
    np.testing.assert_allclose(
        narrow.vectors @ narrow.vectors.T, np.eye(len(narrow.vectors)), atol=1e-4
    )
    np.testing.assert_allclose(narrow.mixtures @ narrow.mixtures.T, np.eye(rank), atol=1e-4)
    within = (narrow.mixtures @ wide.mixtures.T) @ wide.mixtures
    np.testing.assert_allclose(within, narrow.mixtures, atol=1e-4)


def test_basis_of_one_mixture_is_narrow_already():
    basis = Basis.of(random_bank())
    assert basis.narrowed(np.zeros((1, 9, 9), np.float32), 1.0) is basis


def test_weak_filters_are_left_out_and_half_of_them_stay():
    y = noisy_tissue(0.1, (90, 90))[1]
    bank = LatticeSCSC(None, (6, 6), sigma=0.1).fit([y]).bank
    basis = Basis.of(bank)
    powers = np.array(bank.info["powers"]) / 0.1**2
    expected = 1 + max(int(np.ceil(len(powers) / 2)), np.count_nonzero(powers > 3))
    assert expected < len(basis.vectors)
    strong = basis.without_weak(bank)
    np.testing.assert_array_equal(strong.vectors, basis.vectors[:expected])
    clean = LatticeSCSC(None, (6, 6), sigma=1e-4).fit([y]).bank
    assert len(Basis.of(clean).without_weak(clean).vectors) == 36


@pytest.mark.parametrize("info", [{}, {"powers": "many"}, {"powers": [1.0], "arguments": None}])
def test_filters_of_unknown_power_all_stay(info):
    bank = FilterBank(random_bank().filters, info=info)
    basis = Basis.of(bank)
    assert basis.without_weak(bank) is basis


def test_mixtures_find_the_rank_of_the_signal():
    x = mixed()
    y = x + 0.05 * np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    mixtures = mixtures_above_noise([y[:, :20], y[:, 20:]], 0.05)
    assert len(mixtures) == 3
    np.testing.assert_allclose(mixtures @ mixtures.T, np.eye(3), atol=1e-5)
    # The noise of 17 of 20 dimensions is gone, and the signal is not.
    back = np.tensordot(mixtures.T @ mixtures, y, axes=1)
    assert psnr(back, x) > psnr(y, x) + 7


def test_mixture_of_noise_alone_is_the_smallest_there_is():
    noise = np.random.default_rng(0).standard_normal((15, 60, 60)).astype(np.float32)
    assert len(mixtures_above_noise([noise], 1.05)) == 1


def test_joint_values_are_denoised_together():
    x = mixed()
    y = x + 0.1 * np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    mixtures = mixtures_above_noise([y], 0.1)
    few = np.tensordot(mixtures, y, axes=1)
    denoiser = GroupDenoiser(cosines(len(few), (3, 3)), passes((3, 3), step=(2, 2)))
    result = np.tensordot(mixtures.T, denoiser.denoise(few, 0.1), axes=1)
    assert psnr(result, x) > psnr(np.tensordot(mixtures.T, few, axes=1), x) + 3


# --- the plan ---------------------------------------------------------------------------------


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("n_mixtures", [1, 2, 3, 5, 9, 40])
@pytest.mark.parametrize("shift", [(4,), (900,), (4, 4), (300, 200), (2, 4, 4), (40, 90, 80)])
def test_plan_fits_the_image(shift, n_mixtures, quality):
    for noisy in (False, True):
        patch = patch_shape(shift, n_mixtures, noisy)
        assert len(patch) == len(shift)
        assert all(2 <= p <= n for p, n in zip(patch, shift, strict=True))
        own = passes_for(patch, quality)
        # Patches of neighbouring references overlap or touch: nothing is left out.
        for step in (own.threshold.step, *(w.step for w in own.wiener)):
            assert all(1 <= s <= p for s, p in zip(step, patch, strict=True))
        size, overlap = tile_shape(shift, cosines(1, patch), own)
        assert all(p <= s <= n for p, s, n in zip(patch, size, shift, strict=True))
        assert all(0 <= o < s for o, s in zip(overlap, size, strict=True))


def test_tiles_keep_within_the_memory_for_one(monkeypatch):
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 25)
    basis = cosines(1, (8, 8))
    size, _ = tile_shape((5000, 4000), basis, passes_for((8, 8), "balanced"))
    assert np.prod(size) * len(basis.vectors) < 2 * (1 << 22)
    assert min(size) > 64


def test_compiling_ahead_compiles_what_the_passes_call():
    """Else the first tile would compile after all, while the user waits."""
    if group_kernels.get() is group_kernels._PLAIN:
        pytest.skip("numba is not there")
    compiling.warm_up()
    compiled = [len(f.signatures) for f in vars(group_kernels.get()).values()]
    _, y = noisy_tissue(0.1, (20, 18))
    GroupDenoiser(cosines(1, (5, 5)), passes((5, 5))).denoise(y[None], 0.1)
    assert [len(f.signatures) for f in vars(group_kernels.get()).values()] == compiled


# --- masks and sizes --------------------------------------------------------------------------

COLOURS = np.random.default_rng(0).random((6, 20, 24, 3)).astype(np.float32)
HOLES = np.random.default_rng(1).random(COLOURS.shape[:3]) < 0.2


class Watched:
    """A mask in a file, say, that knows what was read of it."""

    shape, dtype = HOLES.shape, HOLES.dtype

    def __init__(self):
        self.read = []

    def __getitem__(self, region):
        self.read.append(HOLES[region].size)
        return HOLES[region]

    def __array__(self, *_, **__):
        raise AssertionError("the mask was read as a whole")


def test_a_mask_without_the_axes_that_come_last_is_read_part_by_part():
    mask = Watched()
    source = open_samples(COLOURS, mask, None, "zyxc")
    mask.read.clear()
    part = np.s_[2:4, 5:9, :10]
    found = source.missing((), part)
    np.testing.assert_array_equal(found, np.broadcast_to(HOLES[part], (3, *HOLES[part].shape)))
    assert mask.read == [HOLES[part].size]


def test_a_mask_without_the_axes_that_come_last_is_sent_as_it_is():
    source = open_samples(COLOURS, HOLES, None, "zyxc")
    assert len(pickle.dumps(source.image.missing)) < HOLES.nbytes + 1000
    sent = pickle.loads(pickle.dumps(source.image.missing))
    whole = tuple(slice(0, n) for n in COLOURS.shape)
    np.testing.assert_array_equal(sent.read(whole), np.stack([HOLES] * 3, axis=-1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_mask_of_floats_that_are_0_or_1_is_a_mask(dtype):
    source = open_samples(COLOURS[0], HOLES[0].astype(dtype), "rgb", None)
    found = source.missing((), np.s_[:, :])
    np.testing.assert_array_equal(found, np.stack([HOLES[0]] * 3))


@pytest.mark.parametrize("value", [0.5, np.nan, -1.0, 255.0])
def test_a_mask_of_other_floats_is_refused_with_what_it_holds(value):
    mask = HOLES[0].astype("f4")
    mask[3, 4] = value
    with pytest.raises(ValueError, match=rf"^the mask holds {value:g} \(float32\).* mask > 0\.5"):
        open_samples(COLOURS[0], mask, "rgb", None)


@pytest.mark.parametrize("n_colours", [3, 4])
@pytest.mark.parametrize("image", [COLOURS[0, ..., 0], COLOURS[..., 0]])
def test_a_grey_picture_of_a_mask_is_a_mask(image, n_colours):
    picture = np.repeat(HOLES[0, ..., None].astype("u1") * 255, n_colours, axis=-1)
    picture[..., 3:] = 255
    source = open_samples(image, picture, None, "zyx"[-image.ndim :])
    whole = tuple(slice(0, n) for n in image.shape)
    found = source.missing((), whole)[0]
    np.testing.assert_array_equal(found, np.broadcast_to(HOLES[0], image.shape))


@pytest.mark.parametrize(("channel", "words"), [(1, "in colour"), (3, "transparent in parts")])
def test_a_picture_that_is_no_mask_is_refused(channel, words):
    picture = np.zeros((20, 24, 4), "u1")
    picture[3, 4, channel] = 200
    with pytest.raises(ValueError, match=rf"^the mask is a picture .*{words}.*save it in grey"):
        open_samples(COLOURS[0, ..., 0], picture, None, None)


@pytest.mark.parametrize("mask", [HOLES[0, 1:], HOLES[:3], HOLES[0].astype(complex)])
def test_other_masks_are_refused_as_masks(mask):
    with pytest.raises((ValueError, TypeError), match=r"^the mask"):
        inpaint(COLOURS[0, ..., 0], mask)


@pytest.mark.parametrize(
    ("shape", "axes", "words"),
    [
        ((2, 2), None, "too small.*at least 4 points are needed along y and x$"),
        ((3, 40), None, "too small.*at least 4 points are needed along y and x$"),
        ((3,), None, "too small.*at least 4 points are needed along x$"),
        ((2, 2, 2), "tyx", "too small.*at least 4 points are needed along y and x$"),
        ((40, 40, 3), "tyx", "axis 'x' has 3 points.*drop the axis, or choose another kind$"),
    ],
)
def test_an_image_that_is_too_small_is_not_sent_to_another_kind(shape, axes, words):
    with pytest.raises(ValueError, match=words):
        open_samples(np.arange(np.prod(shape), dtype=float).reshape(shape), None, None, axes)


def test_what_was_read_is_not_sent_along(tmp_path):
    values = np.random.default_rng(0).normal(size=(200, 200))
    array = zarr.create_array(str(tmp_path / "a.zarr"), shape=values.shape, dtype=values.dtype)
    array[:] = values
    source = open_samples(zarr.open_array(str(tmp_path / "a.zarr"), mode="r"), None, "image", None)
    source.read((), (slice(0, 200), slice(0, 200)))
    sent = pickle.dumps(source)
    assert len(sent) < values.nbytes / 10
    part = (slice(0, 20), slice(0, 20))
    np.testing.assert_array_equal(pickle.loads(sent).read((), part), source.read((), part))
