"""The base filters B."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import Qt, Signal
from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QCheckBox, QSizePolicy

from napari_scsc._types import LayerData
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.axis_sliders import AxisSliders
from napari_scsc.plugin.plots.filter_mosaic import FilterMosaic
from napari_scsc.plugin.plots.plot_content import PlotContent, largest_of, place_text
from napari_scsc.plugin.plots.plot_export import Table, layer_data
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_widgets import ColourBar, TextLine


class FilterTab(PlotTab):
    """The mosaic of the base filters, a slider for each further axis, and the value pointed at."""

    noise_marked = Signal()  # a filter was marked as noise, or is none any more

    title = "Filters"
    tip = "Base filters B, shared by all samples"

    def __init__(self) -> None:
        super().__init__()
        self._content: PlotContent | None = None
        self._chosen = (0, 0, 0)  # filter, y, x
        self.picture = FilterMosaic("Base filters B")
        self.picture.over.connect(self._point)
        self.picture.stepped.connect(self._step)
        self.positions = AxisSliders()
        self.scale = ColourBar("Each filter has its own scale: this is that of the outlined one")
        self.text = TextLine(lines=2)
        self.is_noise = QCheckBox("the outlined filter is noise")
        self.is_noise.setToolTip(
            "A pattern of the detector: what lies along it is taken away. For filters of patches"
        )
        self.is_noise.clicked.connect(self._mark)
        self._noise: set[int] = set()
        self.spectrum = pg.PlotWidget()
        self.spectrum.setAccessibleName("Spectrum at the outlined filter's chosen point")
        self._spectrum = theme.curve(self.spectrum.getPlotItem())
        self._zero = pg.InfiniteLine(0, angle=0)
        self._here = pg.InfiniteLine(0, angle=90)
        for line in (self._zero, self._here):
            self.spectrum.addItem(line, ignoreBounds=True)
        theme.quieten(self.spectrum)
        self.spectrum.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.spectrum.hide()
        layout = theme.column(self)
        layout.addWidget(self.picture, 1)
        for widget in (self.positions, self.spectrum, self.scale, self.text, self.is_noise):
            layout.addWidget(widget)
        layout.addStretch()  # while there is no picture, the hint stays at the top
        self.draw(None, ())

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show all filters, at that position of the other axes."""
        if content is None or self._content is None or content.filters is not self._content.filters:
            self._noise.clear()  # other filters: the numbers mean others
        self._content = content
        self.is_noise.setVisible(content is not None)
        self.spectrum.setVisible(content is not None and content.spectral)
        for widget in (self.picture, self.scale):
            widget.setVisible(content is not None)
        if content is None:
            self.picture.clear()
            self.text.say("The base filters appear here while they are learned.")
            return
        self.picture.show_filters(content.filters, index)
        self._show_chosen()

    @property
    def noise_filters(self) -> tuple[int, ...]:
        """The filters that were marked as noise."""
        return tuple(sorted(self._noise))

    def mark_noise(self, number: int, is_noise: bool) -> None:
        """Say whether a filter shows noise."""
        (self._noise.add if is_noise else self._noise.discard)(number)
        self._show_chosen()
        self.noise_marked.emit()

    @handler
    def _mark(self, is_noise: bool) -> None:
        self.mark_noise(self._chosen_number(), is_noise)

    def _chosen_number(self) -> int:
        return min(self._chosen[0], len(self.picture.tiles) - 1)

    @handler
    def _point(self, number: int, y: int, x: int) -> None:
        """The mouse is over a pixel of a filter."""
        self._chosen = (number, y, x)
        self._show_chosen()

    @handler
    def _step(self, down: int, right: int) -> None:
        """Choose a neighbour of the chosen filter."""
        one, y, x = self._chosen
        self._point(self.picture.neighbour(one, down, right), y, x)

    def _show_chosen(self) -> None:
        if self._content is None:
            return
        tiles = self.picture.tiles
        one, y, x = (min(i, n - 1) for i, n in zip(self._chosen, tiles.shape, strict=True))
        self.picture.outline_filter(one)
        self.is_noise.setChecked(one in self._noise)
        self.is_noise.setEnabled(not self._content.is_mean(one))
        self.scale.set_limit(float(largest_of(self._content.filters[one : one + 1])[0]))
        place = (*self.positions.index, y, x)
        self.text.say(f"B {one}, {place_text(self._content.labels, place)}: {tiles[one, y, x]:.3g}")
        if self._content.spectral:
            spectrum = self._content.filters[one, :, *place[1:]]
            self._spectrum.setData(np.arange(len(spectrum)), spectrum)
            self._here.setValue(place[0])

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether there are no filters yet."""
        return content is None

    def table(self, content: PlotContent | None) -> Table:
        """One row a filter."""
        assert content is not None
        places = list(np.ndindex(content.filters.shape[1:]))
        names = ["base filter", *(place_text(content.labels, place) for place in places)]
        rows = content.filters.reshape(len(content.filters), -1)
        return [names, *([r, *row.tolist()] for r, row in enumerate(rows))]

    def no_layer(self, content: PlotContent | None) -> str:
        """Why there is no layer."""
        return "There are no filters yet" if content is None else ""

    def layer(self, content: PlotContent | None) -> LayerData:
        """The mosaic; axes that have a slider here have one there."""
        assert content is not None
        labels = [label or "y" for label in content.labels]
        return layer_data(content.mosaic(), "base filters · mosaic", labels, 1.0, plot="filters")

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        self.picture.recolour(palette)
        theme.recolour(self.spectrum, [self.spectrum.getPlotItem()], palette)
        self.spectrum.setFixedHeight(theme.scaled(self, 80))
        faint = theme.mixed(palette, 0.4)
        self._spectrum.setPen(pg.mkPen(theme.accent(palette)))
        self._zero.setPen(pg.mkPen(faint))
        self._here.setPen(pg.mkPen(faint, style=Qt.PenStyle.DashLine))
