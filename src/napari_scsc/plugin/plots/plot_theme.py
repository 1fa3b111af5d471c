"""Colours and fonts of the window, for what does not follow them by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import QRect, Qt
from qtpy.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter, QPalette, QPixmap
from qtpy.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from napari_scsc._types import Array

SEPARATOR = 128  # grey: stands out from white, blue and orange, and from a light and a dark theme

_LINE_SPACING = 17  # pixels, of type of the usual size


def column(widget: QWidget) -> QVBoxLayout:
    """The layout of a tab."""
    layout = QVBoxLayout(widget)
    layout.setContentsMargins(2, 2, 2, 2)
    layout.setSpacing(4)
    return layout


def curve(plot: Any) -> Any:
    """Add a curve to a plot of pyqtgraph."""
    item = pg.PlotDataItem(antialias=True)
    plot.addItem(item)
    return item


def quieten(view: Any, plots: Sequence[Any] | None = None) -> None:
    """Leave the wheel to the dock's scroll area, and no menus, buttons or wishes for room."""
    view.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
    for plot in [view.getPlotItem()] if plots is None else plots:
        plot.layout.setContentsMargins(0, 5, 5, 3)  # room for half a number, and under a line
        plot.setMenuEnabled(False)
        plot.setMouseEnabled(False, False)
        plot.hideButtons()
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
            plot.getAxis(side).setStyle(tickTextOffset=2, tickLength=-3)


def recolour(view: Any, plots: Iterable[Any], palette: QPalette) -> None:
    """Give pyqtgraph the colours and the font that the rest of the window has."""
    text = palette.color(QPalette.ColorRole.WindowText)
    font = QFont(view.font())
    font.setPointSizeF(max(6.0, 0.8 * font.pointSizeF()))
    view.setBackground(palette.color(QPalette.ColorRole.Window))
    for plot in plots:
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(pg.mkPen(mixed(palette, 0.5)))
            axis.setTextPen(pg.mkPen(text))
            axis.setTickFont(font)
            axis.label.setFont(font)
            if axis.label.isVisible() and side == "bottom":  # pyqtgraph leaves much room for both
                axis.setHeight(2 * QFontMetrics(font).height() + 10)
        plot.titleLabel.setText(plot.titleLabel.text, color=text, size=f"{font.pointSizeF():.1f}pt")


def scaled(widget: QWidget, pixels: int) -> int:
    """A length that was chosen for type of the usual size, for the type of a widget."""
    line_spacing = int(widget.fontMetrics().lineSpacing())
    return round(pixels * max(line_spacing / _LINE_SPACING, 1.0))


def mixed(palette: QPalette, share: float) -> QColor:
    """The text's colour, ``share`` of it, in the background's."""
    text = palette.color(QPalette.ColorRole.WindowText)
    back = palette.color(QPalette.ColorRole.Window)
    pairs = zip(text.getRgb()[:3], back.getRgb()[:3], strict=True)
    return QColor(*(round(share * int(t) + (1 - share) * int(b)) for t, b in pairs))


def accent(palette: QPalette) -> QColor:
    """A blue that is seen on the background."""
    return QColor(100, 175, 245) if _is_dark(palette) else QColor(5, 80, 160)


def positive(palette: QPalette) -> QColor:
    """An orange that is seen on the background; below zero, ``accent`` is its counterpart."""
    return QColor(250, 150, 60) if _is_dark(palette) else QColor(200, 80, 0)


def _is_dark(palette: QPalette) -> bool:
    return bool(palette.color(QPalette.ColorRole.Window).lightness() < 128)


def pixmap(picture: Array) -> QPixmap:
    """(y, x, 3) uint8 -> a picture for Qt."""
    height, width, _ = picture.shape
    data = np.ascontiguousarray(picture).tobytes()
    return QPixmap.fromImage(QImage(data, width, height, 3 * width, QImage.Format.Format_RGB888))


def draw_framed(canvas: QPixmap, picture: Array) -> None:
    """Draw (y, x, 3) uint8 into the middle of the canvas, with large pixels and a frame."""
    room = canvas.rect().adjusted(1, 1, -1, -1)
    size = pixmap(picture).size().scaled(room.size(), Qt.AspectRatioMode.KeepAspectRatio)
    place = QRect(room.topLeft(), size)
    place.moveCenter(room.center())
    painter = QPainter(canvas)
    painter.fillRect(place.adjusted(-1, -1, 1, 1), QColor(*[SEPARATOR] * 3))
    painter.drawPixmap(place, pixmap(picture))
    painter.end()
