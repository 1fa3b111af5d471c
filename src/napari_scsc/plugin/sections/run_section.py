"""Run: the one large button, and how far it is."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable

from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QProgressBar, QSizePolicy

from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.sections.form_widgets import Section, make_label, make_row

Action = Callable[[], None]
_TICK = 100  # ms between two steps of the bar
_MOST_BEFORE_DONE = 0.99
_MAX_SHOWN = 80  # characters of a message that is no error: three lines in large type


class RunSection(Section):
    """The main button, which stops what runs; the bar, Pause, and what is said.

    Between two reports the bar goes on by itself, as fast as the job is expected to.
    """

    def __init__(self, *, restore: Action, stop: Action, pause: Action) -> None:
        super().__init__()
        self.progress = 1.0
        """How much of what runs is done, 0 to 1; 1 if nothing runs."""
        self._is_running = False
        self._is_paused = False
        self._left: float | None = None
        self._reported_at = 0.0
        self._shown = 0.0
        self._stage = ""
        self._text = ""
        self._restore, self._stop = restore, stop
        self.main_button = self.make_button("Denoise", "", self._press)
        self.main_button.setObjectName("napari-scsc-main")
        font = self.main_button.font()
        font.setBold(True)
        self.main_button.setFont(font)
        self.pause_button = self.make_button("Pause", "Hold what runs, or let it go on", pause)
        policy = QSizePolicy.Policy
        self.pause_button.setSizePolicy(policy.Maximum, policy.Fixed)
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setFormat("%p %")
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        self._message = make_label()
        self._progress_row = make_row(self.bar, self.pause_button)
        self._progress_row.hide()
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK)
        self._timer.timeout.connect(self._move_bar)
        self.fill(self.main_button, self._progress_row, self._message)
        self.say("")

    @property
    def message(self) -> str:
        """What it says, all of it."""
        return self._text

    def say(self, text: str) -> None:
        """Say that instead, or nothing; what is long is read in the tooltip."""
        self._show(text, textwrap.shorten(text, _MAX_SHOWN, placeholder=" …"))

    def say_all(self, text: str) -> None:
        """Say what went wrong, to its end: there the remedy is."""
        self._show(text, text)

    def _show(self, text: str, shown: str) -> None:
        if text != self._text:
            self._text = text
            self._message.setText(shown)
            self._message.setToolTip(text)
        self._message.setVisible(bool(text))

    # --- a job ----------------------------------------------------------------------------------

    def begin(self, title: str, expected: float | None) -> None:
        """Show that a job begins, which is expected to take so many seconds."""
        self._is_running, self._shown, self._left = True, 0.0, expected
        self._stage = title.removesuffix(" ...").lower()
        self._reported_at = time.monotonic()
        self.progress = 0.0
        self._progress_row.show()
        self._draw(0.0)
        self.say(title)
        self._timer.start()

    def show(self, done: float, stage: str, seconds_left: float | None) -> None:
        """Show how much is done, 0 to 1, what is being done, and how long it will still take."""
        self.progress, self._left, self._stage = done, seconds_left, stage
        self._reported_at = time.monotonic()
        if not self._is_paused:  # what was on its way is shown, but not told
            self.say(self._words())
        self._move_bar()

    def end(self) -> None:
        """Show that nothing runs."""
        self._timer.stop()
        self._is_running, self.progress = False, 1.0
        if self.pause_button.hasFocus():
            self.main_button.setFocus()
        self._progress_row.hide()

    def _words(self) -> str:
        left = "" if self._left is None else f", about {max(self._left, 1):.0f} s left"
        return f"{self._stage}{left}"

    @handler
    def _move_bar(self) -> None:
        """Where the bar should be by now."""
        waited = 0.0 if self._is_paused else time.monotonic() - self._reported_at
        gained = 0.0
        if self._left:
            gained = (1 - self.progress) * (1 - math.exp(-waited / self._left))
        self._draw(min(max(self._shown, self.progress + gained), _MOST_BEFORE_DONE))

    def _draw(self, shown: float) -> None:
        self._shown = shown
        if self.bar.value() != round(1000 * shown):
            # Qt would paint the bar at once, and napari's window with it.
            self.bar.setUpdatesEnabled(False)
            self.bar.setValue(round(1000 * shown))
            self.bar.setUpdatesEnabled(True)

    # --- what the buttons do ----------------------------------------------------------------------

    def _press(self) -> None:
        (self._stop if self._is_running else self._restore)()

    def show_button(self, text: str, tip: str, refusal: str) -> None:
        """Say what the large button does, or why it cannot be pressed."""
        self.main_button.setText(text)
        self.main_button.setEnabled(not refusal)
        self.main_button.setToolTip(refusal or tip)

    def show_paused(self, is_paused: bool) -> None:
        """Show whether the job is held."""
        if is_paused == self._is_paused:
            return
        self._is_paused = is_paused
        self._reported_at = time.monotonic()
        self.pause_button.setText("Resume" if is_paused else "Pause")
        if self._is_running:
            (self._timer.stop if is_paused else self._timer.start)()
            self.say("Paused" if is_paused else self._words())
