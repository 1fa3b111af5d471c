"""Range of values of an image, and its linear map to the working range from 0 to 1 and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from napari_scsc._types import Array, Region
from napari_scsc.data.image import ImageArray
from napari_scsc.errors import UserError


@dataclass(frozen=True, slots=True)
class Scale:
    """The linear map from the range of an image to the working range, from 0 to 1, and back.

    Attributes
    ----------
    low, high : float
        What becomes 0 and 1. Of integer images they are integers, for a float cannot hold all.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, np.generic):  # the difference of two int8 need not fit an int8
                object.__setattr__(self, name, value.item())
        # Also refuses NaN, and two finite ends that lie further apart than a float reaches.
        if not 0 <= self.high - self.low < math.inf:
            raise UserError(f"the values cannot range from {self.low} to {self.high}")

    @property
    def width(self) -> float:
        """The length that becomes 1: a noise level is divided by it. 1 if all is constant."""
        return float(self.high - self.low) or 1.0

    def to_work(self, values: Array) -> NDArray[np.float32]:
        """The values in the working range; a new array. NaN stays NaN."""
        # A value that a mask hides may lie anywhere.
        with np.errstate(over="ignore"):
            if self._needs_integers(values.dtype):
                # The two halves of an integer of 64 bits fit a float each, the whole would not.
                upper, lower = divmod(int(self.low), 1 << 32)
                work = np.subtract(values >> 32, float(upper), dtype=np.float64)
                work *= float(1 << 32)
                work += np.subtract(values & 0xFFFFFFFF, float(lower), dtype=np.float64)
            else:
                work = np.subtract(values, float(self.low), dtype=np.float64)
            work /= self.width
            return np.asarray(work, np.float32)

    def from_work(self, work: Array, dtype: DTypeLike, as_float: bool = False) -> Array:
        """The values of the working range as those of an image; a new array.

        Parameters
        ----------
        work : ndarray of float
            Values in the working range.
        dtype : dtype
            Type of the image. Values beyond its limits become its limits, and integers are rounded.
        as_float : bool
            Instead of an integer type, take a float type that holds its values (float32 for up to
            16 bits, float64 for more): nothing is rounded or cut off.
        """
        target = np.dtype(dtype).newbyteorder("=")
        if target.kind in "iu" and as_float:
            target = np.result_type(target, np.float32)
        with np.errstate(over="ignore"):
            values = np.multiply(work, self.width, dtype=np.float64)
            if target.kind == "f":
                values += float(self.low)
                most = min(float(np.finfo(target).max), float(np.finfo(np.float64).max))
                return np.clip(values, -most, most, out=values).astype(target)
        if np.isnan(values).any():
            raise UserError(f"the result holds NaN, for which {target} has no value")
        info = np.iinfo(target)
        if not self._needs_integers(target):
            values += float(self.low)
            np.rint(values, out=values)
            return np.clip(values, *floats_within(info.min, info.max), out=values).astype(target)
        low = int(self.low)
        np.rint(values, out=values)
        np.clip(values, *floats_within(info.min - low, info.max - low), out=values)
        # The distance from low can take 65 bits: it is put together from halves, modulo 2**64,
        # which is right because the sum is known to lie within the limits.
        upper = np.floor(values / (1 << 32))
        values -= upper * (1 << 32)
        whole = upper.astype(np.int64).view(np.uint64) << np.uint64(32)
        whole += values.astype(np.uint64)
        whole += np.uint64(low % (1 << 64))
        return whole.view(target)

    def _needs_integers(self, dtype: np.dtype[Any]) -> bool:
        """Whether a float64 could lose digits of such values, and low is an integer like them."""
        return (
            dtype.kind in "iu"
            and dtype.itemsize == 8
            and isinstance(self.low, int)
            and -(1 << 63) <= self.low < 1 << 64
        )


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The range of the values of an image, and how many are missing: what one pass over it finds.

    Attributes
    ----------
    low, high : float
        Least and largest of the known values, integers for integer images; infinite if one of them
        is. Before any is known, low is infinite and high minus infinite.
    n_known : int
        How many values are known: neither masked nor NaN.
    n_nan : int
        How many are NaN, not counting those that the mask hides.
    n_masked : int
        How many the mask hides.
    """

    low: float = math.inf
    high: float = -math.inf
    n_known: int = 0
    n_nan: int = 0
    n_masked: int = 0

    @property
    def has_inf(self) -> bool:
        """Whether a known value is infinite."""
        return self.n_known > 0 and (math.isinf(self.low) or math.isinf(self.high))

    def scale(self) -> Scale:
        """The scale of this range; raises where values are infinite or none is known."""
        if self.n_known == 0:
            raise UserError("no value of the image is known: all are NaN or masked")
        if self.has_inf:
            raise UserError("the image holds infinite values")
        return Scale(self.low, self.high)


def measure_range(image: ImageArray, regions: Iterable[Region] | None = None) -> ValueRange:
    """Find the range of an image and what is missing, block by block, or of some regions."""
    *_, found = itertools.chain([ValueRange()], iter_measure_range(image, regions))
    return found


def iter_measure_range(
    image: ImageArray, regions: Iterable[Region] | None = None
) -> Iterator[ValueRange]:
    """Yield what was found so far after each of the image's blocks; ``measure_range`` in steps."""
    found = ValueRange()
    for region in image.blocks() if regions is None else regions:
        values = image.read(region)
        n_masked = n_nan = 0
        if image.missing is not None:
            known = ~image.missing.read(region)
            n_masked = known.size - int(np.count_nonzero(known))
            values = values[known] if n_masked else values
        if values.dtype.kind == "f":
            nan = np.isnan(values)
            n_nan = int(np.count_nonzero(nan))
            values = values[~nan] if n_nan else values
        low, high = found.low, found.high
        if values.size:
            number: type[int] | type[float] = float if values.dtype.kind == "f" else int
            low, high = min(low, number(values.min())), max(high, number(values.max()))
        found = ValueRange(
            low,
            high,
            found.n_known + values.size,
            found.n_nan + n_nan,
            found.n_masked + n_masked,
        )
        yield found


def floats_within(least: int, most: int) -> tuple[float, float]:
    """The least and the largest float between two integers, which floats need not be able to hold.

    The integers must lie so far apart that there are such floats.
    """
    low, high = float(least), float(most)
    return (
        low if int(low) >= least else math.nextafter(low, math.inf),
        high if int(high) <= most else math.nextafter(high, -math.inf),
    )
