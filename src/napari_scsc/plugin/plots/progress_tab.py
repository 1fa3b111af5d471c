"""How far the learning has come."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pyqtgraph as pg
from qtpy.QtGui import QPalette

from napari_scsc._types import Array, LayerData
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.plot_content import PlotContent
from napari_scsc.plugin.plots.plot_export import Table
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_widgets import TextLine


class ProgressTab(PlotTab):
    """Objective, share of the code in use, and PSNR, one above the other, against seconds."""

    title = "Progress"
    tip = "Objective, sparsity and PSNR against time"
    is_picture = False
    names = ("sample", "seconds", "objective", "share of code in use", "PSNR in dB")
    _titles = ("objective F", "code in use", "PSNR")
    _formats = ("{:.4g}", "{:.2f} %", "{:.2f} dB")

    def __init__(self) -> None:
        super().__init__()
        self._history = array("d")  # one row an update, columns as in names
        self._until = 0.0  # where the axis of seconds ends
        self.view = pg.GraphicsLayoutWidget()
        self.view.setAccessibleName("Objective, share of the code in use and PSNR against seconds")
        self.plots = [self.view.addPlot(row=i, col=0) for i in range(3)]
        self.curves = [theme.curve(plot) for plot in self.plots]
        for plot in self.plots[:-1]:
            plot.setXLink(self.plots[-1])
            plot.getAxis("bottom").setStyle(showValues=False)
        for plot in self.plots:
            plot.getAxis("left").setTickDensity(0.7)
        self.plots[-1].getAxis("bottom").setLabel("seconds")
        self.view.ci.layout.setContentsMargins(0, 0, 6, 0)
        self.view.ci.layout.setSpacing(0)
        theme.quieten(self.view, self.plots)
        self.text = TextLine(lines=2)
        layout = theme.column(self)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.text)
        layout.addStretch()  # while there are no curves, the hint stays at the top
        self.draw(None, ())

    def append(self, update: SampleUpdate) -> None:
        """Take in the numbers of an update; one of an earlier sample begins a new history."""
        last = self._history[-len(self.names)] if self._history else 0
        if update.sample < last:
            self.forget()
        elif update.sample == last:
            del self._history[-len(self.names) :]
        self._history.extend(
            (update.sample, update.seconds, update.objective, update.sparsity, update.psnr)
        )

    def forget(self) -> None:
        """Begin a new history."""
        self._history = array("d")

    def _numbers(self) -> Array:
        return np.array(self._history).reshape(-1, len(self.names))

    def rows(self) -> list[list[int | float]]:
        """What was taken in, one row an update."""
        return [[int(sample), *others] for sample, *others in self._numbers().tolist()]

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show the curves as far as they go."""
        numbers = self._numbers()
        self.view.setVisible(len(numbers) > 0)
        seconds = numbers[:, 1]
        values = numbers[:, 2:] * (1, 100, 1)
        for i, curve in enumerate(self.curves):
            # A perfect reconstruction has no PSNR that could be drawn.
            known = np.isfinite(values[:, i])
            # One sample makes no line: while they are few, each has a dot.
            symbol = "o" if known.sum() < 30 else None
            x, y = _thinned(seconds[known], values[known, i])
            curve.setData(x, y, symbol=symbol, symbolSize=4)
            title = self._titles[i]
            if len(values):
                title += " " + self._formats[i].format(values[-1, i])
            self.plots[i].setTitle(title)
        if len(numbers):
            samples = f"{int(numbers[-1, 0])} sample{'s' if numbers[-1, 0] > 1 else ''}"
            self.text.say(f"{samples} in {seconds[-1]:.1f} s")
            # To draw the axes costs more than the curves: they grow in steps.
            if not 0.5 * self._until < seconds[-1] <= self._until:
                self._until = max(1.2 * seconds[-1], 1e-3)
                self.plots[-1].setXRange(0, self._until, padding=0.01)
        else:
            self.text.say("The curves appear here while filters are learned.")

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether there are no curves yet."""
        return not self._history

    def table(self, content: PlotContent | None) -> Table:
        """One row an update."""
        return [self.names, *self.rows()]

    def no_layer(self, content: PlotContent | None) -> str:
        """Why there is no layer."""
        return "Curves cannot be a layer: save them as a picture or a table"

    def layer(self, content: PlotContent | None) -> LayerData:
        """There is none."""
        raise ValueError(self.no_layer(content))

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        theme.recolour(self.view, self.plots, palette)
        for plot in self.plots:  # the same for all, so that the times lie in line
            plot.getAxis("left").setWidth(theme.scaled(self, 52))
        for curve in self.curves:
            curve.setPen(pg.mkPen(theme.accent(palette)))
            curve.setSymbolPen(None)
            curve.setSymbolBrush(theme.accent(palette))


def _thinned(x: Array, y: Array, most: int = 400) -> tuple[Array, Array]:
    """A curve that looks the same with few points: lowest and highest of each stretch of it."""
    length = math.ceil(2 * len(y) / most)
    if length <= 2:
        return x, y
    whole = len(y) // length * length  # the rest, shorter than a pixel, is drawn as it is
    stretches = y[:whole].reshape(-1, length)
    pairs = np.stack([stretches.min(axis=1), stretches.max(axis=1)], axis=1)
    times = x[:whole].reshape(-1, length)[:, [0, -1]]
    return np.append(times, x[whole:]), np.append(pairs, y[whole:])
