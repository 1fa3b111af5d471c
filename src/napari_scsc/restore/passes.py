"""The passes of each quality, and how large tiles may be for them."""

from __future__ import annotations

import math

from napari_scsc.groups.denoiser import N_COMPARED
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.learning.models import patch_shape
from napari_scsc.learning.plan import AUTO_TILES, MAX_TILE_POINTS
from napari_scsc.model.basis import Basis
from napari_scsc.restore.methods import Task
from napari_scsc.restore.quality import LEVELS, PassLevel, Quality
from napari_scsc.restore.sample_cost import SampleCost, count_tiles_of

MAX_TILE_MEMORY = 110_000_000  # bytes: larger tiles repeat little less at their borders
# What a promise of the time is made of, all of it measured. Many joint values become about so many
# mixtures. Inpainting ends with little noise, above which more stands: more mixtures, and more
# directions in which a group varies.
_TYPICAL_MIXTURES: dict[Task, int] = {"denoise": 5, "inpaint": 14}
_INPAINT_FACTOR = 1.3
_SECONDS_PER_PRODUCT = 4e-11  # of the values of a patch and of a filter
_SECONDS_PER_POINT = 1.5e-7  # of a pass, whatever it does there
_SECONDS_PER_PAIR, _SECONDS_PER_REFERENCE = 3.5e-9, 5e-6  # of matching
_SECONDS_PER_MEMBER_VALUE = 9e-9  # of a group
_SECONDS_PER_READ_VALUE = 3e-8
_SECONDS_TO_BEGIN = 0.01
_SECONDS_TO_LEARN_A_VALUE = 6e-9  # of all patches that are looked at
_SECONDS_OF_NOISE_A_POINT, _SECONDS_OF_NOISE_A_VALUE = 1e-6, 1e-7  # to find its level
_MAX_LEARNED_POINTS = AUTO_TILES * MAX_TILE_POINTS


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
    n_mixtures = min(n_joint, _TYPICAL_MIXTURES[task])
    patch = patch_shape(shift, n_mixtures, noisy=False)
    length = n_mixtures * math.prod(patch)
    is_half = LEVELS[quality].leaves_out_weak_filters or n_mixtures > 1
    n_vectors = (0.5 if is_half else 0.9) * length
    passes = passes_for(patch, quality)
    if task == "inpaint":
        passes = passes.nearby()
    per_point = _bytes_per_point(length, n_mixtures, n_joint)
    size, overlap = _tile_shape(shift, patch, MAX_TILE_MEMORY / per_point, passes)
    tiles = count_tiles_of(shift, size, overlap)
    seconds = sum(
        _seconds_per_point(group_pass, size, patch, length, n_vectors)
        for group_pass in (passes.threshold, *passes.wiener)
    )
    if task == "inpaint":
        seconds *= LEVELS[quality].inpaint_rounds * _INPAINT_FACTOR
    seconds += _SECONDS_PER_READ_VALUE * n_joint
    looked_at = min(math.prod(shift), _MAX_LEARNED_POINTS)
    before = _SECONDS_OF_NOISE_A_POINT + _SECONDS_OF_NOISE_A_VALUE * n_joint
    before += _SECONDS_TO_LEARN_A_VALUE * length
    return SampleCost(
        tiles=tiles,
        seconds=tiles * math.prod(size) * seconds,
        memory=round(math.prod(size) * per_point),
        seconds_before=_SECONDS_TO_BEGIN + looked_at * before,
    )


def _seconds_per_point(
    group_pass: GroupPass,
    size: tuple[int, ...],
    patch: tuple[int, ...],
    length: int,
    n_vectors: float,
) -> float:
    """What a pass takes for each point of a tile of that size."""
    places = [n - p + 1 for n, p in zip(size, patch, strict=True)]
    pairs = math.prod(min(2 * r + 1, n) for r, n in zip(group_pass.reach, places, strict=True))
    n_references = math.prod(-(-n // s) for n, s in zip(places, group_pass.step, strict=True))
    per_reference = _SECONDS_PER_REFERENCE + _SECONDS_PER_PAIR * pairs
    per_reference += _SECONDS_PER_MEMBER_VALUE * group_pass.size * length
    per_point = _SECONDS_PER_POINT + _SECONDS_PER_PRODUCT * n_vectors * length
    return per_point + per_reference * n_references / math.prod(size)


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
