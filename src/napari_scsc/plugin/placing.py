"""Where layers go that show something about images and are none: beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from napari.layers import Layer

from napari_scsc._types import LayerData
from napari_scsc.plugin import layers

_GAP = 0.05  # between the images and what is beside them, of the width of the images
_HEIGHT = 0.25  # of what is beside them, of their height: filters are some pixels only


def beside(viewer: Any, shape: tuple[int, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Scale and translation with which a layer of that shape lies to the right of all others.

    Its last two axes lie along the last two of the viewer. It is made large enough to be seen, and
    not smaller than in pixels of the images.
    """
    ndim = len(shape)
    scale, translate = np.ones(ndim), np.zeros(ndim)
    if len(viewer.layers) and ndim >= 2:
        (top, left), (bottom, right) = np.asarray(viewer.layers.extent.world)[:, -2:]
        pixel = float(np.min(np.abs(viewer.layers.extent.step[-2:])))
        scale[-2:] = max(_HEIGHT * (bottom - top) / max(shape[-2], 1), pixel)
        # The extent of layers ends in the middle of a pixel.
        translate[-2:] = top, right + _GAP * (right - left) + pixel / 2 + scale[-1] / 2
    return tuple(map(float, scale)), tuple(map(float, translate))


def add_beside(viewer: Any, made: LayerData) -> Any:
    """Add layer data beside the images, in their units; the layer that was made."""
    layer = Layer.create(*made)
    layer.scale, layer.translate = beside(viewer, layer.data.shape)
    layers.take_units(layer, viewer.layers.extent.units if len(viewer.layers) else None)
    return viewer.add_layer(layer)
