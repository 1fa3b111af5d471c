"""Which base filters made a pixel of a result, and how much each of them gave to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array, Region
from napari_scsc.checks import check_int
from napari_scsc.data.axes import Axes, Role, resolve
from napari_scsc.data.image import ImageArray, wrap_image
from napari_scsc.data.samples import ImageSamples, check_bank
from napari_scsc.data.scaling import ValueRange
from napari_scsc.model.bank import FilterBank

ROUNDING = 1e-6  # of unit length: what filters in single precision may be off


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the base filters add to one pixel: ``value = sum(parts) + rest``.

    Attributes
    ----------
    position : tuple of int or None
        The pixel, in the image's own order of axes; None: the mean over that joint axis.
    labels : tuple of str
        Names of these axes.
    value : float
        Value of the result there.
    before : float or None
        Value of the source there; None if there is no source, or it has no value there.
    filters : ndarray of int, (R,)
        Numbers of all base filters, from 0 on, the one with the largest contribution, of either
        sign, first.
    parts : ndarray, (R,)
        What each of ``filters`` adds to the value, in the units of the image.
    parts_before : ndarray, (R,), or None
        The same for the source; None if values are missing near the pixel.
    rest : float
        What the filters do not explain; zero if they are a complete basis.
    """

    position: tuple[int | None, ...]
    labels: tuple[str, ...]
    value: float
    before: float | None
    filters: Array
    parts: Array
    parts_before: Array | None
    rest: float


def explain(
    result: Any,
    bank: FilterBank,
    position: Sequence[int | None],
    *,
    source: Any = None,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
) -> Explanation:
    """Say what each base filter adds to one pixel of a result.

    Every patch of the image that covers the pixel is written in the base filters, with the least
    squared error. What a filter adds to the pixel is the mean over these patches of its
    coefficient times its value at the pixel. Only the patches are read: the filters' length less
    one to each side of the pixel.

    Parameters
    ----------
    result : array
        The image to explain, of any kind that ``denoise`` takes.
    bank : FilterBank
        The base filters that restored it.
    position : sequence of int or None
        Index of the pixel on each axis of the image; None, allowed on joint axes: the mean over
        that axis.
    source : array, optional
        The image before restoration, of the same shape.
    kind, axes
        See ``denoise``.

    Raises
    ------
    ValueError
        If the position is not in the image, the bank or the source does not fit it, or the result
        has missing or infinite values near the pixel.
    """
    image = open_result(result, bank, kind, axes)
    index = check_position(position, image)
    place = _Place.of(index, image, bank.support)
    values = place.read(image)
    if np.isnan(values).any():
        raise ValueError(
            f"the result has missing or infinite values near {index}: they cannot be explained"
        )
    value, parts = place.value(values), place.parts(values, bank)
    order = np.argsort(-np.abs(parts), kind="stable")
    before, parts_before = None, None
    if source is not None:
        before, parts_before = _before(source, image, place, bank)
    return Explanation(
        position=index,
        labels=image.axes.labels,
        value=value,
        before=before,
        filters=order,
        parts=parts[order],
        parts_before=None if parts_before is None else parts_before[order],
        rest=value - float(parts.sum()),
    )


def _before(
    source: Any, image: ImageSamples, place: _Place, bank: FilterBank
) -> tuple[float | None, Array | None]:
    """The value of the source, and what each filter adds to it, as far as they are known."""
    seen = wrap_image(source)
    if seen.shape != image.image.shape:
        raise ValueError(f"the source has the shape {seen.shape}, the result {image.image.shape}")
    values = place.read(_wrap_unmeasured(seen, image.axes))
    value = place.value(values)
    return (
        None if math.isnan(value) else value,
        None if np.isnan(values).any() else place.parts(values, bank),
    )


def open_result(
    result: Any, bank: FilterBank, kind: str | None, axes: str | Sequence[str] | Axes | None
) -> ImageSamples:
    """A result that is to be explained, of which nothing is read yet; the bank must fit it."""
    if not isinstance(bank, FilterBank):
        raise TypeError(f"bank must be a FilterBank, but is a {type(bank).__name__}")
    seen = wrap_image(result)
    meaning = resolve(seen.shape, kind, axes, labels=seen.labels, name=seen.name)
    image = _wrap_unmeasured(seen, meaning)
    check_bank(bank, image)
    return image


