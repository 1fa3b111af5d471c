"""The patches of a pixel's group, outlined in the viewer while somebody looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from napari.layers import Image, Vectors

from napari_scsc._types import Array, Region
from napari_scsc.plugin import layers
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.line_layer import lines_around, plane_of
from napari_scsc.plugin.pixel_mark import PixelMark
from napari_scsc.restore.personal_dictionary import PersonalDictionary

_NAME = "patches like this one"

_CHOSEN, _OTHERS = (1.0, 0.69, 0.0), (0.39, 0.69, 0.96)  # an orange, and a blue: as in the plots
_WIDTH = 1.3  # of a line, in pixels of the screen
_OPACITIES = 0.6, 0.15  # of the most and the least alike: the image is to be seen through them


class GroupOutlines:
    """A layer of our own with the outlines of a group in the plane that is shown.

    It is made when a pixel was explained, and goes when the plots that explain it are hidden, when
    another pixel is explained, or with the image. The user's layers, and which of them are
    selected, stay as they are. A user who wants to keep it gives it another name.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the layer is shown.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._group: PersonalDictionary | None = None
        self._image: Image | None = None
        self._layer: Vectors | None = None
        self._is_seen = False
        self.mark = PixelMark(viewer)

    def mark_pixel(self, image: Image, pixel: Sequence[int | None]) -> None:
        """Mark a pixel of an image that will be explained, and forget the group of the last."""
        self.clear()
        self.mark.show(image, pixel)

    def show(self, group: PersonalDictionary, image: Image) -> None:
        """Outline that group of an image and mark its pixel, as long as somebody looks."""
        self.mark_pixel(image, group.position)
        self._group, self._image = group, image
        self._draw()

    def set_seen(self, seen: bool) -> None:
        """Whether somebody looks at the explanation."""
        self._is_seen = seen
        self.mark.set_seen(seen)
        if seen:
            self._draw()
        else:
            self._remove()

    def clear(self) -> None:
        """Forget the group and the pixel."""
        self._remove()
        self.mark.clear()
        self._group = self._image = None

    def _draw(self) -> None:
        group, image, viewer = self._group, self._image, self._viewer
        if not self._is_seen or group is None or image is None or image not in viewer.layers:
            return
        # No Shapes: the first of them in a session takes seconds, for napari compiles something.
        self._layer = Vectors(
            ndim=image.ndim,
            name=_NAME,
            vector_style="line",
            opacity=1.0,
            metadata={layers.OURS: {"plot": "outlines"}},
            **{name: getattr(image, name) for name in layers.PLACE},
        )
        self._fill()
        selected = set(viewer.layers.selection)
        viewer.layers.append(self._layer)
        viewer.layers.selection = selected
        events = viewer.dims.events
        for signal in (events.current_step, events.order, events.ndisplay):
            signal.connect(self._fill)
        viewer.layers.events.removed.connect(self._on_removed)

    def _remove(self) -> None:
        layer, viewer = self._layer, self._viewer
        if layer is None:
            return
        self._layer = None
        events = viewer.dims.events
        for signal in (events.current_step, events.order, events.ndisplay):
            signal.disconnect(self._fill)
        viewer.layers.events.removed.disconnect(self._on_removed)
        if layer in viewer.layers and layer.name == _NAME:
            viewer.layers.remove(layer)

    @handler
    def _on_removed(self, event: Any) -> None:
        if event.value == self._image:
            self.clear()
        elif event.value == self._layer:
            self._remove()

    @handler
    def _fill(self, _event: Any = None) -> None:
        """Draw the outlines that lie in the plane that is shown."""
        group, image, layer = self._group, self._image, self._layer
        if group is None or image is None or layer is None:
            return
        shown, plane = plane_of(self._viewer.dims, image)
        regions = [
            (region[: image.ndim], _fade(i, group)) for i, region in enumerate(group.members)
        ]
        seen = [(r, c) for r, c in regions if _is_cut(r, shown, plane)]
        pixel = tuple(
            slice(None) if i is None else slice(i, i + 1) for i in group.position[: image.ndim]
        )
        if _is_cut(pixel, shown, plane):
            seen.insert(0, (pixel, (*_CHOSEN, 1.0)))
        seen.reverse()  # the most alike over the others
        width = self._line_width(image)
        lines = [lines_around(region, shown, plane, width / 2) for region, _ in seen]
        layer.data = np.concatenate(lines) if lines else np.zeros((0, 2, image.ndim))
        layer.edge_width = width
        if seen:
            layer.edge_color = np.repeat([colour for _, colour in seen], 4, axis=0)

    def _line_width(self, image: Image) -> float:
        """The width of a line, in pixels of the image."""
        pixels = self._viewer.scene.camera.zoom * float(np.min(np.abs(image.scale[-2:])))
        return float(np.clip(_WIDTH / max(pixels, 1e-6), 0.1, 2.0))


def _fade(number: int, group: PersonalDictionary) -> tuple[float, ...]:
    """The colour of a member: the less alike it is, the fainter."""
    if number == 0:
        return (*_CHOSEN, 1.0)
    share = number / max(len(group.members) - 1, 1)
    strongest, faintest = _OPACITIES
    return (*_OTHERS, strongest + (faintest - strongest) * share)


def _is_cut(region: Region, shown: tuple[int, int], plane: Array) -> bool:
    """Whether the plane goes through a region."""
    return all(
        axis in shown or part == slice(None) or part.start <= plane[axis] < part.stop
        for axis, part in enumerate(region)
    )
