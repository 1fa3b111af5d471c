"""The original alone on the canvas, for as long as somebody holds a button."""

from __future__ import annotations

from typing import Any

from napari.layers import Image


class Visibilities:
    """Hides or shows layers, and puts everything back as it was.

    Of a layer that is changed several times the first state counts. One that has left the viewer
    is put back too: it may come again.
    """

    def __init__(self) -> None:
        self._before: list[tuple[Any, bool]] = []

    def set(self, layer: Any, visible: bool) -> None:
        """Show or hide a layer until ``restore``."""
        if layer.visible != visible:
            self._before.append((layer, layer.visible))
            layer.visible = visible

    def restore(self) -> None:
        """Put all layers back."""
        for layer, visible in reversed(self._before):
            layer.visible = visible
        self._before = []


class OriginalView:
    """Shows a source alone, whatever lies above it.

    Parameters
    ----------
    viewer : napari.Viewer
        Whose layers are hidden meanwhile.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._visibilities = Visibilities()
        self._is_shown = False

    def show_original(self, source_layer_id: str, shown: bool) -> None:
        """Show the layer of that id and no other image, or all as it was before.

        Without such a layer nothing is hidden.
        """
        if not shown:
            self._visibilities.restore()
            self._is_shown = False
            return
        images = [layer for layer in self._viewer.layers if isinstance(layer, Image)]
        is_there = any(str(layer.unique_id) == source_layer_id for layer in images)
        if self._is_shown or not is_there:
            return
        self._is_shown = True
        for layer in images:
            self._visibilities.set(layer, str(layer.unique_id) == source_layer_id)
