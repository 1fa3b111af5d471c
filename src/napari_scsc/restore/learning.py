"""Learn the base filters that restore, from tiles of images of any number and size."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks, files
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.lattice import LatticeSCSC
from napari_scsc.learner import SCSC, Run, Threads
from napari_scsc.restore import job, paper, plan, sampling
from napari_scsc.restore.basis import Basis, mixtures_above_noise
from napari_scsc.restore.blocks import RunInterrupted
from napari_scsc.restore.job import RestoreUpdate, Updates
from napari_scsc.restore.noise import Noise, estimate
from napari_scsc.restore.sampling import Cluster, ClusterBroke, Grid, OutOfMemory
from napari_scsc.restore.source import (
    Region,
    Source,
    Working,
    check_sigma,
    draw_tiles,
    open_image,
)
from napari_scsc.results import Update
from napari_scsc.settings import filter_lengths
from napari_scsc.solver.prox import Ball
from napari_scsc.solver.threads import single_threaded

Array = NDArray[Any]

_TILE_VALUES = 128 * 128  # of a tile that is learned from
_SMALLEST_TILE = 48 * 48
_FEWEST_TILES = 16
TILES = 16  # of one image, in one pass
_FIRST = 16  # tiles that are looked at before anything is learned
_PLANES = 8  # of a tile that tell its noise
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
    if tiles is not None:
        tiles = checks.whole("tiles", tiles, 1)
    draw = checks.choice("draw", draw, sampling.DRAWS)
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
    support = shape if bank is None else bank.support
    request = _Request(
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
        keeper = _Keeper(request, Path(checkpoint), every, every_seconds, resume)
    run = _run(n_jobs, request.batch)
    return job.one_thread_each(_explaining(_updates(request, run, keeper, tick), keeper))


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


@dataclass(frozen=True)
class _Request:
    """All that the result depends on."""

    sources: list[Source]
    grids: list[Grid]
    bank: FilterBank | None
    n_base: int | None
    filter_shape: tuple[int, ...] | None
    sigma: float | None
    tiles: int | None
    draw: str
    passes: int
    model: str
    n_filters: int | None
    beta: float | None
    ball: Ball
    seed: int
    batch: int

    @property
    def total(self) -> int:
        """How many tiles are drawn."""
        return sampling.count(self.grids, self.tiles, self.passes)

    @property
    def shortest(self) -> tuple[int, ...]:
        """Least length of a tile along each shift axis."""
        return tuple(min(n) for n in zip(*(g.shortest for g in self.grids), strict=True))

    @property
    def longest(self) -> tuple[int, ...]:
        """Largest length of a tile along each shift axis."""
        return tuple(max(n) for n in zip(*(g.longest for g in self.grids), strict=True))

    def draws(self, start: int) -> Iterator[sampling.Draw]:
        """The tiles in their order, without those that were drawn already."""
        order = sampling.order(self.grids, self.tiles, passes=self.passes, seed=self.seed)
        return itertools.islice(order, start, None)

    def fingerprint(self) -> dict[str, Any]:
        """What tells it from other requests, as JSON has it."""
        images = [
            (s.image.shape, str(s.image.dtype), s.axes, s.range.low, s.range.high)
            for s in self.sources
        ]
        apart = ("sources", "grids", "bank")
        options = {k: v for k, v in self.__dict__.items() if k not in apart}
        found = {
            "images": _digest(images),
            "chunks": _digest([g.cuts for g in self.grids]),
            "bank": None if self.bank is None else self.bank.id,
            **options,
        }
        return dict(json.loads(json.dumps(found)))


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


# --- models -------------------------------------------------------------------------------------


class _Lattice:
    """``LatticeSCSC`` of a few mixtures of the joint values."""

    def __init__(self, learner: LatticeSCSC, mixtures: Array, source: Source) -> None:
        self.learner = learner
        self._mixtures = mixtures
        self._source = source

    @classmethod
    def begin(cls, request: _Request, tiles: list[Array]) -> _Lattice:
        """Begin with tiles (C, *shift) in noise levels to judge by."""
        source, seed = request.sources[0], request.seed
        if request.bank is not None:
            mixtures = Basis.of(request.bank).mixtures
            mixed = _mixed(request.bank, mixtures)
            return cls(LatticeSCSC.from_bank(mixed, sigma=1.0, seed=seed), mixtures, source)
        mixtures = mixtures_above_noise(tiles, 1.0)
        shape = request.filter_shape
        if shape is None:
            wanted = _shape_for(tiles, mixtures, source, 1.0)
            shape = tuple(min(n) for n in zip(wanted, request.shortest, strict=True))
        learner = LatticeSCSC(request.n_base, shape, 1, sigma=1.0, seed=seed)
        return cls(learner, mixtures, source)

    @classmethod
    def resume(cls, request: _Request, path: Path) -> _Lattice:
        """Go on from a checkpoint."""
        learner = LatticeSCSC.resume(path)
        with files.reporting(path):
            mixtures = LatticeSCSC.notes(path)[1]["mixtures"]
        return cls(learner, mixtures, request.sources[0])

    @property
    def bank(self) -> FilterBank:
        """The filters so far, over all joint values."""
        found = self.learner.bank
        return FilterBank(
            filters=_unmixed(found.filters, self._mixtures, self._source.joint),
            n_joint=len(self._source.joint),
            info={**found.info, "kind": self._source.axes.kind},
        )

    def preparing(self, working: Working) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        return partial(_mix_tile, working=working, mixtures=self._mixtures)

    def learn(self, samples: list[Any], run: Run, tick: job.Tick | None) -> list[Update]:
        """Learn from a batch."""
        return self.learner.learn_batch(samples, run, tick)

    def checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""
        self.learner.checkpoint(path, notes, {"mixtures": self._mixtures})


class _Paper:
    """``SCSC`` of tiles without their smooth part, the smaller ones padded."""

    def __init__(self, learner: SCSC, request: _Request) -> None:
        self.learner = learner
        self._source = request.sources[0]
        self._longest = request.longest

    @classmethod
    def begin(cls, request: _Request, tiles: list[Array]) -> _Paper:
        """Begin; the tiles are not needed for it."""
        beta = paper._PRICE if request.beta is None else request.beta
        if request.bank is not None:
            return cls(SCSC.from_bank(request.bank, beta=beta), request)
        shortest = np.broadcast_to(np.float32(0), (1, *request.shortest))
        learner = SCSC(
            n_base=request.n_base or paper._N_BASE,
            n_filters=request.n_filters or paper._N_FILTERS,
            filter_shape=request.filter_shape
            or paper._support([(shortest, shortest, None)], len(request.shortest)),
            n_joint=len(request.sources[0].joint),
            beta=beta,
            ball=request.ball,
            max_iter=60,
            seed=request.seed,
        )
        return cls(learner, request)

    @classmethod
    def resume(cls, request: _Request, path: Path) -> _Paper:
        """Go on from a checkpoint."""
        return cls(SCSC.resume(path), request)

    @property
    def bank(self) -> FilterBank:
        """The filters so far."""
        found = self.learner.bank
        info = {**found.info, "learner": "paper", "kind": self._source.axes.kind}
        return replace(found, info=info)

    def preparing(self, working: Working) -> Callable[[Array], Any]:
        """What makes a sample of a tile."""
        joint, longest = self._source.joint, self._longest
        return partial(_split_tile, working=working, joint=joint, longest=longest)

    def learn(self, samples: list[Any], run: Run, tick: job.Tick | None) -> list[Update]:
        """Learn from a batch."""
        with paper._silence():
            return self.learner.learn_batch(samples, run, tick)

    def checkpoint(self, path: Path, notes: dict[str, Any]) -> None:
        """Write the state, with notes."""
        self.learner.checkpoint(path, notes)


_MODELS: dict[str, type[_Lattice] | type[_Paper]] = {"lattice": _Lattice, "paper": _Paper}


# Functions and not methods: they are sent to other processes.


def _in_noise_levels(tile: Array, working: Working) -> Array:
    """A tile (C, *shift) as float32 values with noise of the level 1."""
    values = working.to_work(np.ma.getdata(tile))
    return np.asarray(values / np.float32(max(working.sigma, _FAINTEST)))


def _mix_tile(tile: Array, *, working: Working, mixtures: Array) -> Array:
    with single_threaded():
        return np.tensordot(mixtures, _in_noise_levels(tile, working), axes=1)


def _split_tile(
    tile: Array, *, working: Working, joint: tuple[int, ...], longest: tuple[int, ...]
) -> tuple[Array, Array]:
    _, detail, _ = paper._split(_in_noise_levels(tile, working), None)
    short = [(0, m - n) for m, n in zip(longest, detail.shape[1:], strict=True)]
    sample = np.pad(detail, [(0, 0), *short]).reshape(*joint, *longest)
    return sample, np.pad(np.ones(detail.shape[1:], bool), short)


# --- the loop -----------------------------------------------------------------------------------


@dataclass
class _Progress:
    """What is known of a job, and how far it is."""

    model: _Lattice | _Paper
    noises: list[Noise]
    peak: float  # of the first tiles, in dB above the noise
    drawn: int = 0
    n_learned: int = 0


@dataclass(frozen=True, slots=True)
class _Batch:
    """Samples that are learned from together: which tiles they are, from 1 on, and the last one."""

    samples: list[Any]
    numbers: list[int]
    last: int


def _updates(request: _Request, run: Run, keeper: _Keeper | None, tick: job.Tick | None) -> Updates:
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
                    # Samples are in noise levels, but PSNR is understood as relative to the range.
                    learned=replace(update, B=bank.filters, psnr=update.psnr + progress.peak),
                    bank=bank,
                )
    if keeper:
        keeper.keep(progress, at_once=True)
    bank = progress.model.bank
    yield RestoreUpdate("done", 1.0, f"{bank.n_base} base filters", bank=bank)


def _explaining(updates: Updates, keeper: _Keeper | None) -> Updates:
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
    request: _Request, run: Run, first: list[_First], tick: job.Tick | None
) -> Generator[RestoreUpdate, None, _Progress]:
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
    scaled = [_in_noise_levels(f.values, working[f.source]) for f in first if f.is_usable]
    peak = 20 * math.log10(max(max(float(np.ptp(tile)) for tile in scaled), 1e-30))
    return _Progress(_MODELS[request.model].begin(request, scaled), noises, peak)


def _told(noise: Noise) -> RestoreUpdate:
    return RestoreUpdate("noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise)


def _tiles_of(request: _Request, number: int, run: Run, tick: job.Tick | None) -> list[Array]:
    """The first tiles of one of several images."""
    if tick:
        tick()
    sources, grids = [request.sources[number]], [request.grids[number]]
    order = sampling.order(grids, request.tiles, seed=request.seed)
    draws = itertools.islice(order, _FIRST)
    return run.gather([tile for _, tile in sampling.read(sources, grids, draws, run)], tick)


def _noise_in(source: Source, tiles: list[Array]) -> Noise:
    """What some planes of tiles (C, *shift) tell of the noise, in the units of the image."""
    scale = source.range.scale()
    planes, known = [], []
    for tile in tiles:
        n = min(2, tile.ndim - 1)
        values = scale.to_work(np.ma.getdata(tile)).reshape(-1, *tile.shape[-n:])
        there = ~np.ma.getmaskarray(tile).reshape(values.shape) & np.isfinite(values)
        for i in np.unique(np.linspace(0, len(values) - 1, _PLANES).astype(int)):
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


def _batches(
    request: _Request, progress: _Progress, tiles: Iterable[tuple[int, Any]], run: Run
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


# --- checkpoints --------------------------------------------------------------------------------


class _Keeper:
    """Writes the state of a job to a file, and reads it."""

    def __init__(
        self,
        request: _Request,
        path: Path,
        every: int | None,
        every_seconds: float | None,
        resume: bool,
    ) -> None:
        self._request = request
        self.path = path
        self._every = None if every is None else checks.whole("every", every, 1)
        if every_seconds is not None:
            every_seconds = checks.real("every_seconds", every_seconds, least=0)
        self._seconds = every_seconds
        self._kept, self._time = -1, time.monotonic()
        self._progress = None
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder for the checkpoint {path}")
        if path.exists():
            if not resume:
                raise FileExistsError(
                    f"{path} holds a run already: go on with it (resume=True), or remove it"
                )
            self._progress = self._read()

    def progress(self) -> _Progress | None:
        """How far an earlier run came, if there was one."""
        return self._progress

    def keep(self, progress: _Progress, at_once: bool = False) -> None:
        """Write the state, if it is time to, or at once if it has changed."""
        if progress.n_learned == 0 or progress.drawn == self._kept:
            return
        tiles = progress.drawn - max(self._kept, 0)
        seconds = time.monotonic() - self._time
        if not (
            at_once
            or (self._every is not None and tiles >= self._every)
            or (self._seconds is not None and seconds >= self._seconds)
        ):
            return
        notes = {
            "request": self._request.fingerprint(),
            "noises": [asdict(noise) for noise in progress.noises],
            "peak": progress.peak,
            "drawn": progress.drawn,
            "n_learned": progress.n_learned,
        }
        progress.model.checkpoint(self.path, notes)
        self._kept, self._time = progress.drawn, time.monotonic()

    def _read(self) -> _Progress:
        request, path = self._request, self.path
        notes = SCSC.notes(path) if request.model == "paper" else LatticeSCSC.notes(path)[0]
        with files.reporting(path):
            theirs = dict(notes["request"])
        mine = request.fingerprint()
        others = [name for name in mine if theirs.get(name) != mine[name]]
        if others:
            raise ValueError(
                f"{path} is the checkpoint of another job, for which "
                f"{', '.join(_difference(name, theirs, mine) for name in others)}: "
                "resume with the same arguments, or choose another file"
            )
        with files.reporting(path):
            self._kept = checks.whole("drawn", notes["drawn"], 1, request.total)
            return _Progress(
                model=_MODELS[request.model].resume(request, path),
                noises=[Noise(**{**n, "remarks": tuple(n["remarks"])}) for n in notes["noises"]],
                peak=checks.real("peak", notes["peak"]),
                drawn=self._kept,
                n_learned=checks.whole("n_learned", notes["n_learned"], 1),
            )


def _difference(name: str, theirs: dict[str, Any], mine: dict[str, Any]) -> str:
    if name in ("images", "chunks", "bank"):
        return f"the {name} differed"
    return f"{name} was {theirs.get(name)!r} and not {mine[name]!r}"


# --- learning while restoring -------------------------------------------------------------------


def learning(
    tiles: list[Array], source: Source, sigma: float, seed: int, tick: job.Tick | None
) -> Generator[RestoreUpdate, None, FilterBank]:
    """Learn base filters from tiles (C, *shift) in working values; return them as a bank."""
    mixtures = mixtures_above_noise(tiles, sigma)
    patch = _shape_for(tiles, mixtures, source, sigma)
    learner = LatticeSCSC(None, patch, 1, sigma=sigma, seed=seed)
    model = _Lattice(learner, mixtures, source)
    mixed = (np.tensordot(mixtures, tile, axes=1) for tile in tiles)
    for number, update in enumerate(learner.iter_fit(mixed, tick=tick), 1):
        found = model.bank
        yield RestoreUpdate(
            "learn",
            job.LEARNING * number / len(tiles),
            f"learned from tile {number} of {len(tiles)}",
            learned=replace(update, B=found.filters),
            bank=found,
        )
    return model.bank


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
