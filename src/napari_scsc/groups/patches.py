"""Patches in any number of dimensions: cut, and expressed in base filters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

from napari_scsc._types import Array

_ROWS = 1 << 12  # patches expressed at a time: their copy stays in the cache

Mapping = Callable[..., Any]  # as ``map``


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

    @cached_property
    def points(self) -> Array:
        """(places,) of the first value of each patch, in a flat array of values (*shift, C)."""
        return self._numbers(self.places).ravel()

    @cached_property
    def offsets(self) -> Array:
        """(M,) of the values of a patch from its first one, in the order of a basis (C, *patch)."""
        return (self._numbers(self.patch) + np.arange(self.n_joint)[:, None]).ravel()

    def _numbers(self, lengths: tuple[int, ...]) -> Array:
        """(1, n) of the points in a box of these lengths, in the same array."""
        points = np.arange(math.prod(self.shift)).reshape(self.shift)
        return points[tuple(slice(n) for n in lengths)].reshape(1, -1) * self.n_joint

    def express(
        self, sample: Array, basis: Array, mapping: Mapping = map, out: Array | None = None
    ) -> Array:
        """Coefficients (places, R) of all patches of ``sample`` in an orthonormal basis (R, M).

        They go to ``out``, if it is given.
        """
        n_axes = len(self.shift)
        windows = sliding_window_view(sample, self.patch, axis=tuple(range(1, 1 + n_axes)))
        # (C, *patch, *places): what is copied below are long rows.
        windows = np.moveaxis(windows, range(1, 1 + n_axes), range(-n_axes, 0))
        if out is None:
            out = np.empty((math.prod(self.places), len(basis)), np.float32)
        rest = math.prod(self.places[1:])
        step = max(1, _ROWS // rest)
        before = (slice(None),) * (1 + n_axes)

        def express_part(first: int) -> None:
            part = windows[(*before, slice(first, first + step))].reshape(self.length, -1)
            np.matmul(part.T, basis.T, out=out[first * rest : first * rest + part.shape[1]])

        for _ in mapping(express_part, range(0, self.places[0], step)):
            pass
        return out

    def touching(self, points: Array) -> Array:
        """Which patches, (*places,), hold one of the points that are True in (*shift,)."""
        around = tuple(range(-len(self.patch), 0))
        return np.asarray(sliding_window_view(points, self.patch).any(axis=around))

    def cover(self, weights: Array) -> Array:
        """(*shift,): the sum of the weights of the patches that hold each point.

        ``weights`` (*shift,) are those of patches that begin there.
        """
        for axis, length in enumerate(self.patch):
            # The mean of the places whose patches reach a point: itself, and those before it.
            weights = length * ndimage.uniform_filter1d(
                weights, length, axis, mode="constant", origin=(length - 1) // 2
            )
        return weights
