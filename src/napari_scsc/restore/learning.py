"""Learn the base filters that restore, from tiles of one image or of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.lattice import LatticeSCSC
from napari_scsc.restore import job, paper, plan
from napari_scsc.restore.basis import Basis, mixtures_above_noise
from napari_scsc.restore.job import RestoreUpdate, Updates
from napari_scsc.restore.source import (
    Region,
    Source,
    Working,
    check_sigma,
    draw_tiles,
    open_image,
)
from napari_scsc.settings import filter_lengths
from napari_scsc.solver.prox import Ball

Array = NDArray[Any]

_TILE_VALUES = 128 * 128  # of a tile that is learned from
_SMALLEST_TILE = 48 * 48
_FEWEST_TILES = 16
TILES = 16  # of one image, in one pass
_FAINTEST = 1e-3  # of the range of an image: noise that is assumed where there is none


def learn(images: Sequence[Any], **options: Any) -> FilterBank:
    """Learn base filters from images of one kind; see ``iter_learn`` for the options."""
    for update in iter_learn(images, **options):
        bank = update.bank
    assert bank is not None
    return bank


def iter_learn(
    images: Sequence[Any],
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    n_base: int | None = None,
    filter_shape: Sequence[int] | None = None,
    sigma: float | None = None,
    tiles: int = TILES,
    passes: int = 1,
    model: str = "lattice",
    n_filters: int | None = None,
    beta: float | None = None,
    ball: Ball = "l2",
    seed: int = 0,
    tick: job.Tick | None = None,
) -> Updates:
    """Learn base filters online from tiles of images, yielding an update after each tile.

    Parameters
    ----------
    images : sequence of array
        Images of one kind, in any range of values; NaN is left out.
    kind, axes
        See ``denoise``.
    bank : FilterBank, optional
        Filters to go on from, learned by this function or ``LatticeSCSC``.
    n_base : int, optional
        R, the number of base filters. Without it, those that stand above the noise.
    filter_shape : tuple of int, optional
        Lengths of the filters on the shift axes. Without it, what suits the kind of data.
    sigma : float, optional
        Noise level in the units of the images; estimated for each unless given.
    tiles : int
        How many tiles of an image are learned from, at most.
    passes : int
        How often to go through them.
    model : {"lattice", "paper"}
        "lattice": the orthonormal filters of ``LatticeSCSC``, which restore best. "paper": those
        of ``SCSC``, whose few base filters each sample mixes into many; ``denoise`` with
        ``method="scsc-paper"`` codes with them.
    n_filters, beta, ball
        Of the model "paper": K, the price of the code in noise levels, and the ball of the
        weights; see ``SCSC``.
    seed : int
        The same seed gives the same filters.
    tick : callable, optional
        Called before each tile; it may raise to cancel. The last update then holds the filters
        so far.
    """
    if not isinstance(images, list | tuple) or not images:
        raise ValueError("images must be a list of at least one image")
    sources = [open_image(image, None, kind, axes) for image in images]
    for source in sources[1:]:
        if source.joint != sources[0].joint or len(source.shift) != len(sources[0].shift):
            raise ValueError(
                f"images of the shapes {sources[0].image.shape} and {source.image.shape} "
                f"({sources[0].axes.kind}) cannot share filters: their joint axes differ"
            )
    if sigma is not None:
        sigma = checks.real("sigma", sigma, above=0)
    if n_base is not None:
        n_base = checks.whole("n_base", n_base, 1)
    for source in sources:
        check_sigma(sigma, source)
    shape = None if filter_shape is None else filter_lengths(filter_shape)
    tiles, seed = checks.whole("tiles", tiles, 1), checks.whole("seed", seed, 0)
    passes = checks.whole("passes", passes, 1)
    paper_only = {"n_filters": n_filters, "beta": beta}
    if checks.choice("model", model, ("lattice", "paper")) == "lattice":
        for name, value in paper_only.items():
            if value is not None:
                raise ValueError(f"{name} belongs to the paper's model: learn with model='paper'")
    if bank is not None:
        for source in sources:
            job.check_bank(bank, source)
        if model == "lattice":
            LatticeSCSC.from_bank(bank)  # refuses a bank that it cannot go on from

    def fit(found: list[Array]) -> Generator[RestoreUpdate, None, FilterBank]:
        if model == "lattice":
            return learning(
                found * passes,
                sources[0],
                1.0,
                seed,
                tick,
                bank=bank,
                n_base=n_base,
                shape=shape,
                share=1.0,
            )
        return paper.learning(
            found,
            sources[0],
            bank=bank,
            n_base=n_base,
            n_filters=n_filters,
            shape=shape,
            beta=beta,
            ball=ball,
            passes=passes,
            seed=seed,
            tick=tick,
        )

    return job.one_thread_each(_updates(sources, sigma, tiles, seed, tick, fit))


def _updates(
    sources: list[Source],
    sigma: float | None,
    most: int,
    seed: int,
    tick: job.Tick | None,
    fit: Callable[[list[Array]], Generator[RestoreUpdate, None, FilterBank]],
) -> Updates:
    tiles = []
    for source in sources:
        noise = job.find_noise(source, sigma)
        working = Working(source, noise)
        level = max(working.sigma, _FAINTEST)
        for place in draw_tiles(source, _tile_values(source), most, seed):
            if tick:
                tick()
            values = working.to_work(source.read(*place)) / np.float32(level)
            if np.isfinite(values).all():
                tiles.append(values)
        yield RestoreUpdate("noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise)
    if not tiles:
        raise ValueError("every tile of the images has missing values: inpaint them first")
    # The tiles are in noise levels, but PSNR is understood as relative to the range of values.
    peak = 20 * math.log10(max(max(np.ptp(tile) for tile in tiles), 1e-30))
    found = None
    for update in fit(tiles):
        found = update.bank
        assert update.learned is not None
        learned = replace(update.learned, psnr=update.learned.psnr + peak)
        yield replace(update, learned=learned)
    assert found is not None
    yield RestoreUpdate("done", 1.0, f"{found.n_base} base filters", bank=found)


def _tile_values(source: Source) -> int:
    """Values of a tile: smaller where the image is, so that there is something to follow."""
    points = math.prod(source.shift) * len(source.samples()) // _FEWEST_TILES
    return min(max(points, _SMALLEST_TILE), _TILE_VALUES) * source.n_joint


def learning(
    tiles: list[Array],
    source: Source,
    sigma: float,
    seed: int,
    tick: job.Tick | None,
    *,
    bank: FilterBank | None = None,
    n_base: int | None = None,
    shape: tuple[int, ...] | None = None,
    share: float = job.LEARNING,
) -> Generator[RestoreUpdate, None, FilterBank]:
    """Learn base filters from tiles (C, *shift) in working values; return them as a bank."""
    if bank is None:
        mixtures = mixtures_above_noise(tiles, sigma)
        patch = shape or _shape_for(tiles, mixtures, source, sigma)
        learner = LatticeSCSC(n_base, patch, 1, sigma=sigma, seed=seed)
    else:
        mixtures = Basis.of(bank).mixtures
        learner = LatticeSCSC.from_bank(_mixed(bank, mixtures), sigma=sigma, seed=seed)

    def full(found: FilterBank) -> FilterBank:
        return FilterBank(
            filters=_unmixed(found.filters, mixtures, source.joint),
            n_joint=len(source.joint),
            info={**found.info, "kind": source.axes.kind},
        )

    mixed = (np.tensordot(mixtures, tile, axes=1) for tile in tiles)
    for number, update in enumerate(learner.iter_fit(mixed, tick=tick), 1):
        found = full(learner.bank)
        yield RestoreUpdate(
            "learn",
            share * number / len(tiles),
            f"learned from tile {number} of {len(tiles)}",
            learned=replace(update, B=found.filters),
            bank=found,
        )
    return full(learner.bank)


def places_to_learn_from(
    source: Source, seed: int, *, whole: bool = False
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Where the tiles lie that filters are learned from; ``whole``: then all the others."""
    most = None if whole else TILES
    return draw_tiles(source, _TILE_VALUES * source.n_joint, most, seed)


def _shape_for(
    tiles: list[Array], mixtures: Array, source: Source, sigma: float
) -> tuple[int, ...]:
    spread = float(np.mean([np.var(np.tensordot(mixtures[0], tile, axes=1)) for tile in tiles]))
    noisy = sigma**2 > max(spread - sigma**2, 0)
    patch = plan.patch_shape(source.shift, len(mixtures), noisy)
    return tuple(min(p, *(tile.shape[1 + i] for tile in tiles)) for i, p in enumerate(patch))


def _unmixed(filters: Array, mixtures: Array, joint: tuple[int, ...]) -> Array:
    """Filters (R, k, *support) of mixtures as filters (R, *joint, *support)."""
    full = np.einsum("kc,rk...->rc...", mixtures, filters)
    return np.asarray(full.reshape(len(filters), *joint, *filters.shape[2:]), np.float32)


def _mixed(bank: FilterBank, mixtures: Array) -> FilterBank:
    """The bank (R, *joint, *support) with filters (R, k, *support) of the mixtures."""
    values = bank.filters.reshape(bank.n_base, -1, *bank.support)
    mixed = np.einsum("kc,rc...->rk...", mixtures, values).astype(np.float32)
    return FilterBank(mixed, 1, info=bank.info)
