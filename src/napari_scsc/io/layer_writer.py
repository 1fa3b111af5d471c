"""Image layers of napari as OME-Zarr, OME-TIFF and zarr, with all that these can hold of them."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import LayerData, Region
from napari_scsc.data.axes import letter_of, propose_axes
from napari_scsc.data.image import ImageArray, wrap_image
from napari_scsc.errors import PathExistsError, Remedy, UserError
from napari_scsc.io.channels import Channel
from napari_scsc.io.stores import Store, store_for, suffix_of
from napari_scsc.io.stores.levels import regions_of
from napari_scsc.io.units import unit_word
from napari_scsc.renaming import rename_exclusively

_MAX_BLOCK_BYTES = 64 << 20  # that are in memory at a time
_MAX_PLANE_LENGTH = 1024  # of a chunk along y and x, where the data have no say in it
_COLOURS = (Channel("red", "FF0000"), Channel("green", "00FF00"), Channel("blue", "0000FF"))


@dataclass(frozen=True, slots=True)
class _Picture:
    """Layers as one array: what is written, and how its axes come from those of the layers.

    ``channel`` is the axis along which the layers are stacked, if they are several; ``moved`` the
    new place of the axis of colours, if the format does not have it last.
    """

    images: tuple[ImageArray, ...]
    labels: tuple[str, ...]
    scale: tuple[float, ...]
    units: tuple[str, ...]
    translation: tuple[float, ...]
    channels: tuple[Channel, ...]
    recipe: Mapping[str, Any]
    channel: int | None = None
    moved: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        shape = list(self.images[0].shape)
        if self.moved is not None:
            shape.insert(self.moved, shape.pop())
        if self.channel is not None:
            shape.insert(self.channel, len(self.images))
        return tuple(shape)

    def read(self, region: Region) -> Any:
        """The values of a region of what is written."""
        inner = list(region)
        if self.channel is not None:
            chosen = inner.pop(self.channel)
            parts = [image.read(tuple(inner)) for image in self.images[chosen]]
            return np.stack(parts, self.channel)
        if self.moved is not None:
            inner.append(inner.pop(self.moved))
            return np.moveaxis(self.images[0].read(tuple(inner)), -1, self.moved)
        return self.images[0].read(tuple(inner))


def write_layers(path: str | os.PathLike[str], layers: Sequence[LayerData]) -> list[str]:
    """Write an image layer, or several that are channels of one scene; complete, or not at all.

    Parameters
    ----------
    path : path
        Ends with ``.ome.zarr``, ``.ome.tif``, ``.ome.tiff`` or ``.zarr``. What is there already is
        not overwritten.
    layers : sequence of layer data
        Image layers. Several must have the same shape, type and place.

    Returns
    -------
    list of str
        The path that was written.

    Raises
    ------
    TypeError
        If the format cannot hold them, or something of that name is there; another OSError where
        the folder cannot be written to.
    """
    place = Path(path).absolute()
    try:
        if os.path.lexists(place):
            raise PathExistsError("is there already", path=place, remedy=Remedy.CHOOSE_ANOTHER_NAME)
        _write(place, _picture_of(layers, is_ome_zarr=suffix_of(place) == ".ome.zarr"))
    except UserError as error:
        # napari takes every ValueError for "no writer", and does not report it.
        raise TypeError(str(error)) from error
    return [os.fspath(path)]


def _write(path: Path, picture: _Picture) -> None:
    dtype = np.result_type(*(image.dtype for image in picture.images))
    dtype = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    store = store_for(
        path,
        picture.shape,
        dtype,
        _chunks_of(picture, dtype),
        labels=picture.labels,
        scale=picture.scale,
        units=picture.units,
        translation=picture.translation if any(picture.translation) else None,
        channels=picture.channels,
        recipe=picture.recipe,
    )
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        _fill(replace(store, path=folder / path.name), picture)
        rename_exclusively(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(store: Store, picture: _Picture) -> None:
    store.create()
    for region in regions_of(store.shape, store.chunks):
        store.write(region, np.asarray(picture.read(region)).astype(store.dtype, copy=False))
    store.finish()


def _chunks_of(picture: _Picture, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Chunks of the data where they have such that fit, so that each is computed once."""
    image = picture.images[0]
    lengths = [1] * len(image.shape)
    has_colours = picture.moved is not None or picture.labels[-1] == "c"
    for axis in range(-3 if has_colours else -2, 0):
        lengths[axis] = min(image.shape[axis], _MAX_PLANE_LENGTH)
    given = [chunk if isinstance(chunk, int) else max(chunk) for chunk in image.chunks or ()]
    if given and math.prod(given) * dtype.itemsize <= _MAX_BLOCK_BYTES:
        lengths = given
    if picture.moved is not None:
        lengths.insert(picture.moved, lengths.pop())
    if picture.channel is not None:
        lengths.insert(picture.channel, 1)
    return tuple(max(1, length) for length in lengths)


