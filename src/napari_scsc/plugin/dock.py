"""The dock: three tabs. Restore is the whole job of most people; then Filters and Batch."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari.layers import Image
from napari.utils.notifications import show_info
from napari.utils.theme import get_theme
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtGui import QColor
from qtpy.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QMenu,
    QMessageBox,
    QScrollArea,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from napari_scsc.groups import compiling
from napari_scsc.io.filenames import format_shape
from napari_scsc.io.layers import bank_layer
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import preferences
from napari_scsc.plugin.bank_holder import BankHolder
from napari_scsc.plugin.batch.batch_tab import BatchTab
from napari_scsc.plugin.batch.settings import BatchSettings
from napari_scsc.plugin.controller import Event, State
from napari_scsc.plugin.cost import duration, find_cost, in_bytes
from napari_scsc.plugin.fields import Field, FieldMemory
from napari_scsc.plugin.focus_frame import FocusFrame
from napari_scsc.plugin.live_preview import LivePreview
from napari_scsc.plugin.part_attribute import PartAttribute
from napari_scsc.plugin.pixel_explainer import PixelExplainer
from napari_scsc.plugin.placing import add_beside
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.plugin.script import read_from_files
from napari_scsc.plugin.session import open_path
from napari_scsc.plugin.sections.compare_section import KEY, CompareSection
from napari_scsc.plugin.sections.form_widgets import Fold, Section, TextButton, WheelGuard, set_accent
from napari_scsc.plugin.sections.learn_section import LearnSection
from napari_scsc.plugin.sections.restore_section import RestoreSection
from napari_scsc.plugin.sections.run_section import RunSection
from napari_scsc.plugin.sections.source_section import SourceSection
from napari_scsc.plugin.task_runner import Parts, TaskRunner
from napari_scsc.plugin.viewer_link import ViewerLink
from napari_scsc.restore import machine_speed
from napari_scsc.restore.quality import QUALITIES

if TYPE_CHECKING:
    import napari


class Dock(Section):
    """The one widget of the plugin, and a handle on it for scripts."""

    kind = Field("source_section", "What the axes mean, or 'guess'.")
    effort = Field("learn_section", "How much is learned from: quick, balanced, thorough.")
    model = Field("learn_section", "What kind of filters Learn learns.")
    n_base = Field("learn_section", "R, the number of base filters; 0: what suits the data.")
    filter_size = Field("learn_section", "Pixels along a side of a filter; 0: what suits.")
    n_filters = Field("learn_section", "K, filters of a tile (SCSC); 0: what suits the data.")
    sparsity = Field("learn_section", "beta in noise levels (SCSC); 0: what suits.")
    ball = Field("learn_section", "Ball of the weights (SCSC).")
    passes = Field("learn_section", "How often to go through the tiles.")
    seed = Field("learn_section", "The same seed gives the same result.")
    go_on = Field("learn_section", "Whether learning continues the filters that are there.")
    task = Field("restore_section", "Denoise, or Fill holes.")
    quality = Field("restore_section", "draft, fast or balanced.")
    sigma = Field("restore_section", "Noise level in the units of the image; 0: estimated.")
    noise_model = Field("restore_section", "auto, or noise that is white, or correlated.")
    empty_layer = Field("restore_section", "Name of the layer that marks background only.")
    outliers = Field("restore_section", "Whether hot and dead pixels are filled or kept, or auto.")
    strength = Field("restore_section", "1 takes away the noise that is there.")
    missing_layer = Field("restore_section", "Name of the layer that marks what is missing.")
    saturated = Field("restore_section", "Whether the largest value counts as missing.")
    residual = Field("restore_section", "Whether what was taken away is shown too.")
    method = Field("restore_section", "Groups of patches, or the paper's code.")
    preview = Field("restore_section", "Whether what is in view is restored live.")
    reference = Field("compare_section", "Name of the layer that the result is measured against.")

    sources = PartAttribute(
        "source_section", "Names of the ticked layers: all of them are restored.", is_settable=True
    )
    sharing = PartAttribute(
        "source_section", "What several layers have in common; see Sharing.", is_settable=True
    )
    axes = PartAttribute("source_section", "What the axes of the first ticked layer are.")
    bank = PartAttribute(
        "filters", "The filters that restore; None until there are some.", is_settable=True
    )
    script = PartAttribute("runner", "The lines that do again what was done last.")
    message = PartAttribute("run_section", "What the dock says below its main button.")
    about = PartAttribute("source_section", "What the first ticked layer is.")
    noise = PartAttribute("restore_section", "What the dock says of the noise it found.")
    scores = PartAttribute("compare_section", "PSNR and SSIM of the result, against a reference.")
    fit = PartAttribute("compare_section", "Whether filters of other images fit this one.")
    busy = PartAttribute("controller", "Whether a job is running.", "is_busy")
    paused = PartAttribute("controller", "Whether what runs is held.", "is_paused")
    progress = PartAttribute("run_section", "How much of what runs is done, 0 to 1.")

    def __init__(self, napari_viewer: napari.viewer.Viewer) -> None:
        super().__init__()
        self.setObjectName("napari-scsc")
        self._viewer = napari_viewer
        self._told_of: tuple[str, ...] = ()  # the layers that messages are about
        self._noises: dict[str, Noise] = {}  # that were found, by the ids of the layers
        self._make_parts()
        self._lay_out()
        self._connect()
        self._memory = FieldMemory(self)
        self.reset()
        self._memory.bring_back()
        self._attach()
        # While the user looks around: the first press of a button should not have to wait for it.
        QTimer.singleShot(1000, _get_ready)

    # --- for scripts ----------------------------------------------------------------------------

    @property
    def result(self) -> Image | None:
        """The first layer of the last restoration."""
        return None if self.runner.result is None else self.runner.result.layer

    @property
    def results(self) -> list[Image]:
        """The layers of the last restoration, in the order of the sources."""
        return [result.layer for result in self.runner.results if result.layer is not None]

    def learn(self) -> None:
        """Learn filters from the ticked layers, in the background."""
        self.runner.learn()

    def denoise(self) -> None:
        """Denoise every ticked layer, in the background."""
        self.task = "Denoise"
        self.restore()

    def inpaint(self) -> None:
        """Fill what is missing in every ticked layer, in the background."""
        self.task = "Fill holes"
        self.restore()

    def restore(self) -> None:
        """Denoise or inpaint, as the dock is set."""
        self._memory.keep()
        self.runner.restore()

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        self._explainer.explain(position)

    def stop(self) -> None:
        """Stop what runs; what was learned or restored so far stays."""
        if self.busy:
            self.run_section.say("Stopping ...")
        self.controller.stop()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        self.controller.pause()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs, the window staying alive; False if that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while (
            self.busy
            or self.compare_section.busy
            or self._explainer.running
            or self.live_preview.running
            or self.batch_tab.busy
        ):
            QApplication.processEvents()
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def save_bank(self, path: str | Path) -> None:
        """Write the filters to a file."""
        self.filters.save(path)

    def load_bank(self, path: str | Path) -> None:
        """Read filters from a file, and restore with them from now on."""
        self.filters.load(path)

    def reset(self) -> None:
        """Forget the filters, and set every field to what it was at first. Layers stay."""
        self.controller.check(Event.RESET)
        wishes = preferences.read_preferences()
        self._memory.reset()
        self.quality = wishes.quality
        self.plots.rate = wishes.plot_rate
        self.runner.forget()
        self._explainer.forget()
        self._explainer.outlines.clear()
        self.bank = None
        self._noises.clear()
        self.restore_section.forget()
        self.compare_section.show_result(None)
        self.restore_section.show_noise(None)
        self.run_section.say("")

    def reset_choices(self, _event: Any = None) -> None:
        """Read the layers again; napari calls it too."""
        if self._link.attached:
            self.source_section.list_layers()

    # --- parts ----------------------------------------------------------------------------------

    def _make_parts(self) -> None:
        self.source_section = SourceSection(self._viewer)
        self.learn_section = LearnSection()
        self.restore_section = RestoreSection(self._viewer)
        self.compare_section = CompareSection(self._viewer)
        self.run_section = RunSection(restore=self.restore, stop=self.stop, pause=self.pause)
        self.plots = self.learn_section.plots
        self.filters = BankHolder(self.plots, self)
        parts = Parts(
            self._viewer,
            self.source_section,
            self.learn_section,
            self.restore_section,
            self.compare_section,
            self.run_section,
            self.filters,
        )
        self.runner = TaskRunner(parts, self._show_state, self)
        self.controller = self.runner.controller
        self.live_preview = LivePreview(
            self._viewer,
            self._read_preview_request,
            self,
            is_busy=lambda: self.controller.is_busy,
        )
        self.batch_tab = BatchTab(self._read_batch_settings)
        self._explainer = PixelExplainer(parts, self.runner)
        self._link = ViewerLink(
            self._viewer,
            KEY,
            added=self.filters.take_from,
            held=self.compare_section.show_original,
            clicked=lambda position: self.attempt(lambda: self.explain(position)),
        )

    def _lay_out(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(
            _page(
                self.source_section,
                self.restore_section,
                self.run_section,
                self.compare_section,
                Fold(
                    "advanced", *self.restore_section.advanced, *self.compare_section.advanced
                ),
            ),
            "Restore",
        )
        self.tabs.addTab(_page(self.learn_section, grows=True), "Filters")
        self.tabs.addTab(_page(self.batch_tab, grows=True), "Batch")
        self.menu_button = self._make_menu()
        self.tabs.setCornerWidget(self.menu_button)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.tabs)
        self.setMinimumWidth(300)
        self._frame = FocusFrame(self)
        self._guard = WheelGuard(self)
        self._guard.guard(self)

    def _make_menu(self) -> QToolButton:
        button = TextButton("⋯")
        button.setToolTip("Scripts, files of filters, reset")
        button.setAccessibleName("More")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        self.actions_by_name: dict[str, Any] = {}
        """What the menu offers, by what it says."""
        for text, tip, action in (
            ("Copy script", "The Python lines that do again what was done last", self._copy_script),
            ("", "", None),
            ("Load filters ...", "Read base filters from a file", self._ask_what_to_load),
            ("Save filters ...", "Write the base filters B to a file", self._ask_where_to_save),
            ("Filters to layer", "Show the base filters B as a layer", self._add_filters),
            ("", "", None),
            ("Reset ...", "Forget the filters; every field as at first", self._ask_to_reset),
        ):
            if action is None:
                menu.addSeparator()
                continue
            made: Any = menu.addAction(text)
            made.setToolTip(tip)
            made.triggered.connect(lambda _checked=False, do=action: self.attempt(do))
            self.actions_by_name[text.removesuffix(" ...")] = made
        button.setMenu(menu)
        return button

    def _connect(self) -> None:
        sections = (
            self.source_section,
            self.learn_section,
            self.restore_section,
            self.compare_section,
            self.run_section,
            self.batch_tab,
        )
        for part in (self, *sections, self.plots, self._explainer, self.live_preview):
            part.failed.connect(self.runner.fail)
        self.filters.changed.connect(self._show_state)
        self.filters.told.connect(self.run_section.say)
        self.compare_section.told.connect(self._tell_of_view)
        self.source_section.changed.connect(self._source_changed)
        for section in (self.restore_section, self.compare_section):
            self.source_section.others_changed.connect(section.reset_choices)
        self.learn_section.wanted.connect(lambda: self.attempt(self._learn_or_stop))
        self.restore_section.task_changed.connect(self._show_state)
        self.restore_section.cost_changed.connect(self._show_state)
        self.restore_section.preview_switched.connect(self._switch_preview)
        self.restore_section.settings_changed.connect(self._refresh_preview)
        self.plots.filters.noise_marked.connect(self._refresh_preview)
        self.live_preview.noise_found.connect(self._noise_found_in_view)
        self.live_preview.switched.connect(self._preview_switched)
        self.live_preview.told.connect(self._tell_of_view)
        self.runner.noise_found.connect(self._noise_found)
        self.runner.results_changed.connect(self._end_preview)
        self.batch_tab.open_wanted.connect(
            lambda *paths: self.attempt(lambda: self._open_files(paths))
        )
        self.plots.layer_wanted.connect(lambda made: add_beside(self._viewer, made))
        self.plots.explaining_changed.connect(self._link.listen_to_clicks)
        self.plots.explaining_changed.connect(self._explainer.outlines.set_seen)

    # --- the viewer -----------------------------------------------------------------------------

    def _attach(self) -> None:
        """Listen to the viewer."""
        if self._link.attached:
            return
        self.source_section.follow()
        self._link.attach()
        for layer in self._viewer.layers:
            if self.bank is None:
                self.filters.take_from(layer)
        self._viewer.layers.selection.events.active.connect(self._active_changed)
        self._viewer.events.theme.connect(self._recolour)
        self._recolour()
        self._link.listen_to_clicks(self.plots.explaining)
        self._explainer.outlines.set_seen(self.plots.explaining)

    def _detach(self) -> None:
        """The end: stop the jobs, and listen to nothing any more."""
        if not self._link.attached:
            return
        self._link.detach()
        self._viewer.layers.selection.events.active.disconnect(self._active_changed)
        self._viewer.events.theme.disconnect(self._recolour)
        self._explainer.outlines.set_seen(False)
        self.preview = False
        self.compare_section.close_views()
        self.live_preview.close()
        self.batch_tab.stop()
        self.stop()
        for timer in self.findChildren(QTimer):
            timer.stop()
        self._memory.keep()
        self.source_section.leave()
        self._frame.leave()

    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and hasattr(self, "_link"):
            (self._detach if self.parent() is None else self._attach)()
        return bool(super().event(event))

    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self._detach()
        super().closeEvent(event)

    def _active_changed(self, event: Any) -> None:
        """Compare the result that is active in napari."""
        result = self.runner.result_in(event.value)
        if result is not None and result.noise is not None and not self.busy:
            self.compare_section.show_result(result)

    def _recolour(self, _event: Any = None) -> None:
        """Take the accent colour of the theme."""
        accent = QColor(*get_theme(self._viewer.theme).current.as_rgb_tuple()[:3])
        for button in (self.run_section.main_button, self.batch_tab.start_button):
            set_accent(button, accent)
        self._frame.colour = accent

    # --- showing --------------------------------------------------------------------------------

    def _source_changed(self) -> None:
        ids = tuple(self.source_section.picker.ticked)
        if ids != self._told_of:  # what was said was about other images
            self.restore_section.set_target(ids)
            self._show_noise(ids)
            if not self.busy:
                self.run_section.say("")
        self._told_of = ids
        self.restore_section.reset_choices()
        self.compare_section.reset_choices()
        self._show_state()
        self._refresh_preview()

    def _noise_found(self, layer_id: str, noise: Noise) -> None:
        self._noises[layer_id] = noise
        self._show_noise(tuple(self.source_section.picker.ticked))

    def _noise_found_in_view(self, noise: Noise) -> None:
        if not self.busy:
            self._noise_found(self.source_section.picker.ticked[0], noise)

    def _show_noise(self, ids: tuple[str, ...]) -> None:
        found = [self._noises[layer_id] for layer_id in ids if layer_id in self._noises]
        self.restore_section.show_noise(found[0] if found else None)

    def _show_state(self) -> None:
        """Which buttons can be pressed, and what they will do."""
        problem = self.source_section.problem()
        state, run = self.controller.state, self.run_section
        run.show_paused(self.paused)
        self.learn_section.show_state(
            problem or self.controller.refusal(Event.LEARN), state is State.LEARNING
        )
        if state is State.STOPPING:
            run.show_button("Stopping ...", "What was done so far stays", "")
        elif state is State.IDLE:
            run.show_button(*self._describe_task(problem), problem)
        else:
            words = "Stop" if state is State.RESTORING else "Stop learning"
            run.show_button(words, "Stop; what was done so far stays", "")
        self._show_menu()

    def _describe_task(self, problem: str) -> tuple[str, str]:
        """What the main button says, and its tooltip; the seconds of each quality beside it."""
        section = self.restore_section
        verb = "Fill" if section.inpaints else "Denoise"
        if problem:
            section.show_seconds({})
            return verb, problem
        sources, wishes = self.source_section.snapshots(), preferences.read_preferences()
        options = {"quality": section.quality.value, "method": section.method_name}
        requests = [RestoreRequest(section.task_name, source, options) for source in sources]
        costs = [find_cost(request, wishes) for request in requests]
        seconds = {
            quality: sum(find_cost(request, wishes, quality).seconds for request in requests)
            for quality in QUALITIES
        }
        section.show_seconds({name: duration(value) for name, value in seconds.items()})
        self.learn_section.show_bank(self.filters.bank_for(sources[0]))
        count = f" {len(sources)} layers" if len(sources) > 1 else ""
        names = ", ".join(source.name for source in sources)
        memory = in_bytes(sum(cost.memory for cost in costs))
        tip = f"{names}\nInto new layers; yours stay as they are. Needs {memory} of memory"
        return f"{verb}{count} · {duration(seconds[section.quality.value])}", tip

    def _show_menu(self) -> None:
        has_filters = self.bank is not None
        for name, is_possible in (
            ("Copy script", bool(self.script)),
            ("Load filters", not self.busy),
            ("Save filters", has_filters),
            ("Filters to layer", has_filters),
            ("Reset", not self.busy),
        ):
            self.actions_by_name[name].setEnabled(is_possible)

    # --- what is pressed ------------------------------------------------------------------------

    def _learn_or_stop(self) -> None:
        (self.stop if self.controller.state is State.LEARNING else self.learn)()

    def _read_preview_request(self) -> tuple[Image, RestoreRequest]:
        layer, source = self.source_section.first()
        return layer, self.runner.restore_request(layer, source)

    def _read_batch_settings(self) -> BatchSettings:
        section, bank = self.restore_section, self.filters.chosen
        marked = self.plots.filters.noise_filters
        return BatchSettings(
            section.task_name,
            section.options(bank, self.seed, marked),
            bank,
            self.filters.path,
            preferences.read_preferences().threads,
            None if self.kind == "guess" else self.kind,
        )

    def _open_files(self, paths: tuple[str, ...]) -> None:
        """Open a result and its source, the result on top."""
        for path in reversed(paths):
            open_path(self._viewer, path)

    def _switch_preview(self, is_on: bool) -> None:
        self.attempt(lambda: self.live_preview.switch(is_on))

    def _preview_switched(self, is_on: bool) -> None:
        self.preview = is_on
        self.compare_section.show_preview(self.live_preview.layer)

    def _end_preview(self) -> None:
        """What is restored as a whole needs no preview."""
        self.preview = False

    def _tell_of_view(self, words: str) -> None:
        self.compare_section.show_preview(self.live_preview.layer)
        if not self.busy:
            self.run_section.say(words)

    def _refresh_preview(self) -> None:
        self.attempt(self.live_preview.refresh)

    def _copy_script(self) -> None:
        sources = [result.request.source for result in self.runner.results]
        clipboard: Any = QApplication.clipboard()
        clipboard.setText(read_from_files(self.script, sources))
        show_info("The script is in the clipboard")

    def _ask_where_to_save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save filters", "filters.scsc", "*.scsc")
        if path:
            self.save_bank(path)

    def _ask_what_to_load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load filters", "", "*.scsc")
        if path:
            self.load_bank(path)

    def _ask_to_reset(self) -> None:
        if self.filters.has_unsaved:
            answer = QMessageBox.question(
                self, "Reset", "The filters are not saved. Forget them?"
            )
            if answer != QMessageBox.StandardButton.Yes:
                return
        self.reset()

    def _add_filters(self) -> None:
        """Add the base filters as a layer, and say where it is."""
        bank = self.bank
        if bank is not None:
            add_beside(self._viewer, bank_layer(bank, "base filters · stack"))
            self.run_section.say(
                f"{bank.n_base} filters of {format_shape(bank.support)} pixels are the layer "
                "'base filters · stack', beside the image"
            )


def _page(*parts: QWidget, grows: bool = False) -> QScrollArea:
    """A tab: parts from top to bottom, which scroll where there is too little room."""
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(6, 6, 6, 6)
    column.setSpacing(5)
    for part in parts:
        column.addWidget(part, 1 if grows else 0)
    if not grows:
        column.addStretch()
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inside)
    return area


def _get_ready() -> None:
    """Compile, and find out how fast this machine is, while the user looks around."""
    threading.Thread(target=_warm_up, name="compile for napari-scsc").start()


def _warm_up() -> None:
    compiling.warm_up()
    machine_speed.measure()
