"""The list of files of a batch, and how files get into it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFileDialog, QLineEdit, QVBoxLayout

from napari_scsc.batch.inputs import find_in_folder
from napari_scsc.batch.updates import FileReport
from napari_scsc.errors import UserError
from napari_scsc.plugin.batch.file_table import FileTable
from napari_scsc.plugin.sections.form_widgets import Section, make_row

DEFAULT_PATTERN = "*.tif *.tiff *.zarr *.npy *.h5"


class FileList(Section):
    """Buttons and a table; files are added by a dialogue, dropped, and taken away."""

    changed = Signal()
    """Files came or went."""

    def __init__(self) -> None:
        super().__init__()
        self._locked = False
        self.add_files_button = self.make_button(
            "Add files…", "Choose files to restore", self._ask_for_files
        )
        self.add_folder_button = self.make_button(
            "Add folder…",
            "Choose a folder: each of its files that matches the pattern is an image of its own",
            self._ask_for_folder,
        )
        self.pattern = QLineEdit(DEFAULT_PATTERN)
        self.pattern.setToolTip("Which files of a folder are added; spaces between patterns")
        self.pattern.setAccessibleName("Pattern of the files in a folder")
        self.pattern.setMinimumWidth(60)
        self.pattern.setCursorPosition(0)
        self.remove_button = self.make_button(
            "Remove", "Take the chosen files off the list (Delete)", self.remove_chosen
        )
        self.clear_button = self.make_button("Clear", "Empty the list", self.clear)
        self.table = FileTable()
        self.table.setToolTip("Drop files or folders here")
        self.table.dropped.connect(lambda paths: self.attempt(partial(self.add_paths, paths)))
        self.table.delete_wanted.connect(lambda: self.attempt(self.remove_chosen))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(make_row(self.add_files_button, self.add_folder_button))
        column.addWidget(make_row(self.pattern, self.remove_button, self.clear_button))
        column.addWidget(self.table, 1)
        self.lock(False)

    @property
    def reports(self) -> tuple[FileReport, ...]:
        """What is known of each file."""
        return tuple(self.table.files.reports)

    def add_paths(self, paths: Iterable[str]) -> None:
        """Add files, and the files of folders that match the pattern."""
        self._check_unlocked()
        found: list[str] = []
        for path in paths:
            found += find_in_folder(os.path.abspath(path), self.pattern.text() or "*")
        self.table.files.add(found)
        self._tell_change()

    def remove_chosen(self) -> None:
        """Take the chosen files off the list."""
        self._check_unlocked()
        chosen = self.table.chosen_rows()
        self.table.files.keep([r for row, r in enumerate(self.reports) if row not in chosen])
        self._tell_change()

    def clear(self) -> None:
        """Take all files off the list."""
        self._check_unlocked()
        self.table.files.keep([])
        self._tell_change()

    def lock(self, locked: bool) -> None:
        """Let no files come and go, while they are restored; or let them again."""
        self._locked = locked
        for widget in (self.add_files_button, self.add_folder_button, self.pattern):
            widget.setEnabled(not locked)
        for widget in (self.remove_button, self.clear_button):
            widget.setEnabled(not locked and bool(self.reports))

    def _check_unlocked(self) -> None:
        if self._locked:
            raise UserError("the files are being restored: stop it first")

    def _tell_change(self) -> None:
        self.lock(self._locked)
        self.changed.emit()

    def _ask_for_files(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, "Files to restore")
        self.add_paths(paths)

    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Folder with files to restore")
        if path:
            self.add_paths([path])
