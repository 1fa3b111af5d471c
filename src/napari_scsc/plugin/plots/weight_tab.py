"""The weights W."""

from __future__ import annotations

import numpy as np
from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QHBoxLayout

from napari_scsc._types import Array, LayerData
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots.plot_content import PlotContent, largest_of, sum_of_filters
from napari_scsc.plugin.plots.plot_export import Table, layer_data
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_theme import column
from napari_scsc.plugin.plots.plot_widgets import ColourBar, Picture, TextLine, Thumbnail

_BY_USE = "columns of W by use"
_BY_LENGTH = "columns of W by length"


class WeightTab(PlotTab):
    """The heat map of W, and the filter that the column under the mouse composes."""

    title = "Weights"
    tip = "Weights W of the sample now being coded"

    def __init__(self) -> None:
        super().__init__()
        self._content: PlotContent | None = None
        self._index: tuple[int, ...] = ()
        self._chosen = (0, 0)  # base filter, place in the order
        self.picture = Picture("Weights W", (_BY_USE, "base filter"))
        self.picture.pointed.connect(self._point)
        self.picture.stepped.connect(self._step)
        self.scale = ColourBar("Weights: zero is white")
        self.composed = Thumbnail("Filter composed by the outlined column")
        self.text = TextLine(lines=4)
        beside = QHBoxLayout()
        beside.addWidget(self.composed)
        beside.addWidget(self.text, 1)
        layout = column(self)
        layout.addWidget(self.picture, 1)
        layout.addWidget(self.scale)
        layout.addLayout(beside)
        layout.addStretch()  # while there is no picture, the hint stays at the top
        self.draw(None, ())

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show the weights, and a column's filter at that position of its other axes."""
        self._content, self._index = content, index
        known = content is not None and content.weights is not None
        for widget in (self.picture, self.scale, self.composed):
            widget.setVisible(known)
        if content is None or content.weights is None:
            self._content = None
            self.picture.clear()
            self.text.say("The weights of each sample appear here while it is learned from.")
            return
        limit = _limit(content.weights)
        order = "most used" if content.by_use else "longest"
        self.picture.setToolTip(f"Each column of W mixes a filter; the {order} one comes first")
        self.picture.name_x(_BY_USE if content.by_use else _BY_LENGTH)
        self.scale.set_limit(limit)
        self.picture.show_picture(diverging(content.weights[:, content.order], limit))
        self._show_chosen()

    @handler
    def _point(self, row: int, column: int) -> None:
        if (row, column) != self._chosen:
            self._chosen = (row, column)
            self._show_chosen()

    @handler
    def _step(self, down: int, right: int) -> None:
        if self._content is not None and self._content.weights is not None:
            row, place = self._chosen[0] + down, self._chosen[1] + right
            rows, places = self._content.weights.shape
            self._point(min(max(row, 0), rows - 1), min(max(place, 0), places - 1))

    def _show_chosen(self) -> None:
        content = self._content
        if content is None or content.weights is None:
            return
        weights = content.weights
        r, place = (min(i, n - 1) for i, n in zip(self._chosen, weights.shape, strict=True))
        k = int(content.order[place])
        self.picture.outline(place, 0, 1, len(weights))
        composed = np.tensordot(weights[:, k], content.filters, 1)
        self.composed.show_picture(diverging(composed[self._index], largest_of(composed[None])[0]))
        self.text.say(
            f"B {r} \N{MULTIPLICATION SIGN} column {k}: {weights[r, k]:.2g}",
            f"D {k} = {sum_of_filters(weights[:, k])}",
        )

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether there are no weights yet."""
        return content is None or content.weights is None

    def table(self, content: PlotContent | None) -> Table:
        """One row a base filter, the most used column first."""
        assert content is not None
        assert content.weights is not None
        names = ["base filter", *(f"column {k}" for k in content.order)]
        rows = content.weights[:, content.order].tolist()
        return [names, *([r, *row] for r, row in enumerate(rows))]

    def no_layer(self, content: PlotContent | None) -> str:
        """Why there is no layer."""
        return "There are no weights yet" if self.is_empty(content) else ""

    def layer(self, content: PlotContent | None) -> LayerData:
        """The table as an image."""
        assert content is not None
        assert content.weights is not None
        table, limit = content.weights[:, content.order], _limit(content.weights)
        return layer_data(table, "weights", ("base filter", "column"), limit or 1.0, plot="weights")

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        self.picture.recolour(palette)


def _limit(weights: Array) -> float:
    """What full colour stands for."""
    return float(np.abs(weights).max(initial=0))
