"""Inpainting: a first guess at missing values is denoised again and again.

Each round assumes less noise than the one before, and puts the known values back ("plug and play").
The denoiser is that of ``denoise``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.errors import Message, Remedy
from napari_scsc.groups.denoiser import GroupDenoiser
from napari_scsc.groups.passes import Passes
from napari_scsc.learning.loop import learn_from_arrays
from napari_scsc.learning.plan import AUTO_TILES, MAX_TILE_POINTS
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore.denoise import TileDenoiser
from napari_scsc.restore.fill import (
    AxisErrors,
    distance_to_known,
    first_fill,
    smooth_fill,
    surrounding_boxes,
)
from napari_scsc.restore.passes import passes_for, tile_memory, tile_shape
from napari_scsc.restore.quality import LEVELS, Quality
from napari_scsc.restore.restoration import FindBank, Restoration
from napari_scsc.run.tile_restorer import TileRestorer
from napari_scsc.run.updates import LEARNING_SHARE, RestoreUpdate

_DOUBTED_SHARE = 0.1  # that is known, below which the mask is doubted
# Noise levels of the first and last round, in errors of the first guess.
_FIRST_LEVEL, _LAST_LEVEL = 2.0, 0.11
_RELAXATION = np.float32(1.8)  # a round moves missing values that much further than the denoiser
_FILLING_SHARE = 0.9  # of the work, where noise is taken away after it
_MIXING_ROUNDS = 16  # of the joint values alone, before the first round with filters


def prepare(restoration: Restoration) -> Generator[RestoreUpdate, None, TileInpainter]:
    """Measure how well missing values can be guessed, and find the filters."""
    samples, options = restoration.samples, restoration.options
    working, sigma = restoration.working, restoration.sigma
    # Correlated noise is taken away at the end: with missing values it cannot be made white.
    is_filled_first = not working.is_white
    level = 0.0 if is_filled_first else sigma
    places, tiles = _read_tiles_with_something_known(samples, working, options.seed)
    restoration.remarks += _doubt_mask(tiles)
    errors = AxisErrors.of(tiles, options.seed)
    mean = float(np.mean([np.mean(values[known]) for values, known in tiles]))
    error = errors.together**0.5
    rounds = LEVELS[options.quality].inpaint_rounds
    levels = np.geomspace(_FIRST_LEVEL * error, _LAST_LEVEL * error, rounds)
    levels = np.maximum(levels, sigma)
    filled = [_guess(values, known, errors, levels[-1]) for values, known in tiles]

    def learn_from(
        arrays: list[Array], sigma: float, shape: tuple[int, ...] | None = None
    ) -> FindBank:
        return learn_from_arrays(
            arrays, samples, sigma, options.seed, restoration.cancellation, LEARNING_SHARE, shape
        )

    def learn(filter_shape: tuple[int, ...] | None = None) -> FindBank:
        return learn_from(filled, levels[-1], filter_shape)

    bank = yield from restoration.find_bank(learn)
    denoiser = None
    if is_filled_first:
        white = [working.at(index).whiten(x) for (index, _), x in zip(places, filled, strict=True)]
        own = yield from restoration.find_second_bank(lambda: learn_from(white, sigma))
        denoiser = TileDenoiser.of(own, samples, working, sigma, options.quality)
    restorer = TileInpainter.of(
        restoration.find_span(bank, learn),
        samples,
        working,
        level,
        options.quality,
        levels,
        errors,
        mean,
        options.tile_memory,
    )
    saturation = options.saturation if isinstance(options.saturation, float) else None
    if saturation is not None:
        restoration.remarks += _doubt_type(samples, saturation)
    return replace(restorer, bank=bank, denoiser=denoiser, saturation=saturation)


def _doubt_type(samples: ImageSamples, saturation: float) -> list[Message]:
    """A remark where the type of the values holds no more than the saturated ones."""
    dtype = samples.image.dtype
    if dtype.kind not in "iu" or saturation < np.iinfo(dtype).max:
        return []
    text = f"the type {dtype} holds nothing above the saturated values: they stay as they are"
    return [Message(text, remedy="convert the image to float32 first")]


def _doubt_mask(tiles: Sequence[tuple[Array, Array]]) -> list[Message]:
    """A remark where nearly all is missing: most often the mask means the other part."""
    share = float(np.mean([known.mean() for _, known in tiles]))
    if share > _DOUBTED_SHARE:
        return []
    text = f"{1 - share:.0%} of what was looked at is missing"
    return [Message(text, remedy=Remedy.INVERT_MASK)]


@dataclass(frozen=True)
class TileInpainter(TileRestorer):
    """Rounds of denoising a guess, each assuming less noise; see the head of this file."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bank: FilterBank
    basis: Basis
    passes: Passes
    levels: Array
    noise: float
    errors: AxisErrors
    mean: float
    denoiser: TileDenoiser | None = None
    saturation: float | None = None

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        samples: ImageSamples,
        working: WorkingValues,
        noise: float,
        quality: Quality,
        levels: Array,
        errors: AxisErrors,
        mean: float,
        memory: int | None = None,
    ) -> TileInpainter:
        """What suits a bank and an image; ``noise`` of the known values is in working values."""
        basis = Basis.of(bank)
        # A round needs no pilot of the last decimal.
        passes = passes_for(basis.patch, quality).nearby()
        size, overlap = tile_shape(samples.shift, basis, passes, memory)
        takes = tile_memory(size, basis)
        return cls(working, size, overlap, takes, bank, basis, passes, levels, noise, errors, mean)

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """The missing values after each round."""
        values, known = _read(samples, self.working, index, part)
        if known.all() and self.keeps_known:
            yield 1.0, values
            return
        guess = (
            _guess(values, known, self.errors, self.levels[-1])
            if known.any()
            else np.full_like(values, self.mean)
        )
        far = self._far(samples, index, part)
        if far.any():
            guess = smooth_fill(guess, np.broadcast_to(~far, guess.shape))
        least = self._least(samples, index, part)
        guess = np.maximum(guess, least)
        rounds = _rounds(
            values,
            known,
            guess,
            least,
            far,
            self.basis,
            self.passes,
            self.levels,
            self.noise,
            executor,
            cancellation,
        )
        filled = guess
        share = 1.0 if self.denoiser is None else _FILLING_SHARE
        for number, filled in enumerate(rounds, 1):
            yield share * number / len(self.levels), filled
        if self.denoiser is not None:
            working = self.working.at(index)
            denoised = self.denoiser.denoise_values(filled, working, executor, cancellation)
            for done, estimate in denoised:
                yield share + (1 - share) * done, np.maximum(estimate, least)

    def _least(self, samples: ImageSamples, index: tuple[int, ...], part: Region) -> Array:
        """What values are known to be at least, in working values: the saturated ones."""
        if self.saturation is None:
            return np.full((samples.n_joint, *(1,) * len(part)), -np.inf, np.float32)
        values = samples.read(index, part)
        level = np.full(values.shape, self.saturation, np.float64)
        least = self.working.at(index).to_work(level)
        return np.where(values >= self.saturation, least, np.float32(-np.inf))

    @property
    def keeps_known(self) -> bool:
        """Unless they have noise."""
        return self.noise == 0 and self.denoiser is None

    def count_doubtful(self, samples: ImageSamples, index: tuple[int, ...], part: Region) -> int:
        """How many missing points lie in holes that are wider than the filters."""
        return int(np.count_nonzero(self._far(samples, index, part)))

    def describe_doubtful(self, count: int) -> Message:
        """That these were filled smoothly."""
        return Message(
            f"{count} missing points lie more than {self._reach} points from any known one: "
            "they were filled smoothly, and show nothing that was there"
        )

    @property
    def _reach(self) -> int:
        return max(self.basis.patch)

    def _far(self, samples: ImageSamples, index: tuple[int, ...], part: Region) -> Array:
        """Which points of a part lie too far from any known one, inside it or around."""
        reach = self._reach
        around = tuple(
            slice(max(0, s.start - reach), min(n, s.stop + reach))
            for s, n in zip(part, samples.shift, strict=True)
        )
        inside = tuple(
            slice(s.start - a.start, s.stop - a.start) for s, a in zip(part, around, strict=True)
        )
        return np.asarray(distance_to_known(~samples.missing(index, around))[inside] > reach)


