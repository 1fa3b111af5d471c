"""The files of a batch as a table: a row a file, with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from qtpy.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from qtpy.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from napari_scsc.batch.updates import FileReport, FileState
from napari_scsc.errors import message_of
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots.plot_theme import positive
from napari_scsc.plugin.wording import say

COLUMNS = ("file", "state", "noise", "time", "warning", "fit")
_WIDEST_CELLS = (
    "experiment.tif",
    "was there",
    "1234.5",
    "100.0 s",
    "it was not sure",
    "learn again",
)
_MIN_ROWS = 3
_NO_ROW = QModelIndex()  # the parent of all rows
_Role = Qt.ItemDataRole


class FileTableModel(QAbstractTableModel):
    """The reports of the files, in the order in which they are restored."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.reports: list[FileReport] = []
        self._shares: dict[int, float] = {}  # of what runs

    def add(self, paths: Iterable[str]) -> None:
        """Add files that are not there yet."""
        known = {report.path for report in self.reports}
        new = [path for path in dict.fromkeys(paths) if path not in known]
        if new:
            first = len(self.reports)
            self.beginInsertRows(_NO_ROW, first, first + len(new) - 1)
            self.reports += [FileReport(path, Path()) for path in new]
            self.endInsertRows()

    def keep(self, reports: list[FileReport]) -> None:
        """Have these reports and no others."""
        self.beginResetModel()
        self.reports = reports
        self._shares.clear()
        self.endResetModel()

    def start_over(self) -> None:
        """Let every file wait."""
        self.keep([FileReport(report.path, Path()) for report in self.reports])

    def show_report(self, number: int, report: FileReport) -> None:
        """Say what is known of a file now."""
        self.reports[number] = report
        self._shares.pop(number, None)
        self.dataChanged.emit(self.index(number, 0), self.index(number, len(COLUMNS) - 1))

    def show_share(self, number: int, done: float) -> None:
        """Say how much of a file is done, 0 to 1; of one that has ended, all is said already."""
        if self.reports[number].state is not FileState.RUNNING:
            return
        self._shares[number] = done
        place = self.index(number, COLUMNS.index("state"))
        self.dataChanged.emit(place, place)

    def end_running(self, state: FileState, error: Exception | None = None) -> None:
        """Say how the file that was running ended, when all of the batch did."""
        for number, report in enumerate(self.reports):
            if report.state is FileState.RUNNING:
                failure = None if error is None else message_of(error)
                self.show_report(number, replace(report, state=state, failure=failure))

    def rowCount(self, parent: QModelIndex = _NO_ROW) -> int:
        """How many files there are."""
        return 0 if parent.isValid() else len(self.reports)

    def columnCount(self, parent: QModelIndex = _NO_ROW) -> int:
        """How many things are said of each."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole
    ) -> Any:
        """The title of a column."""
        if role != _Role.DisplayRole or orientation != Qt.Orientation.Horizontal:
            return None
        return COLUMNS[section]

    def data(self, index: QModelIndex, role: int = _Role.DisplayRole) -> Any:
        """What a cell shows."""
        report, column = self.reports[index.row()], COLUMNS[index.column()]
        if role == _Role.DisplayRole:
            return self._text(index.row(), report, column)
        if role in (_Role.ToolTipRole, _Role.AccessibleDescriptionRole):
            return _whole_text(report, column)
        if role == _Role.ForegroundRole and report.state is FileState.FAILED:
            return positive(self.parent().palette())
        return None

    def _text(self, number: int, report: FileReport, column: str) -> str:
        if column == "file":
            return Path(report.path).name
        if column == "state":
            share = self._shares.get(number)
            return str(report.state) if share is None else f"{share:.0%}"
        if column == "noise":
            return "" if report.sigma is None else f"{report.sigma:.4g}"
        if column == "time":
            return f"{report.seconds:.1f} s" if report.seconds else ""
        if column == "fit":
            return report.fit
        return _warning(report, "; ")


def _whole_text(report: FileReport, column: str) -> str:
    if column == "file":
        return report.path
    if column == "noise":
        return report.noise
    if column == "fit":
        return "Whether the filters suit the image" if report.fit else ""
    return _warning(report, "\n")


def _warning(report: FileReport, comma: str) -> str:
    messages = report.warnings if report.failure is None else (report.failure, *report.warnings)
    return comma.join(map(say, messages))


class FileTable(QTableView):
    """The table; files can be dropped on it, and the Delete key takes the chosen ones away."""

    dropped = Signal(list)
    """Brings the paths of what was dropped."""
    delete_wanted = Signal()
    open_wanted = Signal(int)
    """Brings the row that was double-clicked, or on which Enter was pressed."""

    def __init__(self) -> None:
        super().__init__()
        self.files = FileTableModel(self)
        self.setModel(self.files)
        self.setAcceptDrops(True)
        self.setAccessibleName("Files to restore, and what came of them")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setTabKeyNavigation(False)  # Tab leads on to the next field
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows: Any = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns: Any = self.horizontalHeader()
        columns.setStretchLastSection(True)
        columns.setHighlightSections(False)
        self.doubleClicked.connect(lambda index: self.open_wanted.emit(index.row()))
        self._fit_to_font()

    @handler
    def changeEvent(self, event: Any) -> None:
        """Rows and columns follow the font."""
        super().changeEvent(event)
        if event.type() == event.Type.FontChange:
            self._fit_to_font()

    def _fit_to_font(self) -> None:
        metrics = self.fontMetrics()
        height = metrics.height() + 6
        rows: Any = self.verticalHeader()
        rows.setDefaultSectionSize(height)
        for column, widest in enumerate(_WIDEST_CELLS):
            self.setColumnWidth(column, metrics.horizontalAdvance(widest) + 12)
        self.setMinimumHeight((_MIN_ROWS + 1) * height + 4)

    def chosen_rows(self) -> set[int]:
        """The rows that are selected."""
        selection: Any = self.selectionModel()
        return {index.row() for index in selection.selectedRows()}

    @handler
    def keyPressEvent(self, event: Any) -> None:
        """Delete takes away, Enter opens."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            for row in sorted(self.chosen_rows()):
                self.open_wanted.emit(row)
        else:
            super().keyPressEvent(event)

    @handler
    def dragEnterEvent(self, event: Any) -> None:
        """Take files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    @handler
    def dragMoveEvent(self, event: Any) -> None:
        """Take files, wherever they are dropped."""
        self.dragEnterEvent(event)

    @handler
    def dropEvent(self, event: Any) -> None:
        """Add files."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.dropped.emit(paths)
