"""Small patches of planes, written in cosines of rising speed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array
from napari_scsc.noise.cosines import cosine_basis

MIN_PATCHES = 40
"""Flat patches below which nothing can be said."""

MAX_PATCHES = 80_000
"""Patches that are looked at, however large the data are."""

# Speeds, from 0 (constant) to 1, from which on cosines tell texture, or noise. Those slower than
# the first also hold shading, which does no harm.
SLOW, MIDDLING, FAST, FASTEST = 0.14, 0.42, 0.64, 0.78

_PATCH_SIDE = 8  # pixels along a side of a patch in a plane
_LINE_LENGTH = 16  # pixels of a patch in a line
_MAX_COMPARED = 4000  # patches, to see whether they repeat


class CosinePatches(NamedTuple):
    """CosinePatches in cosines: powers (n, M) without the constant, and the mean (n,) of each."""

    powers: Array
    means: Array
    speed: Array  # (M,) how fast each cosine is, 0 to 1
    along: Array  # (M,) 1 or 2 for cosines that vary along the first or second axis only, else 0
    axes: tuple[int, ...]  # the values of ``along`` to compare: none in lines
    even: Array  # (M,) one half of the cosines, of all speeds
    independent: float  # how many patches there would be without overlaps
    constant: float  # share of the places where all pixels have the same value
    repeated: float  # share of the patches that are the same as others of a plane, to the bit


def cut_cosine_patches(
    planes: list[Array], masks: list[Array], most: int = MAX_PATCHES
) -> CosinePatches | None:
    """CosinePatches at places spread over all planes; None if there are too few of them.

    No pixel of a patch lies where its mask is False. There are ``most`` of them, or hardly more.
    """
    shape: tuple[int, int] = (_PATCH_SIDE, _PATCH_SIDE)
    if all(min(plane.shape) < _PATCH_SIDE for plane in planes):
        shape = (1, _LINE_LENGTH)
        flip = planes[0].shape[0] > planes[0].shape[1]
        planes = [plane.T if flip else plane for plane in planes]
        masks = [mask.T if flip else mask for mask in masks]
    usable = [
        (plane, _find_places(mask, shape))
        for plane, mask in zip(planes, masks, strict=True)
        if all(n >= p for n, p in zip(plane.shape, shape, strict=True))
    ]
    covered = sum(len(places) for _, places in usable)
    if covered < MIN_PATCHES:
        return None
    pixels, numbers = _read_patches(usable, covered, shape, most)
    # A patch of one single value is no measurement: padding, a blind spot, or noise below the
    # quantisation.
    lively = pixels.max(axis=1) > pixels.min(axis=1)
    pixels, numbers = pixels[lively], numbers[lively]
    if len(pixels) < MIN_PATCHES:
        return None
    length = pixels.shape[1]
    coefficients = pixels @ cosine_basis(1, shape).T
    row, column = np.divmod(np.arange(1, length), shape[1])
    return CosinePatches(
        powers=np.square(coefficients[:, 1:]),
        means=coefficients[:, 0].astype(np.float64) / math.sqrt(length),
        speed=(row + column) / (sum(shape) - 2),
        along=np.where(column == 0, 1, np.where(row == 0, 2, 0)),
        axes=(1, 2) if shape[0] > 1 else (),
        even=(row + column) % 2 == 0,
        independent=max(1.0, covered * float(lively.mean()) / length),
        constant=1 - float(lively.mean()),
        repeated=_repeated_share(pixels, numbers),
    )


def _repeated_share(pixels: Array, numbers: Array) -> float:
    """Share of patches (n, M) that others of the same plane repeat to the bit.

    Planes that are the same, as the channels of a grey image, are no repetition. Not all patches
    are compared.
    """
    chosen = range(0, len(pixels), max(1, len(pixels) // _MAX_COMPARED))
    return 1 - len({(numbers[i], pixels[i].tobytes()) for i in chosen}) / len(chosen)


def _read_patches(
    usable: list[tuple[Array, Array]], n_places: int, shape: tuple[int, int], most: int
) -> tuple[Array, Array]:
    """The pixels (n, M) of patches at some of the places of each plane, all alike often.

    With them comes the number (n,) of the plane of each.
    """
    rng = np.random.default_rng(0)
    cut, counts = [], []
    for plane, places in usable:
        quota = math.ceil(most * len(places) / n_places)
        if len(places) > quota:
            places = np.sort(rng.choice(places, quota, replace=False))
        windows = sliding_window_view(plane, shape)
        rows, columns = np.divmod(places, windows.shape[1])
        cut.append(windows[rows, columns].reshape(len(places), math.prod(shape)))
        counts.append(len(places))
    return np.concatenate(cut), np.repeat(np.arange(len(counts)), counts)


def _find_places(mask: Array, shape: tuple[int, int]) -> Array:
    """Where a patch of that shape holds no unusable pixel, as flat indices."""
    missing = np.pad(~mask, ((1, 0), (1, 0))).cumsum(axis=0, dtype=np.int32).cumsum(axis=1)
    a, b = shape
    inside = missing[a:, b:] - missing[:-a, b:] - missing[a:, :-b] + missing[:-a, :-b]
    return np.flatnonzero(inside == 0)
