"""Layers as images, and results as layers that look like their source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Image, Labels, Shapes
from numpy.typing import NDArray

from napari_scsc import arrays
from napari_scsc.axes import PRESETS, Axes, resolve
from napari_scsc.bank import FilterBank

Array = NDArray[Any]

OURS = "napari_scsc"
"""Key of our entries in the metadata of a layer."""

# What a result takes over from its source besides data and name. An RGB layer has no colour map
# or contrast to take over, but bears both.
_LOOKS = (
    "scale",
    "translate",
    "rotate",
    "shear",
    "affine",
    "units",
    "axis_labels",
    "blending",
    "gamma",
    "rendering",
    "interpolation2d",
    "interpolation3d",
    "attenuation",
    "iso_threshold",
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a job needs of a layer, taken when it starts: the layer may change or go."""

    name: str
    layer_id: str
    data: Any
    axes: Axes
    looks: dict[str, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes of the data."""
        return arrays.view(self.data).shape


def snapshot(layer: Image, axes: Axes) -> Snapshot:
    """Take what a job needs from a layer."""
    looks = {name: _copied(getattr(layer, name)) for name in _LOOKS if hasattr(layer, name)}
    looks["rgb"] = layer.rgb
    if not layer.rgb:
        looks["colormap"] = layer.colormap
        looks["contrast_limits"] = tuple(layer.contrast_limits)
    return Snapshot(layer.name, str(layer.unique_id), layer.data, axes, looks)


def _copied(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def guess(layer: Image) -> Axes:
    """What the axes of a layer are; ValueError says what has to be told."""
    shape = arrays.view(layer.data).shape
    known = dict(layer.metadata).get(OURS, {})
    labels = tuple(layer.axis_labels)
    if layer.rgb:
        labels = (*labels, "c")
    kind = known.get("kind") if isinstance(known, dict) else None
    if kind in PRESETS and len(PRESETS[kind].labels) == len(shape):
        return PRESETS[kind]
    try:
        return resolve(shape, labels=labels, name=layer.name, rgb=layer.rgb)
    except ValueError:
        if not layer.rgb:
            raise
    # Colours whose other axes nobody has named: each picture by itself.
    return fallback(shape, rgb=True)


def fallback(shape: tuple[int, ...], rgb: bool) -> Axes:
    """Axes for a layer that nobody can guess: the last two slide, the others are separate."""
    n = len(shape) - 1 if rgb else len(shape)
    if n < 2:
        return Axes("custom", ("x",), ("shift",))
    roles = ("sample",) * (n - 2) + ("shift", "shift") + (("joint",) if rgb else ())
    labels = tuple(f"axis {i}" for i in range(n - 2)) + ("y", "x") + (("c",) if rgb else ())
    return Axes("custom", labels, roles)  # type: ignore[arg-type]


def result_arguments(source: Snapshot, task: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the layer of a result: it looks as its source does, and says how it was made."""
    return {
        **source.looks,
        "name": f"{source.name} · {task}",
        "multiscale": False,
        "metadata": {OURS: {"result_of": source.layer_id, "task": task, "recipe": recipe}},
    }


def find_result(layers: Any, layer_id: str, task: str) -> Image | None:
    """Our layer for that task on that source, if it is still there."""
    for layer in layers:
        entry = dict(layer.metadata).get(OURS)
        if not (isinstance(layer, Image) and isinstance(entry, dict)):
            continue
        if (entry.get("result_of"), entry.get("task")) == (layer_id, task):
            return layer
    return None


def is_ours(layer: Any) -> bool:
    """Whether the layer is a result or a layer of filters, not a source."""
    entry = dict(layer.metadata).get(OURS)
    return isinstance(entry, dict) and ("result_of" in entry or "bank" in entry)


def bank_of(layer: Any) -> FilterBank | None:
    """The filter bank that a layer shows, if it does."""
    entry = dict(layer.metadata).get(OURS)
    bank = entry.get("bank") if isinstance(entry, dict) else None
    return bank if isinstance(bank, FilterBank) else None


def missing_from(layer: Labels | Shapes, source: Snapshot) -> Array:
    """Where a Labels or Shapes layer says that the source is not known."""
    shape = source.shape
    plane = shape[:-1] if source.looks["rgb"] else shape
    if isinstance(layer, Labels):
        mask = np.asarray(layer.data) != 0
    else:
        # Shapes may be drawn on one plane of a stack: they count for all of them.
        masks = layer.to_masks(mask_shape=plane[-2:] if layer.ndim == 2 else plane)
        mask = np.asarray(masks).any(axis=0)
        while mask.ndim > 2 and mask.shape != plane:
            mask = mask.any(axis=0)
    if mask.shape != plane[len(plane) - mask.ndim :]:
        raise ValueError(
            f"the mask {layer.name!r} has the shape {mask.shape}, the image {source.name!r} "
            f"{plane}: draw it on the same pixels"
        )
    if source.looks["rgb"]:
        mask = mask[..., None]
    return np.broadcast_to(mask, shape)


def saturated(data: Any) -> Array:
    """Where the values are at the top of the range of their type, or of the data."""
    image = arrays.view(data)
    whole = image.read(tuple(slice(None) for _ in image.shape))
    top = np.iinfo(whole.dtype).max if whole.dtype.kind in "iu" else np.nanmax(whole)
    return np.asarray(whole >= min(top, np.nanmax(whole)))
