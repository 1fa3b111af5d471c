"""Results as zarr and OME-Zarr, of version 2 or 3 of zarr."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.io.stores.base import Store, naming_path
from napari_scsc.io.stores.levels import means_of as _means
from napari_scsc.io.stores.levels import regions_of as _regions
from napari_scsc.io.stores.ome_metadata import describe_axes, describe_channels, describe_image
from napari_scsc.io.stores.shards import ShardedArray, shard_lengths
from napari_scsc.io.zarr_codecs import choose_compressors

_MAX_COARSEST_LENGTH = 256  # no coarser level is made once y and x are at most that long
_MAX_KEPT_LENGTH = 64  # an axis of at most that length is kept as it is in coarser levels
_LOOSE = "loose chunks"  # the folder of chunks that are in no shard yet
_RECIPE_KEY = "napari-scsc"


@dataclass(frozen=True)
class ZarrStore(Store):
    """A zarr array, with the names of its axes, its scale and units.

    Attributes
    ----------
    zarr_format : {"0.4", "0.5"}
        The version of OME-Zarr, which says that of zarr: 2 or 3.
    shard_bytes : int
        How many bytes of values a shard has at most; 0 where chunks are files of their own.
    """

    zarr_format: str = "0.5"
    shard_bytes: int = 0

    _array_key = ""  # the path of the array in the folder

    def open(self) -> Any:
        """The values as a dask array, of the finest level where there are several."""
        import dask.array

        array = self._open_array("r")
        from_array: Any = dask.array.from_array  # it has no annotations
        # A name made from the path would stay the same when the values change, and caches go by it.
        return from_array(array, chunks=array.chunks, name=False)

    def finish(self) -> None:
        """Combine the chunks that are in no shard yet."""
        with naming_path(self.final_path):
            self._finish_shards()

    def shard_of(self, region: Region) -> tuple[int, ...] | None:
        """The place of the shard that a region, which was checked, begins in."""
        sharded = self._sharded(self._array_key, self.shape)
        if sharded is None:
            return None
        return tuple(s.start // n for s, n in zip(region, sharded.shards, strict=True))

    def pack(self, shard: tuple[int, ...]) -> None:
        """Combine the chunks of a shard into one file."""
        if sharded := self._sharded(self._array_key, self.shape):
            with naming_path(self.final_path):
                sharded.pack(shard)

    @property
    def _version(self) -> Any:
        """Of zarr."""
        return 2 if self.zarr_format == "0.4" else 3

    def _check_room(self) -> None:
        if not self.compressed:
            super()._check_room()

    def _make(self, path: Path) -> None:
        os.mkdir(path)  # zarr would also make the folders above
        known = {"scale": self.scale, "units": self.units, "translation": self.translation}
        attributes: dict[str, Any] = {key: list(value) for key, value in known.items() if value}
        if self.channels:
            attributes["channels"] = [
                {"label": c.name, "color": c.colour, "window": c.window and list(c.window)}
                for c in self.channels
            ]
        attributes |= self._recipe_attribute()
        self._make_array(path, "", self.shape, self.labels, attributes)

    def _recipe_attribute(self) -> dict[str, Any]:
        return {_RECIPE_KEY: {"recipe": dict(self.recipe)}} if self.recipe else {}

    def _make_array(
        self,
        path: Path,
        key: str,
        shape: tuple[int, ...],
        names: Sequence[str] | None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        """Make an array at a path that becomes that of the store."""
        import zarr

        sharded, more = self._sharded(key, shape), self._layout(shape)
        if self._version == 3:
            more["dimension_names"] = names
        elif names:  # as xarray has them
            attributes = {**(attributes or {}), "_ARRAY_DIMENSIONS": list(names)}
        zarr.create_array(
            store=path,
            name=key or None,
            shards=None if sharded is None else sharded.shards,
            attributes=attributes,
            overwrite=bool(key),
            **more,
        )
        if sharded is not None:
            self._make_loose(path / sharded.loose.relative_to(self.path), shape)

    def _make_loose(self, path: Path, shape: tuple[int, ...]) -> None:
        """Make the array to which chunks are written before they are in a shard."""
        import zarr

        shutil.rmtree(path, ignore_errors=True)
        zarr.create_array(store=path, **self._layout(shape))

    def _layout(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """How zarr is to store an array."""
        layout: dict[str, Any] = {
            "shape": shape,
            "dtype": self.dtype,
            "chunks": self._chunks(shape),
            "compressors": choose_compressors(self._version, self.compressed),
            "zarr_format": self._version,
            "fill_value": 0,
        }
        if self._version == 2:
            layout["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
        return layout

    def _chunks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(map(min, self.chunks, shape))

    def _sharded(self, key: str, shape: tuple[int, ...]) -> ShardedArray | None:
        """The array of that key, if it has shards."""
        chunks = self._chunks(shape)
        shards = shard_lengths(shape, chunks, self.shard_bytes // self.dtype.itemsize)
        if not self.shard_bytes or shards is None:
            return None
        loose = self.path / _LOOSE / (key or "0")
        return ShardedArray(self.path / key, loose, chunks, shards)

    def _write(self, region: Region, values: Array) -> None:
        self._write_to(self._array_key, self.shape, region, values)

    def _write_to(self, key: str, shape: tuple[int, ...], region: Region, values: Array) -> None:
        # zarr reads no chunk that is written whole, and puts each in place only when complete.
        # Opening takes a millisecond; an array that was kept could be another's by now.
        sharded = self._sharded(key, shape)
        if sharded is None:
            self._open_array("r+", key)[region] = values
            return
        import zarr

        if not sharded.loose.exists():  # it was finished before
            self._make_loose(sharded.loose, shape)
        zarr.open_array(store=sharded.loose, mode="r+", zarr_format=3)[region] = values
        spans = (
            range(s.start // c, -(-s.stop // c))
            for s, c in zip(region, sharded.chunks, strict=True)
        )
        for chunk in itertools.product(*spans):
            sharded.mark_empty(chunk)

    def _open_array(self, mode: Any, key: str | None = None) -> Any:
        import zarr

        key = self._array_key if key is None else key
        return zarr.open_array(store=self.path, path=key, mode=mode, zarr_format=self._version)

    def _finish_shards(self) -> None:
        if sharded := self._sharded(self._array_key, self.shape):
            sharded.pack_all()
        shutil.rmtree(self.path / _LOOSE, ignore_errors=True)


@dataclass(frozen=True)
class OmeZarrStore(ZarrStore):
    """An OME-Zarr image of version 0.4 or 0.5; ``finish`` makes its coarser levels."""

    _array_key = "0"

    def __post_init__(self) -> None:
        describe_axes(self)  # raises where the format has no place for them

    def finish(self) -> None:
        """Make the coarser levels from means of two pixels along the axes of space, and list them.

        In memory are a few chunks at a time. While it runs, only the finest level is listed.
        """
        with naming_path(self.final_path):
            self._list_levels(1)
            self._finish_shards()
            levels = self._levels()
            for level in range(1, len(levels)):
                self._make_level(level)
            self._list_levels(len(levels), self._windows())

    def _make(self, path: Path) -> None:
        import zarr

        os.mkdir(path)
        attributes = {**self._recipe_attribute(), **self._metadata(1)}
        zarr.create_group(store=path, zarr_format=self._version, attributes=attributes)
        self._make_array(path, "0", self.shape, self._names())

    def _list_levels(
        self, n_levels: int, windows: Sequence[tuple[float, float]] | None = None
    ) -> None:
        """Write down which levels are there, the finest first, and how the channels look."""
        import zarr

        group = zarr.open_group(store=self.path, mode="r+", zarr_format=self._version)
        group.attrs.put({**group.attrs.asdict(), **self._metadata(n_levels, windows)})

    def _names(self) -> list[str]:
        return [axis["name"] for axis in describe_axes(self)]

    def _levels(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Of each level the shape, and how many of the finest pixels one of its pixels spans."""
        of_space = [axis.get("type") == "space" for axis in describe_axes(self)]
        shape, span = self.shape, (1,) * len(self.shape)
        levels = [(shape, span)]
        while max(shape[-2:]) > _MAX_COARSEST_LENGTH:
            steps = [
                2 if space and n > _MAX_KEPT_LENGTH else 1
                for space, n in zip(of_space, shape, strict=True)
            ]
            shape = tuple(-(-n // step) for n, step in zip(shape, steps, strict=True))
            span = tuple(n * step for n, step in zip(span, steps, strict=True))
            levels.append((shape, span))
        return levels

    def _make_level(self, level: int) -> None:
        """Write a level from means of the next finer one."""
        (fine, fine_span), (coarse, span) = self._levels()[level - 1 : level + 1]
        steps = tuple(a // b for a, b in zip(span, fine_span, strict=True))
        source = self._open_array("r", str(level - 1))
        self._make_array(self.path, str(level), coarse, self._names())
        sharded = self._sharded(str(level), coarse)
        for outer in _regions(coarse, coarse if sharded is None else sharded.shards):
            for region in _regions_within(outer, self._chunks(coarse)):
                finer = tuple(
                    slice(s.start * step, min(s.stop * step, n))
                    for s, step, n in zip(region, steps, fine, strict=True)
                )
                self._write_to(str(level), coarse, region, _means(source[finer], steps))
            if sharded is not None:
                sharded.pack_all()
        shutil.rmtree(self.path / _LOOSE, ignore_errors=True)

    def _windows(self) -> list[tuple[float, float]] | None:
        """The window of each channel: that which is known, else the range of the coarsest level."""
        names = self._names()
        axis = names.index("c") if "c" in names else None
        n_channels = 1 if axis is None else self.shape[axis]
        if len(self.channels) != n_channels:
            return None
        return [
            channel.window or self._measure(axis, number)
            for number, channel in enumerate(self.channels)
        ]

    def _measure(self, axis: int | None, number: int) -> tuple[float, float]:
        """The smallest and the largest value of a channel in the coarsest level."""
        levels = self._levels()
        array = self._open_array("r", str(len(levels) - 1))
        low, high = np.inf, -np.inf
        for region in _regions(levels[-1][0], array.chunks):
            values = array[region]
            if axis is not None:
                place = number - region[axis].start
                values = values.take([place] if 0 <= place < values.shape[axis] else [], axis)
            values = values[np.isfinite(values)]
            if values.size:
                low, high = min(low, float(values.min())), max(high, float(values.max()))
        return (low, high) if low < high else (min(low, 0.0), max(high, 1.0))

    def _metadata(
        self, n_levels: int, windows: Sequence[tuple[float, float]] | None = None
    ) -> dict[str, Any]:
        image = describe_image(self, [span for _, span in self._levels()[:n_levels]])
        described: dict[str, Any] = {"multiscales": [image]}
        if windows:
            described["omero"] = describe_channels(self.channels, windows, self.dtype)
        if self._version == 2:
            image["version"] = self.zarr_format
            return described
        return {"ome": {"version": self.zarr_format, **described}}


def _regions_within(outer: Region, chunks: tuple[int, ...]) -> Iterator[Region]:
    """The chunks of a region that consists of whole ones."""
    for region in _regions(tuple(s.stop - s.start for s in outer), chunks):
        yield tuple(
            slice(o.start + s.start, o.start + s.stop) for s, o in zip(region, outer, strict=True)
        )
