"""Any file as an array that is read region by region, here and in other processes.

``open_source`` looks at what a file says of itself and reads none of its values, but for the kinds
that can only be decoded as a whole (.npz, .mat, pictures, videos). The arrays that it gives back
hold nothing open that would have to be sent along: they pickle as the path and what is needed to
open it again. Nothing that is read can run code.
"""

from __future__ import annotations

import errno
import importlib
import math
import os
import re
import threading
import weakref
import zlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from napari_scsc.io import readers
from napari_scsc.io.stores import _stem, unit_word

Array = NDArray[Any]

READABLE = (
    "Can be read: zarr and OME-Zarr, TIFF, HDF5 (.h5, .hdf5, .hdf, .ims), .npy, .npz, .mat, "
    "pictures (.png, .jpg, .bmp, .pgm, .ppm), videos (.gif, .mp4, .avi, .mov, .mkv, .webm), and "
    "folders of bands, of views or of numbered TIFF files"
)
_LARGEST_PAGE = 64 << 20  # bytes of a page of strips that is decoded as a whole
_MOST_LOOKS = 1000  # files of a folder that are looked into when it is opened
_MOST_OPEN = 16  # files that a process keeps open


@dataclass(frozen=True, slots=True)
class Opened:
    """What a file holds; see ``open_source``.

    Attributes
    ----------
    array : array
        With ``shape``, ``dtype``, ``chunks`` and slicing; its axes are in the order of the file.
    labels : tuple of str or None
        A name for every axis, also for that of colours; None where nothing tells them.
    scale : tuple of float or None
        Size of a pixel along each axis.
    units : tuple of str or None
        Units of the scale; "pixel" where an axis has none.
    name : str
        Name of the file without its end, and the key if there is one.
    """

    array: Any
    labels: tuple[str, ...] | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    name: str = ""


def open_source(path: str | os.PathLike[str], key: str | int | None = None) -> Opened:
    """Open a file or a folder as an array that can be sent to other processes.

    Parameters
    ----------
    path : path
        Of one of the kinds in ``READABLE``.
    key : str or int, optional
        Which array of the file: a path in zarr or HDF5, a name in .npz or .mat, the number of a
        series in TIFF. Without it, zarr gives the finest level of its first image or array, TIFF
        its first series, and the others their largest array.

    Raises
    ------
    OSError
        If there is nothing of that name, or it must not be read.
    ValueError
        If it is of another kind, damaged, or holds no array of numbers; or if the key is missing,
        or there is none of that name.
    ImportError
        If a package that reads it is not installed.
    """
    place = Path(path).absolute()  # other processes may work in other folders
    if not place.exists():
        raise FileNotFoundError(
            errno.ENOENT, f"there is no such file or folder. {READABLE}", str(place)
        )
    if place.is_dir():
        return _open_folder(place, key)
    if not place.is_file():  # opening a pipe would wait for ever
        raise ValueError(f"{place}: not a file. {READABLE}")
    with open(place, "rb") as stream:
        start = stream.read(19)
    suffix = place.suffix.lower()
    if suffix == ".mat" and start == b"MATLAB 7.3 MAT-file":
        return _open_hdf5(place, key, turned=True)
    if readers._lenses(place.name):
        return _from_layers(place, readers.read_lenslet, key)
    opener = _BY_SUFFIX.get(suffix)
    if opener is None:
        raise ValueError(f"{place}: of an unknown kind. {READABLE}")
    return opener(place, key)


# Arrays that open their file when they are asked


@dataclass(frozen=True)
class FileArray(ABC):
    """An array in a file, which is opened when a region is read, once in a process.

    Attributes
    ----------
    path : Path
        The file or folder.
    shape : tuple of int
        Lengths of the axes.
    dtype : numpy.dtype
        Type of the values, in the byte order of this machine.
    chunks : tuple of int or None
        Lengths of the blocks that are read as a whole; None where any region can be.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...] | None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all values in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        """Read a region; the index holds slices and integers."""
        return np.asarray(self._read(_full(index, self.ndim)), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(f"{self.path}: what is in a file cannot be had without a copy")
        return np.asarray(self[...], dtype)

    @abstractmethod
    def _read(self, index: tuple[Any, ...]) -> Array:
        """Read a region; the index has an entry for every axis."""


def _full(index: Any, n: int) -> tuple[Any, ...]:
    """An index of slices and integers with one entry for each of the axes."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if part is not Ellipsis and not isinstance(part, slice | int | np.integer):
            raise TypeError(f"an array in a file takes slices and integers, not {part!r}")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    before, after = parts[:at], parts[at + 1 :]
    if len(before) + len(after) > n or Ellipsis in after:
        raise IndexError(f"{index!r} has too many entries for {n} axes")
    return (*before, *[slice(None)] * (n - len(before) - len(after)), *after)


