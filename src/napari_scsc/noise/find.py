"""The noise of an image: as the user gave it, or as estimated from some of its tiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes
from napari_scsc.data.image import ImageArray
from napari_scsc.data.samples import ImageSamples, box_lengths, draw_tiles, wrap_missing
from napari_scsc.data.scaling import ValueRange, measure_range
from napari_scsc.errors import Message, UserError
from napari_scsc.noise import joint, outliers, remarks
from napari_scsc.noise.correlation import N_LAGS
from napari_scsc.noise.cosine_patches import MAX_PATCHES
from napari_scsc.noise.empty import EmptyNoise, measure_empty
from napari_scsc.noise.estimate import estimate_from_planes
from napari_scsc.noise.fixed_pattern import MIN_FRAMES, pattern_level
from napari_scsc.noise.model import Noise

_TILE_COUNT = 24  # of an image, that are looked at
_VALUES_PER_TILE = 1 << 18
_PLANES_PER_TILE = 8
_PLANES_ACROSS = 32  # the same along the first of three axes, which is often short
_MAX_DEPTH = 64  # planes of a tile
_MIN_DEPTH = 0.1  # correlation of neighbouring planes, from which on they share noise
_MAX_SAMPLES, _TILES_PER_SAMPLE = 16, 2  # looked at one by one
_MIN_PATCHES_OF_JOINT = 2000

Tiles = Sequence[tuple[Array, Array]]
NoiseWish = float | str | Noise | EmptyNoise
"""A level, "auto", "white" or "correlated", a noise, or what was measured without light."""


def given_noise(source: ImageSamples, sigma: float) -> Noise:
    """The noise level that the user gave, with a remark if it cannot be meant."""
    width = source.range.scale().width
    said: tuple[Message, ...] = ()
    if sigma > width:
        text = (
            f"is {sigma:.3g}, but all values of the image lie within {width:.3g}: "
            "it is a standard deviation in the units of the image"
        )
        said = (Message(text, argument="sigma"),)
    offset = min(sigma, 1e150) ** 2
    return Noise(sigma, 0.0, offset, correlated=False, sure=True, remarks=said)


def find_noise(source: ImageSamples, wanted: NoiseWish = "auto") -> Noise:
    """The noise of an image: as it was given, or as estimated from some of its tiles.

    Samples that are restored one by one are looked at one by one, too, and joint values.
    """
    if isinstance(wanted, Noise):
        return wanted
    if isinstance(wanted, float):
        return given_noise(source, wanted)
    if isinstance(wanted, EmptyNoise):
        return wanted.with_photons(_estimate_noise(source, "auto"))
    found = _estimate_noise(source, wanted)
    return found.as_white() if wanted == "white" else found


def _estimate_noise(source: ImageSamples, wanted: str) -> Noise:
    is_alike = wanted == "correlated"
    pooled = noise_in_tiles(source, _read(source, noise_tile_places(source)), is_alike)
    counts = _sample_counts(source)
    if math.prod(counts) == 1:
        return pooled
    own = [
        noise_in_tiles(source, _read(source, places), is_alike)
        for places in _places_of_samples(source, counts)
    ]
    if not joint.differ(own, pooled):
        return pooled
    samples = tuple(joint.raise_levels(own))
    return replace(pooled, samples=samples, sample_counts=counts, **_judgements(own))


def measure_empty_area(source: ImageSamples, empty: Any) -> EmptyNoise:
    """The noise where nothing is to be seen: where ``empty`` is not zero."""
    image = source.image
    mask = wrap_missing(empty, image.shape, source.axes)
    n = min(2, len(source.shift))
    whole = tuple(slice(0, length) for length in source.shift)
    planes, masks = [], []
    for index in source.indices():
        marked = mask.read(source.region(index, whole))
        if not marked.any():
            continue
        ordered = source.axes.to_samples(marked).reshape(source.n_joint, *source.shift)
        known = ordered & ~source.missing(index, whole)
        values = np.where(known, source.read(index, whole), 0)
        used = known.reshape(-1, *known.shape[-n:])
        is_marked = used.any(axis=tuple(range(1, used.ndim)))
        planes.append(values.reshape(used.shape)[is_marked])
        masks.append(used[is_marked])
    if not planes:
        raise UserError("marks nothing", argument="empty")
    shape = (-1, *((1,) if n == 1 else ()), *planes[0].shape[1:])
    return measure_empty(
        np.concatenate(planes).reshape(shape), np.concatenate(masks).reshape(shape)
    )


def _judgements(own: Sequence[Noise]) -> dict[str, Any]:
    """What is said of several noises together."""
    return {
        "correlated": any(part.correlated for part in own),
        "sure": all(part.sure for part in own),
        "remarks": tuple(dict.fromkeys(remark for part in own for remark in part.remarks)),
    }


def noise_tile_places(source: ImageSamples) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Where the tiles lie that the noise is estimated from: index of the sample, and region."""
    return draw_tiles(source, _VALUES_PER_TILE, _TILE_COUNT, seed=0, side=_tile_side(source))


