"""Zarr and OME-Zarr."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message, Remedy
from napari_scsc.io.filenames import natural_key
from napari_scsc.io.formats.file_arrays import (
    FileArray,
    check_shape,
    naming_file,
    open_once,
    unreadable,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe, is_numeric, list_names


@dataclass(frozen=True)
class ZarrArray(FileArray):
    """An array in a zarr."""

    key: str

    def _read(self, index: tuple[Any, ...]) -> Array:
        with naming_file(self, "zarr"):
            return np.asarray(open_once(self, self._open)[index])

    def _open(self) -> Any:
        import zarr

        array = zarr.open_array(store=self.path, path=self.key, mode="r")
        check_shape(self, array.shape)
        _check_codecs(array)
        return array


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open an array of a zarr, or the finest level of an OME image."""
    import zarr

    inner = "" if key is None else str(key).strip("/")
    try:
        root: Any = zarr.open(store=path, mode="r")
        if inner and (hasattr(root, "shape") or inner not in root):
            members = [] if hasattr(root, "shape") else [name for name, _ in _members(root)]
            raise ValueError(f"no array {inner!r} is in it; there are {list_names(members)}")
        images = _images(root[inner] if inner else root)
        found = next(images, None)
        if found is None:
            raise ValueError("no array of numbers is in it")
        array, group, level = found
        _check_codecs(array)
        if group is None and inner:  # it may be one level of an image
            parent, _, level = inner.rpartition("/")
            group = root[parent] if parent else root
        image = None if group is None else _multiscales(group)
        axes = _ome_axes(image, level) if image else _plain_axes(array)
    except PermissionError:
        raise
    except Exception as error:  # damaged metadata raise many kinds
        raise unreadable(path, "zarr", error) from error
    dtype = np.dtype(array.dtype).newbyteorder("=")
    lazy = ZarrArray(path, tuple(array.shape), dtype, tuple(array.chunks), array.path)
    name = inner or ("" if image else array.path)
    return describe(path, lazy, name, *axes, remarks=_describe_next(images))


def open_levels(path: Path, key: str | int | None) -> OpenedFile:
    """Open an image with all of its levels, for a viewer."""
    opened = open_file(path, key)
    coarser = tuple(open_file(path, level).array for level in _level_keys(path)[1:])
    # Without a kind, its axes stay in the order in which all levels are stored.
    return replace(opened, coarser=coarser, kind=None, facts={})


def _level_keys(path: Path) -> list[str]:
    """The arrays of an OME image, the finest first; none of a zarr that is something else."""
    import zarr

    try:
        image = _multiscales(zarr.open(store=path, mode="r"))
        return [str(level["path"]) for level in image["datasets"]] if image else []
    except Exception:  # damaged metadata raise many kinds, and whoever opens it is told
        return []


def _plain_axes(array: Any) -> tuple[Any, Any, Any]:
    """Labels, scale and units of a plain array, as far as it has them."""
    attributes = array.attrs.asdict()
    names = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
    if not names or not all(isinstance(name, str) and name for name in names):
        names = None
    units = attributes.get("units")
    if not isinstance(units, list) or len(units) != array.ndim:
        units = None
    return names, attributes.get("scale"), units


def _images(node: Any) -> Iterator[tuple[Any, Any, str]]:
    """The arrays in a node; of an OME image the finest, with its group and its path there."""
    if hasattr(node, "shape"):
        if is_numeric(node.shape, node.dtype):
            yield node, None, ""
    elif image := _multiscales(node):
        finest = image["datasets"][0]["path"]
        yield node[finest], node, finest
    else:
        for _, member in _members(node):
            yield from _images(member)


def _describe_next(rest: Iterator[tuple[Any, Any, str]]) -> tuple[Message, ...]:
    """Say that a zarr holds more images than the one that is opened."""
    try:  # not how many: there can be thousands, and each takes time to open
        array, group, _ = next(rest)
    except Exception:  # there is none, or it is damaged, which does not concern the first
        return ()
    key = array.path if group is None else group.path
    text = f"holds more than one image, this is the first and {key!r} the next"
    return (Message(text, remedy=Remedy.SAY_KEY),)


def _members(node: Any) -> Iterator[tuple[str, Any]]:
    """What is in a group, arrays first, in the order that people expect."""
    found = sorted(node.members(), key=lambda member: natural_key(member[0]))
    yield from sorted(found, key=lambda member: not hasattr(member[1], "shape"))


def _multiscales(group: Any) -> Any:
    """The description of an OME image, which version 0.5 keeps apart; None if it is none."""
    if hasattr(group, "shape"):
        return None
    attributes = group.attrs.asdict()
    inside = attributes.get("ome", attributes)
    images = inside.get("multiscales") if isinstance(inside, dict) else None
    return images[0] if isinstance(images, list) and images else None


def _ome_axes(image: Any, path: str) -> tuple[Any, Any, Any]:
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
