"""The level of the noise in flat patches, and its growth with brightness."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from napari_scsc._types import Array
from napari_scsc.noise.cosine_patches import FAST, FASTEST, MIN_PATCHES, SLOW, CosinePatches

MIN_FLAT_SHARE = 0.01
"""Share of the patches that is looked at even where none is as flat as noise alone."""

_MAX_FLAT_POWER = 1.1  # in the slow cosines of a flat patch, relative to that of white noise
_MAX_BRIGHTNESS_BINS = 12
_PATCHES_PER_BIN = 400


class Bands(NamedTuple):
    """Powers of the patches (n,), a mean over the cosines of each band of speeds."""

    slow: Array
    fast: Array
    fastest: Array
    n_fast: int
    n_fastest: int
    means: Array
    weight: float  # independent patches for each one that was cut

    def at(self, chosen: Array) -> Bands:
        """The same of some patches only."""
        return self._replace(
            slow=self.slow[chosen],
            fast=self.fast[chosen],
            fastest=self.fastest[chosen],
            means=self.means[chosen],
        )

    def over(self, variances: Array) -> Bands:
        """The same relative to a variance of the noise at each patch."""
        return self._replace(
            slow=self.slow / variances,
            fast=self.fast / variances,
            fastest=self.fastest / variances,
        )


class FlatPatches(NamedTuple):
    """CosinePatches taken as flat, and the power of their fast cosines."""

    level: float
    chosen: Array
    independent: float  # patches, counted without overlaps, that are as flat as noise of that level
    share: float  # of all patches that are


class VarianceLine(NamedTuple):
    """Variance against brightness, in units of the spread of the data."""

    gain: float
    offset: float
    least: float  # at the darkest, or brightest, where there were enough patches
    ratio: float  # of the largest variance to the least
    certainty: float  # of the gain, relative to its standard error

    @property
    def is_clear(self) -> bool:
        """Whether the variance certainly changes with brightness."""
        return (self.certainty > 4 and self.ratio > 1.3) or (
            self.certainty > 3 and self.ratio > 1.6
        )

    @property
    def is_likely(self) -> bool:
        """Whether the variance may change with brightness."""
        return self.certainty > 2 and self.ratio > 1.5


def measure_bands(patches: CosinePatches) -> Bands:
    """The powers of the patches in three bands of speeds."""
    fast, fastest = patches.speed > FAST, patches.speed > FASTEST
    slow = (patches.speed > SLOW) & ~fast
    return Bands(
        slow=patches.powers[:, slow].mean(axis=1, dtype=np.float64),
        fast=patches.powers[:, fast].mean(axis=1, dtype=np.float64),
        fastest=patches.powers[:, fastest].mean(axis=1, dtype=np.float64),
        n_fast=int(fast.sum()),
        n_fastest=int(fastest.sum()),
        means=patches.means,
        weight=min(1.0, patches.independent / len(patches.means)),
    )


def find_flat_patches(bands: Bands, share: float = MIN_FLAT_SHARE) -> FlatPatches:
    """The patches as flat as noise alone, at least a share of all, and their level.

    Begins with the flattest and takes in more as long as they agree with the level: of the levels
    that agree with themselves, this is the lowest.
    """
    order = np.argsort(bands.slow)
    ordered, fast = bands.slow[order], bands.fast[order]
    share = max(share, 3 / (bands.weight * len(order)))
    least = min(max(MIN_PATCHES // 2, int(share * len(order))), len(order))
    number, level = least, 0.0
    for _ in range(30):
        level = _trimmed_mean(fast[:number], bands.n_fast)
        more = max(least, int(np.searchsorted(ordered, _MAX_FLAT_POWER * level)))
        if more == number:
            break
        number = more
    chosen = order[:number]
    # Where texture reaches into the fast cosines, the very fastest hold less of it.
    lower = _trimmed_mean(bands.fastest[chosen], bands.n_fastest)
    error = math.sqrt(2 / (bands.n_fastest * max(1.0, number * bands.weight)))
    if lower < level * (1 - 2.5 * error):
        level = lower
    consistent = int(np.searchsorted(ordered, _MAX_FLAT_POWER * level))
    return FlatPatches(level, chosen, consistent * bands.weight, consistent / len(order))


def _trimmed_mean(powers: Array, count: int) -> float:
    """Mean of the powers, each of ``count`` cosines, without those that noise cannot explain."""
    level = float(powers.mean())
    for _ in range(3):
        kept = powers[powers <= level * (1 + 4 * math.sqrt(2 / count))]
        if not kept.size:
            break
        level = float(kept.mean())
    return level


def fit_variance_line(bands: Bands) -> VarianceLine | None:
    """Variance against brightness; None if the patches do not tell.

    Each bin of brightness gives a point. Texture only ever adds to it, so points above the line
    count less than those below.
    """
    points = _points_of_bins(bands)
    if len(points) < 3:
        return None
    mean, level, excess, size = np.array(points).T
    dark, bright = float(mean.min()), float(mean.max())
    if bright <= dark:
        return None
    shares = np.stack([bright - mean, mean - dark], axis=1) / (bright - dark)
    trust = np.sqrt(size) / excess**4
    ends = _fit_ends(shares, level, trust)
    fit = shares @ ends
    gain = float(ends[1] - ends[0]) / (bright - dark)
    # Points that miss the line by more than chance are less certain than their number says.
    errors = fit * np.sqrt(2 / (bands.n_fast * size)) * np.maximum(1, abs(level / fit - 1) * 5)
    centre = float((mean / errors**2).sum() / (1 / errors**2).sum())
    certainty = abs(gain) * math.sqrt(float(((mean - centre) ** 2 / errors**2).sum()))
    return VarianceLine(
        gain=gain,
        offset=float(ends[0]) - gain * dark,
        least=float(ends.min()),
        ratio=float(ends.max() / ends.min()),
        certainty=certainty,
    )


def _points_of_bins(bands: Bands) -> list[tuple[float, float, float, float]]:
    """Of each bin of brightness: mean, level of the noise, excess of slow power, and size.

    The excess says how far from flat its flattest patches are, the size how many they are,
    counted without overlaps.
    """
    count = int(np.clip(len(bands.means) // _PATCHES_PER_BIN, 3, _MAX_BRIGHTNESS_BINS))
    edges = np.quantile(bands.means, np.linspace(0, 1, count + 1))
    which = np.clip(np.searchsorted(edges, bands.means, side="right") - 1, 0, count - 1)
    points = []
    for number in range(count):
        inside = np.flatnonzero(which == number)
        if len(inside) < MIN_PATCHES:
            continue
        part = bands.at(inside)
        flat = find_flat_patches(part, 3 * MIN_FLAT_SHARE)
        if flat.level > 0:
            excess = max(1.0, float(part.slow[flat.chosen].mean()) / flat.level)
            size = max(1.0, len(flat.chosen) * bands.weight)
            points.append((float(part.means[flat.chosen].mean()), flat.level, excess, size))
    return points


def _fit_ends(shares: Array, level: Array, trust: Array) -> Array:
    """The variances (2,) at the dark and the bright end of the line that fits the points best.

    ``shares`` (n, 2) says how near each point is to either end. Neither end falls below half of
    the lowest point.
    """
    fit, doubt = level, np.ones_like(level)
    floor = 0.5 * float(level.min())
    ends = np.zeros(2)
    for _ in range(25):
        weights = np.sqrt(trust * doubt) / fit
        rows, target = shares * weights[:, None], level * weights
        ends = np.linalg.lstsq(rows, target, rcond=None)[0]
        for low, high in ((0, 1), (1, 0)):
            if ends[low] < floor:
                ends[low] = floor
                rest = target - rows[:, low] * floor
                ends[high] = max(floor, rows[:, high] @ rest / (rows[:, high] @ rows[:, high]))
        fit = shares @ ends
        doubt = (0.1 / np.maximum((level - fit) / fit, 0.1)) ** 2
    return ends
