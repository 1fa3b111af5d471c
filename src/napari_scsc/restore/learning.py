"""Learn the base filters that restore, from tiles of images of any number and size."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.lattice import LatticeSCSC
from napari_scsc.learner import Run, Threads
from napari_scsc.restore import job, sampling
from napari_scsc.restore.basis import mixtures_above_noise
from napari_scsc.restore.blocks import RunInterrupted
from napari_scsc.restore.job import RestoreUpdate, Updates
from napari_scsc.restore.keeper import Keeper, Progress
from napari_scsc.restore.models import MODELS, Lattice, in_noise_levels, shape_for
from napari_scsc.restore.noise import Noise
from napari_scsc.restore.request import Request
from napari_scsc.restore.sampling import Cluster, ClusterBroke, OutOfMemory
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
_FIRST = 16  # tiles that are looked at before anything is learned


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
    tiles: int | None = TILES,
    draw: str = "uniform",
    passes: int = 1,
    model: str = "lattice",
    n_filters: int | None = None,
    beta: float | None = None,
    ball: Ball = "l2",
    seed: int = 0,
    batch: int = 1,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = 50,
    every_seconds: float | None = 60.0,
    resume: bool = False,
    tick: job.Tick | None = None,
) -> Updates:
    """Learn base filters online from tiles of images, yielding an update after each tile.

    Tiles are read when it is their turn, chunk by chunk, and not kept: the images may be larger
    than the memory.

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
    tiles : int or None
        How many tiles of an image are learned from, at most; None for all.
    draw : {"uniform", "structure"}
        "uniform": each tile is as likely as any other. "structure": of those that are in memory
        anyway, tiles that hold more than noise are more likely.
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
    batch : int
        How many tiles are coded, at the same time, before the filters are updated.
    n_jobs : int, optional
        Threads that code the tiles of a batch. Unless given, the workers of the dask.distributed
        client that is active, if there is one, or else as many threads as there are cores. The
        result does not depend on it.
    checkpoint : path, optional
        A file in which the state is kept while learning, and after it.
    every, every_seconds : int, float, optional
        It is written after so many tiles, or so many seconds, whichever comes first.
    resume : bool
        Whether to go on from the checkpoint, if it is there: with the same arguments the result
        has the same bits as if learning had not stopped.
    tick : callable, optional
        Called before each tile; it may raise to cancel. The last update then holds the filters
        so far.
    """
    if not isinstance(images, list | tuple) or not images:
        raise ValueError("images must be a list of at least one image, as in learn([image])")
    sources = [_opened(image, kind, axes, i, len(images)) for i, image in enumerate(images, 1)]
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
    if tiles is not None:
        tiles = checks.whole("tiles", tiles, 1)
    draw = checks.choice("draw", draw, sampling.DRAWS)
    paper_only = {"n_filters": n_filters, "beta": beta}
    if checks.choice("model", model, ("lattice", "paper")) == "lattice":
        for name, value in paper_only.items():
            if value is not None:
                raise ValueError(f"{name} belongs to the paper's model: learn with model='paper'")
    if bank is not None:
        given = {"n_base": n_base, "filter_shape": filter_shape, "n_filters": n_filters}
        for name, own in given.items():
            if own is not None:
                raise ValueError(f"{name} is that of the bank: leave it out, or learn without bank")
        for source in sources:
            job.check_bank(bank, source)
        if model == "lattice":
            LatticeSCSC.from_bank(bank)  # refuses a bank that it cannot go on from
    support = shape if bank is None else bank.support
    request = Request(
        sources=sources,
        grids=[
            sampling.cut_up(s, _tile_points(s), draw=draw, filter_shape=support) for s in sources
        ],
        bank=bank,
        n_base=n_base,
        filter_shape=shape,
        sigma=sigma,
        tiles=tiles,
        draw=draw,
        passes=checks.whole("passes", passes, 1),
        model=model,
        n_filters=n_filters,
        beta=beta,
        ball=ball,
        seed=checks.whole("seed", seed, 0),
        batch=checks.whole("batch", batch, 1),
    )
    keeper = None
    if checkpoint is not None:
        keeper = Keeper(request, Path(checkpoint), every, every_seconds, resume)
    run = _run(n_jobs, request.batch)
    return job.one_thread_each(_explaining(_updates(request, run, keeper, tick), keeper))


def _opened(image: Any, kind: Any, axes: Any, number: int, total: int) -> Source:
    """One of the images; what is wrong with it says which one it is."""
    try:
        return open_image(image, None, kind, axes)
    except ValueError as error:
        if total == 1:
            raise
        raise ValueError(f"image {number} of {total}: {error}") from error


def _tile_points(source: Source) -> int:
    """Points of a tile: fewer where the image is small, so that there is something to follow."""
    pairs = zip(source.image.shape, source.axes.roles, strict=True)
    points = math.prod(n for n, role in pairs if role != "joint") // _FEWEST_TILES
    return min(max(points, _SMALLEST_TILE), _TILE_VALUES)


def _run(n_jobs: int | None, batch: int) -> Run:
    """Where tiles are coded."""
    if n_jobs is not None:
        return Threads(n_jobs)
    cluster = Cluster.active()
    if cluster is not None:
        return cluster
    from dask.system import CPU_COUNT

    return Threads(min(CPU_COUNT, batch))


# --- the loop -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    """Samples that are learned from together: which tiles they are, from 1 on, and the last one."""

    samples: list[Any]
    numbers: list[int]
    last: int


def _updates(request: Request, run: Run, keeper: Keeper | None, tick: job.Tick | None) -> Updates:
    progress = keeper.progress() if keeper else None
    start = progress.drawn if progress else 0
    tiles: Iterator[tuple[int, Any]] = sampling.read(
        request.sources, request.grids, request.draws(start), run, request.draw
    )
    if progress is None:
        first = _first_tiles(tiles, run, tick)
        tiles = itertools.chain([(one.source, one.tile) for one in first], tiles)
        progress = yield from _beginning(request, run, first, tick)
        del first
    else:
        yield from map(_told, progress.noises)
    total = request.total
    with closing(sampling.ahead(_batches(request, progress, tiles, run))) as batches:
        for batch in batches:
            if tick:
                tick()
            found = progress.model.learn(batch.samples, run, tick) if batch.samples else []
            progress.drawn = batch.last
            progress.n_learned += len(found)
            if keeper:
                keeper.keep(progress)
            bank = progress.model.bank if found else None
            for number, update in zip(batch.numbers, found, strict=True):
                assert bank is not None
                yield RestoreUpdate(
                    "learn",
                    number / total,
                    f"learned from tile {number} of {total}",
                    learned=replace(update, B=bank.filters, psnr=update.psnr + progress.peak),
                    bank=bank,
                )
    if keeper:
        keeper.keep(progress, at_once=True)
    bank = progress.model.bank
    yield RestoreUpdate("done", 1.0, f"{bank.n_base} base filters", bank=bank)


def _explaining(updates: Updates, keeper: Keeper | None) -> Updates:
    """The same updates; where a cluster breaks, the error says how to go on."""
    try:
        yield from updates
    except ClusterBroke as error:
        where = " on workers with more memory" if isinstance(error, OutOfMemory) else ""
        how = f"nothing was kept: learn again{where}, with a checkpoint"
        if keeper and keeper.path.exists():
            how = f"{keeper.path} keeps what was learned: learn again{where} with resume"
        raise RunInterrupted(f"{error}; {how}") from error


@dataclass(frozen=True, slots=True)
class _First:
    """One of the first tiles: its image, what ``run`` takes for it, and its values."""

    source: int
    tile: Any
    values: Array
    is_usable: bool


_NOTHING = np.array(np.nan)  # stands for a tile that is not used, and need not be kept


def _first_tiles(tiles: Iterator[tuple[int, Any]], run: Run, tick: job.Tick | None) -> list[_First]:
    """The first tiles; there are more of them only if something is missing in all."""
    first: list[_First] = []
    while not any(one.is_usable for one in first):
        several = []
        for pair in itertools.islice(tiles, _FIRST):
            if tick:
                tick()
            several.append(pair)
        if not several:
            raise ValueError("every tile of the images has missing values: inpaint them first")
        values = run.gather([tile for _, tile in several], tick)
        for (source, tile), own in zip(several, values, strict=True):
            is_usable = sampling.is_usable(own)
            if not is_usable and len(first) >= _FIRST:
                tile = own = _NOTHING
            first.append(_First(source, tile, own, is_usable))
    return first


def _beginning(
    request: Request, run: Run, first: list[_First], tick: job.Tick | None
) -> Generator[RestoreUpdate, None, Progress]:
    """Find the noise of the images, and what to learn, from the first tiles."""
    noises = []
    for number, source in enumerate(request.sources):
        if request.sigma is not None:
            noise = job.given_noise(source, request.sigma)
        elif len(request.sources) == 1:
            noise = _noise_in(source, [one.values for one in first[:_FIRST]])
        else:
            noise = _noise_in(source, _tiles_of(request, number, run, tick))
        noises.append(noise)
        yield _told(noise)
    working = [Working(s, n) for s, n in zip(request.sources, noises, strict=True)]
    scaled = [in_noise_levels(f.values, working[f.source]) for f in first if f.is_usable]
    return Progress(MODELS[request.model].begin(request, scaled), noises, _peak(scaled))


def _peak(tiles: list[Array]) -> float:
    """The largest range of a tile in dB: PSNR is understood as relative to it."""
    return 20 * math.log10(max(max(float(np.ptp(tile)) for tile in tiles), 1e-30))


def _told(noise: Noise) -> RestoreUpdate:
    return RestoreUpdate("noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise)


def _tiles_of(request: Request, number: int, run: Run, tick: job.Tick | None) -> list[Array]:
    """The first tiles of one of several images."""
    if tick:
        tick()
    sources, grids = [request.sources[number]], [request.grids[number]]
    order = sampling.order(grids, request.tiles, seed=request.seed)
    draws = itertools.islice(order, _FIRST)
    return run.gather([tile for _, tile in sampling.read(sources, grids, draws, run)], tick)


def _noise_in(source: Source, tiles: list[Array]) -> Noise:
    """What tiles (C, *shift), masked where something is missing, tell of the noise."""
    return job.noise_in(
        source, ((np.ma.getdata(tile), ~np.ma.getmaskarray(tile)) for tile in tiles)
    )


def _batches(
    request: Request, progress: Progress, tiles: Iterable[tuple[int, Any]], run: Run
) -> Generator[_Batch, None, None]:
    """So many tiles at a time, as samples; a batch is smaller where something is missing."""
    working = [Working(s, n) for s, n in zip(request.sources, progress.noises, strict=True)]
    prepare = [progress.model.preparing(w) for w in working]
    whole = all(s.is_known_whole and not s.has_missing for s in request.sources)
    numbered = enumerate(tiles, progress.drawn + 1)
    while several := list(itertools.islice(numbered, request.batch)):
        usable = [True] * len(several)
        if not whole:
            usable = run.gather(run.map(sampling.is_usable, [tile for _, (_, tile) in several]))
        kept = list(itertools.compress(several, usable))
        yield _Batch(
            samples=[run.map(prepare[source], [tile])[0] for _, (source, tile) in kept],
            numbers=[number for number, _ in kept],
            last=several[-1][0],
        )


# --- learning while restoring -------------------------------------------------------------------


def learning(
    tiles: list[Array], source: Source, sigma: float, seed: int, tick: job.Tick | None
) -> Generator[RestoreUpdate, None, FilterBank]:
    """Learn base filters from tiles (C, *shift) in working values; return them as a bank."""
    mixtures = mixtures_above_noise(tiles, sigma)
    patch = shape_for(tiles, mixtures, source, sigma)
    learner = LatticeSCSC(None, patch, 1, sigma=sigma, seed=seed)
    model = Lattice(learner, mixtures, source)
    mixed = (np.tensordot(mixtures, tile, axes=1) for tile in tiles)
    peak = _peak(tiles)
    for number, update in enumerate(learner.iter_fit(mixed, tick=tick), 1):
        found = model.bank
        yield RestoreUpdate(
            "learn",
            job.LEARNING * number / len(tiles),
            f"learned from tile {number} of {len(tiles)}",
            learned=replace(update, B=found.filters, psnr=update.psnr + peak),
            bank=found,
        )
    return model.bank


def places_to_learn_from(
    source: Source, seed: int, *, whole: bool = False
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Where the tiles lie that filters are learned from; ``whole``: then all the others."""
    most = None if whole else TILES
    return draw_tiles(source, _TILE_VALUES * source.n_joint, most, seed)