def open_few_tiles(image: ImageArray, axes: Axes) -> ImageSamples:
    """An image as samples whose range is that of the tiles that show its noise.

    Unlike for a restoration, the range of the others does not count, and they are not read.
    """
    samples = ImageSamples(image, axes, ValueRange())
    places = [samples.region(*place) for place in noise_tile_places(samples)]
    return ImageSamples(image, axes, measure_range(image, places))


def _tile_side(source: ImageSamples) -> list[int]:
    """Lengths of a tile; long enough on the first of three axes to see noise along it."""
    n_values = _VALUES_PER_TILE // source.n_joint
    if len(source.shift) < 3:
        return box_lengths(source.shift, n_values)
    first = min(source.shift[0], _MAX_DEPTH)
    return [first, *box_lengths(source.shift[1:], n_values // first)]


def _sample_counts(source: ImageSamples) -> tuple[int, ...]:
    """How many places along each sample axis are looked at: all of short axes first."""
    counts = [1] * len(source.sample_lengths)
    left = _MAX_SAMPLES
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


def _places_of_samples(
    source: ImageSamples, counts: tuple[int, ...]
) -> Iterator[list[tuple[tuple[int, ...], Region]]]:
    """Of each sample that is looked at, the places of a few tiles around its middle."""
    side = _tile_side(source)
    for index in sample_indices(source, counts):
        starts = [
            np.unique(np.linspace(0, n - s, _TILES_PER_SAMPLE + 2)[1:-1].astype(int))
            for n, s in zip(source.shift, side, strict=True)
        ]
        turns = range(max(map(len, starts)))
        yield [
            (
                index,
                tuple(
                    slice(int(at[min(t, len(at) - 1)]), int(at[min(t, len(at) - 1)]) + s)
                    for at, s in zip(starts, side, strict=True)
                ),
            )
            for t in turns
        ]


def _read(
    source: ImageSamples, places: Iterable[tuple[tuple[int, ...], Region]]
) -> Iterator[tuple[Array, Array]]:
    return ((source.read(*place), ~source.missing(*place)) for place in places)


def noise_in_tiles(
    source: ImageSamples, tiles: Iterable[tuple[Array, Array]], is_alike: bool = False
) -> Noise:
    """The noise as estimated from tiles of an image.

    Parameters
    ----------
    source : ImageSamples
        The image.
    tiles : iterable of pairs (values, known)
        Values (C, *shift) as ``source.read`` gives them, and True where they are known.
    is_alike : bool
        Whether neighbours share noise, though it may look as if they did not.

    Returns
    -------
    Noise
        In the units of the image.
    """
    scale = source.range.scale()
    cut: list[tuple[Array, Array]] = []
    planes: list[tuple[Array, Array]] = []
    for tile, known in tiles:
        values = scale.to_work(tile)
        mask = known & np.isfinite(values)
        planes += _planes_of(values, mask)
        # What is needed of a tile beyond these planes, and no more: they may be large.
        if len(tile) > 1 or tile.ndim > 3:
            cut.append((values, mask))
    noise = _estimate(planes, is_alike)
    if source.n_joint > 1:
        noise = _with_joint(noise, cut, is_alike)
    if len(source.shift) == 3 and noise.sigma > 0:
        noise = _with_frames(_with_depth(noise, cut), cut)
    if noise.sigma > 0 and not noise.joint:
        noise = _with_outliers(noise, planes)
    return noise.scaled(scale.width, float(scale.low))


def _planes_of(
    values: Array, mask: Array, most: int = _PLANES_PER_TILE
) -> list[tuple[Array, Array]]:
    """A few planes of a tile, which are enough, and every one of a small image."""
    n = min(2, values.ndim - 1)
    values = values.reshape(-1, *values.shape[-n:])
    mask = mask.reshape(values.shape)
    chosen = np.unique(np.linspace(0, len(values) - 1, most).astype(int))
    return [(values[i], mask[i]) for i in chosen]


def _estimate(planes: Tiles, is_alike: bool = False, most: int = MAX_PATCHES) -> Noise:
    values, known = zip(*planes, strict=True)
    return estimate_from_planes(
        values,
        None if all(mask.all() for mask in known) else known,
        is_alike=is_alike,
        most=most,
    )


def _with_joint(pooled: Noise, tiles: Tiles, is_alike: bool) -> Noise:
    """The noise with that of each joint value, where they differ, and with what they share."""
    n_joint = len(tiles[0][0])
    most = max(_MIN_PATCHES_OF_JOINT, MAX_PATCHES // n_joint)
    own = []
    for c in range(n_joint):
        planes = [p for tile, mask in tiles for p in _planes_of(tile[c, None], mask[c, None])]
        own.append(_estimate(planes, is_alike, most))
    shared = joint.shared_noise([np.where(mask, tile, np.nan) for tile, mask in tiles])
    if shared:
        pooled = replace(pooled, shared=shared)
    if not joint.differ(own, pooled):
        return pooled
    variance = float(np.mean([part.sigma**2 for part in own]))
    return replace(
        pooled.without_correlation(),
        sigma=math.sqrt(variance),
        gain=0.0,
        offset=variance,
        shared=shared,
        joint=tuple(joint.raise_levels(own)),
        **_judgements(own),
    )


def _with_outliers(noise: Noise, planes: Tiles) -> Noise:
    """The noise with the share of pixels that stand out of it."""
    share = outliers.outlier_share(planes, noise)
    if share == 0:
        return noise
    is_sure = share >= outliers.SURE_SHARE
    return replace(
        noise,
        outliers=share,
        outlier_limit=outliers.LIKELY if is_sure else 0.0,
        remarks=(*noise.remarks, remarks.outliers_remark(share, is_sure)),
    )


def _with_frames(noise: Noise, tiles: Tiles) -> Noise:
    """The noise with what a pixel has in all frames, or planes, of three shift axes."""
    means = [
        (values.mean(axis=1), np.asarray(mask.all(axis=1)))
        for values, mask in tiles
        if values.shape[1] >= MIN_FRAMES
    ]
    if not means:
        return noise
    found = _estimate([p for mean, mask in means for p in _planes_of(mean, mask)])
    depth = noise.depth or (1.0,)
    n_frames = min(values.shape[1] for values, _ in tiles if values.shape[1] >= MIN_FRAMES)
    level = pattern_level(found.sigma, noise.sigma, n_frames, 2 * sum(depth) - 1)
    if not level or not found.sure or noise.joint:
        return noise
    # Noise along the axis was measured with the pattern, which is the same at all lags.
    share = min(level / noise.sigma, 0.99) ** 2
    rest = tuple((lag - share) / (1 - share) for lag in depth)
    is_left = len(rest) > 1 and max(map(abs, rest[1:])) > _MIN_DEPTH
    said = tuple(r for r in noise.remarks if is_left or r not in remarks.ALIKE)
    return replace(
        noise,
        frames=level,
        depth=rest if is_left else (),
        correlated=True,
        remarks=(*said, remarks.PATTERNED),
    )


def _with_depth(noise: Noise, tiles: Tiles) -> Noise:
    """The noise with its correlation along the first of three shift axes."""
    planes = []
    for values, mask in tiles:
        if values.shape[1] < 3 * N_LAGS:
            continue
        planes += _planes_of(values.swapaxes(1, 2), mask.swapaxes(1, 2), _PLANES_ACROSS)
    if not planes:
        return noise
    along = _estimate(planes)
    if not along.lags:
        return noise
    depth = tuple(row[0] for row in along.lags)
    said = tuple(dict.fromkeys((*noise.remarks, *along.remarks)))
    return replace(
        noise, depth=depth, correlated=True, remarks=said, sure=noise.sure and along.sure
    )
