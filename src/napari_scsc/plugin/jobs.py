"""Work in the background: every way out of a worker is handled here, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

from napari.qt.threading import create_worker
from napari.utils import cancelable_progress
from qtpy.QtCore import QObject, Signal

from napari_scsc.model.updates import SampleUpdate
from napari_scsc.run.updates import RestoreUpdate, Updates

_EVERY = 0.08  # seconds between two reports: no more than the screen can show


class Stopped(Exception):
    """The user wants no more of it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since the last report."""

    update: RestoreUpdate
    changed: bool
    """Whether a part of the result was written meanwhile."""
    learned: tuple[SampleUpdate, ...] = ()
    """What each of the samples learned from meanwhile gave."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended."""

    how: Literal["done", "stopped", "failed"]
    last: RestoreUpdate | None
    error: Exception | None = None


class Control:
    """What the GUI says to the worker: stop, pause, go on."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._go = threading.Event()
        self._go.set()

    def stop(self) -> None:
        """Stop at the next tick, also out of a pause."""
        self._stop.set()
        self._go.set()

    def pause(self) -> None:
        """Wait at the next tick."""
        self._go.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._go.set()

    @property
    def paused(self) -> bool:
        """Whether it waits."""
        return not self._go.is_set()

    def tick(self) -> None:
        """Called by the core, often and from any of its threads."""
        self._go.wait()
        if self._stop.is_set():
            raise Stopped


# No method of a QObject: napari names the function of a worker when it ends, and Qt may have
# deleted the object by then.
def _working(
    start: Callable[[Callable[[], None]], Updates], control: Control
) -> Generator[Report, None, Outcome]:
    """In the worker's thread. Raises nothing: napari swallows RuntimeErrors of generators."""
    last: RestoreUpdate | None = None
    changed = False
    learned: list[SampleUpdate] = []
    said = 0.0
    try:
        for update in start(control.tick):
            last = update
            changed = changed or update.region is not None
            if update.learned is not None:
                learned.append(update.learned)
            now = time.monotonic()
            if now - said >= _EVERY or update.stage in ("noise", "done"):
                said = now
                yield Report(update, changed, tuple(learned))
                changed = False
                learned.clear()
            control.tick()
        return Outcome("done", last)
    except Stopped:
        if last is not None and (changed or learned):
            yield Report(last, changed, tuple(learned))
        return Outcome("stopped", last)
    except Exception as error:  # the user is told, whatever it was
        return Outcome("failed", last, error)


class Job(QObject):
    """One run of a generator of updates in a worker of napari.

    ``reported`` brings what happened, at most some twelve times a second; ``ended`` comes once,
    whatever happened, on the thread of the GUI.
    """

    reported = Signal(object)
    ended = Signal(object)

    def __init__(self, start: Callable[[Callable[[], None]], Updates], parent: QObject) -> None:
        super().__init__(parent)
        self.started = time.monotonic()
        self._control = Control()
        # A window that is closed deletes its docks: what waits, or is in a tile, must end too.
        self.destroyed.connect(self._control.stop)
        self._outcome: Outcome | None = None
        # Connected to methods of a QObject: Qt drops them when it is deleted.
        self._worker = create_worker(_working, start, self._control)
        self._worker.yielded.connect(self._report)
        self._worker.returned.connect(self._end)
        self._worker.aborted.connect(self._abort)
        self._worker.errored.connect(self._fail)

    def start(self) -> None:
        """Begin."""
        self._worker.start()

    def stop(self) -> None:
        """Stop soon; ``ended`` follows."""
        self._control.stop()

    def pause(self) -> None:
        """Wait until ``resume``."""
        self._control.pause()

    def resume(self) -> None:
        """Go on."""
        self._control.resume()

    @property
    def paused(self) -> bool:
        """Whether it waits."""
        return self._control.paused

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it runs."""
        return self._outcome

    def _report(self, report: Report) -> None:
        if self._outcome is None:
            self.reported.emit(report)

    def _end(self, outcome: Outcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self.ended.emit(outcome)

    def _abort(self) -> None:
        self._end(Outcome("stopped", None))

    def _fail(self, error: Exception) -> None:
        self._end(Outcome("failed", None, error))


class Activity(cancelable_progress):
    """A bar with a Cancel button in napari's activity area; made and used by the GUI's thread."""

    def __init__(self, what: str, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        super().__init__(desc=what, total=100)

    def cancel(self) -> None:
        """Called by the button."""
        super().cancel()
        self._cancel()

    def show(self, done: float) -> None:
        """Say how much is done, 0 to 1; only what can be seen, for napari draws it at once."""
        percent = round(100 * done)
        if percent > self.n:
            self.update(percent - self.n)


class Background(QObject):
    """One small thing at a time that takes too long for the GUI; the last one asked for counts.

    ``failed`` brings what went wrong.
    """

    failed = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._number = 0
        self._done = 0
        self._then: Callable[[Any], None] = lambda _: None

    def run(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do ``work`` in a thread, and ``then`` with what it gives here."""
        self._number += 1
        self._then = then
        number = self._number

        def attempt() -> tuple[int, Any, Exception | None]:
            try:
                return number, work(), None
            except Exception as error:  # napari would show it twice
                return number, None, error

        worker = create_worker(attempt)
        worker.returned.connect(self._returned)
        worker.start()

    @property
    def running(self) -> bool:
        """Whether something was asked for that has not come yet."""
        return self._done < self._number

    def forget(self) -> None:
        """Let what is under way come to nothing."""
        self._number += 1
        self._done = self._number

    def _returned(self, answer: tuple[int, Any, Exception | None]) -> None:
        number, value, error = answer
        if number != self._number:
            return
        self._done = number
        if error is not None:
            self.failed.emit(error)
        else:
            self._then(value)