def _rounds(
    values: Array,
    known: Array,
    guess: Array,
    least: Array,
    far: Array,
    basis: Basis,
    passes: Passes,
    levels: Array,
    noise: float,
    executor: Executor | None,
    cancellation: Cancellation,
) -> Iterator[Array]:
    """Estimates of a tile (C, *shift), each better than the one before.

    No value falls below ``least``, which has the shape of a tile, or can be spread to it.
    """
    boxes: list[Region] = [tuple(slice(0, n) for n in known.shape[1:])]
    if noise == 0:
        # What a patch that touches a missing value is compared with lies no farther away.
        around = tuple(r + 2 * p for r, p in zip(passes.reach, basis.patch, strict=True))
        boxes = list(surrounding_boxes(np.asarray(~known.all(axis=0)), around))

    def rounds_of(box: Region) -> Iterator[Array]:
        inside = (slice(None), *box)
        own_values, own_known, own_guess = values[inside], known[inside], guess[inside]
        own_least = np.broadcast_to(least, values.shape)[inside]
        fixed = far[box] & np.ones(own_known.shape, bool)
        wanted = None if noise > 0 else np.asarray(~own_known.all(axis=0))
        x = own_guess
        for number, level in enumerate(levels):
            narrow = basis.narrowed(x, level)
            denoiser = GroupDenoiser(narrow, passes, executor, cancellation)
            found = narrow.back(denoiser.denoise(narrow.project(x), level, wanted))
            last = number == len(levels) - 1
            moved = found if last else x + _RELAXATION * (found - x)
            if fixed.any():
                moved = smooth_fill(moved, ~fixed) if last else np.where(fixed, own_guess, moved)
            if not (last and noise > 0):
                moved = np.where(own_known, own_values, moved)
            x = np.maximum(moved, own_least).astype(np.float32)
            yield x

    estimate = guess.copy()
    for parts in zip(*map(rounds_of, boxes), strict=True):
        for box, part in zip(boxes, parts, strict=True):
            is_new = ~known[(slice(None), *box)] if noise == 0 else True
            np.copyto(estimate[(slice(None), *box)], part, where=is_new)
        yield estimate.copy()


