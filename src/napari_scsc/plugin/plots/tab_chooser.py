"""A list of tabs, for where their names have no room beside each other."""

from __future__ import annotations

from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import QComboBox, QTabWidget

from napari_scsc.plugin.handlers import handler


class TabChooser(QComboBox):
    """Takes the place of the bar of tabs while that is wider than its room.

    Parameters
    ----------
    tabs : QTabWidget
        Whose tabs it chooses from; all of them are there already.
    """

    def __init__(self, tabs: QTabWidget) -> None:
        super().__init__()
        self._tabs = tabs
        self.setAccessibleName(tabs.accessibleName())
        self.addItems([tabs.tabText(i) for i in range(tabs.count())])
        self.activated.connect(tabs.setCurrentIndex)
        tabs.currentChanged.connect(self.setCurrentIndex)
        self.hide()
        tabs.installEventFilter(self)

    @handler
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Look again what has room."""
        changes = (QEvent.Type.Resize, QEvent.Type.FontChange)
        if event is not None and event.type() in changes:
            bar = self._tabs.tabBar()
            has_room = bar.sizeHint().width() <= self._tabs.width()
            bar.setVisible(has_room)
            self.setVisible(not has_room)
        return bool(super().eventFilter(watched, event))
