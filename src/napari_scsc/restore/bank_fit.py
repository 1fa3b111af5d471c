"""Whether a bank of filters fits an image, or they had better be learned again.

Patches of a few tiles are split into what lies in the span of the base filters and what lies
outside. What filters learned from these patches would leave outside is the measure of what is too
much: it is what learning again could gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_seed
from napari_scsc.data.axes import Axes, resolve
from napari_scsc.data.image import wrap_image
from napari_scsc.data.samples import (
    ImageSamples,
    box_lengths,
    check_bank,
    check_lengths,
    check_range,
    draw_tiles,
)
from napari_scsc.data.scaling import ValueRange
from napari_scsc.errors import UserError
from napari_scsc.learning.details import split_smooth
from napari_scsc.learning.models import noise_level
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis
from napari_scsc.model.scsc import SCSC
from napari_scsc.model.threads import single_threaded
from napari_scsc.noise.find import find_noise, open_few_tiles
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.options import RestoreOptions, check_bank_type
from napari_scsc.restore.paper import code_price

Verdict = Literal["fits", "learn again"]

MAX_ENERGY_TO_GAIN = 0.1
"""Share of the energy of patches that a bank which fits may lack beside filters of their own."""

MAX_ENERGY_TO_GAIN_BY_SLIDING = 0.4
"""The same for convolutional filters: a patch may hold one of them beside its middle, too."""

TILE_COUNT = 16  # of an image, that are looked at
POINTS_PER_TILE = 64 * 64  # along the shift axes
MAX_PATCHES = 2048  # of all tiles together
_MIN_PATCHES = 256  # of all tiles together, however large they are
MAX_PATCH_VALUES = 1 << 20  # of these
_WEIGHT_TILE_COUNT = 3  # of these, whose weights are found: each takes a tenth of a second
_WEIGHT_TILE_POINTS = 32 * 32
_CODE_ITERATIONS = 20
_PATCH_PRICE = 2.75  # of a coefficient, in noise levels
_NOISE_DOUBT = 0.1  # of the variance of the noise, by which an estimate may be wrong


@dataclass(frozen=True, slots=True)
class TileFit:
    """How a bank fits one tile.

    Attributes
    ----------
    region : tuple of slice
        Where the tile lies in the image, in its own order of axes.
    energy_outside, objective : float
        As those of ``BankFit``, of this tile alone.
    """

    region: Region
    energy_outside: float
    objective: float


@dataclass(frozen=True, slots=True)
class BankFit:
    """How a bank of filters fits an image, as far as a few of its tiles tell.

    Attributes
    ----------
    verdict : {"fits", "learn again"}
        "learn again" where ``energy_to_gain`` is above 0.1; of convolutional filters, above 0.4.
    energy_outside : float
        Share of the energy of patches, noise not counted, that lies outside the span of the base
        filters, from 0 to 1. Brightness counts as inside.
    energy_to_gain : float
        How much more that is than what as many filters, learned from other tiles of the image,
        leave outside: from 0 to ``energy_outside``.
    distance_of_weights : float or None
        How far the weights W of tiles are from the mean W of the bank, in lengths of the latter;
        None for a bank without weights.
    objective : float
        Energy of what is left plus the price of the code, a value of a patch, in squares of the
        noise level: 0.5 is what noise alone costs.
    sigma : float
        The noise level that was gone by, in the units of the image.
    tiles : tuple of TileFit
        The tiles one by one, for a map over the image.
    """

    verdict: Verdict
    energy_outside: float
    energy_to_gain: float
    distance_of_weights: float | None
    objective: float
    sigma: float
    tiles: tuple[TileFit, ...]


def bank_fit(
    image: Any,
    bank: FilterBank,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    sigma: float | None = None,
    noise: Any = "auto",
    seed: int | None = None,
    rng: Any = None,
    cancellation: Cancellation = NEVER,
) -> BankFit:
    """Find out whether a bank fits an image, or its filters had better be learned again.

    Up to 16 tiles are read, drawn as learning draws them, and those from which ``denoise``
    estimates the noise. It takes some tenths of a second, however large the image is.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. Patches with missing values (NaN or
        masked) are left out.
    bank : FilterBank
        The filters, learned from this or from other images.
    kind, axes, sigma, noise
        See ``denoise``.
    seed : int, optional
        The same seed looks at the same tiles. 0 unless given.
    rng : int, numpy.random.Generator, SeedSequence or BitGenerator, optional
        Instead of ``seed``; see ``denoise``.
    cancellation : Cancellation, optional
        Cancels it: it then raises ``Cancelled``.

    Returns
    -------
    BankFit
        A word, and the measures that it comes from.

    Raises
    ------
    UserError
        If the filters have another shape than the image needs, or no patch is complete.

    Examples
    --------
    >>> from napari_scsc import bank_fit, learn, samples
    >>> image = samples.noisy_tissue((128, 128))
    >>> bank_fit(image, learn(image, kind="image"), kind="image").verdict
    'fits'
    """
    check_bank_type(bank, is_needed=True)
    seed = check_seed(seed, rng)
    options = RestoreOptions(kind=kind, axes=axes, bank=bank, sigma=sigma, noise=noise, seed=seed)
    with single_threaded():
        tiles = _Tiles.draw(image, options, cancellation)
        return _judge(tiles, bank, cancellation)


@dataclass(frozen=True)
class _Tiles:
    """Tiles of an image in white values, NaN where they are missing, and their noise."""

    regions: list[Region]
    values: list[Array]  # each (C, *shift)
    joint: tuple[int, ...]
    noise: Noise
    level: float

    @classmethod
    def draw(cls, image: Any, options: RestoreOptions, cancellation: Cancellation) -> _Tiles:
        assert options.bank is not None
        wrapped = wrap_image(image)
        meaning = resolve(
            wrapped.shape, options.kind, options.axes, labels=wrapped.labels, name=wrapped.name
        )
        check_lengths(meaning, wrapped.shape)
        check_bank(options.bank, ImageSamples(wrapped, meaning, ValueRange()))
        samples = open_few_tiles(wrapped, meaning)
        check_range(samples.range)
        cancellation.check()
        noise = find_noise(samples, options.noise_wish)
        least = [min(n, 2 * s) for n, s in zip(samples.shift, options.bank.support, strict=True)]
        side = map(max, box_lengths(samples.shift, POINTS_PER_TILE), least)
        places = list(draw_tiles(samples, 0, TILE_COUNT, options.seed, list(side)))
        working = WorkingValues(samples, noise)
        values = []
        for index, part in places:
            cancellation.check()
            known = ~samples.missing(index, part)
            work = working.at(index).to_work(samples.read(index, part))
            if known.all():
                work = working.at(index).whiten(work)
            values.append(np.where(known, work, np.float32(np.nan)))
        regions = [samples.region(*place) for place in places]
        return cls(regions, values, samples.joint, noise, noise_level(working))


def _judge(tiles: _Tiles, bank: FilterBank, cancellation: Cancellation) -> BankFit:
    details = [tile if bank.is_of_patches else _without_smooth(tile) for tile in tiles.values]
    span = _Span.of(bank)
    n_patches = min(MAX_PATCHES, max(_MIN_PATCHES, MAX_PATCH_VALUES // span.vectors.shape[1]))
    found = []
    for region, detail in zip(tiles.regions, details, strict=True):
        cancellation.check()
        patches = _cut(detail, bank.support, max(1, n_patches // len(details)))
        if len(patches):
            found.append((region, patches))
    if not found:
        raise UserError(
            "every patch that was looked at has missing values", remedy="inpaint them first"
        )
    everything = np.concatenate([patches for _, patches in found])
    outside = span.energy_outside(everything, tiles.level)
    gain = min(outside, span.energy_to_gain(everything, tiles.level))
    allowed = MAX_ENERGY_TO_GAIN if bank.is_of_patches else MAX_ENERGY_TO_GAIN_BY_SLIDING
    return BankFit(
        verdict="fits" if gain <= allowed else "learn again",
        energy_outside=outside,
        energy_to_gain=gain,
        distance_of_weights=_distance_of_weights(tiles, details, bank, cancellation),
        objective=span.objective(everything, tiles.level),
        sigma=tiles.noise.sigma,
        tiles=tuple(
            TileFit(
                region,
                span.energy_outside(patches, tiles.level),
                span.objective(patches, tiles.level),
            )
            for region, patches in found
        ),
    )


def _without_smooth(tile: Array) -> Array:
    """What convolutional filters are learned from, NaN where it is missing."""
    known = np.isfinite(tile)
    detail = split_smooth(np.where(known, tile, 0), None if known.all() else known)[1]
    return np.where(known, detail, np.float32(np.nan))


def _cut(tile: Array, support: tuple[int, ...], count: int) -> Array:
    """Up to so many complete patches (n, C * prod(support)) of a tile, spread evenly."""
    axes = tuple(range(1, tile.ndim))
    windows = sliding_window_view(tile, support, axis=axes)  # (C, *places, *support)
    places = windows.shape[1 : tile.ndim]
    complete = np.flatnonzero(np.isfinite(windows).all(axis=(0, *range(tile.ndim, windows.ndim))))
    chosen = complete[np.linspace(0, len(complete) - 1, min(count, len(complete))).astype(int)]
    patches = np.moveaxis(windows[(slice(None), *np.unravel_index(chosen, places))], 1, 0)
    mean = np.nanmean(tile, axis=axes).reshape(-1, *(1,) * len(support)) if len(chosen) else 0.0
    return np.asarray((patches - mean).reshape(len(chosen), math.prod(patches.shape[1:])))


@dataclass(frozen=True, slots=True)
class _Span:
    """An orthonormal basis (R, D) of the span of filters; the first ``n_flat`` are constants."""

    vectors: Array
    n_flat: int

    @classmethod
    def of(cls, bank: FilterBank) -> _Span:
        basis = Basis.of(bank)
        mixed = basis.vectors.reshape(len(basis.vectors), basis.n_flat, -1)
        full = np.einsum("kc,rkp->rcp", basis.mixtures, mixed)
        return cls(full.reshape(len(full), -1), basis.n_flat)

    def energy_outside(self, patches: Array, level: float) -> float:
        """Share of the energy of patches (n, D) outside, but for brightness and noise."""
        n_values = self.vectors.shape[1]
        energies = _energies(patches, self.vectors)
        allowed = (1 + _NOISE_DOUBT) * level**2 * (n_values - len(self.vectors))
        outside = max(float(energies.mean()) - allowed, 0.0)
        return self._share(outside, patches, level)

    def energy_to_gain(self, patches: Array, level: float) -> float:
        """How much more of it is outside than of as many filters learned from other patches.

        The noise is in both, and cancels. Each half of the patches is judged by the filters of the
        other: in filters of its own, noise would look like something to gain.
        """
        count = len(self.vectors) - self.n_flat
        constants = self.vectors[: self.n_flat]
        lively = patches - (patches @ constants.T) @ constants
        halves = lively[: len(lively) // 2], lively[len(lively) // 2 :]
        if not (count and len(halves[0])):
            return 0.0
        own = [
            _energies(judged, _main_directions(learned, count))
            for learned, judged in (halves, halves[::-1])
        ]
        gain = float(_energies(patches, self.vectors).mean() - np.concatenate(own).mean())
        return self._share(max(gain, 0.0), patches, level)

    def objective(self, patches: Array, level: float) -> float:
        """Half the energy that is left plus the price of the code, per value and level squared.

        A coefficient a has the cost min_z (a - z)^2 / 2 + price |z|, the function of Huber.
        """
        outside = _energies(patches, self.vectors).mean() / level**2
        lively = np.abs(patches @ self.vectors[self.n_flat :].T) / level
        costs = np.where(
            lively <= _PATCH_PRICE, lively**2 / 2, _PATCH_PRICE * (lively - _PATCH_PRICE / 2)
        )
        total = outside / 2 + costs.sum(axis=1).mean()
        return float(total / max(1, self.vectors.shape[1] - self.n_flat))

    def _share(self, energy: float, patches: Array, level: float) -> float:
        """That energy beside the one of a patch but for brightness and noise, at most 1.

        That is at least what noise may hide, and nothing for patches of one pixel.
        """
        noise = level**2 * (self.vectors.shape[1] - self.n_flat)
        whole = float(_energies(patches, self.vectors[: self.n_flat]).mean())
        signal = max(whole - noise, _NOISE_DOUBT * noise)
        return float(min(energy / signal, 1.0)) if signal > 0 else 0.0


def _energies(patches: Array, vectors: Array) -> Array:
    """Of each patch (n, D), the energy outside the span of orthonormal vectors."""
    inside = np.square(patches @ vectors.T, dtype=np.float64).sum(axis=1)
    return np.asarray(np.maximum(np.square(patches, dtype=np.float64).sum(axis=1) - inside, 0.0))


def _main_directions(patches: Array, count: int) -> Array:
    """The orthonormal directions (count, D) in which patches (n, D) have most energy."""
    n, n_values = patches.shape
    if n_values <= n:
        _, vectors = np.linalg.eigh(patches.T @ patches)
        return np.asarray(vectors[:, ::-1][:, :count].T)
    _, _, directions = np.linalg.svd(patches, full_matrices=False)
    return np.asarray(directions[:count])


def _distance_of_weights(
    tiles: _Tiles, details: list[Array], bank: FilterBank, cancellation: Cancellation
) -> float | None:
    """How far the mean weights of a few tiles are from those of the bank, if it has any."""
    if bank.weights is None:
        return None
    beta = code_price(bank, "sample", tiles.level)
    model = SCSC.from_bank(bank, beta=beta, weights="sample")
    found = []
    for detail in details[:_WEIGHT_TILE_COUNT]:
        shift = detail.shape[1:]
        least = [min(n, s) for n, s in zip(shift, bank.support, strict=True)]
        box = [
            max(a, b) for a, b in zip(box_lengths(shift, _WEIGHT_TILE_POINTS), least, strict=True)
        ]
        part = detail[(slice(None), *(slice(0, n) for n in box))]
        known = np.isfinite(part)
        if not known.any():
            continue
        shape = (*tiles.joint, *box)
        code = model.encode(
            np.where(known, part, 0).reshape(shape),
            None if known.all() else known.reshape(shape),
            max_iter=_CODE_ITERATIONS,
            cancellation=cancellation,
            warn=False,
        )
        found.append(code.W)
    if not found:
        return None
    difference = np.mean(found, axis=0) - bank.weights
    return float(np.linalg.norm(difference) / np.linalg.norm(bank.weights))