@dataclass(frozen=True)
class MappedArray(FileArray):
    """Values that lie in a file one after the other, uncompressed."""

    stored: np.dtype[Any]
    offset: int
    order: Literal["C", "F"] = "C"

    def _read(self, index: tuple[Any, ...]) -> Array:
        # Mapped anew each time, which takes microseconds: pages that stay mapped count as memory
        # of the process, and a file that became shorter raises instead of ending it.
        whole: Any = np.memmap(self.path, self.stored, "r", self.offset, self.shape, self.order)
        return np.array(whole[index], self.dtype)


@dataclass(frozen=True)
class Hdf5Array(FileArray):
    """A dataset in an HDF5 file; turned, its axes are in the opposite order, as in MATLAB."""

    key: str
    turned: bool = False

    def _read(self, index: tuple[Any, ...]) -> Array:
        dataset = _handle(self, self._open)  # h5py has a lock of its own for all calls
        if self.turned:
            return np.asarray(dataset[index[::-1]]).T
        return np.asarray(dataset[index])

    def _open(self) -> Any:
        dataset = _h5py(self.path).File(self.path, "r")[self.key]
        _check_same(self, dataset.shape[::-1] if self.turned else dataset.shape)
        return dataset  # which keeps the file open


@dataclass(frozen=True)
class TiffArray(FileArray):
    """A series of a TIFF file that is compressed, tiled or scattered."""

    series: int
    whole_pages: bool

    def _read(self, index: tuple[Any, ...]) -> Array:
        try:
            return np.asarray(_handle(self, self._open)[index])
        except Exception as error:  # the codecs raise many kinds
            raise ValueError(_unreadable(self.path, "TIFF file", error)) from error

    def _open(self) -> Any:
        import tifffile
        import zarr

        file = tifffile.TiffFile(self.path)
        try:
            store = _tiff_chunks(file.series[self.series], self.whole_pages)
            array: Any = zarr.open_array(store=store, mode="r")
            _check_same(self, array.shape)
        except BaseException:
            file.close()
            raise
        weakref.finalize(array, file.close)  # not before the last reader has done
        return array


@dataclass(frozen=True)
class ImageFiles(FileArray):
    """Images of one size, each in a file of its own, stacked along one axis or two."""

    packed: bytes  # names of the files, which would be far longer than all else
    n_stacked: int
    decode: Callable[[Path], Array]

    def _read(self, index: tuple[Any, ...]) -> Array:
        names = zlib.decompress(self.packed).split(b"/")
        shape = self.shape[self.n_stacked :]
        outer, inner = index[: self.n_stacked], index[self.n_stacked :]
        numbers = np.arange(len(names)).reshape(self.shape[: self.n_stacked])[outer]
        kept = np.broadcast_to(np.zeros((), self.dtype), shape)[inner].shape
        stack = np.empty((numbers.size, *kept), self.dtype)
        for place, number in enumerate(numbers.flat):
            file = self.path / os.fsdecode(names[number])
            image = self.decode(file)
            if image.shape != shape:
                raise ValueError(f"{file}: has the shape {image.shape}, the others {shape}")
            stack[place] = image[inner]
        return stack.reshape(numbers.shape + kept)


# Files that this process has open. One lock and not one a thread: a file is opened once.
_open_files: OrderedDict[FileArray, tuple[tuple[int, ...], Any]] = OrderedDict()
_lock = threading.Lock()


def _handle(array: FileArray, opener: Callable[[], Any]) -> Any:
    """What an array reads from; opened again where the file is no longer the same."""
    now = os.stat(array.path)
    stamp = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns
    with _lock:
        before = _open_files.pop(array, None)
        handle = before[1] if before and before[0] == stamp else opener()
        _open_files[array] = stamp, handle
        while len(_open_files) > _MOST_OPEN:
            _open_files.popitem(last=False)  # it is closed when its last reader has done
    return handle


def _after_fork() -> None:
    """Forget what the parent has open: its positions in the files would be shared with it."""
    global _lock, _open_files
    _lock = threading.Lock()
    _inherited.append(_open_files)  # closing them here could disturb the parent
    _open_files = OrderedDict()


