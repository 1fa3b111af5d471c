"""Layers as images, and results as layers that look like their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from napari.layers import Image, Labels, Shapes
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.data.axes import PRESETS, Axes, propose_axes
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.model.bank import FilterBank

OURS = "napari_scsc"
"""Key of our entries in the metadata of a layer."""

PREVIEW = "preview"
"""What the metadata of a preview say that it is."""

MAX_COPIED_BYTES = 256_000_000
"""Of a layer that is copied when its button is pressed: of more, the window would stand still."""

PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
"""What says where in the world a layer is."""

# What a result takes over from its source besides data and name. An RGB layer has no colour map
# or contrast to take over, but bears both.
_LOOKS = (
    *PLACE,
    "blending",
    "gamma",
    "rendering",
    "interpolation2d",
    "interpolation3d",
    "attenuation",
    "iso_threshold",
)


class FileChannel(NamedTuple):
    """Which channel of a file a layer shows: the axis of the channels, its number, of how many."""

    axis: int
    number: int
    total: int

    @property
    def place(self) -> tuple[slice | int, ...]:
        """The channel as an index of the array of the file."""
        return (*(slice(None),) * self.axis, self.number)

    def __str__(self) -> str:
        return f"[{':, ' * self.axis}{self.number}]"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a job needs of a layer, taken when it starts: the layer may change or go."""

    name: str
    layer_id: str
    data: Any
    axes: Axes
    looks: dict[str, Any]
    path: str | None = None  # of the file that it was read from
    channel: FileChannel | None = None  # of that file, if it is not all of it

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes of the data."""
        return wrap_image(self.data).shape


def take_snapshot(layer: Image, axes: Axes) -> Snapshot:
    """What a job needs of a layer, as it is now."""
    looks = {name: _copied(getattr(layer, name)) for name in _LOOKS if hasattr(layer, name)}
    looks["rgb"] = layer.rgb
    if not layer.rgb:
        looks["colormap"] = layer.colormap
        looks["contrast_limits"] = tuple(layer.contrast_limits)
    path = None if layer.source.path is None else str(layer.source.path)
    channel = _channel_in_file(layer)
    return Snapshot(layer.name, str(layer.unique_id), layer.data, axes, looks, path, channel)


def _channel_in_file(layer: Image) -> FileChannel | None:
    """What our reader has noted; of what was opened otherwise, nothing is known."""
    found = _entry_of(layer).get("channel")
    return FileChannel(*found) if isinstance(found, tuple) and len(found) == 3 else None


def keep_values(source: Snapshot) -> Snapshot:
    """The same with a copy of its values, which nobody can edit while a job reads them.

    What is large, or no array of numpy in memory, is not copied.
    """
    level = source.data[0] if isinstance(source.data, Sequence) else source.data
    is_in_memory = isinstance(level, np.ndarray) and not isinstance(level, np.memmap)
    if not is_in_memory or level.nbytes > MAX_COPIED_BYTES:
        return source
    return replace(source, data=level.copy())


def _copied(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def guess_axes(layer: Image) -> Axes:
    """What the axes of a layer are: what its labels, name and shape tell, or a proposal."""
    shape = wrap_image(layer.data).shape
    labels = tuple(layer.axis_labels)
    if layer.rgb:
        labels = (*labels, "c")
    kind = _entry_of(layer).get("kind")
    if kind in PRESETS and len(PRESETS[kind].labels) == len(shape):
        return PRESETS[kind]
    return propose_axes(shape, labels=labels, name=layer.name, rgb=layer.rgb)


def is_image(layer: Any) -> bool:
    """Whether the layer can be restored: an image, and none of ours."""
    return isinstance(layer, Image) and not is_ours(layer)


def channels_of(layer: Image, layers: Any) -> list[Image]:
    """The layers that napari made of one file, of one shape: channels of one scene."""
    path = layer.source.path
    if path is None:
        return [layer]
    return [
        other
        for other in layers
        if is_image(other)
        and other.source.path == path
        and other.rgb == layer.rgb
        and shape_of(other) == shape_of(layer)
    ]


def shape_of(layer: Image) -> tuple[int, ...]:
    """Lengths of the axes of the data; none, if it cannot be restored."""
    try:
        return wrap_image(layer.data).shape
    except (ValueError, TypeError):
        return ()


def result_arguments(source: Snapshot, task: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the layer of a result: it looks as its source does, and says how it was made."""
    return {
        **source.looks,
        "name": f"{source.name} · {task}",
        "multiscale": False,
        "metadata": {OURS: {"result_of": source.layer_id, "task": task, "recipe": recipe}},
    }


