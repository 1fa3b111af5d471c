"""Work in the background: every way out of a worker is handled here, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from napari.qt.threading import create_worker
from napari.utils import cancelable_progress
from qtpy.QtCore import QObject, Signal

from napari_scsc.cancellation import Cancellation, Cancelled
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.controller import Ending, Lane
from napari_scsc.run.updates import (
    Finished,
    FirstLook,
    NoiseFound,
    RegionRestored,
    RestoreUpdate,
    TileLearned,
    Updates,
)

_SECONDS_BETWEEN_REPORTS = 0.08  # no more of them than the screen can show
_SECONDS_OF_A_LONG_JOB = 20.0  # from here on, napari's activity area shows it too

StartUpdates = Callable[[Cancellation], Updates]


@dataclass(frozen=True, slots=True)
class Report:
    """What happened in a job since its last report.

    Attributes
    ----------
    update : RestoreUpdate
        The newest update.
    has_new_values : bool
        Whether a region of the result was written.
    samples : tuple of SampleUpdate
        What each tile gave that was learned from.
    """

    update: RestoreUpdate
    has_new_values: bool
    samples: tuple[SampleUpdate, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended, its last update, and the filters that it learned or used, if any."""

    ending: Ending
    last: RestoreUpdate | None = None
    bank: FilterBank | None = None
    error: Exception | None = None


class PausableCancellation(Cancellation):
    """Cancels a job, or holds it at its next ``check``."""

    def __init__(self) -> None:
        super().__init__()
        self._go = threading.Event()
        self._go.set()
        self._held_at: float | None = None
        self._paused_seconds = 0.0

    @property
    def paused_seconds(self) -> float:
        """For how long the job was held."""
        now = 0.0 if self._held_at is None else time.monotonic() - self._held_at
        return self._paused_seconds + now

    def cancel(self) -> None:
        """Make every later ``check`` raise, also one that is waiting."""
        super().cancel()
        self._go.set()

    def hold(self, held: bool) -> None:
        """Make every later ``check`` wait, or let all of them go on."""
        if held and not self.is_cancelled:
            self._held_at = self._held_at or time.monotonic()
            self._go.clear()
        else:
            self._paused_seconds, self._held_at = self.paused_seconds, None
            self._go.set()

    def check(self) -> None:
        """Wait while the job is held; raise ``Cancelled`` if it is to end."""
        self._go.wait()
        super().check()


class _UpdateCollector:
    """Gathers the updates of a job into reports, no more of them than the screen can show."""

    def __init__(self) -> None:
        self.last: RestoreUpdate | None = None
        self.bank: FilterBank | None = None
        self._has_new_values = False
        self._samples: list[SampleUpdate] = []
        self._reported_at = 0.0

    def add(self, update: RestoreUpdate) -> None:
        self.last = update
        if isinstance(update, FirstLook | RegionRestored):
            self._has_new_values = True
        elif isinstance(update, TileLearned):
            self._samples.append(update.sample)
        if isinstance(update, TileLearned | Finished):
            self.bank = update.bank or self.bank

    @property
    def is_due(self) -> bool:
        """Whether it is time for a report."""
        waited = time.monotonic() - self._reported_at >= _SECONDS_BETWEEN_REPORTS
        return waited or isinstance(self.last, NoiseFound | Finished)

    @property
    def is_unreported(self) -> bool:
        """Whether something came since the last report that the plots or the layer show."""
        return self._has_new_values or bool(self._samples)

    def report(self) -> Report:
        assert self.last is not None
        report = Report(self.last, self._has_new_values, tuple(self._samples))
        self._has_new_values = False
        self._samples.clear()
        self._reported_at = time.monotonic()
        return report


# No method of a QObject: napari names the function of a worker when it ends, and Qt may have
# deleted the object by then.
def _run_in_thread(
    start: StartUpdates, cancellation: Cancellation
) -> Generator[Report, None, Outcome]:
    """Run a job in the worker's thread, yielding reports and returning how it ended.

    It raises nothing: napari swallows the RuntimeErrors of generators.
    """
    found = _UpdateCollector()
    try:
        for update in start(cancellation):
            found.add(update)
            if found.is_due:
                yield found.report()
            cancellation.check()
        return Outcome(Ending.DONE, found.last, found.bank)
    except Cancelled:
        if found.is_unreported:
            yield found.report()
        return Outcome(Ending.STOPPED, found.last, found.bank)
    except Exception as error:  # the user is told, whatever it was
        return Outcome(Ending.FAILED, found.last, found.bank, error)


