"""What an OME-Zarr image says of itself: axes, levels, channels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_scsc.data.axes import letter_of
from napari_scsc.errors import UserError
from napari_scsc.io.channels import Channel, shown_colours
from napari_scsc.io.stores.base import Store
from napari_scsc.io.units import WORDS

_AXIS_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


def describe_axes(store: Store) -> list[dict[str, str]]:
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


def describe_image(store: Store, spans: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """The entry of ``multiscales``; of each level, how many of the finest pixels a pixel spans."""
    n = len(store.shape)
    scale, translation = store.scale or (1.0,) * n, store.translation
    datasets = []
    for level, span in enumerate(spans):
        sizes = [s * n for s, n in zip(scale, span, strict=True)]
        # The middle of the first pixel, which is what coordinates are those of.
        middle = [
            t + s * (n - 1) / 2
            for s, n, t in zip(scale, span, translation or (0.0,) * n, strict=True)
        ]
        steps: list[dict[str, Any]] = [{"type": "scale", "scale": sizes}]
        if level or translation:
            steps.append({"type": "translation", "translation": middle})
        datasets.append({"path": str(level), "coordinateTransformations": steps})
    return {
        "name": store.name,
        "axes": describe_axes(store),
        "datasets": datasets,
        "type": "mean",
        "metadata": {
            "description": "means of two pixels along axes of space; integers are rounded"
        },
    }


def describe_channels(
    channels: Sequence[Channel], windows: Sequence[tuple[float, float]], dtype: np.dtype[Any]
) -> dict[str, Any]:
    """The entry ``omero``: names, colours and windows, of which it wants one for each channel."""
    entries = []
    for channel, colour, (start, end) in zip(
        channels, shown_colours(channels), windows, strict=True
    ):
        low, high = start, end
        if dtype.kind in "iu":
            low, high = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
        entries.append(
            {
                "label": channel.name,
                "color": colour,
                "window": {"min": low, "max": high, "start": start, "end": end},
                "active": True,
            }
        )
    return {"channels": entries}
