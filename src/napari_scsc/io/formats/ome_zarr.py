"""What OME-Zarr says of an image, and of the images of a plate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from napari_scsc.data.axes import letter_of
from napari_scsc.io.channels import Channel


class Described(NamedTuple):
    """What a zarr says of the axes of one of its arrays, as far as it says it.

    Attributes
    ----------
    labels, scale, units
        As ``describe`` of the formats takes them.
    translation : tuple of float or None
        Where the first pixel lies along each axis.
    channels : tuple of Channel
        One for each value of the axis of channels; one for an image without such an axis.
    """

    labels: Any = None
    scale: Any = None
    units: Any = None
    translation: tuple[float, ...] | None = None
    channels: tuple[Channel, ...] = ()


def ome_attributes(group: Any) -> dict[str, Any]:
    """The attributes of a group that are OME's, which version 0.5 keeps apart; none of an array."""
    if hasattr(group, "shape"):
        return {}
    attributes = group.attrs.asdict()
    inside = attributes.get("ome", attributes)
    return inside if isinstance(inside, dict) else {}


def find_image(group: Any) -> Any:
    """The description of an OME image; None if it is none."""
    images = ome_attributes(group).get("multiscales")
    return images[0] if isinstance(images, list) and images else None


def holds_labels(group: Any) -> bool:
    """Whether a group holds labels of an image, or is one of these: they are none of its images."""
    attributes = ome_attributes(group)
    return "image-label" in attributes or isinstance(attributes.get("labels"), list)


def is_plate(group: Any) -> bool:
    """Whether a group is a plate with wells."""
    return isinstance(ome_attributes(group).get("plate"), dict)


def fields_of(plate: Any) -> Iterator[str]:
    """The paths of the fields of a plate, in its own order; wells that are missing are left out."""
    for well in ome_attributes(plate)["plate"].get("wells", ()):
        path = str(well["path"])
        if path in plate:
            images = ome_attributes(plate[path]).get("well", {}).get("images", ())
            yield from (f"{path}/{image['path']}" for image in images)


def describe_level(group: Any, path: str, shape: Sequence[int]) -> Described:
    """What an OME image says of one of its levels."""
    image = find_image(group)
    axes = image.get("axes")
    if axes is None:  # before version 0.3 there were always these
        axes = list("tczyx")
    described = [axis if isinstance(axis, dict) else {"name": axis} for axis in axes]
    level = next((d for d in image["datasets"] if d["path"] == path), None)
    if level is None:
        return Described()
    labels = [str(axis["name"]) for axis in described]
    scale, translation = _place(level, image, len(labels))
    channels = _read_channels(ome_attributes(group).get("omero"))
    return Described(
        labels,
        scale,
        [axis.get("unit", "pixel") for axis in described],
        translation,
        _fitting(channels, labels, shape),
    )


def _place(level: Any, image: Any, n_axes: int) -> tuple[Any, tuple[float, ...] | None]:
    """The scale and the translation that all steps from pixels to the world make together."""
    scale, shift = [1.0] * n_axes, [0.0] * n_axes
    is_scaled = is_moved = False
    for step in (
        *level.get("coordinateTransformations", ()),
        *image.get("coordinateTransformations", ()),
    ):
        kind = step["type"]
        if kind not in ("scale", "translation") or kind not in step:  # it may be in a file
            continue
        numbers = finite_numbers(step[kind], n_axes)
        if numbers is None:
            return None, None
        if kind == "scale":
            scale = [a * b for a, b in zip(scale, numbers, strict=True)]
            shift = [a * b for a, b in zip(shift, numbers, strict=True)]
            is_scaled = True
        else:
            shift = [a + b for a, b in zip(shift, numbers, strict=True)]
            is_moved = True
    return scale if is_scaled else None, tuple(shift) if is_moved else None


def describe_plain(array: Any) -> Described:
    """What a plain array says of its axes."""
    attributes = array.attrs.asdict()
    names = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
    if not names or not all(isinstance(name, str) and name for name in names):
        names = None
    units = attributes.get("units")
    if not isinstance(units, list) or len(units) != array.ndim:
        units = None
    return Described(
        names,
        attributes.get("scale"),
        units,
        finite_numbers(attributes.get("translation"), array.ndim),
        _fitting(_read_channels({"channels": attributes.get("channels")}), names, array.shape),
    )


def read_recipe(node: Any) -> dict[str, Any]:
    """How the values came about, where a result of this package says it."""
    entry = node.attrs.asdict().get("napari-scsc")
    recipe = entry.get("recipe") if isinstance(entry, dict) else None
    return recipe if isinstance(recipe, dict) else {}


def finite_numbers(values: Any, n: int) -> tuple[float, ...] | None:
    """So many numbers, or None: what a file says may be anything."""
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == n and all(map(math.isfinite, numbers)) else None


def _fitting(
    channels: tuple[Channel, ...], labels: Sequence[str] | None, shape: Sequence[int]
) -> tuple[Channel, ...]:
    """The channels, if there is one for each value of their axis."""
    letters = [letter_of(label) for label in labels or ()]
    has_axis = letters.count("c") == 1 and len(letters) == len(shape)
    n_channels = shape[letters.index("c")] if has_axis else 1
    return channels if len(channels) == n_channels else ()


def _read_channels(omero: Any) -> tuple[Channel, ...]:
    entries = omero.get("channels") if isinstance(omero, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return ()
    return tuple(map(_read_channel, entries))


def _read_channel(entry: Mapping[str, Any]) -> Channel:
    colour = str(entry.get("color") or "").lstrip("#").upper()
    window = entry.get("window")
    if isinstance(window, dict):
        window = [window.get("start"), window.get("end")]
    limits = finite_numbers(window, 2)
    return Channel(
        str(entry.get("label") or ""),
        colour[:6] if re.fullmatch("[0-9A-F]{6}([0-9A-F]{2})?", colour) else "",
        None if limits is None else (limits[0], limits[1]),
    )