_inherited: list[Any] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _check_same(array: FileArray, shape: Sequence[int]) -> None:
    if tuple(shape) != array.shape:
        raise ValueError(
            f"{array.path}: was changed: its shape was {array.shape} and is {tuple(shape)}"
        )


def _unreadable(place: Path, what: str, error: Exception) -> str:
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"{place}: not a readable {what} ({kind}{error})"


# What files say of themselves


def _describe(
    place: Path,
    array: Any,
    key: str = "",
    labels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[Any] | None = None,
    spelled: Any = None,
) -> Opened:
    """Put together what is known; without labels, what names and the shape tell for certain."""
    shape = tuple(array.shape)
    if not _is_numeric(shape, array.dtype):
        raise ValueError(
            f"{place}: no array of numbers, but {array.dtype} of the shape {shape}. {READABLE}"
        )
    is_series = place.is_dir() and not _is_zarr(place)
    stem = place.name if is_series else _stem(place)
    if labels is None:
        labels = _labels(array, (key, stem), spelled)
    words = None if units is None else tuple(unit_word(unit) or "pixel" for unit in units)
    sizes = _sizes(scale, len(shape))
    return Opened(
        array,
        tuple(map(str, labels)) if labels and len(labels) == len(shape) else None,
        sizes,
        words if sizes and words and set(words) != {"pixel"} else None,
        f"{stem} {key}" if key else stem,
    )


def _labels(array: Any, names: Sequence[str], spelled: Any) -> tuple[str, ...]:
    shape = tuple(array.shape)
    if len(shape) == 1:
        return ("x",)
    letters, kind = readers._letters(shape, names, spelled)
    if kind == "rgb" and not readers._are_colours(array, 2):
        return ()  # guessed from the shape, but the values say otherwise
    return letters


def _sizes(scale: Any, n: int) -> tuple[float, ...] | None:
    """A scale that can be used, or None: what a file says may be anything."""
    try:
        sizes = tuple(float(s) for s in scale)
    except (TypeError, ValueError):
        return None
    return sizes if len(sizes) == n and all(math.isfinite(s) and s for s in sizes) else None


def _is_numeric(shape: Sequence[int], dtype: Any) -> bool:
    return len(shape) > 0 and all(shape) and np.dtype(dtype).kind in "fiub"


def _no_key(place: Path, key: Any) -> None:
    if key is not None:
        raise ValueError(f"{place}: holds one array only, and none that is called {key!r}")


def _choose(place: Path, sizes: Mapping[str, int], key: str | int | None) -> str:
    """The name of the array that is meant: the only one, or one that is larger than all others."""
    if key is not None:
        wanted = str(key).strip("/")
        if wanted not in sizes:
            raise ValueError(f"{place}: no array {wanted!r}; there are {_listed(sizes)}")
        return wanted
    if not sizes:
        raise ValueError(f"{place}: holds no array of numbers. {READABLE}")
    largest = [name for name, size in sizes.items() if size == max(sizes.values())]
    if len(largest) > 1:
        raise ValueError(
            f"{place}: {len(largest)} arrays are equally large: say which with key=..., out of "
            f"{_listed(largest)}"
        )
    return largest[0]


def _listed(names: Any) -> str:
    return readers._some(sorted(map(repr, names), key=readers.natural), most=8) or "none"


# Zarr


def _is_zarr(place: Path) -> bool:
    marks = ("zarr.json", ".zarray", ".zgroup")
    return any((place / mark).is_file() for mark in marks)


def _open_zarr(place: Path, key: str | int | None) -> Opened:
    import zarr

    inner = "" if key is None else str(key).strip("/")
    try:
        root: Any = zarr.open(store=place, mode="r")
        if inner and (hasattr(root, "shape") or inner not in root):
            members = [] if hasattr(root, "shape") else [name for name, _ in _members(root)]
            raise ValueError(f"no array {inner!r} is in it; there are {_listed(members)}")
        found = _first_image(root[inner] if inner else root)
        if found is None:
            raise ValueError("no array of numbers is in it")
        array, group, path = found
        _check_codecs(array)
        if group is None and inner:  # it may be one level of an image
            parent, _, path = inner.rpartition("/")
            group = root[parent] if parent else root
        image = None if group is None else _multiscales(group)
        meaning = _ome_meaning(image, path) if image else _zarr_meaning(array)
    except PermissionError:
        raise
    except Exception as error:  # damaged metadata raise many kinds
        raise ValueError(f"{_unreadable(place, 'zarr', error)}. {READABLE}") from error
    return _describe(place, array, inner or ("" if image else array.path), *meaning)


