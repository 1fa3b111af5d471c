"""The jobs of the dock that are under way."""

from __future__ import annotations

import time
from collections.abc import Callable

from qtpy.QtCore import QObject, Signal

from napari_scsc.plugin.jobs import Activity, Job, Outcome, Report
from napari_scsc.run.updates import Updates

_LONG = 20.0  # seconds of a job that napari's activity area shows too


class Runs(QObject):
    """Jobs by name, at most one of each; long ones are in napari's activity area too.

    ``reported`` brings what happened, and about how many seconds are left, or None.
    """

    reported = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.spent = 0.0
        """Seconds that the last job took."""
        self._jobs: dict[str, Job] = {}
        self._activities: dict[Job, Activity | None] = {}

    def run(
        self,
        name: str,
        start: Callable[..., Updates],
        finish: Callable[[Outcome], None],
        what: str,
    ) -> None:
        """Start a job, of which the user reads ``what``; ``finish`` is called when it has ended."""
        job = Job(start, self)
        job.setObjectName(what)
        self._jobs[name] = job

        def end(outcome: Outcome) -> None:
            activity = self._activities.pop(job, None)
            if activity is not None:
                activity.close()
            self.spent = time.monotonic() - job.started
            del self._jobs[name]
            finish(outcome)
            job.deleteLater()

        job.reported.connect(lambda report: self._report(job, report))
        job.ended.connect(end)
        job.start()

    def get(self, name: str) -> Job | None:
        """The job of that name, if it runs."""
        return self._jobs.get(name)

    @property
    def jobs(self) -> list[Job]:
        """All that run."""
        return list(self._jobs.values())

    @property
    def paused(self) -> bool:
        """Whether any is held."""
        return any(job.paused for job in self.jobs)

    def stop(self) -> None:
        """Stop all of them soon."""
        for job in self.jobs:
            job.stop()

    def pause(self) -> None:
        """Hold all of them, or let them go on."""
        paused = self.paused
        for job in self.jobs:
            (job.resume if paused else job.pause)()

    def _report(self, job: Job, report: Report) -> None:
        done = report.update.done
        spent = time.monotonic() - job.started
        left = spent / done - spent if done > 0.1 else None
        self.reported.emit(report, left)
        if spent + (left or 0.0) > _LONG:
            self._show_activity(job, done)

    def _show_activity(self, job: Job, done: float) -> None:
        """Show a long job in napari's activity area too.

        Not a short one: the wheel that turns there has the whole window painted again and again.
        napari's bar lets other events happen, among them the end of this job.
        """
        if job not in self._activities:
            self._activities[job] = None  # the next report may come while it is being made
            made = Activity(f"napari-scsc: {job.objectName().lower()}", job.stop)
            if job not in self.jobs:
                made.close()
                return
            self._activities[job] = made
        activity = self._activities[job]
        if activity is not None:
            activity.show(done)
