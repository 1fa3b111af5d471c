"""Where results of any size go: zarr, OME-Zarr, TIFF and .npy, written region by region.

A store is a description and holds nothing open: the same small object works in every thread and
process. Whoever writes a region owns its chunks, so that no two writers ever touch the same bytes,
and one that is killed harms nothing but the region it was writing.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import re
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from napari_scsc import arrays
from napari_scsc import axes as axes_of

Array = NDArray[Any]
Region = tuple[slice, ...]

_COARSEST = 256  # no coarser level is made once y and x are at most that long
_SHORTEST = 64  # an axis of at most that length is kept as it is in coarser levels
_LARGEST_TIFF = (1 << 32) - (1 << 20)  # bytes that a classic TIFF can address, with some to spare
_PAGE_HEADER = 512  # bytes, at most, that TIFF adds to a page


# Units. The words are those that OME-Zarr allows; napari and pint know them too.

_PREFIXES = {
    **{"y": ("yocto", -24), "z": ("zepto", -21), "a": ("atto", -18), "f": ("femto", -15)},
    **{"p": ("pico", -12), "n": ("nano", -9), "µ": ("micro", -6), "m": ("milli", -3)},
    **{"c": ("centi", -2), "d": ("deci", -1), "": ("", 0), "h": ("hecto", 2), "k": ("kilo", 3)},
    **{"M": ("mega", 6), "G": ("giga", 9), "T": ("tera", 12), "P": ("peta", 15)},
    **{"E": ("exa", 18), "Z": ("zetta", 21), "Y": ("yotta", 24)},
}
_METRES = {
    **{f"{word}meter": 10.0**power for word, power in _PREFIXES.values()},
    **{"angstrom": 1e-10, "inch": 0.0254, "foot": 0.3048, "yard": 0.9144, "mile": 1609.344},
    "parsec": 3.0857e16,
}
_SYMBOLS = {
    **{f"{word}meter": f"{symbol}m" for symbol, (word, _) in _PREFIXES.items()},
    **{f"{word}second": f"{symbol}s" for symbol, (word, _) in _PREFIXES.items()},
    **{"angstrom": "Å", "inch": "in", "foot": "ft", "yard": "yd", "mile": "mi", "parsec": "pc"},
    **{"minute": "min", "hour": "h", "day": "d"},
}
_WORDS = {"space": set(_METRES), "time": set(_SYMBOLS) - set(_METRES)}
_BY_SYMBOL = {
    **{symbol: word for word, symbol in _SYMBOLS.items()},
    **{"micron": "micrometer", "microns": "micrometer", "sec": "second", "hr": "hour"},
}


def unit_word(unit: Any) -> str | None:
    """The word that OME and napari have for a unit of length or time, or None if it is neither.

    Words and symbols are known ("micrometer", "microns", "um", "µm"), and units of pint.
    """
    # Micro is written with the Greek letter, the sign made for it, or u; so is the angstrom.
    text = str(unit).strip().replace("\N{GREEK SMALL LETTER MU}", "µ").replace("\u212b", "Å")
    for symbol in (text, re.sub("^u(?=[ms]$)", "µ", text)):
        if symbol in _BY_SYMBOL:
            return _BY_SYMBOL[symbol]
    word = text.lower().replace("metre", "meter")
    return next((w for w in (word, word.removesuffix("s")) if w in _SYMBOLS), None)


# What all stores have in common


@dataclass(frozen=True)
class Store(ABC):
    """An array in a file or a folder of files; see ``store_for``.

    Attributes
    ----------
    path : Path
        Where it is, or will be.
    shape, chunks : tuple of int
        Lengths of the axes, and of the chunks that are written as a whole.
    dtype : numpy.dtype
        Type of the values, in the byte order of this machine.
    labels, units : tuple of str or None
        Names and units of the axes.
    scale : tuple of float or None
        Size of a pixel along each axis, in its unit.
    compressed : bool
        Whether chunks are compressed, where the format can.
    name : str
        Name of the image, where the format has a place for it.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    labels: tuple[str, ...] | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    compressed: bool = True
    name: str = ""

    def create(self) -> None:
        """Make it, empty (all values are 0); complete or not at all.

        Raises FileExistsError where something has that name already, and another OSError where the
        folder cannot be written to or the disk has too little room.
        """
        if os.path.lexists(self.path):
            raise FileExistsError(
                errno.EEXIST, "there is something of that name already", str(self.path)
            )
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        with _naming(self.path):
            self._check_room()
            try:
                self._make(temporary)
                os.rename(temporary, self.path)
            except BaseException:
                _remove(temporary)
                raise

    def write(self, region: Region, values: Any) -> None:
        """Write the values of a region.

        Parameters
        ----------
        region : tuple of slice
            One slice an axis, made of whole chunks; the last ones of an axis may be shorter. Nobody
            else may write to it at the same time.
        values : array
            Of the shape of the region. Its type is that of the store, or one of the same kind.
        """
        region = self._whole_chunks(region)
        found = np.asarray(values)
        wanted = tuple(s.stop - s.start for s in region)
        if found.shape != wanted:
            raise ValueError(
                f"{self.path}: the region has the shape {wanted}, the values {found.shape}"
            )
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise TypeError(f"{self.path}: holds {self.dtype}, the values are {found.dtype}")
        with _naming(self.path):
            self._put(region, found.astype(self.dtype, copy=False))

    def finish(self) -> None:  # noqa: B027 - most formats have nothing left to do
        """Do what can be done only when all is written. Doing it again does no harm."""

    @abstractmethod
    def open(self) -> Any:
        """The values, not read yet: a dask array over zarr, else a read-only memory map."""

    @abstractmethod
    def _make(self, place: Path) -> None:
        """Make it, empty, at another place."""

    @abstractmethod
    def _put(self, region: Region, values: Array) -> None:
        """Write a region that was checked."""

    @property
    def _n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def _check_room(self) -> None:
        """Fail now rather than after hours. How well values compress is not known beforehand."""
        free = shutil.disk_usage(self.path.parent).free
        if self._n_bytes > free:
            raise OSError(
                errno.ENOSPC,
                f"{self._n_bytes / 1e9:.1f} GB are needed, but the disk has {free / 1e9:.1f} left",
            )

    def _whole_chunks(self, region: Region) -> Region:
        """The region with all its ends, if it consists of whole chunks."""
        if len(region) != len(self.shape):
            raise ValueError(f"{self.path}: a region has {len(self.shape)} slices, not {region}")
        plain = []
        for part, n, chunk in zip(region, self.shape, self.chunks, strict=True):
            start, stop, step = part.indices(n)
            inside = all(end is None or 0 <= end <= n for end in (part.start, part.stop))
            ends = start % chunk == 0 and (stop % chunk == 0 or stop == n)
            if step != 1 or start >= stop or not inside or not ends:
                raise ValueError(
                    f"{self.path}: {region} does not consist of whole chunks {self.chunks} of the "
                    f"shape {self.shape}"
                )
            plain.append(slice(start, stop))
        return tuple(plain)


