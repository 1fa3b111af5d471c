"""The noise of an image as some of its tiles show it, with that of each joint value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.scaling import Scale
from napari_scsc.noise import joint, outliers, remarks
from napari_scsc.noise.correlation import N_LAGS
from napari_scsc.noise.cosine_patches import MAX_PATCHES
from napari_scsc.noise.estimate import estimate_from_planes
from napari_scsc.noise.far_values import far_limits, without_far
from napari_scsc.noise.fixed_pattern import MIN_FRAMES, pattern_level
from napari_scsc.noise.model import Noise

_PLANES_PER_TILE = 8
_PLANES_ACROSS = 32  # the same along the first of three axes, which is often short
_MIN_DEPTH = 0.1  # correlation of neighbouring planes, from which on they share noise
_MIN_PATCHES_OF_JOINT = 2000

Tiles = Sequence[tuple[Array, Array]]


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
    tiles = list(tiles)
    limits = far_limits(tiles, source.range)
    if limits:
        tiles = without_far(tiles, limits)
    scale = Scale(*limits) if limits else source.range.scale()
    cut: list[tuple[Array, Array]] = []
    planes: list[tuple[Array, Array]] = []
    for tile, known in tiles:
        values = scale.to_work(tile)
        mask = known & np.isfinite(values)
        planes += planes_of(values, mask)
        # What is needed of a tile beyond these planes, and no more: they may be large.
        if len(tile) > 1 or tile.ndim > 3:
            cut.append((values, mask))
    noise = estimate_planes(planes, is_alike)
    if source.n_joint > 1:
        noise = _with_joint(noise, cut, is_alike)
    if len(source.shift) == 3 and noise.sigma > 0:
        noise = _with_frames(_with_depth(noise, cut), cut)
    if noise.sigma > 0 and not noise.joint:
        noise = _with_outliers(noise, planes)
    noise = noise.scaled(scale.width, float(scale.low))
    if limits:
        noise = replace(noise, limits=limits, remarks=(*noise.remarks, remarks.FAR))
    return noise


def planes_of(
    values: Array, mask: Array, most: int = _PLANES_PER_TILE
) -> list[tuple[Array, Array]]:
    """A few planes of a tile, which are enough, and every one of a small image."""
    n = min(2, values.ndim - 1)
    values = values.reshape(-1, *values.shape[-n:])
    mask = mask.reshape(values.shape)
    chosen = np.unique(np.linspace(0, len(values) - 1, most).astype(int))
    return [(values[i], mask[i]) for i in chosen]


def estimate_planes(planes: Tiles, is_alike: bool = False, most: int = MAX_PATCHES) -> Noise:
    """The noise of planes, each with where it is known."""
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
        planes = [p for tile, mask in tiles for p in planes_of(tile[c, None], mask[c, None])]
        own.append(estimate_planes(planes, is_alike, most))
    if all(part.is_clean for part in own):
        return own[0]
    own = joint.as_seen(own, pooled)
    shared = joint.shared_noise([np.where(mask, tile, np.nan) for tile, mask in tiles])
    if shared:
        pooled = replace(pooled, shared=shared)
    if not (joint.differ(own, pooled, shared) or joint.some_constant(own)):
        return pooled
    sigma = mean_level([part for part in own if part.remarks != (remarks.CONSTANT,)])
    return replace(
        pooled.without_correlation(),
        sigma=sigma,
        gain=0.0,
        offset=sigma**2,
        shared=shared,
        joint=tuple(own),
        **judge_together(own),
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
    found = estimate_planes([p for mean, mask in means for p in planes_of(mean, mask)])
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
        planes += planes_of(values.swapaxes(1, 2), mask.swapaxes(1, 2), _PLANES_ACROSS)
    if not planes:
        return noise
    along = estimate_planes(planes)
    if not along.lags:
        return noise
    depth = tuple(row[0] for row in along.lags)
    said = tuple(dict.fromkeys((*noise.remarks, *along.remarks)))
    return replace(
        noise, depth=depth, correlated=True, remarks=said, sure=noise.sure and along.sure
    )


def mean_level(own: Sequence[Noise]) -> float:
    """The root mean square of the levels of several noises."""
    return math.sqrt(float(np.mean([part.sigma**2 for part in own])))


def judge_together(own: Sequence[Noise]) -> dict[str, Any]:
    """What is said of several noises together."""
    noisy = [part for part in own if part.sigma > 0]
    said = (remark for part in own for remark in part.remarks)
    return {
        "correlated": any(part.correlated for part in own),
        "sure": bool(noisy) and all(part.sure for part in noisy),
        "remarks": tuple(dict.fromkeys(map(remarks.of_some, said) if noisy else said)),
    }
