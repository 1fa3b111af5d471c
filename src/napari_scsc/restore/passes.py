"""The passes of each quality, and how large tiles may be for them."""

from __future__ import annotations

import math

from napari_scsc.groups.denoiser import N_COMPARED
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.learning.models import patch_shape
from napari_scsc.model.basis import Basis
from napari_scsc.restore.cost import SampleCost, count_tiles_of
from napari_scsc.restore.methods import Task
from napari_scsc.restore.quality import LEVELS, PassLevel, Quality

MAX_TILE_MEMORY = 110_000_000  # bytes: larger tiles repeat little less at their borders
# What a promise of the time is made of: many joint values become about so many mixtures, and take
# that much longer; so do three axes, and the rounds of inpainting.
_TYPICAL_MIXTURES, _MIXTURES_FACTOR, _THREE_AXES_FACTOR, _INPAINT_FACTOR = 5, 5.0, 2.7, 5


def passes_for(patch: tuple[int, ...], quality: Quality) -> Passes:
    """The passes of a quality, for patches of that shape."""
    level = LEVELS[quality]
    return Passes(
        _group_pass(level.threshold, patch), tuple(_group_pass(w, patch) for w in level.wiener)
    )


def _group_pass(level: PassLevel, patch: tuple[int, ...]) -> GroupPass:
    number = len(patch) - 1
    step = tuple(max(1, round(level.step_shares[number] * p)) for p in patch)
    return GroupPass(step, level.reaches[number], level.sizes[number])


def tile_shape(
    shift: tuple[int, ...], basis: Basis, passes: Passes, memory: int | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lengths of a tile and of the overlap of two: as large as the memory for one tile allows."""
    allowed = MAX_TILE_MEMORY if memory is None else min(memory, MAX_TILE_MEMORY)
    points = allowed / _bytes_per_point(*_numbers_of(basis))
    return _tile_shape(shift, basis.patch, points, passes)


def tile_memory(size: tuple[int, ...], basis: Basis) -> int:
    """About how many bytes a tile of that size takes."""
    return round(math.prod(size) * _bytes_per_point(*_numbers_of(basis)))


def cost(shift: tuple[int, ...], n_joint: int, task: Task, quality: Quality) -> SampleCost:
    """What a sample takes, before anything of it was read."""
    n_mixtures = min(n_joint, _TYPICAL_MIXTURES)
    patch = patch_shape(shift, n_mixtures, noisy=False)
    passes = passes_for(patch, quality)
    per_point = _bytes_per_point(n_mixtures * math.prod(patch), n_mixtures, n_joint)
    size, overlap = _tile_shape(shift, patch, MAX_TILE_MEMORY / per_point, passes)
    seconds = LEVELS[quality].seconds_per_megapoint * math.prod(shift) / 1e6
    seconds *= 1 if n_joint < _TYPICAL_MIXTURES else _MIXTURES_FACTOR
    seconds *= _THREE_AXES_FACTOR if len(shift) == 3 else 1
    seconds *= _INPAINT_FACTOR if task == "inpaint" else 1
    return SampleCost(
        tiles=count_tiles_of(shift, size, overlap),
        seconds=seconds,
        memory=round(math.prod(size) * per_point),
    )


def _numbers_of(basis: Basis) -> tuple[int, int, int]:
    """Vectors, mixtures and joint values of a basis."""
    return len(basis.vectors), *basis.mixtures.shape


def _bytes_per_point(n_vectors: int, n_mixtures: int, n_joint: int) -> float:
    """Memory that a tile takes, in bytes a point."""
    around = 6 * n_joint + 6 * n_mixtures  # the values as read, as worked on, and the estimates
    return 4.0 * (around + n_vectors + N_COMPARED)


def _tile_shape(
    shift: tuple[int, ...], patch: tuple[int, ...], points: float, passes: Passes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    overlap = [r // 2 + p for r, p in zip(passes.reach, patch, strict=True)]
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
