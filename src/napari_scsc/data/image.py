"""ImageArray: one view of numpy, dask, zarr, xarray and multiscale images, read in regions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.foreign_arrays import (
    array_name,
    axis_labels,
    check_is_there,
    chunk_lengths,
    inspect_array,
    is_dask,
    is_xarray,
    read_region,
)
from napari_scsc.data.masks import MissingMask, mask_of, wrap_mask
from napari_scsc.errors import UserTypeError


class ImageArray:
    """An image that is read region by region, whatever kind of array holds it.

    ``wrap_image`` makes it; all that works on images of users works on this.

    Attributes
    ----------
    shape : tuple of int
        Lengths of the axes; of a multiscale image, those of its finest level.
    dtype : numpy.dtype
        Type of the values, in the byte order of this machine.
    labels : tuple of str or None
        Names of the axes, where the array knows them.
    name : str
        Name of the array; empty where it has none.
    chunks : tuple or None
        Lengths of the chunks along each axis, or the one length that all but the last have; None
        where there are none.
    missing : MissingMask or None
        Where the image has no value, by its own mask or the one given. NaN is not looked for.
    """

    def __init__(
        self,
        source: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        missing: MissingMask | None = None,
    ) -> None:
        self._source = source
        self.shape = shape
        self.dtype = dtype.newbyteorder("=")
        self.labels = axis_labels(source, len(shape))
        self.name = array_name(source)
        self.missing = missing
        self.chunks = chunk_lengths(source, len(shape))

    @property
    def sources(self) -> tuple[Any, ...]:
        """What is read: the array as it was given, and what its mask reads."""
        return (self._source, *(() if self.missing is None else (self.missing,)))

    @property
    def is_lazy(self) -> bool:
        """Whether it is a dask array, or an xarray of one: its results are to be lazy too."""
        return is_dask(self._source)

    @property
    def is_in_memory(self) -> bool:
        """Whether reading costs nothing."""
        return isinstance(self._source, np.ndarray) and not isinstance(self._source, np.memmap)

    @property
    def is_numpy(self) -> bool:
        """Whether it is a numpy array, perhaps mapped from a file: it cannot be sent as a path."""
        return isinstance(self._source, np.ndarray)

    @property
    def path(self) -> str | os.PathLike[str] | None:
        """The file that the values are read from, if it is one file and the array tells."""
        source = self._source
        path = getattr(source, "filename", None) or getattr(source, "path", None)
        is_path = isinstance(path, str | os.PathLike) and os.path.isfile(path)
        return path if is_path else None

    def read(self, region: Region) -> Array:
        """The values of a region, which nobody may write to: they can be the array's own."""
        check_is_there(self._source)
        return np.asarray(read_region(self._source, region)).astype(self.dtype, copy=False)

    def whole(self) -> Array:
        """All values, as ``read`` gives them."""
        return self.read(tuple(slice(0, n) for n in self.shape))

    def part(self, region: Region) -> Any:
        """A region as an array of the same kind: not read yet where the array can wait."""
        return self._source[region]

    def masked_by(self, missing: MissingMask) -> ImageArray:
        """The same image with another mask."""
        return ImageArray(self._source, self.shape, self.dtype, missing)

    def like(self, result: Any) -> Any:
        """Return a result of the same shape as the kind of array that came in.

        That is an xarray with the same dims, coordinates, attributes and name, or a dask array
        with the same chunks; for every other kind the result is returned as it is. A result that
        is a dask array already stays one.
        """
        if tuple(result.shape) != self.shape:
            raise ValueError(f"the result has the shape {result.shape}, the image {self.shape}")
        if is_dask(self._source) and isinstance(result, np.ndarray):
            import dask.array

            from_array: Any = dask.array.from_array  # it has no annotations
            # Without a name of its own, dask would hash all values to make one.
            result = from_array(result, chunks=self._source.chunks, name=False)
        elif is_dask(self._source) and is_dask(result):
            result = result.rechunk(self._source.chunks)
        if is_xarray(self._source):
            result = self._source.copy(deep=False, data=result)
            # How the input was stored, say as uint8, would be forced on the result when saved.
            result.encoding = {}
        return result

    def blocks(self, n_values: int = 1 << 22) -> BlockRegions:
        """Regions that cover the array once, with at most that many values each.

        Where the array has chunks the regions consist of whole chunks, so that none is read
        twice; a chunk with more values than that is a region of its own.
        """
        if n_values < 1:
            raise ValueError(f"a block must have at least one value, but n_values is {n_values}")
        chunks = self.chunks or (1,) * len(self.shape)
        limits = [
            min(n, c if isinstance(c, int) else max(c))
            for n, c in zip(self.shape, chunks, strict=True)
        ]
        # Neighbours along the last axes mostly lie together in memory or in the file.
        for axis in reversed(range(len(limits))):
            others = math.prod(limits[:axis] + limits[axis + 1 :])
            limits[axis] = min(max(limits[axis], n_values // others), self.shape[axis])
        return BlockRegions(list(map(_spans, self.shape, chunks, limits)))


class BlockRegions(Iterable[Region]):
    """Regions that cover an array: never listed, since there can be more than fit into memory."""

    def __init__(self, spans: Sequence[Sequence[slice]]) -> None:
        self._spans = spans
        self._counts = [len(axis) for axis in spans]

    @property
    def count(self) -> int:
        """How many there are."""
        return math.prod(self._counts)

    def __getitem__(self, number: int) -> Region:
        places = []
        for spans, count in zip(reversed(self._spans), reversed(self._counts), strict=True):
            number, place = divmod(number, count)
            places.append(spans[place])
        return tuple(reversed(places))

    def __iter__(self) -> Iterator[Region]:
        return map(self.__getitem__, range(self.count))


class _EvenSpans(Sequence[slice]):
    """Spans of one length that cover an axis."""

    def __init__(self, length: int, step: int) -> None:
        self._length, self._starts = length, range(0, length, step)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, place: Any) -> Any:
        start = self._starts[place]
        return slice(start, min(start + self._starts.step, self._length))


def _spans(length: int, chunk: int | tuple[int, ...], limit: int) -> Sequence[slice]:
    """Cut an axis into spans of whole chunks, each as long as the limit allows."""
    if isinstance(chunk, int):
        return _EvenSpans(length, max(limit // chunk, 1) * chunk)
    spans: list[slice] = []
    start = stop = 0
    for n in chunk:
        if stop > start and stop + n - start > limit:
            spans.append(slice(start, stop))
            start = stop
        stop += n
    return [*spans, slice(start, stop)]


def wrap_image(array: Any, missing: Any = None) -> ImageArray:
    """Return an image of any kind as an ``ImageArray``; nothing is read yet.

    Parameters
    ----------
    array : array
        numpy (also memory-mapped, masked, read-only, of any byte order), dask, zarr, xarray, or
        whatever has ``shape``, ``dtype`` and can be sliced; a sequence of arrays of falling size
        is a multiscale image, of which the first is taken. What can only be converted as a whole
        (a nested list, an object with no more than ``__array__``) is converted here.
    missing : array or MissingMask, optional
        Where the image has no value, besides where a masked array says so; see ``wrap_mask``.

    Raises
    ------
    UserTypeError
        If it is no array, or holds anything but real numbers.
    UserError
        If it has no axes or no values, or the mask does not fit.
    """
    source, shape, dtype = inspect_array(array, "image")
    if dtype.kind == "b":
        raise UserTypeError("the image holds only True and False: a mask is not an image")
    if dtype.kind not in "fiu":
        raise UserTypeError(
            f"an image must hold real numbers (integer or float), but has the type {dtype}"
        )
    mask = mask_of(source, shape)
    if missing is not None:
        given = missing if isinstance(missing, MissingMask) else wrap_mask(missing, shape)
        mask = given if mask is None else mask | given
    return ImageArray(source, shape, dtype, mask)


def read_masked(image: ImageArray, region: Region) -> Array:
    """Read a region; a masked array where the image has a mask."""
    values = image.read(region)
    if image.missing is None:
        return values
    return np.ma.MaskedArray(values, image.missing.read(region))
