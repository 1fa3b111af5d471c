"""Live plots of what is learned: base filters B, weights W, and how far it has come.

Only Qt and pyqtgraph: no napari, and no option of pyqtgraph that other plugins would feel too.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import secrets
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from qtpy.QtCore import (
    QBuffer,
    QEvent,
    QObject,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from qtpy.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QHideEvent,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPixmap,
    QShowEvent,
)
from qtpy.QtWidgets import (
    QGraphicsRectItem,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from napari_scsc.pictures import diverging
from napari_scsc.results import Update

Array = NDArray[Any]

_SEPARATOR = 128  # grey: stands out from white, blue and orange, and from a light and a dark theme
_CHOSEN = QColor(0, 0, 0)
_ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


@dataclass(frozen=True, slots=True)
class _Content:
    """What the panels show.

    Attributes
    ----------
    filters : ndarray, (R, *others, y, x)
        The base filters; of a 1-D filter, y is 1 long.
    labels : tuple of str
        One for each axis after the first; empty for an axis that the filters do not have.
    spectral : bool
        Whether the first of the others is a joint axis long enough for a curve.
    weights : ndarray, (R, K), or None
        The weights of a sample.
    order : ndarray of int, (K,)
        Columns of the weights, the most used first.
    """

    filters: Array
    labels: tuple[str, ...]
    spectral: bool
    weights: Array | None
    order: Array


class Plots(QWidget):
    """Base filters, weights and progress, each in a tab.

    Call it from the thread of the GUI as often as you like: it keeps the newest update, redraws
    the visible tab at most ``rate`` times a second, and nothing while it is hidden.

    Parameters
    ----------
    parent : QWidget, optional
        Its parent.
    rate : float
        How often a second it redraws at the most.
    """

    def __init__(self, parent: QWidget | None = None, *, rate: float = 12.0) -> None:
        super().__init__(parent)
        self.rate = rate
        self.redraws = 0  # for whoever wants to know what the plots cost
        self._n_joint: int | None = None
        self._labels: tuple[str, ...] | None = None
        self._source: tuple[Array, Array | None, Array | None] | None = None
        self._content: _Content | None = None
        self._drawn_at = -math.inf
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._redraw)

        self.filters = _FilterPanel()
        self.weights = _WeightPanel()
        self.progress = _ProgressPanel()
        self._panels = (self.filters, self.weights, self.progress)
        self._stale = set(range(len(self._panels)))
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName("Live plots")
        for panel, title, tip in (
            (self.filters, "Filters", "Base filters B, shared by all samples"),
            (self.weights, "Weights", "Weights W of the sample now being coded"),
            (self.progress, "Progress", "Objective, sparsity and PSNR against time"),
        ):
            self.tabs.setTabToolTip(self.tabs.addTab(panel, title), tip)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.tabs)
        self.tabs.currentChanged.connect(self._schedule)
        self.filters.positions.moved.connect(self._turn)
        self._recolour()

    # --- what to show ---------------------------------------------------------------------------

    @property
    def rate(self) -> float:
        """Redraws a second, at the most."""
        return self._rate

    @rate.setter
    def rate(self, value: float) -> None:
        if not 0 < value < math.inf:
            raise ValueError(f"rate must be a positive number of redraws a second, not {value!r}")
        self._rate = float(value)

    def set_axes(self, n_joint: int, labels: Sequence[str] | None = None) -> None:
        """Say what the axes of the filters in the updates to come are.

        Parameters
        ----------
        n_joint : int
            How many of the axes after the first are joint axes.
        labels : sequence of str, optional
            One for each axis after the first: joint axes, then shift axes.
        """
        self._n_joint = n_joint
        self._labels = None if labels is None else tuple(labels)
        self._renew()

    def show_update(self, update: Update, *, use: Array | None = None) -> None:
        """Show what one sample changed.

        Parameters
        ----------
        update : Update
            From ``iter_fit``. Its arrays are kept and not copied: nobody may write to them.
        use : ndarray, (K,), optional
            How much of the code each column of W has, such as the sum of its magnitudes.
            Without it, the columns are ordered by their length.
        """
        self._source = (update.B, update.W, use)
        self.progress.append(update)
        self._renew()

    def show_bank(
        self,
        filters: Array,
        n_joint: int,
        labels: Sequence[str] | None = None,
        *,
        weights: Array | None = None,
    ) -> None:
        """Show filters (R, *joint, *support) that were not just learned; the curves stay.

        ``weights`` (R, K) are those to show beside them. Without, those of the last update stay
        if the filters are its own, and else none are shown.
        """
        if labels is not None and len(labels) != filters.ndim - 1:
            raise ValueError(
                f"{len(labels)} labels ({', '.join(labels)}) for filters of the shape "
                f"{filters.shape}: there must be one for each axis after the first"
            )
        known = self._source
        if weights is not None or known is None or not np.array_equal(known[0], filters):
            self._source = (filters, weights, None)
        self.set_axes(n_joint, labels)

    def clear(self) -> None:
        """Forget everything that was shown."""
        self._source = None
        self._n_joint = self._labels = None
        self.progress.forget()
        self._renew()

    # --- what can be taken away -----------------------------------------------------------------

    def mosaic_layer(self) -> Array:
        """The mosaic as shown, (*others, y, x) float32: each filter over its largest magnitude.

        Axes that have a slider come first. Between the filters lies one pixel of zeros.
        """
        content = self._current()
        if content is None:
            raise ValueError("there are no filters yet")
        tiles = np.moveaxis(_to_unit(content.filters), 0, -3).astype(np.float32)
        others, (count, height, width) = tiles.shape[:-3], tiles.shape[-3:]
        pictures = [_arrange(one, 0) for one in tiles.reshape(-1, count, height, width)]
        return np.stack(pictures).reshape(*others, *pictures[0].shape)

    def weights_table(self) -> Array:
        """The weights as shown, (R, K): the most used column first."""
        content = self._current()
        if content is None or content.weights is None:
            raise ValueError("there are no weights yet")
        return content.weights[:, content.order]

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Write the visible tab to ``path`` as PNG; complete, or not at all."""
        self._draw_visible_tab()
        widget = self.tabs.currentWidget()
        buffer = QBuffer()
        if widget is None or not widget.grab().save(buffer, "PNG"):
            raise OSError(f"{os.fspath(path)}: the picture could not be made")
        _write(path, bytes(buffer.data().data()))

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write the numbers of the visible tab to ``path`` as CSV; complete, or not at all."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        for row in self._table():
            writer.writerow([f"{v:.9g}" if isinstance(v, float) else v for v in row])
        _write(path, text.getvalue().encode())

    def _table(self) -> Iterable[Sequence[str | int | float]]:
        """Rows of the visible tab's table, with a row of names before them."""
        content = self._current()
        if self.tabs.currentWidget() is self.progress:
            return [self.progress.names, *self.progress.rows()]
        if content is None:
            raise ValueError("there is nothing to save yet")
        if self.tabs.currentWidget() is self.weights:
            names = ["base filter", *(f"column {k}" for k in content.order)]
            return [names, *([r, *row.tolist()] for r, row in enumerate(self.weights_table()))]
        places = list(np.ndindex(content.filters.shape[1:]))
        names = ["base filter", *(_place(content.labels, place) for place in places)]
        rows = content.filters.reshape(len(content.filters), -1)
        return [names, *([r, *row.tolist()] for r, row in enumerate(rows))]

    # --- drawing --------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Something arrived: every tab is out of date."""
        self._content = None
        self._stale = set(range(len(self._panels)))
        self._schedule()

    def _turn(self) -> None:
        """A slider was moved, and the composed filter turns with the others."""
        self._stale |= {0, 1}
        self._schedule()

    def _schedule(self) -> None:
        """Redraw as soon as the rate allows, if there is somebody to see it."""
        wanted = self.isVisible() and self.tabs.currentIndex() in self._stale
        if wanted and not self._timer.isActive():
            wait = max(0.0, self._drawn_at + 1 / self._rate - time.monotonic())
            self._timer.start(math.ceil(1000 * wait))

    def _redraw(self) -> None:
        if self.isVisible():
            self._drawn_at = time.monotonic()
            self._draw_visible_tab()

    def _draw_visible_tab(self) -> None:
        index = self.tabs.currentIndex()
        if index in self._stale:
            self._stale.discard(index)
            self.redraws += 1
            # The weights compose a slice of the filters: the sliders must know their axes first.
            self.filters.positions.set_axes(self._current())
            self._panels[index].draw(self._current(), self.filters.positions.index)

    def _current(self) -> _Content | None:
        """The newest content, made when it is wanted and not when it arrives."""
        if self._content is None and self._source is not None:
            self._content = _make_content(*self._source, self._n_joint, self._labels)
        return self._content

    def _recolour(self) -> None:
        for panel in self._panels:
            panel.recolour(self.palette())

    def showEvent(self, event: QShowEvent | None) -> None:
        """Catch up with what arrived while nobody was looking."""
        super().showEvent(event)
        self._schedule()

    def hideEvent(self, event: QHideEvent | None) -> None:
        """Rest; closing hides too."""
        super().hideEvent(event)
        self._timer.stop()

    def changeEvent(self, event: QEvent | None) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        palette_changed = event is not None and event.type() == QEvent.Type.PaletteChange
        if palette_changed and hasattr(self, "tabs"):  # Qt calls this during construction too
            self._recolour()

    def sizeHint(self) -> QSize:
        """What fits a dock."""
        return QSize(340, 420)


