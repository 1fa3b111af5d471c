"""The dock: Source, Learn, Restore, Compare, from top to bottom in the order of work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from napari.layers import Image, Layer
from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QProgressBar,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from napari_scsc import arrays
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.io import readers
from napari_scsc.plugin import layers, recipes
from napari_scsc.plugin.compare_section import KEY, CompareSection
from napari_scsc.plugin.jobs import Activity, Background, Job, Outcome, Report
from napari_scsc.plugin.learn_section import LearnSection
from napari_scsc.plugin.parts import Fold, Section, label, row
from napari_scsc.plugin.preferences import preferences, remember, remembered
from napari_scsc.plugin.restore_section import RestoreSection
from napari_scsc.plugin.restoring import Restoring, make_room
from napari_scsc.plugin.source_section import SourceSection
from napari_scsc.restore import groups
from napari_scsc.restore.explain import explain
from napari_scsc.restore.job import Updates

if TYPE_CHECKING:
    import napari

# Fields that the next session begins with. Noise, strength and masks belong to the data.
_REMEMBERED = (
    "effort",
    "model",
    "n_base",
    "filter_size",
    "n_filters",
    "sparsity",
    "ball",
    "passes",
    "seed",
    "quality",
    "method",
    "residual",
)


_LONG = 20.0  # seconds of a job that napari's activity area shows too


class _Field:
    """A field of a section as an attribute of the dock: its value is read and set."""

    def __init__(self, section: str, doc: str) -> None:
        self._section = section
        self.__doc__ = doc

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, dock: Any, _owner: type | None = None) -> Any:
        return self if dock is None else getattr(getattr(dock, self._section), self._name).value

    def __set__(self, dock: Any, value: Any) -> None:
        getattr(getattr(dock, self._section), self._name).value = value


class Dock(Section):
    """The one widget of the plugin, and a handle on it for scripts."""

    kind = _Field("source_section", "What the axes mean, or 'guess'.")
    effort = _Field("learn_section", "How much is learned from: quick, balanced, thorough.")
    model = _Field("learn_section", "What kind of filters.")
    n_base = _Field("learn_section", "R, the number of base filters; 0: what suits the data.")
    filter_size = _Field("learn_section", "Pixels along a side of a filter; 0: what suits.")
    n_filters = _Field("learn_section", "K, filters of a sample (the paper's model); 0: what suits")
    sparsity = _Field("learn_section", "beta in noise levels (the paper's model); 0: what suits.")
    ball = _Field("learn_section", "Ball of the weights (the paper's model).")
    passes = _Field("learn_section", "How often to go through the tiles.")
    seed = _Field("learn_section", "The same seed gives the same result.")
    go_on = _Field("learn_section", "Whether learning continues the filters that are there.")
    task = _Field("restore_section", "Denoise or Inpaint.")
    quality = _Field("restore_section", "fast, balanced or best.")
    sigma = _Field("restore_section", "Noise level in the units of the image; 0: estimated.")
    strength = _Field("restore_section", "1 takes away the noise that is there.")
    missing_layer = _Field("restore_section", "Name of the layer that marks what is missing.")
    saturated = _Field("restore_section", "Whether the largest value counts as missing.")
    residual = _Field("restore_section", "Whether what was taken away is shown too.")
    method = _Field("restore_section", "Groups of patches, or the paper's code.")
    reference = _Field("compare_section", "Name of the layer that the result is measured against.")

    def __init__(self, napari_viewer: napari.viewer.Viewer) -> None:
        super().__init__()
        self.setObjectName("napari-scsc")
        self._viewer = napari_viewer
        self._bank: FilterBank | None = None
        self._bank_lines: list[str] = []  # of a script: what makes the bank
        self._learning: Job | None = None
        self._restoring: Job | None = None
        self._restored: Restoring | None = None
        self._again = False  # whether the preview that is being stopped is wanted anew
        self._script = ""
        self._restore_next = False  # when filters were learned that a restoration waits for
        self._spent = 0.0  # seconds that the last job took
        self._attached = False
        self._activities: dict[Job, Activity | None] = {}
        self._explaining = Background(self)
        self._explaining.failed.connect(self._complain)
        self._build()
        self.reset()
        for name, value in remembered().items():
            if name in _REMEMBERED:
                with suppress(Exception):  # the file may be of another version, or broken
                    setattr(self, name, value)
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
        return self._bank

    @bank.setter
    def bank(self, bank: FilterBank | None) -> None:
        self._take(bank, [] if bank is None else ["bank = dock.bank"])

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
        return str(self._status.text())

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
        return self._bar.value() / 100 if self.busy else 1.0

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._learning is not None or self._restoring is not None

    @property
    def paused(self) -> bool:
        """Whether what runs is held."""
        return any(job.paused for job in self._jobs())

    def learn(self) -> None:
        """Learn filters from the ticked layers, in the background."""
        _refuse_if(self._learning is not None, "filters are being learned: stop that first")
        sources = self.source_section.snapshots()
        request = self.learn_section.request(sources[0].axes, self._bank)
        images = [s.data for s in sources]
        before = self._bank_lines if request.go_on is not None else []
        lines = [*before, *request.lines([s.name for s in sources])]
        self._script = recipes.script(lines)
        self._name_filter_axes(sources[0].axes)

        def finish(outcome: Outcome) -> None:
            self._learning = None
            if outcome.last is not None and outcome.last.bank is not None:
                self._take(outcome.last.bank, _made_by(lines, outcome), learned=True)
            self._finish(outcome, f"{self._bank.n_base if self._bank else 'no'} base filters")
            wanted, self._restore_next = self._restore_next, False
            if wanted and outcome.how == "done" and self._bank_fits():
                self.attempt(self.restore)

        self._run("_learning", lambda tick: request.updates(images, tick), finish, "Learning")

    def _learn_first(self) -> bool:
        """Whether filters are to be learned as the section Learn asks for, before denoising."""
        asked = any(
            getattr(self, name) != value
            for section, name, value in self._first_values
            if section == "learn_section" and name != "seed"
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
        _refuse_if(self._restoring is not None, "a restoration is running: stop it first")
        if self._learn_first():
            self._restore_next = True
            self.learn()
            return
        layer = self.source_section.ticked()[0]
        source = layers.snapshot(layer, self.source_section.axes_of(layer))
        wishes = preferences()
        self._refuse_what_cannot_fit(source, wishes.threads)
        request = self.restore_section.request(source, self._bank, self.seed, wishes.threads)
        missing = self.restore_section.missing(layer)
        masks = self.restore_section.mask_words(source.name)
        before = [] if request.bank is None else self._bank_lines
        self._script = recipes.script([*before, *request.lines(source.name, masks)])
        out = make_room(source, request.task, wishes)
        self._name_filter_axes(source.axes)
        self._remember()
        lines = self._bank_lines if request.bank else request.bank_lines(source.name, masks)
        verb = "Denoising" if request.task == "denoised" else "Filling"
        self._start_restoring(
            Restoring(source, request, request.task, out, self._script), missing, verb, lines
        )

    def preview(self) -> None:
        """Denoise or inpaint what is in view, quickly, into a layer of its own."""
        if self._restoring is not None:
            _refuse_if(
                self._restored is None or not self._restored.preview,
                "a restoration is running: stop it first",
            )
            self._restoring.stop()
            self._again = True  # once this one has ended
            return
        layer = self.source_section.ticked()[0]
        whole = layers.snapshot(layer, self.source_section.axes_of(layer))
        region = recipes.region_in_view(whole, layer, self._viewer.dims)
        source = recipes.part_of(whole, region, layer.ndim)
        threads = preferences().threads
        request = self.restore_section.request(source, self._bank, self.seed, threads)
        request.options["quality"] = "fast"
        everything = self.restore_section.missing(layer)

        def missing() -> Any:
            found = everything()
            return None if found is None else found[region]

        image = arrays.view(source.data)
        out = np.zeros(image.shape, image.dtype)
        self._start_restoring(Restoring(source, request, "preview", out, ""), missing, "Preview")

    def stop(self) -> None:
        """Stop what runs; what was learned or restored so far stays."""
        self._again = False
        for job in self._jobs():
            job.stop()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        paused = self.paused
        for job in self._jobs():
            (job.resume if paused else job.pause)()
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
        if self._bank is None:
            raise ValueError("there are no filters yet: learn some first")
        self._bank.save(path)
        self._say(f"{self._bank.n_base} filters saved as {Path(path).name}")

    def load_bank(self, path: str | Path) -> None:
        """Read filters from a file, and restore with them from now on."""
        bank = FilterBank.load(path)
        self._take(bank, [f"bank = FilterBank.load({str(path)!r})"])
        self._say(f"{bank.n_base} filters loaded from {Path(path).name}")

    def reset(self) -> None:
        """Forget the filters, and set every field to what it was at first. Layers stay."""
        _refuse_if(self.busy, "something is running: stop it first")
        wishes = preferences()
        for section, name, value in self._first_values:
            getattr(getattr(self, section), name).value = value
        self.quality = wishes.quality
        self.plots.rate = wishes.plot_rate
        self._take(None, [])
        self._restored = None
        self._script = ""
        self.compare_section.show_result(None)
        self.restore_section.show_noise(None)
        self._say("")

    # --- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        self.source_section = SourceSection(self._viewer)
        self.learn_section = LearnSection()
        self.restore_section = RestoreSection(self._viewer)
        self.compare_section = CompareSection(self._viewer)
        self.plots = self.learn_section.plots
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
        outer.addWidget(self._build_foot())
        self.setMinimumWidth(300)
        self.failed.connect(self._complain)
        self._connect()
        self._first_values = self._fields()

    def _build_foot(self) -> QWidget:
        self._bar = QProgressBar()
        self._bar.setRange(0, 100)
        self._bar.setAccessibleName("Progress")
        self._bar.hide()
        self._status = label()
        # Always in sight, whatever the size of the screen.
        self._restore_button = self.button("Learn and denoise", "", self.restore)
        font = self._restore_button.font()
        font.setBold(True)
        self._restore_button.setFont(font)
        self._pause_button = self.button("Pause", "", self.pause)
        self._stop_button = self.button("Stop", "", self.stop)
        self._save = self.button("Save filters", "", self._save_dialog)
        load = self.button("Load filters", "Read base filters from a file", self._load_dialog)
        self._to_layer = self.button("Filters to layer", "", self._filters_to_layer)
        self._copy = self.button("Copy script", "", self._copy_script)
        reset = self.button("Reset", "Forget the filters; every field as at first", self.reset)
        foot = Section()
        foot.fill(
            self._bar,
            self._status,
            self._restore_button,
            row(self._pause_button, self._stop_button),
            row(self._save, load),
            row(self._to_layer, self._copy, reset),
        )
        layout: Any = foot.layout()
        layout.setContentsMargins(8, 4, 8, 8)
        return foot

    def _connect(self) -> None:
        self.source_section.changed.connect(self._source_changed)
        self.source_section.others_changed.connect(self._reset_choices)
        self.learn_section.wanted.connect(lambda: self.attempt(self.learn))
        self.restore_section.task_changed.connect(self._show_state)
        self.restore_section.task_changed.connect(self._show_cost)
        self.restore_section.quality_changed.connect(self._show_cost)
        self.restore_section.preview_wanted.connect(lambda: self.attempt(self.preview))
        self.restore_section.strength_moved.connect(self._preview_again)
        self._remembering = QTimer(self)
        self._remembering.setSingleShot(True)
        self._remembering.setInterval(1000)
        self._remembering.timeout.connect(self._remember)
        for section, name, _ in self._fields():
            if name in _REMEMBERED:
                field = getattr(getattr(self, section), name)
                field.changed.connect(lambda _value: self._remembering.start())
        self.plots.layer_wanted.connect(self._add_layer)
        self.plots.failed.connect(self._complain)
        self.plots.explaining_changed.connect(self._listen_to_clicks)

    def _fields(self) -> list[tuple[str, str, Any]]:
        """Every field: its section, its name and its value."""
        return [
            (field._section, name, getattr(self, name))
            for name, field in vars(Dock).items()
            if isinstance(field, _Field)
        ]

    # --- the viewer -----------------------------------------------------------------------------

    def _attach(self) -> None:
        """Listen to the viewer."""
        if self._attached:
            return
        self._attached = True
        self.source_section.follow()
        self._viewer.layers.events.inserted.connect(self._take_dropped)
        for layer in self._viewer.layers:
            if self._bank is None:
                self._take_from(layer)
        self._viewer.bind_key(KEY, self._hold_key, overwrite=True)
        self._listen_to_clicks(self.plots.explaining)

    def _detach(self) -> None:
        """The end: stop the jobs, and listen to nothing any more."""
        if not self._attached:
            return
        self._attached = False
        self.stop()
        for timer in self.findChildren(QTimer):
            timer.stop()
        self._remember()
        self.source_section.leave()
        self._viewer.layers.events.inserted.disconnect(self._take_dropped)
        self._viewer.bind_key(KEY, None)
        self._listen_to_clicks(False)

    def reset_choices(self, _event: Any = None) -> None:
        """Read the layers again; napari calls it too."""
        if self._attached:
            self.source_section.list_layers()

    def _reset_choices(self) -> None:
        self.restore_section.reset_choices()
        self.compare_section.reset_choices()

    def _source_changed(self) -> None:
        self._reset_choices()
        self._show_cost()
        self._show_state()

    def _take_dropped(self, event: Any) -> None:
        """A filter bank that was dropped on the viewer becomes that of the dock."""
        self._take_from(event.value)

    def _take_from(self, layer: Any) -> None:
        bank = layers.bank_of(layer)
        if bank is not None and (self._bank is None or bank.id != self._bank.id):
            where = f"viewer.layers[{layer.name!r}].metadata[{layers.OURS!r}]['bank']"
            self._take(bank, [f"bank = {where}"])
            self._say(f"{bank.n_base} filters from {layer.name}")

    def _hold_key(self, _viewer: Any) -> Any:
        self.compare_section.show_original(True)
        yield
        self.compare_section.show_original(False)

    def _listen_to_clicks(self, yes: bool) -> None:
        callbacks = self._viewer.mouse_drag_callbacks
        if self._clicked in callbacks:
            callbacks.remove(self._clicked)
        if yes and self._attached:
            callbacks.append(self._clicked)

    def _clicked(self, _viewer: Any, event: Any) -> Any:
        """Explain the pixel, unless the mouse is moved with its button down."""
        yield
        if event.type != "mouse_move":
            self.attempt(lambda: self.explain(event.position))

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        if self._bank is None:
            raise ValueError("there are no filters yet: learn some, then click a pixel")
        bank = self._bank
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

    def _jobs(self) -> list[Job]:
        return [job for job in (self._learning, self._restoring) if job is not None]

    def _start_restoring(
        self,
        restoring: Restoring,
        missing: Callable[[], Any],
        verb: str,
        bank_lines: list[str] | None = None,
    ) -> None:
        """Run it; the filters that it learns on the way are kept unless it is a preview."""
        self._restored = restoring
        self.compare_section.show_result(None)

        def finish(outcome: Outcome) -> None:
            self._restoring = None
            last = outcome.last
            bank = None if last is None else last.bank
            if bank is not None and bank_lines is not None:
                self._take(bank, _made_by(bank_lines, outcome), learned=True)
            restoring.finish(outcome.how, bank)
            if outcome.how == "done" and self.residual and not restoring.preview:
                self.compare_section.show_residual(restoring)
            self._finish(outcome, "Done")
            self.compare_section.show_result(restoring)
            if last is not None and outcome.how == "done":
                for remark in last.remarks:
                    show_warning(remark)
            if self._again:
                self._again = False
                self.attempt(self.preview)

        self._run(
            "_restoring",
            lambda tick: restoring.request.updates(
                restoring.source.data, missing(), restoring.out, tick
            ),
            finish,
            verb,
        )

    def _run(
        self, slot: str, start: Callable[..., Updates], finish: Callable[[Outcome], None], what: str
    ) -> None:
        job = Job(start, self)
        setattr(self, slot, job)
        self._show_state()
        job.setObjectName(what)

        def ended(outcome: Outcome) -> None:
            activity = self._activities.pop(job, None)
            if activity is not None:
                activity.close()
            self._spent = time.monotonic() - job.started
            finish(outcome)
            job.deleteLater()

        job.reported.connect(lambda report: self._reported(job, report))
        job.ended.connect(ended)
        self._show_progress(0)
        self._bar.show()
        self._say(f"{what} ...")
        job.start()

    def _reported(self, job: Job, report: Report) -> None:
        update = report.update
        self._show_progress(update.done)
        spent = time.monotonic() - job.started
        total = spent / update.done if update.done > 0.1 else spent
        left = f", about {total - spent:.0f} s left" if update.done > 0.1 else ""
        self._say(update.message + left)
        if update.noise is not None:
            self.restore_section.show_noise(update.noise)
        if update.learned is not None:
            self.plots.show_update(update.learned)
        if report.changed and self._restored is not None:
            self._restored.show(self._viewer)
        if total > _LONG:
            self._show_activity(job, update.done)

    def _show_progress(self, done: float) -> None:
        # Qt would paint the bar at once, and napari's window with it.
        self._bar.setUpdatesEnabled(False)
        self._bar.setValue(round(100 * done))
        self._bar.setUpdatesEnabled(True)

    def _show_activity(self, job: Job, done: float) -> None:
        """Show a long job in napari's activity area too.

        Not a short one: the wheel that turns there has the whole window painted again and again.
        napari's bar lets other events happen, among them the end of this job.
        """
        if job not in self._activities:
            self._activities[job] = None  # the next report may come while it is being made
            made = Activity(f"napari-scsc: {job.objectName().lower()}", job.stop)
            if job not in self._jobs():
                made.close()
                return
            self._activities[job] = made
        activity = self._activities[job]
        if activity is not None:
            activity.show(done)

    def _finish(self, outcome: Outcome, done: str) -> None:
        if not self.busy:
            self._bar.hide()
        if outcome.how == "failed":
            assert outcome.error is not None
            self._complain(outcome.error)
        elif outcome.how == "stopped":
            self._say("Stopped; what was done so far is kept")
        else:
            self._say(f"{done} in {self._spent:.1f} s")
        self._show_state()

    def _preview_again(self) -> None:
        if self._restored is None or not self._restored.preview:
            return
        seen = self.result is not None and self.result in self._viewer.layers
        if seen or self._restoring is not None:
            self.attempt(self.preview)

    def _refuse_what_cannot_fit(self, source: layers.Snapshot, threads: int | None) -> None:
        task = self.restore_section.wanted
        cost = recipes.cost(source.data, source.axes, task, self.quality, threads or 1)
        free = psutil.virtual_memory().available
        _refuse_if(
            cost.memory > free,
            f"{source.name} needs {recipes.in_bytes(cost.memory)} of memory, and "
            f"{recipes.in_bytes(free)} are free: restore a part of it, such as "
            "viewer.add_image(layer.data[:50])",
        )

    # --- filters --------------------------------------------------------------------------------

    def _take(self, bank: FilterBank | None, lines: list[str], learned: bool = False) -> None:
        """Restore with these filters from now on; ``lines`` of a script make them."""
        self._bank, self._bank_lines = bank, lines
        if bank is None:
            self.plots.clear()
        elif not learned:  # else the plots have followed
            names = readers.filter_labels(bank)[1:]
            self.plots.show_bank(bank.filters, bank.n_joint, names, weights=bank.weights)
        self._show_state()

    def _name_filter_axes(self, axes: Axes) -> None:
        """Filters have the joint axes first, then the shift axes."""
        pairs = list(zip(axes.labels, axes.roles, strict=True))
        joint, shift = ([n for n, r in pairs if r == role] for role in ("joint", "shift"))
        self.plots.set_axes(len(joint), [*joint, *shift])

    def _filters_to_layer(self) -> None:
        if self._bank is not None:
            self._add_layer(readers.bank_layer(self._bank, "base filters"))

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

    def _remember(self) -> None:
        remember({name: getattr(self, name) for name in _REMEMBERED})

    # --- showing --------------------------------------------------------------------------------

    def _show_cost(self) -> None:
        self.source_section.show_cost(
            self.restore_section.wanted, self.quality, preferences().threads
        )

    def _show_state(self, _value: Any = None) -> None:
        """Which buttons can be pressed, and what they will do."""
        why = self.source_section.problem()
        verb = self.task.lower()
        fits = not why and self._bank_fits()
        words = verb.capitalize() if fits else f"Learn and {verb}"
        name = "" if why else self.source_section.ticked()[0].name
        self._restore_button.setText(words)
        for button, job, tip in (
            (
                self.learn_section.start,
                self._learning,
                "Learn base filters B from the ticked layers",
            ),
            (
                self._restore_button,
                self._restoring,
                f"{words} {name} into a new layer; your layer stays as it is",
            ),
            (self.restore_section.preview, self._restoring, "Restore what is in view, quickly"),
        ):
            button.setEnabled(not why and job is None)
            button.setToolTip(why or ("It is running: stop it first" if job else tip))
        self._pause_button.setText("Resume" if self.paused else "Pause")
        no_filters = "There are no filters yet: learn some first"
        for button, free, tip, reason in (
            (self._pause_button, self.busy, "Hold what runs, or let it go on", "Nothing runs"),
            (self._stop_button, self.busy, "Stop; what was done so far stays", "Nothing runs"),
            (self._save, self._bank, "Write the base filters B to a file", no_filters),
            (self._to_layer, self._bank, "Show the base filters B as a layer", no_filters),
            (
                self._copy,
                self._script,
                "The lines that do again what was done last",
                "Nothing was done yet",
            ),
        ):
            button.setEnabled(bool(free))
            button.setToolTip(tip if free else reason)

    def _bank_fits(self) -> bool:
        """Whether there are filters for the kind of the layer to restore."""
        if self._bank is None:
            return False
        layer = self.source_section.ticked()[0]
        source = layers.snapshot(layer, self.source_section.axes_of(layer))
        return recipes.fits(self._bank, source)

    def _complain(self, error: Exception | str) -> None:
        words = str(error) or type(error).__name__
        self._say(f"That did not work: {words}")
        show_error(f"napari-scsc: {words}")

    def _say(self, text: str) -> None:
        self._status.setText(text)
        self._status.setVisible(bool(text))

    # --- the end --------------------------------------------------------------------------------

    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and hasattr(self, "_attached"):
            (self._detach if self.parent() is None else self._attach)()
        return bool(super().event(event))

    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self._detach()
        super().closeEvent(event)


def _compile() -> None:
    threading.Thread(target=groups.warm_up, name="compile for napari-scsc").start()


def _made_by(lines: list[str], outcome: Outcome) -> list[str]:
    """The lines of a script that made filters, with a word if they were not let to the end."""
    if outcome.how == "done" or outcome.last is None or outcome.last.stage != "learn":
        return lines
    return [f"# In the dock it was stopped: {outcome.last.message}.", *lines]


def _refuse_if(condition: bool, why: str) -> None:
    if condition:
        raise ValueError(why)
