"""The menu of the dock: scripts and commands, files of filters, reset."""

from __future__ import annotations

from typing import Any

from napari.utils.notifications import show_info
from qtpy.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox, QToolButton

from napari_scsc.io.filenames import format_shape
from napari_scsc.io.layers import bank_layer
from napari_scsc.plugin.command import restore_command
from napari_scsc.plugin.placing import add_beside
from napari_scsc.plugin.sections.form_widgets import TextButton


class DockMenu(TextButton):
    """A button with a menu, for what is wanted now and then.

    Parameters
    ----------
    dock : Dock
        Whose menu it is.
    """

    def __init__(self, dock: Any) -> None:
        super().__init__("⋯")
        self._dock = dock
        self.setStyleSheet("QToolButton::menu-indicator { image: none; }")  # the dots say it
        self.setToolTip("Scripts, files of filters, reset")
        self.setAccessibleName("More")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self.entries: dict[str, Any] = {}
        """What it offers, by what it says."""
        self._offer("Copy script", "The Python lines that do it again", self._copy_script)
        self._offer("Copy command", "The shell lines that do it again", self._copy_command)
        self._menu.addSeparator()
        self._offer("Load filters", "Read base filters from a file", self._load, asks=True)
        self._offer("Save filters", "Write the base filters B to a file", self._save, asks=True)
        self._offer("Filters to layer", "Show the base filters B as a layer", self._add_filters)
        self._menu.addSeparator()
        self._offer("Reset", "Forget the filters; every field as at first", self._reset, asks=True)
        self.setMenu(self._menu)

    def _offer(self, name: str, tip: str, action: Any, asks: bool = False) -> None:
        entry: Any = self._menu.addAction(f"{name} ..." if asks else name)
        entry.setToolTip(tip)
        entry.triggered.connect(lambda _checked=False: self._dock.attempt(action))
        self.entries[name] = entry

    def show_state(self) -> None:
        """Which of them can be chosen."""
        dock = self._dock
        has_filters, has_results = dock.bank is not None, bool(dock.runner.results)
        for name, is_possible in (
            ("Copy script", bool(dock.script)),
            ("Copy command", has_results),
            ("Load filters", not dock.busy),
            ("Save filters", has_filters),
            ("Filters to layer", has_filters),
            ("Reset", not dock.busy),
        ):
            self.entries[name].setEnabled(is_possible)

    def _copy_script(self) -> None:
        runner = self._dock.runner
        sources = [result.request.source for result in runner.results]
        _copy(runner.written.from_files(self._dock.viewer.layers, sources))
        show_info("The script is in the clipboard")

    def _copy_command(self) -> None:
        results = self._dock.runner.results
        _copy(restore_command([result.request for result in results], self._dock.filters.path))
        show_info("The command is in the clipboard")

    def _save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save filters", "filters.scsc", "*.scsc")
        if path:
            self._dock.save_bank(path, overwrite=True)  # the dialog has asked

    def _load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load filters", "", "*.scsc")
        if path:
            self._dock.load_bank(path)

    def _reset(self) -> None:
        """Reset; filters that are in no file are forgotten only if the user says so."""
        if self._dock.filters.has_unsaved:
            words = "The filters are not saved. Forget them?"
            if QMessageBox.question(self, "Reset", words) != QMessageBox.StandardButton.Yes:
                return
        self._dock.reset()

    def _add_filters(self) -> None:
        """Add the base filters as a layer, and say where it is."""
        dock, bank = self._dock, self._dock.bank
        if bank is not None:
            add_beside(dock.viewer, bank_layer(bank, "base filters · stack"))
            dock.run_section.say(
                f"{bank.n_base} filters of {format_shape(bank.support)} pixels are the layer "
                "'base filters · stack', beside the image"
            )


def _copy(text: str) -> None:
    clipboard: Any = QApplication.clipboard()
    clipboard.setText(text)
