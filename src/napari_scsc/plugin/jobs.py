"""A job in the background: every way out of a worker is handled here, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

from napari.qt.threading import create_worker
from qtpy.QtCore import QObject, Signal

from napari_scsc.restore.job import RestoreUpdate, Updates

_EVERY = 0.08  # seconds between two reports: no more than the screen can show


class Stopped(Exception):
    """The user wants no more of it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened since the last report."""

    update: RestoreUpdate
    blocks: tuple[tuple[Any, Any], ...]
    """Regions that were restored meanwhile, with their values."""


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


class Job(QObject):
    """One run of a generator of updates in a worker of napari.

    ``reported`` brings what happened, at most some twelve times a second; ``ended`` comes once,
    whatever happened, on the thread of the GUI.
    """

    reported = Signal(object)
    ended = Signal(object)

    def __init__(self, start: Callable[[Callable[[], None]], Updates], parent: QObject) -> None:
        super().__init__(parent)
        self._start = start
        self._control = Control()
        self._outcome: Outcome | None = None
        # Connected to methods of a QObject: Qt drops them when it is deleted.
        self._worker = create_worker(self._work)
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

    def _work(self) -> Generator[Report, None, Outcome]:
        """In the worker's thread. Raises nothing: napari swallows RuntimeErrors of generators."""
        last: RestoreUpdate | None = None
        blocks: list[tuple[Any, Any]] = []
        said = 0.0
        try:
            for update in self._start(self._control.tick):
                last = update
                if update.region is not None:
                    blocks.append((update.region, update.values))
                now = time.monotonic()
                if now - said >= _EVERY or update.stage in ("noise", "done"):
                    said = now
                    yield Report(update, tuple(blocks))
                    blocks = []
                self._control.tick()
            return Outcome("done", last)
        except Stopped:
            if last is not None and blocks:
                yield Report(last, tuple(blocks))
            return Outcome("stopped", last)
        except Exception as error:  # the user is told, whatever it was
            return Outcome("failed", last, error)

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
