"""A list of tabs, for where their names have no room beside each other."""

from __future__ import annotations

from qtpy.QtWidgets import QComboBox, QTabWidget


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

    def fit(self, width: int) -> None:
        """Show the bar of tabs if it has room in that width, and else this list."""
        bar = self._tabs.tabBar()
        has_room = bar.sizeHint().width() <= width
        bar.setVisible(has_room)
        self.setVisible(not has_room)
