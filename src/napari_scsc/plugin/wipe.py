"""Before and after: the source on one side of a line that can be dragged, the result on the other.

napari cannot cut a layer off in the 2-D view. So a layer of our own, above all others, shows the
part of the source that lies before the line, and another draws the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dask.array
import numpy as np
from napari.layers import Image
from qtpy.QtCore import QObject, QTimer, Signal

from napari_scsc._types import Array
from napari_scsc.data.foreign_arrays import is_dask, is_xarray
from napari_scsc.data.image import wrap_image
from napari_scsc.plugin import layers
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.line_layer import LineLayer, plane_of
from napari_scsc.plugin.original_view import Visibilities
from napari_scsc.plugin.preview import span_in_view

_MILLISECONDS_BETWEEN_CUTS = 50  # no more of them than the screen can show
_REACH = 10.0  # pixels of the screen from the line within which a drag moves it
_LINE_WIDTH = 2.0  # in pixels of the screen
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
    "rgb",
    "interpolation2d",
)
_NO_PAIR = "There is nothing to compare: the image or its result is gone"
_ONLY_2D = "The wipe works in the 2-D view: leave the 3-D view first"


class Wipe(QObject):
    """Shows the source before a line on the canvas, and the result behind it.

    The line lies across the axis that napari shows to the right, and "before" is where that axis
    begins: left, unless the layer is mirrored. It stays on its pixel when the view moves. Layers of
    the user's are only hidden, if they lie over the result, and come back.

    Parameters
    ----------
    viewer : napari.Viewer
        Where it is shown.
    parent : QObject, optional
        The dock.

    Signals
    -------
    told : str
        Why it cannot be shown.
    taken_back : str
        What was told holds no more.
    switched : bool
        It was switched on or off; off also when a layer of the pair goes, or in the 3-D view.
    moved : float
        Where the line is, 0 to 1, after a drag.
    """

    told = Signal(str)
    taken_back = Signal(str)
    switched = Signal(bool)
    moved = Signal(float)

    def __init__(self, viewer: Any, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._source: _Source | None = None
        self._result: Image | None = None
        self._layer: Image | None = None
        self._line = LineLayer(viewer, "wipe · line", _LINE_WIDTH)
        self._axis = -1  # of the source, that the line lies across
        self._cut = 0  # the first pixel behind the line
        self._shown_at = (-1, 0)  # axis and cut that the layer has
        self._visibilities = Visibilities()
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.setInterval(_MILLISECONDS_BETWEEN_CUTS)
        self._clock.timeout.connect(self._draw)

    # --- what users of it see -------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        """Whether it is shown."""
        return self._layer is not None

    def set_pair(self, source: Image | Snapshot | None, result: Image | None) -> None:
        """Compare these from now on; it goes on with them if it is shown."""
        was_on, position = self.is_on, self.position
        self.switch(False)
        self._source = None if source is None else _Source(source)
        self._result = result
        if was_on:
            self.switch(True)
            if self.is_on:
                self.position = position

    def switch(self, on: bool) -> None:
        """Show it, with the line in the middle of the view, or take it away."""
        if on == self.is_on:
            return
        if on and self._refusal:
            self._refuse()
            self.switched.emit(False)
            return
        if on:
            try:
                self._begin()
            except Exception:
                self._end()
                self.switched.emit(False)
                raise
        else:
            self._end()
        self.switched.emit(self.is_on)

    @property
    def position(self) -> float:
        """Where the line is, from 0 to 1 of what is in view of the source."""
        if not self.is_on:
            return 0.5
        low, high = self._span_in_view()
        return float(np.clip((self._cut - low) / max(high - low, 1), 0, 1))

    @position.setter
    def position(self, share: float) -> None:
        if not self.is_on:
            return
        low, high = self._span_in_view()
        self._move_line(low + float(np.clip(share, 0, 1)) * (high - low))

    def close(self) -> None:
        """Take it away for good."""
        self.switch(False)
        self._source = self._result = None
        self._viewer.dims.events.ndisplay.disconnect(self._on_2d)

    @property
    def _refusal(self) -> str:
        """Why it cannot be shown; empty if it can."""
        source, there = self._source, self._viewer.layers
        if source is None or self._result is None or self._result not in there:
            return _NO_PAIR
        if source.layer is not None and source.layer not in there:
            return _NO_PAIR
        return _ONLY_2D if self._viewer.dims.ndisplay == 3 else ""

    def _refuse(self) -> None:
        """Say why it cannot be shown, for as long as that is so."""
        self.told.emit(self._refusal)
        if self._refusal == _ONLY_2D:
            self._viewer.dims.events.ndisplay.disconnect(self._on_2d)  # it is listened to once
            self._viewer.dims.events.ndisplay.connect(self._on_2d)

    @handler
    def _on_2d(self, _event: Any = None) -> None:
        self._viewer.dims.events.ndisplay.disconnect(self._on_2d)
        self.taken_back.emit(_ONLY_2D)

    # --- on and off -----------------------------------------------------------------------------

    def _begin(self) -> None:
        viewer, source, result = self._viewer, self._source, self._result
        assert source is not None
        assert result is not None
        self._find_axis()
        low, high = self._span_in_view()
        self._cut = (low + high) // 2
        over = viewer.layers[viewer.layers.index(result) + 1 :]
        for layer in over:
            if isinstance(layer, Image) and layer is not source.layer:
                self._visibilities.set(layer, False)
        self._visibilities.set(result, True)
        selected = set(viewer.layers.selection)
        made = self._layer = self._make_layer()
        self._connect(True)
        viewer.mouse_drag_callbacks.append(self._on_drag)
        viewer.layers.append(made)
        layers.sign(made)
        self._line.show(made, self._draw_line)
        viewer.layers.selection = selected

    def _end(self) -> None:
        layer = self._layer
        self._layer = None
        self._clock.stop()
        self._connect(False)
        if self._on_drag in self._viewer.mouse_drag_callbacks:
            self._viewer.mouse_drag_callbacks.remove(self._on_drag)
        self._visibilities.restore()
        self._line.remove()
        if layer is None or layer not in self._viewer.layers:
            return
        signed = layer.metadata[layers.OURS].get("name", layer.name)
        if layer.name == signed:  # who gives it another keeps it
            self._viewer.layers.remove(layer)

    def _connect(self, yes: bool) -> None:
        dims = self._viewer.dims.events
        for signal, slot in (
            (dims.order, self._on_axes),
            (dims.ndisplay, self._on_axes),
            (self._viewer.layers.events.removed, self._on_removed),
        ):
            (signal.connect if yes else signal.disconnect)(slot)

    @handler
    def _on_removed(self, event: Any) -> None:
        source = None if self._source is None else self._source.layer
        if any(event.value == layer for layer in (self._layer, source, self._result)):
            self.switch(False)

    @handler
    def _on_axes(self, _event: Any = None) -> None:
        """Other axes are displayed: the line lies across another one."""
        if self._refusal:
            self._refuse()
            self.switch(False)
            return
        axis = self._axis
        self._find_axis()
        if self._axis != axis:
            low, high = self._span_in_view()
            self._move_line((low + high) / 2)

    # --- the line -------------------------------------------------------------------------------

    def _find_axis(self) -> None:
        assert self._source is not None
        dims = self._viewer.dims
        axis = dims.displayed[-1] - (dims.ndim - self._source.ndim)
        self._axis = axis if axis >= 0 else self._source.ndim - 1

    def _span_in_view(self) -> tuple[int, int]:
        """First pixel of the source, and the one after the last, that are in view."""
        source, result = self._source, self._result
        assert source is not None
        assert result is not None
        n = source.shape[self._axis]
        shown = source.layer or result
        if shown.data.shape[: source.ndim] != source.shape:  # a part of it only
            return 0, n
        low, high = span_in_view(shown, self._axis, n)
        return (low, high) if high - low > 1 else (0, n)

    def _move_line(self, cut: float) -> None:
        """Have the line before that pixel, as soon as the screen can show it."""
        if self.is_on and self._source is not None:
            last = max(self._source.shape[self._axis] - 1, 1)
            self._cut = int(np.clip(round(cut), 1, last))
            if not self._clock.isActive():
                self._draw()

    @handler
    def _draw(self) -> None:
        place = (self._axis, self._cut)
        if self._layer is not None and self._source is not None and self._shown_at != place:
            self._layer.data = self._source.part_before(*place)
            self._shown_at = place
            self._line.redraw()
            self._clock.start()

    def _draw_line(self, _unit: float) -> Array:
        assert self._source is not None
        assert self._layer is not None
        shown, plane = plane_of(self._viewer.dims, self._layer)
        along = shown[0] if self._axis == shown[1] else shown[1]
        line = np.zeros((1, 2, self._layer.ndim))
        line[0, 0] = plane
        line[0, 0, self._axis], line[0, 0, along] = self._cut - 0.5, -0.5
        line[0, 1, along] = self._source.shape[along]
        return line

    def _make_layer(self) -> Image:
        assert self._source is not None
        self._shown_at = (self._axis, self._cut)
        data = self._source.part_before(*self._shown_at)
        return Image(
            data,
            **self._source.looks,
            name=f"{self._source.name} · before",
            multiscale=isinstance(data, list),
            metadata={layers.OURS: {"plot": "before"}},
        )

    # --- dragging -------------------------------------------------------------------------------

    @handler
    def _on_drag(self, viewer: Any, event: Any) -> Iterator[None]:
        active = viewer.layers.selection.active
        is_drawing = active is not None and active.mode != "pan_zoom"
        if is_drawing or not self._is_near(event.position):
            return
        event.handled = True  # the view stays
        yield
        while event.type == "mouse_move" and self.is_on:
            event.handled = True
            self._move_line(self._pixel_at(event.position) + 0.5)
            yield
        self._draw()
        self.moved.emit(self.position)

    def _is_near(self, position: Any) -> bool:
        assert self._layer is not None
        size = abs(float(self._layer.scale[self._axis])) * self._viewer.scene.camera.zoom
        return bool(abs(self._pixel_at(position) + 0.5 - self._cut) * size <= _REACH)

    def _pixel_at(self, position: Any) -> float:
        """Where a position of the world is along the axis of the source."""
        assert self._layer is not None  # it begins where the source does
        return float(self._layer.world_to_data(position)[-self._layer.ndim :][self._axis])


class _Source:
    """What is shown before the line: a layer, or what a job has kept of one."""

    def __init__(self, source: Image | Snapshot) -> None:
        self.layer = source if isinstance(source, Image) else None
        self._source = source

    @property
    def name(self) -> str:
        return str(self._source.name)

    @property
    def looks(self) -> dict[str, Any]:
        if self.layer is None:
            return dict(self._source.looks)
        colours = () if self.layer.rgb else ("colormap", "contrast_limits")
        return {name: getattr(self.layer, name) for name in (*_LOOKS, *colours)}

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes that napari knows: not of the colours."""
        return wrap_image(self._source.data).shape[: self.ndim]

    @property
    def ndim(self) -> int:
        return len(self.looks["scale"])

    def part_before(self, axis: int, cut: int) -> Any:
        """The values before a pixel along an axis, as a view that reads nothing; or its levels."""
        data, n = self._source.data, self.shape[axis]
        levels = list(data) if isinstance(data, Sequence) else [data]
        factors = [max(round(n / level.shape[axis]), 1) for level in levels]
        # A whole number of pixels of every level: else the levels would not lie on each other.
        cut = max(cut // factors[-1], 1) * factors[-1]
        ahead = (slice(None),) * axis
        parts = [
            _sliceable(level)[(*ahead, slice(0, max(cut // factor, 1)))]
            for level, factor in zip(levels, factors, strict=True)
        ]
        return parts if len(parts) > 1 else parts[0]


def _sliceable(array: Any) -> Any:
    """An array of which a slice is a view: those of files would read it at once."""
    if isinstance(array, np.ndarray) or is_dask(array) or is_xarray(array):
        return array
    from_array: Any = dask.array.from_array  # it has no annotations
    return from_array(array, chunks=getattr(array, "chunks", None) or "auto", name=False)
