"""What the dock does: tasks prepared from its fields, run in the background, shown as they go."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from napari.layers import Image
from napari.utils.notifications import show_error, show_warning
from qtpy.QtCore import QObject, Signal

from napari_scsc.data.axes import Axes
from napari_scsc.errors import Message, UserError
from napari_scsc.groups import compiling
from napari_scsc.plugin import preferences
from napari_scsc.plugin.bank_holder import BankHolder
from napari_scsc.plugin.controller import Controller, Ending, Request, Task
from napari_scsc.plugin.cost import check_memory, find_cost, layers_half_way
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.jobs import CurrentJob, Outcome, Report
from napari_scsc.plugin.layers import Snapshot, keep_values
from napari_scsc.plugin.parts import Part, PartFailed, run_parts
from napari_scsc.plugin.requests import (
    LearnRequest,
    RestoreRequest,
    join_sources,
    keep_request,
)
from napari_scsc.plugin.restored_parts import PreparedPart, prepare_part
from napari_scsc.plugin.result_layer import ResultLayer
from napari_scsc.plugin.script import (
    WrittenScript,
    bank_lines,
    learn_lines,
    make_script,
    restore_lines,
)
from napari_scsc.plugin.sections.compare_section import CompareSection
from napari_scsc.plugin.sections.learn_section import LearnSection
from napari_scsc.plugin.sections.restore_section import RestoreSection
from napari_scsc.plugin.sections.run_section import RunSection
from napari_scsc.plugin.sections.source_section import Sharing, SourceSection
from napari_scsc.plugin.wording import describe_stage, say
from napari_scsc.restore import machine_speed
from napari_scsc.restore.methods import METHODS
from napari_scsc.run.updates import Finished, NoiseFound, TileLearned


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the dock that tasks are read from and shown in."""

    viewer: Any
    source: SourceSection
    learn: LearnSection
    restore: RestoreSection
    compare: CompareSection
    run: RunSection
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
    parts : tuple of Part
        What runs, one after the other.
    finish : function
        Shows how it ended.
    script : str
        What does the same.
    restored : tuple of PreparedPart
        What is known of each part of a restoration.
    """

    task: Task
    title: str
    axes: Axes
    parts: tuple[Part, ...]
    finish: Callable[[Outcome], None]
    script: str
    restored: tuple[PreparedPart, ...] = field(default=())


class TaskRunner(QObject):
    """Prepares the tasks of the dock, runs them, and shows how they go and end.

    It is the ``JobRunner`` of a controller, which decides what runs when. ``noise_found`` brings
    the id of a layer and its noise, ``results_changed`` comes when there are other results.

    Parameters
    ----------
    parts : Parts
        What tasks are read from and shown in.
    changed : function
        Called after every change of what the dock is doing.
    parent : QObject
        The dock: when that goes, the job does.
    """

    noise_found = Signal(str, object)
    results_changed = Signal()

    def __init__(self, parts: Parts, changed: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self.controller = Controller(self, changed)
        self.written = self._written_earlier = WrittenScript()
        """The script of what was done last."""
        self.results: list[ResultLayer] = []
        """The layers of the restoration that was started last, in the order of its parts."""
        self._all_results: list[ResultLayer] = []
        self._running: PreparedTask | None = None
        self._parts = parts
        self.job = CurrentJob(self)
        self.job.reported.connect(self._show_report)
        self.job.ended.connect(self._job_ended)

    @property
    def script(self) -> str:
        """The lines that do again what was done last, with layers as they are called by now."""
        return self.written.by_present_names(self._parts.viewer.layers)

    @property
    def result(self) -> ResultLayer | None:
        """The first result of the restoration that was started last."""
        return self.results[0] if self.results else None

    def result_in(self, layer: Any) -> ResultLayer | None:
        """The result that a layer shows, if it is one of this session.

        Layers are compared, here and elsewhere, by ``==``: napari gives a plugin its layers in
        wrappers, which are not the same though the layers are.
        """
        if layer is None:
            return None
        return next((r for r in reversed(self._all_results) if r.layer == layer), None)

    # --- asking ---------------------------------------------------------------------------------

    def learn(self) -> None:
        """Learn filters from the ticked layers."""
        self.controller.ask(Request(Task.LEARN, self._prepare_learning))

    def restore(self) -> None:
        """Denoise or inpaint every ticked layer, with other filters first if they are wanted.

        The layers and the fields are read now, also if filters have to be learned first; what is
        edited in a layer afterwards is not in the result.
        """
        requests = [keep_request(one) for one in self.restore_requests()]
        learning = self._learning_before(requests)
        if learning is None:
            self.controller.ask(Request(Task.RESTORE, lambda: self._make_restoration(requests)))
            return

        def prepare() -> PreparedTask:
            bank = self._parts.filters.bank
            return self._make_restoration([replace(one, bank=bank) for one in requests])

        first = Request(Task.LEARN, lambda: self._make_learning(learning))
        self.controller.ask(Request(Task.RESTORE, prepare), first=first)

    def forget(self) -> None:
        """Forget what was done; layers stay."""
        self.results, self._all_results = [], []
        self.written = WrittenScript()

    # --- preparing ------------------------------------------------------------------------------

    def _learning_before(self, requests: Sequence[RestoreRequest]) -> LearnRequest | None:
        """The learning that must come first: as Learn is set, or for all layers at once."""
        parts = self._parts
        if requests[0].task != "denoise" or requests[0].bank is not None:
            return None
        sources = [one.source for one in requests]
        if parts.learn.is_changed:
            return parts.learn.request(sources, parts.filters.bank)
        if len(requests) == 1 or parts.source.sharing is not Sharing.FILTERS:
            return None
        for other in sources[1:]:
            if other.axes.roles != sources[0].axes.roles:
                raise UserError(
                    f"layers that share filters are of one kind, and {sources[0].name} and "
                    f"{other.name} are not",
                    remedy="choose 'each by itself'",
                )
        method = requests[0].options.get("method", "scsc")
        known = {k: v for k, v in requests[0].options.items() if k in ("sigma", "seed")}
        return LearnRequest(tuple(sources), {"model": METHODS[method].model, **known})

    def _prepare_learning(self) -> PreparedTask:
        parts = self._parts
        return self._make_learning(
            parts.learn.request(
                [keep_values(source) for source in parts.source.snapshots()], parts.filters.bank
            )
        )

    def _make_learning(self, request: LearnRequest) -> PreparedTask:
        parts = self._parts
        earlier = [] if request.continued is None else parts.filters.lines(parts.viewer.layers)
        lines = [*earlier, *learn_lines(request)]
        return PreparedTask(
            Task.LEARN,
            "Learning",
            request.sources[0].axes,
            (Part(request.updates),),
            lambda outcome: self._finish_learning(request, lines, outcome),
            make_script(lines),
        )

    def restore_requests(self) -> list[RestoreRequest]:
        """What the fields ask for with each ticked layer, or with all of them as channels."""
        parts = self._parts
        pairs = [(layer, parts.source.snapshot(layer)) for layer in parts.source.ticked()]
        if len(pairs) == 1 or parts.source.sharing is not Sharing.CHANNELS:
            return [self.restore_request(layer, source) for layer, source in pairs]
        # In the order of the file, where they come from one.
        pairs.sort(key=lambda pair: pair[1].channel.number if pair[1].channel else 0)
        members = tuple(source for _, source in pairs)
        joined = replace(
            self.restore_request(pairs[0][0], members[0]), source=join_sources(members)
        )
        bank = parts.filters.bank_for(joined.source)
        find_mask = joined.find_missing
        return [replace(joined, bank=bank, members=members, find_missing=find_mask)]

    def restore_request(self, layer: Image, source: Snapshot) -> RestoreRequest:
        """What the fields ask for with a layer."""
        parts = self._parts
        return parts.restore.request(
            layer,
            source,
            parts.filters.bank_for(source),
            parts.learn.seed.value,
            preferences.read_preferences().threads,
            parts.learn.plots.filters.noise_filters,
        )

    def _make_restoration(self, requests: Sequence[RestoreRequest]) -> PreparedTask:
        parts, wishes = self._parts, preferences.read_preferences()
        check_memory(requests, wishes)
        uses_bank = any(one.bank is not None for one in requests)
        earlier = parts.filters.lines(parts.viewer.layers) if uses_bank else []
        script = make_script([*earlier, *restore_lines(requests)])
        learned_from = parts.filters.learned_from
        restored = tuple(prepare_part(one, wishes, script, learned_from) for one in requests)
        n_layers = layers_half_way(parts.viewer, requests)
        seconds = [find_cost(one, wishes, None, n_layers).seconds for one in requests]
        return PreparedTask(
            Task.RESTORE,
            "Denoising" if requests[0].task == "denoise" else "Filling",
            requests[0].source.axes,
            tuple(Part(p.updates, max(s, 0.01)) for p, s in zip(restored, seconds, strict=True)),
            self._finish_restoration,
            script,
            restored,
        )

    # --- running, for the controller ------------------------------------------------------------

    def start(self, work: PreparedTask) -> None:
        """Run it in the background."""
        parts = self._parts
        self._running = work
        sources = [source for part in work.restored for source in part.sources]
        self._written_earlier, self.written = (
            self.written,
            WrittenScript.now(work.script, parts.viewer.layers, sources),
        )
        expected = None
        if work.restored:
            self.results = [result for part in work.restored for result in part.results]
            shown = [one for one in self._all_results if one.is_shown(parts.viewer)]
            self._all_results = shown + self.results
            parts.compare.show_result(None)
            expected = sum(part.seconds for part in work.parts)
        parts.filters.name_axes(work.axes)
        parts.run.begin(f"{work.title} ...", expected)
        self.job.start(work.title, partial(run_parts, work.parts), expected)

    def stop(self) -> None:
        """Have the job stop soon."""
        self.job.cancel()

    def hold(self, held: bool) -> None:
        """Hold the job, or let it go on."""
        self.job.hold(held)

    def finish(self, work: PreparedTask, outcome: Outcome) -> None:
        """Show how a job ended; the script of one that failed is not kept."""
        self._parts.run.end()
        if outcome.ending is Ending.FAILED and self.written.text == work.script:
            self.written = self._written_earlier
        work.finish(outcome)
        self._running = None

    def fail(self, error: Exception | str) -> None:
        """Say what went wrong."""
        words = error if isinstance(error, str) else say(error)
        self._parts.run.say_all(f"That did not work: {words}")
        show_error(f"napari-scsc: {words}")

    @handler
    def _job_ended(self, outcome: Outcome) -> None:
        running = () if self._running is None else self._running.restored
        results = [result for part in running for result in part.results]
        shown = [result.seconds_to_show for result in results if result.seconds_to_show]
        if shown:  # before the next promise is made
            n_layers = len(self._parts.viewer.layers) - len(shown) / 2
            machine_speed.correct_layer(statistics.mean(shown), n_layers)
        self.controller.job_ended(outcome.ending, outcome)

    # --- showing --------------------------------------------------------------------------------

    @handler
    def _show_report(self, report: Report, seconds_left: float | None) -> None:
        parts, newest, work = self._parts, report.newest, self._running
        assert work is not None
        update = newest.update
        stage = describe_stage(update)
        if len(work.restored) > 1:
            name = work.restored[newest.part].name
            stage = f"{newest.part + 1} of {len(work.parts)}, {_shorten(name)}: {stage}"
        if compiling.is_compiling():
            stage = "compiling, the first time on this machine: some 6 s"
        parts.run.show(newest.done, stage, seconds_left)
        for sample in report.samples:
            parts.learn.plots.show_update(sample)
        if not work.restored:
            return
        part = work.restored[newest.part]
        if isinstance(update, NoiseFound | Finished) and update.noise is not None:
            parts.learn.plots.noise.show_noise(update.noise)
            if part.request.task == "denoise" and "sigma" not in part.request.options:
                for source in part.sources:
                    self.noise_found.emit(source.layer_id, update.noise)
        for number in report.changed:
            for result in work.restored[number].results:
                result.show(parts.viewer)
        if isinstance(update, Finished):
            self._take_part(part, update)
        elif isinstance(update, PartFailed):
            part.error = update.error
            part.break_off(parts.viewer, None)

    def _take_part(self, part: PreparedPart, finished: Finished) -> None:
        """Show what became of a part, and keep the filters that it has learned on the way."""
        parts = self._parts
        part.take(parts.viewer, finished)
        if part.request.bank is None and finished.bank is not None:
            lines = bank_lines(part.request)
            parts.filters.take_learned(finished.bank, lines, part.sources, is_chosen=False)
        if parts.restore.residual.value:
            for result in part.results:
                parts.compare.maps.show_residual(result)

    def _finish_learning(self, request: LearnRequest, lines: list[str], outcome: Outcome) -> None:
        if outcome.bank is not None:
            noted = _note_if_stopped(lines, outcome)
            self._parts.filters.take_learned(outcome.bank, noted, request.sources)
        bank = self._parts.filters.bank
        done = f"{bank.n_base if bank else 'no'} base filters in {self._spent}"
        kept = "" if outcome.bank is None else "what was learned so far is kept"
        self._say_how_it_ended(outcome, done, kept or "nothing was learned that could be kept")

    def _finish_restoration(self, outcome: Outcome) -> None:
        work, parts = self._running, self._parts
        assert work is not None
        for part in work.restored:
            if not part.is_done and part.error is None:
                part.break_off(parts.viewer, outcome.bank)
        begun = [part for part in work.restored if not part.is_done and part.is_begun]
        if begun and begun[0].request.bank is None and outcome.bank is not None:
            lines = _note_if_stopped(bank_lines(begun[0].request), outcome)
            parts.filters.take_learned(outcome.bank, lines, begun[0].sources, is_chosen=False)
        self._say_how_it_ended(
            outcome,
            _describe_results(work, parts.viewer, self._spent),
            _describe_kept(work, parts.viewer),
        )
        parts.compare.show_result(self.result)
        self.results_changed.emit()
        for remark in _remarks_of(work):
            show_warning(f"napari-scsc: {remark}")

    @property
    def _spent(self) -> str:
        return f"{self.job.seconds_spent:.1f} s"

    def _say_how_it_ended(self, outcome: Outcome, done: str, kept: str) -> None:
        """Say what was done, or what is kept of it."""
        if outcome.error is not None:
            self.fail(outcome.error)
        else:
            stopped = outcome.ending is Ending.STOPPED
            self._parts.run.say(f"Stopped; {kept}" if stopped else done)


def _describe_results(work: PreparedTask, viewer: Any, spent: str) -> str:
    """What was made, what was not, and what should be known of it."""
    results = [result for part in work.restored for result in part.results]
    shown = [result for result in results if result.is_shown(viewer)]
    done = [part for part in work.restored if part.is_done]
    lines = [f"Done in {spent}"]
    if len(work.restored) > 1:
        lines[0] += f": {len(done)} of {len(work.restored)} layers"
    elif shown:
        names = [f"'{_shorten(one.layer.name)}'" for one in shown if one.layer is not None]
        lines[0] += f": layer{'s' * (len(names) > 1)} {', '.join(names)}"
    if done and len(shown) < len(results) - len(work.restored) + len(done):
        lines[0] += "; what was removed meanwhile is not shown"
    failures = [part for part in work.restored if part.error is not None]
    lines += [f"{part.name}: {say(part.error)}" for part in failures if part.error]
    lines += [f"Note: {remark}" for remark in _remarks_of(work)]
    return "\n".join(lines)


def _describe_kept(work: PreparedTask, viewer: Any) -> str:
    """What there is of a restoration that was stopped."""
    done = sum(part.is_done for part in work.restored)
    words = [f"{done} of {len(work.restored)} layers are done"] if done else []
    begun = [part for part in work.restored if part.is_begun and not part.is_done]
    kept = [part.results[0].describe_kept(viewer) for part in begun]
    return "; ".join([*words, *filter(None, kept[:1])]) or "nothing was done that could be kept"


def _remarks_of(work: PreparedTask) -> list[str]:
    """What the user should know of the results, each thing once."""
    remarks: list[Message] = [remark for part in work.restored for remark in part.remarks]
    return list(dict.fromkeys(map(say, remarks)))


def _note_if_stopped(lines: list[str], outcome: Outcome) -> list[str]:
    """The lines of a script that learned filters, with a word if they were not let to the end."""
    last = None if outcome.newest is None else outcome.newest.update
    if outcome.ending is Ending.DONE or not isinstance(last, TileLearned):
        return lines
    return [f"# In the dock it was stopped: {last.message}.", *lines]


def _shorten(name: str) -> str:
    """A name of which a long middle is left out: a line of the dock has no more room."""
    return name if len(name) <= 34 else f"{name[:16]}…{name[-17:]}"
