"""One view of numpy, dask, zarr, xarray and multiscale arrays: read a block, never the whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc._types import Array, Region

# Of each axis: the lengths of its chunks, or the one length that all but the last have.
Chunks = tuple[int | tuple[int, ...], ...]


class ImageArray:
    """An image that is read region by region, whatever kind of array holds it; see ``view``.

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
    missing : Mask or None
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
        self.labels = _labels(source, len(shape))
        self.name = _name(source)
        self.missing = missing
        self._chunks = _chunks(source, shape)

    def read(self, region: Region) -> Array:
        """The values of a region, which nobody may write to: they can be the array's own."""
        return np.asarray(_fetch(self._source, region)).astype(self.dtype, copy=False)

    @property
    def is_lazy(self) -> bool:
        """Whether it is a dask array, or an xarray of one: its results are to be lazy too."""
        return is_dask(self._source)

    @property
    def is_in_memory(self) -> bool:
        """Whether reading costs nothing."""
        return isinstance(self._source, np.ndarray) and not isinstance(self._source, np.memmap)

    def whole(self) -> Array:
        """All values, as ``read`` gives them."""
        return self.read(tuple(slice(0, n) for n in self.shape))

    def part(self, region: Region) -> Any:
        """A region as an array of the same kind: not read yet where the array can wait."""
        return self._source[region]

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

    def blocks(self, n_values: int = 1 << 22) -> Iterator[Region]:
        """Regions that cover the array once, with at most that many values each.

        Where the array has chunks the regions consist of whole chunks, so that none is read
        twice; a chunk with more values than that is a region of its own.
        """
        if n_values < 1:
            raise ValueError(f"a block must have at least one value, but n_values is {n_values}")
        chunks = self._chunks or (1,) * len(self.shape)
        limits = [
            min(n, c if isinstance(c, int) else max(c))
            for n, c in zip(self.shape, chunks, strict=True)
        ]
        # Neighbours along the last axes mostly lie together in memory or in the file.
        for axis in reversed(range(len(limits))):
            others = math.prod(limits[:axis] + limits[axis + 1 :])
            limits[axis] = min(max(limits[axis], n_values // others), self.shape[axis])
        spans = map(_spans, self.shape, chunks, limits)
        yield from itertools.product(*spans)


class MissingMask:
    """Where values are missing, read region by region; see ``mask_view``.

    Attributes
    ----------
    shape : tuple of int
        The shape of the image.
    """

    def __init__(
        self, shape: tuple[int, ...], readers: tuple[Callable[[Region], Array], ...]
    ) -> None:
        self.shape = shape
        self._readers = readers

    def read(self, region: Region) -> NDArray[np.bool_]:
        """True where the values of a region are missing; not to be written to."""
        parts = [reader(region) for reader in self._readers]
        missing = parts[0] if len(parts) == 1 else np.logical_or.reduce(np.broadcast_arrays(*parts))
        shape = (len(range(*s.indices(n))) for s, n in zip(region, self.shape, strict=True))
        return np.broadcast_to(missing, tuple(shape))

    def __or__(self, other: MissingMask) -> MissingMask:
        if self.shape != other.shape:
            raise ValueError(f"the masks have the shapes {self.shape} and {other.shape}")
        return MissingMask(self.shape, self._readers + other._readers)


def wrap_image(array: Any, missing: Any = None) -> ImageArray:
    """Look at an image of any kind, without reading it.

    Parameters
    ----------
    array : array
        numpy (also memory-mapped, masked, read-only, of any byte order), dask, zarr, xarray, or
        whatever has ``shape``, ``dtype`` and can be sliced; a sequence of arrays of falling size
        is a multiscale image, of which the first is taken. What can only be converted as a whole
        (a nested list, an object with no more than ``__array__``) is converted here.
    missing : array or Mask, optional
        Where the image has no value, besides where a masked array says so; see ``mask_view``.

    Raises
    ------
    TypeError
        If it is no array, or holds anything but real numbers.
    ValueError
        If it has no axes or no values, or the mask does not fit.
    """
    source, shape, dtype = _look(array, "image")
    if dtype.kind == "b":
        raise TypeError("the image holds only True and False: a mask is not an image")
    if dtype.kind not in "fiu":
        raise TypeError(
            f"an image must hold real numbers (integer or float), but has the type {dtype}"
        )
    mask = _own_mask(source, shape)
    if missing is not None:
        given = missing if isinstance(missing, MissingMask) else wrap_mask(missing, shape)
        mask = given if mask is None else mask | given
    return ImageArray(source, shape, dtype, mask)


def wrap_mask(mask: Any, shape: Sequence[int], axes: Sequence[int] = ()) -> MissingMask:
    """Look at a mask of missing values, without reading it.

    Parameters
    ----------
    mask : array
        Of any kind that ``view`` takes. Boolean: True where a value is missing; or integer, such
        as labels: anything but 0 where it is missing; or float, if all values are 0 or 1. A grey
        picture in red, green and blue counts as one without these.
    shape : sequence of int
        The shape of the image. The mask has it too, or that of its last axes: a mask (y, x) holds
        for every t of an image (t, y, x).
    axes : sequence of int
        Axes of the image that the mask may have instead, wherever they are.
    """
    source, own, dtype = _look(mask, "mask")
    full = tuple(shape)
    if dtype.kind not in "biuf":
        raise TypeError(
            "the mask must hold True (missing) and False, or whole numbers that are 0 where "
            f"nothing is missing, but has the type {dtype}"
        )
    found = _axes_of_mask(own, full, axes)
    is_picture = found is None and len(own) > 2 and own[-1] in (3, 4) and dtype.kind != "b"
    if is_picture:
        found = _axes_of_mask(own[:-1], full, axes)
    if found is None:
        raise ValueError(
            f"the mask has the shape {own}, the image {full}: it must have all axes of the image, "
            "or its last ones"
        )
    return MissingMask(full, (_Truth(source, found, len(full), is_picture),))


def _axes_of_mask(
    own: tuple[int, ...], full: tuple[int, ...], axes: Sequence[int]
) -> tuple[int, ...] | None:
    """Which axes of the image a mask of that shape has; None if it does not fit."""
    last = range(max(0, len(full) - len(own)), len(full))
    fitting = (tuple(some) for some in (last, axes) if own == tuple(full[i] for i in some))
    return next(fitting, None)


# Objects and not closures: a mask can be sent to other processes.
@dataclass(frozen=True, slots=True)
class _Truth:
    """What a mask that has some of the axes of the image says of a region."""

    source: Any
    axes: tuple[int, ...]
    n: int
    is_picture: bool = False

    def __call__(self, region: Region) -> Array:
        own = tuple(region[i] for i in self.axes)
        part = _fetch(self.source, (*own, slice(None)) if self.is_picture else own)
        truth = _truth(_grey(part) if self.is_picture else part)
        return truth[tuple(slice(None) if i in self.axes else None for i in range(self.n))]


def _grey(part: Array) -> Array:
    """The one value that each pixel of a grey picture (..., c) has."""
    colours, rest = part[..., :3], part[..., 3:]
    if (colours[..., 1:] != colours[..., :1]).any():
        raise ValueError(
            "the mask is a picture in colour: save it in grey, black where nothing is missing"
        )
    if rest.size and (rest != rest.flat[0]).any():
        raise ValueError(
            "the mask is a picture that is transparent in parts, which can mean anything: save it "
            "in grey, black where nothing is missing"
        )
    return colours[..., 0]


def _truth(part: Array) -> Array:
    """True where a part of a mask is not 0; floats that are neither 0 nor 1 are no mask."""
    truth = np.asarray(part).astype(bool, copy=False)
    if part.dtype.kind == "f":
        other = truth & (part != 1)
        if other.any():
            raise ValueError(
                f"the mask holds {part[other].flat[0]:g} ({part.dtype}): it must hold True where "
                "something is missing and False elsewhere, or 1 and 0, as in mask > 0.5"
            )
    return truth


@dataclass(frozen=True, slots=True)
class _OwnMask:
    """What a masked array says of a region."""

    source: Any

    def __call__(self, region: Region) -> Array:
        return np.asarray(np.ma.getmaskarray(_fetch(self.source, region)))


def _look(array: Any, what: str) -> tuple[Any, tuple[int, ...], np.dtype[Any]]:
    """What holds the values, its shape and type; of a multiscale image, its finest level."""
    if isinstance(array, Sequence) and not isinstance(array, str | bytes):
        levels = list(array)
        if levels and all(hasattr(level, "shape") and _is_array(level) for level in levels):
            _check_levels([tuple(level.shape) for level in levels], what)
            return _look(levels[0], what)
        array = np.asarray(array)
    if not _is_array(array):
        raise TypeError(
            f"the {what} must be an array (numpy, dask, zarr, xarray or alike), "
            f"but is of the type {type(array).__name__}"
        )
    if not _is_sliceable(array):
        array = np.asarray(array)
    lengths = tuple(array.shape)
    if any(n != n for n in lengths):  # dask says NaN where it does not know
        raise ValueError(
            f"the {what} has axes of unknown length: call compute_chunk_sizes() of the dask array"
        )
    shape = tuple(int(n) for n in lengths)
    if not shape:
        raise ValueError(f"the {what} is a single value: it must have at least one axis")
    if 0 in shape:
        raise ValueError(f"the {what} is empty: its shape is {shape}")
    try:
        dtype = np.dtype(array.dtype)
    except TypeError:  # a type of another library: one value tells what it is in numpy
        dtype = _fetch(array, (slice(0, 1),) * len(shape)).dtype
    return array, shape, dtype


def _is_array(array: Any) -> bool:
    if isinstance(array, type):
        return False
    return _is_sliceable(array) or any(
        hasattr(array, a) for a in ("__array__", "__array_interface__")
    )


def _is_sliceable(array: Any) -> bool:
    return all(hasattr(array, a) for a in ("shape", "dtype", "__getitem__"))


def _check_levels(shapes: list[tuple[int, ...]], what: str) -> None:
    for finer, coarser in itertools.pairwise(shapes):
        if (
            len(finer) != len(coarser)
            or finer == coarser
            or any(c > f for f, c in zip(finer, coarser, strict=True))
        ):
            raise ValueError(
                f"a sequence of arrays is taken for the levels of one multiscale {what}, but they "
                f"do not shrink: {', '.join(map(str, shapes))}. Stack them to one array, or pass "
                "one of them"
            )


def _fetch(source: Any, region: Region) -> Array:
    """Read a region as numpy, masked where the source is."""
    part = source[region]
    if is_xarray(part):
        part = part.data  # of the whole it would read the whole, where xarray is lazy
    if is_dask(part):
        # Inside a task of dask, its scheduler has no thread left that it could wait for.
        part = part.compute(**({"scheduler": "synchronous"} if _in_task.get() else {}))
    return part if isinstance(part, np.ndarray) else np.asarray(part)


_in_task: ContextVar[bool] = ContextVar("inside a task of dask", default=False)


@contextmanager
def in_task() -> Iterator[None]:
    """Read dask arrays in this thread: for code that runs as a task of dask itself."""
    before = _in_task.set(True)
    try:
        yield
    finally:
        _in_task.reset(before)


def _own_mask(source: Any, shape: tuple[int, ...]) -> MissingMask | None:
    """The mask of a masked array, in numpy or in dask."""
    inner = source.data if is_xarray(source) and is_dask(source) else source
    masked = isinstance(inner, np.ma.MaskedArray) and inner.mask is not np.ma.nomask
    if masked or isinstance(getattr(inner, "_meta", None), np.ma.MaskedArray):
        return MissingMask(shape, (_OwnMask(source),))
    return None


# Neither library need be installed, nor imported where it is: what they have tells them.
def is_xarray(array: Any) -> bool:
    return hasattr(type(array), "dims") and hasattr(type(array), "coords")


def is_dask(array: Any) -> bool:
    return hasattr(type(array), "__dask_graph__") and array.__dask_graph__() is not None


def _labels(source: Any, n: int) -> tuple[str, ...] | None:
    if is_xarray(source):
        return tuple(map(str, source.dims))
    names = getattr(getattr(source, "metadata", None), "dimension_names", None)  # zarr
    if names is None or len(names) != n or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _name(source: Any) -> str:
    name = getattr(source, "name", None)
    # The name of a dask array is a key of its graph; zarr and HDF5 begin theirs with a slash.
    if not isinstance(name, str) or (is_dask(source) and not is_xarray(source)):
        return ""
    return name.strip("/")


def _chunks(source: Any, shape: tuple[int, ...]) -> Chunks | None:
    chunks = getattr(source, "chunks", None)
    if not isinstance(chunks, tuple | list) or len(chunks) != len(shape):
        return None
    # Of dask and xarray the lengths of all chunks, of zarr and HDF5 one length an axis.
    return tuple(tuple(map(int, c)) if isinstance(c, tuple | list) else int(c) for c in chunks)


def _spans(length: int, chunk: int | tuple[int, ...], limit: int) -> list[slice]:
    """Cut an axis into spans of whole chunks, each as long as the limit allows."""
    if isinstance(chunk, int):
        step = max(limit // chunk, 1) * chunk
        return [slice(a, min(a + step, length)) for a in range(0, length, step)]
    spans: list[slice] = []
    start = stop = 0
    for n in chunk:
        if stop > start and stop + n - start > limit:
            spans.append(slice(start, stop))
            start = stop
        stop += n
    return [*spans, slice(start, stop)]


def read_masked(image: ImageArray, region: Region) -> Array:
    values = image.read(region)
    if image.missing is None:
        return values
    return np.ma.MaskedArray(values, image.missing.read(region))
