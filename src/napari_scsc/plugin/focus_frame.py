"""A frame around the field that has the focus: napari's themes show none."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QEvent, QPoint, QRect, Qt
from qtpy.QtGui import QColor, QPainter, QPen
from qtpy.QtWidgets import QApplication, QScrollArea, QWidget

from napari_scsc.plugin.handlers import handler

_WIDTH = 2


class FocusFrame(QWidget):
    """Drawn over a widget, around whichever of its parts was tabbed or clicked to."""

    def __init__(self, around: QWidget) -> None:
        super().__init__(around)
        self._around = around
        self._focused: QWidget | None = None
        self.colour = QColor("gray")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.hide()
        application: Any = QApplication.instance()
        application.focusChanged.connect(self._focus_changed)

    def leave(self) -> None:
        """Watch nothing any more."""
        self._watch(None)

    @handler
    def _focus_changed(self, _old: Any, new: Any) -> None:
        is_ours = new is not None and self._around.isAncestorOf(new)
        self._watch(new if is_ours and not isinstance(new, QScrollArea) else None)

    def _watch(self, widget: QWidget | None) -> None:
        if self._focused is not None:
            self._focused.removeEventFilter(self)
        self._focused = widget
        if widget is None:
            self.hide()
        else:
            widget.installEventFilter(self)
            self._place()

    @handler
    def eventFilter(self, watched: Any, event: Any) -> bool:
        """Follow the widget; one that goes takes the frame along."""
        kind = event.type()
        if kind in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Paint):
            self._place()
        elif kind in (QEvent.Type.Hide, QEvent.Type.DeferredDelete):
            self.hide()
        return bool(super().eventFilter(watched, event))

    def _place(self) -> None:
        widget = self._focused
        if widget is None or not widget.isVisible():
            return
        corner = widget.mapTo(self._around, QPoint(0, 0))
        place = QRect(corner, widget.size()).adjusted(-_WIDTH, -_WIDTH, _WIDTH, _WIDTH)
        if place != self.geometry() or not self.isVisible():
            self.setGeometry(place)
            self.show()
            self.raise_()

    def paintEvent(self, _event: Any) -> None:
        """The frame."""
        painter = QPainter(self)
        painter.setPen(QPen(self.colour, _WIDTH))
        painter.drawRect(self.rect().adjusted(1, 1, -_WIDTH, -_WIDTH))
