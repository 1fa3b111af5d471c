"""The dock: Source, Learn, Restore, Compare, from top to bottom in the order of work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from napari.layers import Image, Layer
from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtWidgets import QApplication, QFileDialog, QFrame, QScrollArea, QVBoxLayout, QWidget

from napari_scsc.data.axes import Axes
from napari_scsc.data.image import wrap_image
from napari_scsc.io import readers
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin import layers, recipes
from napari_scsc.plugin.compare_section import KEY, CompareSection
from napari_scsc.plugin.fields import Field, Memory, fields_of
from napari_scsc.plugin.filters import Filters
from napari_scsc.plugin.foot import Foot, allow
from napari_scsc.plugin.jobs import Background, Outcome, Report
from napari_scsc.plugin.learn_section import LearnSection
from napari_scsc.plugin.parts import Fold, Section
from napari_scsc.plugin.preferences import preferences
from napari_scsc.plugin.restore_section import RestoreSection
from napari_scsc.plugin.restoring import Restoring, make_room, refuse_what_cannot_fit
from napari_scsc.plugin.runs import Runs
from napari_scsc.plugin.source_section import SourceSection
from napari_scsc.plugin.viewer_link import ViewerLink
from napari_scsc.plugin.words import in_the_dock
from napari_scsc.restore.explain import explain
from napari_scsc.restore.groups import group_kernels
from napari_scsc.run.updates import Updates

if TYPE_CHECKING:
    import napari

_RUNNING = "A preview or a result is being made, or filters are learned: press Stop first"


class Dock(Section):
    """The one widget of the plugin, and a handle on it for scripts."""

    kind = Field("source_section", "What the axes mean, or 'guess'.")
    effort = Field("learn_section", "How much is learned from: quick, balanced, thorough.")
    model = Field("learn_section", "What kind of filters.")
    n_base = Field("learn_section", "R, the number of base filters; 0: what suits the data.")
    filter_size = Field("learn_section", "Pixels along a side of a filter; 0: what suits.")
    n_filters = Field("learn_section", "K, filters of a sample (the paper's model); 0: what suits")
    sparsity = Field("learn_section", "beta in noise levels (the paper's model); 0: what suits.")
    ball = Field("learn_section", "Ball of the weights (the paper's model).")
    passes = Field("learn_section", "How often to go through the tiles.")
    seed = Field("learn_section", "The same seed gives the same result.")
    go_on = Field("learn_section", "Whether learning continues the filters that are there.")
    task = Field("restore_section", "Denoise or Inpaint.")
    quality = Field("restore_section", "draft, fast, balanced or best.")
    sigma = Field("restore_section", "Noise level in the units of the image; 0: estimated.")
    strength = Field("restore_section", "1 takes away the noise that is there.")
    missing_layer = Field("restore_section", "Name of the layer that marks what is missing.")
    saturated = Field("restore_section", "Whether the largest value counts as missing.")
    residual = Field("restore_section", "Whether what was taken away is shown too.")
    method = Field("restore_section", "Groups of patches, or the paper's code.")
    reference = Field("compare_section", "Name of the layer that the result is measured against.")

    def __init__(self, napari_viewer: napari.viewer.Viewer) -> None:
        super().__init__()
        self.setObjectName("napari-scsc")
        self._viewer = napari_viewer
        self._runs = Runs(self)
        self._runs.reported.connect(self._reported)
        self._restored: Restoring | None = None
        self._again = False  # whether the preview that is being stopped is wanted anew
        self._script = ""
        self._told_of: str | None = None  # the layer that messages are about
        self._restore_next = False  # when filters were learned that a restoration waits for
        self._explaining = Background(self)
        self._explaining.failed.connect(self._complain)
        self._build()
        self.reset()
        self._memory.bring_back()
        self._attach()
        # While the user looks around: the first press of a button should not have to wait for it.
        QTimer.singleShot(1000, _compile)

    # --- for scripts ----------------------------------------------------------------------------

    @property
    def sources(self) -> list[str]:
        """Names of the ticked layers: all are learned from, the first one is restored."""
        return self.source_section.sources

    @sources.setter
    def sources(self, names: list[str]) -> None:
        self.source_section.sources = names

    @property
    def axes(self) -> Axes:
        """What the axes of the layer to restore are."""
        return self.source_section.axes_of(self.source_section.ticked()[0])

    @property
    def bank(self) -> FilterBank | None:
        """The filters that restore; None until some were learned or loaded."""
        return self._filters.bank

    @bank.setter
    def bank(self, bank: FilterBank | None) -> None:
        self._filters.take(bank, [] if bank is None else ["bank = dock.bank"])

    @property
    def result(self) -> Image | None:
        """The layer of the last restoration."""
        return None if self._restored is None else self._restored.layer

    @property
    def script(self) -> str:
        """The lines that do again what was done last."""
        return self._script

    @property
    def message(self) -> str:
        """What the dock says at its foot."""
        return self.foot.message

    @property
    def about(self) -> str:
        """What the dock says of the layer to restore: what it is, and what it will take."""
        return self.source_section.about

    @property
    def noise(self) -> str:
        """What the dock says of the noise it found."""
        return self.restore_section.noise

    @property
    def scores(self) -> str:
        """PSNR and SSIM of the result, once a reference is chosen."""
        return self.compare_section.scores

    @property
    def progress(self) -> float:
        """How much of what runs is done, 0 to 1."""
        return self.foot.progress if self.busy else 1.0

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return bool(self._runs.jobs)

    @property
    def paused(self) -> bool:
        """Whether what runs is held."""
        return self._runs.paused

    def learn(self) -> None:
        """Learn filters from the ticked layers, in the background."""
        _refuse_if(
            self._runs.get("learn") is not None, "filters are being learned: stop that first"
        )
        sources = self.source_section.snapshots()
        request = self.learn_section.request(sources[0].axes, self.bank)
        earlier = self._script
        images = [s.data for s in sources]
        before = [] if request.go_on is None else self._filters.lines(self._viewer.layers)
        lines = [*before, *request.lines([s.name for s in sources])]
        self._script = recipes.script(lines)
        self._filters.name_axes(sources[0].axes)

        def finish(outcome: Outcome) -> None:
            if outcome.how == "failed":
                self._script = earlier
            if outcome.last is not None and outcome.last.bank is not None:
                made = _made_by(lines, outcome)
                self._filters.take(outcome.last.bank, made, True, _names(sources))
            self._finish(outcome, f"{self.bank.n_base if self.bank else 'no'} base filters")
            wanted, self._restore_next = self._restore_next, False
            if wanted and outcome.how == "done" and self._bank_fits():
                self.attempt(self.restore)

        self._run("learn", lambda tick: request.updates(images, tick), finish, "Learning")

    def _learn_first(self) -> bool:
        """Whether filters are to be learned as the section Learn asks for, before denoising."""
        asked = any(
            getattr(self, name) != self._first_values[name]
            for name, field in fields_of(self).items()
            if field.section == "learn_section" and name != "seed"
        )
        return asked and self.task == "Denoise" and not self._bank_fits()

    def denoise(self) -> None:
        """Denoise the first ticked layer, in the background."""
        self.task = "Denoise"
        self.restore()

    def inpaint(self) -> None:
        """Fill what is missing in the first ticked layer, in the background."""
        self.task = "Inpaint"
        self.restore()

    def restore(self) -> None:
        """Denoise or inpaint, as the dock is set."""
        _refuse_if(self._runs.get("restore") is not None, "a restoration is running: stop it first")
        if self._learn_first():
            self._restore_next = True
            self.learn()
            return
        layer = self.source_section.ticked()[0]
        source = layers.snapshot(layer, self.source_section.axes_of(layer))
        wishes = preferences()
        refuse_what_cannot_fit(source, self.restore_section.wanted, self.quality, wishes)
        request = self.restore_section.request(source, self.bank, self.seed, wishes.threads)
        missing = self.restore_section.missing(layer)
        masks = self.restore_section.mask_words(source.name)
        before = [] if request.bank is None else self._filters.lines(self._viewer.layers)
        earlier = self._script
        self._script = recipes.script([*before, *request.lines(source.name, masks)])
        out = make_room(source, request.task, wishes)
        preview = layers.find_result(self._viewer.layers, source.layer_id, "preview")
        if preview is not None:
            self._viewer.layers.remove(preview)  # it would lie below the result
        self._filters.name_axes(source.axes)
        self._memory.keep()
        lines = None if request.bank else request.bank_lines(source.name, masks)
        verb = "Denoising" if request.task == "denoised" else "Filling"
        restoring = Restoring(source, request, request.task, out, self._script)
        self._start_restoring(restoring, missing, verb, lines, earlier)

    def preview(self) -> None:
        """Denoise or inpaint what is in view, quickly, into a layer of its own."""
        running = self._runs.get("restore")
        if running is not None:
            _refuse_if(
                self._restored is None or not self._restored.preview,
                "a restoration is running: stop it first",
            )
            running.stop()
            self._again = True  # once this one has ended
            return
        layer = self.source_section.ticked()[0]
        whole = layers.snapshot(layer, self.source_section.axes_of(layer))
        region = recipes.region_in_view(whole, layer, self._viewer.dims)
        source = recipes.part_of(whole, region, layer.ndim)
        threads = preferences().threads
        request = self.restore_section.request(source, self.bank, self.seed, threads)
        request.options["quality"] = "fast"
        everything = self.restore_section.missing(layer)

        def missing() -> Any:
            found = everything()
            return None if found is None else found[region]

        self._filters.name_axes(source.axes)
        image = wrap_image(source.data)
        out = np.zeros(image.shape, image.dtype)
        self._start_restoring(Restoring(source, request, "preview", out, ""), missing, "Preview")

    def stop(self) -> None:
        """Stop what runs; what was learned or restored so far stays."""
        self._again = False
        if self.busy:
            self.foot.say("Stopping ...")
        self._runs.stop()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        self._runs.pause()
        if self.paused:
            self.foot.say("Paused")
        self._show_state()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs, the window staying alive; False if that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.busy or self.compare_section.busy or self._explaining.running:
            QApplication.processEvents()
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def save_bank(self, path: str | Path) -> None:
        """Write the filters to a file."""
        self._filters.save(path)

    def load_bank(self, path: str | Path) -> None:
        """Read filters from a file, and restore with them from now on."""
        self._filters.load(path)

    def reset(self) -> None:
        """Forget the filters, and set every field to what it was at first. Layers stay."""
        _refuse_if(self.busy, "something is running: stop it first")
        wishes = preferences()
        for name, value in self._first_values.items():
            setattr(self, name, value)
        self.quality = wishes.quality
        self.plots.rate = wishes.plot_rate
        self._filters.take(None, [])
        self._restored = None
        self._script = ""
        self.compare_section.show_result(None)
        self.restore_section.show_noise(None)
        self.foot.say("")
        self._show_state()

    # --- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        self.source_section = SourceSection(self._viewer)
        self.learn_section = LearnSection()
        self.restore_section = RestoreSection(self._viewer)
        self.compare_section = CompareSection(self._viewer)
        self.plots = self.learn_section.plots
        self._filters = Filters(self.plots, self)
        self.foot = Foot(
            restore=self.restore,
            pause=self.pause,
            stop=self.stop,
            save=self._save_dialog,
            load=self._load_dialog,
            to_layer=self._filters_to_layer,
            copy=self._copy_script,
            reset=self.reset,
        )
        self.foot.failed.connect(self._complain)
        self._filters.changed.connect(self._show_state)
        self._filters.told.connect(self.foot.say)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(10)
        for title, section in (
            ("Source", self.source_section),
            ("Learn", self.learn_section),
            ("Restore", self.restore_section),
            ("Compare", self.compare_section),
        ):
            grows = section is self.learn_section
            column.addWidget(Fold(title, section, section=True, grows=grows), 1 if grows else 0)
            section.failed.connect(self._complain)
        column.addStretch()
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)
        outer.addWidget(self.foot)
        self.setMinimumWidth(300)
        self.failed.connect(self._complain)
        self._connect()
        self._first_values = {name: getattr(self, name) for name in fields_of(self)}
        self._memory = Memory(self)
        self._link = ViewerLink(
            self._viewer,
            KEY,
            added=self._filters.take_from,
            held=self.compare_section.show_original,
            clicked=lambda position: self.attempt(lambda: self.explain(position)),
        )
        self.plots.explaining_changed.connect(self._link.listen_to_clicks)

    def _connect(self) -> None:
        self.source_section.changed.connect(self._source_changed)
        self.source_section.others_changed.connect(self._reset_choices)
        self.learn_section.wanted.connect(lambda: self.attempt(self.learn))
        self.restore_section.task_changed.connect(self._show_state)
        self.restore_section.task_changed.connect(self._show_cost)
        self.restore_section.quality_changed.connect(self._show_cost)
        self.restore_section.preview_wanted.connect(lambda: self.attempt(self.preview))
        self.restore_section.strength_moved.connect(self._preview_again)
        self.plots.layer_wanted.connect(self._add_layer)
        self.plots.failed.connect(self._complain)

    # --- the viewer -----------------------------------------------------------------------------

    def _attach(self) -> None:
        """Listen to the viewer."""
        if self._link.attached:
            return
        self.source_section.follow()
        self._link.attach()
        for layer in self._viewer.layers:
            if self.bank is None:
                self._filters.take_from(layer)
        self._link.listen_to_clicks(self.plots.explaining)

    def _detach(self) -> None:
        """The end: stop the jobs, and listen to nothing any more."""
        if not self._link.attached:
            return
        self._link.detach()
        self.stop()
        for timer in self.findChildren(QTimer):
            timer.stop()
        self._memory.keep()
        self.source_section.leave()

    def reset_choices(self, _event: Any = None) -> None:
        """Read the layers again; napari calls it too."""
        if self._link.attached:
            self.source_section.list_layers()

    def _reset_choices(self) -> None:
        self.restore_section.reset_choices()
        self.compare_section.reset_choices()

    def _source_changed(self) -> None:
        first = next(iter(self.source_section.sources), None)
        if first != self._told_of and not self.busy:  # what was said was about another image
            self.restore_section.show_noise(None)
            self.foot.say("")
        self._told_of = first
        self._reset_choices()
        self._show_cost()
        self._show_state()

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        bank = self.bank
        if bank is None:
            raise ValueError("there are no filters yet: learn some, then click a pixel")
        source = self.source_section.ticked()[0]
        axes = self.source_section.axes_of(source)
        original = None
        layer = self.result
        if layer is None or layer not in self._viewer.layers:
            layer = source
        elif self._restored is not None:
            axes, original = self._restored.source.axes, self._restored.source.data
        place = layers.pixel_at(layer, position, axes)
        if place is None:
            return
        data = layer.data
        self._explaining.run(
            lambda: explain(data, bank, place, source=original, axes=axes),
            self.plots.show_explanation,
        )

    # --- running --------------------------------------------------------------------------------

    def _start_restoring(
        self,
        restoring: Restoring,
        missing: Callable[[], Any],
        verb: str,
        bank_lines: list[str] | None = None,
        earlier: str | None = None,
    ) -> None:
        """Run it; the filters that it learns on the way are kept if there are lines for them.

        ``earlier`` is the script of what was done before, which stands again if this fails.
        """
        self._restored = restoring
        self.compare_section.show_result(None)

        def finish(outcome: Outcome) -> None:
            if outcome.how == "failed" and earlier is not None:
                self._script = earlier
            last = outcome.last
            bank = None if last is None else last.bank
            if bank is not None and bank_lines is not None:
                made = _made_by(bank_lines, outcome)
                self._filters.take(bank, made, True, _names([restoring.source]))
            restoring.finish(outcome.how, bank)
            if outcome.how == "done" and self.residual and not restoring.preview:
                self.compare_section.show_residual(restoring)
            said = last.remarks if last is not None and outcome.how == "done" else ()
            remarks = [in_the_dock(remark) for remark in said]
            self._finish(outcome, "Done", restoring.words, remarks)
            self.compare_section.show_result(restoring)
            for remark in remarks:
                show_warning(remark)
            if self._again:
                self._again = False
                self.attempt(self.preview)

        self._run(
            "restore",
            lambda tick: restoring.request.updates(
                restoring.source.data, missing(), restoring.out, tick
            ),
            finish,
            verb,
        )

    def _run(
        self, name: str, start: Callable[..., Updates], finish: Callable[[Outcome], None], what: str
    ) -> None:
        self._runs.run(name, start, finish, what)
        self._show_state()
        self.foot.show_progress(0)
        self.foot.say(f"{what} ...")

    def _reported(self, report: Report, left: float | None) -> None:
        update = report.update
        self.foot.show_progress(update.done)
        more = "" if left is None else f", about {left:.0f} s left"
        if group_kernels.is_compiling():
            more = " (compiling, the first time on this machine: some 20 s)"
        if not self.paused:  # what was on its way when it was held is shown, but not told
            self.foot.say(update.message + more)
        if update.noise is not None:
            self.restore_section.show_noise(update.noise)
        for learned in report.learned:
            self.plots.show_update(learned)
        if report.changed and self._restored is not None:
            self._restored.show(self._viewer)

    def _finish(
        self,
        outcome: Outcome,
        done: str,
        what: str = "",
        remarks: Sequence[str] = (),
    ) -> None:
        """Say how it ended: what was done, what that is, and what is to be said of it."""
        if not self.busy:
            self.foot.show_progress(None)
        if outcome.how == "failed":
            assert outcome.error is not None
            self._complain(outcome.error)
        elif outcome.how == "stopped":
            self.foot.say("Stopped; what was done so far is kept")
        else:
            words = f"{done} in {self._runs.spent:.1f} s{what}"
            self.foot.say("\n".join([words, *(f"Note: {remark}" for remark in remarks)]))
        self._show_state()

    def _preview_again(self) -> None:
        if self._restored is None or not self._restored.preview:
            return
        seen = self.result is not None and self.result in self._viewer.layers
        if seen or self._runs.get("restore") is not None:
            self.attempt(self.preview)

    # --- filters --------------------------------------------------------------------------------

    def _filters_to_layer(self) -> None:
        if self.bank is not None:
            self._add_layer(readers.bank_layer(self.bank, "base filters"))
            self.foot.say(
                f"{self.bank.n_base} filters of {' x '.join(map(str, self.bank.support))} pixels "
                "are the layer 'base filters', at the origin; zoom in to see them"
            )

    def _add_layer(self, made: Any) -> None:
        layer = Layer.create(*made)
        layers.take_units(layer, self._viewer.layers.extent.units)
        self._viewer.add_layer(layer)

    def _copy_script(self) -> None:
        clipboard: Any = QApplication.clipboard()
        clipboard.setText(self._script)
        show_info("The script is in the clipboard")

    def _save_dialog(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save filters", "filters.scsc", "*.scsc")
        if path:
            self.save_bank(path)

    def _load_dialog(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load filters", "", "*.scsc")
        if path:
            self.load_bank(path)

    # --- showing --------------------------------------------------------------------------------

    def _show_cost(self) -> None:
        self.source_section.show_cost(self.restore_section.wanted, self.quality, preferences())

    def _show_state(self, _value: Any = None) -> None:
        """Which buttons can be pressed, and what they will do."""
        why = self.source_section.problem()
        verb = self.task.lower()
        fits = not why and self._bank_fits()
        words = verb.capitalize() if fits else f"Learn and {verb}"
        name = "" if why else self.source_section.ticked()[0].name
        self.foot.restore_button.setText(words)
        for button, job, tip in (
            (self.learn_section.start, "learn", "Learn base filters (B) from the ticked layers"),
            (
                self.foot.restore_button,
                "restore",
                f"{words} {name} into a new layer; your layer stays as it is",
            ),
            (
                self.restore_section.preview,
                "restore",
                "Restore what is in view, quickly; again whenever the strength changes",
            ),
        ):
            running = self._runs.get(job) or (self._runs.get("learn") and self._restore_next)
            allow(button, not why and not running, tip, why or _RUNNING)
        self.foot.show_state(self.busy, self.paused, self.bank is not None, bool(self._script))

    def _bank_fits(self) -> bool:
        """Whether there are filters for the kind of the layer to restore."""
        if self.bank is None:
            return False
        layer = self.source_section.ticked()[0]
        return self._filters.fit(layers.snapshot(layer, self.source_section.axes_of(layer)))

    def _complain(self, error: Exception | str) -> None:
        words = in_the_dock(str(error)) or type(error).__name__
        self.foot.say(f"That did not work: {words}")
        show_error(f"napari-scsc: {words}")

    # --- the end --------------------------------------------------------------------------------

    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and hasattr(self, "_link"):
            (self._detach if self.parent() is None else self._attach)()
        return bool(super().event(event))

    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self._detach()
        super().closeEvent(event)


def _compile() -> None:
    threading.Thread(target=group_kernels.warm_up, name="compile for napari-scsc").start()


def _made_by(lines: list[str], outcome: Outcome) -> list[str]:
    """The lines of a script that made filters, with a word if they were not let to the end."""
    if outcome.how == "done" or outcome.last is None or outcome.last.stage != "learn":
        return lines
    return [f"# In the dock it was stopped: {outcome.last.message}.", *lines]


def _names(sources: list[layers.Snapshot]) -> dict[str, str]:
    return {source.layer_id: source.name for source in sources}


def _refuse_if(condition: bool, why: str) -> None:
    if condition:
        raise ValueError(why)
