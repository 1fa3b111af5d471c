"""Small widgets that the tabs are made of."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from qtpy.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPalette
from qtpy.QtWidgets import QGraphicsRectItem, QHBoxLayout, QLabel, QSizePolicy, QWidget

from napari_scsc._types import Array
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme

_CHOSEN = QColor(0, 0, 0)
_ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class Picture(QWidget):
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
        self.view.setMinimumHeight(160)
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
        theme.quieten(self.view)
        layout = theme.column(self)
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

    def name_x(self, name: str) -> None:
        """Name the axis below."""
        axis = self.plot.getAxis("bottom")
        if axis.labelText != name:  # a label is laid out anew each time it is set
            axis.setLabel(name)

    def clear(self) -> None:
        """Show nothing."""
        self.image.hide()
        self._outline.hide()

    def outline(self, x: int, y: int, width: int, height: int, inset: float = 0.0) -> None:
        """Draw a frame around some pixels, or ``inset`` pixels inside their border."""
        rect = QRectF(x - 0.5, y - 0.5, width, height)
        self._outline.setRect(rect.adjusted(inset, inset, -inset, -inset))
        self._outline.show()

    @handler
    def hover(self, position: QPointF) -> None:
        """The mouse is at that position of the scene."""
        if not self.image.isVisible():
            return
        point = self.image.mapFromScene(position)
        row, column = math.floor(point.y()), math.floor(point.x())
        if 0 <= row < self._shape[0] and 0 <= column < self._shape[1]:
            self.pointed.emit(row, column)

    @handler
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Step with the arrow keys."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = _ARROWS.get(Qt.Key(event.key()))
            if step and self.image.isVisible():
                self.stepped.emit(*step)
                return True
        return bool(super().eventFilter(watched, event))

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        theme.recolour(self.view, [self.plot], palette)


class ColourBar(QWidget):
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
        self.low.setText("" if limit is None else f"{-limit:.3g}")
        self.high.setText("" if limit is None else f"{limit:.3g}")
        self.setAccessibleName("" if limit is None else f"Colours from {-limit:.3g} to {limit:.3g}")


class _Ramp(QWidget):
    """All colours in a row; a label would keep the shape of such a picture, and show none."""

    def __init__(self) -> None:
        super().__init__()
        self._colours = theme.pixmap(diverging(np.linspace(-1, 1, 255)[None]))
        self.setFixedHeight(8)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        """Stretch the colours."""
        painter = QPainter(self)
        painter.drawPixmap(self.rect(), self._colours)
        painter.end()


class Thumbnail(QLabel):
    """A small picture with large pixels."""

    side = 84

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFixedSize(self.side, self.side)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setToolTip(name)
        self.setAccessibleName(name)

    def show_picture(self, picture: Array | None) -> None:
        """Show (y, x, 3) uint8, or nothing."""
        if picture is None:
            self.clear()
        else:
            large = theme.pixmap(picture).scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            self.setPixmap(large)


class TextLine(QLabel):
    """Some lines of text that never change the layout, however long they are.

    The mouse over it shows what has no room.
    """

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

    @handler
    def changeEvent(self, event: QEvent | None) -> None:
        """Keep room for all lines."""
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.FontChange:  # of the theme
            self._make_room()

    def say(self, *lines: str) -> None:
        """Show these lines."""
        self.setText("\n".join(lines))
        self.setToolTip("\n".join(lines))

    def set_lines(self, lines: int) -> None:
        """Keep room for that many lines from now on."""
        if lines != self._lines:
            self._lines = lines
            self._make_room()
