"""A box that opens a list of layers, of which one or several are ticked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qtpy.QtCore import QEvent, QRect, Qt, Signal
from qtpy.QtGui import QStandardItem, QStandardItemModel
from qtpy.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from napari_scsc.plugin.handlers import handler

_ID = Qt.ItemDataRole.UserRole


class LayerPicker(QComboBox):
    """Layers to choose from, by their ids; closed, it says which one, and how many more.

    A click on the name of a layer takes that one alone; a click on its box, or Space, adds it or
    takes it away. ``picked`` comes when the user has changed what is ticked.
    """

    picked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items = QStandardItemModel(self)
        self.setModel(self._items)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        view: Any = self.view()
        view.viewport().installEventFilter(self)
        view.installEventFilter(self)

    @property
    def ids(self) -> list[str]:
        """All that can be ticked, from top to bottom."""
        return [self._item(i).data(_ID) for i in range(self._items.rowCount())]

    @property
    def ticked(self) -> list[str]:
        """The ids of those that are ticked, from top to bottom."""
        return [i for row, i in enumerate(self.ids) if _is_ticked(self._item(row))]

    def show_layers(self, names: Sequence[tuple[str, str]], ticked: set[str]) -> None:
        """Have these layers, each an id and a name."""
        self._items.clear()
        for layer_id, name in names:
            item = QStandardItem(name)
            item.setToolTip(name)
            item.setData(layer_id, _ID)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            item.setCheckState(_state(layer_id in ticked))
            self._items.appendRow(item)
        self._show_summary()

    def tick(self, ticked: set[str]) -> None:
        """Tick these, and no others; nobody is told."""
        for row, layer_id in enumerate(self.ids):
            self._item(row).setCheckState(_state(layer_id in ticked))
        self._show_summary()

    @property
    def summary(self) -> str:
        """What it says while it is closed."""
        names = [self._item(i).text() for i in range(len(self.ids)) if _is_ticked(self._item(i))]
        if not names:
            return "no image" if self.ids else "open an image"
        return names[0] if len(names) == 1 else f"{names[0]}  + {len(names) - 1} more"

    def _show_summary(self) -> None:
        rows = [row for row in range(len(self.ids)) if _is_ticked(self._item(row))]
        self.setCurrentIndex(rows[0] if rows else -1)
        self.setToolTip(
            "\n".join(self._item(row).text() for row in rows)
            or "What is to be restored: an image layer"
        )
        self.update()

    def _item(self, row: int) -> Any:
        return self._items.item(row)

    # --- what the user does ---------------------------------------------------------------------

    @handler
    def eventFilter(self, watched: Any, event: Any) -> bool:
        """Ticks and keys in the open list."""
        view: Any = self.view()
        if event.type() == QEvent.Type.MouseButtonRelease and watched is view.viewport():
            index = view.indexAt(event.position().toPoint())
            if index.isValid():
                place = view.visualRect(index)
                is_box = event.position().x() <= place.left() + _box_width(view, place)
                self._choose(index.row(), alone=not is_box)
                return True
        if event.type() == QEvent.Type.KeyPress and watched is view:
            row = view.currentIndex().row()
            if event.key() == Qt.Key.Key_Space and row >= 0:
                self._choose(row, alone=False)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
                self._choose(row, alone=True)
                return True
        return bool(super().eventFilter(watched, event))

    @handler
    def keyPressEvent(self, event: Any) -> None:
        """Arrows go to the next layer alone; the rest is a combo box's."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(event.key())
        if step is None or event.modifiers() & Qt.KeyboardModifier.AltModifier:
            super().keyPressEvent(event)
            return
        row = min(max(self.currentIndex() + step, 0), len(self.ids) - 1)
        if row >= 0:
            self._choose(row, alone=True)

    def _choose(self, row: int, alone: bool) -> None:
        chosen = self.ids[row]
        ticked = {chosen} if alone else set(self.ticked) ^ {chosen}
        self.tick(ticked)
        if alone:
            self.hidePopup()
        self.picked.emit()

    def paintEvent(self, _event: Any) -> None:
        """The box, with the summary in it."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = self.fontMetrics().elidedText(
            self.summary, Qt.TextElideMode.ElideMiddle, max(self.width() - 34, 20)
        )
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _box_width(view: Any, place: QRect) -> int:
    """How far the box of an entry goes to the right."""
    metric = QStyle.PixelMetric.PM_IndicatorWidth
    return int(min(view.style().pixelMetric(metric) + 10, place.width()))


def _is_ticked(item: Any) -> bool:
    return bool(item.checkState() == Qt.CheckState.Checked)


def _state(is_ticked: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked
