"""Joint axes in the few mixtures of them that rise above the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Subspace:
    """An orthonormal basis (k, C) of mixtures of joint values, the strongest first."""

    mixtures: Array

    @classmethod
    def above_noise(cls, sample: Array, sigma: float) -> Subspace:
        """The mixtures of a sample (C, *shift) that white noise of that level cannot explain.

        Noise alone has no eigenvalue of its second moments above sigma^2 (1 + sqrt(C / P))^2
        (Marchenko and Pastur). One mixture is kept in any case.
        """
        n_joint = len(sample)
        flat = sample.reshape(n_joint, -1)
        moments = (flat @ flat.T).astype(np.float64) / flat.shape[1]
        powers, vectors = np.linalg.eigh(moments)
        edge = sigma**2 * (1 + np.sqrt(n_joint / flat.shape[1])) ** 2
        count = max(1, int(np.count_nonzero(powers > edge)))
        return cls(np.ascontiguousarray(vectors[:, ::-1][:, :count].T).astype(sample.dtype))

    def project(self, sample: Array) -> Array:
        """(C, *shift) -> (k, *shift); white noise stays white, and of the same level."""
        return np.tensordot(self.mixtures, sample, axes=1)

    def back(self, mixed: Array) -> Array:
        """(k, *shift) -> (C, *shift)."""
        return np.tensordot(self.mixtures.T, mixed, axes=1)
