"""What the dock does: tasks prepared from its fields, run in the background, shown as they go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from napari.utils.notifications import show_error, show_warning
from qtpy.QtCore import QObject

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import Axes
from napari_scsc.data.image import wrap_image
from napari_scsc.groups import compiling
from napari_scsc.plugin import layers, preferences
from napari_scsc.plugin.bank_holder import BankHolder
from napari_scsc.plugin.controller import Controller, Ending, Event, Lane, Request, Task
from napari_scsc.plugin.cost import check_memory
from napari_scsc.plugin.jobs import JobList, Outcome, Report, StartUpdates
from napari_scsc.plugin.preview import crop, region_in_view
from napari_scsc.plugin.requests import LearnRequest, RestoreRequest
from napari_scsc.plugin.result_layer import ResultLayer, make_output
from napari_scsc.plugin.script import bank_lines, learn_lines, make_script, restore_lines
from napari_scsc.plugin.sections.compare_section import CompareSection
from napari_scsc.plugin.sections.foot import Foot
from napari_scsc.plugin.sections.learn_section import LearnSection
from napari_scsc.plugin.sections.restore_section import RestoreSection
from napari_scsc.plugin.sections.source_section import SourceSection
from napari_scsc.plugin.wording import say
from napari_scsc.run.updates import Finished, NoiseFound, TileLearned


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the dock that tasks are read from and shown in."""

    viewer: Any
    source: SourceSection
    learn: LearnSection
    restore: RestoreSection
    compare: CompareSection
    foot: Foot
    filters: BankHolder


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A task that is ready to run: what it was asked for is read, and may change or go.

    Attributes
    ----------
    task : Task
        What it is for the controller.
    title : str
        What it does, for the user.
    axes : Axes
        Those of the data, for the plots.
    updates : function
        Runs it.
    finish : function
        Shows how it ended.
    script : str
        What does the same; a preview has none.
    result : ResultLayer, optional
        The layer of a restoration or a preview.
    """

    task: Task
    title: str
    axes: Axes
    updates: StartUpdates
    finish: Callable[[Outcome], None]
    script: str = ""
    result: ResultLayer | None = None


class TaskRunner(QObject):
    """Prepares the tasks of the dock, runs them, and shows how they go and end.

    It is the ``JobRunner`` of a controller, which decides what runs when.

    Parameters
    ----------
    parts : Parts
        What tasks are read from and shown in.
    changed : function
        Called after every change of what the dock is doing.
    parent : QObject
        The dock: when that goes, the jobs do.
    """

    def __init__(self, parts: Parts, changed: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self.controller = Controller(self, changed)
        self.script = ""
        """The lines that do again what was done last."""
        self._earlier_script = ""
        self.result: ResultLayer | None = None
        """The restoration or preview that was started last."""
        self._parts = parts
        self.jobs = JobList(self)
        self.jobs.reported.connect(self._show_report)
        self.jobs.ended.connect(self._job_ended)

    # --- asking ---------------------------------------------------------------------------------

    def learn(self) -> None:
        """Learn filters from the ticked layers."""
        self.controller.ask(Request(Task.LEARN, self._prepare_learning))

    def restore(self) -> None:
        """Denoise or inpaint the first ticked layer, with other filters first if they are wanted.

        The layer and the fields are read now, also if filters have to be learned first.
        """
        if not self._must_learn_first():
            self.controller.ask(Request(Task.RESTORE, self._prepare_restoration))
            return
        request = self._restore_request()

        def prepare() -> PreparedTask:
            return self._make_restoration(replace(request, bank=self._parts.filters.bank))

        learning = Request(Task.LEARN, self._prepare_learning)
        self.controller.ask(Request(Task.RESTORE, prepare), first=learning)

    def preview(self) -> None:
        """Denoise or inpaint what is in view, quickly, into a layer of its own."""
        self.controller.ask(Request(Task.PREVIEW, self._prepare_preview))

    def preview_again(self) -> None:
        """Make the preview again, if it is still to be seen or being made."""
        result = self.result
        if result is None or not result.is_preview or self.controller.refusal(Event.PREVIEW):
            return
        is_running = self.jobs.get(Lane.RESTORE) is not None
        if is_running or (result.layer is not None and result.layer in self._parts.viewer.layers):
            self.preview()

    def forget(self) -> None:
        """Forget what was done; layers stay."""
        self.result = None
        self.script = ""

    # --- preparing ------------------------------------------------------------------------------

    def _must_learn_first(self) -> bool:
        """Whether filters are to be learned as the section Learn asks for, before denoising."""
        parts = self._parts
        if not parts.learn.is_changed or parts.restore.inpaints:
            return False
        return not parts.filters.fits(parts.source.first()[1])

    def _prepare_learning(self) -> PreparedTask:
        parts = self._parts
        request = parts.learn.request(parts.source.snapshots(), parts.filters.bank)
        earlier = [] if request.continued is None else parts.filters.lines(parts.viewer.layers)
        lines = [*earlier, *learn_lines(request)]
        return PreparedTask(
            Task.LEARN,
            "Learning",
            request.sources[0].axes,
            request.updates,
            lambda outcome: self._finish_learning(request, lines, outcome),
            make_script(lines),
        )

    def _restore_request(self) -> RestoreRequest:
        parts = self._parts
        layer, source = parts.source.first()
        threads = preferences.read_preferences().threads
        seed = parts.learn.seed.value
        marked = parts.learn.plots.filters.noise_filters
        return parts.restore.request(layer, source, parts.filters.bank, seed, threads, marked)

    def _prepare_restoration(self) -> PreparedTask:
        return self._make_restoration(self._restore_request())

    def _make_restoration(self, request: RestoreRequest) -> PreparedTask:
        parts, wishes = self._parts, preferences.read_preferences()
        check_memory(request, wishes)
        earlier = [] if request.bank is None else parts.filters.lines(parts.viewer.layers)
        script = make_script([*earlier, *restore_lines(request)])
        result = ResultLayer(request, make_output(request, wishes), script)
        preview = layers.find_preview(parts.viewer.layers, request.source.layer_id)
        if preview is not None:
            parts.viewer.layers.remove(preview)  # it would lie below the result
        return self._with_layer(result, "Denoising" if request.task == "denoise" else "Filling")

    def _prepare_preview(self) -> PreparedTask:
        parts = self._parts
        layer, whole = parts.source.first()
        region = region_in_view(whole, layer, parts.viewer.dims)
        request = self._restore_request()
        source = crop(whole, region, layer.ndim)
        part = replace(
            request,
            source=source,
            options={**request.options, "quality": "fast"},
            find_missing=lambda: _cropped(request.find_missing(), region),
        )
        out = np.zeros(source.shape, wrap_image(source.data).dtype)
        return self._with_layer(ResultLayer(part, out, is_preview=True), "Preview")

    def _with_layer(self, result: ResultLayer, title: str) -> PreparedTask:
        """A restoration or a preview that is ready to run, and the layer that will show it."""
        return PreparedTask(
            Task.PREVIEW if result.is_preview else Task.RESTORE,
            title,
            result.request.source.axes,
            lambda cancellation: result.request.updates(result.out, cancellation),
            lambda outcome: self._finish_restoration(result, outcome),
            result.script,
            result,
        )

    # --- running, for the controller ------------------------------------------------------------

    def start(self, work: PreparedTask) -> None:
        """Run it in the background."""
        parts = self._parts
        if work.script:
            self._earlier_script, self.script = self.script, work.script
        if work.result is not None:
            self.result = work.result
            parts.compare.show_result(None)
        parts.filters.name_axes(work.axes)
        parts.foot.show_progress(0)
        parts.foot.say(f"{work.title} ...")
        self.jobs.start(work.task.lane, work.title, work.updates)

    def stop(self, lane: Lane) -> None:
        """Have the job of a lane stop soon."""
        job = self.jobs.get(lane)
        if job is not None:
            job.cancellation.cancel()

    def hold(self, lane: Lane, held: bool) -> None:
        """Hold the job of a lane, or let it go on."""
        job = self.jobs.get(lane)
        if job is not None:
            job.cancellation.hold(held)

    def finish(self, work: PreparedTask, outcome: Outcome) -> None:
        """Show how a job ended; the script of one that failed is not kept."""
        if outcome.ending is Ending.FAILED and work.script and self.script == work.script:
            self.script = self._earlier_script
        work.finish(outcome)

    def fail(self, error: Exception | str) -> None:
        """Say what went wrong."""
        words = error if isinstance(error, str) else say(error)
        self._parts.foot.say(f"That did not work: {words}")
        show_error(f"napari-scsc: {words}")

    # --- showing --------------------------------------------------------------------------------

    def _job_ended(self, lane: Lane, outcome: Outcome) -> None:
        self.controller.job_ended(lane, outcome.ending, outcome)

    def _show_report(self, report: Report, seconds_left: float | None) -> None:
        parts, update = self._parts, report.update
        parts.foot.show_progress(update.done)
        more = "" if seconds_left is None else f", about {seconds_left:.0f} s left"
        if compiling.is_compiling():
            more = " (compiling, the first time on this machine: some 6 s)"
        if not self.controller.is_paused:  # what was on its way is shown, but not told
            parts.foot.say(update.message + more)
        if isinstance(update, NoiseFound | Finished) and update.noise is not None:
            parts.restore.show_noise(update.noise)
            parts.learn.plots.noise.show_noise(update.noise)
        for sample in report.samples:
            parts.learn.plots.show_update(sample)
        if report.has_new_values and self.result is not None:
            self.result.show(parts.viewer)

    def _finish_learning(self, request: LearnRequest, lines: list[str], outcome: Outcome) -> None:
        if outcome.bank is not None:
            noted = _note_if_stopped(lines, outcome)
            self._parts.filters.take_learned(outcome.bank, noted, request.sources)
        bank = self._parts.filters.bank
        done = f"{bank.n_base if bank else 'no'} base filters in {self._spent}"
        self._say_how_it_ended(outcome, done, "what was done so far is kept")

    def _finish_restoration(self, result: ResultLayer, outcome: Outcome) -> None:
        parts, request = self._parts, result.request
        learned = outcome.bank if request.bank is None and not result.is_preview else None
        if learned is not None:
            lines = _note_if_stopped(bank_lines(request), outcome)
            parts.filters.take_learned(learned, lines, [request.source])
        result.finish(parts.viewer, outcome)
        is_done = outcome.ending is Ending.DONE
        if is_done and parts.restore.residual.value and not result.is_preview:
            parts.compare.maps.show_residual(result)
        last = outcome.last
        remarks = [say(r) for r in last.remarks] if isinstance(last, Finished) else []
        done = f"Done in {self._spent}{result.description}"
        done = "\n".join([done, *(f"Note: {remark}" for remark in remarks)])
        self._say_how_it_ended(outcome, done, result.description_of_rest)
        parts.compare.show_result(result)
        for remark in remarks:
            show_warning(remark)

    @property
    def _spent(self) -> str:
        return f"{self.jobs.seconds_spent:.1f} s"

    def _say_how_it_ended(self, outcome: Outcome, done: str, kept: str) -> None:
        """Say what was done, or what is kept of it."""
        foot = self._parts.foot
        if not self.controller.is_busy:
            foot.show_progress(None)
        if outcome.error is not None:
            self.fail(outcome.error)
        else:
            foot.say(f"Stopped; {kept}" if outcome.ending is Ending.STOPPED else done)


def _cropped(missing: Array | None, region: Region) -> Array | None:
    return None if missing is None else missing[region]


def _note_if_stopped(lines: list[str], outcome: Outcome) -> list[str]:
    """The lines of a script that learned filters, with a word if they were not let to the end."""
    if outcome.ending is Ending.DONE or not isinstance(outcome.last, TileLearned):
        return lines
    return [f"# In the dock it was stopped: {outcome.last.message}.", *lines]