def sign(layer: Image) -> None:
    """Write into a layer of ours which one it is, and what we called it."""
    entry = {**layer.metadata[OURS], "layer": str(layer.unique_id), "name": layer.name}
    layer.metadata = {**layer.metadata, OURS: entry}


def _entry_of(layer: Any) -> dict[str, Any]:
    """Our entry in the metadata of a layer; empty if it has none."""
    entry = dict(layer.metadata).get(OURS)
    return entry if isinstance(entry, dict) else {}


def source_of(layer: Any) -> str | None:
    """The id of the layer that this one is a result of; None if it is no result."""
    return _entry_of(layer).get("result_of")


def is_ours(layer: Any) -> bool:
    """Whether the layer is a result, a layer of filters or a plot, not a source."""
    return not {"result_of", "bank", "plot", "mark"}.isdisjoint(_entry_of(layer))


def take_units(layer: Any, units: Any) -> None:
    """Give a layer that has no units those of the others, its last axes as their last ones.

    One layer in pixels among others would take the units away from all of them.
    """
    if units is not None:
        padded = ("pixel",) * layer.ndim + tuple(units)
        layer.units = padded[-layer.ndim :] if len(units) >= layer.ndim else padded[len(units) :]


def bank_of(layer: Any) -> FilterBank | None:
    """The filter bank that a layer shows, if it does."""
    bank = _entry_of(layer).get("bank")
    return bank if isinstance(bank, FilterBank) else None


def pixel_at(layer: Image, position: Any, axes: Axes) -> tuple[int | None, ...] | None:
    """The pixel of a layer at a position of the world; None outside.

    Of an RGB layer it is the mean of the colours, which has no index: None in the place of it.
    """
    pixel = np.round(layer.world_to_data(position)[-layer.ndim :]).astype(int)
    shape = wrap_image(layer.data).shape[: layer.ndim]
    if any(not 0 <= p < n for p, n in zip(pixel, shape, strict=True)):
        return None
    return (*(int(p) for p in pixel), *(None,) * (len(axes.labels) - layer.ndim))


def missing_from(mask: Labels | Shapes, image: Image) -> Array:
    """Where a Labels layer (not zero) or a Shapes layer says that the image is not known.

    Either it covers the image as it is drawn over it, or, with fewer axes, every plane of it.
    """
    shape = wrap_image(image.data).shape
    plane = shape[:-1] if image.rgb else shape
    if isinstance(mask, Labels):
        found = wrap_image(mask.data).whole() != 0
    else:
        found = _covered(_drawn_on(mask, image), plane[-mask.ndim :])
    if found.shape != plane[len(plane) - found.ndim :]:
        raise UserError(
            f"the mask {mask.name!r} has the shape {found.shape}, the image {image.name!r} "
            f"{plane}: draw it on the same pixels"
        )
    return np.broadcast_to(found[..., None] if image.rgb else found, shape)


def _drawn_on(shapes: Shapes, image: Image) -> Shapes:
    """The same shapes in pixels of the image: they may have been drawn in other units."""
    ahead = (0.0,) * (image.ndim - shapes.ndim)
    ndim = min(shapes.ndim, image.ndim)
    moved = [
        np.array([image.world_to_data((*ahead, *shapes.data_to_world(v))) for v in vertices])[
            :, -ndim:
        ]
        for vertices in shapes.data
    ]
    for vertices in moved:  # napari cuts off what division leaves of the number of a plane
        vertices[:, :-2] = np.round(vertices[:, :-2])
    zoom = shapes.scale[-1] / image.scale[-1] if len(moved) else 1.0
    widths = [float(width * zoom) for width in shapes.edge_width]
    return Shapes(moved, shape_type=list(shapes.shape_type), ndim=ndim, edge_width=widths or 1)


def _covered(shapes: Shapes, plane: tuple[int, ...]) -> Array:
    """Where shapes are drawn, lines and paths as thick as they are seen."""
    found = np.asarray(shapes.to_labels(labels_shape=plane) != 0)
    everything = zip(shapes.data, shapes.shape_type, shapes.edge_width, strict=True)
    lines = [shape for shape in everything if shape[1] in ("line", "path")]
    for width in {width for _, _, width in lines if width > 1}:
        equally_wide = [shape for shape in lines if shape[2] == width]
        centres = Shapes(
            [vertices for vertices, _, _ in equally_wide],
            shape_type=[kind for _, kind, _ in equally_wide],
            ndim=shapes.ndim,
        )
        inside = centres.to_labels(labels_shape=plane) != 0
        # Thick within a plane, not across planes.
        sampling = (*(1e9,) * (len(plane) - 2), 1.0, 1.0)
        if inside.any():
            found |= ndimage.distance_transform_edt(~inside, sampling=sampling) < width / 2
    return found
