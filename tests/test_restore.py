from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import samples
from napari_scsc.restore import groups
from napari_scsc.restore.chain import ChainSettings, denoise_sample
from napari_scsc.restore.patches import PatchGrid, cosine_basis
from napari_scsc.restore.subspace import Subspace

SHAPES = [((30,), (5,)), ((14, 17), (4, 3)), ((7, 9, 8), (3, 2, 3))]


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


@pytest.mark.parametrize("n_joint", [1, 3])
@pytest.mark.parametrize(("shift", "patch"), SHAPES)
def test_patches_put_together_are_the_sample(n_joint, shift, patch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_joint, *shift)).astype(np.float32)
    grid = PatchGrid(n_joint, shift, patch)
    basis = cosine_basis(n_joint, patch)
    coefficients = grid.express(x, basis)
    weights = rng.uniform(0.1, 2, len(coefficients)).astype(np.float32)
    back = grid.assemble(coefficients * weights[:, None], weights, basis)
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
    monkeypatch.setattr("napari_scsc.restore.patches._ROWS", 40)
    np.testing.assert_allclose(grid.express(x, basis), whole, atol=1e-6)


def test_sample_smaller_than_a_patch_is_refused():
    with pytest.raises(ValueError, match="smaller than a patch"):
        PatchGrid(1, (5, 9), (8, 8))


@pytest.mark.parametrize("places", [(1, 9, 11), (4, 5, 6), (1, 1, 30)])
def test_matches_are_the_nearest_in_the_window(places):
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal((np.prod(places), 5)).astype(np.float32)
    step, reach = np.array([2, 3, 3]), np.minimum(np.array([2, 3, 4]), np.array(places) - 1)
    size = 4
    found = groups.get().match(coefficients, places, step, reach, size)
    index = np.arange(np.prod(places)).reshape(places)
    expected = []
    ends = [sorted({*range(0, n, s), n - 1}) for n, s in zip(places, step, strict=True)]
    for place in np.stack(np.meshgrid(*ends, indexing="ij"), -1).reshape(-1, 3):
        window = index[
            tuple(slice(max(0, p - r), p + r + 1) for p, r in zip(place, reach, strict=True))
        ]
        reference = coefficients[index[tuple(place)]]
        distance = ((coefficients[window.ravel()] - reference) ** 2).sum(axis=1)
        expected.append(window.ravel()[np.argsort(distance, kind="stable")[:size]])
        assert expected[-1][0] == index[tuple(place)]
    np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(expected, axis=0))


def noisy_tissue(sigma, shape=(72, 64)):
    x = samples.tissue(shape)
    return x, x + sigma * np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("second", [0, 32])
def test_noise_goes_and_the_picture_stays(second):
    x, y = noisy_tissue(0.1)
    settings = ChainSettings(first_size=24, second_size=second)
    result = denoise_sample(y[None], 0.1, (8, 8), cosine_basis(1, (8, 8)), settings)[0]
    assert result.dtype == np.float32
    assert psnr(result, x) > psnr(y, x) + 7


def test_wiener_pass_improves_on_the_first():
    x, y = noisy_tissue(0.1, (128, 128))
    basis = cosine_basis(1, (8, 8))
    first = denoise_sample(y[None], 0.1, (8, 8), basis, ChainSettings(second_size=0))[0]
    both = denoise_sample(y[None], 0.1, (8, 8), basis)[0]
    assert psnr(both, x) > psnr(first, x)


def test_next_to_no_noise_changes_next_to_nothing():
    x, _ = noisy_tissue(0.1)
    result = denoise_sample(x[None], 1e-4, (6, 6), cosine_basis(1, (6, 6)))[0]
    assert np.abs(result - x).max() < 1e-3


@pytest.mark.parametrize(("shift", "patch"), SHAPES)
def test_constant_stays_constant(shift, patch):
    x = np.full((2, *shift), 0.3, np.float32)
    result = denoise_sample(x, 0.1, patch, cosine_basis(2, patch))
    np.testing.assert_allclose(result, x, atol=1e-6)


def test_brightness_is_carried_through():
    _, y = noisy_tissue(0.1)
    basis = cosine_basis(1, (8, 8))
    plain, brighter = (denoise_sample(v[None], 0.1, (8, 8), basis) for v in (y, y + 2))
    np.testing.assert_allclose(brighter - 2, plain, atol=2e-3)


@pytest.mark.parametrize("factor", [100.0, 60_000.0])
def test_scale_is_carried_through(factor):
    _, y = noisy_tissue(0.1)
    basis = cosine_basis(1, (8, 8))
    plain = denoise_sample(y[None], 0.1, (8, 8), basis)
    scaled = denoise_sample(y[None] * np.float32(factor), 0.1 * factor, (8, 8), basis)
    np.testing.assert_allclose(scaled / factor, plain, atol=2e-3)


def test_result_lies_in_the_span_of_the_base_filters():
    """With few base filters, each estimated patch is a mixture of them and nothing else."""
    _, y = noisy_tissue(0.1, (40, 40))
    patch = (8, 8)
    basis = cosine_basis(1, patch)[:1]  # the constant alone
    result = denoise_sample(y[None], 0.1, patch, basis, ChainSettings(step=8, reach=4))[0]
    # What constants at overlapping places can make is smooth: hardly any energy at high frequency.
    assert np.diff(result, 2, axis=0).std() < 0.2 * np.diff(y, 2, axis=0).std()


def test_plain_python_equals_compiled(monkeypatch):
    _, y = noisy_tissue(0.1, (20, 18))
    basis = cosine_basis(1, (5, 5))
    settings = ChainSettings(step=4, reach=5, first_size=10, second_size=12)
    compiled = denoise_sample(y[None], 0.1, (5, 5), basis, settings)
    monkeypatch.setenv("NAPARI_SCSC_KERNELS", "numpy")
    np.testing.assert_allclose(
        denoise_sample(y[None], 0.1, (5, 5), basis, settings), compiled, atol=1e-4
    )


def mixed(n_joint=20, rank=3, shape=(40, 36)):
    """A sample of that rank over its joint axis."""
    rng = np.random.default_rng(1)
    parts = np.stack([samples.tissue(shape, seed=i) for i in range(rank)])
    return np.tensordot(rng.standard_normal((n_joint, rank)), parts, axes=1).astype(np.float32)


def test_subspace_finds_the_rank_of_the_signal():
    x = mixed()
    y = x + 0.05 * np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    subspace = Subspace.above_noise(y, 0.05)
    assert len(subspace.mixtures) == 3
    np.testing.assert_allclose(subspace.mixtures @ subspace.mixtures.T, np.eye(3), atol=1e-5)
    # The noise of 17 of 20 dimensions is gone, and the signal is not.
    assert psnr(subspace.back(subspace.project(y)), x) > psnr(y, x) + 7


def test_subspace_of_noise_alone_is_the_smallest_there_is():
    noise = np.random.default_rng(0).standard_normal((15, 60, 60)).astype(np.float32)
    assert len(Subspace.above_noise(noise, 1.05).mixtures) == 1


def test_joint_axes_are_denoised_together():
    x = mixed()
    y = x + 0.1 * np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    subspace = Subspace.above_noise(y, 0.1)
    few = subspace.project(y)
    basis = cosine_basis(len(few), (3, 3))
    result = subspace.back(denoise_sample(few, 0.1, (3, 3), basis, ChainSettings(step=2, reach=8)))
    assert psnr(result, x) > psnr(subspace.back(few), x) + 3
