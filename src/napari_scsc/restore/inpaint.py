"""Fill what is missing in an image of any kind, in memory, tile by tile.

A first guess is improved by denoising it again and again, each time assuming less noise, and
putting the known values back ("plug and play"). The denoiser is that of ``denoise``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.choices import Quality
from napari_scsc.data.samples import ImageSamples
from napari_scsc.learn.loop import TILES, learning, places_to_learn_from
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.noise.find import given_noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore import fill
from napari_scsc.restore.groups.denoiser import Chain, Passes
from napari_scsc.restore.options import Options
from napari_scsc.restore.output import ResultFolder, write_result
from napari_scsc.restore.paper import inpainting
from napari_scsc.restore.quality import passes_of, tile_memory, tile_shape
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import RestoreUpdate, Updates

_LITTLE = 0.1  # share that is known, below which the mask is doubted
_ROUNDS = {"draft": 8, "fast": 8, "balanced": 12, "best": 20}
_FIRST, _LAST = 2.0, 0.11  # noise levels of the rounds, in errors of the first guess
_FURTHER = 1.8  # a round moves the missing values that much further than the denoiser says
_MIXING_ROUNDS = 16  # of the joint values alone, before the first round with filters


def _check_samples(source: ImageSamples) -> None:
    """Refuse data whose samples know nothing of each other, and one of which is not known."""
    indices = source.indices()
    if len(indices) == 1 or not source.is_known_whole:
        return
    whole = tuple(slice(0, n) for n in source.shift)
    for index in indices:
        if source.missing(index, whole).all():
            raise ValueError(
                f"all of sample {', '.join(map(str, index))} is missing, and {source.axes.kind} "
                'samples are restored one by one: with kind="video" or "stack" it is filled from '
                "its neighbours"
            )


def inpaint_updates(
    source: ImageSamples,
    options: Options,
    workspace: ResultFolder | None,
    cancellation: Cancellation,
) -> Updates:
    if workspace:
        workspace.begin()
    sigma = options.sigma or 0.0
    noise = given_noise(source, sigma)
    working = WorkingValues(source, noise)
    level = working.sigma * options.strength
    common = RestoreUpdate(
        "noise", 0.0, "looked at what is missing", noise=noise, remarks=noise.remarks
    )
    yield common

    if options.method != "scsc":
        coder, learned = yield from inpainting(
            source, working, level, options, cancellation, sigma == 0
        )
        common = replace(common, stage="restore", bank=learned)
        yield from write_result(source, coder, common, options, workspace, cancellation)
        return
    tiles = _tiles_with_something_known(source, working, options.seed)
    common = replace(common, remarks=(*common.remarks, *_doubt(tiles)))
    errors = fill.AxisErrors.of(tiles, options.seed)
    mean = float(np.mean([np.mean(values[known]) for values, known in tiles]))
    error = errors.together**0.5
    levels = np.geomspace(_FIRST * error, _LAST * error, _ROUNDS[options.quality])
    levels = np.maximum(levels, level)
    bank = options.bank or (workspace.bank() if workspace else None)
    if bank is None:
        filled = [_guess(values, known, errors, levels[-1]) for values, known in tiles]
        bank = yield from learning(filled, source, levels[-1], options.seed, cancellation)
    if workspace:
        workspace.keep_bank(bank)
    restorer = Inpainter.of(
        bank,
        source,
        working,
        level,
        options.quality,
        levels,
        errors,
        mean,
        options.tile_memory,
    )
    common = replace(common, stage="restore", bank=bank)
    yield from write_result(source, restorer, common, options, workspace, cancellation)


def _doubt(tiles: Sequence[tuple[Array, Array]]) -> tuple[str, ...]:
    """A remark where nearly all is missing: most often the mask means the other part."""
    known = float(np.mean([known.mean() for _, known in tiles]))
    if known > _LITTLE:
        return ()
    return (
        f"{1 - known:.0%} of what was looked at is missing: if the mask marks what is known, "
        "invert it",
    )


@dataclass(frozen=True)
class Inpainter(TileRestorer):
    """Rounds of denoising a guess, each assuming less noise; see the head of this file."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    basis: Basis
    passes: Passes
    levels: Array
    noise: float
    errors: fill.AxisErrors
    mean: float

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        source: ImageSamples,
        working: WorkingValues,
        noise: float,
        quality: Quality,
        levels: Array,
        errors: fill.AxisErrors,
        mean: float,
        memory: int | None = None,
    ) -> Inpainter:
        """What suits a bank and a source; ``noise`` of the known values is in working values."""
        basis = Basis.of(bank)
        passes = passes_of(basis.patch, quality, thorough=True)
        # A round needs no pilot of the last decimal: smaller groups, nearer by.
        passes = replace(
            passes,
            second_reach=passes.first_reach,
            second_size=min(passes.second_size, passes.first_size),
        )
        size, overlap = tile_shape(source.shift, basis, passes, memory)
        takes = tile_memory(size, basis, passes)
        return cls(working, size, overlap, takes, basis, passes, levels, noise, errors, mean)

    def estimates(
        self,
        source: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The missing values after each round."""
        values, known = _read(source, self.working, index, part)
        if known.all() and self.noise == 0:
            yield 1.0, values
            return
        guess = (
            _guess(values, known, self.errors, self.levels[-1])
            if known.any()
            else np.full_like(values, self.mean)
        )
        far = self._far(source, index, part)
        if far.any():
            guess = fill.smooth_fill(guess, np.broadcast_to(~far, guess.shape))
        rounds = _rounds(
            values,
            known,
            guess,
            far,
            self.basis,
            self.passes,
            self.levels,
            self.noise,
            executor,
            cancellation,
        )
        for number, estimate in enumerate(rounds, 1):
            yield number / len(self.levels), estimate

    @property
    def keeps_known(self) -> bool:
        """Unless they have noise."""
        return self.noise == 0

    def remarks(self, source: ImageSamples, index: tuple[int, ...], part: Region) -> Counter[str]:
        """Holes that are wider than the filters."""
        count = int(np.count_nonzero(self._far(source, index, part)))
        text = (
            f"{{}} missing points lie more than {self._reach} points from any known one: "
            "they were filled smoothly, and show nothing that was there"
        )
        return Counter({text: count} if count else {})

    @property
    def _reach(self) -> int:
        return max(self.basis.patch)

    def _far(self, source: ImageSamples, index: tuple[int, ...], part: Region) -> Array:
        """Which points of a part lie too far from any known one, inside it or around."""
        reach = self._reach
        around = tuple(
            slice(max(0, s.start - reach), min(n, s.stop + reach))
            for s, n in zip(part, source.shift, strict=True)
        )
        inside = tuple(
            slice(s.start - a.start, s.stop - a.start) for s, a in zip(part, around, strict=True)
        )
        return np.asarray(fill.depth(~source.missing(index, around))[inside] > reach)


def _rounds(
    values: Array,
    known: Array,
    guess: Array,
    far: Array,
    basis: Basis,
    passes: Passes,
    levels: Array,
    noise: float,
    executor: Any,
    cancellation: Cancellation,
) -> Iterator[Array]:
    """Estimates of a tile (C, *shift), each better than the one before."""
    x = guess
    fixed = far & np.ones(known.shape, bool)
    wanted = None if noise > 0 else np.asarray(~known.all(axis=0))
    for number, level in enumerate(levels):
        few = basis.narrowed(x, level)
        chain = Chain(few, passes, executor, cancellation)
        estimate = few.back(chain.denoise(few.project(x), level, wanted))
        last = number == len(levels) - 1
        moved = estimate if last else x + np.float32(_FURTHER) * (estimate - x)
        if fixed.any():
            moved = fill.smooth_fill(moved, ~fixed) if last else np.where(fixed, guess, moved)
        if last and noise > 0:
            yield moved
            return
        x = np.where(known, values, moved).astype(np.float32)
        yield x


def _tiles_with_something_known(
    source: ImageSamples, working: WorkingValues, seed: int
) -> list[tuple[Array, Array]]:
    """Tiles to learn from: some, or if nothing is known in those, the first in which there is."""
    tiles: list[tuple[Array, Array]] = []
    for number, place in enumerate(places_to_learn_from(source, seed, whole=True)):
        if number >= TILES and tiles:
            break
        values, known = _read(source, working, *place)
        if known.any():
            tiles.append((values, known))
    return tiles


def _read(
    source: ImageSamples, working: WorkingValues, index: tuple[int, ...], part: Region
) -> tuple[Array, Array]:
    """Working values (C, *part), zero where they are missing, and where they are known."""
    known = ~source.missing(index, part)
    values = np.where(known, source.read(index, part), source.range.low)
    return working.to_work(values) * known, known


def _guess(values: Array, known: Array, errors: fill.AxisErrors, last: float) -> Array:
    """The first guess; joint values also from each other, as mixtures of a few."""
    x = fill.first_fill(values, known, errors)
    if len(values) == 1:
        return x
    error = errors.together**0.5
    for level in np.geomspace(_FIRST * error, last, _MIXING_ROUNDS):
        mixtures = mixtures_above_noise([x], level)
        flat = x.reshape(len(x), -1)
        mixed = (mixtures.T @ (mixtures @ flat)).reshape(x.shape)
        x = np.where(known, values, x + np.float32(_FURTHER) * (mixed - x)).astype(np.float32)
    return x
