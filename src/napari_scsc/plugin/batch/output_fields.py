"""Where the results of a batch go, in which format, and what is done about failures."""

from __future__ import annotations

import os
from typing import Any

from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
)

from napari_scsc.choices import RESULT_FORMATS
from napari_scsc.plugin.sections.form_widgets import Section, make_row

GO_ON = "go on with what is there"
_AS_INPUT = "as the input"
_FAILURES = {"go on": "go-on", "stop": "stop"}


class OutputFields(Section):
    """The fields of a batch about its results."""

    def __init__(self) -> None:
        super().__init__()
        self.out = QLineEdit()
        self.out.setToolTip("The folder for the results, which are called like the files")
        self.out.setMinimumWidth(60)
        ask = QToolButton()
        ask.setText("…")
        ask.setToolTip("Choose the folder for the results")
        ask.setAccessibleName("Choose the folder for the results")
        ask.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        ask.clicked.connect(lambda: self.attempt(self._ask_for_folder))
        self.format = _make_box([_AS_INPUT, *RESULT_FORMATS], "The format of the results")
        self.failures = _make_box(
            list(_FAILURES), "What to do after a file that cannot be restored"
        )
        self.go_on = QCheckBox(GO_ON)
        self.go_on.setChecked(True)
        self.go_on.setToolTip(
            "Files whose result is in the folder are left out, and half done ones go on, with the "
            "same settings. Without it, nothing starts while there are such"
        )
        results, kind, failures = QLabel("Results to"), QLabel("Format"), QLabel("Failures")
        fields = {results: self.out, kind: self.format, failures: self.failures}
        for label, field in fields.items():
            label.setBuddy(field)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(4)
        form.addRow(results, make_row(self.out, ask))
        form.addRow(kind, self.format)
        form.addRow(failures, self.failures)
        form.addRow(self.go_on)

    def values(self, usual_folder: str) -> dict[str, Any]:
        """The fields of a ``BatchRequest`` that they are."""
        chosen = self.format.currentText()
        folder = self.out.text().strip() or usual_folder
        return {
            "out": os.path.join(folder, ""),
            "format": None if chosen == _AS_INPUT else chosen,
            "on_failure": _FAILURES[self.failures.currentText()],
            "resume": self.go_on.isChecked(),
        }

    def show_usual_folder(self, folder: str) -> None:
        """Say where results go if the field is empty."""
        self.out.setPlaceholderText(folder)

    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Folder for the results", self.out.text())
        if path:
            self.out.setText(path)


def _make_box(choices: list[str], tip: str) -> QComboBox:
    box = QComboBox()
    box.addItems(choices)
    box.setToolTip(tip)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    box.setMinimumWidth(60)
    return box