def store_for(
    path: str | os.PathLike[str],
    shape: Sequence[int],
    dtype: DTypeLike,
    chunks: Sequence[int],
    *,
    labels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[Any] | None = None,
    compressed: bool = True,
    name: str | None = None,
) -> Store:
    """Describe the store that suits a path; nothing is made before ``create``.

    Parameters
    ----------
    path : path
        Its end says the format, see ``suffix_of``. A TIFF file that does not promise OME is made
        for ImageJ where that can read it.
    shape : sequence of int
        Lengths of the axes; OME-Zarr holds 2 to 5.
    dtype : dtype
        An integer or float type.
    chunks : sequence of int
        Lengths of the chunks; regions that are written consist of whole ones.
    labels : sequence of str, optional
        Names of the axes. napari's names that are only numbers count as none.
    scale : sequence of float, optional
        Size of a pixel along each axis.
    units : sequence, optional
        Units of the scale: words or symbols such as "um", or units of pint; "pixel" is none.
    compressed : bool
        Whether zarr compresses its chunks; TIFF and .npy never do.
    name : str, optional
        Name of the image for OME; without it, that of the file.

    Raises
    ------
    ValueError
        If the path ends with nothing known, lengths do not fit, or the format has no place for
        such axes.
    TypeError
        If the type is neither integer nor float.
    """
    lengths = tuple(int(n) for n in shape)
    place = Path(path).absolute()  # other processes may work in other folders
    kind = np.dtype(dtype).newbyteorder("=")
    if not lengths or min(lengths) < 1:
        raise ValueError(f"{place}: an array of the shape {lengths} holds nothing")
    if kind.kind not in "fiu" or kind.itemsize > 8:
        raise TypeError(f"{place}: holds integers or floats of up to 64 bits, not {kind}")
    given = {"chunks": chunks, "labels": labels, "scale": scale, "units": units}
    for what, value in given.items():
        if value is not None and len(value) != len(lengths):
            raise ValueError(f"{place}: {what} has {len(value)} entries for {len(lengths)} axes")
    if min(chunks) < 1:
        raise ValueError(f"{place}: chunks must be at least 1 long, but are {tuple(chunks)}")
    if scale is not None and not all(math.isfinite(s) and s for s in scale):
        raise ValueError(f"{place}: the scale must be finite and not 0, but is {tuple(scale)}")
    names = None if labels is None else tuple(map(str, labels))
    if names and all(re.fullmatch(r"-?\d+", label) for label in names):
        names = None
    return _STORES[suffix_of(place)](
        place,
        lengths,
        kind,
        tuple(min(int(c), n) for c, n in zip(chunks, lengths, strict=True)),
        names,
        None if scale is None else tuple(map(float, scale)),
        None if units is None else tuple(unit_word(unit) or "pixel" for unit in units),
        compressed,
        _stem(place) if name is None else name,
    )


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The end of a path that says its format; ValueError names those that can be written."""
    name = Path(path).name.lower()
    for suffix in _STORES:
        if name.endswith(suffix) and name != suffix:
            return suffix
    known = ", ".join(_STORES)
    raise ValueError(f"{os.fspath(path)}: the name must end with one of {known}")


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors of the system name the path, where they name a temporary file or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            place.unlink()


# Zarr


@dataclass(frozen=True)
class ZarrStore(Store):
    """A zarr array of version 3, with the names of its axes, its scale and units."""

    _inner = ""  # the path of the array in the folder

    def open(self) -> Any:
        """The values as a dask array, of the finest level where there are several."""
        import dask.array

        array = self._opened("r")
        from_array: Any = dask.array.from_array  # it has no annotations
        # A name made from the path would stay the same when the values change, and caches go by it.
        return from_array(array, chunks=array.chunks, name=False)

    def _check_room(self) -> None:
        if not self.compressed:
            super()._check_room()

    def _make(self, place: Path) -> None:
        os.mkdir(place)  # zarr would also make the folders above
        known = {"scale": self.scale, "units": self.units}
        attributes = {key: list(value) for key, value in known.items() if value}
        self._make_array(place, "", self.shape, self.labels, attributes)

    def _make_array(
        self,
        place: Path,
        inner: str,
        shape: tuple[int, ...],
        names: Sequence[str] | None,
        attributes: dict[str, Any] | None = None,
    ) -> Any:
        import zarr
        from zarr.codecs import BloscCodec

        return zarr.create_array(
            store=place,
            name=inner or None,
            shape=shape,
            dtype=self.dtype,
            chunks=tuple(map(min, self.chunks, shape)),
            compressors=BloscCodec(cname="zstd", clevel=3) if self.compressed else None,
            dimension_names=names,
            attributes=attributes,
            zarr_format=3,
            overwrite=bool(inner),
        )

    def _put(self, region: Region, values: Array) -> None:
        # zarr reads no chunk that is written whole, and puts each in place only when complete.
        self._opened("r+")[region] = values

    def _opened(self, mode: Any, inner: str | None = None) -> Any:
        import zarr

        # Opening takes a millisecond; an array that was kept could be another's by now.
        return zarr.open_array(
            store=self.path, path=self._inner if inner is None else inner, mode=mode, zarr_format=3
        )


@dataclass(frozen=True)
class OmeZarrStore(ZarrStore):
    """An OME-Zarr image of version 0.5; ``finish`` makes its coarser levels."""

    _inner = "0"

    def __post_init__(self) -> None:
        _ome_axes(self)  # raises where the format has no place for them

    def finish(self) -> None:
        """Make the coarser levels from means of two pixels along the axes of space, and list them.

        In memory are a few chunks at a time. While it runs, only the finest level is listed.
        """
        with _naming(self.path):
            self._list(1)
            levels = self._levels()
            for level in range(1, len(levels)):
                self._coarsen(level)
            self._list(len(levels))

    def _make(self, place: Path) -> None:
        import zarr

        os.mkdir(place)
        zarr.create_group(store=place, zarr_format=3, attributes={"ome": self._metadata(1)})
        self._make_array(place, "0", self.shape, self._names())

    def _list(self, n_levels: int) -> None:
        import zarr

        group = zarr.open_group(store=self.path, mode="r+", zarr_format=3)
        group.attrs.put({**group.attrs.asdict(), "ome": self._metadata(n_levels)})

    def _names(self) -> list[str]:
        return [axis["name"] for axis in _ome_axes(self)]

    def _levels(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Of each level the shape, and how many of the finest pixels one of its pixels spans."""
        of_space = [axis.get("type") == "space" for axis in _ome_axes(self)]
        shape, span = self.shape, (1,) * len(self.shape)
        levels = [(shape, span)]
        while max(shape[-2:]) > _COARSEST:
            steps = [
                2 if space and n > _SHORTEST else 1
                for space, n in zip(of_space, shape, strict=True)
            ]
            shape = tuple(-(-n // step) for n, step in zip(shape, steps, strict=True))
            span = tuple(n * step for n, step in zip(span, steps, strict=True))
            levels.append((shape, span))
        return levels

    def _coarsen(self, level: int) -> None:
        (fine, fine_span), (coarse, span) = self._levels()[level - 1 : level + 1]
        steps = tuple(a // b for a, b in zip(span, fine_span, strict=True))
        source = self._opened("r", str(level - 1))
        target = self._make_array(self.path, str(level), coarse, self._names())
        for region in _regions(coarse, target.chunks):
            finer = tuple(
                slice(s.start * step, min(s.stop * step, n))
                for s, step, n in zip(region, steps, fine, strict=True)
            )
            target[region] = _means(source[finer], steps)

    def _metadata(self, n_levels: int) -> dict[str, Any]:
        scale = self.scale or (1.0,) * len(self.shape)
        datasets = []
        for level, (_, span) in enumerate(self._levels()[:n_levels]):
            sizes = [s * n for s, n in zip(scale, span, strict=True)]
            # The middle of the first pixel, which is what coordinates are those of.
            middle = [s * (n - 1) / 2 for s, n in zip(scale, span, strict=True)]
            steps: list[dict[str, Any]] = [{"type": "scale", "scale": sizes}]
            if level:
                steps.append({"type": "translation", "translation": middle})
            datasets.append({"path": str(level), "coordinateTransformations": steps})
        image = {
            "name": self.name,
            "axes": _ome_axes(self),
            "datasets": datasets,
            "type": "mean",
            "metadata": {
                "description": "means of two pixels along axes of space; integers are rounded"
            },
        }
        return {"version": "0.5", "multiscales": [image]}


_KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


def _stem(path: Path) -> str:
    """The name without the end that says the format."""
    return re.sub(r"(\.ome)?\.[^.]+$", "", path.name, flags=re.IGNORECASE) or path.name


def _ome_axes(store: Store) -> list[dict[str, str]]:
    """The axes as OME-Zarr describes them; ValueError where it has no place for them."""
    n = len(store.shape)
    labels = store.labels
    if labels is None:  # one axis of an unknown kind is allowed
        labels = ("y", "x") if n == 2 else ("axis", "y", "x")
    axes: list[dict[str, str]] = []
    for i, label in enumerate(labels):
        letter = _letter(label)
        axis = {"name": letter or label}
        if letter in _KINDS:
            axis["type"] = _KINDS[letter]
        if store.units and store.units[i] in _WORDS.get(axis.get("type", ""), ()):
            axis["unit"] = store.units[i]
        axes.append(axis)
    kinds = [axis.get("type", "other") for axis in axes]
    order = "".join({"time": "t", "space": "s"}.get(kind, "c") for kind in kinds)
    if (
        len(axes) != n
        or not re.fullmatch("t?c?s{2,3}", order)
        or len({axis["name"] for axis in axes}) < n
    ):
        said = f"({', '.join(store.labels)})" if store.labels else f"of the shape {store.shape}"
        raise ValueError(
            f"{store.path}: OME-Zarr holds axes in the order t, c, z, y, x, of which y and x must "
            f"be there, and these are {said}. Name them, or write a .zarr, which holds any"
        )
    return axes


def _letter(label: str) -> str:
    """The letter that an axis is known by; empty where its name says nothing."""
    meaning = axes_of._meaning(label)
    return meaning[0] if meaning else ""


def _regions(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[Region]:
    spans = (
        [slice(a, min(a + c, n)) for a in range(0, n, c)]
        for n, c in zip(shape, chunks, strict=True)
    )
    yield from itertools.product(*spans)


def _means(values: Array, steps: Sequence[int]) -> Array:
    """Means of pairs along the axes whose step is 2; an odd last one stands for itself."""
    means, work = values, np.result_type(values.dtype, np.float32)
    for axis, step in enumerate(steps):
        if step == 2:
            moved = np.moveaxis(means, axis, 0)
            # Halves first: the sum of two large values may be beyond all.
            first = np.multiply(moved[::2], 0.5, dtype=work)
            n = len(moved) // 2
            first[:n] += np.multiply(moved[1::2], 0.5, dtype=work)
            first[n:] = moved[2 * n :]
            means = np.moveaxis(first, 0, axis)
    if values.dtype.kind == "f":
        return means.astype(values.dtype, copy=False)
    info = np.iinfo(values.dtype)
    limits = arrays._floats_within(info.min, info.max)
    return np.clip(np.rint(means), *limits).astype(values.dtype)


# Files with all values one after the other


@dataclass(frozen=True)
class FlatStore(Store):
    """One file that holds the values in order, from some position on."""

    def open(self) -> Any:
        """The values as a memory map that cannot be written to."""
        return np.memmap(self.path, self.dtype, "r", self._offset(), self.shape)

    def _put(self, region: Region, values: Array) -> None:
        # Not through a memory map: on a full disk that ends the process instead of raising, and
        # its pages count as memory of the process.
        values = np.ascontiguousarray(values)
        parted = [axis for axis, n in enumerate(values.shape) if n < self.shape[axis]]
        axis = parted[-1] if parted else 0  # from there on, what is written lies together
        steps = [math.prod(self.shape[i + 1 :]) * self.dtype.itemsize for i in range(values.ndim)]
        start = self._offset() + sum(s.start * n for s, n in zip(region, steps, strict=True))
        with open(self.path, "r+b", buffering=0) as stream:
            for index in np.ndindex(values.shape[:axis]):
                stream.seek(start + sum(i * n for i, n in zip(index, steps, strict=False)))
                run = values[index].reshape(-1).view(np.uint8).data
                while run:  # the system may take less than all at a time
                    run = run[stream.write(run) :]

    @abstractmethod
    def _offset(self) -> int:
        """Where in the file the values begin."""


@dataclass(frozen=True)
class NpyStore(FlatStore):
    """A .npy file."""

    def _make(self, place: Path) -> None:
        npy.open_memmap(place, mode="w+", dtype=self.dtype, shape=self.shape)

    def _offset(self) -> int:
        return int(npy.open_memmap(self.path, mode="r").offset)


@dataclass(frozen=True)
class TiffStore(FlatStore):
    """A TIFF file whose pages lie one after the other, uncompressed; BigTIFF above 4 GB.

    It is made for ImageJ where that has the type, the axes and the size, else OME-TIFF where that
    has the type and the axes. All else is written with a description of its shape that only
    tifffile reads. A single row of pixels is an image of one line.
    """

    def __post_init__(self) -> None:
        if self._is_named_ome() and not self._suits_ome():
            raise ValueError(
                f"{self.path}: OME-TIFF holds numbers of up to 32 bits or float64, and the axes "
                f"t, c, z, in any order, before y, x; this is {self.dtype} with the axes "
                f"({', '.join(self.labels or ())}). Write a .tif without .ome, which holds any"
            )

    def _make(self, place: Path) -> None:
        import tifffile

        letters = self._letters()
        shape = self.shape if len(self.shape) > 1 else (1, *self.shape)
        has_colours = letters.endswith("S")
        n_pages = math.prod(shape[:-3] if has_colours else shape[:-2])
        is_big = self._n_bytes + n_pages * _PAGE_HEADER > _LARGEST_TIFF
        options: dict[str, Any] = {"photometric": "minisblack", "bigtiff": is_big}
        if has_colours:
            options["planarconfig"] = "contig"
            if shape[-1] in (3, 4) and self.dtype in (np.uint8, np.uint16):
                options["photometric"] = "rgb"
        if self._suits_imagej() and not is_big and not self._is_named_ome():
            options |= {"imagej": True, "metadata": self._imagej_metadata()}
            options["resolution"] = tuple(1 / self._along(letter)[0] for letter in "xy")
        else:
            if self._suits_ome():
                options |= {"ome": True, "metadata": self._ome_metadata()}
            else:
                options["metadata"] = self._plain_metadata()
            if per := self._per_centimetre():
                options |= {"resolution": per, "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(place, shape=shape, dtype=self.dtype, **options)

    def _offset(self) -> int:
        import tifffile

        with tifffile.TiffFile(self.path) as file:
            first: Any = file.pages.first
            return int(first.dataoffsets[0])

    def _is_named_ome(self) -> bool:
        return suffix_of(self.path).startswith(".ome")

    def _letters(self) -> str:
        """One letter an axis as TIFF has them, S for the colours of a pixel; empty if unknown."""
        if len(self.shape) == 1:
            return "YX"
        labels = self.labels or (("y", "x") if len(self.shape) == 2 else ())
        letters = [_letter(label).upper() for label in labels]
        if not all(letters) or len(set(letters)) < len(letters):
            return ""
        return re.sub("YXC$", "YXS", "".join(letters))

    def _along(self, letter: str) -> tuple[float, str]:
        """Scale and unit along an axis; 1 and "pixel" where nothing is known."""
        n = len(self.shape)
        letters = [_letter(label) for label in self.labels or [""] * (n - 2) + ["y", "x"][-n:]]
        if self.scale is None or letter not in letters:
            return 1.0, "pixel"
        i = letters.index(letter)
        return self.scale[i], self.units[i] if self.units else "pixel"

    def _per_centimetre(self) -> tuple[float, ...] | None:
        """Pixels in a centimetre along x and y, where TIFF can say it."""
        found = [self._along(letter) for letter in "xy"]
        if any(unit not in _METRES for _, unit in found):
            return None
        per = tuple(0.01 / (scale * _METRES[unit]) for scale, unit in found)
        # A resolution is a ratio of two integers of 32 bits.
        return per if all(1e-3 < p < 1e9 for p in per) else None

    def _suits_imagej(self) -> bool:
        letters = self._letters()
        along = [self._along(letter.lower()) for letter in letters if letter in "ZYX"]
        return (
            bool(re.fullmatch("T?Z?(C?YX|YXS)", letters))
            and self.dtype in (np.uint8, np.uint16, np.float32)
            and ("S" not in letters or (self.dtype == np.uint8 and self.shape[-1] == 3))
            and len({unit for _, unit in along}) == 1  # it has one unit for all
            and all(1e-6 < scale < 1e6 for scale, _ in along)
        )

    def _imagej_metadata(self) -> dict[str, Any]:
        unit = self._along("x")[1]
        metadata: dict[str, Any] = {"axes": self._letters()}
        metadata["unit"] = _SYMBOLS.get(unit, unit).replace("µ", "u")
        if "Z" in self._letters():
            metadata["spacing"] = self._along("z")[0]
        time, unit = self._along("t")
        if unit in _WORDS["time"]:
            metadata |= {"finterval": time, "tunit": _SYMBOLS[unit].replace("µ", "u")}
        return metadata

    def _suits_ome(self) -> bool:
        fits = re.fullmatch("[TCZ]{0,3}YX|[TZ]{0,2}YXS", self._letters())
        return self.dtype in _OF_OME and bool(fits) and min(self.scale or (1,)) > 0

    def _ome_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"axes": self._letters(), "Name": self.name}
        for letter in "XYZ":
            scale, unit = self._along(letter.lower())
            if (scale, unit) != (1, "pixel") and unit not in _WORDS["time"]:
                metadata[f"PhysicalSize{letter}"] = scale
                metadata[f"PhysicalSize{letter}Unit"] = _SYMBOLS.get(unit, unit)
        time, unit = self._along("t")
        if unit in _WORDS["time"]:
            metadata |= {"TimeIncrement": time, "TimeIncrementUnit": _SYMBOLS[unit]}
        return metadata

    def _plain_metadata(self) -> dict[str, Any]:
        known = {"axes": self._letters(), "scale": self.scale, "units": self.units}
        if len(self.shape) == 1:
            return {"axes": "YX"}
        return {key: value for key, value in known.items() if value}


# The types that OME-TIFF has.
_OF_OME = tuple(map(np.dtype, ("i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8")))

_STORES: dict[str, type[Store]] = {
    ".ome.zarr": OmeZarrStore,
    ".ome.tif": TiffStore,
    ".ome.tiff": TiffStore,
    ".zarr": ZarrStore,
    ".tif": TiffStore,
    ".tiff": TiffStore,
    ".npy": NpyStore,
}
