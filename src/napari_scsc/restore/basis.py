"""What restoration needs of a bank: its joint mixtures, and an orthonormal basis of its filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.bank import FilterBank

Array = NDArray[Any]

_NEGLIGIBLE = 1e-3  # of the largest singular value: below, filters say nothing that others do not


@dataclass(frozen=True, slots=True)
class Basis:
    """An orthonormal basis of patches of a few mixtures of the joint values.

    Attributes
    ----------
    mixtures : ndarray, (k, C)
        Orthonormal mixtures of the joint values in which all filters lie.
    patch : tuple of int
        Lengths of a patch on the shift axes.
    vectors : ndarray, (R, k * prod(patch))
        The basis; its first k vectors are the constants of each mixture.
    """

    mixtures: Array
    patch: tuple[int, ...]
    vectors: Array

    @property
    def n_flat(self) -> int:
        """How many of the vectors are constant over the patch."""
        return len(self.mixtures)

    @classmethod
    def of(cls, bank: FilterBank, patch: tuple[int, ...] | None = None) -> Basis:
        """The span of the filters of a bank, and of the constants, which are always needed.

        With ``patch``, the span of the middles of the filters.
        """
        filters = bank.filters.reshape(bank.n_base, -1, *bank.support).astype(np.float64)
        values = np.moveaxis(filters, 1, 0).reshape(filters.shape[1], -1)
        left, singular, _ = np.linalg.svd(values, full_matrices=False)
        mixtures = left[:, singular > _NEGLIGIBLE * singular[0]].T
        mixed = np.einsum("kc,rc...->rk...", mixtures, filters)
        if patch is None:
            patch = bank.support
        else:
            starts = [(s - p) // 2 for s, p in zip(bank.support, patch, strict=True)]
            middle = (slice(s, s + p) for s, p in zip(starts, patch, strict=True))
            mixed = mixed[(slice(None), slice(None), *middle)]
        mixed = mixed.reshape(len(filters), len(mixtures), -1)
        mixed = mixed - mixed.mean(axis=2, keepdims=True)
        _, singular, right = np.linalg.svd(mixed.reshape(len(mixed), -1), full_matrices=False)
        lively = right[singular > _NEGLIGIBLE * max(singular[0], _NEGLIGIBLE)]
        vectors = np.vstack([_flats(len(mixtures), patch), lively])
        return cls(mixtures.astype(np.float32), patch, vectors.astype(np.float32))

    def project(self, sample: Array) -> Array:
        """(C, *shift) -> (k, *shift); white noise stays white, and of the same level."""
        return np.tensordot(self.mixtures, sample, axes=1)

    def back(self, mixed: Array) -> Array:
        """(k, *shift) -> (C, *shift)."""
        return np.tensordot(self.mixtures.T, mixed, axes=1)


def _flats(n_joint: int, patch: tuple[int, ...]) -> Array:
    """The constants (k, k * prod(patch)), one for each joint value."""
    size = int(np.prod(patch))
    return np.asarray(np.kron(np.eye(n_joint), np.full((1, size), size**-0.5)))
