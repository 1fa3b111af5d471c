"""What denoising and inpainting have in common: options, updates, noise, tiles."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc import checks
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.restore import plan
from napari_scsc.restore.basis import Basis
from napari_scsc.restore.noise import Noise, estimate
from napari_scsc.restore.source import Region, Source, Working, draw_tiles, open_image
from napari_scsc.results import Update
from napari_scsc.solver.threads import single_threaded
from napari_scsc.tiles import Blend, Tile, cut

Array = NDArray[Any]
Tick = Callable[[], None]

METHODS = ("scsc", "scsc-paper", "ocsc-paper")
NOISE_TILES = 24
_SHARE = 0.7  # of the memory for tiles: what is around them needs some too
_TOGETHER = 4  # tiles that fit into it, however little it is: as many cores have work
_LEAST_MEMORY = 10**8
LEARNING = 0.05  # share of the work that learning is, roughly


@dataclass(frozen=True, slots=True)
class RestoreUpdate:
    """How far a restoration is. Nothing in it is written to any more.

    Attributes
    ----------
    stage : {"noise", "look", "learn", "restore", "encode", "done"}
        What was just done; "look" is a draft with general filters, before any are learned.
    done : float
        Share of the work, 0 to 1.
    message : str
        The same in words.
    noise : Noise, optional
        What was found, or given.
    learned : Update, optional
        While filters are being learned: B, and the W of the last tile.
    bank : FilterBank, optional
        The filters that restore, once they are there.
    region : tuple of slice, optional
        Which part of the image has new values.
    values : ndarray, optional
        These values, as the image has them.
    result : array, optional
        The whole result, like the image; in the last update only.
    remarks : tuple of str
        What the user should know: holes that were too wide, noise that is uncertain.
    """

    stage: str
    done: float
    message: str
    noise: Noise | None = None
    learned: Update | None = None
    bank: FilterBank | None = None
    region: Region | None = None
    values: Array | None = None
    result: Any = None
    remarks: tuple[str, ...] = ()


class RestorationWarning(UserWarning):
    """A result that should be looked at: holes too wide to fill, noise that is uncertain."""


Updates = Generator[RestoreUpdate, None, None]


@dataclass(frozen=True)
class Options:
    """The arguments that denoising and inpainting share, checked."""

    bank: FilterBank | None
    sigma: float | None
    strength: float
    quality: plan.Quality
    method: str
    seed: int
    n_jobs: int
    out: Any
    memory: int | None
    resume: bool

    @classmethod
    def checked(
        cls,
        *,
        bank: Any,
        sigma: Any,
        strength: Any,
        quality: Any,
        method: Any,
        seed: Any,
        n_jobs: Any,
        out: Any,
        memory: Any,
        resume: Any,
    ) -> Options:
        """Refuse what is not allowed, naming it."""
        if bank is not None and not isinstance(bank, FilterBank):
            raise TypeError(f"bank must be a FilterBank, but is a {type(bank).__name__}")
        if sigma is not None:
            sigma = checks.real("sigma", sigma, above=0)
        if resume and (out is None or hasattr(out, "shape")):
            raise ValueError("resume goes on with a file that was begun: say which one, out=...")
        quality = checks.choice("quality", quality, plan.QUALITIES)
        return cls(
            bank=bank,
            sigma=sigma,
            strength=checks.real("strength", strength, above=0),
            quality=quality,
            method=checks.choice("method", method, METHODS),
            seed=checks.whole("seed", seed, 0),
            n_jobs=cores() if n_jobs is None else checks.whole("n_jobs", n_jobs, 1),
            out=out,
            memory=memory_of(memory),
            resume=bool(resume),
        )

    @property
    def tile_memory(self) -> int | None:
        """Bytes that a tile may take, however many threads; None: what suits the passes."""
        return None if self.memory is None else round(_SHARE * self.memory / _TOGETHER)

    def at_a_time(self, tile_memory: int) -> int:
        """How many tiles of that size may be under way."""
        memory = self.memory
        if memory is None:
            import psutil

            memory = psutil.virtual_memory().available // 2
        return max(1, min(self.n_jobs, int(_SHARE * memory / tile_memory)))


def memory_of(memory: Any) -> int | None:
    """A number of bytes, or one with a unit such as "2 GB"."""
    if memory is None:
        return None
    from dask.utils import parse_bytes

    try:
        found = int(parse_bytes(memory))
    except (ValueError, TypeError):
        raise ValueError(f'memory must be like "2 GB", but is {memory!r}') from None
    if found < _LEAST_MEMORY:
        raise ValueError(f'memory must be at least "{_LEAST_MEMORY // 10**6} MB", not {memory!r}')
    return found


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_thread_each(updates: Updates) -> Updates:
    """The same updates, with BLAS held to one thread while one is being made."""
    try:
        while True:
            with single_threaded():
                update = next(updates, None)
            if update is None:
                return
            yield update
    finally:
        updates.close()


@contextmanager
def workers(n_jobs: int) -> Iterator[Executor | None]:
    """Threads for the parts of a pass; none for one job. At the end, what waits is given up."""
    if n_jobs == 1:
        yield None
        return
    pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="napari-scsc")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def estimate_noise(
    image: Any,
    missing: Any = None,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
) -> Noise:
    """Estimate the noise of an image of any kind, in its units; see ``denoise`` for arguments."""
    source = open_image(image, missing, kind, axes)
    with single_threaded():
        return find_noise(source, None)


def given_noise(source: Source, sigma: float) -> Noise:
    """The noise level that the user gave, with a remark if it cannot be meant."""
    width = source.range.scale().width
    remarks: tuple[str, ...] = ()
    if sigma > width:
        remarks = (
            f"sigma is {sigma:.3g}, but all values of the image lie within {width:.3g}: "
            "sigma is a standard deviation in the units of the image",
        )
    offset = min(sigma, 1e150) ** 2
    return Noise(sigma, 0.0, offset, correlated=False, sure=True, remarks=remarks)


def find_noise(source: Source, sigma: float | None) -> Noise:
    """The noise that was given, or what the planes of some tiles tell."""
    if sigma is not None:
        return given_noise(source, sigma)
    places = draw_tiles(source, 1 << 18, NOISE_TILES, seed=0)
    return noise_in(source, ((source.read(*place), ~source.missing(*place)) for place in places))


def noise_in(source: Source, tiles: Iterable[tuple[Array, Array]]) -> Noise:
    """What some planes of tiles (C, *shift), and where they are known, tell of the noise."""
    scale = source.range.scale()
    planes, known = [], []
    for tile, there in tiles:
        n = min(2, tile.ndim - 1)
        values = scale.to_work(tile).reshape(-1, *tile.shape[-n:])
        there = there.reshape(values.shape) & np.isfinite(values)
        # A few planes of a tile are enough, and every one of a small image.
        for i in np.unique(np.linspace(0, len(values) - 1, 8).astype(int)):
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


class Restorer(ABC):
    """Restores one tile of a source after the other; knows nothing of the others.

    It holds what all tiles share and nothing of the image, and can be sent to other processes.
    """

    working: Working
    size: tuple[int, ...]
    """Lengths of a tile on the shift axes."""
    overlap: tuple[int, ...]
    """How many points two tiles share."""
    memory: int
    """About how many bytes a tile takes."""

    @abstractmethod
    def estimates(
        self,
        source: Source,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        tick: Tick | None = None,
    ) -> Iterator[tuple[float, Array]]:
        """Estimates (C, *part) in working values, each with the share of the work done.

        The last one is the result.
        """

    def finished(self, source: Source, index: tuple[int, ...], part: Region, work: Array) -> Array:
        """Working values (C, *part) of the blended result as the image has them."""
        values = self.working.from_work(work, source.image.dtype)
        if self.keeps_known:
            values = np.where(source.missing(index, part), values, source.read(index, part))
        return source.as_image(values)

    @property
    def keeps_known(self) -> bool:
        """Whether values that are known stay as they are, to the bit."""
        return False

    def remarks(self, source: Source, index: tuple[int, ...], part: Region) -> Counter[str]:
        """What the user should know of a part: phrases, and how many points each is about."""
        return Counter()


def tile_by_tile(
    source: Source,
    restorer: Restorer,
    common: RestoreUpdate,
    *,
    out: Any = None,
    executor: Executor | None = None,
    tick: Tick | None = None,
) -> Updates:
    """Restore all samples tile by tile, and blend the tiles into ``out``, or a new array.

    ``common`` has what all updates share.
    """
    result = np.empty(source.image.shape, source.image.dtype) if out is None else out
    tiles = list(cut(source.shift, restorer.size, restorer.overlap))
    indices = source.samples()
    total = len(indices) * len(tiles)
    remarks: Counter[str] = Counter()
    for number, index in enumerate(indices):
        blend = Blend((source.n_joint, *source.shift))
        for position, tile in enumerate(tiles):
            before = number * len(tiles) + position
            region = source.region(index, tile.region)
            estimate = None
            for share, estimate in restorer.estimates(source, index, tile.region, executor, tick):
                done = LEARNING + (1 - LEARNING) * (before + share) / total
                message = f"tile {before + 1} of {total}" if total > 1 else f"{done:.0%}"
                if share < 1:  # a glimpse, without its neighbours
                    values = restorer.finished(source, index, tile.region, estimate)
                    yield replace(common, done=done, message=message, region=region, values=values)
            assert estimate is not None
            full = (slice(None), *tile.region)
            blend.add(Tile(full, (np.ones(source.n_joint), *tile.ramps)), estimate)
            values = restorer.finished(source, index, tile.region, blend.result[full])
            result[region] = values
            yield replace(common, done=done, message=message, region=region, values=values)
        remarks += restorer.remarks(source, index, tuple(slice(0, n) for n in source.shift))
    yield finished(common, source.image.like(result) if out is None else out, remarks)


def finished(common: RestoreUpdate, result: Any, remarks: Counter[str]) -> RestoreUpdate:
    """The last update of a restoration."""
    words = tuple(text.format(count) for text, count in remarks.items())
    return replace(
        common,
        stage="done",
        done=1.0,
        message="done",
        result=result,
        remarks=(*common.remarks, *words),
    )


def last(updates: Updates, progress: Callable[[RestoreUpdate], None] | None) -> Any:
    """Run to the end, reporting each update; return the result and warn of the remarks."""
    update = None
    with closing(updates):  # its threads end, also if the caller keeps an exception
        for update in updates:
            if progress:
                progress(update)
    assert update is not None
    for remark in update.remarks:
        warnings.warn(remark, RestorationWarning, stacklevel=3)
    return update.result


def check_out(out: Any, source: Source) -> None:
    """Refuse an array that the result does not fit into."""
    shape, dtype = source.image.shape, source.image.dtype
    if hasattr(out, "shape") and (tuple(out.shape) != shape or np.dtype(out.dtype) != dtype):
        raise ValueError(
            f"out has the shape {tuple(out.shape)} and type {out.dtype}, the result {shape} "
            f"and {dtype}"
        )


def check_bank(bank: FilterBank, source: Source) -> None:
    """Refuse a bank for another kind of data."""
    if bank.joint != source.joint or len(bank.support) != len(source.shift):
        raise ValueError(
            f"the bank has filters over joint axes of lengths {bank.joint} and "
            f"{len(bank.support)} shift axes, but the image ({source.axes.kind}, shape "
            f"{source.image.shape}) needs {source.joint} and {len(source.shift)}"
        )
    if any(s > n for s, n in zip(bank.support, source.shift, strict=True)):
        raise ValueError(
            f"the image is smaller than the filters of the bank: {source.shift} on its shift "
            f"axes, and the filters are {bank.support}"
        )


def bases(bank: FilterBank, quality: plan.Quality) -> list[Basis]:
    """The bases to restore in; at best quality also that of the filters' middles."""
    found = [Basis.of(bank)]
    smaller = tuple(max(2, s - 2) for s in bank.support)
    if quality == "best" and plan.has_useful_middles(bank.support):
        found.append(Basis.of(bank, smaller))
    return found