def _picture_of(layers: Sequence[LayerData], is_ome_zarr: bool) -> _Picture:
    """Layers as one array with names, places and channels; UserError where that cannot be."""
    for _, attributes, kind in layers:
        if kind != "image":
            raise UserError(f"{attributes.get('name')!r} is a layer of {kind}, not an image")
        _refuse_transforms(attributes)
    single = [_single_picture(data, attributes) for data, attributes, _ in layers]
    if len(single) == 1:
        return _with_colours_first(single[0]) if is_ome_zarr else single[0]
    first, names = single[0], [str(attributes.get("name")) for _, attributes, _ in layers]
    for other, name in zip(single, names, strict=True):
        differs = _first_difference(first, other)
        if differs or other.labels[-1:] == ("c",):
            reason = f"has {differs} than {names[0]!r}" if differs else "has colours"
            raise UserError(
                f"{name!r} {reason}: layers that are saved together become channels of one image",
                remedy="save them one by one",
            )
    return _stacked(single, _without_common_start(names))


def _stacked(single: Sequence[_Picture], names: Sequence[str]) -> _Picture:
    first = single[0]
    letters = [letter_of(label) for label in first.labels]
    if "c" in letters:
        raise UserError("the layers have an axis of channels each", remedy="save them one by one")
    at = letters.index("t") + 1 if "t" in letters else 0
    recipes = {name: dict(p.recipe) for name, p in zip(names, single, strict=True) if p.recipe}
    shared = all(recipe == single[0].recipe for recipe in recipes.values())
    return replace(
        first,
        images=tuple(picture.images[0] for picture in single),
        labels=(*first.labels[:at], "c", *first.labels[at:]),
        scale=(*first.scale[:at], 1.0, *first.scale[at:]),
        units=(*first.units[:at], "pixel", *first.units[at:]),
        translation=(*first.translation[:at], 0.0, *first.translation[at:]),
        channels=tuple(
            replace(picture.channels[0], name=name)
            for picture, name in zip(single, names, strict=True)
        ),
        recipe=first.recipe if shared else {"layers": recipes},
        channel=at,
    )


def _single_picture(data: Any, attributes: Mapping[str, Any]) -> _Picture:
    image, rgb = wrap_image(data), bool(attributes.get("rgb"))
    name, n = str(attributes.get("name") or ""), len(image.shape) - rgb
    labels = tuple(map(str, attributes.get("axis_labels") or ()))
    if len(labels) != n or all(re.fullmatch(r"-?\d+", label) for label in labels):
        proposed = propose_axes(image.shape, name=name, rgb=rgb).labels
        labels = tuple(proposed[:n])
        if n > 2:
            axes = ", ".join(labels)
            warnings.warn(f"The axes of {name!r} have no names: they are ({axes})", stacklevel=2)
    colours = ("c",) * rgb
    units = [unit_word(unit) or "pixel" for unit in attributes.get("units") or ("pixel",) * n]
    channel = Channel(name, _colour_of(attributes), _window_of(attributes))
    has_channels = rgb or "c" in map(letter_of, labels)
    return _Picture(
        (image,),
        (*labels, *colours),
        (*_floats(attributes.get("scale"), n, 1.0), *(1.0,) * rgb),
        (*units, *("pixel",) * rgb),
        (*_floats(attributes.get("translate"), n, 0.0), *(0.0,) * rgb),
        () if has_channels else (channel,),
        _recipe_of(attributes),
    )