def _read_tiles_with_something_known(
    samples: ImageSamples, working: WorkingValues, seed: int
) -> tuple[list[tuple[tuple[int, ...], Region]], list[tuple[Array, Array]]]:
    """Tiles to learn from, and where they lie: some, or the first in which something is known."""
    places: list[tuple[tuple[int, ...], Region]] = []
    tiles: list[tuple[Array, Array]] = []
    for number, place in enumerate(
        draw_tiles(samples, MAX_TILE_POINTS * samples.n_joint, None, seed)
    ):
        if number >= AUTO_TILES and tiles:
            break
        values, known = _read(samples, working, *place)
        if known.any():
            places.append(place)
            tiles.append((values, known))
    return places, tiles


def _read(
    samples: ImageSamples, working: WorkingValues, index: tuple[int, ...], part: Region
) -> tuple[Array, Array]:
    """Working values (C, *part), zero where they are missing, and where they are known."""
    known = ~samples.missing(index, part)
    values = np.where(known, samples.read(index, part), samples.range.low)
    return working.at(index).to_work(values) * known, known


def _guess(values: Array, known: Array, errors: AxisErrors, last: float) -> Array:
    """The first guess; joint values also from each other, as mixtures of a few."""
    x = first_fill(values, known, errors)
    if len(values) == 1:
        return x
    error = errors.together**0.5
    for level in np.geomspace(_FIRST_LEVEL * error, last, _MIXING_ROUNDS):
        mixtures = mixtures_above_noise([x], level)
        flat = x.reshape(len(x), -1)
        mixed = (mixtures.T @ (mixtures @ flat)).reshape(x.shape)
        x = np.where(known, values, x + _RELAXATION * (mixed - x)).astype(np.float32)
    return x