# --- panels -------------------------------------------------------------------------------------


class _FilterPanel(QWidget):
    """The mosaic of the base filters, a slider for each further axis, and the value pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self._content: _Content | None = None
        self._tiles: Array = np.zeros((1, 1, 1))
        self._chosen = (0, 0, 0)  # filter, y, x
        self.picture = _Picture("Base filters B")
        self.picture.pointed.connect(self._point)
        self.picture.stepped.connect(self._step)
        self.positions = _Positions()
        self.scale = _ColourBar("Each filter has its own scale: this is that of the outlined one")
        self.text = _TextLine()
        self.spectrum = pg.PlotWidget()
        self.spectrum.setAccessibleName("Spectrum at the outlined filter's chosen point")
        self._spectrum = _curve(self.spectrum.getPlotItem())
        self._zero = pg.InfiniteLine(0, angle=0)
        self._here = pg.InfiniteLine(0, angle=90)
        for line in (self._zero, self._here):
            self.spectrum.addItem(line, ignoreBounds=True)
        _quieten(self.spectrum)
        self.spectrum.setFixedHeight(80)
        self.spectrum.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.spectrum.hide()
        layout = _column(self)
        layout.addWidget(self.picture, 1)
        for widget in (self.positions, self.spectrum, self.scale, self.text):
            layout.addWidget(widget)
        self.draw(None, ())

    def draw(self, content: _Content | None, index: tuple[int, ...]) -> None:
        self._content = content
        self.spectrum.setVisible(content is not None and content.spectral)
        if content is None:
            self.picture.clear()
            self.scale.set_limit(None)
            self.text.say("The base filters appear here while they are learned.")
            return
        here: tuple[Any, ...] = (slice(None), *index)
        self._tiles = content.filters[here]
        scales = _largest(content.filters).reshape(-1, 1, 1)
        colours = diverging(self._tiles / scales, 1.0)
        self.picture.show_picture(_without_rest(_arrange(colours, _SEPARATOR), self._tiles.shape))
        self._show_chosen()

    def _point(self, row: int, column: int) -> None:
        """The mouse is over a pixel of the mosaic."""
        if self._content is None:
            return
        count, height, width = self._tiles.shape
        (down, y), (right, x) = divmod(row, height + 1), divmod(column, width + 1)
        chosen = down * _columns(*self._tiles.shape) + right
        # The first pixel of each cell is the line between filters.
        if x > 0 and y > 0 and chosen < count:
            self._chosen = (chosen, y - 1, x - 1)
            self._show_chosen()

    def _step(self, down: int, right: int) -> None:
        """Choose a neighbour of the chosen filter."""
        one, y, x = self._chosen
        target = one + right + down * _columns(*self._tiles.shape)
        if 0 <= target < len(self._tiles):
            self._chosen = (target, y, x)
            self._show_chosen()

    def _show_chosen(self) -> None:
        if self._content is None:
            return
        one, y, x = (min(i, n - 1) for i, n in zip(self._chosen, self._tiles.shape, strict=True))
        _, height, width = self._tiles.shape
        down, right = divmod(one, _columns(*self._tiles.shape))
        self.picture.outline(
            right * (width + 1), down * (height + 1), width + 2, height + 2, inset=0.5
        )
        self.scale.set_limit(float(_largest(self._content.filters[one : one + 1])[0]))
        place = (*self.positions.index, y, x)
        self.text.say(
            f"B {one}, {_place(self._content.labels, place)}: {self._tiles[one, y, x]:.3g}"
        )
        if self._content.spectral:
            spectrum = self._content.filters[one, :, *place[1:]]
            self._spectrum.setData(np.arange(len(spectrum)), spectrum)
            self._here.setValue(place[0])

    def recolour(self, palette: QPalette) -> None:
        self.picture.recolour(palette)
        _recolour(self.spectrum, [self.spectrum.getPlotItem()], palette)
        faint = _mixed(palette, 0.4)
        self._spectrum.setPen(pg.mkPen(_accent(palette)))
        self._zero.setPen(pg.mkPen(faint))
        self._here.setPen(pg.mkPen(faint, style=Qt.PenStyle.DashLine))


class _WeightPanel(QWidget):
    """The heat map of W, and the filter that the column under the mouse composes."""

    def __init__(self) -> None:
        super().__init__()
        self._content: _Content | None = None
        self._index: tuple[int, ...] = ()
        self._chosen = (0, 0)  # base filter, place in the order
        self.picture = _Picture("Weights W", ("column of W, most used first", "base filter"))
        self.picture.pointed.connect(self._point)
        self.picture.stepped.connect(self._step)
        self.scale = _ColourBar("Weights: zero is white")
        self.composed = _Thumbnail("Filter composed by the outlined column")
        self.text = _TextLine(lines=4)
        beside = QHBoxLayout()
        beside.addWidget(self.composed)
        beside.addWidget(self.text, 1)
        layout = _column(self)
        layout.addWidget(self.picture, 1)
        layout.addWidget(self.scale)
        layout.addLayout(beside)
        self.draw(None, ())

    def draw(self, content: _Content | None, index: tuple[int, ...]) -> None:
        self._content, self._index = content, index
        if content is None or content.weights is None:
            self._content = None
            self.picture.clear()
            self.scale.set_limit(None)
            self.composed.show_picture(None)
            self.text.say("The weights of each sample appear here while it is learned from.")
            return
        limit = float(np.abs(content.weights).max(initial=0))
        self.scale.set_limit(limit)
        self.picture.show_picture(diverging(content.weights[:, content.order], limit))
        self._show_chosen()

    def _point(self, row: int, column: int) -> None:
        if (row, column) != self._chosen:
            self._chosen = (row, column)
            self._show_chosen()

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
        self.composed.show_picture(diverging(composed[self._index], _largest(composed[None])[0]))
        self.text.say(
            f"B {r} \N{MULTIPLICATION SIGN} column {k}: {weights[r, k]:.2g}",
            f"D {k} = {_sum_of_filters(weights[:, k])}",
        )

    def recolour(self, palette: QPalette) -> None:
        self.picture.recolour(palette)


class _ProgressPanel(QWidget):
    """Objective, share of the code in use, and PSNR, one above the other, against seconds."""

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
        self.curves = [_curve(plot) for plot in self.plots]
        for plot in self.plots[:-1]:
            plot.setXLink(self.plots[-1])
            plot.getAxis("bottom").setStyle(showValues=False)
        for plot in self.plots:
            plot.getAxis("left").setWidth(52)  # the same for all, so that the times lie in line
            plot.getAxis("left").setTickDensity(0.7)
        self.plots[-1].getAxis("bottom").setLabel("seconds")
        self.view.ci.layout.setContentsMargins(0, 0, 6, 0)
        self.view.ci.layout.setSpacing(0)
        _quieten(self.view, self.plots)
        self.text = _TextLine()
        layout = _column(self)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.text)
        self.draw(None, ())

    def append(self, update: Update) -> None:
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
        self._history = array("d")

    def _numbers(self) -> Array:
        return np.array(self._history).reshape(-1, len(self.names))

    def rows(self) -> list[list[int | float]]:
        """What was taken in, one row an update."""
        return [[int(sample), *others] for sample, *others in self._numbers().tolist()]

    def draw(self, content: _Content | None, index: tuple[int, ...]) -> None:
        numbers = self._numbers()
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

    def recolour(self, palette: QPalette) -> None:
        _recolour(self.view, self.plots, palette)
        for curve in self.curves:
            curve.setPen(pg.mkPen(_accent(palette)))
            curve.setSymbolPen(None)
            curve.setSymbolBrush(_accent(palette))


# --- parts of panels ----------------------------------------------------------------------------


class _Picture(QWidget):
    """An RGB picture with large pixels, y down; says which pixel the mouse is over.

    With names for its axes (x, y) it fills its room; without, its pixels are square.
    """

    pointed = Signal(int, int)  # row and column under the mouse
    stepped = Signal(int, int)  # arrow keys: steps down and to the right

    def __init__(self, name: str, axes: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.view = pg.PlotWidget()
        self.view.setAccessibleName(name)
        self.view.setAccessibleDescription("The arrow keys choose what is outlined")
        self.view.setMinimumHeight(120)
        self.plot = self.view.getPlotItem()
        self.plot.getViewBox().invertY(True)
        if axes is None:
            self.plot.hideAxis("left")
            self.plot.hideAxis("bottom")
            self.plot.setAspectLocked(True)
        else:
            self.plot.getAxis("bottom").setLabel(axes[0])
            self.plot.getAxis("left").setLabel(axes[1])
        self.image = pg.ImageItem(axisOrder="row-major")
        self.image.setPos(-0.5, -0.5)  # whole numbers are the centres of pixels
        self.plot.addItem(self.image, ignoreBounds=True)
        self._outline = QGraphicsRectItem()
        self._outline.setPen(pg.mkPen(_CHOSEN, width=2 if axes is None else 1))
        self._outline.setZValue(1)
        self.plot.addItem(self._outline, ignoreBounds=True)
        self._shape: tuple[int, ...] = ()
        _quieten(self.view)
        layout = _column(self)
        layout.addWidget(self.view)
        self.view.scene().sigMouseMoved.connect(self.hover)
        self.view.installEventFilter(self)
        self.clear()

    def show_picture(self, picture: Array) -> None:
        """Show (y, x, 3) or (y, x, 4) uint8."""
        self.image.setImage(picture, autoLevels=False)
        self.image.show()
        if picture.shape != self._shape:  # else the view would be laid out anew each time
            self._shape = picture.shape
            height, width, _ = picture.shape
            self.plot.setRange(QRectF(-0.5, -0.5, width, height), padding=0)

    def clear(self) -> None:
        self.image.hide()
        self._outline.hide()

    def outline(self, x: int, y: int, width: int, height: int, inset: float = 0.0) -> None:
        """Draw a frame around some pixels, or ``inset`` pixels inside their border."""
        rect = QRectF(x - 0.5, y - 0.5, width, height)
        self._outline.setRect(rect.adjusted(inset, inset, -inset, -inset))
        self._outline.show()

    def hover(self, position: QPointF) -> None:
        """The mouse is at that position of the scene."""
        if not self.image.isVisible():
            return
        point = self.image.mapFromScene(position)
        row, column = math.floor(point.y()), math.floor(point.x())
        if 0 <= row < self._shape[0] and 0 <= column < self._shape[1]:
            self.pointed.emit(row, column)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = _ARROWS.get(Qt.Key(event.key()))
            if step and self.image.isVisible():
                self.stepped.emit(*step)
                return True
        return bool(super().eventFilter(watched, event))

    def recolour(self, palette: QPalette) -> None:
        _recolour(self.view, [self.plot], palette)


class _Positions(QWidget):
    """A slider and a play button for each axis of the filters that the picture does not show."""

    moved = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._axes: list[tuple[str, int]] = []
        self.sliders: list[QSlider] = []
        self.players: list[QToolButton] = []
        self._numbers: list[QLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._timer = QTimer(self)
        self._timer.setInterval(200)
        self._timer.timeout.connect(self._advance)
        self.hide()

    @property
    def index(self) -> tuple[int, ...]:
        """The chosen position along each axis."""
        return tuple(slider.value() for slider in self.sliders)

    def set_axes(self, content: _Content | None) -> None:
        """Have the sliders for that content, in the middle where they are new."""
        axes = (
            []
            if content is None
            else list(zip(content.labels[:-2], content.filters.shape[1:-2], strict=True))
        )
        if axes == self._axes:
            return
        self._axes = axes
        while item := self._grid.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        self.sliders, self.players, self._numbers = [], [], []
        for row, (label, length) in enumerate(axes):
            self._add(row, label, length)
        self._timer.stop()
        self._say()
        self.setVisible(bool(axes))

    def _add(self, row: int, label: str, length: int) -> None:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, length - 1)
        slider.setValue(length // 2)
        slider.setPageStep(max(1, length // 8))
        slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        slider.setAccessibleName(f"Position along {label}")
        slider.valueChanged.connect(self._move)
        name = QLabel(label)
        name.setBuddy(slider)
        number = QLabel()
        number.setMinimumWidth(number.fontMetrics().horizontalAdvance(f"{length}/{length}"))
        number.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        player = QToolButton()
        player.setText("\N{BLACK RIGHT-POINTING TRIANGLE}")
        player.setCheckable(True)
        player.setAutoRaise(True)
        player.setToolTip(f"Play along {label}")
        player.setAccessibleName(f"Play along {label}")
        player.toggled.connect(self._play)
        for column, widget in enumerate((name, slider, number, player)):
            self._grid.addWidget(widget, row, column)
        self.sliders.append(slider)
        self.players.append(player)
        self._numbers.append(number)

    def _move(self) -> None:
        self._say()
        self.moved.emit()

    def _say(self) -> None:
        for number, slider in zip(self._numbers, self.sliders, strict=True):
            number.setText(f"{slider.value()}/{slider.maximum()}")

    def _play(self) -> None:
        """Run while a button is down and somebody can see it."""
        if self.isVisible() and any(player.isChecked() for player in self.players):
            self._timer.start()
        else:
            self._timer.stop()

    def _advance(self) -> None:
        for slider, player in zip(self.sliders, self.players, strict=True):
            if player.isChecked():
                slider.setValue((slider.value() + 1) % (slider.maximum() + 1))

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._play()

    def hideEvent(self, event: QHideEvent | None) -> None:
        super().hideEvent(event)
        self._timer.stop()


class _ColourBar(QWidget):
    """From blue to orange, with the numbers that they stand for."""

    def __init__(self, tip: str) -> None:
        super().__init__()
        self.setToolTip(tip)
        self.low, self.high = QLabel(), QLabel()
        self.low.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for label in (self.low, self.high):
            label.setMinimumWidth(label.fontMetrics().horizontalAdvance("-0.0000"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.low)
        layout.addWidget(_Ramp(), 1)
        layout.addWidget(self.high)

    def set_limit(self, limit: float | None) -> None:
        """Say what full colour stands for."""
        self.low.setText("" if limit is None else f"{-limit:.2g}")
        self.high.setText("" if limit is None else f"{limit:.2g}")
        self.setAccessibleName("" if limit is None else f"Colours from {-limit:.2g} to {limit:.2g}")


class _Ramp(QWidget):
    """All colours in a row; a label would keep the shape of such a picture, and show none."""

    def __init__(self) -> None:
        super().__init__()
        self._colours = _pixmap(diverging(np.linspace(-1, 1, 255)[None]))
        self.setFixedHeight(8)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.drawPixmap(self.rect(), self._colours)
        painter.end()


class _Thumbnail(QLabel):
    """A small picture with large pixels."""

    side = 84

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFixedSize(self.side, self.side)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setToolTip(name)
        self.setAccessibleName(name)

    def show_picture(self, picture: Array | None) -> None:
        if picture is None:
            self.clear()
        else:
            self.setPixmap(_pixmap(picture).scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio))


class _TextLine(QLabel):
    """Some lines of text that never change the layout, however long they are."""

    def __init__(self, lines: int = 1) -> None:
        super().__init__()
        self._lines = lines
        self.setWordWrap(lines > 1)
        self._make_room()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _make_room(self) -> None:
        self.setFixedHeight(self._lines * self.fontMetrics().lineSpacing() + 4)

    def changeEvent(self, event: QEvent | None) -> None:
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.FontChange:  # of the theme
            self._make_room()

    def say(self, *lines: str) -> None:
        self.setText("\n".join(lines))


# --- numbers ------------------------------------------------------------------------------------


def _make_content(
    filters: Array,
    weights: Array | None,
    use: Array | None,
    n_joint: int | None,
    labels: tuple[str, ...] | None,
) -> _Content:
    n_axes = filters.ndim - 1
    if labels is None or len(labels) != n_axes:
        labels = _usual_labels(n_axes, n_joint)
    spectral = n_joint == 1 and n_axes > 2 and filters.shape[1] > 4
    filters = np.nan_to_num(filters, posinf=0, neginf=0)  # a colour for everything
    if n_axes == 1:
        filters, labels = filters[:, None], ("", *labels)
    if weights is None:
        return _Content(filters, labels, spectral, None, np.zeros(0, int))
    weights = np.nan_to_num(weights, posinf=0, neginf=0)
    return _Content(filters, labels, spectral, weights, _order(weights, use))


def _usual_labels(n_axes: int, n_joint: int | None) -> tuple[str, ...]:
    """Names for axes that nobody has named."""
    if n_joint is None or not 1 <= n_axes - n_joint <= 4:
        others = tuple(f"axis {i}" for i in range(1, n_axes - 1))
        return (*others, "y", "x")[-n_axes:]
    joint = {1: ("c",), 2: ("u", "v")}.get(n_joint, tuple(f"joint {i}" for i in range(n_joint)))
    return (*joint, *("t", "z", "y", "x")[n_joint - n_axes :])


def _order(weights: Array, use: Array | None) -> Array:
    """Columns of W, those first that do most; equal ones stay in their order."""
    energy = np.square(weights).sum(axis=0) if use is None else np.abs(weights).sum(axis=0) * use
    # Most columns lie on the border of the ball: rounding errors shall not shuffle them.
    steps = np.round(energy / max(energy.max(initial=0), 1e-30), 3)
    return np.argsort(-steps, kind="stable")


def _largest(filters: Array) -> Array:
    """(R,): the largest magnitude of each filter, and something to divide by if that is zero."""
    return np.asarray(np.maximum(np.abs(filters.reshape(len(filters), -1)).max(axis=1), 1e-30))


def _to_unit(filters: Array) -> Array:
    return np.asarray(filters / _largest(filters).reshape(-1, *[1] * (filters.ndim - 1)))


def _columns(count: int, height: int, width: int) -> int:
    """How many filters lie side by side, so that the mosaic is about a square."""
    return min(count, math.ceil(math.sqrt(count * (height + 1) / (width + 1))))


def _arrange(tiles: Array, fill: int) -> Array:
    """(R, y, x, ...) -> one mosaic, row by row, with one pixel of ``fill`` around each tile."""
    count, height, width, *rest = tiles.shape
    columns = _columns(count, height, width)
    rows = math.ceil(count / columns)
    cells = np.full((rows, height + 1, columns, width + 1, *rest), fill, tiles.dtype)
    down, right = np.divmod(np.arange(count), columns)
    cells[down, 1:, right, 1:] = tiles
    out = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1, *rest), fill, tiles.dtype)
    out[:-1, :-1] = cells.reshape(rows * (height + 1), columns * (width + 1), *rest)
    return out


def _without_rest(picture: Array, shape: tuple[int, ...]) -> Array:
    """RGB -> RGBA, in which the room that the last row of tiles leaves can be seen through."""
    count, height, width = shape
    rest = count % _columns(count, height, width)
    out = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
    if rest:
        out[-height - 1 :, rest * (width + 1) + 1 :, 3] = 0
    return out


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


def _place(labels: Sequence[str], place: Sequence[int]) -> str:
    pairs = zip(labels, place, strict=True)
    return ", ".join(f"{label} {i}" for label, i in pairs if label)


def _sum_of_filters(column: Array, terms: int = 3) -> str:
    """The largest terms of a column of W, such as "0.83 B 3 - 0.31 B 7"."""
    sizes = np.abs(column)
    order = np.argsort(-sizes, kind="stable")
    # What is a hundredth of the largest cannot be seen in the composed filter.
    largest = [int(r) for r in order if sizes[r] > 0.01 * sizes[order[0]]]
    if not largest:
        return "0"
    first, *others = largest[:terms]
    text = f"{column[first]:.2g}_B_{first}"
    for r in others:
        text += f" {'-' if column[r] < 0 else '+'}_{abs(column[r]):.2g}_B_{r}"
    if len(largest) > terms:
        text += " +_\N{HORIZONTAL ELLIPSIS}"
    return text.replace("_", "\N{NO-BREAK SPACE}")  # lines break between terms


# --- Qt -----------------------------------------------------------------------------------------


def _column(widget: QWidget) -> QVBoxLayout:
    layout = QVBoxLayout(widget)
    layout.setContentsMargins(2, 2, 2, 2)
    layout.setSpacing(4)
    return layout


def _curve(plot: Any) -> Any:
    curve = pg.PlotDataItem(antialias=True)
    plot.addItem(curve)
    return curve


def _quieten(view: Any, plots: Sequence[Any] | None = None) -> None:
    """Leave the wheel to the dock's scroll area, and no menus, buttons or wishes for room."""
    view.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
    for plot in [view.getPlotItem()] if plots is None else plots:
        plot.layout.setContentsMargins(0, 5, 5, 0)  # room for half a number beside the ends
        plot.setMenuEnabled(False)
        plot.setMouseEnabled(False, False)
        plot.hideButtons()
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
            plot.getAxis(side).setStyle(tickTextOffset=2, tickLength=-3)