def _with_colours_first(picture: _Picture) -> _Picture:
    """The same with colours as channels, which OME-Zarr has before the axes of space."""
    if picture.labels[-1] != "c" or picture.images[0].shape[-1] not in (3, 4):
        return picture
    at = next((i for i, label in enumerate(picture.labels) if letter_of(label) in ("z", "y")), 0)

    def moved(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*values[:at], values[-1], *values[at:-1])

    return replace(
        picture,
        labels=moved(picture.labels),
        scale=moved(picture.scale),
        units=moved(picture.units),
        translation=moved(picture.translation),
        channels=(*_COLOURS, Channel("opacity"))[: picture.images[0].shape[-1]],
        moved=at,
    )


def _refuse_transforms(attributes: Mapping[str, Any]) -> None:
    """Refuse layers that are turned or sheared: the files hold sizes and positions only."""
    name = attributes.get("name")
    n = len(attributes.get("scale") or ())
    for word, matrix in (("rotate", np.eye(n)), ("affine", np.eye(n + 1)), ("shear", 0.0)):
        value = attributes.get(word)
        if value is not None and not np.allclose(np.asarray(value, float), matrix, atol=1e-9):
            raise UserError(
                f"{name!r} is moved by layer.{word}, and files hold only scale and translate",
                remedy=f"reset layer.{word}, or save it as an array without its place, as .npy",
            )
    if any(float(size) < 0 for size in attributes.get("scale") or ()):
        raise UserError(f"{name!r} is mirrored: a scale is negative", remedy="make it positive")


def _first_difference(a: _Picture, b: _Picture) -> str:
    if a.images[0].shape != b.images[0].shape:
        return "another shape"
    if a.images[0].dtype != b.images[0].dtype:
        return "another type of values"
    if a.labels != b.labels or a.units != b.units:
        return "other axes or units"
    same = np.allclose(a.scale, b.scale) and np.allclose(a.translation, b.translation)
    return "" if same else "another scale or position"


def _without_common_start(names: Sequence[str]) -> list[str]:
    """Names of channels without that of the file, as in "cells: DAPI" and "cells: GFP"."""
    starts = {name.partition(": ")[0] for name in names}
    is_common = len(starts) == 1 and all(": " in name for name in names)
    return [name.partition(": ")[2] if is_common else name for name in names]


def _colour_of(attributes: Mapping[str, Any]) -> str:
    """The colour of a map that goes from black to it; empty for every other map."""
    colormap = attributes.get("colormap")
    colours = np.asarray(colormap.get("colors", ())) if isinstance(colormap, Mapping) else None
    if colours is None or colours.ndim != 2 or len(colours) < 2 or colours.shape[1] < 3:
        return ""
    ramp = np.linspace(0, 1, len(colours))[:, None] * colours[-1, :3]
    if not np.allclose(colours[:, :3], ramp, atol=0.01):
        return ""
    return bytes(np.rint(colours[-1, :3] * 255).astype(np.uint8)).hex().upper()


def _window_of(attributes: Mapping[str, Any]) -> tuple[float, float] | None:
    limits = attributes.get("contrast_limits")
    if limits is None or len(limits) != 2:
        return None
    low, high = map(float, limits)
    return (low, high) if -math.inf < low < high < math.inf else None


def _floats(values: Any, n: int, default: float) -> tuple[float, ...]:
    return (default,) * n if values is None else tuple(map(float, values))


def _recipe_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """How a result came about, as its layer says it, in the words of JSON."""
    entry = dict(attributes.get("metadata") or {}).get("napari_scsc")
    recipe = entry.get("recipe") if isinstance(entry, Mapping) else None
    if not isinstance(recipe, Mapping):
        return {}
    found: dict[str, Any] = json.loads(json.dumps(dict(recipe), default=str))
    return found
