"""Learn the base filters that restore, from tiles of images of any number and size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.samples import ImageSamples, draw_tiles, open_samples
from napari_scsc.errors import RunInterrupted
from napari_scsc.learn.checkpoint import Keeper, Progress
from napari_scsc.learn.models import MODELS, Lattice, in_noise_levels, shape_for
from napari_scsc.learn.request import Request
from napari_scsc.learn.sampler import (
    is_usable,
    read_ahead,
    read_tiles,
    tile_order,
)
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import mixtures_above_noise
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.threads import Executor, ThreadExecutor
from napari_scsc.noise.find import given_noise, noise_in_tiles
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.run.executors import ClusterExecutor, ClusterFailed, ClusterOutOfMemory
from napari_scsc.run.updates import LEARNING, RestoreUpdate, Updates

_TILE_VALUES = 128 * 128  # of a tile that is learned from
_SMALLEST_TILE = 48 * 48
_FEWEST_TILES = 16
TILES = 16  # of one image, in one pass
_FIRST = 16  # tiles that are looked at before anything is learned


def _opened(image: Any, kind: Any, axes: Any, number: int, total: int) -> ImageSamples:
    """One of the images; what is wrong with it says which one it is."""
    try:
        return open_samples(image, None, kind, axes)
    except ValueError as error:
        if total == 1:
            raise
        raise ValueError(f"image {number} of {total}: {error}") from error


def _tile_points(source: ImageSamples) -> int:
    """Points of a tile: fewer where the image is small, so that there is something to follow."""
    pairs = zip(source.image.shape, source.axes.roles, strict=True)
    points = math.prod(n for n, role in pairs if role != "joint") // _FEWEST_TILES
    return min(max(points, _SMALLEST_TILE), _TILE_VALUES)


def executor_for(n_jobs: int | None, batch: int) -> Executor:
    """Where tiles are coded."""
    if n_jobs is not None:
        return ThreadExecutor(n_jobs)
    cluster = ClusterExecutor.active()
    if cluster is not None:
        return cluster
    from dask.system import CPU_COUNT

    return ThreadExecutor(min(CPU_COUNT, batch))


@dataclass(frozen=True, slots=True)
class _Batch:
    """Samples that are learned from together: which tiles they are, from 1 on, and the last one."""

    samples: list[Any]
    numbers: list[int]
    last: int


def updates_of(
    request: Request, run: Executor, keeper: Keeper | None, cancellation: Cancellation
) -> Updates:
    progress = keeper.progress() if keeper else None
    start = progress.drawn if progress else 0
    tiles: Iterator[tuple[int, Any]] = read_tiles(
        request.sources, request.grids, request.draws(start), run, request.draw
    )
    if progress is None:
        first = _first_tiles(tiles, run, cancellation)
        tiles = itertools.chain([(one.source, one.tile) for one in first], tiles)
        progress = yield from _beginning(request, run, first, cancellation)
        del first
    else:
        yield from map(_told, progress.noises)
    total = request.total
    with closing(read_ahead(_batches(request, progress, tiles, run))) as batches:
        for batch in batches:
            cancellation.check()
            found = progress.model.learn(batch.samples, run, cancellation) if batch.samples else []
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


def explain_failures(updates: Updates, keeper: Keeper | None) -> Updates:
    """The same updates; where a cluster breaks, the error says how to go on."""
    try:
        yield from updates
    except ClusterFailed as error:
        where = " on workers with more memory" if isinstance(error, ClusterOutOfMemory) else ""
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


def _first_tiles(
    tiles: Iterator[tuple[int, Any]], run: Executor, cancellation: Cancellation
) -> list[_First]:
    """The first tiles; there are more of them only if something is missing in all."""
    first: list[_First] = []
    while not any(one.is_usable for one in first):
        several = []
        for pair in itertools.islice(tiles, _FIRST):
            cancellation.check()
            several.append(pair)
        if not several:
            raise ValueError("every tile of the images has missing values: inpaint them first")
        values = run.gather([tile for _, tile in several], cancellation)
        for (source, tile), own in zip(several, values, strict=True):
            usable = is_usable(own)
            if not usable and len(first) >= _FIRST:
                tile = own = _NOTHING
            first.append(_First(source, tile, own, usable))
    return first


def _beginning(
    request: Request, run: Executor, first: list[_First], cancellation: Cancellation
) -> Generator[RestoreUpdate, None, Progress]:
    """Find the noise of the images, and what to learn, from the first tiles."""
    noises = []
    for number, source in enumerate(request.sources):
        if request.sigma is not None:
            noise = given_noise(source, request.sigma)
        elif len(request.sources) == 1:
            noise = _noise_in(source, [one.values for one in first[:_FIRST]])
        else:
            noise = _noise_in(source, _tiles_of(request, number, run, cancellation))
        noises.append(noise)
        yield _told(noise)
    working = [WorkingValues(s, n) for s, n in zip(request.sources, noises, strict=True)]
    scaled = [in_noise_levels(f.values, working[f.source]) for f in first if f.is_usable]
    return Progress(MODELS[request.model].begin(request, scaled), noises, _peak(scaled))


def _peak(tiles: list[Array]) -> float:
    """The largest range of a tile in dB: PSNR is understood as relative to it."""
    return 20 * math.log10(max(max(float(np.ptp(tile)) for tile in tiles), 1e-30))


def _told(noise: Noise) -> RestoreUpdate:
    return RestoreUpdate("noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise)


def _tiles_of(
    request: Request, number: int, run: Executor, cancellation: Cancellation
) -> list[Array]:
    """The first tiles of one of several images."""
    cancellation.check()
    sources, grids = [request.sources[number]], [request.grids[number]]
    order = tile_order(grids, request.tiles, seed=request.seed)
    draws = itertools.islice(order, _FIRST)
    return run.gather([tile for _, tile in read_tiles(sources, grids, draws, run)], cancellation)


def _noise_in(source: ImageSamples, tiles: list[Array]) -> Noise:
    """What tiles (C, *shift), masked where something is missing, tell of the noise."""
    return noise_in_tiles(
        source, ((np.ma.getdata(tile), ~np.ma.getmaskarray(tile)) for tile in tiles)
    )


def _batches(
    request: Request, progress: Progress, tiles: Iterable[tuple[int, Any]], run: Executor
) -> Generator[_Batch, None, None]:
    """So many tiles at a time, as samples; a batch is smaller where something is missing."""
    working = [WorkingValues(s, n) for s, n in zip(request.sources, progress.noises, strict=True)]
    prepare = [progress.model.preparing(w) for w in working]
    whole = all(s.is_known_whole and not s.has_missing for s in request.sources)
    numbered = enumerate(tiles, progress.drawn + 1)
    while several := list(itertools.islice(numbered, request.batch)):
        usable = [True] * len(several)
        if not whole:
            usable = run.gather(run.map(is_usable, [tile for _, (_, tile) in several]))
        kept = list(itertools.compress(several, usable))
        yield _Batch(
            samples=[run.map(prepare[source], [tile])[0] for _, (source, tile) in kept],
            numbers=[number for number, _ in kept],
            last=several[-1][0],
        )


def learning(
    tiles: list[Array], source: ImageSamples, sigma: float, seed: int, cancellation: Cancellation
) -> Generator[RestoreUpdate, None, FilterBank]:
    """Learn base filters from tiles (C, *shift) in working values; return them as a bank."""
    mixtures = mixtures_above_noise(tiles, sigma)
    patch = shape_for(tiles, mixtures, source, sigma)
    learner = LatticeSCSC(None, patch, 1, sigma=sigma, seed=seed)
    model = Lattice(learner, mixtures, source)
    mixed = (np.tensordot(mixtures, tile, axes=1) for tile in tiles)
    peak = _peak(tiles)
    for number, update in enumerate(learner.iter_fit(mixed, cancellation=cancellation), 1):
        found = model.bank
        yield RestoreUpdate(
            "learn",
            LEARNING * number / len(tiles),
            f"learned from tile {number} of {len(tiles)}",
            learned=replace(update, B=found.filters, psnr=update.psnr + peak),
            bank=found,
        )
    return model.bank


def places_to_learn_from(
    source: ImageSamples, seed: int, *, whole: bool = False
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Where the tiles lie that filters are learned from; ``whole``: then all the others."""
    most = None if whole else TILES
    return draw_tiles(source, _TILE_VALUES * source.n_joint, most, seed)
