"""Zarr and OME-Zarr."""

from __future__ import annotations

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
    open_once,
    unreadable,
)
from napari_scsc.io.formats.ome_zarr import (
    describe_level,
    describe_plain,
    fields_of,
    find_image,
    holds_labels,
    is_plate,
    read_recipe,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe, is_numeric, list_names
from napari_scsc.io.formats.zarr_guard import (
    check_chunks,
    check_codecs,
    open_guarded_array,
    open_zarr,
)


@dataclass(frozen=True)
class ZarrArray(FileArray):
    """An array in a zarr."""

    key: str

    title = "zarr"

    def _read(self, index: tuple[Any, ...]) -> Array:
        return np.asarray(open_once(self, self._open)[index])

    def open_zarr(self) -> Any:
        """The array as zarr has it."""
        return self._open()

    def _open(self) -> Any:
        array = open_guarded_array(self.path, self.key)
        check_shape(self, array.shape)
        return array


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open an array of a zarr, or the finest level of an OME image."""
    inner = "" if key is None else str(key).strip("/")
    try:
        root: Any = open_zarr(path)
        if inner and (hasattr(root, "shape") or inner not in root):
            members = [] if hasattr(root, "shape") else [name for name, _ in _members(root)]
            raise ValueError(f"no array {inner!r} is in it; there are {list_names(members)}")
        images = _images(root[inner] if inner else root)
        found = next(images, None)
        if found is None:
            raise ValueError("no array of numbers is in it")
        array, group, level = found
        check_codecs(array)
        check_chunks(array)
        if group is None and inner:  # it may be one level of an image
            parent, _, level = inner.rpartition("/")
            group = root[parent] if parent else root
        image = group if group is not None and find_image(group) else None
        known = (
            describe_plain(array) if image is None else describe_level(image, level, array.shape)
        )
        recipe = read_recipe(array if image is None else image)
    except PermissionError:
        raise
    except Exception as error:  # damaged metadata raise many kinds
        raise unreadable(path, "zarr", error) from error
    dtype = np.dtype(array.dtype).newbyteorder("=")
    lazy = ZarrArray(path, tuple(array.shape), dtype, tuple(array.chunks), array.path)
    name = inner or ("" if image else array.path)
    opened = describe(path, lazy, name, *known[:3], remarks=_describe_next(images))
    return replace(
        opened,
        translation=known.translation,
        channels=known.channels,
        recipe=recipe,
        zarr_format=None if image is None else _ome_version(image),
    )


def list_fields(path: Path) -> list[str]:
    """The keys of the images of a plate, as "A/1/0"; none of what is no plate."""
    try:
        root: Any = open_zarr(path)
        return list(fields_of(root)) if is_plate(root) else []
    except PermissionError:
        raise
    except Exception as error:  # damaged metadata raise many kinds
        raise unreadable(path, "zarr", error) from error


def _ome_version(group: Any) -> str:
    return "0.4" if group.metadata.zarr_format == 2 else "0.5"


def open_levels(path: Path, key: str | int | None) -> OpenedFile:
    """Open an image with all of its levels, for a viewer."""
    opened = open_file(path, key)
    coarser = tuple(open_file(path, level).array for level in _level_keys(path)[1:])
    # Without a kind, its axes stay in the order in which all levels are stored.
    return replace(opened, coarser=coarser, kind=None, facts={})


def _level_keys(path: Path) -> list[str]:
    """The arrays of an OME image, the finest first; none of a zarr that is something else."""
    try:
        image = find_image(open_zarr(path))
        return [str(level["path"]) for level in image["datasets"]] if image else []
    except Exception:  # damaged metadata raise many kinds, and whoever opens it is told
        return []


def _images(node: Any) -> Iterator[tuple[Any, Any, str]]:
    """The arrays in a node; of an OME image the finest, with its group and its path there."""
    if hasattr(node, "shape"):
        if is_numeric(node.shape, node.dtype):
            yield node, None, ""
    elif image := find_image(node):
        finest = image["datasets"][0]["path"]
        yield node[finest], node, finest
    elif is_plate(node):
        for field in fields_of(node):
            yield from _images(node[field])
    else:
        for _, member in _members(node):
            if not holds_labels(member):  # whoever wants those names them
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
