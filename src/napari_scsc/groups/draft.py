"""A quick draft: patches on a few lattices, each thresholded by itself, no groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.model.basis import Basis

_THRESHOLD = 2.7  # in noise levels: what a coefficient must exceed


def draft(sample: Array, basis: Basis, sigma: float, cancellation: Cancellation) -> Array:
    """Take white noise of level ``sigma`` away from a sample (k, *shift).

    Each point is the mean of the patches of all lattices that cover it, a patch counting the more
    the fewer coefficients it needs.
    """
    total = np.zeros_like(sample)
    norm = np.zeros(sample.shape[1:], sample.dtype)
    for lattice in _lattices(sample.shape[1:], basis.patch):
        cancellation.check()
        patches = lattice.cut(sample)
        codes = patches @ basis.vectors.T
        kept = np.abs(codes) > _THRESHOLD * sigma
        kept[:, : basis.n_flat] = True
        weights = 1 / (1 + kept.sum(axis=1, dtype=sample.dtype))
        codes *= kept * weights[:, None]
        total += lattice.join(codes @ basis.vectors, len(sample))
        norm += lattice.join(np.repeat(weights[:, None], math.prod(basis.patch), axis=1), 1)[0]
    return np.asarray(total / norm)


class _Lattice:
    """Patches side by side that cover a sample, the outer ones with reflected points."""

    def __init__(self, shift: tuple[int, ...], patch: tuple[int, ...], start: tuple[int, ...]):
        before = [-s % p for s, p in zip(start, patch, strict=True)]
        after = [-(n + b) % p for n, b, p in zip(shift, before, patch, strict=True)]
        self._pads = list(zip(before, after, strict=True))
        self._inside = tuple(slice(b, b + n) for b, n in zip(before, shift, strict=True))
        self._patch = patch
        self._counts = [
            (n + b + a) // p for n, b, a, p in zip(shift, before, after, patch, strict=True)
        ]

    def cut(self, sample: Array) -> Array:
        """(k, *shift) -> (patches, k * prod(patch))."""
        padded = np.pad(sample, [(0, 0), *self._pads], mode="symmetric")
        pairs = zip(self._counts, self._patch, strict=True)
        parts = padded.reshape(len(sample), *itertools.chain(*pairs))
        n = len(self._patch)
        order = [*range(1, 2 * n, 2), 0, *range(2, 2 * n + 1, 2)]
        return parts.transpose(order).reshape(math.prod(self._counts), -1)

    def join(self, patches: Array, n_joint: int) -> Array:
        """(patches, k * prod(patch)) -> (k, *shift)."""
        n = len(self._patch)
        parts = patches.reshape(*self._counts, n_joint, *self._patch)
        order = [n, *itertools.chain(*((i, n + 1 + i) for i in range(n)))]
        lengths = [c * p for c, p in zip(self._counts, self._patch, strict=True)]
        return parts.transpose(order).reshape(n_joint, *lengths)[(slice(None), *self._inside)]


def _lattices(shift: tuple[int, ...], patch: tuple[int, ...]) -> Iterator[_Lattice]:
    """Two places along each axis, half a patch apart, in every combination."""
    for start in itertools.product(*(sorted({0, p // 2}) for p in patch)):
        yield _Lattice(shift, patch, start)
