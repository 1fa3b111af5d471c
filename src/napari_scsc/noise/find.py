"""The noise of an image: as the user gave it, or as estimated from some of its tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from napari_scsc.data.axes import Axes
from napari_scsc.data.image import ImageArray
from napari_scsc.data.samples import ImageSamples, draw_tiles, wrap_missing
from napari_scsc.data.scaling import ValueRange, measure_range
from napari_scsc.errors import Message, UserError
from napari_scsc.noise import joint
from napari_scsc.noise.empty import EmptyNoise, measure_empty
from napari_scsc.noise.in_tiles import judge_together, mean_level, noise_in_tiles
from napari_scsc.noise.model import Noise
from napari_scsc.noise.unlike import (
    VALUES_PER_TILE,
    Place,
    noise_of_sample,
    read_tiles,
    sample_counts,
    sample_indices,
    tile_side,
    with_frame_levels,
    with_unlike_samples,
)

_TILE_COUNT = 24  # of an image, that are looked at

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
    counts = sample_counts(source)
    n_samples = math.prod(counts)
    pooled = noise_in_tiles(source, read_tiles(source, noise_tile_places(source)), is_alike)
    if n_samples == 1:
        places = list(noise_tile_places(source))
        return with_frame_levels(pooled, source, places, is_alike)
    own = [noise_of_sample(source, index, is_alike) for index in sample_indices(source, counts)]
    counts, own = with_unlike_samples(source, counts, own, pooled, is_alike)
    if all(part.is_clean for part in own):
        return own[0]
    own = joint.as_seen(own, pooled)
    if not (joint.differ(own, pooled) or any(part.frame_levels for part in own)):
        return pooled
    return replace(
        pooled,
        sigma=pooled.sigma or mean_level(own),
        samples=tuple(own),
        sample_counts=counts,
        **judge_together(own),
    )


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


def noise_tile_places(source: ImageSamples) -> Iterator[Place]:
    """Where the tiles lie that the noise is estimated from: index of the sample, and region."""
    return draw_tiles(source, VALUES_PER_TILE, _TILE_COUNT, seed=0, side=tile_side(source))


def open_few_tiles(image: ImageArray, axes: Axes) -> ImageSamples:
    """An image as samples whose range is that of the tiles that show its noise.

    Unlike for a restoration, the range of the others does not count, and they are not read.
    """
    samples = ImageSamples(image, axes, ValueRange())
    places = [samples.region(*place) for place in noise_tile_places(samples)]
    return ImageSamples(image, axes, measure_range(image, places))