class Job(QObject):
    """One run of a generator of updates in a worker of napari.

    ``reported`` brings what happened, at most some twelve times a second; ``ended`` comes once,
    whatever happened, on the thread of the GUI.
    """

    reported = Signal(object)
    ended = Signal(object)

    def __init__(self, title: str, start: StartUpdates, parent: QObject) -> None:
        super().__init__(parent)
        self.title = title
        self.started_at = time.monotonic()
        self.cancellation = PausableCancellation()
        # A window that is closed deletes its docks: what waits, or is in a tile, must end too.
        self.destroyed.connect(self.cancellation.cancel)
        self._outcome: Outcome | None = None
        # Connected to methods of a QObject: Qt drops them when it is deleted.
        self._worker = create_worker(_run_in_thread, start, self.cancellation)
        self._worker.yielded.connect(self._report)
        self._worker.returned.connect(self._end)
        self._worker.aborted.connect(self._abort)
        self._worker.errored.connect(self._fail)

    def start(self) -> None:
        """Begin."""
        self._worker.start()

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
        self._end(Outcome(Ending.STOPPED))

    def _fail(self, error: Exception) -> None:
        self._end(Outcome(Ending.FAILED, error=error))


class JobList(QObject):
    """The jobs of the dock that run, one a lane; long ones are in napari's activity area too.

    ``reported`` brings what happened, and about how many seconds are left, or None; ``ended`` the
    lane of a job that has ended, and its outcome.
    """

    reported = Signal(object, object)
    ended = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.seconds_spent = 0.0
        """What the job took that ended last."""
        self._jobs: dict[Lane, Job] = {}
        self._activities: dict[Job, Activity | None] = {}

    def start(self, lane: Lane, title: str, start: StartUpdates) -> None:
        """Start a job, of which the user reads the title."""
        job = Job(title, start, self)
        self._jobs[lane] = job

        def end(outcome: Outcome) -> None:
            activity = self._activities.pop(job, None)
            if activity is not None:
                activity.close()
            self.seconds_spent = time.monotonic() - job.started_at
            del self._jobs[lane]
            self.ended.emit(lane, outcome)
            job.deleteLater()

        job.reported.connect(lambda report: self._report(job, report))
        job.ended.connect(end)
        job.start()

    def get(self, lane: Lane) -> Job | None:
        """The job of a lane, if one runs."""
        return self._jobs.get(lane)

    @property
    def jobs(self) -> list[Job]:
        """All that run."""
        return list(self._jobs.values())

    def _report(self, job: Job, report: Report) -> None:
        done = report.update.done
        spent = time.monotonic() - job.started_at
        left = spent / done - spent if done > 0.1 else None
        self.reported.emit(report, left)
        if spent + (left or 0.0) > _SECONDS_OF_A_LONG_JOB:
            self._show_activity(job, done)

    def _show_activity(self, job: Job, done: float) -> None:
        """Show a long job in napari's activity area too.

        Not a short one: the wheel that turns there has the whole window painted again and again.
        napari's bar lets other events happen, among them the end of this job.
        """
        if job not in self._activities:
            self._activities[job] = None  # the next report may come while it is being made
            made = Activity(f"napari-scsc: {job.title.lower()}", job.cancellation.cancel)
            if job not in self.jobs:
                made.close()
                return
            self._activities[job] = made
        activity = self._activities[job]
        if activity is not None:
            activity.show(done)


class Activity(cancelable_progress):
    """A bar with a Cancel button in napari's activity area; made and used by the GUI's thread."""

    def __init__(self, title: str, cancel: Callable[[], None]) -> None:
        self._cancel_job = cancel
        super().__init__(desc=title, total=100)

    def cancel(self) -> None:
        """Called by the button."""
        super().cancel()
        self._cancel_job()

    def show(self, done: float) -> None:
        """Show how much is done, 0 to 1, if it can be seen: napari draws it at once."""
        percent = round(100 * done)
        if percent > self.n:
            self.update(percent - self.n)


class Background(QObject):
    """One small computation at a time that is too slow for the GUI; the last one asked for counts.

    ``failed`` brings what went wrong.
    """

    failed = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._number = 0
        self._done = 0
        self._then: Callable[[Any], None] = lambda _: None

    def run(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do ``work`` in a thread, and then call ``then`` with its result here."""
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
