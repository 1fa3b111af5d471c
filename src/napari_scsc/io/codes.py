"""Where codes of any size go: one zarr of version 3, in which each block has a place of its own.

A block never shares a chunk with another: any number of writers can fill it at the same time, and
one that is killed harms nothing but its own block. Sparse codes differ in length, so each block has
room for as many values as a code can have; chunks that nobody fills take no room on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.errors import FileFormatError, PathNotFoundError
from napari_scsc.io.atomic_files import made_beside
from napari_scsc.io.zarr_codecs import choose_compressors
from napari_scsc.model.container import reporting_damage

KEY = "napari_scsc"  # of our attributes
_KIND = "napari-scsc codes"
_VERSION = 1
_VALUES_PER_CHUNK = 1 << 16
_BLOCKS_PER_READ = 1 << 12  # whose numbers of values are read together


class Coded(NamedTuple):
    """What is kept of a block: weights (R, K), the code in rows, and the smooth part (C, *tile).

    The code is a matrix (K, P) of which only what is not zero is kept, row by row: the values of
    row k, and their positions, lie from ``ends[k]`` to ``ends[k + 1]``.
    """

    weights: Array
    ends: Array
    positions: Array
    values: Array
    smooth: Array


@dataclass(frozen=True)
class CodeStore:
    """The codes of an image; holds nothing open, so it works in every thread and process.

    Attributes
    ----------
    path : Path
        Where it is, or will be.
    n_blocks, n_base, n_filters : int
        How many blocks there are, and R and K of each.
    n_positions : int
        P, the number of points of a code map.
    tile : tuple of int
        C and the lengths of a block.
    dtype : numpy.dtype
        Type of weights and codes.
    """

    path: Path
    n_blocks: int
    n_base: int
    n_filters: int
    n_positions: int
    tile: tuple[int, ...]
    dtype: np.dtype[Any]

    def create(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Make it, without any code; complete or not at all.

        ``header`` holds what JSON can, ``arrays`` what is the same for all blocks.
        """
        import zarr

        attributes = {KEY: {"kind": _KIND, "version": _VERSION, **header}}
        with made_beside(self.path) as temporary:
            zarr.create_group(store=temporary, zarr_format=3, attributes=attributes)
            for name, values in arrays.items():
                self._make(temporary, name, values.shape, values.dtype, values.shape)[...] = values
            for name, (shape, dtype, chunk, axes) in self._layout().items():
                shapes = (self.n_blocks, *shape), (1, *(chunk or shape))
                self._make(temporary, name, shapes[0], dtype, shapes[1], ("block", *axes))

    def write(self, number: int, coded: Coded) -> None:
        """Fill the place of a block."""
        self._array("W")[number] = coded.weights
        self._array("smooth")[number] = coded.smooth
        self._array("Z/indptr")[number] = coded.ends
        run = min(_VALUES_PER_CHUNK, self._max_values)
        short = -len(coded.values) % run
        for name, values in {"Z/indices": coded.positions, "Z/data": coded.values}.items():
            if len(values):  # whole chunks, or zarr would look for what is there already
                end = min(len(values) + short, self._max_values)
                whole = np.pad(values, (0, end - len(values)))
                self._array(name)[number, :end] = whole

    def read(self, number: int) -> Coded:
        """What is kept of a block; FileFormatError if that cannot be."""
        with reporting_damage(self.path):
            return self._read(number)

    def _read(self, number: int) -> Coded:
        ends = np.asarray(self._array("Z/indptr", "r")[number])
        count = int(ends[-1])
        if ends[0] != 0 or (np.diff(ends) < 0).any() or count > self._max_values:
            raise FileFormatError(f"the code of block {number} is damaged", path=self.path)
        positions = np.asarray(self._array("Z/indices", "r")[number, :count])
        if count and not (positions.min() >= 0 and positions.max() < self.n_positions):
            raise FileFormatError(f"the code of block {number} is damaged", path=self.path)
        return Coded(
            weights=np.asarray(self._array("W", "r")[number]),
            ends=ends,
            positions=positions,
            values=np.asarray(self._array("Z/data", "r")[number, :count]),
            smooth=np.asarray(self._array("smooth", "r")[number]),
        )

    def check(self) -> None:
        """Raise FileFormatError if what is there is not what this describes."""
        for name, (shape, dtype, _, _) in self._layout().items():
            found, wanted = self._array(name, "r"), (self.n_blocks, *shape)
            if found.shape != wanted or found.dtype != np.dtype(dtype):
                raise FileFormatError(
                    f"{name} has the shape {found.shape} and type {found.dtype}, not {wanted} and "
                    f"{np.dtype(dtype)}"
                )

    def finish(self) -> None:
        """Write down what is known only when all blocks are there: how much is not zero."""
        import zarr

        group = zarr.open_group(store=self.path, mode="r+", zarr_format=3)
        known: Any = group.attrs[KEY]
        group.attrs[KEY] = {**known, "n_nonzero": sum(self._counts())}

    def _counts(self) -> Iterator[int]:
        ends = self._array("Z/indptr", "r")
        for first in range(0, self.n_blocks, _BLOCKS_PER_READ):
            yield int(ends[first : first + _BLOCKS_PER_READ, -1].sum())

    @property
    def _max_values(self) -> int:
        """How many values a code can have."""
        return self.n_filters * self.n_positions

    def _layout(self) -> dict[str, tuple[tuple[int, ...], DTypeLike, Any, tuple[str, ...]]]:
        """Of the arrays with a place for each block: shape, type and chunk of it, and its axes."""
        lengths = tuple(f"axis-{i}" for i in range(len(self.tile) - 1))
        run = (min(_VALUES_PER_CHUNK, self._max_values),)
        return {
            "W": ((self.n_base, self.n_filters), self.dtype, None, ("base", "filter")),
            "smooth": (self.tile, np.float32, None, ("joint", *lengths)),
            "Z/indptr": ((self.n_filters + 1,), np.int64, None, ("filter",)),
            "Z/indices": ((self._max_values,), np.int32, run, ("value",)),
            "Z/data": ((self._max_values,), self.dtype, run, ("value",)),
        }

    def _make(
        self,
        path: Path,
        name: str,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        chunk: tuple[int, ...],
        axes: tuple[str, ...] | None = None,
    ) -> Any:
        import zarr

        return zarr.create_array(
            store=path,
            name=name,
            shape=shape,
            dtype=dtype,
            chunks=chunk,
            compressors=choose_compressors(3),
            dimension_names=axes,
            zarr_format=3,
        )

    def _array(self, name: str, mode: Any = "r+") -> Any:
        import zarr

        if mode == "r":
            from napari_scsc.io.formats.zarr_guard import open_guarded_array

            return open_guarded_array(self.path, name)
        return zarr.open_array(store=self.path, path=name, mode=mode, zarr_format=3)


