"""The pixel that is explained, marked on the canvas while somebody looks at the explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from napari.layers import Image, Points

from napari_scsc.plugin import layers

_NAME = "explained pixel"
_PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
_COLOUR = (1.0, 0.69, 0.0, 1.0)  # the orange of the plots
_SIZE = 17  # in pixels of the screen, however small those of the image are


class PixelMark:
    """A layer of our own with a cross on a pixel; on its own plane only.

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
        self._layer: Points | None = None
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
        self._layer = Points(
            [self._pixel],
            name=_NAME,
            symbol="cross",
            size=1,
            canvas_size_limits=(_SIZE, _SIZE),
            face_color=[_COLOUR],
            border_color="black",
            border_width=0.1,
            metadata={layers.OURS: {"plot": "pixel"}},
            **{name: getattr(image, name) for name in _PLACE},
        )
        selected = set(viewer.layers.selection)
        viewer.layers.append(self._layer)
        viewer.layers.selection = selected
        viewer.layers.events.removed.connect(self._on_removed)

    def _remove(self) -> None:
        layer, viewer = self._layer, self._viewer
        if layer is None:
            return
        self._layer = None
        viewer.layers.events.removed.disconnect(self._on_removed)
        if layer in viewer.layers and layer.name == _NAME:
            viewer.layers.remove(layer)

    def _on_removed(self, event: Any) -> None:
        if event.value is self._image:
            self.clear()
        elif event.value is self._layer:
            self._remove()
