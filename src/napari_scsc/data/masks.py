"""Masks of missing values, read region by region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc._types import Array, Region
from napari_scsc.data.foreign_arrays import inspect_array, is_masked, read_region
from napari_scsc.errors import UserError, UserTypeError


class MissingMask:
    """Where values of an image are missing, read region by region; made by ``wrap_mask``.

    Attributes
    ----------
    shape : tuple of int
        The shape of the image.
    """

    def __init__(
        self, shape: tuple[int, ...], readers: tuple[Callable[[Region], Array], ...]
    ) -> None:
        self.shape = shape
        self._readers = readers

    def read(self, region: Region) -> NDArray[np.bool_]:
        """True where the values of a region are missing; not to be written to."""
        parts = [reader(region) for reader in self._readers]
        missing = parts[0] if len(parts) == 1 else np.logical_or.reduce(np.broadcast_arrays(*parts))
        shape = (len(range(*s.indices(n))) for s, n in zip(region, self.shape, strict=True))
        return np.broadcast_to(missing, tuple(shape))

    def __or__(self, other: MissingMask) -> MissingMask:
        if self.shape != other.shape:
            raise ValueError(f"the masks have the shapes {self.shape} and {other.shape}")
        return MissingMask(self.shape, self._readers + other._readers)


def wrap_mask(mask: Any, shape: Sequence[int], axes: Sequence[int] = ()) -> MissingMask:
    """Return a mask of missing values that is read region by region; nothing is read yet.

    Parameters
    ----------
    mask : array
        Of any kind that ``wrap_image`` takes. Boolean: True where a value is missing; or integer,
        such as labels: anything but 0 where it is missing; or float, if all values are 0 or 1. A
        grey picture in red, green and blue, (..., y, x, c), counts as one without colours.
    shape : sequence of int
        The shape of the image. The mask has it too, or that of its last axes: a mask (y, x) holds
        for every t of an image (t, y, x).
    axes : sequence of int
        Axes of the image that the mask may have instead, wherever they are.
    """
    source, own_shape, dtype = inspect_array(mask, "mask")
    image_shape = tuple(shape)
    if dtype.kind not in "biuf":
        raise UserTypeError(
            "the mask must hold True (missing) and False, or whole numbers that are 0 where "
            f"nothing is missing, but has the type {dtype}"
        )
    found = _axes_of_mask(own_shape, image_shape, axes)
    can_be_picture = len(own_shape) > 2 and own_shape[-1] in (3, 4) and dtype.kind != "b"
    is_picture = found is None and can_be_picture
    if is_picture:
        found = _axes_of_mask(own_shape[:-1], image_shape, axes)
    if found is None:
        raise UserError(
            f"the mask has the shape {own_shape}, the image {image_shape}: it must have all axes "
            "of the image, or its last ones"
        )
    return MissingMask(image_shape, (_GivenMask(source, found, len(image_shape), is_picture),))


def mask_of(source: Any, shape: tuple[int, ...]) -> MissingMask | None:
    """The mask that a masked array brings along, in numpy or in dask; None for other arrays."""
    return MissingMask(shape, (_OwnMask(source),)) if is_masked(source) else None


def mask_from(read: Callable[[Region], Array], shape: tuple[int, ...], level: float) -> MissingMask:
    """Where the values that ``read`` gives are at least ``level``."""
    return MissingMask(shape, (_LargeValues(read, level),))


def _axes_of_mask(
    mask_shape: tuple[int, ...], image_shape: tuple[int, ...], axes: Sequence[int]
) -> tuple[int, ...] | None:
    """Which axes of the image a mask of that shape has; None if it does not fit."""
    n = len(image_shape)
    last_axes = range(max(0, n - len(mask_shape)), n)
    for candidate in (last_axes, axes):
        if mask_shape == tuple(image_shape[i] for i in candidate):
            return tuple(candidate)
    return None


# The readers are objects and not closures: a mask can be sent to other processes.
@dataclass(frozen=True, slots=True)
class _GivenMask:
    """Reads regions of a mask that has some axes of the image, of which there are ``n``."""

    source: Any
    axes: tuple[int, ...]
    n: int
    is_picture: bool = False

    def __call__(self, region: Region) -> Array:
        own_region = tuple(region[i] for i in self.axes)
        if self.is_picture:
            part = _grey_values(read_region(self.source, (*own_region, slice(None))))
        else:
            part = read_region(self.source, own_region)
        truth = _as_bool(part)
        return truth[tuple(slice(None) if i in self.axes else None for i in range(self.n))]


@dataclass(frozen=True, slots=True)
class _OwnMask:
    """Reads regions of the mask of a masked array."""

    source: Any

    def __call__(self, region: Region) -> Array:
        return np.asarray(np.ma.getmaskarray(read_region(self.source, region)))


@dataclass(frozen=True, slots=True)
class _LargeValues:
    """Reads where the values of an image are at least a level."""

    read: Callable[[Region], Array]
    level: float

    def __call__(self, region: Region) -> Array:
        return np.asarray(self.read(region) >= self.level)


def _grey_values(part: Array) -> Array:
    """The one value that each pixel of a grey picture (..., c) has."""
    remedy = "save it in grey, black where nothing is missing"
    colours, rest = part[..., :3], part[..., 3:]
    if (colours[..., 1:] != colours[..., :1]).any():
        raise UserError("the mask is a picture in colour", remedy=remedy)
    if rest.size and (rest != rest.flat[0]).any():
        raise UserError(
            "the mask is a picture that is transparent in parts, which can mean anything",
            remedy=remedy,
        )
    return colours[..., 0]


def _as_bool(part: Array) -> Array:
    """True where a part of a mask is not 0; floats that are neither 0 nor 1 are no mask."""
    truth = np.asarray(part).astype(bool, copy=False)
    if part.dtype.kind == "f":
        other = truth & (part != 1)
        if other.any():
            raise UserError(
                f"the mask holds {part[other].flat[0]:g} ({part.dtype}): it must hold True where "
                "something is missing and False elsewhere, or 1 and 0, as in mask > 0.5"
            )
    return truth
