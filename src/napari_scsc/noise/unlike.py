"""Noise that differs from sample to sample, and from frame to frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.samples import ImageSamples, box_lengths
from napari_scsc.noise import joint, remarks
from napari_scsc.noise.even_frames import even_frames
from napari_scsc.noise.in_tiles import estimate_planes, noise_in_tiles, planes_of
from napari_scsc.noise.model import Noise
from napari_scsc.noise.rough_levels import classes_of, rough_level

VALUES_PER_TILE = 1 << 18
"""Of a tile that is looked at."""

_MAX_DEPTH = 64  # planes of a tile
_TILES_PER_SAMPLE = 2
MAX_SAMPLES = 16  # looked at one by one
_MAX_ROUGH, _MAX_ROUGH_ON_DISK = 1024, 64  # samples, or frames, that are looked at roughly
_ROUGH_SIDE, _FRAME_SIDE = 128, 256  # pixels along a side of what is looked at of each
_FRAMES_PER_CLASS = 8  # of like ones, whose noise is estimated
_MIN_DRIFT = 3.0  # of the levels of like frames, beside what chance makes of one pixel
_MIN_UNLIKE_RATIO = 1.25  # of rough levels, from which on noises may differ
_LEAST_LEVEL = 1e-2  # of the mean: frames without noise are taken to have that much
_KNOWN_LEVEL = {remarks.MAYBE_PHOTONS, *remarks.CLEAN}

Place = tuple[tuple[int, ...], Region]


def noise_of_sample(source: ImageSamples, index: tuple[int, ...], is_alike: bool) -> Noise:
    """The noise of one sample."""
    places = _places_of_sample(source, index)
    found = noise_in_tiles(source, read_tiles(source, places), is_alike)
    return with_frame_levels(found, source, places, is_alike)


def with_unlike_samples(
    source: ImageSamples,
    counts: tuple[int, ...],
    own: list[Noise],
    pooled: Noise,
    is_alike: bool,
) -> tuple[tuple[int, ...], list[Noise]]:
    """The noises of more samples, where some are unlike the one that stands for them.

    All are looked at roughly. Of those that are unlike, one of each class is estimated.
    """
    many = sample_counts(source, _max_rough(source))
    if many == counts:
        return counts, own
    places = [_places_of_sample(source, index)[0] for index in sample_indices(source, many)]
    levels = np.array([_relative_rough_level(source, place, pooled) for place in places])
    standing = [
        np.ravel_multi_index(
            [i * c // m for i, c, m in zip(number, counts, many, strict=True)], counts
        )
        for number in np.ndindex(*many)
    ]
    known = np.array(
        [
            _relative_rough_level(source, _places_of_sample(source, index)[0], pooled)
            for index in sample_indices(source, counts)
        ]
    )[standing]
    with np.errstate(divide="ignore", invalid="ignore"):
        is_unlike = abs(np.log(levels / known)) > math.log(_MIN_UNLIKE_RATIO)
    if not is_unlike.any():
        return counts, own
    found = [own[number] for number in standing]
    numbers = classes_of(np.where(is_unlike, levels, np.nan))
    for number in range(numbers.max() + 1):
        members = np.flatnonzero(numbers == number)
        if len(members):
            noise = noise_of_sample(source, places[members[len(members) // 2]][0], is_alike)
            for member in members:
                found[member] = noise
    return many, found


def _relative_rough_level(source: ImageSamples, place: Place, pooled: Noise) -> float:
    """A rough level of the noise at a place, beside what its brightness explains."""
    values, known = _middle_of(source, place)
    level = rough_level(values, known)
    if not known.any():
        return math.nan
    expected = float(pooled.variance(np.array(float(values[known].mean())))) ** 0.5
    return max(level, 1e-300) / (expected or 1.0)


def _middle_of(source: ImageSamples, place: Place) -> tuple[Array, Array]:
    """Values and known ones in the middle of a place, of a moderate number of pixels."""
    index, part = place
    middle = tuple(
        slice(s.start + (n - m) // 2, s.start + (n - m) // 2 + m)
        for s in part
        for n in [s.stop - s.start]
        for m in [min(n, _ROUGH_SIDE)]
    )
    return source.read(index, middle), ~source.missing(index, middle)


def _max_rough(source: ImageSamples) -> int:
    """How many samples, or frames, are looked at roughly: on disk, each may take long to read."""
    return _MAX_ROUGH if source.image.is_in_memory else _MAX_ROUGH_ON_DISK


def with_frame_levels(
    noise: Noise,
    source: ImageSamples,
    places: Sequence[Place],
    is_alike: bool,
) -> Noise:
    """The noise with the level of each frame, along the first of three axes, if they differ."""
    if len(source.shift) < 3:
        return noise
    levels = _find_frame_levels(source, places[0][0], noise)
    if levels is None:
        return noise
    sigma = float(np.sqrt(np.mean(levels**2)))
    even = even_frames(source, levels, noise.mean)
    found = noise_in_tiles(even, read_tiles(even, places), is_alike)
    if not found.sigma:
        return noise
    return replace(
        found,
        gain=0.0,
        offset=found.sigma**2,
        remarks=tuple(r for r in found.remarks if r != remarks.MAYBE_PHOTONS),
        frame_levels=tuple(float(level) for level in levels * (found.sigma / sigma)),
    )


def _find_frame_levels(source: ImageSamples, index: tuple[int, ...], pooled: Noise) -> Array | None:
    """The level of the noise (frames,) of a sample; None if all have the same.

    All are looked at roughly, and the noise of each class of like ones is estimated.
    """
    n_pixels = [min(n, _FRAME_SIDE) for n in source.shift[1:]]
    pairs = zip(source.shift[1:], n_pixels, strict=True)
    centres = [slice((n - m) // 2, (n - m) // 2 + m) for n, m in pairs]

    def read(frame: int) -> tuple[Array, Array]:
        part = (slice(frame, frame + 1), *centres)
        return source.read(index, part), ~source.missing(index, part)

    def look_at(frame: int) -> list[float]:
        return [rough_level(v, k) for v, k in zip(*read(frame), strict=True)]

    frames, rough = _look_at_frames(source.shift[0], _max_rough(source), look_at)
    if not np.isfinite(rough).all():
        return None
    rough = _relative(rough)
    if rough.max() < _MIN_UNLIKE_RATIO * rough.min():
        return None
    numbers = classes_of(rough)
    levels, own = np.empty(len(frames)), []
    for number in np.unique(numbers):
        members = np.flatnonzero(numbers == number)
        chosen = members[:: -(-len(members) // _FRAMES_PER_CLASS)]
        tiles = [read(frames[member]) for member in chosen]
        planes = [plane for values, known in tiles for plane in planes_of(values, known)]
        own.append(
            estimate_planes([(values.astype(np.float64), known) for values, known in planes])
        )
        least = _LEAST_LEVEL if own[-1].is_clean else 1.0
        level = own[-1].sigma or least * pooled.sigma
        # To follow chance would make frames flicker.
        spread, chance = rough[members].std() / rough[members].mean(), math.prod(n_pixels) ** -0.5
        follows = len(members) > 1 and spread > _MIN_DRIFT * chance
        levels[members] = level * (rough[members] / rough[members].mean() if follows else 1.0)
    if not joint.differ(_with_known_level(own), pooled) or not (levels > 0).all():
        return None
    return np.asarray(np.interp(np.arange(source.shift[0]), frames, levels))


def _look_at_frames(
    n_frames: int, most: int, look_at: Callable[[int], list[float]]
) -> tuple[list[int], Array]:
    """Some of the frames, and what was seen of each (frames, C).

    All between two that are unlike are among them, as far as there are not too many.
    """
    chosen = np.unique(np.linspace(0, n_frames - 1, min(n_frames, most)).astype(int)).tolist()
    seen: dict[int, list[float]] = {}
    while len(seen) < _MAX_ROUGH and chosen:
        seen |= {frame: look_at(frame) for frame in chosen}
        frames = sorted(seen)
        rough = np.array([seen[frame] for frame in frames])
        steps = itertools.pairwise(zip(frames, _relative(rough), strict=True))
        chosen = [
            (a + b) // 2
            for (a, before), (b, after) in steps
            if b - a > 1 and max(before, after) > _MIN_UNLIKE_RATIO * min(before, after)
        ]
    return frames, rough


def _relative(rough: Array) -> Array:
    """Levels (frames,) of all joint values together, beside those of a frame in the middle."""
    middle = np.median(rough, axis=0)
    if not (middle > 0).any():
        return np.ones(len(rough))
    return np.asarray((rough[:, middle > 0] / middle[middle > 0]).mean(axis=1))


def _with_known_level(own: Sequence[Noise]) -> list[Noise]:
    """Those noises whose level is known, and those that are certainly less than one of them.

    Where structure hides the noise, its level is taken for more than it is, and hardly for less.
    """
    known = [part for part in own if part.sure or set(part.remarks) <= _KNOWN_LEVEL]
    most = max((part.sigma for part in known), default=0.0)
    return [part for part in own if part in known or part.sigma < most]


def _places_of_sample(source: ImageSamples, index: tuple[int, ...]) -> list[Place]:
    """The places of a few tiles around the middle of a sample."""
    side = tile_side(source)
    starts = [
        np.unique(np.linspace(0, n - s, _TILES_PER_SAMPLE + 2)[1:-1].astype(int))
        for n, s in zip(source.shift, side, strict=True)
    ]
    turns = range(max(map(len, starts)))
    return [
        (
            index,
            tuple(
                slice(int(at[min(t, len(at) - 1)]), int(at[min(t, len(at) - 1)]) + s)
                for at, s in zip(starts, side, strict=True)
            ),
        )
        for t in turns
    ]


def tile_side(source: ImageSamples) -> list[int]:
    """Lengths of a tile; long enough on the first of three axes to see noise along it."""
    n_values = VALUES_PER_TILE // source.n_joint
    if len(source.shift) < 3:
        return box_lengths(source.shift, n_values)
    first = min(source.shift[0], _MAX_DEPTH)
    return [first, *box_lengths(source.shift[1:], n_values // first)]


def sample_counts(source: ImageSamples, most: int = MAX_SAMPLES) -> tuple[int, ...]:
    """How many places along each sample axis are looked at: all of short axes first."""
    counts = [1] * len(source.sample_lengths)
    left = most
    for axis in np.argsort(source.sample_lengths, kind="stable"):
        counts[axis] = max(1, min(source.sample_lengths[axis], left))
        left //= counts[axis]
    return tuple(counts)


def sample_indices(source: ImageSamples, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The samples that stand for all, so many along each sample axis, in the order of ``Noise``."""
    return [
        tuple(
            (2 * i + 1) * n // (2 * c)
            for i, n, c in zip(number, source.sample_lengths, counts, strict=True)
        )
        for number in itertools.product(*map(range, counts))
    ]


def read_tiles(source: ImageSamples, places: Iterable[Place]) -> Iterator[tuple[Array, Array]]:
    """Values of places, and where they are known."""
    return ((source.read(*place), ~source.missing(*place)) for place in places)
