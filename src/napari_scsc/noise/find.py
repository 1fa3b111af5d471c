"""The noise of an image: as the user gave it, or as estimated from some of its tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.errors import Message
from napari_scsc.noise.estimate import estimate_from_planes
from napari_scsc.noise.model import Noise

_TILE_COUNT = 24  # of an image, that are looked at
_VALUES_PER_TILE = 1 << 18
_PLANES_PER_TILE = 8


def given_noise(source: ImageSamples, sigma: float) -> Noise:
    """The noise level that the user gave, with a remark if it cannot be meant."""
    width = source.range.scale().width
    remarks: tuple[Message, ...] = ()
    if sigma > width:
        text = (
            f"is {sigma:.3g}, but all values of the image lie within {width:.3g}: "
            "it is a standard deviation in the units of the image"
        )
        remarks = (Message(text, argument="sigma"),)
    offset = min(sigma, 1e150) ** 2
    return Noise(sigma, 0.0, offset, correlated=False, sure=True, remarks=remarks)


def find_noise(source: ImageSamples, sigma: float | None) -> Noise:
    """The noise of an image: that of level ``sigma``, or as estimated from some of its tiles."""
    if sigma is not None:
        return given_noise(source, sigma)
    places = noise_tile_places(source)
    return noise_in_tiles(
        source, ((source.read(*place), ~source.missing(*place)) for place in places)
    )


def noise_tile_places(source: ImageSamples) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Where the tiles lie that the noise is estimated from: index of the sample, and region."""
    return draw_tiles(source, _VALUES_PER_TILE, _TILE_COUNT, seed=0)


def noise_in_tiles(source: ImageSamples, tiles: Iterable[tuple[Array, Array]]) -> Noise:
    """The noise as estimated from tiles of an image.

    Parameters
    ----------
    source : ImageSamples
        The image.
    tiles : iterable of pairs (values, known)
        Values (C, *shift) as ``source.read`` gives them, and True where they are known.

    Returns
    -------
    Noise
        In the units of the image.
    """
    scale = source.range.scale()
    planes, known = [], []
    for tile, tile_known in tiles:
        n = min(2, tile.ndim - 1)
        values = scale.to_work(tile).reshape(-1, *tile.shape[-n:])
        mask = tile_known.reshape(values.shape) & np.isfinite(values)
        # A few planes of a tile are enough, and every one of a small image.
        for i in np.unique(np.linspace(0, len(values) - 1, _PLANES_PER_TILE).astype(int)):
            planes.append(values[i])
            known.append(mask[i])
    noise = estimate_from_planes(planes, None if all(mask.all() for mask in known) else known)
    gain = noise.gain * scale.width
    return replace(
        noise,
        sigma=noise.sigma * scale.width,
        gain=gain,
        offset=noise.offset * scale.width**2 - gain * float(scale.low),
    )
