"""Bars around zero in a list: a coloured one before a grey one."""

from __future__ import annotations

from collections.abc import Sequence

from qtpy.QtCore import QLineF, QModelIndex, QRectF
from qtpy.QtGui import QColor, QPainter, QPen
from qtpy.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.explanation_lines import ExplanationLine

BARS = 1
"""The column of the list that has the bars."""

_THICK, _THIN = 16, 8  # of the source, and of the result before it
_MARGIN = 4


class ExplanationBars(QStyledItemDelegate):
    """Draws the lines of an explanation into a list; the chosen one has a background."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chosen = 0
        self._lines: Sequence[ExplanationLine] = ()
        self._scale = 1.0

    def show_lines(self, lines: Sequence[ExplanationLine], scale: float) -> None:
        """Draw these lines; a full bar stands for ``scale``."""
        self._lines, self._scale = lines, scale

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        """Draw one cell of the list."""
        row = index.row()
        if painter is None or row >= len(self._lines):
            return
        share = (0.2 if self.parent().hasFocus() else 0.1) if row == self.chosen else 0.0
        back = theme.mixed(option.palette, share)
        painter.fillRect(option.rect, back)
        if index.column() == BARS:
            self._paint_bars(painter, option, self._lines[row], back)
        else:
            super().paint(painter, option, index)

    def _paint_bars(
        self, painter: QPainter, option: QStyleOptionViewItem, line: ExplanationLine, back: QColor
    ) -> None:
        palette, room = option.palette, QRectF(option.rect).adjusted(_MARGIN, 0, -_MARGIN, 0)
        if line.before is not None:
            self._paint_bar(painter, room, line.before, _THICK, theme.mixed(palette, 0.4), back)
        colour = theme.accent(palette) if line.part < 0 else theme.positive(palette)
        self._paint_bar(painter, room, line.part, _THIN, colour, back)
        zero = QRectF(room.center().x() - 0.5, room.top() + 3, 1, room.height() - 6)
        painter.fillRect(zero, theme.mixed(palette, 0.7))

    def _paint_bar(
        self,
        painter: QPainter,
        room: QRectF,
        value: float,
        height: int,
        colour: QColor,
        back: QColor,
    ) -> None:
        share = min(max(value / self._scale, -1.0), 1.0)
        middle = room.center()
        bar = QRectF(middle.x(), middle.y() - 0.5 * height, 0.5 * share * room.width(), height)
        painter.fillRect(bar.normalized(), colour)
        if abs(value) > self._scale:
            _cut(painter, bar, back)


def _cut(painter: QPainter, bar: QRectF, back: QColor) -> None:
    """Cut a bar that is longer than there is room for, so that nobody compares its length."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(back, 2))
    x = bar.left() + 0.8 * bar.width()
    for shift in (-3.0, 3.0):
        painter.drawLine(QLineF(x + shift - 3, bar.bottom() + 1, x + shift + 3, bar.top() - 1))
    painter.restore()
