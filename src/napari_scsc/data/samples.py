"""The door of restoration: an image of any kind as samples (C, *shift), read region by region."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes, resolve
from napari_scsc.data.image import ImageArray, MissingMask, wrap_image, wrap_mask
from napari_scsc.data.scaling import ValueRange, measure_range
from napari_scsc.model.bank import FilterBank


def check_bank(bank: FilterBank, source: ImageSamples) -> None:
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


_SMALLEST, _LARGEST = 1e-100, 1e100  # range of values whose squares can be computed with
_LOOKED_AT = 1 << 26  # values of an image whose range is found by looking at all of them
_FEWEST = 4  # points along the last two shift axes; along the others 2


@dataclass(frozen=True)
class ImageSamples:
    """An image, with the meaning of its axes and the range of its values."""

    image: ImageArray
    axes: Axes
    range: ValueRange
    _last: dict[str, tuple[Region, Array]] = field(default_factory=dict, repr=False, compare=False)

    def without_cache(self) -> ImageSamples:
        """The same for one user: what it remembers of the last read is not for others."""
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

    def indices(self) -> list[tuple[int, ...]]:
        """The indices of the samples along the sample axes: one empty index if there are none."""
        return list(np.ndindex(*self._lengths("sample")))

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
        return self._as_sample(self._once("values", self.region(index, part), self.image.read))

    def missing(self, index: tuple[int, ...], part: Region) -> Array:
        """Where a part of a sample has no value, (C, *part)."""
        region = self.region(index, part)
        return self._as_sample(self._once("missing", region, self._missing_in))

    def _missing_in(self, region: Region) -> Array:
        values = self._once("values", region, self.image.read)
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
        if self.image.missing is not None:
            missing = missing | self.image.missing.read(region)
        return missing

    def _once(self, what: str, region: Region, make: Callable[[Region], Array]) -> Array:
        """The last part is asked for in every round of inpainting, and may be slow to read."""
        if self._last.get(what, (None,))[0] != region:
            self._last[what] = (region, make(region))
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
    """Look at the values, and refuse what cannot be restored, in the user's words.

    Of an image that is not in memory, and large, only a part is looked at.
    """
    seen = wrap_image(image)
    meaning = resolve(seen.shape, kind, axes, labels=seen.labels, name=seen.name)
    if missing is not None:
        seen = wrap_image(image, _missing_of(missing, seen.shape, meaning))
    source = ImageSamples(seen, meaning, measure_range(seen, _looked_at(seen)))
    check_lengths(source.axes, source.image.shape)
    if source.range.n_known == 0:
        raise ValueError("all of the image is missing: there is nothing to restore it from")
    if source.range.has_inf:
        raise ValueError(
            "the image holds infinite values: mark them as missing, "
            "as in inpaint(image, ~np.isfinite(image))"
        )
    width = float(source.range.high) - float(source.range.low)
    if not (width == 0 or _SMALLEST < width < _LARGEST):
        raise ValueError(
            f"the values of the image span {width:.3g}: scale it to ordinary numbers first"
        )
    if source.range.low == source.range.high:
        raise ValueError(
            f"the image is constant (every value is {source.range.low:g}): nothing to restore"
        )
    return source


def _looked_at(image: ImageArray) -> list[Region] | None:
    """Which regions of a large image are looked at for its range; None: all."""
    if image.is_in_memory or math.prod(image.shape) <= _LOOKED_AT:
        return None
    regions = list(image.blocks(1 << 20))
    count = max(1, _LOOKED_AT // (1 << 20))
    chosen = np.random.default_rng(0).permutation(len(regions))[:count]
    return [regions[i] for i in sorted(chosen)]


def _missing_of(mask: Any, shape: tuple[int, ...], axes: Axes) -> MissingMask:
    """The mask: of the image's shape, of its last axes, or of its shift axes wherever they are."""
    shift = [i for i, role in enumerate(axes.roles) if role == "shift"]
    return wrap_mask(mask, shape, shift)


def check_lengths(axes: Axes, shape: tuple[int, ...]) -> None:
    """Refuse axes along which filters cannot slide."""
    n_shift = axes.count("shift")
    if n_shift > 3:
        raise ValueError(
            f"filters slide along up to three axes here, but {axes.kind} data of the shape "
            f"{shape} have {n_shift}: name one of them as a sample or joint axis"
        )
    _check_size(axes, shape)
    seen = 0
    for label, role, n in zip(axes.labels, axes.roles, shape, strict=True):
        if role == "joint" and n == 1:
            raise ValueError(
                f"the joint axis {label!r} has one value only (shape {shape}): "
                "drop it, and restore the rest as it is"
            )
        if role != "shift":
            continue
        seen += 1
        fewest = _FEWEST if n_shift - seen < 2 else 2
        if n < fewest:
            raise ValueError(
                f"the image is smaller than the smallest filter: axis {label!r} has {n} points "
                f"(shape {shape}), and {fewest} are needed; drop the axis, or choose another kind"
            )


def _check_size(axes: Axes, shape: tuple[int, ...]) -> None:
    """Refuse an image that is too small whatever its axes are taken for."""
    slid = [
        (label, n)
        for label, role, n in zip(axes.labels, axes.roles, shape, strict=True)
        if role == "shift"
    ]
    last = slid[-2:]
    short = [f"{label} has {n} points" for label, n in last if n < _FEWEST]
    # With more axes, those that are too short may be of another kind, such as colours.
    if max(shape) < _FEWEST or len(short) == len(slid) or (short and axes.kind == "image"):
        raise ValueError(
            f"the image is too small, smaller than the smallest filter: {' and '.join(short)} "
            f"(shape {shape}); at least {_FEWEST} points are needed along "
            f"{' and '.join(label for label, _ in last)}"
        )


def draw_tiles(
    source: ImageSamples, n_values: int, most: int | None, seed: int
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Places of up to ``most`` tiles of about that many values, in random order over the image.

    They do not overlap; those of a small image cover it.
    """
    side = box_lengths(source.shift, n_values // source.n_joint)
    counts = [max(1, round(n / s)) for n, s in zip(source.shift, side, strict=True)]
    indices = source.indices()
    total = len(indices) * math.prod(counts)
    rng = np.random.default_rng([seed, 2])
    chosen = rng.permutation(total)[:most]
    for number in chosen:
        sample, place = divmod(int(number), math.prod(counts))
        places = np.unravel_index(place, counts)
        yield (
            indices[sample],
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
