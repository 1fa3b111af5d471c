"""How much noise there is, read from the data: its level, its growth with brightness, its colour.

Small patches are cut at many places and written in cosines. Image content shows in the slow and
middling cosines of a patch long before it shows in the fast ones, and white noise is in all of them
alike, each independent of the others. So the slow and middling ones say which patches are flat,
and the fast ones of those patches say how strong the noise is: as the two sets are disjoint,
choosing the flat patches does not favour those where the noise happens to be weak.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage, special

from napari_scsc._types import Array
from napari_scsc.noise.cosines import cosine_basis
from napari_scsc.noise.model import Noise
from napari_scsc.noise.remarks import (
    _BLURRED,
    _CLIPPED,
    _COARSE,
    _CONSTANT,
    _INVERTED,
    _MAYBE,
    _NOISELESS,
    _SMALL,
    _STRIPED,
    _TEXTURED,
    _TINY,
)

_PATCHES = 80_000  # looked at, however large the data are
_PIXELS, _PIECE = 3_000_000, 512  # looked at likewise, in pieces of that many pixels a side
_SIDE, _LINE = 8, 16  # pixels along a side of a patch in a plane, and of one in a line
_LEAST = 40  # flat patches below which nothing can be said
_SHARE = 0.01  # of the patches is looked at even where none is as flat as noise alone
_FLAT = 1.1  # slow power of a patch that passes as flat, relative to that of white noise
# Speeds of the cosines, from 0 (constant) to 1: from which on they tell texture, or noise. Those
# slower than the first also hold shading, which does no harm.
_SLOW, _MIDDLING, _FAST, _FASTEST = 0.14, 0.42, 0.64, 0.78
_SHARES = (0.01, 0.03, 0.1)  # of the patches, the flattest first, whose spectra are compared
_QUANTILE = 0.4
_ROUNDING = 1e-12  # power of rounding errors, relative to that of the data
_BINS = 12  # of brightness at most: the points of the curve


class _Values(NamedTuple):
    """Planes in units of their own spread, about zero, with what is known of their values."""

    planes: list[Array]
    measured: list[Array]
    usable: list[Array]  # measured, and with hardly any clipped pixel around
    centre: float  # the mean
    spread: float  # the standard deviation
    step: float  # between two values of quantised data, in their own units; 0 for continuous ones
    clipped: float  # share of the measured pixels


class _Patches(NamedTuple):
    """Patches in cosines: powers (n, M) without the constant, and the mean (n,) of each."""

    powers: Array
    means: Array
    rank: Array  # (M,) how fast each cosine is, 0 to 1
    along: Array  # (M,) 1 or 2 for cosines that vary along the first or second axis only, else 0
    axes: tuple[int, ...]  # the values of ``along`` to compare: none in lines
    even: Array  # (M,) one half of the cosines, of all speeds
    independent: float  # how many patches there would be without overlaps
    constant: float  # share of the places where all pixels have the same value


class _Flat(NamedTuple):
    """Patches taken as flat, and the power of their fast cosines."""

    level: float
    chosen: Array
    independent: float  # patches, counted without overlaps, that are as flat as noise of that level
    share: float  # of all patches that are


def estimate(planes: Sequence[Array], known: Sequence[Array] | None = None) -> Noise:
    """Estimate the noise of planes, or lines, that were measured in the same way.

    Parameters
    ----------
    planes : sequence of arrays with one or two axes
        Slices of a stack, bands or frames, in any units. All are taken together.
    known : sequence of bool arrays, optional
        True where a pixel was measured, in the shapes of the planes. Values that are not finite
        count as not measured.
    """
    values = _values(planes, known)
    if values is None:
        return _nothing(_CONSTANT)
    patches = _cut(values.planes, values.usable)
    if patches is None:
        patches = _cut(values.planes, values.measured)  # clipped all over: better than nothing
    if patches is None:
        return _nothing(_TINY, _guess(values))
    return _judge(values, patches)


def _values(planes: Sequence[Array], known: Sequence[Array] | None) -> _Values | None:
    """The planes made ready; None if all measured pixels have the same value."""
    arrays = [np.atleast_2d(np.asarray(plane)) for plane in planes]
    if not arrays:
        raise ValueError("planes must hold at least one plane, but is empty")
    for array in arrays:
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise ValueError(
                "planes must hold arrays of real numbers with one or two axes, but one has the "
                f"shape {array.shape} and the type {array.dtype}"
            )
    given = [None] * len(arrays) if known is None else [np.atleast_2d(mask) for mask in known]
    if len(given) != len(arrays):
        raise ValueError(f"known holds {len(given)} arrays, but planes {len(arrays)}")
    for array, mask in zip(arrays, given, strict=True):
        if mask is not None and mask.shape != array.shape:
            raise ValueError(
                f"an array of known has the shape {mask.shape}, but its plane {array.shape}"
            )
    pieces = _pieces([array.shape for array in arrays])
    masks = [
        np.isfinite(arrays[number][window])
        & (True if (mask := given[number]) is None else mask[window].astype(bool))
        for number, window in pieces
    ]
    arrays = [arrays[number][window] for number, window in pieces]
    measured = np.concatenate([a[m] for a, m in zip(arrays, masks, strict=True)])
    if measured.size == 0:
        raise ValueError("known is False everywhere: nothing was measured")
    measured = measured.astype(np.float64)
    centre, spread = float(measured.mean()), float(measured.std())
    if measured.max() == measured.min() or spread == 0:
        return None
    step, low, high = _quantisation(measured)
    usable, clipped = [], 0
    for array, mask in zip(arrays, masks, strict=True):
        at_limit = mask & ((array <= low) | (array >= high))
        count = int(np.count_nonzero(at_limit))
        clipped += count
        if count:
            # Patches are dropped by the clipped pixels around them, not by their own: dropping
            # those that the noise pushes to the limit would keep the others, where it is weak.
            crowd = ndimage.uniform_filter(at_limit.astype(np.float32), 25, mode="nearest")
            mask = mask & (crowd < 0.02)
        usable.append(mask)
    scaled = [
        np.where(mask, (array - centre) / spread, 0).astype(np.float32)
        for array, mask in zip(arrays, masks, strict=True)
    ]
    return _Values(scaled, masks, usable, centre, spread, step, clipped / measured.size)


def _pieces(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[slice, slice]]]:
    """Parts of the planes to look at: all, or as many as the limit allows, spread evenly."""
    pieces = [
        (number, (slice(row, row + _PIECE), slice(column, column + _PIECE)))
        for number, (rows, columns) in enumerate(shapes)
        for row in range(0, rows, _PIECE)
        for column in range(0, columns, _PIECE)
    ]
    total = sum(rows * columns for rows, columns in shapes)
    if total <= _PIXELS:
        return [(number, (slice(None), slice(None))) for number in range(len(shapes))]
    order = np.random.default_rng(0).permutation(len(pieces))
    return [pieces[i] for i in np.sort(order[: math.ceil(len(pieces) * _PIXELS / total)])]


def _quantisation(measured: Array) -> tuple[float, float, float]:
    """The step between values (0: continuous), and the limits where they pile up (or infinities).

    Values pile up at a limit if there are far more of them than at each of the next three levels,
    and these do not thin out quickly: few photons give many zeros, but then fewer ones and twos.
    """
    ordered = np.sort(measured)
    levels, counts = np.unique(ordered, return_counts=True)
    few = max(10.0, 5e-4 * measured.size)
    step = float(np.diff(levels).min()) if len(levels) * 4 < measured.size else 0.0
    limits = []
    for sign, levels_in, counts_in in ((-1, levels, counts), (1, levels[::-1], counts[::-1])):
        piled = counts_in[0] >= few
        if step:
            away = np.round(abs(levels_in[:8] - levels_in[0]) / step)
            near = [int(counts_in[:8][away == k].sum()) for k in (1, 2, 3)]
            piled = piled and counts_in[0] > 3 * max(near) and near[0] <= 2 * max(near[1:])
        limits.append(float(levels_in[0]) if piled else sign * math.inf)
    return step, limits[0], limits[1]


def _cut(planes: list[Array], masks: list[Array]) -> _Patches | None:
    """Patches at places spread over all planes; None if there are too few of them."""
    shape: tuple[int, int] = (_SIDE, _SIDE)
    if all(min(plane.shape) < _SIDE for plane in planes):
        shape = (1, _LINE)
        flip = planes[0].shape[0] > planes[0].shape[1]
        planes = [plane.T if flip else plane for plane in planes]
        masks = [mask.T if flip else mask for mask in masks]
    usable = [
        (plane, _places(mask, shape))
        for plane, mask in zip(planes, masks, strict=True)
        if all(n >= p for n, p in zip(plane.shape, shape, strict=True))
    ]
    total = sum(len(places) for _, places in usable)
    if total < _LEAST:
        return None
    rng = np.random.default_rng(0)
    cut, covered = [], 0
    for plane, places in usable:
        quota = math.ceil(_PATCHES * len(places) / total)
        covered += len(places)
        if len(places) > quota:
            places = np.sort(rng.choice(places, quota, replace=False))
        windows = sliding_window_view(plane, shape)
        rows, columns = np.divmod(places, windows.shape[1])
        cut.append(windows[rows, columns].reshape(len(places), math.prod(shape)))
    pixels = np.concatenate(cut)
    # A patch of one single value is no measurement: padding, a blind spot, or noise below the
    # quantisation.
    lively = pixels.max(axis=1) > pixels.min(axis=1)
    pixels = pixels[lively]
    if len(pixels) < _LEAST:
        return None
    length = pixels.shape[1]
    coefficients = pixels @ cosine_basis(1, shape).T
    means = coefficients[:, 0].astype(np.float64) / math.sqrt(length)
    row, column = np.divmod(np.arange(1, length), shape[1])
    return _Patches(
        np.square(coefficients[:, 1:]),
        means,
        (row + column) / (sum(shape) - 2),
        np.where(column == 0, 1, np.where(row == 0, 2, 0)),
        (1, 2) if shape[0] > 1 else (),
        (row + column) % 2 == 0,
        max(1.0, covered * float(lively.mean()) / length),
        1 - float(lively.mean()),
    )


def _guess(values: _Values) -> float:
    """Sigma from the differences of neighbours, for want of anything better."""
    jumps = [
        abs(np.diff(plane, axis=axis)[np.diff(mask.astype(int), axis=axis) == 0])
        for plane, mask in zip(values.planes, values.usable, strict=True)
        for axis in (0, 1)
    ]
    each = np.concatenate(jumps)
    return float(np.median(each)) / (0.6745 * math.sqrt(2)) * values.spread if each.size else 0.0


def _places(mask: Array, shape: tuple[int, int]) -> Array:
    """Where a patch of that shape holds no unusable pixel, as flat indices."""
    missing = np.pad(~mask, ((1, 0), (1, 0))).cumsum(axis=0, dtype=np.int32).cumsum(axis=1)
    a, b = shape
    inside = missing[a:, b:] - missing[:-a, b:] - missing[a:, :-b] + missing[:-a, :-b]
    return np.flatnonzero(inside == 0)


def _trimmed(powers: Array, count: int) -> float:
    """Mean of the powers, each of ``count`` cosines, without those that noise cannot explain."""
    level = float(powers.mean())
    for _ in range(3):
        kept = powers[powers <= level * (1 + 4 * math.sqrt(2 / count))]
        if not kept.size:
            break
        level = float(kept.mean())
    return level


class _Bands(NamedTuple):
    """Powers of the patches (n,), a mean over the cosines of each band."""

    slow: Array
    fast: Array
    fastest: Array
    n_fast: int
    n_fastest: int
    means: Array
    weight: float  # independent patches for each one that was cut

    def at(self, chosen: Array) -> _Bands:
        """The same of some patches only."""
        return self._replace(
            slow=self.slow[chosen],
            fast=self.fast[chosen],
            fastest=self.fastest[chosen],
            means=self.means[chosen],
        )

    def over(self, variances: Array) -> _Bands:
        """The same relative to a variance of the noise at each patch."""
        return self._replace(
            slow=self.slow / variances,
            fast=self.fast / variances,
            fastest=self.fastest / variances,
        )


def _bands(patches: _Patches) -> _Bands:
    fast, fastest = patches.rank > _FAST, patches.rank > _FASTEST
    slow = (patches.rank > _SLOW) & ~fast
    return _Bands(
        patches.powers[:, slow].mean(axis=1, dtype=np.float64),
        patches.powers[:, fast].mean(axis=1, dtype=np.float64),
        patches.powers[:, fastest].mean(axis=1, dtype=np.float64),
        int(fast.sum()),
        int(fastest.sum()),
        patches.means,
        min(1.0, patches.independent / len(patches.means)),
    )


def _flattest(bands: _Bands, share: float) -> _Flat:
    """The patches as flat as noise alone, at least a share of all, and their level.

    Begins with the flattest and takes in more as long as they agree with the level: of the levels
    that agree with themselves, this is the lowest.
    """
    order = np.argsort(bands.slow)
    ordered, fast = bands.slow[order], bands.fast[order]
    share = max(share, 3 / (bands.weight * len(order)))
    least = min(max(_LEAST // 2, int(share * len(order))), len(order))
    number, level = least, 0.0
    for _ in range(30):
        level = _trimmed(fast[:number], bands.n_fast)
        more = max(least, int(np.searchsorted(ordered, _FLAT * level)))
        if more == number:
            break
        number = more
    chosen = order[:number]
    # Where texture reaches into the fast cosines, the very fastest hold less of it.
    lower = _trimmed(bands.fastest[chosen], bands.n_fastest)
    error = math.sqrt(2 / (bands.n_fastest * max(1.0, number * bands.weight)))
    if lower < level * (1 - 2.5 * error):
        level = lower
    consistent = int(np.searchsorted(ordered, _FLAT * level))
    return _Flat(level, chosen, consistent * bands.weight, consistent / len(order))


class _Line(NamedTuple):
    """Variance against brightness, in units of the spread of the data."""

    gain: float
    offset: float
    least: float  # at the darkest, or brightest, where there were enough patches
    range: float  # the largest variance over the least
    certainty: float  # of the gain, relative to its standard error

    @property
    def is_clear(self) -> bool:
        return (self.certainty > 4 and self.range > 1.3) or (
            self.certainty > 3 and self.range > 1.6
        )

    @property
    def is_likely(self) -> bool:
        return self.certainty > 2 and self.range > 1.5


def _line(bands: _Bands) -> _Line | None:
    """Variance against brightness; None if the patches do not tell.

    Each bin of brightness gives a point. Texture only ever adds to it, so points above the line
    count less than those below.
    """
    count = int(np.clip(len(bands.means) // 400, 3, _BINS))
    edges = np.quantile(bands.means, np.linspace(0, 1, count + 1))
    which = np.clip(np.searchsorted(edges, bands.means, side="right") - 1, 0, count - 1)
    points = []
    for number in range(count):
        inside = np.flatnonzero(which == number)
        if len(inside) < _LEAST:
            continue
        part = bands.at(inside)
        flat = _flattest(part, 3 * _SHARE)
        if flat.level > 0:
            excess = max(1.0, float(part.slow[flat.chosen].mean()) / flat.level)
            size = max(1.0, len(flat.chosen) * bands.weight)
            points.append((float(part.means[flat.chosen].mean()), flat.level, excess, size))
    if len(points) < 3:
        return None
    mean, level, excess, size = np.array(points).T
    dark, bright = float(mean.min()), float(mean.max())
    if bright <= dark:
        return None
    shares = np.stack([bright - mean, mean - dark], axis=1) / (bright - dark)
    trust = np.sqrt(size) / excess**4
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
    gain = float(ends[1] - ends[0]) / (bright - dark)
    # Points that miss the line by more than chance are less certain than their number says.
    errors = fit * np.sqrt(2 / (bands.n_fast * size)) * np.maximum(1, abs(level / fit - 1) * 5)
    centre = float((mean / errors**2).sum() / (1 / errors**2).sum())
    certainty = abs(gain) * math.sqrt(float(((mean - centre) ** 2 / errors**2).sum()))
    return _Line(
        gain,
        float(ends[0]) - gain * dark,
        float(ends.min()),
        float(ends.max() / ends.min()),
        certainty,
    )


class _Band(NamedTuple):
    """A band of cosines in flat patches: what noise does in it, or texture."""

    powers: Array  # in the flattest patches and in ever more, relative to white noise
    tails: float  # fourth moment over the square of the second: 3 for noise, more for texture

    def is_noise(self, least: float, many: bool) -> bool:
        """Whether there is that much more than white noise, and it is not texture.

        Where there are ``many`` patches, one of the two signs of noise is enough.
        """
        growth = self.powers[2] / self.powers[0]
        if many:
            alike = (self.tails < 3.6 and growth < 1.5) or (self.tails < 8 and growth < 1.2)
        else:
            alike = self.tails < 3.4 and growth < 1.2
        return bool(alike and self.powers[:2].min() > least)


class _Colour(NamedTuple):
    """The spectrum of the noise."""

    total: float  # mean power over all cosines, relative to the variances assumed
    slow: _Band
    middling: _Band
    stripes: _Band  # cosines along one axis, relative to others as fast


def _colour(patches: _Patches, variances: Array) -> _Colour:
    """The spectrum in the flattest patches, if white noise had these ``variances`` (n,).

    One half of the cosines chooses the patches in which the other half is measured, and the other
    way round. Noise has the same spectrum in the flattest patches and in those less flat, and its
    cosines are normally distributed; texture grows from the ones to the others, and is strong in
    few of them.
    """
    rank = patches.rank
    scale = (1 / variances).astype(np.float32)
    # A handful of patches has no spectrum to speak of: small images begin with a larger share.
    shares = np.minimum(np.array(_SHARES) * max(1, 12 / patches.independent / _SHARES[0]), 0.6)
    spectra = np.empty((len(shares), len(rank)))
    calm, tails = np.empty(len(rank)), np.empty(len(rank))
    for choosing in (patches.even, ~patches.even):
        flatness = patches.powers[:, choosing & (rank > _SLOW)].sum(axis=1) * scale
        order = np.argsort(flatness)
        measured = np.flatnonzero(~choosing)
        for number, share in enumerate(shares):
            chosen = order[: max(_LEAST // 2, int(share * len(order)))]
            powers = patches.powers[np.ix_(chosen, measured)] * scale[chosen, None]
            spectra[number, measured] = powers.mean(axis=0, dtype=np.float64)
            if number == 0:
                calm[measured] = np.quantile(powers, _QUANTILE, axis=0)
                tails[measured] = np.square(powers).mean(axis=0, dtype=np.float64)
    tails /= np.maximum(spectra[0], 1e-30) ** 2
    calm /= special.gammaincinv(0.5, _QUANTILE) * 2
    # Shading is in the slow cosines of few patches: a low quantile hardly feels it.
    spectrum = np.where(rank < _MIDDLING, np.minimum(calm, spectra[0]), spectra[0])
    constant = spectrum[rank == rank.min()].mean()

    def band(which: Array, reference: Array) -> _Band:
        relative = spectra[:, which].mean(axis=1) / spectra[:, reference].mean(axis=1)
        return _Band(relative, float(tails[which].mean()))

    fast = rank > _FAST
    comparable = (rank > 2 * _SLOW) & (rank < 0.51)
    others = comparable & (patches.along == 0)
    stripes = [band(comparable & (patches.along == axis), others) for axis in patches.axes]
    return _Colour(
        float((spectrum.sum() + constant) / (len(rank) + 1)),
        band((rank > _SLOW) & (rank < _MIDDLING), fast),
        band((rank > _MIDDLING) & (rank < _FAST), fast),
        max(stripes, key=lambda one: float(one.powers[0]), default=band(fast, fast)),
    )


def _judge(values: _Values, patches: _Patches) -> Noise:
    """The noise from the patches, with what there is to say about it."""
    bands = _bands(patches)
    flat = _flattest(bands, _SHARE)
    if flat.level < _ROUNDING or (patches.constant > 0.5 and flat.share < 0.02):
        return _nothing(_NOISELESS)
    gain, offset = 0.0, flat.level
    variances = np.full(len(bands.means), flat.level)
    remarks, sure = [], True
    line = _line(bands)
    if line is not None and line.is_clear:
        variances = np.maximum(line.gain * bands.means + line.offset, line.least)
        flat = _flattest(bands.over(variances), _SHARE)
        gain, offset = line.gain, line.offset
        if gain < 0:
            gain, sure = 0.0, False
            remarks.append(_INVERTED)
    elif line is not None and line.is_likely:
        remarks.append(_MAYBE)
    colour = _colour(patches, variances)
    many = patches.independent > 400
    blurred = colour.middling.is_noise(1.35, many) or colour.slow.is_noise(8 if many else 4, many)
    striped = colour.stripes.is_noise(1.6, many)
    if blurred or striped:
        gain, offset = gain * colour.total, offset * colour.total
        remarks.append(_BLURRED if blurred else _STRIPED)
    elif patches.independent < 30:
        remarks.append(_SMALL)
    elif flat.share < 0.02 or flat.independent < 5:
        remarks.append(_TEXTURED)
    sure = sure and not remarks
    scale = values.spread
    sigma = math.sqrt(max(offset, 0.0)) * scale
    if sigma < 0.6 * values.step:
        remarks.append(_COARSE)
        sure = False
    if values.clipped > 0.01:
        remarks.append(_CLIPPED.format(share=100 * values.clipped))
        sure = sure and values.clipped < 0.1
    gain *= scale
    return Noise(
        sigma, gain, sigma**2 - gain * values.centre, blurred or striped, sure, tuple(remarks)
    )


def _nothing(remark: str, sigma: float = 0.0) -> Noise:
    return Noise(sigma, 0.0, sigma**2, False, False, (remark,))
