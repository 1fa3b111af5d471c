"""ImageSamples: an image of any kind as samples (C, *shift), read region by region."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes, resolve
from napari_scsc.data.image import ImageArray, wrap_image
from napari_scsc.data.masks import MissingMask, mask_from, wrap_mask
from napari_scsc.data.scaling import ValueRange, measure_range
from napari_scsc.errors import Remedy, UserError
from napari_scsc.model.bank import FilterBank

_MIN_SPAN, _MAX_SPAN = 1e-100, 1e100  # of the values: outside, their squares leave the floats
_MAX_VALUES_MEASURED = 1 << 26  # of an image on disk, to find its range
_VALUES_PER_MEASURED_BLOCK = 1 << 20
_MAX_NUMBERS_LISTED = 1 << 24
_VALUES_PER_LOOK, _MAX_LOOKS = 1 << 14, 16
_FAR_OFF = 0.001  # the share of the values at either end that may lie anywhere
_LEAST_SHARE = 1e-5  # of the range, that the other values must span
_MIN_POINTS_IN_PLANE = 4  # along each of the last two shift axes
_MIN_POINTS_ACROSS_PLANES = 2  # along each of the shift axes before them


@dataclass(frozen=True)
class ImageSamples:
    """An image, with the meaning of its axes and the range of its values.

    ``open_samples`` makes it; learning and restoration read from it. A sample is found by its
    index along the sample axes. Its first axis holds the C joint values of a point, the others
    are the shift axes, whatever the order of the axes in the image::

        image    (t, y, x, c)   t sample, c joint, y and x shift
        index    (7,)           the frame 7
        sample   (C, y, x)

    Attributes
    ----------
    image : ImageArray
        What is read.
    axes : Axes
        The roles of its axes.
    range : ValueRange
        The range of its values, or of those that were looked at.
    """

    image: ImageArray
    axes: Axes
    range: ValueRange
    _last: dict[str, tuple[Region, Array]] = field(default_factory=dict, repr=False, compare=False)

    def without_cache(self) -> ImageSamples:
        """The same samples with a memory of the last read of its own, for another thread."""
        return replace(self, _last={})

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to other processes: not what was read last, which may be large."""
        return {**self.__dict__, "_last": {}}

    @property
    def shift(self) -> tuple[int, ...]:
        """Lengths of the shift axes."""
        return self._lengths("shift")

    @property
    def joint(self) -> tuple[int, ...]:
        """Lengths of the joint axes."""
        return self._lengths("joint")

    @property
    def n_joint(self) -> int:
        """C, the number of joint values a pixel has."""
        return math.prod(self.joint)

    @property
    def has_missing(self) -> bool:
        """Whether some of the values that were looked at are NaN or masked."""
        return self.range.n_nan + self.range.n_masked > 0

    @property
    def is_known_whole(self) -> bool:
        """Whether all values were looked at."""
        seen = self.range.n_known + self.range.n_nan + self.range.n_masked
        return seen == math.prod(self.image.shape)

    @property
    def is_complete(self) -> bool:
        """Whether certainly nothing is missing."""
        return self.is_known_whole and not self.has_missing

    def has_same_range(self) -> bool:
        """Whether the image still has the range of values that was found at first."""
        found = measure_range(self.image, _regions_to_measure(self.image))
        return (found.low, found.high) == (self.range.low, self.range.high)

    def without_saturated(self, level: float) -> ImageSamples:
        """The same, with values of at least ``level`` missing."""
        image = self.image
        mask = mask_from(image.read, image.shape, level)
        masked = image.masked_by(mask if image.missing is None else image.missing | mask)
        return ImageSamples(
            masked, self.axes, replace(self.range, n_masked=self.range.n_masked + 1)
        )

    def indices(self) -> list[tuple[int, ...]]:
        """The indices of the samples along the sample axes: one empty index if there are none."""
        return list(np.ndindex(*self.sample_lengths))

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return math.prod(self.sample_lengths)

    def index_of(self, number: int) -> tuple[int, ...]:
        """The index of one of the samples, without listing them."""
        lengths = self.sample_lengths
        return tuple(map(int, np.unravel_index(number, lengths))) if lengths else ()

    @property
    def sample_lengths(self) -> tuple[int, ...]:
        """Lengths of the sample axes."""
        return self._lengths("sample")

    def only(self, index: tuple[int, ...]) -> ImageSamples:
        """One of the samples, as an image of its own of the same axes."""
        region = self.region(index, tuple(slice(0, n) for n in self.shift))
        missing = None if self.image.missing is None else self.image.missing.read(region)
        return ImageSamples(wrap_image(self.image.part(region), missing), self.axes, self.range)

    def region(self, index: tuple[int, ...], part: Region) -> Region:
        """Where a part of a sample lies in the image, in the image's own order of axes."""
        indices, parts = iter(index), iter(part)
        return tuple(
            slice(i := next(indices), i + 1)
            if role == "sample"
            else slice(None)
            if role == "joint"
            else next(parts)
            for role in self.axes.roles
        )

    def read(self, index: tuple[int, ...], part: Region) -> Array:
        """Values (C, *part) of a part of a sample."""
        region = self.region(index, part)
        return self._as_sample(self._read_once("values", region, self.image.read))

    def missing(self, index: tuple[int, ...], part: Region) -> Array:
        """Where a part of a sample has no value, (C, *part)."""
        region = self.region(index, part)
        return self._as_sample(self._read_once("missing", region, self._missing_in))

    def _missing_in(self, region: Region) -> Array:
        values = self._read_once("values", region, self.image.read)
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
        if self.image.missing is not None:
            missing = missing | self.image.missing.read(region)
        return missing

    def _read_once(self, what: str, region: Region, read: Callable[[Region], Array]) -> Array:
        """Read a region unless it was the last one.

        Every round of inpainting asks for the same region, and it may be slow to read.
        """
        if self._last.get(what, (None,))[0] != region:
            self._last[what] = (region, read(region))
        return self._last[what][1]

    def as_image(self, values: Array) -> Array:
        """Values (C, *part) in the image's own order of axes."""
        n_sample = self.axes.count("sample")
        ordered = values.reshape((1,) * n_sample + self.joint + values.shape[1:])
        return self.axes.from_samples(ordered)

    def _as_sample(self, values: Array) -> Array:
        ordered = self.axes.to_samples(values)
        return ordered.reshape(self.n_joint, *ordered.shape[-self.axes.count("shift") :])

    def _lengths(self, role: str) -> tuple[int, ...]:
        pairs = zip(self.image.shape, self.axes.roles, strict=True)
        return tuple(n for n, r in pairs if r == role)


