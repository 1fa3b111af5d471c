"""What will be taken for noise: its base filters, and its spectrum."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import Signal
from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QSizePolicy

from napari_scsc._types import Array, LayerData
from napari_scsc.noise.model import Noise
from napari_scsc.noise.noise_filters import noise_filters, noise_spectrum
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.filter_mosaic import FilterMosaic
from napari_scsc.plugin.plots.plot_content import PlotContent, mosaic_of
from napari_scsc.plugin.plots.plot_export import Table, layer_data
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_widgets import TextLine

_N_FILTERS, _N_FREQUENCIES = 16, 33


class NoiseTab(PlotTab):
    """The mosaic of the directions in which the noise is strongest, and its power spectrum."""

    changed = Signal()  # there is another noise to show

    title = "Noise"
    tip = "Base filters and spectrum of the noise: what will be taken away"

    def __init__(self) -> None:
        super().__init__()
        self._noise: Noise | None = None
        self._filters: Array = np.zeros((0, 1, 1))
        self._powers: Array = np.zeros(0)
        self.picture = FilterMosaic("Base filters of the noise")
        self.picture.over.connect(self._point)
        self.text = TextLine(lines=4)
        self.spectrum = pg.PlotWidget()
        self.spectrum.setAccessibleName("Power spectrum of the noise along rows and columns")
        self.spectrum.getPlotItem().setLabels(bottom="cycles a pixel", left="power")
        self._down = theme.curve(self.spectrum.getPlotItem())
        self._right = theme.curve(self.spectrum.getPlotItem())
        theme.quieten(self.spectrum)
        self.spectrum.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        layout = theme.column(self)
        layout.addWidget(self.picture, 1)
        for widget in (self.spectrum, self.text):
            layout.addWidget(widget)
        layout.addStretch()  # while there is no picture, the hint stays at the top
        self.draw(None, ())

    def show_noise(self, noise: Noise | None) -> None:
        """Show what will be taken for noise; None: nothing yet."""
        parts = noise.joint if noise is not None else ()
        self._noise = next((part for part in parts if part.sigma), noise)
        if self._noise is None or self._noise.sigma == 0:
            self._filters, self._powers = np.zeros((0, 1, 1)), np.zeros(0)
        else:
            self._filters, self._powers = noise_filters(self._noise, _N_FILTERS)
        self.changed.emit()

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show the noise, which does not depend on the filters."""
        noise = self._noise
        self.picture.setVisible(len(self._filters) > 0)
        self.spectrum.setVisible(noise is not None and noise.sigma > 0)
        if noise is None or noise.sigma == 0:
            self.picture.clear()
            self.text.say("What will be taken for noise appears here when it was found.")
            return
        frequency = np.linspace(0, 0.5, _N_FREQUENCIES)
        down, right = noise_spectrum(noise, _N_FREQUENCIES)
        self._down.setData(frequency, down)
        self._right.setData(frequency, right)
        if not len(self._filters):
            self.picture.clear()
            self.text.say("White noise: all directions of a patch are alike.")
            return
        self.picture.show_filters(self._filters, ())
        self._point(0, 0, 0)

    @handler
    def _point(self, number: int, _y: int, _x: int) -> None:
        if number >= len(self._filters):
            return
        self.picture.outline_filter(number)
        power = self._powers[number]
        self.text.say(
            f"direction {number}: {power:.3g} times as strong as white noise",
            "the curves: along columns (blue) and along rows",
        )

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether no noise was found yet, or it is white."""
        return not len(self._filters)

    def table(self, content: PlotContent | None) -> Table:
        """One row a direction."""
        size = self._filters[0].size
        names = ["direction", "power", *(f"value {i}" for i in range(size))]
        pairs = zip(self._powers.tolist(), self._filters, strict=True)
        return [names, *([i, p, *f.ravel().tolist()] for i, (p, f) in enumerate(pairs))]

    def no_layer(self, content: PlotContent | None) -> str:
        """Why there is no layer."""
        return "There is no noise to show: none was found, or it is white" * self.is_empty(content)

    def layer(self, content: PlotContent | None) -> LayerData:
        """The mosaic."""
        return layer_data(mosaic_of(self._filters), "noise filters", ("y", "x"), 1.0, plot="noise")

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        self.picture.recolour(palette)
        theme.recolour(self.spectrum, [self.spectrum.getPlotItem()], palette)
        self.spectrum.setFixedHeight(theme.scaled(self, 110))
        self._down.setPen(pg.mkPen(theme.accent(palette)))
        self._right.setPen(pg.mkPen(theme.mixed(palette, 0.6)))