def is_codes(path: str | os.PathLike[str]) -> bool:
    """Whether there are codes at a path; whether they are whole is not looked at."""
    header = _attributes(Path(path)).get(KEY)
    return isinstance(header, dict) and header.get("kind") == _KIND


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What ``create`` was given, and ``finish`` found; FileFormatError if these are no codes."""
    if not Path(path).exists():
        raise PathNotFoundError("there is no such folder", path=path)
    if not is_codes(path):
        raise FileFormatError(f"not {_KIND}", path=path)
    header = _attributes(Path(path))[KEY]
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(f"its version is {version!r}", path=path)
    if version > _VERSION:
        raise FileFormatError(
            f"written by a later napari-scsc (version {version}, this one reads {_VERSION})",
            remedy="please update napari-scsc",
            path=path,
        )
    return dict(header)


def read_array(path: str | os.PathLike[str], name: str) -> Array | None:
    """One of the arrays that ``create`` was given; None if there is none of that name."""
    from napari_scsc.io.formats.zarr_guard import open_guarded_array, open_zarr

    if name not in open_zarr(Path(path)):
        return None
    return np.asarray(open_guarded_array(Path(path), name)[...])


def _attributes(path: Path) -> Mapping[str, Any]:
    """The attributes of a zarr group; none for whatever else there is."""
    try:
        from napari_scsc.io.formats.zarr_guard import open_zarr

        found = open_zarr(path)
        return {} if hasattr(found, "shape") else dict(found.attrs)
    except Exception:  # zarr raises many kinds on what is no group of its own
        return {}