def _recolour(view: Any, plots: Iterable[Any], palette: QPalette) -> None:
    """Give pyqtgraph the colours and the font that the rest of the window has."""
    text = palette.color(QPalette.ColorRole.WindowText)
    font = QFont(view.font())
    font.setPointSizeF(max(6.0, 0.8 * font.pointSizeF()))
    view.setBackground(palette.color(QPalette.ColorRole.Window))
    for plot in plots:
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(pg.mkPen(_mixed(palette, 0.5)))
            axis.setTextPen(pg.mkPen(text))
            axis.setTickFont(font)
            axis.label.setFont(font)
            if axis.label.isVisible() and side == "bottom":  # pyqtgraph leaves much room for both
                axis.setHeight(2 * QFontMetrics(font).height() + 10)
        plot.titleLabel.setText(plot.titleLabel.text, color=text, size=f"{font.pointSizeF():.1f}pt")


def _mixed(palette: QPalette, share: float) -> QColor:
    """The text's colour, ``share`` of it, in the background's."""
    text = palette.color(QPalette.ColorRole.WindowText)
    back = palette.color(QPalette.ColorRole.Window)
    pairs = zip(text.getRgb()[:3], back.getRgb()[:3], strict=True)
    return QColor(*(round(share * int(t) + (1 - share) * int(b)) for t, b in pairs))


def _accent(palette: QPalette) -> QColor:
    """A blue that is seen on the background."""
    dark = palette.color(QPalette.ColorRole.Window).lightness() < 128
    return QColor(100, 175, 245) if dark else QColor(5, 80, 160)


def _pixmap(picture: Array) -> QPixmap:
    """(y, x, 3) uint8 -> a picture for Qt."""
    height, width, _ = picture.shape
    data = np.ascontiguousarray(picture).tobytes()
    return QPixmap.fromImage(QImage(data, width, height, 3 * width, QImage.Format.Format_RGB888))


def _write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the file beside and rename it: it is there whole, or not at all."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
