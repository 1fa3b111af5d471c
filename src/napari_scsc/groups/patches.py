"""Patches in any number of dimensions: cut, expressed in base filters, and put together again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array

_ROWS = 1 << 16  # patches expressed at a time: a copy of all of them would be M times the image


@dataclass(frozen=True)
class PatchGrid:
    """All patches of a sample (C, *shift): one at each place where a patch fits."""

    n_joint: int
    shift: tuple[int, ...]
    patch: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(p > n for p, n in zip(self.patch, self.shift, strict=True)):
            raise ValueError(
                f"the image is smaller than a patch: {self.shift} on its shift axes, "
                f"and {self.patch} are needed"
            )

    @cached_property
    def places(self) -> tuple[int, ...]:
        """How many places there are along each shift axis."""
        return tuple(n - p + 1 for n, p in zip(self.shift, self.patch, strict=True))

    @cached_property
    def length(self) -> int:
        """M, the number of values of a patch."""
        return self.n_joint * math.prod(self.patch)

    def express(self, sample: Array, basis: Array) -> Array:
        """Coefficients (places, R) of all patches of ``sample`` in an orthonormal basis (R, M)."""
        axes = tuple(range(1, 1 + len(self.shift)))
        windows = sliding_window_view(sample, self.patch, axis=axes)  # (C, *places, *patch)
        windows = np.moveaxis(windows, 0, len(self.places))  # (*places, C, *patch)
        out = np.empty((math.prod(self.places), len(basis)), sample.dtype)
        rest = math.prod(self.places[1:])
        step = max(1, _ROWS // rest)
        for first in range(0, self.places[0], step):
            part = windows[first : first + step].reshape(-1, self.length)
            np.matmul(part, basis.T, out=out[first * rest : first * rest + len(part)])
        return out

    def touching(self, points: Array) -> Array:
        """Which patches, (*places,), hold one of the points that are True in (*shift,)."""
        around = tuple(range(-len(self.patch), 0))
        return np.asarray(sliding_window_view(points, self.patch).any(axis=around))

    def assemble(
        self, coefficients: Array, weights: Array, basis: Array, otherwise: Array
    ) -> Array:
        """The sample whose patches are these, where they overlap averaged by their weights.

        ``coefficients`` (places, R) are already multiplied by ``weights`` (places,). Points of
        which no patch has a weight are taken from the sample ``otherwise``.
        """
        total = np.zeros((self.n_joint, *self.shift), coefficients.dtype)
        norm = np.zeros(self.shift, np.float64)
        boxed = weights.reshape(self.places)
        atoms = basis.reshape(len(basis), self.n_joint, -1)
        for i, offset in enumerate(np.ndindex(*self.patch)):
            window = tuple(slice(o, o + n) for o, n in zip(offset, self.places, strict=True))
            values = coefficients @ np.ascontiguousarray(atoms[:, :, i])  # (places, C)
            total[(slice(None), *window)] += values.T.reshape(self.n_joint, *self.places)
            norm[window] += boxed
        covered = norm > 0
        average = total / np.where(covered, norm, 1)
        return np.asarray(np.where(covered, average, otherwise), coefficients.dtype)
