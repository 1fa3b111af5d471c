"""The noise of an image: what the user gave, or what some of its tiles tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.noise.estimate import estimate
from napari_scsc.noise.model import Noise

NOISE_TILE_COUNT = 24


def given_noise(source: ImageSamples, sigma: float) -> Noise:
    """The noise level that the user gave, with a remark if it cannot be meant."""
    width = source.range.scale().width
    remarks: tuple[str, ...] = ()
    if sigma > width:
        remarks = (
            f"sigma is {sigma:.3g}, but all values of the image lie within {width:.3g}: "
            "sigma is a standard deviation in the units of the image",
        )
    offset = min(sigma, 1e150) ** 2
    return Noise(sigma, 0.0, offset, correlated=False, sure=True, remarks=remarks)


def find_noise(source: ImageSamples, sigma: float | None) -> Noise:
    """The noise that was given, or what the planes of some tiles tell."""
    if sigma is not None:
        return given_noise(source, sigma)
    places = draw_tiles(source, 1 << 18, NOISE_TILE_COUNT, seed=0)
    return noise_in_tiles(
        source, ((source.read(*place), ~source.missing(*place)) for place in places)
    )


def noise_in_tiles(source: ImageSamples, tiles: Iterable[tuple[Array, Array]]) -> Noise:
    """What some planes of tiles (C, *shift), and where they are known, tell of the noise."""
    scale = source.range.scale()
    planes, known = [], []
    for tile, there in tiles:
        n = min(2, tile.ndim - 1)
        values = scale.to_work(tile).reshape(-1, *tile.shape[-n:])
        there = there.reshape(values.shape) & np.isfinite(values)
        # A few planes of a tile are enough, and every one of a small image.
        for i in np.unique(np.linspace(0, len(values) - 1, 8).astype(int)):
            planes.append(values[i])
            known.append(there[i])
    noise = estimate(planes, None if all(mask.all() for mask in known) else known)
    gain = noise.gain * scale.width
    return replace(
        noise,
        sigma=noise.sigma * scale.width,
        gain=gain,
        offset=noise.offset * scale.width**2 - gain * float(scale.low),
    )
