"""A sample as patches on lattices: cut, second moments, code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array
from napari_scsc.checks import check_sample
from napari_scsc.errors import UserError
from napari_scsc.model.threads import single_threaded

_CODE_THRESHOLD_SIGMAS = 2.7  # noise levels that a code must exceed
_MAX_PATCHES_PER_SAMPLE = 8_000
_MAX_CODED_PATCHES = 2_000  # of a sample: what is told of a code needs no more


@dataclass(frozen=True, slots=True)
class SamplePatches:
    """The patches (n, M) of a sample of that shape, whose first axes are joint."""

    patches: Array
    shape: tuple[int, ...]
    n_joint: int


@dataclass(frozen=True, slots=True)
class SampleMoments:
    """The second moments of the patches of a sample; None if it has no whole patch."""

    moments: Array | None  # (M, M)
    shape: tuple[int, ...]
    joint: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CodedPatches:
    """The code of the patches of a sample."""

    weights: Array  # (R, R')
    use: Array  # (R',)
    cost: float
    sparsity: float
    error: float  # mean square of what the code leaves


def constant_filters(n_joint: int, size: int) -> Array:
    """The filters (C, C * size) that are constant over their support, one for each joint value."""
    return np.asarray(np.kron(np.eye(n_joint), np.full((1, size), size**-0.5)))


def cut_sample(
    sample: Any, number: int, *, seed: int, support: tuple[int, ...], n_joint: int
) -> SamplePatches:
    """Cut a sample, an array or a pair (array, mask), into patches.

    Seed and number of the sample say where its lattices lie.
    """
    x, mask = sample if isinstance(sample, tuple) else (sample, None)
    array, known = check_sample(x, n_joint, len(support), mask)
    rng = np.random.default_rng([seed, number])
    with single_threaded():
        patches = _cut_patches(array, known, support, n_joint, rng)
    return SamplePatches(patches, array.shape, n_joint)


def measure_moments(cut: SamplePatches) -> SampleMoments:
    """The second moments of the patches of a sample."""
    patches, moments = cut.patches, None
    if len(patches):
        with single_threaded():
            moments = (patches.T @ patches).astype(np.float64) / len(patches)
    return SampleMoments(moments, cut.shape, cut.shape[: cut.n_joint])


def code_patches(cut: SamplePatches, *, filters: Array, n_flat: int, sigma: float) -> CodedPatches:
    """Code patches of a sample, for all of them, with the filters (R', M) not constant."""
    patches = cut.patches[:: -(-len(cut.patches) // _MAX_CODED_PATCHES) or 1]
    weights = np.zeros((n_flat + len(filters), len(filters)), np.float32)
    if not len(patches):
        return CodedPatches(weights, np.zeros(len(filters)), 0.0, 0.0, 0.0)
    with single_threaded():
        coefficients = patches @ filters.T
        _, rotation = np.linalg.eigh((coefficients.T @ coefficients).astype(np.float64))
        weights[n_flat:] = rotation[:, ::-1]
        codes = coefficients @ weights[n_flat:]
        threshold = _CODE_THRESHOLD_SIGMAS * sigma
        codes[np.abs(codes) <= threshold] = 0
        residual = patches - (codes @ weights[n_flat:].T) @ filters
    square = float(np.einsum("nm,nm->", residual, residual, dtype=np.float64))
    n_used = np.count_nonzero(codes)
    times = len(cut.patches) / len(patches)
    return CodedPatches(
        weights=weights,
        use=times * np.abs(codes).sum(axis=0, dtype=np.float64),
        cost=times * (0.5 * square + 0.5 * threshold**2 * n_used),
        sparsity=n_used / max(codes.size, 1),
        error=square / residual.size,
    )


def _cut_patches(
    sample: Array,
    known: Array | None,
    support: tuple[int, ...],
    n_joint: int,
    rng: np.random.Generator,
) -> Array:
    """Patches (n, M) without their means; those that touch what was not measured are left out.

    They lie on lattices of the support at random places: as many lattices as the sample has room
    for, and no more patches than needed.
    """
    shift = sample.shape[n_joint:]
    if any(h > n for h, n in zip(support, shift, strict=True)):
        raise UserError(
            f"the sample has the lengths {shift} on its shift axes, and a filter {support}: "
            "a sample must be at least as long"
        )
    axes = tuple(range(n_joint, sample.ndim))
    windows = sliding_window_view(sample, support, axis=axes)
    places = windows.shape[n_joint : sample.ndim]
    usable: Array = np.ones(places, bool)
    if known is not None:
        full = np.broadcast_to(known, sample.shape).all(axis=tuple(range(n_joint)))
        around = tuple(range(-len(support), 0))
        usable = np.asarray(sliding_window_view(full, support).all(axis=around))
    chosen = np.flatnonzero(usable)
    per_lattice = max(1, math.ceil(math.prod(places) / math.prod(support)))
    lattices = max(1, min(math.prod(support), _MAX_PATCHES_PER_SAMPLE // per_lattice))
    order = rng.permutation(len(chosen))[: lattices * per_lattice]
    index = np.unravel_index(np.sort(chosen[order]), places)
    every: list[Any] = [slice(None)] * n_joint
    cut = windows[(*every, *index)]  # (*joint, n, *support)
    size = math.prod(support)
    n_values = math.prod(sample.shape[:n_joint])
    cut = np.moveaxis(cut, n_joint, 0).reshape(len(order), n_values, size)
    cut = cut.astype(np.float32)
    cut -= cut.mean(axis=2, keepdims=True)
    return np.asarray(cut.reshape(len(order), n_values * size))