def _wrap_unmeasured(seen: ImageArray, axes: Axes) -> ImageSamples:
    # To find the range of its values, all of them would have to be read.
    return ImageSamples(seen, axes, ValueRange())


def check_position(position: Sequence[int | None], image: ImageSamples) -> tuple[int | None, ...]:
    """The position, if it is one of the image."""
    labels, shape = image.axes.labels, image.image.shape
    if len(position) != len(shape):
        raise ValueError(
            f"position has {len(position)} numbers, but the image has {len(shape)} axes "
            f"({', '.join(labels)}; shape {shape})"
        )
    return tuple(
        None
        if i is None and role == "joint"
        else check_int(f"position on the axis {label!r}", i, 0, n - 1)
        for i, role, label, n in zip(position, image.axes.roles, labels, shape, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A pixel, and the box of all patches that cover it."""

    sample: tuple[int, ...]
    joint: tuple[int | slice, ...]
    box: Region  # on the shift axes
    inside: tuple[int, ...]  # where in the box the pixel is

    @classmethod
    def of(
        cls, index: tuple[int | None, ...], image: ImageSamples, support: tuple[int, ...]
    ) -> _Place:
        def along(role: Role) -> list[Any]:
            return [i for i, r in zip(index, image.axes.roles, strict=True) if r == role]

        box = tuple(
            slice(max(0, i + 1 - h), min(n, i + h))
            for i, h, n in zip(along("shift"), support, image.shift, strict=True)
        )
        return cls(
            sample=tuple(along("sample")),
            joint=tuple(slice(None) if i is None else i for i in along("joint")),
            box=box,
            inside=tuple(i - s.start for i, s in zip(along("shift"), box, strict=True)),
        )

    def read(self, image: ImageSamples) -> Array:
        """Values (*joint, *box) in double precision, NaN where they are missing or infinite."""
        values = image.read(self.sample, self.box).astype(np.float64)
        values[image.missing(self.sample, self.box) | np.isinf(values)] = np.nan
        return values.reshape(*image.joint, *values.shape[1:])

    def value(self, values: Array) -> float:
        """The pixel's own of the values (*joint, *box)."""
        return float(values[(*self.joint, *self.inside)].mean())

    def parts(self, values: Array, bank: FilterBank) -> Array:
        """What each filter adds to the pixel, (R,)."""
        n_joint, n_shift = bank.n_joint, len(bank.support)
        shift = tuple(range(n_joint, values.ndim))
        windows = sliding_window_view(values, bank.support, axis=shift)
        counts = windows.shape[n_joint : values.ndim]
        patches = np.moveaxis(windows, range(n_joint), range(n_shift, n_shift + n_joint))
        filters = bank.filters.astype(np.float64)
        flat = filters.reshape(bank.n_base, -1)
        coefficients = patches.reshape(-1, flat.shape[1]) @ pseudo_inverse(flat)  # (n, R)

        own = filters[(slice(None), *self.joint)]
        own = own.mean(axis=tuple(range(1, own.ndim - n_shift)))  # (R, *support)
        # The further on a patch begins, the nearer to its beginning the pixel lies.
        met = (slice(i + 1 - n, i + 1) for i, n in zip(self.inside, counts, strict=True))
        own = np.flip(own[(slice(None), *met)], tuple(range(1, 1 + n_shift)))
        parts = np.einsum("nr,rn->r", coefficients, own.reshape(bank.n_base, -1))
        return np.asarray(parts / len(coefficients))


def is_orthonormal(filters: Array) -> bool:
    """Whether filters (R, M) are orthonormal, but for rounding."""
    return np.allclose(filters @ filters.T, np.eye(len(filters)), rtol=0, atol=ROUNDING)


def pseudo_inverse(filters: Array) -> Array:
    """(M, R) for filters (R, M): a patch times it are its coefficients of the least error."""
    return filters.T if is_orthonormal(filters) else np.linalg.pinv(filters, rcond=ROUNDING)
