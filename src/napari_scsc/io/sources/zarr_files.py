"""Zarr and OME-Zarr."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napari_scsc.io.sources.opened import Opened, describe, is_numeric, listed, unreadable
from napari_scsc.io.words import natural


def is_zarr(place: Path) -> bool:
    """Whether a folder holds zarr, of version 2 or 3."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return any((place / mark).is_file() for mark in marks)


def open_zarr(place: Path, key: str | int | None) -> Opened:
    """Open an array of a zarr, or the finest level of an OME image."""
    import zarr

    inner = "" if key is None else str(key).strip("/")
    try:
        root: Any = zarr.open(store=place, mode="r")
        if inner and (hasattr(root, "shape") or inner not in root):
            members = [] if hasattr(root, "shape") else [name for name, _ in _members(root)]
            raise ValueError(f"no array {inner!r} is in it; there are {listed(members)}")
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
        raise ValueError(unreadable(place, "zarr", error)) from error
    return describe(place, array, inner or ("" if image else array.path), *meaning)


def level_keys(path: str | os.PathLike[str]) -> list[str]:
    """The arrays of an OME image, the finest first; none of a zarr that is something else."""
    import zarr

    try:
        image = _multiscales(zarr.open(store=path, mode="r"))
        return [str(level["path"]) for level in image["datasets"]] if image else []
    except Exception:  # damaged metadata raise many kinds, and whoever opens it is told
        return []


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
        return (node, None, "") if is_numeric(node.shape, node.dtype) else None
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
    found = sorted(node.members(), key=lambda member: natural(member[0]))
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
