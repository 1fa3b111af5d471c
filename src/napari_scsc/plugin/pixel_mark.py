"""The pixel that is explained, marked on the canvas while somebody looks at the explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from napari.layers import Image

from napari_scsc._types import Array
from napari_scsc.plugin.line_layer import LineLayer

_NAME = "explained pixel"
_WIDTH, _RADIUS = 2.5, 8.0  # in pixels of the screen, however small those of the image are
_CORNERS = 16


class PixelMark:
    """A ring around a pixel, on its own plane only; it goes when nobody looks, or with the image.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the layer is shown.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._image: Image | None = None
        self._pixel: tuple[int, ...] = ()
        self._lines = LineLayer(viewer, _NAME, _WIDTH)
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
            self._lines.remove()

    def clear(self) -> None:
        """Forget the pixel."""
        self._lines.remove()
        self._image = None

    def _draw(self) -> None:
        image = self._image
        if self._is_seen and not self._lines.is_shown and image in self._viewer.layers:
            assert image is not None
            self._lines.show(image, lambda unit: _ring(self._pixel, _RADIUS * unit))


def _ring(pixel: tuple[int, ...], radius: float) -> Array:
    """Lines around a pixel, in its plane: starts and directions, (lines, 2, axes)."""
    angles = np.linspace(0, 2 * np.pi, _CORNERS + 1)
    corners = np.tile(np.asarray(pixel, float), (_CORNERS + 1, 1))
    corners[:, -2:] += radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    return np.stack([corners[:-1], np.diff(corners, axis=0)], axis=1)