def _zarr_meaning(array: Any) -> tuple[Any, Any, Any]:
    """Labels, scale and units of a plain array, as far as it has them."""
    attributes = array.attrs.asdict()
    names = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
    if not names or not all(isinstance(name, str) and name for name in names):
        names = None
    units = attributes.get("units")
    if not isinstance(units, list) or len(units) != array.ndim:
        units = None
    return names, attributes.get("scale"), units


def _first_image(node: Any) -> tuple[Any, Any, str] | None:
    """The first array in a node, and if it belongs to an OME image, its group and path there."""
    if hasattr(node, "shape"):
        return (node, None, "") if _is_numeric(node.shape, node.dtype) else None
    image = _multiscales(node)
    if image:
        finest = image["datasets"][0]["path"]
        return node[finest], node, finest
    for _, member in _members(node):
        found = _first_image(member)
        if found:
            return found
    return None


def _members(node: Any) -> Iterator[tuple[str, Any]]:
    """What is in a group, arrays first, in the order that people expect."""
    found = sorted(node.members(), key=lambda member: readers.natural(member[0]))
    yield from sorted(found, key=lambda member: not hasattr(member[1], "shape"))


def _multiscales(group: Any) -> Any:
    """The description of an OME image, which version 0.5 keeps apart; None if it is none."""
    if hasattr(group, "shape"):
        return None
    attributes = group.attrs.asdict()
    inside = attributes.get("ome", attributes)
    images = inside.get("multiscales") if isinstance(inside, dict) else None
    return images[0] if isinstance(images, list) and images else None


def _ome_meaning(image: Any, path: str) -> tuple[Any, Any, Any]:
    """Labels, scale and units of one level of an image."""
    axes = image.get("axes")
    if axes is None:  # before version 0.3 there were always these
        axes = list("tczyx")
    described = [axis if isinstance(axis, dict) else {"name": axis} for axis in axes]
    level = next((d for d in image["datasets"] if d["path"] == path), None)
    if level is None:
        return None, None, None
    scales = [
        step["scale"]
        for step in (
            *level.get("coordinateTransformations", ()),
            *image.get("coordinateTransformations", ()),
        )
        if step["type"] == "scale" and "scale" in step
    ]
    product = [math.prod(sizes) for sizes in zip(*scales, strict=True)]
    return (
        [str(axis["name"]) for axis in described],
        product or None,
        [axis.get("unit", "pixel") for axis in described],
    )


def _check_codecs(array: Any) -> None:
    """Refuse what was written with pickle, which could run code when it is read."""
    metadata = array.metadata
    codecs = [*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None)]
    if any("pickle" in str(getattr(codec, "codec_id", "")) for codec in codecs):
        raise ValueError("it was written with pickle, and reading it could run code")


# TIFF


def _open_tiff(place: Path, key: str | int | None) -> Opened:
    import tifffile

    number = 0 if key is None else key
    if not re.fullmatch(r"\d{1,6}", str(number)):
        raise ValueError(f"{place}: the key of a TIFF file is the number of a series, not {key!r}")
    try:
        with tifffile.TiffFile(place) as file:
            n_series = len(file.series)
            if int(number) < n_series:
                array = _tiff_array(place, file, int(number))
                labels, scale, units = _tiff_meaning(file, int(number))
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise ValueError(_unreadable(place, "TIFF file", error)) from error
    if int(number) >= n_series:
        raise ValueError(f"{place}: holds {n_series} series, and none with the number {number}")
    return _describe(place, array, "" if key is None else str(key), labels, scale, units)


def _tiff_array(place: Path, file: Any, number: int) -> FileArray:
    import zarr

    series = file.series[number]
    if series.dtype is None:
        raise ValueError("its pixels are of a type that is not known")
    stored = np.dtype(series.dtype).newbyteorder(file.byteorder)
    dtype, shape = stored.newbyteorder("="), tuple(series.shape)
    offset = None if series.is_multifile else series.dataoffset
    if offset is not None:
        if offset + math.prod(shape) * dtype.itemsize > place.stat().st_size:
            raise ValueError("the file is cut off")
        return MappedArray(place, shape, dtype, None, stored, offset)
    page = series.keyframe
    whole = not page.is_tiled and page.size * dtype.itemsize <= _LARGEST_PAGE
    array: Any = zarr.open_array(store=_tiff_chunks(series, whole), mode="r")
    return TiffArray(place, tuple(array.shape), dtype, array.chunks, number, whole)


