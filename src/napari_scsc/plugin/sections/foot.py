"""The foot of the dock, always in sight: progress, a message, and the buttons of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtWidgets import QProgressBar, QPushButton

from napari_scsc.plugin.parts import Section, label, row

Action = Callable[[], None]


class Foot(Section):
    """Tells what goes on, and passes on what its buttons are pressed for."""

    def __init__(
        self,
        *,
        restore: Action,
        pause: Action,
        stop: Action,
        save: Action,
        load: Action,
        to_layer: Action,
        copy: Action,
        reset: Action,
    ) -> None:
        super().__init__()
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.bar.setAccessibleName("Progress")
        self.bar.hide()
        self._message = label()
        self.restore_button = self.button("Learn and denoise", "", restore)
        font = self.restore_button.font()
        font.setBold(True)
        self.restore_button.setFont(font)
        self.pause_button = self.button("Pause", "", pause)
        self.stop_button = self.button("Stop", "", stop)
        self.save_button = self.button("Save filters", "", save)
        self.layer_button = self.button("Filters to layer", "", to_layer)
        self.copy_button = self.button("Copy script", "", copy)
        self.load_button = self.button("Load filters", "", load)
        self.reset_button = self.button("Reset", "", reset)
        self.fill(
            self.bar,
            self._message,
            self.restore_button,
            row(self.pause_button, self.stop_button),
            row(self.save_button, self.load_button),
            row(self.layer_button, self.copy_button, self.reset_button),
        )
        layout: Any = self.layout()
        layout.setContentsMargins(8, 4, 8, 8)

    @property
    def message(self) -> str:
        """What it says."""
        return str(self._message.text())

    def say(self, text: str) -> None:
        """Say that instead, or nothing."""
        self._message.setText(text)
        self._message.setVisible(bool(text))

    @property
    def progress(self) -> float:
        """How much the bar shows as done, 0 to 1."""
        return float(self.bar.value() / 100)

    def show_progress(self, done: float | None) -> None:
        """Show how much is done, 0 to 1; None: nothing runs."""
        if done is not None:
            # Qt would paint the bar at once, and napari's window with it.
            self.bar.setUpdatesEnabled(False)
            self.bar.setValue(round(100 * done))
            self.bar.setUpdatesEnabled(True)
        self.bar.setVisible(done is not None)

    def show_state(self, busy: bool, paused: bool, has_filters: bool, has_script: bool) -> None:
        """Which buttons can be pressed."""
        self.pause_button.setText("Resume" if paused else "Pause")
        nothing, wait = "Nothing runs", "Something is running: stop it first"
        no_filters = "There are no filters to keep yet (those of a preview are not): learn some"
        allow(self.pause_button, busy, "Hold what runs, or let it go on", nothing)
        allow(self.stop_button, busy, "Stop; what was done so far stays", nothing)
        allow(self.save_button, has_filters, "Write the base filters B to a file", no_filters)
        allow(self.layer_button, has_filters, "Show the base filters B as a layer", no_filters)
        allow(self.load_button, not busy, "Read base filters from a file", wait)
        allow(self.reset_button, not busy, "Forget the filters; every field as at first", wait)
        allow(
            self.copy_button,
            has_script,
            "Copy the Python lines that do again what was done last",
            "Nothing was done yet",
        )


def allow(button: QPushButton, free: bool, tip: str, reason: str) -> None:
    """Let a button be pressed, with a tip; else say for what reason it cannot be."""
    button.setEnabled(free)
    button.setToolTip(tip if free else reason)
