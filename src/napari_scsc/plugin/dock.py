"""The dock: Source, Learn, Restore, Compare, from top to bottom in the order of work."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari.layers import Image, Layer
from napari.utils.notifications import show_info
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtWidgets import QApplication, QFileDialog, QFrame, QScrollArea, QVBoxLayout, QWidget

from napari_scsc.groups import compiling
from napari_scsc.io.filenames import format_shape
from napari_scsc.io.layers import bank_layer
from napari_scsc.plugin import layers, preferences
from napari_scsc.plugin.bank_holder import BankHolder
from napari_scsc.plugin.controller import Event
from napari_scsc.plugin.fields import Field, FieldMemory
from napari_scsc.plugin.part_attribute import PartAttribute
from napari_scsc.plugin.pixel_explainer import PixelExplainer
from napari_scsc.plugin.sections.compare_section import KEY, CompareSection
from napari_scsc.plugin.sections.foot import Foot
from napari_scsc.plugin.sections.form_widgets import Fold, Section
from napari_scsc.plugin.sections.learn_section import LearnSection
from napari_scsc.plugin.sections.restore_section import RestoreSection
from napari_scsc.plugin.sections.source_section import SourceSection
from napari_scsc.plugin.task_runner import Parts, TaskRunner
from napari_scsc.plugin.viewer_link import ViewerLink
from napari_scsc.restore import machine_speed

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
    task = Field("restore_section", "Denoise or Inpaint.")
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
    reference = Field("compare_section", "Name of the layer that the result is measured against.")

    sources = PartAttribute(
        "source_section",
        "Names of the ticked layers: all are learned from, the first is restored.",
        is_settable=True,
    )
    axes = PartAttribute("source_section", "What the axes of the layer to restore are.")
    bank = PartAttribute(
        "filters", "The filters that restore; None until there are some.", is_settable=True
    )
    script = PartAttribute("runner", "The lines that do again what was done last.")
    message = PartAttribute("foot", "What the dock says at its foot.")
    about = PartAttribute("source_section", "What the layer to restore is, and what it will take.")
    noise = PartAttribute("restore_section", "What the dock says of the noise it found.")
    scores = PartAttribute("compare_section", "PSNR and SSIM of the result, against a reference.")
    busy = PartAttribute("controller", "Whether a job is running.", "is_busy")
    paused = PartAttribute("controller", "Whether what runs is held.", "is_paused")
    progress = PartAttribute("foot", "How much of what runs is done, 0 to 1.")

    def __init__(self, napari_viewer: napari.viewer.Viewer) -> None:
        super().__init__()
        self.setObjectName("napari-scsc")
        self._viewer = napari_viewer
        self._told_of: str | None = None  # the layer that messages are about
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
        """The layer of the last restoration."""
        return None if self.runner.result is None else self.runner.result.layer

    def learn(self) -> None:
        """Learn filters from the ticked layers, in the background."""
        self.runner.learn()

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
        self._memory.keep()
        self.runner.restore()

    def preview(self) -> None:
        """Denoise or inpaint what is in view, quickly, into a layer of its own."""
        self.runner.preview()

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        self._explainer.explain(position)

    def stop(self) -> None:
        """Stop what runs; what was learned or restored so far stays."""
        if self.busy:
            self.foot.say("Stopping ...")
        self.controller.stop()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        self.controller.pause()
        if self.paused:
            self.foot.say("Paused")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs, the window staying alive; False if that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.busy or self.compare_section.busy or self._explainer.running:
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
        self.compare_section.show_result(None)
        self.restore_section.show_noise(None)
        self.foot.say("")

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
        self.plots = self.learn_section.plots
        self.filters = BankHolder(self.plots, self)
        self.foot = Foot(
            restore=self.restore,
            pause=self.pause,
            stop=self.stop,
            save=lambda: _ask_where_to_save(self),
            load=lambda: _ask_what_to_load(self),
            to_layer=lambda: _add_filters(self._viewer, self),
            copy=lambda: _copy(self.script),
            reset=self.reset,
        )
        parts = Parts(
            self._viewer,
            self.source_section,
            self.learn_section,
            self.restore_section,
            self.compare_section,
            self.foot,
            self.filters,
        )
        self.runner = TaskRunner(parts, self._show_state, self)
        self.controller = self.runner.controller
        self._explainer = PixelExplainer(parts, self.runner)
        self._link = ViewerLink(
            self._viewer,
            KEY,
            added=self.filters.take_from,
            held=self.compare_section.show_original,
            clicked=lambda position: self.attempt(lambda: self.explain(position)),
        )

    def _lay_out(self) -> None:
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

    def _connect(self) -> None:
        sections = (
            self.source_section,
            self.learn_section,
            self.restore_section,
            self.compare_section,
        )
        for part in (self, *sections, self.foot, self.plots, self._explainer):
            part.failed.connect(self.runner.fail)
        self.filters.changed.connect(self._show_state)
        self.filters.told.connect(self.foot.say)
        self.source_section.changed.connect(self._source_changed)
        for section in (self.restore_section, self.compare_section):
            self.source_section.others_changed.connect(section.reset_choices)
        self.learn_section.wanted.connect(lambda: self.attempt(self.learn))
        self.restore_section.task_changed.connect(self._show_state)
        self.restore_section.cost_changed.connect(self._show_cost)
        self.restore_section.preview_wanted.connect(lambda: self.attempt(self.preview))
        self.restore_section.strength_moved.connect(lambda: self.attempt(self.runner.preview_again))
        self.plots.filters.noise_marked.connect(lambda: self.attempt(self.runner.preview_again))
        self.plots.layer_wanted.connect(lambda made: _add_layer(self._viewer, made))
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
        self._link.listen_to_clicks(self.plots.explaining)
        self._explainer.outlines.set_seen(self.plots.explaining)

    def _detach(self) -> None:
        """The end: stop the jobs, and listen to nothing any more."""
        if not self._link.attached:
            return
        self._link.detach()
        self._explainer.outlines.set_seen(False)
        self.stop()
        for timer in self.findChildren(QTimer):
            timer.stop()
        self._memory.keep()
        self.source_section.leave()

    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and hasattr(self, "_link"):
            (self._detach if self.parent() is None else self._attach)()
        return bool(super().event(event))

    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self._detach()
        super().closeEvent(event)

    # --- showing --------------------------------------------------------------------------------

    def _source_changed(self) -> None:
        first = next(iter(self.source_section.sources), None)
        if first != self._told_of and not self.busy:  # what was said was about another image
            self.restore_section.show_noise(None)
            self.foot.say("")
        self._told_of = first
        self.restore_section.reset_choices()
        self.compare_section.reset_choices()
        self._show_cost()
        self._show_state()

    def _show_cost(self) -> None:
        section = self.restore_section
        self.source_section.show_cost(
            section.task_name,
            section.quality.value,
            section.method_name,
            preferences.read_preferences(),
        )

    def _show_state(self) -> None:
        """Which buttons can be pressed, and what they will do."""
        problem = self.source_section.problem()
        learn, restore = (
            problem or self.controller.refusal(event) for event in (Event.LEARN, Event.RESTORE)
        )
        name, fits = "", False
        if not problem:
            layer, source = self.source_section.first()
            name, fits = layer.name, self.filters.fits(source)
        verb = self.task.lower()
        self.learn_section.show_refusal(learn)
        self.learn_section.show_bank(self.bank if fits else None)
        self.restore_section.show_refusal(restore)
        self.foot.show_restore_button(
            verb.capitalize() if fits else f"Learn and {verb}", name, restore
        )
        self.foot.show_state(self.busy, self.paused, self.bank is not None, bool(self.script))


def _get_ready() -> None:
    """Compile, and find out how fast this machine is, while the user looks around."""
    threading.Thread(target=_warm_up, name="compile for napari-scsc").start()


def _warm_up() -> None:
    compiling.warm_up()
    machine_speed.measure()


def _ask_where_to_save(dock: Dock) -> None:
    path, _ = QFileDialog.getSaveFileName(dock, "Save filters", "filters.scsc", "*.scsc")
    if path:
        dock.save_bank(path)


def _ask_what_to_load(dock: Dock) -> None:
    path, _ = QFileDialog.getOpenFileName(dock, "Load filters", "", "*.scsc")
    if path:
        dock.load_bank(path)


def _add_filters(viewer: Any, dock: Dock) -> None:
    """Add the base filters as a layer, and say where it is."""
    bank = dock.bank
    if bank is not None:
        _add_layer(viewer, bank_layer(bank, "base filters"))
        dock.foot.say(
            f"{bank.n_base} filters of {format_shape(bank.support)} pixels are the layer "
            "'base filters', at the origin; zoom in to see them"
        )


def _add_layer(viewer: Any, made: Any) -> None:
    layer = Layer.create(*made)
    layers.take_units(layer, viewer.layers.extent.units)
    viewer.add_layer(layer)


def _copy(script: str) -> None:
    clipboard: Any = QApplication.clipboard()
    clipboard.setText(script)
    show_info("The script is in the clipboard")
