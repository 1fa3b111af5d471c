"""The foot of the dock, always in sight: progress, a message, and the buttons of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtWidgets import QProgressBar

from napari_scsc.plugin.sections.form_widgets import Section, allow, make_label, make_row

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
        self.progress = 1.0
        """How much of what runs is done, 0 to 1; 1 if nothing runs."""
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.bar.setAccessibleName("Progress")
        self.bar.hide()
        self._message = make_label()
        self.restore_button = self.make_button("Learn and denoise", "", restore)
        font = self.restore_button.font()
        font.setBold(True)
        self.restore_button.setFont(font)
        self.pause_button = self.make_button("Pause", "", pause)
        self.stop_button = self.make_button("Stop", "", stop)
        self.save_button = self.make_button("Save filters", "", save)
        self.layer_button = self.make_button("Filters to layer", "", to_layer)
        self.copy_button = self.make_button("Copy script", "", copy)
        self.load_button = self.make_button("Load filters", "", load)
        self.reset_button = self.make_button("Reset", "", reset)
        self.fill(
            self.bar,
            self._message,
            self.restore_button,
            make_row(self.pause_button, self.stop_button),
            make_row(self.save_button, self.load_button),
            make_row(self.layer_button, self.copy_button, self.reset_button),
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

    def show_progress(self, done: float | None) -> None:
        """Show how much is done, 0 to 1; None: nothing runs."""
        self.progress = 1.0 if done is None else done
        if done is not None:
            # Qt would paint the bar at once, and napari's window with it.
            self.bar.setUpdatesEnabled(False)
            self.bar.setValue(round(100 * done))
            self.bar.setUpdatesEnabled(True)
        self.bar.setVisible(done is not None)

    def show_restore_button(self, text: str, layer: str, refusal: str) -> None:
        """Say what the large button does, to which layer, or why it cannot be pressed."""
        self.restore_button.setText(text)
        tip = f"{text} {layer} into a new layer; your layer stays as it is"
        allow(self.restore_button, tip, refusal)

    def show_state(self, busy: bool, paused: bool, has_filters: bool, has_script: bool) -> None:
        """Which of the other buttons can be pressed."""
        self.pause_button.setText("Resume" if paused else "Pause")
        idle = "" if busy else "Nothing runs"
        running = "Something is running: stop it first" if busy else ""
        empty = "There are no filters to keep yet (those of a preview are not): learn some"
        no_filters = "" if has_filters else empty
        for button, tip, refusal in (
            (self.pause_button, "Hold what runs, or let it go on", idle),
            (self.stop_button, "Stop; what was done so far stays", idle),
            (self.save_button, "Write the base filters B to a file", no_filters),
            (self.layer_button, "Show the base filters B as a layer", no_filters),
            (self.load_button, "Read base filters from a file", running),
            (self.reset_button, "Forget the filters; every field as at first", running),
            (
                self.copy_button,
                "Copy the Python lines that do again what was done last",
                "" if has_script else "Nothing was done yet",
            ),
        ):
            allow(button, tip, refusal)
