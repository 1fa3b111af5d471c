"""The tab Batch: restores files in the background, and shows how far they are."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from qtpy.QtCore import Signal
from qtpy.QtGui import QFont
from qtpy.QtWidgets import QApplication, QFileDialog, QProgressBar, QSizePolicy, QVBoxLayout

from napari_scsc.batch.job import iter_batch
from napari_scsc.batch.request import BatchRequest, command_line, result_folder
from napari_scsc.batch.updates import (
    BatchUpdate,
    FileDone,
    FileFailed,
    FileProgress,
    FileReport,
    FileStarted,
    FileState,
    count_in_words,
    has_result,
    write_summary,
)
from napari_scsc.cancellation import Cancellation
from napari_scsc.errors import PathExistsError, UserError
from napari_scsc.plugin.batch.file_list import FileList
from napari_scsc.plugin.batch.output_fields import GO_ON, OutputFields
from napari_scsc.plugin.batch.settings import BatchSettings
from napari_scsc.plugin.controller import Ending
from napari_scsc.plugin.cost import duration
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.jobs import CurrentJob, Outcome, Report
from napari_scsc.plugin.parts import PartUpdate
from napari_scsc.plugin.sections.form_widgets import (
    FontFollower,
    Section,
    allow,
    make_label,
    make_row,
)
from napari_scsc.plugin.wording import say

_VERBS = {"denoise": "Denoise", "inpaint": "Fill"}


class BatchTab(Section):
    """Restores a list of files into a folder, with the settings of the rest of the dock.

    Parameters
    ----------
    read_settings : function
        Gives what the dock is set to; called when a batch begins, and when the tab is shown.
    """

    open_wanted = Signal(str, str)
    """A row was double-clicked whose result is there: brings the paths of result and source."""
    changed = Signal()
    """A batch has begun, is held, goes on, or has ended."""

    def __init__(self, read_settings: Callable[[], BatchSettings]) -> None:
        super().__init__()
        self._read_settings = read_settings
        self._paused = self._stopping = False
        self._arrived: deque[BatchUpdate] = deque()
        self._job = CurrentJob(self)
        self._job.reported.connect(self._show_report)
        self._job.ended.connect(self._end)
        self.files = FileList()
        self._table = self.files.table.files
        self.files.failed.connect(self.failed)
        self.files.changed.connect(self._show_state)
        self.files.table.open_wanted.connect(self._open_row)
        self.output = OutputFields()
        self.output.failed.connect(self.failed)
        self._make_foot()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.files, 1)
        for part in (
            self.output,
            self.settings_line,
            self.bar,
            self.message_line,
            make_row(self.start_button, self.pause_button),
            self.summary_button,  # beside each other, they are too wide in large type
            self.command_button,
        ):
            column.addWidget(part)
        FontFollower(self, self._take_font)
        self._show_state()

    def _make_foot(self) -> None:
        self.settings_line = make_label()
        self.settings_line.setToolTip("What is done with each file: the settings of the dock")
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of all files")
        self.bar.hide()
        self.message_line = make_label()
        self.message_line.hide()
        self.start_button = self.make_button("", "", self._start_or_stop)
        font = self.start_button.font()
        font.setBold(True)
        self.start_button.setFont(font)
        self.start_button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.pause_button = self.make_button("Pause", "", self.pause)
        self.pause_button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.summary_button = self.make_button("Save summary…", "", self._ask_where_to_save)
        self.command_button = self.make_button("Copy command", "", self.copy_command)

    @property
    def reports(self) -> tuple[FileReport, ...]:
        """What is known of each file."""
        return self.files.reports

    def add_paths(self, paths: Iterable[str]) -> None:
        """Add files, and the files of folders that match the pattern."""
        self.files.add_paths(paths)

    @handler
    def _open_row(self, row: int) -> None:
        report = self.reports[row]
        if has_result(report):
            self.open_wanted.emit(str(report.result), report.path)

    # --- running --------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether files are being restored, held or not."""
        return self._job.job is not None

    @property
    def paused(self) -> bool:
        """Whether the batch is held."""
        return self._paused

    def request(self) -> BatchRequest:
        """The batch that the list and the fields ask for."""
        if not self.reports:
            raise UserError("there are no files to restore", remedy="add some, or drop them here")
        settings = self._read_settings()
        paths = tuple(report.path for report in self.reports)
        fields = self.output.values(result_folder(paths[0], settings.task))
        return settings.request(inputs=paths, **fields)

    def start(self) -> None:
        """Restore the files in the background."""
        if self.busy:
            raise UserError("the files are being restored: stop it first")
        request = self.request()
        self._table.start_over()
        self._arrived = deque()
        self._say("Starting ...")
        self.bar.setValue(0)
        title = f"{_VERBS[request.task]} {len(self.reports)} files"
        # Qt may delete this widget while the worker runs, which must not know it.
        self._job.start(title, partial(_collect_updates, request, self._arrived))
        self._show_state()

    def stop(self) -> None:
        """Have it stop soon; what is done stays, and starting again goes on from there."""
        if self.busy:
            self._stopping, self._paused = True, False
            self._job.cancel()
            self._show_state()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        if self.busy and not self._stopping:
            self._paused = not self._paused
            self._job.hold(self._paused)
            self._say("Held" if self._paused else "Going on ...")
            self._show_state()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs, the window staying alive; False if that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.busy:
            QApplication.processEvents()
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def copy_command(self) -> None:
        """Put the shell line that does the same into the clipboard."""
        settings, request = self._read_settings(), self.request()
        if settings.bank_path is not None:
            request = replace(request, bank=settings.bank_path)
        clipboard: Any = QApplication.clipboard()
        clipboard.setText(command_line(request))
        self._say("The command is in the clipboard")

    def save_summary(self, path: str) -> None:
        """Write the table to a file, as CSV."""
        write_summary(self.reports, path, say)

    def _ask_where_to_save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save the summary", "summary.csv", "*.csv")
        if path:
            self.save_summary(path)

    def _start_or_stop(self) -> None:
        (self.stop if self.busy else self.start)()

    # --- showing --------------------------------------------------------------------------------

    def show_settings(self) -> None:
        """Say with which settings files are restored; to be called when these change."""
        settings = self._read_settings()
        self.settings_line.setText(settings.in_words())
        self.output.show_usual_folder(
            result_folder(self.reports[0].path, settings.task)
            if self.reports
            else "a folder beside the first file"
        )
        if not self.busy:
            count = len(self.reports)
            files = f"{count} file{'' if count == 1 else 's'}" if count else "files"
            self.start_button.setText(f"{_VERBS[settings.task]} {files}")

    @handler
    def showEvent(self, event: Any) -> None:
        """Settings may have changed since the tab was seen."""
        super().showEvent(event)
        self.attempt(self.show_settings)

    def _take_font(self, font: QFont) -> None:
        """Give what napari's themes leave small the font of labels."""
        table = self.files.table
        for widget in (self.files.pattern, self.output.out, table, table.horizontalHeader()):
            widget.setFont(font)

    @handler
    def _show_state(self) -> None:
        """Which buttons can be pressed, and what the large one does."""
        empty = "" if self.reports else "There are no files: add some, or drop them on the table"
        self.files.lock(self.busy)
        self.output.setEnabled(not self.busy)
        if self.busy:
            self.start_button.setText("Stop")
            stopping = "It is being stopped" if self._stopping else ""
            allow(self.start_button, "Stop; what is done stays", stopping)
        else:
            allow(self.start_button, "Restore each file into the folder for the results", empty)
        idle = "" if self.busy and not self._stopping else "Nothing runs"
        self.pause_button.setText("Resume" if self._paused else "Pause")
        allow(self.pause_button, "Hold what runs, or let it go on", idle)
        allow(self.summary_button, "Write the table to a file (CSV)", empty)
        allow(self.command_button, "Copy the shell command that does the same", empty)
        self.bar.setVisible(self.busy)
        self.attempt(self.show_settings)
        self.changed.emit()

    def _say(self, text: str) -> None:
        self.message_line.setText(text)
        self.message_line.setVisible(bool(text))

    @handler
    def _show_report(self, report: Report, seconds_left: float | None) -> None:
        self._take_arrived()
        update: Any = report.newest.update
        if isinstance(update, FileProgress):
            self._table.show_share(update.number, update.update.done)
        self.bar.setValue(round(1000 * update.done))
        if not self._paused:  # what was on its way is shown, but not told
            left = "" if seconds_left is None else f", {duration(seconds_left)} left"
            self._say(count_in_words(self.reports) + left)

    def _take_arrived(self) -> None:
        """Show what happened to files since the last time; reports come less often than that."""
        while self._arrived:
            update = self._arrived.popleft()
            if isinstance(update, FileStarted | FileDone | FileFailed):
                self._table.show_report(update.number, update.report)

    @handler
    def _end(self, outcome: Outcome) -> None:
        self._paused = self._stopping = False
        self._take_arrived()
        table, count = self._table, count_in_words(self.reports)
        if outcome.ending is Ending.DONE:
            self._say(f"Done: {count}, in {self._job.seconds_spent:.1f} s")
        elif outcome.ending is Ending.STOPPED:
            table.end_running(FileState.STOPPED)
            self._say(f"Stopped: {count} done. Starting again goes on")
        else:
            error = outcome.error or UserError("it ended for no known reason")
            if isinstance(error, PathExistsError):
                error.about(remedy=f"tick '{GO_ON}', or choose another folder")
            table.end_running(FileState.FAILED, error)
            self._say(f"That did not work: {say(error)}")
            self.failed.emit(error)
        self._show_state()


def _collect_updates(
    request: BatchRequest, arrived: deque[BatchUpdate], cancellation: Cancellation
) -> Iterator[PartUpdate]:
    """Run a batch, keeping what happened to files: not every update becomes a report."""
    for update in iter_batch(request, cancellation):
        if isinstance(update, FileDone):
            update = replace(update, finished=None)  # the window has no use for the result
        if not isinstance(update, FileProgress):
            arrived.append(update)
        yield PartUpdate(0, update, update.done)
