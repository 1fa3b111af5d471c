"""The cosine basis in which patches are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from napari_scsc._types import Array


def cosine_basis(n_joint: int, patch: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """All cosines of a patch, (M, M), orthonormal, the constant first."""
    basis: Array = np.ones((1, 1))
    for length in (n_joint, *patch):
        one = scipy.fft.dct(np.eye(length), norm="ortho", axis=0)
        basis = np.kron(basis, one)
    return basis.astype(dtype)
