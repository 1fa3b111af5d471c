"""The pixel that is explained, marked on the canvas while somebody looks at the explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from napari.layers import Image, Vectors

from napari_scsc._types import Array
from napari_scsc.plugin import layers

_NAME = "explained pixel"
_COLOUR = (1.0, 0.69, 0.0, 1.0)  # the orange of the plots
_WIDTH, _RADIUS = 2.5, 8.0  # in pixels of the screen, however small those of the image are
_CORNERS = 16


class PixelMark:
    """A layer of our own with a ring around a pixel; on its own plane only.

    It goes when nobody looks, or with the image. A user who wants to keep it gives it another name.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the layer is shown.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._image: Image | None = None
        self._pixel: tuple[int, ...] = ()
        self._layer: Vectors | None = None
        self._is_seen = False

    def show(self, image: Image, pixel: Sequence[int | None]) -> None:
        """Mark that pixel of an image, as long as somebody looks."""
        self.clear()
        self._image = image
        self._pixel = tuple(i or 0 for i in pixel[: image.ndim])
        self._draw()

    def set_seen(self, seen: bool) -> None:
        """Whether somebody looks at the explanation."""
        self._is_seen = seen
        if seen:
            self._draw()
        else:
            self._remove()

    def clear(self) -> None:
        """Forget the pixel."""
        self._remove()
        self._image = None

    def _draw(self) -> None:
        image, viewer = self._image, self._viewer
        if self._layer is not None or not self._is_seen:
            return
        if image is None or image not in viewer.layers:
            return
        # Lines, and no point: in vispy, a point that goes just before its window does is drawn once
        # more, which may end the process.
        self._layer = Vectors(
            ndim=image.ndim,
            name=_NAME,
            vector_style="line",
            edge_color=[_COLOUR],
            metadata={layers.OURS: {"plot": "pixel"}},
            **{name: getattr(image, name) for name in layers.PLACE},
        )
        self._resize()
        selected = set(viewer.layers.selection)
        viewer.layers.append(self._layer)
        viewer.layers.selection = selected
        viewer.layers.events.removed.connect(self._on_removed)
        viewer.scene.camera.events.zoom.connect(self._resize)

    def _remove(self) -> None:
        layer, viewer = self._layer, self._viewer
        if layer is None:
            return
        self._layer = None
        viewer.layers.events.removed.disconnect(self._on_removed)
        viewer.scene.camera.events.zoom.disconnect(self._resize)
        if layer in viewer.layers and layer.name == _NAME:
            viewer.layers.remove(layer)

    def _resize(self, _event: Any = None) -> None:
        """Have the same size on the screen; napari's own limits would make the line thick."""
        if self._layer is not None:
            zoom = self._viewer.scene.camera.zoom * float(np.mean(np.abs(self._layer.scale[-2:])))
            unit = 1 / max(zoom, 1e-9)  # a pixel of the screen
            self._layer.data = _ring(self._pixel, _RADIUS * unit)
            self._layer.edge_width = _WIDTH * unit

    def _on_removed(self, event: Any) -> None:
        if event.value == self._image:
            self.clear()
        elif event.value == self._layer:
            self._remove()


def _ring(pixel: tuple[int, ...], radius: float) -> Array:
    """Lines around a pixel, in its plane: starts and directions, (lines, 2, axes)."""
    angles = np.linspace(0, 2 * np.pi, _CORNERS + 1)
    corners = np.tile(np.asarray(pixel, float), (_CORNERS + 1, 1))
    corners[:, -2:] += radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    return np.stack([corners[:-1], np.diff(corners, axis=0)], axis=1)