def open_samples(
    image: Any, missing: Any, kind: str | None, axes: str | Sequence[str] | Axes | None
) -> ImageSamples:
    """Return an image as samples, or raise if it is none that can be restored.

    The values are looked at; of an image that is not in memory, and large, only a part of them.

    Parameters
    ----------
    image : array
        Of any kind that ``wrap_image`` takes.
    missing : array or None
        Where it has no value; see ``wrap_mask``. It can also have the shift axes of the image
        only, wherever they are.
    kind, axes
        What its axes are; see ``resolve``.
    """
    wrapped = wrap_image(image)
    meaning = resolve(wrapped.shape, kind, axes, labels=wrapped.labels, name=wrapped.name)
    if missing is not None:
        wrapped = wrap_image(image, wrap_missing(missing, wrapped.shape, meaning))
    measured = measure_range(wrapped, _regions_to_measure(wrapped))
    check_lengths(meaning, wrapped.shape)
    check_range(measured)
    return ImageSamples(wrapped, meaning, measured)


def _regions_to_measure(image: ImageArray) -> list[Region] | None:
    """Which regions of a large image tell its range; None: all."""
    if image.is_in_memory or math.prod(image.shape) <= _MAX_VALUES_MEASURED:
        return None
    regions = image.blocks(_VALUES_PER_MEASURED_BLOCK)
    count = max(1, _MAX_VALUES_MEASURED // _VALUES_PER_MEASURED_BLOCK)
    chosen = _draw_some(np.random.default_rng(0), regions.count, count)
    return [regions[i] for i in sorted(chosen)]


def _draw_some(rng: np.random.Generator, total: int, most: int | None) -> Iterable[int]:
    """Up to so many of the numbers below a total, in random order, each once."""
    if most is None or total <= _MAX_NUMBERS_LISTED:
        return map(int, rng.permutation(total)[:most])
    chosen: dict[int, None] = {}  # what a file declares can be more than could be listed
    while len(chosen) < most:
        chosen[int(rng.integers(total))] = None
    return chosen


def wrap_missing(mask: Any, shape: tuple[int, ...], axes: Axes) -> MissingMask:
    """The mask: of the image's shape, of its last axes, or of its shift axes wherever they are."""
    shift = [i for i, role in enumerate(axes.roles) if role == "shift"]
    return wrap_mask(mask, shape, shift)


def check_range(measured: ValueRange) -> None:
    """Refuse values from which nothing can be restored."""
    if measured.n_known == 0:
        raise UserError("all of the image is missing: there is nothing to restore it from")
    if measured.has_inf:
        raise UserError("the image holds infinite values", remedy=Remedy.MARK_INFINITE)
    width = float(measured.high) - float(measured.low)
    if not (width == 0 or _MIN_SPAN < width < _MAX_SPAN):
        raise UserError(
            f"the values of the image span {width:.3g}", remedy="scale it to ordinary numbers first"
        )
    if measured.low == measured.high:
        raise UserError(
            f"the image is constant (every value is {measured.low:g}): nothing to restore"
        )


def check_values_lie_together(source: ImageSamples) -> None:
    """Refuse an image in which a few values lie so far off that all others seem to be the same."""
    tiles = list(draw_tiles(source, _VALUES_PER_LOOK, _MAX_LOOKS, seed=0))
    seen = np.concatenate([source.read(*tile)[~source.missing(*tile)].ravel() for tile in tiles])
    if seen.size == 0:
        return
    low, high = map(float, np.quantile(seen.astype(np.float64), (_FAR_OFF, 1 - _FAR_OFF)))
    width = float(source.range.high) - float(source.range.low)
    if 0 < high - low < _LEAST_SHARE * width:
        raise UserError(
            f"nearly all values of the image lie between {low:.4g} and {high:.4g}, but a few so "
            f"far off that all span {width:.3g}: what is noise cannot be seen beside that",
            remedy="mark those that are far off as missing, and inpaint",
        )


def check_lengths(axes: Axes, shape: tuple[int, ...]) -> None:
    """Refuse an image with axes along which filters cannot slide."""
    n_shift = axes.count("shift")
    if n_shift > 3:
        raise UserError(
            f"filters slide along up to three axes here, but {axes.kind} data of the shape "
            f"{shape} have {n_shift}",
            remedy=Remedy.NAME_ONE_SAMPLE_AXIS,
        )
    _check_plane(axes, shape)
    seen = 0
    for label, role, n in zip(axes.labels, axes.roles, shape, strict=True):
        if role == "joint" and n == 1:
            raise UserError(
                f"the joint axis {label!r} has one value only (shape {shape})",
                remedy="drop it, and restore the rest as it is",
            )
        if role != "shift":
            continue
        seen += 1
        needed = _MIN_POINTS_IN_PLANE if n_shift - seen < 2 else _MIN_POINTS_ACROSS_PLANES
        if n < needed:
            raise UserError(
                f"the image is smaller than the smallest filter: axis {label!r} has {n} points "
                f"(shape {shape}), and {needed} are needed",
                remedy=Remedy.DROP_AXIS,
            )


def _check_plane(axes: Axes, shape: tuple[int, ...]) -> None:
    """Refuse an image that is too small whatever its axes are taken for."""
    shift = [
        (label, n)
        for label, role, n in zip(axes.labels, axes.roles, shape, strict=True)
        if role == "shift"
    ]
    plane = shift[-2:]
    short = [f"{label} has {n} points" for label, n in plane if n < _MIN_POINTS_IN_PLANE]
    is_short = len(short) == len(shift) or (short and axes.kind == "image")
    # With more axes, those that are too short may be of another kind, such as colours.
    if max(shape) < _MIN_POINTS_IN_PLANE or is_short:
        raise UserError(
            f"the image is too small, smaller than the smallest filter: {' and '.join(short)} "
            f"(shape {shape}); at least {_MIN_POINTS_IN_PLANE} points are needed along "
            f"{' and '.join(label for label, _ in plane)}"
        )


def check_bank(bank: FilterBank, source: ImageSamples) -> None:
    """Refuse a bank whose filters do not fit the axes of the image."""
    if bank.joint != source.joint or len(bank.support) != len(source.shift):
        raise UserError(
            f"has filters over joint axes of lengths {bank.joint} and {len(bank.support)} shift "
            f"axes, but the image ({source.axes.kind}, shape {source.image.shape}) needs "
            f"{source.joint} and {len(source.shift)}",
            argument="bank",
        )
    if any(s > n for s, n in zip(bank.support, source.shift, strict=True)):
        raise UserError(
            f"the image is smaller than the filters of the bank: {source.shift} on its shift "
            f"axes, and the filters are {bank.support}"
        )


def draw_tiles(
    source: ImageSamples,
    n_values: int,
    most: int | None,
    seed: int,
    side: Sequence[int] | None = None,
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Yield the places of up to ``most`` tiles, in random order: index of a sample, and region.

    Each has about ``n_values`` values, or the lengths ``side``. They do not overlap; without a
    limit, ``most=None``, they cover the image.
    """
    side = side or box_lengths(source.shift, n_values // source.n_joint)
    counts = [max(1, round(n / s)) for n, s in zip(source.shift, side, strict=True)]
    total = source.n_samples * math.prod(counts)
    rng = np.random.default_rng([seed, 2])
    for number in _draw_some(rng, total, most):
        sample, place = divmod(number, math.prod(counts))
        places = np.unravel_index(place, counts)
        yield (
            source.index_of(sample),
            tuple(
                slice(p * n // c, (p + 1) * n // c)
                for p, n, c in zip(places, source.shift, counts, strict=True)
            ),
        )


def box_lengths(shift: tuple[int, ...], n_values: int) -> list[int]:
    """Lengths of a box of about that many points: as near to a cube as the axes allow."""
    side = [0] * len(shift)
    remaining = max(1, n_values)
    for position, axis in enumerate(np.argsort(shift)):
        length = round(remaining ** (1 / (len(shift) - position)))
        side[axis] = max(1, min(shift[axis], length))
        remaining = max(1, remaining // side[axis])
    return side
