"""What suits which data: the shape of the filters, the passes, the tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from napari_scsc.choices import Quality
from napari_scsc.learn.models import patch_shape
from napari_scsc.model.basis import Basis
from napari_scsc.restore.groups.denoiser import Passes

TILE_MEMORY = 280_000_000  # of one tile, in bytes: larger ones repeat little less at their borders
# What a promise of the time is made of: measured on a laptop's core, a million points of an image;
# many joint values become about so many mixtures, and take that much longer; so do three axes.
_SECONDS = {"draft": 0.2, "fast": 10.0, "balanced": 26.0, "best": 90.0}
_MIXTURES, _MIXING, _THIRD_AXIS = 5, 5.0, 2.7


def passes_of(patch: tuple[int, ...], quality: Quality, thorough: bool = False) -> Passes:
    """What a quality means; ``thorough``: the references as close as suits many rounds."""
    first = {1: (60,), 2: (20, 20), 3: (16, 6, 6)}[len(patch)]
    second = {1: (120,), 2: (32, 32), 3: (16, 8, 8)}[len(patch)]
    if quality == "draft":
        nowhere = (0,) * len(patch)
        return Passes(patch, nowhere, nowhere, first_size=0, second_size=0)
    if quality == "fast":
        step = tuple(max(1, round(0.65 * p)) for p in patch)
        return Passes(step, first, second, first_size=24, second_size=0)
    # In three dimensions the passes cost most, and neighbours overlap in more directions.
    share = 0.6 if len(patch) == 3 else 0.5
    if quality == "best" and not has_useful_middles(patch):
        share = 0.34
    if quality == "balanced" and len(patch) == 2 and not thorough:
        share = 0.55  # 0.03 dB less than 0.5, in little more than half of the time
    return Passes(tuple(math.ceil(share * p) for p in patch), first, second)


def has_useful_middles(patch: tuple[int, ...]) -> bool:
    """Whether the middles of such filters add to the result, or only to the time.

    They do in images of little noise; large filters, which strong noise asks for, gain more from
    reference patches that lie closer.
    """
    return len(patch) == 2 and min(patch) > 4 and max(patch) < 10


def tile_shape(
    shift: tuple[int, ...], basis: Basis, passes: Passes, memory: int | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lengths of a tile and of the overlap of two: as large as the memory for one tile allows."""
    allowed = TILE_MEMORY if memory is None else min(memory, TILE_MEMORY)
    points = allowed / _bytes_a_point(*_numbers(basis), passes)
    return _tile_shape(shift, basis.patch, points, passes)


def tile_memory(size: tuple[int, ...], basis: Basis, passes: Passes) -> int:
    """About how many bytes a tile of that size takes."""
    return round(math.prod(size) * _bytes_a_point(*_numbers(basis), passes))


def _numbers(basis: Basis) -> tuple[int, int, int]:
    return len(basis.vectors), *basis.mixtures.shape


def _bytes_a_point(n_vectors: int, n_mixtures: int, n_joint: int, passes: Passes) -> float:
    """Memory that a tile takes, in bytes a point."""
    around = 6 * n_joint + 6 * n_mixtures  # the values as read, as worked on, and the estimates
    # Coefficients of the tile, of its pilot, and what is gathered of both; or those of a lattice.
    coefficients = 3 * n_mixtures if passes.is_draft else 4 * n_vectors
    return 4.0 * (around + coefficients)


@dataclass(frozen=True, slots=True)
class Work:
    """What one sample takes, about: tiles, seconds of one thread, bytes for the largest tile."""

    tiles: int
    seconds: float
    memory: int


def work(shift: tuple[int, ...], n_joint: int, quality: Quality) -> Work:
    """What a sample takes, before anything of it was read."""
    n_mixtures = min(n_joint, _MIXTURES)
    patch = patch_shape(shift, n_mixtures, noisy=False)
    n_vectors = n_mixtures * math.prod(patch)
    own = passes_of(patch, quality)
    a_point = _bytes_a_point(n_vectors, n_mixtures, n_joint, own)
    size, overlap = _tile_shape(shift, patch, TILE_MEMORY / a_point, own)
    tiles = math.prod(
        math.ceil(max(n - o, 1) / max(s - o, 1))
        for n, s, o in zip(shift, size, overlap, strict=True)
    )
    seconds = _SECONDS[quality] * (1 if n_joint < _MIXTURES else _MIXING)
    seconds *= _THIRD_AXIS if len(shift) == 3 else 1
    return Work(tiles, seconds * math.prod(shift) / 1e6, round(math.prod(size) * a_point))


def _tile_shape(
    shift: tuple[int, ...], patch: tuple[int, ...], points: float, passes: Passes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    overlap = [r // 2 + p for r, p in zip(passes.second_reach, patch, strict=True)]
    counts = [1] * len(shift)

    def size() -> list[int]:
        """Just as long as so many tiles with that overlap must be."""
        parts = zip(shift, counts, overlap, strict=True)
        return [math.ceil((n + (c - 1) * o) / c) for n, c, o in parts]

    while math.prod(size()) > points:
        # Cut where a tile is longest beside what it shares: that repeats least.
        ratio, axis = max((s / o, i) for i, (s, o) in enumerate(zip(size(), overlap, strict=True)))
        if ratio <= 2.5:
            break
        counts[axis] += 1
    return tuple(size()), tuple(min(o, s - 1) for o, s in zip(overlap, size(), strict=True))
