"""Results as zarr and OME-Zarr."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import letter_of
from napari_scsc.data.scaling import floats_within
from napari_scsc.errors import UserError
from napari_scsc.io.stores.base import Store, naming_path
from napari_scsc.io.units import WORDS

_MAX_COARSEST_LENGTH = 256  # no coarser level is made once y and x are at most that long
_MAX_KEPT_LENGTH = 64  # an axis of at most that length is kept as it is in coarser levels
_AXIS_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


@dataclass(frozen=True)
class ZarrStore(Store):
    """A zarr array of version 3, with the names of its axes, its scale and units."""

    _array_key = ""  # the path of the array in the folder

    def open(self) -> Any:
        """The values as a dask array, of the finest level where there are several."""
        import dask.array

        array = self._open_array("r")
        from_array: Any = dask.array.from_array  # it has no annotations
        # A name made from the path would stay the same when the values change, and caches go by it.
        return from_array(array, chunks=array.chunks, name=False)

    def _check_room(self) -> None:
        if not self.compressed:
            super()._check_room()

    def _make(self, path: Path) -> None:
        os.mkdir(path)  # zarr would also make the folders above
        known = {"scale": self.scale, "units": self.units}
        attributes = {key: list(value) for key, value in known.items() if value}
        self._make_array(path, "", self.shape, self.labels, attributes)

    def _make_array(
        self,
        path: Path,
        key: str,
        shape: tuple[int, ...],
        names: Sequence[str] | None,
        attributes: dict[str, Any] | None = None,
    ) -> Any:
        import zarr
        from zarr.codecs import BloscCodec

        return zarr.create_array(
            store=path,
            name=key or None,
            shape=shape,
            dtype=self.dtype,
            chunks=tuple(map(min, self.chunks, shape)),
            compressors=BloscCodec(cname="zstd", clevel=3) if self.compressed else None,
            dimension_names=names,
            attributes=attributes,
            zarr_format=3,
            overwrite=bool(key),
        )

    def _write(self, region: Region, values: Array) -> None:
        # zarr reads no chunk that is written whole, and puts each in place only when complete.
        self._open_array("r+")[region] = values

    def _open_array(self, mode: Any, key: str | None = None) -> Any:
        import zarr

        # Opening takes a millisecond; an array that was kept could be another's by now.
        key = self._array_key if key is None else key
        return zarr.open_array(store=self.path, path=key, mode=mode, zarr_format=3)


@dataclass(frozen=True)
class OmeZarrStore(ZarrStore):
    """An OME-Zarr image of version 0.5; ``finish`` makes its coarser levels."""

    _array_key = "0"

    def __post_init__(self) -> None:
        _ome_axes(self)  # raises where the format has no place for them

    def finish(self) -> None:
        """Make the coarser levels from means of two pixels along the axes of space, and list them.

        In memory are a few chunks at a time. While it runs, only the finest level is listed.
        """
        with naming_path(self.final_path):
            self._list_levels(1)
            levels = self._levels()
            for level in range(1, len(levels)):
                self._make_level(level)
            self._list_levels(len(levels))

    def _make(self, path: Path) -> None:
        import zarr

        os.mkdir(path)
        zarr.create_group(store=path, zarr_format=3, attributes={"ome": self._metadata(1)})
        self._make_array(path, "0", self.shape, self._names())

    def _list_levels(self, n_levels: int) -> None:
        """Write down which levels are there, the finest first."""
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


def _ome_axes(store: Store) -> list[dict[str, str]]:
    """The axes as OME-Zarr describes them; UserError where it has no place for them."""
    n = len(store.shape)
    labels = store.labels
    if labels is None:  # one axis of an unknown kind is allowed
        labels = ("y", "x") if n == 2 else ("axis", "y", "x")
    axes: list[dict[str, str]] = []
    for i, label in enumerate(labels):
        letter = letter_of(label)
        axis = {"name": letter or label}
        if letter in _AXIS_TYPES:
            axis["type"] = _AXIS_TYPES[letter]
        if store.units and store.units[i] in WORDS.get(axis.get("type", ""), ()):
            axis["unit"] = store.units[i]
        axes.append(axis)
    kinds = [axis.get("type", "other") for axis in axes]
    order = "".join({"time": "t", "space": "s"}.get(kind, "c") for kind in kinds)
    if (
        len(axes) != n
        or not re.fullmatch("t?c?s{2,3}", order)
        or len({axis["name"] for axis in axes}) < n
    ):
        found = f"({', '.join(store.labels)})" if store.labels else f"of the shape {store.shape}"
        raise UserError(
            "OME-Zarr holds axes in the order t, c, z, y, x, of which y and x must be there, and "
            f"these are {found}",
            remedy="name them, or write a .zarr, which holds any",
            path=store.final_path,
        )
    return axes


def _regions(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[Region]:
    spans = (
        [slice(a, min(a + c, n)) for a in range(0, n, c)]
        for n, c in zip(shape, chunks, strict=True)
    )
    yield from itertools.product(*spans)


def _means(values: Array, steps: Sequence[int]) -> Array:
    """Means of pairs along the axes whose step is 2; an odd last one stands for itself."""
    means, work_type = values, np.result_type(values.dtype, np.float32)
    for axis, step in enumerate(steps):
        if step == 2:
            moved = np.moveaxis(means, axis, 0)
            # Halves first: the sum of two large values may be beyond all.
            first = np.multiply(moved[::2], 0.5, dtype=work_type)
            n = len(moved) // 2
            first[:n] += np.multiply(moved[1::2], 0.5, dtype=work_type)
            first[n:] = moved[2 * n :]
            means = np.moveaxis(first, 0, axis)
    if values.dtype.kind == "f":
        return means.astype(values.dtype, copy=False)
    info = np.iinfo(values.dtype)
    limits = floats_within(info.min, info.max)
    return np.clip(np.rint(means), *limits).astype(values.dtype)
