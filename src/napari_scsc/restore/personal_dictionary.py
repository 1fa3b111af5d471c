"""The personal dictionary of a pixel: patches like the one around it, and filters of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import ImageSamples
from napari_scsc.groups import group_kernels
from napari_scsc.groups.denoiser import N_COMPARED, planes_of
from napari_scsc.groups.patches import PatchGrid
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.model import Noise
from napari_scsc.restore.explain import (
    ROUNDING,
    check_position,
    is_orthonormal,
    open_result,
    pseudo_inverse,
)
from napari_scsc.restore.passes import passes_for

_NEGLIGIBLE_ENERGY = 1e-6  # of that of the group: what is less cannot be told from rounding
_NEGLIGIBLE_NOISE = 1e-3  # of the variance of the noise: what the second pass leaves out


@dataclass(frozen=True, slots=True)
class PersonalDictionary:
    """The patches most alike to the one around a pixel, and the filters in which they differ.

    A patch of the group is the mean of the group plus a mixture of few filters of the group's own.
    Each of those is a mixture of the base filters, ``D = B W``: they are the orthonormal directions
    in the span of the base filters along which the members of the group vary most.

    Attributes
    ----------
    position : tuple of int or None
        The pixel, in the image's own order of axes.
    labels : tuple of str
        Names of these axes.
    members : tuple of Region
        Where the n patches lie in the image, in its own order of axes, the most alike first: the
        patch around the pixel itself.
    mean : ndarray, (*joint, *support)
        The mean of the patches, as far as the base filters can say it.
    weights : ndarray, (R, K)
        W: how each filter of the group mixes the base filters. Its columns are orthonormal if the
        base filters are.
    powers : ndarray, (K,)
        Mean square over the group of what each filter adds to a patch, largest first.
    filters : ndarray, (K, *joint, *support)
        D = B W, orthonormal.
    outside : float
        The same for all that the base filters cannot say of how the patches differ.
    """

    position: tuple[int | None, ...]
    labels: tuple[str, ...]
    members: tuple[Region, ...]
    mean: Array
    weights: Array
    powers: Array
    filters: Array
    outside: float


def explain_group(
    result: Any,
    bank: FilterBank,
    position: Sequence[int | None],
    *,
    noise: Noise | None = None,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
) -> PersonalDictionary:
    """Find the group of patches that restores a pixel, and its personal dictionary.

    It is what the second pass of ``denoise`` does with a group, at the quality balanced, where the
    filters are those that patches of the image gave: the result is the pilot, and patches are
    matched in the same window and by the same distance. W, which the pass finds nearly, is exact
    here. Other filters ``denoise`` does not leave as they are, for what they cannot say would be
    lost. Here they stay: whole patches are compared, and W tells what these filters say of the
    group. The patch is the one with the pixel in its middle, as far as the border of the image
    allows. Only the window is read.

    Parameters
    ----------
    result : array
        The image, of any kind that ``denoise`` takes.
    bank : FilterBank
        The base filters that restored it.
    position : sequence of int or None
        Index of the pixel on each axis of the image; what it is on joint axes does not matter.
    noise : Noise, optional
        The noise that was taken away, as ``estimate_noise`` finds it. Patches are then compared
        where it is even, as ``denoise`` compares them, and filters far below it are left out.
    kind, axes
        See ``denoise``.

    Returns
    -------
    PersonalDictionary
        The members of the group, their W, and their filters D = B W.

    Raises
    ------
    ValueError
        If the position is not in the image, the bank does not fit it, or the patch around the pixel
        has missing or infinite values.

    Examples
    --------
    >>> from napari_scsc import denoise, explain_group, learn, samples
    >>> image = samples.noisy_tissue((96, 96))
    >>> bank = learn(image, kind="image")
    >>> group = explain_group(denoise(image, kind="image", bank=bank), bank, (40, 50))
    >>> len(group.members)
    64
    >>> group.members[0]
    (slice(35, 45, None), slice(45, 55, None))
    """
    image = open_result(result, bank, kind, axes)
    index = check_position(position, image)
    window = _Window.around(index, image, bank.support)
    values = window.read(image, noise)
    found = window.match(values, bank)
    negligible = 0.0 if noise is None else _NEGLIGIBLE_NOISE * _even_level(noise) ** 2
    mean, weights, powers, filters, outside = _describe(values, found, bank, negligible)
    return PersonalDictionary(
        position=index,
        labels=image.axes.labels,
        members=tuple(image.region(window.sample, window.box_of(place)) for place in found),
        mean=mean,
        weights=weights,
        powers=powers,
        filters=filters,
        outside=outside,
    )


def _even_level(noise: Noise) -> float:
    """The standard deviation of the noise where it is even."""
    return 1.0 if noise.depends_on_signal else noise.sigma


@dataclass(frozen=True, slots=True)
class _Window:
    """Where patches like the one around a pixel are looked for, on the shift axes."""

    sample: tuple[int, ...]
    patch: tuple[int, ...]
    start: tuple[int, ...]  # of the patch around the pixel
    reach: tuple[int, ...]
    size: int  # of a group
    box: Region  # that all these patches cover

    @classmethod
    def around(
        cls, index: tuple[int | None, ...], image: ImageSamples, patch: tuple[int, ...]
    ) -> _Window:
        def along(role: str) -> list[Any]:
            return [i for i, r in zip(index, image.axes.roles, strict=True) if r == role]

        *_, last = passes_for(patch, "balanced").wiener
        places = [n - p + 1 for n, p in zip(image.shift, patch, strict=True)]
        start = tuple(
            min(max(i - p // 2, 0), n - 1)
            for i, p, n in zip(along("shift"), patch, places, strict=True)
        )
        reach = tuple(min(r, n - 1) for r, n in zip(last.reach, places, strict=True))
        return cls(
            sample=tuple(along("sample")),
            patch=patch,
            start=start,
            reach=reach,
            size=min(last.size, math.prod(r + 1 for r in reach)),
            box=tuple(
                slice(max(0, s - r), min(n, s + r + 1) + p - 1)
                for s, r, n, p in zip(start, reach, places, patch, strict=True)
            ),
        )

    def box_of(self, place: Array) -> Region:
        """The patch at a place of the window, as a region of the sample."""
        return tuple(
            slice(b.start + int(i), b.start + int(i) + p)
            for b, i, p in zip(self.box, place, self.patch, strict=True)
        )

    def read(self, image: ImageSamples, noise: Noise | None) -> Array:
        """Values (C, *box) in double precision with even noise, NaN where there are none."""
        values = image.read(self.sample, self.box).astype(np.float64)
        values[image.missing(self.sample, self.box) | np.isinf(values)] = np.nan
        if noise is None or not noise.depends_on_signal:
            return values
        return Anscombe(noise.gain, noise.offset, noise.floor**2).forward(values)

    def match(self, values: Array, bank: FilterBank) -> Array:
        """Places (n, shift axes) in the window of the patches most alike, as the passes do it."""
        missing = np.isnan(values)
        own = tuple(s - b.start for s, b in zip(self.start, self.box, strict=True))
        grid = PatchGrid(len(values), values.shape[1:], self.patch)
        broken = grid.touching(np.asarray(missing.any(axis=0)))
        if broken[own]:
            raise ValueError(
                "the image has missing or infinite values around the pixel: it has no group"
            )
        basis = Basis.of(bank)
        # Distances stay as they are, and single precision has less to hold.
        centred = values - np.nanmean(values)
        centred /= max(float(np.nanmax(np.abs(centred))), np.finfo(np.float64).tiny)
        mixed = basis.project(np.where(missing, 0, centred)).astype(np.float32)
        if bank.is_of_patches:
            coefficients = replace(grid, n_joint=len(mixed)).express(mixed, basis.vectors)
            n_compared = N_COMPARED
        else:
            coefficients = _all_patches(mixed, self.patch)
            n_compared = coefficients.shape[1]
        coefficients[broken.ravel()] = np.inf  # further away than any other
        count = min(self.size, int(np.count_nonzero(~broken)))
        before = 3 - len(own)
        (members,) = group_kernels.get().match(
            planes_of(coefficients, (1,) * before + grid.places, n_compared),
            np.array([(0,) * before + own]),
            np.array((0,) * before + self.reach),
            count,
        )
        return np.stack(np.unravel_index(members, grid.places), axis=1)


def _all_patches(values: Array, patch: tuple[int, ...]) -> Array:
    """Patches (places, C * prod(patch)) of values (C, *box)."""
    windows = sliding_window_view(values, patch, axis=tuple(range(1, values.ndim)))
    n_places = math.prod(windows.shape[1 : values.ndim])
    return np.moveaxis(windows, 0, values.ndim - 1).reshape(n_places, -1)


def _describe(
    values: Array, places: Array, bank: FilterBank, negligible: float
) -> tuple[Array, Array, Array, Array, float]:
    """Mean, W, powers, D and the power outside of the span of B, for patches at these places."""
    shape = bank.filters.shape[1:]
    shift = tuple(range(1, values.ndim))
    windows = sliding_window_view(values, bank.support, axis=shift)  # (C, *places, *support)
    patches = np.moveaxis(windows[(slice(None), *places.T)], 0, 1).reshape(len(places), -1)
    base = bank.filters.reshape(bank.n_base, -1).astype(np.float64)
    span = _orthonormal_span(base)
    coefficients = patches @ span.T
    mean = coefficients.mean(axis=0)
    deviations = coefficients - mean
    energy = float(np.square(deviations).sum())
    _, strengths, directions = np.linalg.svd(deviations, full_matrices=False)
    directions = directions[strengths**2 > max(negligible, _NEGLIGIBLE_ENERGY * energy)]
    filters = directions @ span
    weights = (filters @ pseudo_inverse(base)).T
    # Either sign is right: the base filter that counts most is added.
    signs = np.sign(np.take_along_axis(weights, np.abs(weights).argmax(axis=0)[None], axis=0))[0]
    signs[signs == 0] = 1
    total = float(np.square(patches - patches.mean(axis=0)).sum())
    return (
        (mean @ span).reshape(shape),
        weights * signs,
        np.square(deviations @ directions.T).mean(axis=0),
        (filters * signs[:, None]).reshape(-1, *shape),
        max(total - energy, 0.0) / len(patches),
    )


def _orthonormal_span(base: Array) -> Array:
    """Orthonormal vectors of the span of base filters (R, M): themselves, if they are."""
    if is_orthonormal(base):
        return base
    _, strengths, vectors = np.linalg.svd(base, full_matrices=False)
    return np.asarray(vectors[strengths > ROUNDING * strengths[0]])
