"""The buttons under the tabs."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QWidget

_SEND = "Send what this tab shows to the viewer, as a new layer"
_SAVE = "Save what this tab shows, as a picture (.png) or a table (.csv)"
_KINDS = {"Picture (*.png)": "png", "Table (*.csv)": "csv"}


class PlotButtons(QWidget):
    """To layer, and Save; grey with a reason where that cannot be done."""

    def __init__(self) -> None:
        super().__init__()
        self.to_layer, self.save = QPushButton("To layer"), QPushButton("Save...")
        self.to_layer.setAccessibleName("Send to the viewer as a layer")
        self.save.setAccessibleName("Save as a picture or a table")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 2)
        layout.addStretch(1)
        for button in (self.to_layer, self.save):
            button.setAutoDefault(False)
            layout.addWidget(button)

    def allow(self, no_layer: str, nothing_to_save: str) -> None:
        """Say what cannot be done, and why; an empty reason allows it."""
        _allow(self.to_layer, no_layer, _SEND)
        _allow(self.save, nothing_to_save, _SAVE)


def _allow(button: QPushButton, reason: str, tip: str) -> None:
    button.setEnabled(not reason)
    button.setToolTip(reason or tip)
    button.setAccessibleDescription(reason or tip)


def ask_path(parent: QWidget, name: str) -> Path | None:
    """Ask where to save ``name``; None if the user does not want to any more."""
    dialog = QFileDialog(parent, f"Save {name}")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters(list(_KINDS))
    # The dialog adds it, and not we, so that it asks before it replaces a file.
    dialog.setDefaultSuffix("png")
    dialog.filterSelected.connect(lambda kind: dialog.setDefaultSuffix(_KINDS[kind]))
    dialog.selectFile(name)
    chosen = dialog.selectedFiles() if dialog.exec() else []
    dialog.deleteLater()
    return Path(chosen[0]) if chosen else None
