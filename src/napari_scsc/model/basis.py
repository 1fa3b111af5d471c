"""Basis: the joint mixtures of a bank, and an orthonormal basis of the span of its filters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from napari_scsc._types import Array
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.lattice_patches import constant_filters

_MIN_STRONG_POWER = 3.0  # of a filter, beside that of the noise
_MIN_RELATIVE_STRENGTH = 1e-3  # of the strongest: what is fainter says nothing new


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
    def of(cls, bank: FilterBank) -> Basis:
        """The span of the filters of a bank, and of the constants, which are always needed."""
        return cls._of_filters(bank.filters.reshape(bank.n_base, -1, *bank.support))

    @classmethod
    def _of_filters(cls, filters: Array) -> Basis:
        """The same of filters (R, C, *patch)."""
        patch = filters.shape[2:]
        filters = filters.astype(np.float64)
        values = np.moveaxis(filters, 1, 0).reshape(filters.shape[1], -1)
        left, singular, _ = np.linalg.svd(values, full_matrices=False)
        # Filters that are zero everywhere, as of a constant joint value, have their constants.
        mixtures = left[:, singular >= _MIN_RELATIVE_STRENGTH * singular[0]].T
        mixed = np.einsum("kc,rc...->rk...", mixtures, filters)
        mixed = mixed.reshape(len(filters), len(mixtures), -1)
        mixed = mixed - mixed.mean(axis=2, keepdims=True)
        lively = _orthonormal(mixed.reshape(len(mixed), -1))
        vectors = np.vstack([constant_filters(len(mixtures), math.prod(patch)), lively])
        return cls(mixtures.astype(np.float32), patch, vectors.astype(np.float32))

    @classmethod
    def of_joint(cls, bank: FilterBank, chosen: Sequence[int]) -> Basis:
        """The same of the filters of some of the joint values alone.

        ``chosen`` are their numbers, as if all joint axes were one.
        """
        filters = bank.filters.reshape(bank.n_base, -1, *bank.support)[:, list(chosen)]
        return cls._of_filters(filters)

    def without_weak(self, bank: FilterBank) -> Basis:
        """The basis without those filters of its bank that hardly stand above the noise.

        Half of them stay in any case, and all of a bank that does not tell their powers.
        """
        try:
            powers = np.asarray(bank.info["powers"], float)
            noise = float(bank.info["arguments"]["sigma"]) ** 2
        except (KeyError, TypeError, ValueError):
            return self
        n_lively = len(self.vectors) - self.n_flat
        strong = int(np.count_nonzero(powers > _MIN_STRONG_POWER * noise))
        count = self.n_flat + max(math.ceil(n_lively / 2), strong)
        return replace(self, vectors=np.ascontiguousarray(self.vectors[:count]))

    def without(self, filters: Array) -> Basis:
        """The basis without what lies along filters (n, *joint, *patch), which are not constant."""
        values = filters.reshape(len(filters), -1, math.prod(self.patch)).astype(np.float64)
        mixed = np.einsum("kc,ncp->nkp", self.mixtures, values).reshape(len(filters), -1)
        known = _orthonormal(mixed)
        lively = self.vectors[self.n_flat :].astype(np.float64)
        left = _orthonormal(lively - (lively @ known.T) @ known)
        vectors = np.vstack([self.vectors[: self.n_flat], left])
        return replace(self, vectors=vectors.astype(np.float32))

    def narrowed(self, sample: Array, sigma: float) -> Basis:
        """The basis for those mixtures of a sample (C, *shift) that stand above noise."""
        if len(self.mixtures) == 1:
            return self
        narrow = mixtures_above_noise([self.project(sample)], sigma)
        lively = self.vectors[self.n_flat :].reshape(-1, self.n_flat, math.prod(self.patch))
        mixed = np.einsum("jk,rkp->rjp", narrow, lively).reshape(len(lively), -1)
        vectors = np.vstack(
            [constant_filters(len(narrow), math.prod(self.patch)), _orthonormal(mixed)]
        )
        return Basis(narrow @ self.mixtures, self.patch, vectors.astype(np.float32))

    def project(self, sample: Array) -> Array:
        """(C, *shift) -> (k, *shift); white noise stays white, and of the same level."""
        return np.tensordot(self.mixtures, sample, axes=1)

    def back(self, mixed: Array) -> Array:
        """(k, *shift) -> (C, *shift)."""
        return np.tensordot(self.mixtures.T, mixed, axes=1)

    def error_back(self, error: Array) -> Array:
        """Standard errors (*shift,), the same for all mixtures, as those of the joint values."""
        shares = np.sqrt(np.square(self.mixtures).sum(axis=0))
        return np.asarray(np.multiply.outer(shares, error), np.float32)


def _orthonormal(vectors: Array) -> Array:
    """An orthonormal basis of the span of some vectors, in their order (Gram and Schmidt).

    What is orthonormal already stays as it is: another basis of the same span would give another
    result, for small coefficients are dropped one by one.
    """
    basis: list[Array] = []
    largest = float(np.linalg.norm(vectors, axis=1).max(initial=0))
    for vector in vectors.astype(np.float64):
        rest = vector
        for _ in range(2):  # once leaves rounding errors of nearly dependent vectors
            if basis:
                known = np.asarray(basis)
                rest = rest - known.T @ (known @ rest)
        length = float(np.linalg.norm(rest))
        if length > _MIN_RELATIVE_STRENGTH * largest:
            basis.append(rest / length)
    return np.asarray(basis).reshape(len(basis), vectors.shape[1])


def mixtures_above_noise(tiles: list[Array], sigma: float) -> Array:
    """Orthonormal mixtures (k, C) of the joint values that white noise cannot explain.

    Noise alone has no eigenvalue of its second moments above sigma^2 (1 + sqrt(C / P))^2
    (Marchenko and Pastur). One mixture is kept in any case.
    """
    n_joint = len(tiles[0])
    if n_joint == 1:
        return np.ones((1, 1), np.float32)
    points = sum(tile[0].size for tile in tiles)
    moments = np.zeros((n_joint, n_joint))
    for tile in tiles:
        flat = tile.reshape(n_joint, -1)
        moments += (flat @ flat.T).astype(np.float64) / points
    powers, vectors = np.linalg.eigh(moments)
    edge = sigma**2 * (1 + math.sqrt(n_joint / points)) ** 2
    count = max(1, int(np.count_nonzero(powers > edge)))
    return np.ascontiguousarray(vectors[:, ::-1][:, :count].T).astype(np.float32)
