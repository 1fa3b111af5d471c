"""What suits which data: the shape of the filters, the passes, the tiles."""

from __future__ import annotations

import math
from typing import Literal

from napari_scsc.restore.basis import Basis
from napari_scsc.restore.chain import Passes

Quality = Literal["fast", "balanced", "best"]
QUALITIES = ("fast", "balanced", "best")

_TILE_COEFFICIENTS = 1 << 24  # of one tile: 64 MB an array


def patch_shape(shift: tuple[int, ...], n_mixtures: int, noisy: bool, kind: str) -> tuple[int, ...]:
    """Lengths of the filters on the shift axes; ``noisy``: the noise is stronger than the signal.

    About 64 to 130 values a patch, whatever the number of dimensions: fewer cannot tell signal
    from noise, more have no similar neighbours.
    """
    if len(shift) == 1:
        wanted: tuple[int, ...] = (max(4, 32 // n_mixtures),)
    elif len(shift) == 2:
        side = {1: 10 if noisy else 8, 2: 6, 3: 5, 4: 5, 5: 4}.get(n_mixtures, 3)
        wanted = (side, side)
    else:
        side = 4 if n_mixtures < 4 else 3
        long = 4 if kind == "stack" else 8
        wanted = (max(2, long // n_mixtures), side, side)
    return tuple(min(n, w) for n, w in zip(shift, wanted, strict=True))


def passes(patch: tuple[int, ...], quality: Quality) -> Passes:
    """How thorough to be."""
    step = tuple((p + 1) // 2 for p in patch)
    first: tuple[int, ...]
    second: tuple[int, ...]
    if len(patch) == 1:
        first, second = (60,), (120,)
    elif len(patch) == 2:
        first, second = (20, 20), (32, 32)
    else:
        first, second = (4, 8, 8), (4, 8, 8)
    if quality == "fast":
        step = tuple(max(1, round(0.65 * p)) for p in patch)
        return Passes(step, first, second, first_size=24, second_size=0)
    return Passes(step, first, second)


def tile_shape(
    shift: tuple[int, ...], basis: Basis, passes: Passes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lengths of a tile and of the overlap of two: as large as the memory for one tile allows."""
    overlap = [r + p for r, p in zip(passes.second_reach, basis.patch, strict=True)]
    points = _TILE_COEFFICIENTS / len(basis.vectors)
    size = [min(n, 2 * o) for n, o in zip(shift, overlap, strict=True)]
    while math.prod(size) < points and any(s < n for s, n in zip(size, shift, strict=True)):
        axis = min((s / n, i) for i, (s, n) in enumerate(zip(size, shift, strict=True)) if s < n)[1]
        size[axis] = min(shift[axis], math.ceil(size[axis] * 1.25))
    overlap = [min(o, s - 1) for o, s in zip(overlap, size, strict=True)]
    return tuple(size), tuple(overlap)
