"""Patches by themselves, at every place: thresholded, then weighed by what the thresholding kept.

The first look at a result: no groups, and nothing to compile, all is matrix products. The samples
are small neighbourhoods, each with weights W of its own: the rotation of the leading base filters
in which its patches vary most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.groups.patches import PatchGrid
from napari_scsc.model.basis import Basis

_THRESHOLD = 2.5  # in noise levels: what a coefficient must exceed
_ASSUMED_NOISE = 0.85  # of the true one, beside the power of a pilot, which lacks a little
_N_MIXED = 24  # leading base filters that each neighbourhood mixes anew
# Places along both sides of one: no power of two in all, whose columns would share few lines of the
# cache, and products take a third longer.
_NEIGHBOURHOOD = (32, 132)

Block = tuple[int, slice, slice]  # places: a plane, rows, columns


def denoise_patches(sample: Array, basis: Basis, sigma: float, cancellation: Cancellation) -> Array:
    """Take white noise of level ``sigma`` away from a sample (k, *shift)."""
    vectors, limit = basis.vectors, np.float32(_THRESHOLD * sigma)
    back = np.ascontiguousarray(vectors.T)

    def threshold(patches: Array) -> tuple[Array, Array]:
        codes = vectors @ patches
        kept = np.abs(codes) > limit
        kept[: basis.n_flat] = True
        weights = 1 / (1 + kept.sum(axis=0, dtype=codes.dtype))
        codes *= kept
        codes *= weights
        return back @ codes, weights

    # Every other place is enough for a pilot, in a quarter of the time.
    pilot = _average([sample], basis.patch, 2, threshold, cancellation)
    return _weigh_by_pilot(sample, pilot, basis, sigma, cancellation)


def _weigh_by_pilot(
    sample: Array, pilot: Array, basis: Basis, sigma: float, cancellation: Cancellation
) -> Array:
    """Weigh each coefficient of each patch by its power in a pilot, in the filters D = B W."""
    noise = np.float32((_ASSUMED_NOISE * sigma) ** 2)

    n_flat = basis.n_flat
    mixed = slice(n_flat, n_flat + _N_MIXED)

    def weigh(patches: Array, of_pilot: Array) -> tuple[Array, Array]:
        power = basis.vectors @ of_pilot
        _, w = np.linalg.eigh(power[mixed] @ power[mixed].T)
        own = basis.vectors.copy()
        own[mixed] = w.T @ own[mixed]
        power[mixed] = w.T @ power[mixed]
        np.square(power, out=power)
        share = power / (power + noise)
        share[:n_flat] = 1
        weights = 1 / np.einsum("rn,rn->n", share, share)
        codes = own @ patches
        codes *= share
        codes *= weights
        return np.ascontiguousarray(own.T) @ codes, np.asarray(weights)

    return _average([sample, pilot], basis.patch, 1, weigh, cancellation)


def _average(
    samples: list[Array],
    patch_shape: tuple[int, ...],
    step: int,
    estimate: Callable[..., tuple[Array, Array]],
    cancellation: Cancellation,
) -> Array:
    """The first of some samples (k, *shift) from the patches at every ``step``-th place.

    ``estimate`` gets the patches (M, n) of a neighbourhood in each sample, and returns estimates of
    the first, times their weights, and the weights (n,).
    """
    n_joint, shift = len(samples[0]), samples[0].shape[1:]
    PatchGrid(n_joint, shift, patch_shape)  # refuses an image that is smaller than a patch
    patch = _three(patch_shape)
    # In three dimensions neighbours overlap in more directions: every other plane will do.
    steps = tuple(2 if axis == 0 and p > 1 else min(step, p) for axis, p in enumerate(patch))
    n_places = [n - p + 1 for n, p in zip(_three(shift), patch, strict=True)]
    # A last place that no step leads to is reached in a mirror.
    pads = [(0, -(n - 1) % s) for n, s in zip(n_places, steps, strict=True)]
    padded = [np.pad(x.reshape(-1, *_three(shift)), [(0, 0), *pads], "symmetric") for x in samples]
    planes = [_planes(x, patch, steps) for x in padded]
    weights = np.zeros(planes[0].shape[4:], samples[0].dtype)
    total = np.zeros_like(padded[0])
    # A view of where the patches lie: they overlap, so one point of all of them at a time.
    targets = _planes(total, patch, steps, writeable=True)
    for block in _blocks(weights.shape):
        cancellation.check()
        size = weights[block].shape
        patches = (p[(..., *block)].reshape(-1, size[0] * size[1]) for p in planes)
        values, own_weights = estimate(*patches)
        weights[block] = own_weights.reshape(size)
        target = targets[(..., *block)]
        for offset, added in zip(
            np.ndindex(patch), values.reshape(n_joint, -1, *size).swapaxes(0, 1), strict=True
        ):
            target[(slice(None), *offset)] += added
    norm = _spread(weights, patch, steps)
    return np.asarray((total / norm)[(slice(None), *map(slice, _three(shift)))]).reshape(
        samples[0].shape
    )


def _planes(
    sample: Array, patch: tuple[int, ...], steps: tuple[int, ...], *, writeable: bool = False
) -> Array:
    """A view (k, *patch, *places) of the patches of a sample (k, z, y, x) at every few places."""
    windows = sliding_window_view(sample, patch, axis=(1, 2, 3), writeable=writeable)
    stepped = windows[:, :: steps[0], :: steps[1], :: steps[2]]
    return stepped.transpose(0, 4, 5, 6, 1, 2, 3)


def _blocks(places: tuple[int, ...]) -> Iterator[Block]:
    """Neighbourhoods of places, each in one plane."""
    height, width = _NEIGHBOURHOOD
    for z, y, x in np.ndindex(places[0], -(-places[1] // height), -(-places[2] // width)):
        rows = slice(y * height, min((y + 1) * height, places[1]))
        yield z, rows, slice(x * width, min((x + 1) * width, places[2]))


def _spread(weights: Array, patch: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """The sum, at each point, of the weights of the places whose patches cover it."""
    for axis, (p, s) in enumerate(zip(patch, steps, strict=True)):
        moved = np.moveaxis(weights, axis, 0)
        n = (len(moved) - 1) * s + 1
        total = np.zeros((n + p - 1, *moved.shape[1:]), weights.dtype)
        for offset in range(p):
            total[offset : offset + n : s] += moved
        weights = np.moveaxis(total, 0, axis)
    return weights


def _three(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Lengths on three axes, the first of them 1."""
    return (1,) * (3 - len(lengths)) + tuple(lengths)
