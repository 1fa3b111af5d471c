"""Coarser levels of an image: their chunks, and the values of their pixels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.scaling import floats_within


def regions_of(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[Region]:
    """The regions of all chunks, in the order of their values."""
    spans = (
        [slice(a, min(a + c, n)) for a in range(0, n, c)]
        for n, c in zip(shape, chunks, strict=True)
    )
    yield from itertools.product(*spans)


def means_of(values: Array, steps: Sequence[int]) -> Array:
    """Means of pairs along the axes whose step is 2; an odd last one stands for itself."""
    means, work_type = values, np.result_type(values.dtype, np.float32)
    for axis, step in enumerate(steps):
        if step == 2:
            moved = np.moveaxis(means, axis, 0)
            # Halves first: the sum of two large values may be beyond all.
            first = np.multiply(moved[::2], 0.5, dtype=work_type)
            n = len(moved) // 2
            first[:n] += np.multiply(moved[1::2], 0.5, dtype=work_type)
            first[n:] = moved[2 * n :]
            means = np.moveaxis(first, 0, axis)
    if values.dtype.kind == "f":
        return means.astype(values.dtype, copy=False)
    info = np.iinfo(values.dtype)
    limits = floats_within(info.min, info.max)
    return np.clip(np.rint(means), *limits).astype(values.dtype)
