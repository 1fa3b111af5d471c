"""Lines over an image, as wide on the screen at every zoom: frames, marks, the line of the wipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from napari.layers import Image, Vectors

from napari_scsc._types import Array, Region
from napari_scsc.plugin import layers
from napari_scsc.plugin.handlers import handler

COLOUR = (1.0, 0.69, 0.0, 1.0)  # the orange of the plots

Draw = Callable[[float], Array]
"""The lines, starts and directions of the shape (lines, 2, axes) in pixels of the image; it is
given how much of one is a pixel of the screen."""


class LineLayer:
    """A layer of our own with lines over an image.

    It follows the zoom and the sliders, and goes with its image. A user who wants to keep it gives
    it another name.

    Parameters
    ----------
    viewer : napari.Viewer
        Where it is shown.
    name : str
        What the layer is called.
    width : float
        Of its lines, in pixels of the screen.
    """

    def __init__(self, viewer: Any, name: str, width: float) -> None:
        self._viewer, self._name, self._width = viewer, name, width
        self._image: Image | None = None
        self._draw: Draw | None = None
        self._layer: Vectors | None = None

    @property
    def is_shown(self) -> bool:
        """Whether there are lines."""
        return self._layer is not None

    def show(self, image: Image, draw: Draw) -> None:
        """Draw these lines over an image from now on, above all layers."""
        self.remove()
        self._image, self._draw = image, draw
        self._layer = Vectors(
            ndim=image.ndim,
            name=self._name,
            vector_style="line",
            edge_color=[COLOUR],
            metadata={layers.OURS: {"plot": "lines"}},
        )
        self.redraw()
        selected = set(self._viewer.layers.selection)
        self._viewer.layers.append(self._layer)
        self._viewer.layers.selection = selected
        self._connect(True)

    @handler
    def redraw(self, _event: Any = None) -> None:
        """Draw them again: what they show, or the image, has changed."""
        layer, image, draw = self._layer, self._image, self._draw
        if layer is None or image is None or draw is None:
            return
        for name in layers.PLACE:
            if not np.array_equal(getattr(layer, name), getattr(image, name)):
                setattr(layer, name, getattr(image, name))
        pixels = self._viewer.scene.camera.zoom * float(np.mean(np.abs(image.scale[-2:])))
        unit = 1 / max(pixels, 1e-9)
        layer.data = draw(unit)
        layer.edge_width = self._width * unit

    def remove(self) -> None:
        """Remove them."""
        layer = self._layer
        if layer is None:
            return
        self._layer = self._image = self._draw = None
        self._connect(False)
        if layer in self._viewer.layers and layer.name == self._name:
            self._viewer.layers.remove(layer)

    def _connect(self, yes: bool) -> None:
        viewer = self._viewer
        for signal, slot in (
            (viewer.layers.events.removed, self._on_removed),
            (viewer.scene.camera.events.zoom, self.redraw),
            (viewer.dims.events.current_step, self.redraw),
            (viewer.dims.events.order, self.redraw),
        ):
            (signal.connect if yes else signal.disconnect)(slot)

    @handler
    def _on_removed(self, event: Any) -> None:
        if event.value == self._image or event.value == self._layer:
            self.remove()


def plane_of(dims: Any, image: Image) -> tuple[tuple[int, int], Array]:
    """The two axes of the image that are shown, and its pixel at the sliders."""
    plane = np.round(image.world_to_data(dims.point)[-image.ndim :]).astype(int)
    first = dims.ndim - image.ndim
    y, x = (axis - first for axis in dims.displayed[-2:])
    if min(y, x) < 0:  # the axes of another layer are shown, along which this one has no extent
        y, x = image.ndim - 2, image.ndim - 1
    return (y, x), plane


def lines_around(region: Region, shown: tuple[int, int], plane: Array, half_width: float) -> Array:
    """Start and direction, (4, 2, axes), of the sides of a region in the plane.

    A pixel reaches half a pixel to either side. Lines reach over the corners by half their width.
    """
    (top, bottom), (left, right) = (
        (region[axis].start - 0.5, region[axis].stop - 0.5) for axis in shown
    )
    over = half_width
    sides = (  # y, x, and how far they go along both
        (top, left - over, 0, right - left + 2 * over),
        (bottom, left - over, 0, right - left + 2 * over),
        (top - over, left, bottom - top + 2 * over, 0),
        (top - over, right, bottom - top + 2 * over, 0),
    )
    lines = np.zeros((4, 2, len(plane)))
    lines[:, 0] = plane
    for axis, (start, length) in zip(shown, ((0, 2), (1, 3)), strict=True):
        lines[:, 0, axis] = [side[start] for side in sides]
        lines[:, 1, axis] = [side[length] for side in sides]
    return lines
