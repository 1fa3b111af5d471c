"""Work in the background: every way out of a worker is handled here, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from napari.qt.threading import create_worker
from napari.utils import cancelable_progress
from qtpy.QtCore import QObject, Signal

from napari_scsc.cancellation import Cancellation, Cancelled
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.controller import Ending
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.parts import PartFailed, PartUpdate
from napari_scsc.run.updates import Finished, FirstLook, NoiseFound, RegionRestored, TileLearned

_SECONDS_BETWEEN_REPORTS = 0.08  # no more of them than the screen can show
_SECONDS_BETWEEN_ACTIVITIES = 1.0
_SECONDS_OF_A_LONG_JOB = 20.0  # from here on, napari's activity area shows it too

StartUpdates = Callable[[Cancellation], Iterator[PartUpdate]]


@dataclass(frozen=True, slots=True)
class Report:
    """What happened in a job since its last report.

    Attributes
    ----------
    newest : PartUpdate
        The newest update, and the part of the job that it is about.
    changed : frozenset of int
        Parts of which a region of the result was written.
    samples : tuple of SampleUpdate
        What each tile gave that was learned from.
    """

    newest: PartUpdate
    changed: frozenset[int]
    samples: tuple[SampleUpdate, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended.

    Attributes
    ----------
    ending : Ending
        Done, stopped or failed.
    newest : PartUpdate, optional
        Its last update.
    bank : FilterBank, optional
        The filters that it learned or used last.
    error : Exception, optional
        What ended it.
    """

    ending: Ending
    newest: PartUpdate | None = None
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
        self.newest: PartUpdate | None = None
        self.bank: FilterBank | None = None
        self._changed: set[int] = set()
        self._samples: list[SampleUpdate] = []
        self._reported_at = 0.0

    def add(self, newest: PartUpdate) -> None:
        self.newest = newest
        update = newest.update
        if isinstance(update, FirstLook | RegionRestored):
            self._changed.add(newest.part)
        elif isinstance(update, TileLearned):
            self._samples.append(update.sample)
        if isinstance(update, TileLearned | Finished):
            self.bank = update.bank or self.bank

    @property
    def is_due(self) -> bool:
        """Whether it is time for a report; what comes once is never left out."""
        assert self.newest is not None
        waited = time.monotonic() - self._reported_at >= _SECONDS_BETWEEN_REPORTS
        return waited or isinstance(self.newest.update, NoiseFound | Finished | PartFailed)

    @property
    def is_unreported(self) -> bool:
        """Whether something came since the last report that the plots or the layer show."""
        return bool(self._changed or self._samples)

    def report(self) -> Report:
        assert self.newest is not None
        report = Report(self.newest, frozenset(self._changed), tuple(self._samples))
        self._changed.clear()
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
        for newest in start(cancellation):
            found.add(newest)
            if found.is_due:
                yield found.report()
            cancellation.check()
        return Outcome(Ending.DONE, found.newest, found.bank)
    except Cancelled:
        if found.is_unreported:
            yield found.report()
        return Outcome(Ending.STOPPED, found.newest, found.bank)
    except Exception as error:  # the user is told, whatever it was
        return Outcome(Ending.FAILED, found.newest, found.bank, error)


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
        self._started_at = time.monotonic()
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
    def seconds(self) -> float:
        """For how long it runs, without the time for which it was held."""
        return time.monotonic() - self._started_at - self.cancellation.paused_seconds

    @handler
    def _report(self, report: Report) -> None:
        if self._outcome is None:
            self.reported.emit(report)

    @handler
    def _end(self, outcome: Outcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self.ended.emit(outcome)

    @handler
    def _abort(self) -> None:
        self._end(Outcome(Ending.STOPPED))

    @handler
    def _fail(self, error: Exception) -> None:
        self._end(Outcome(Ending.FAILED, error=error))


class CurrentJob(QObject):
    """The job of the dock that runs, if one does; a long one is in napari's activity area too.

    ``reported`` brings what happened, and about how many seconds are left, or None; ``ended`` the
    outcome.
    """

    reported = Signal(object, object)
    ended = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.seconds_spent = 0.0
        """What the job took that ended last, without the time for which it was held."""
        self.job: Job | None = None
        self._expected: float | None = None
        self._activity: Activity | None = None
        self._is_long = False
        self._is_held = False

    def start(self, title: str, start: StartUpdates, expected: float | None = None) -> None:
        """Start a job, of which the user reads the title; ``expected`` are its seconds."""
        job = Job(title, start, self)
        self.job, self._expected = job, expected
        self._is_long = self._is_held = False
        job.reported.connect(self._report)
        job.ended.connect(self._end)
        job.start()

    def cancel(self) -> None:
        """Have it stop soon, also if it is held."""
        if self.job is not None:
            self.job.cancellation.cancel()

    def hold(self, held: bool) -> None:
        """Hold it, or let it go on; the wheel that turns in the activity area would not rest."""
        if self.job is not None:
            self._is_held = held
            self.job.cancellation.hold(held)
            if held:
                self._close_activity()
                self._is_long = False

    @handler
    def _end(self, outcome: Outcome) -> None:
        job, self.job = self.job, None
        assert job is not None
        self._close_activity()
        self.seconds_spent = job.seconds
        self.ended.emit(outcome)
        job.deleteLater()

    @handler
    def _report(self, report: Report) -> None:
        job = self.job
        if job is None:
            return
        done, spent = report.newest.done, job.seconds
        left = seconds_left(done, spent, self._expected)
        self.reported.emit(report, left)
        if spent + (left or 0.0) > _SECONDS_OF_A_LONG_JOB and not self._is_held:
            self._show_activity(job, done)

    def _show_activity(self, job: Job, done: float) -> None:
        """Show a long job in napari's activity area too.

        Not a short one: the wheel that turns there has the whole window painted again and again.
        napari's bar lets other events happen, among them the end of this job.
        """
        if not self._is_long:
            self._is_long = True  # the next report may come while it is being made
            made = Activity(f"napari-scsc: {job.title.lower()}", job.cancellation.cancel)
            self._activity = made
            if self.job is not job:
                self._close_activity()
        if self._activity is not None:
            self._activity.show(done)

    def _close_activity(self) -> None:
        activity, self._activity = self._activity, None
        if activity is not None:
            activity.close()


def seconds_left(done: float, spent: float, expected: float | None) -> float | None:
    """About how long a job will still take, or None where nothing tells.

    What was expected of it counts less and less, what it took so far more and more.
    """
    if expected is None:
        return spent / done - spent if done > 0.1 else None
    by_share = spent / done if done > 0 else expected
    return max(0.0, (1 - done) * (done * by_share + (1 - done) * max(expected, spent)))


class Activity(cancelable_progress):
    """A bar with a Cancel button in napari's activity area; made and used by the GUI's thread."""

    def __init__(self, title: str, cancel: Callable[[], None]) -> None:
        self._cancel_job = cancel
        self._shown_at = 0.0
        super().__init__(desc=title, total=100)

    def cancel(self) -> None:
        """Called by the button."""
        super().cancel()
        self._cancel_job()

    def show(self, done: float) -> None:
        """Show how much is done, 0 to 1, now and then: napari draws it at once."""
        percent, now = round(100 * done), time.monotonic()
        if percent > self.n and now >= self._shown_at + _SECONDS_BETWEEN_ACTIVITIES:
            self._shown_at = now
            self.update(percent - self.n)


def _attempt(number: int, works: list[Callable[[], Any]]) -> tuple[int, Any, Exception | None]:
    """Do the one work that is left, and leave none."""
    work = works.pop()
    try:
        return number, work(), None
    except Exception as error:  # napari would show it twice
        return number, None, error


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
        # napari keeps every worker, and that its function with all that it knows: images, say.
        worker = create_worker(_attempt, self._number, [work])
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

    @handler
    def _returned(self, answer: tuple[int, Any, Exception | None]) -> None:
        number, value, error = answer
        if number != self._number:
            return
        self._done = number
        if error is not None:
            self.failed.emit(error)
        else:
            self._then(value)