def _tiff_chunks(series: Any, whole_pages: bool) -> Any:
    """A store of zarr that decodes pages, or their strips and tiles, when they are asked for."""
    return series.aszarr(level=0, chunkmode="page" if whole_pages else "strile")


_OF_TIFF = {**dict(zip("TZCYXUVN", "tzcyxuvn", strict=True)), "S": "c"}


def _tiff_meaning(file: Any, number: int) -> tuple[Any, Any, Any]:
    """Labels, scale and units of a series, as far as the file knows them."""
    series = file.series[number]
    letters = series.axes
    labels = [_OF_TIFF.get(letter, "") for letter in letters]
    if not all(labels) or len(set(labels)) < len(labels):
        return None, None, None  # what tifffile calls Q or I is not known
    if series.kind == "ome":
        known = _ome_sizes(file.ome_metadata, number)
    elif series.kind == "imagej":
        known = _imagej_sizes(file)
    elif series.kind == "shaped":
        said = file.shaped_metadata[number]
        return labels, said.get("scale"), said.get("units")
    else:
        known = {}
    if not known:
        return labels, None, None
    sizes = [known.get(letter, (1.0, "pixel")) for letter in letters]
    return labels, [size for size, _ in sizes], [unit for _, unit in sizes]


def _ome_sizes(text: str, number: int) -> dict[str, tuple[float, str]]:
    from xml.etree import ElementTree

    images = ElementTree.fromstring(text).findall("{*}Image/{*}Pixels")
    said = images[number].attrib if number < len(images) else {}
    names = {letter: (f"PhysicalSize{letter}", "µm") for letter in "XYZ"}
    names["T"] = "TimeIncrement", "s"
    return {
        letter: (float(said[name]), said.get(f"{name}Unit", usual))
        for letter, (name, usual) in names.items()
        if name in said
    }


def _imagej_sizes(file: Any) -> dict[str, tuple[float, str]]:
    said = file.imagej_metadata or {}
    unit = str(said.get("unit", "pixel")).replace("\\u00B5", "µ")
    sizes = {}
    for letter in "XY":
        tag = file.pages.first.tags.get(f"{letter}Resolution")
        if tag is not None and tag.value[0]:
            sizes[letter] = tag.value[1] / tag.value[0], unit
    if "spacing" in said:
        sizes["Z"] = abs(float(said["spacing"])), unit
    if said.get("finterval"):
        sizes["T"] = float(said["finterval"]), str(said.get("tunit", "s"))
    return {} if set(sizes.values()) <= {(1.0, "pixel")} else sizes


# HDF5


def _h5py(place: Path) -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError(
            f"{place}: this is an HDF5 file. To open it, install h5py (pip install h5py)"
        ) from None


def _open_hdf5(place: Path, key: str | int | None, turned: bool = False) -> Opened:
    h5py = _h5py(place)
    try:
        file = h5py.File(place, "r")
    except OSError as error:
        raise ValueError(_unreadable(place, "HDF5 file", error)) from error
    sizes: dict[str, int] = {}

    def visit(name: str, node: Any) -> None:  # links to other files are not followed
        if isinstance(node, h5py.Dataset) and _is_numeric(node.shape or (), node.dtype):
            sizes[name] = node.size

    with file:
        try:
            file.visititems(visit)
        except (OSError, RuntimeError, KeyError) as error:
            raise ValueError(_unreadable(place, "HDF5 file", error)) from error
        name = _choose(place, sizes, key)
        dataset = file[name]
        shape, chunks = tuple(dataset.shape), dataset.chunks
        dtype = dataset.dtype.newbyteorder("=")
        spelled = readers._hdf5_axes(dataset)
    if turned:
        shape, chunks = shape[::-1], chunks and chunks[::-1]
        spelled = spelled and spelled[::-1]
    array = Hdf5Array(place, shape, dtype, chunks, name, turned)
    return _describe(place, array, name if len(sizes) > 1 else "", spelled=spelled)


# Other files


def _open_npy(place: Path, key: str | int | None) -> Opened:
    _no_key(place, key)
    try:
        mapped = npy.open_memmap(place, mode="r")
    except Exception as error:
        raise ValueError(
            f"{_unreadable(place, '.npy file', error)}. Python objects are not read, since that "
            "could run code"
        ) from error
    order: Literal["C", "F"] = "C" if mapped.flags.c_contiguous else "F"
    native = mapped.dtype.newbyteorder("=")
    array = MappedArray(place, mapped.shape, native, None, mapped.dtype, mapped.offset, order)
    return _describe(place, array)


