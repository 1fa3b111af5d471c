"""The loop that learns: tiles of images become samples, and a model learns from them.

``learn``, ``denoise`` and ``inpaint`` all learn here: the same image gives the same filters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import Remedy, RunInterrupted, UserError
from napari_scsc.learning.checkpoint import Checkpoint, LearningState
from napari_scsc.learning.models import (
    MODELS,
    LatticeModel,
    LearningValues,
    missing_in,
    noise_level,
)
from napari_scsc.learning.plan import LearnPlan
from napari_scsc.learning.sampler import read_ahead, read_tiles
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import Executor, ThreadExecutor
from napari_scsc.noise.find import find_noise
from napari_scsc.noise.in_tiles import noise_in_tiles
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.run.executors import ClusterExecutor, ClusterFailed, ClusterOutOfMemory
from napari_scsc.run.updates import Finished, NoiseFound, RestoreUpdate, TileLearned, Updates

_FIRST_TILES = 16  # looked at before anything is learned

Learning = Generator[RestoreUpdate, None, FilterBank]


def executor_for(n_jobs: int | None, batch: int) -> Executor:
    """Where tiles are coded: on so many threads, or unless given, on the cluster that is active."""
    if n_jobs is not None:
        return ThreadExecutor(n_jobs)
    cluster = ClusterExecutor.active()
    if cluster is not None:
        return cluster
    from dask.system import CPU_COUNT

    return ThreadExecutor(min(CPU_COUNT, batch))


def carry_out(plan: LearnPlan, cancellation: Cancellation) -> Updates:
    """Learn as planned, on the workers and with the checkpoint that the options name."""
    checkpoint = None if plan.options.checkpoint is None else Checkpoint(plan)
    executor = executor_for(plan.options.n_jobs, plan.options.batch)
    return _carry_out(plan, executor, checkpoint, cancellation)


def _carry_out(
    plan: LearnPlan,
    executor: Executor,
    checkpoint: Checkpoint | None,
    cancellation: Cancellation,
) -> Updates:
    known = plan.digests()
    try:
        bank = yield from learn_planned(plan, executor, checkpoint, cancellation)
    except ClusterFailed as error:
        text, remedy = f"{error}; nothing was kept", Remedy.LEARN_WITH_CHECKPOINT
        if checkpoint and checkpoint.path.exists():
            text, remedy = f"{error}; {checkpoint.path} keeps what was learned", Remedy.RUN_AGAIN
            if isinstance(error, ClusterOutOfMemory):
                remedy = Remedy.CLUSTER_MEMORY
        raise RunInterrupted(text, remedy=remedy) from error
    if plan.digests() != known:
        rest = f", and remove {checkpoint.path}" if checkpoint else ""
        raise UserError(
            "an image changed while filters were learned from it: they would be of two images",
            remedy=f"begin again when nothing writes to it any more{rest}",
        )
    yield Finished(bank, bank=bank)


def learn_planned(
    plan: LearnPlan,
    executor: Executor,
    checkpoint: Checkpoint | None,
    cancellation: Cancellation,
    share: float = 1.0,
) -> Learning:
    """Learn as planned; ``share`` is how much of the work of the caller that is."""
    state = checkpoint.state if checkpoint else None
    start = state.n_drawn if state else 0
    tiles: Iterator[tuple[int, Any]] = read_tiles(
        plan.images, plan.grids, plan.draws(start), executor, plan.options.draw
    )
    if state is None:
        first = _read_first_tiles(plan, tiles, executor, cancellation)
        tiles = itertools.chain([(tile.image, tile.tile) for tile in first], tiles)
        noises = list(plan.noises or [])
        for number in range(len(noises), len(plan.images)):
            noises.append(_find_noise(plan, number, first, executor, cancellation))
            yield NoiseFound(noises[-1], number + 1)
        state = _begin(plan, noises, first)
        del first
    else:
        yield from (NoiseFound(noise, i) for i, noise in enumerate(state.noises, 1))
    with closing(read_ahead(_make_batches(plan, state, tiles, executor))) as batches:
        yield from _learn_batches(
            state, batches, plan.n_tiles, executor, checkpoint, cancellation, share
        )
    return state.model.bank


def learn_from_arrays(
    tiles: list[Array],
    samples: ImageSamples,
    sigma: float,
    seed: int,
    cancellation: Cancellation,
    share: float,
    filter_shape: tuple[int, ...] | None = None,
) -> Learning:
    """Learn from tiles (C, *shift) in which the noise has the level ``sigma``."""
    model = LatticeModel.for_tiles(tiles, samples, sigma, seed, filter_shape=filter_shape)
    state = LearningState(model, [], _peak_of(tiles))
    batches = (_Batch([model.mix(tile)], [i], i) for i, tile in enumerate(tiles, 1))
    executor = ThreadExecutor()
    yield from _learn_batches(state, batches, len(tiles), executor, None, cancellation, share)
    return model.bank


@dataclass(frozen=True, slots=True)
class _Batch:
    """Samples that are learned from together: which tiles they are, from 1 on, and the last one."""

    samples: list[Any]
    numbers: list[int]
    last: int


def _learn_batches(
    state: LearningState,
    batches: Iterable[_Batch],
    total: int,
    executor: Executor,
    checkpoint: Checkpoint | None,
    cancellation: Cancellation,
    share: float,
) -> Generator[TileLearned, None, None]:
    for batch in batches:
        cancellation.check()
        learned = []
        if batch.samples:
            learned = state.model.learn(batch.samples, executor, cancellation)
        state.n_drawn = batch.last
        state.n_learned += len(learned)
        if checkpoint:
            checkpoint.write(state)
        if not learned:
            continue
        bank = state.model.bank
        for number, update in zip(batch.numbers, learned, strict=True):
            sample = replace(update, B=bank.filters, psnr=update.psnr + state.peak)
            yield TileLearned(sample, bank, number, total, share * number / total)
    if checkpoint:
        checkpoint.write(state, at_once=True)


@dataclass(frozen=True, slots=True)
class _FirstTile:
    """One of the first tiles: its image, what the executor takes for it, and its values."""

    image: int
    tile: Any
    values: Array
    is_usable: bool


_UNUSED_TILE = np.array(np.nan)  # stands for a tile that need not be kept


def _read_first_tiles(
    plan: LearnPlan,
    tiles: Iterator[tuple[int, Any]],
    executor: Executor,
    cancellation: Cancellation,
) -> list[_FirstTile]:
    """The first tiles; there are more of them only if none of these can be used."""
    model = MODELS[plan.options.model]
    first: list[_FirstTile] = []
    while not any(tile.is_usable for tile in first):
        drawn = []
        for pair in itertools.islice(tiles, _FIRST_TILES):
            cancellation.check()
            drawn.append(pair)
        if not drawn:
            raise UserError(
                "every tile of the images has missing values", remedy="inpaint them first"
            )
        gathered = executor.gather([tile for _, tile in drawn], cancellation)
        for (image, tile), values in zip(drawn, gathered, strict=True):
            usable = model.is_usable(values)
            if not usable and len(first) >= _FIRST_TILES:
                tile = values = _UNUSED_TILE
            first.append(_FirstTile(image, tile, values, usable))
    return first


def _find_noise(
    plan: LearnPlan,
    number: int,
    first: list[_FirstTile],
    executor: Executor,
    cancellation: Cancellation,
) -> Noise:
    """The noise of one of the images, of which no chunk is read for it that is not learned from.

    Where tiles come from anywhere, it is the noise that ``denoise`` finds.
    """
    cancellation.check()
    samples = plan.images[number]
    if plan.options.sigma is not None or plan.tiles_are_anywhere:
        sigma = plan.options.sigma
        return find_noise(samples, "auto" if sigma is None else sigma)
    tiles = [tile.values for tile in first[:_FIRST_TILES]]
    if len(plan.images) > 1:
        draws = itertools.islice(plan.draws_of(number), _FIRST_TILES)
        drawn = read_tiles([samples], [plan.grids[number]], draws, executor)
        tiles = executor.gather([tile for _, tile in drawn], cancellation)
    return noise_in_tiles(samples, ((np.ma.getdata(t), ~np.ma.getmaskarray(t)) for t in tiles))


def _begin(plan: LearnPlan, noises: list[Noise], first: list[_FirstTile]) -> LearningState:
    working = [WorkingValues(s, n) for s, n in zip(plan.images, noises, strict=True)]
    to_learning = LearningValues.of_images(working)
    tiles = [
        np.where(missing_in(t.values), np.float32(np.nan), to_learning[t.image](t.values))
        for t in first
        if t.is_usable
    ]
    model = MODELS[plan.options.model].begin(plan, tiles, noise_level(working[0]))
    return LearningState(model, noises, _peak_of(tiles))


def _peak_of(tiles: list[Array]) -> float:
    """The largest range of a tile in dB."""
    return 20 * math.log10(max(max(float(np.nanmax(t) - np.nanmin(t)) for t in tiles), 1e-30))


def _make_batches(
    plan: LearnPlan, state: LearningState, tiles: Iterable[tuple[int, Any]], executor: Executor
) -> Generator[_Batch, None, None]:
    """So many tiles at a time, as samples; a batch is smaller where tiles cannot be used."""
    working = [WorkingValues(s, n) for s, n in zip(plan.images, state.noises, strict=True)]
    samplers = [state.model.sampler(to) for to in LearningValues.of_images(working)]
    complete = all(s.is_complete for s in plan.images)
    numbered = enumerate(tiles, state.n_drawn + 1)
    while drawn := list(itertools.islice(numbered, plan.options.batch)):
        usable = [True] * len(drawn)
        if not complete:
            usable = executor.gather(
                executor.map(state.model.is_usable, [tile for _, (_, tile) in drawn])
            )
        kept = list(itertools.compress(drawn, usable))
        yield _Batch(
            samples=[executor.map(samplers[image], [tile])[0] for _, (image, tile) in kept],
            numbers=[number for number, _ in kept],
            last=drawn[-1][0],
        )