def _open_cubes(place: Path, key: str | int | None) -> Opened:
    found = {one.key: one for one in readers._ARRAYS[place.suffix.lower()](place, [])}
    name = _choose(place, {k: one.array.size for k, one in found.items()}, key)
    array = readers._native(found[name].array)
    return _describe(place, array, name if len(found) > 1 else "", spelled=found[name].spelled)


def _open_picture(place: Path, key: str | int | None) -> Opened:
    _no_key(place, key)
    image = readers._read_picture(place)
    return _describe(place, image, labels=("y", "x", "c")[: image.ndim])


def _open_video(place: Path, key: str | int | None) -> Opened:
    return _from_layers(place, readers.read_video, key)


def _from_layers(
    place: Path, read: Callable[[Path], list[readers.LayerData]], key: str | int | None
) -> Opened:
    _no_key(place, key)
    ((data, known, _),) = read(place)
    return _describe(place, data, labels=(*known["axis_labels"], *(("c",) if known["rgb"] else ())))


# Folders


def _open_folder(place: Path, key: str | int | None) -> Opened:
    if _is_zarr(place) or place.suffix.lower() == ".zarr":
        return _open_zarr(place, key)
    _no_key(place, key)
    series = readers._series(place)
    if series is None:
        return _open_numbered(place)
    if series.absent:
        raise ValueError(f"{place}: images are missing: {readers._some(series.absent, '; ')}")
    shape, dtype = readers._common(series.files)
    are_views = series.kind == "light-field"
    has_colours = len(shape) == 3 and shape[2] in (3, 4)
    if len(shape) != 2 and not has_colours:
        raise ValueError(f"{series.files[0]}: has the shape {shape}, where (y, x) is needed")
    rgb = are_views and has_colours
    decode = readers._read_colours if rgb else readers._read_grey
    kept = (*shape[:2], 3) if rgb else shape[:2]
    array = _stacked(series.files, series.grid, kept, dtype, decode)
    labels = (*("uv" if are_views else "c"), "y", "x", *(("c",) if rgb else ()))
    return _describe(place, array, labels=labels)


def _open_numbered(place: Path) -> Opened:
    """TIFF files whose names differ in the number at their end; the largest group of them."""
    with os.scandir(place) as entries:
        names = [e.name for e in entries if Path(e.name).suffix.lower() in (".tif", ".tiff")]
    names.sort(key=readers.natural)
    groups = sorted(readers._grouped(names, readers._ONE_NUMBER), key=len, reverse=True)
    n_files = [*map(len, groups), 0, 0]
    if n_files[0] < 2 or n_files[0] == n_files[1]:
        raise ValueError(
            f"{place}: neither bands of a scene nor views of a light field, and no single set of "
            f"TIFF files with numbers at the end of their names. {READABLE}"
        )
    files = tuple(place / name for name, _ in groups[0])
    # To look into each of very many would take long; the others are checked when they are read.
    shape, dtype = readers._common(files if len(files) <= _MOST_LOOKS else (files[0], files[-1]))
    array = _stacked(files, (len(files),), shape, dtype, readers._read_picture)
    first = _COUNTED.get(readers._last_word(groups[0][0][1]["head"]))
    return _describe(place, array, labels=(first, "y", "x") if first and len(shape) == 2 else None)


# What the last word before the number says of it.
_COUNTED = {
    **dict.fromkeys(("t", "time", "frame", "frames"), "t"),
    **dict.fromkeys(("z", "slice", "plane"), "z"),
    **dict.fromkeys(("c", "ch", "channel"), "c"),
}


def _stacked(
    files: Sequence[Path],
    grid: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    decode: Callable[[Path], Array],
) -> ImageFiles:
    packed = zlib.compress(b"/".join(os.fsencode(file.name) for file in files))
    return ImageFiles(
        files[0].parent,
        grid + shape,
        dtype.newbyteorder("="),
        (1,) * len(grid) + shape,
        packed,
        len(grid),
        decode,
    )


_BY_SUFFIX: dict[str, Callable[[Path, str | int | None], Opened]] = {
    ".npy": _open_npy,
    **dict.fromkeys((".tif", ".tiff"), _open_tiff),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".ims"), _open_hdf5),
    **dict.fromkeys((".npz", ".mat"), _open_cubes),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm"), _open_picture),
    **dict.fromkeys((".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm"), _open_video),
}
