"""The dock: three tabs. Restore is the whole job of most people; then Filters and Batch."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari.layers import Image
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtGui import QFont, QFontMetrics
from qtpy.QtWidgets import QApplication, QFrame, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from napari_scsc.groups import compiling
from napari_scsc.plugin import preferences
from napari_scsc.plugin.bank_holder import BankHolder
from napari_scsc.plugin.batch.batch_tab import BatchTab
from napari_scsc.plugin.batch.settings import BatchSettings
from napari_scsc.plugin.controller import Event, State
from napari_scsc.plugin.dock_display import DockDisplay
from napari_scsc.plugin.dock_menu import DockMenu
from napari_scsc.plugin.dock_wiring import DockWiring
from napari_scsc.plugin.fields import Field, FieldMemory
from napari_scsc.plugin.focus_frame import FocusFrame
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.opening import FileDrop, open_paths
from napari_scsc.plugin.part_attribute import PartAttribute
from napari_scsc.plugin.pixel_explainer import PixelExplainer
from napari_scsc.plugin.preview_switch import PreviewSwitch
from napari_scsc.plugin.sections.compare_section import KEY, CompareSection
from napari_scsc.plugin.sections.form_widgets import Fold, FontFollower, Section, WheelGuard
from napari_scsc.plugin.sections.learn_section import LearnSection
from napari_scsc.plugin.sections.restore_section import RestoreSection
from napari_scsc.plugin.sections.run_section import RunSection
from napari_scsc.plugin.sections.source_section import SourceSection
from napari_scsc.plugin.task_runner import Parts, TaskRunner
from napari_scsc.plugin.viewer_link import ViewerLink
from napari_scsc.restore import machine_speed

if TYPE_CHECKING:
    import napari

_MIN_WIDTH = 300
_WIDEST_CHOICE = "balanced · ~12 min"  # of the fields beside their names
_WIDTH_OF_CHOICES = 1.9  # of the dock, beside that of the widest choice
# napari's themes leave tabs no room above and below their names.
_ROOMY_TABS = "QTabBar::tab { padding: 4px 10px; }"


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
        self.viewer = napari_viewer
        self._make_parts()
        self._lay_out()
        self._wiring = DockWiring(self)
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
        self.explainer.explain(position)

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
            or self.explainer.running
            or self.display.busy
            or self.preview_switch.live.running
            or self.batch_tab.busy
        ):
            QApplication.processEvents()
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def save_bank(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the filters to a file, which is not there yet unless ``overwrite`` says so."""
        self.filters.save(path, overwrite=overwrite)

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
        self.explainer.forget()
        self.explainer.outlines.clear()
        self.bank = None
        self.display.forget()
        self.restore_section.forget()
        self.compare_section.show_result(None)
        self.run_section.say("")

    def reset_choices(self, _event: Any = None) -> None:
        """Read the layers again; napari calls it too."""
        if self.link.attached:
            self.source_section.list_layers()

    # --- parts ----------------------------------------------------------------------------------

    def _make_parts(self) -> None:
        self.source_section = SourceSection(self.viewer)
        self.learn_section = LearnSection()
        self.restore_section = RestoreSection(self.viewer)
        self.compare_section = CompareSection(self.viewer)
        self.run_section = RunSection(restore=self.restore, stop=self.stop, pause=self.pause)
        self.plots = self.learn_section.plots
        self.filters = BankHolder(self.plots, self)
        parts = Parts(
            self.viewer,
            self.source_section,
            self.learn_section,
            self.restore_section,
            self.compare_section,
            self.run_section,
            self.filters,
        )
        self.display = DockDisplay(self)
        self.runner = TaskRunner(parts, self.display.show_state, self)
        self.controller = self.runner.controller
        self.batch_tab = BatchTab(self._read_batch_settings)
        self.preview_switch = PreviewSwitch(self)
        self.explainer = PixelExplainer(parts, self.runner)
        self.link = ViewerLink(
            self.viewer,
            KEY,
            added=self.filters.take_from,
            held=self.compare_section.show_original,
            clicked=lambda position: self.attempt(lambda: self.explain(position)),
        )

    def _lay_out(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setStyleSheet(_ROOMY_TABS)
        self.tabs.addTab(
            _page(
                self.source_section,
                self.restore_section,
                self.run_section,
                self.compare_section,
                Fold("advanced", *self.restore_section.advanced, *self.compare_section.advanced),
            ),
            "Restore",
        )
        self.tabs.addTab(_page(self.learn_section, grows=True), "Filters")
        self.tabs.addTab(_page(self.batch_tab, grows=True), "Batch")
        self.menu = DockMenu(self)
        self.tabs.setCornerWidget(self.menu)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.tabs)
        FontFollower(self, lambda font: self.setMinimumWidth(_width_for(font)))
        self.focus_frame = FocusFrame(self)
        FileDrop(self, lambda paths: self.attempt(lambda: open_paths(self.viewer, paths)))
        self._guard = WheelGuard(self)
        self._guard.guard(self)

    # --- the viewer -----------------------------------------------------------------------------

    def _attach(self) -> None:
        """Listen to the viewer."""
        if self.link.attached:
            return
        self.source_section.follow()
        self.link.attach()
        for layer in self.viewer.layers:
            if self.bank is None:
                self.filters.take_from(layer)
        self._wiring.attach()

    def _detach(self) -> None:
        """The end: stop the jobs, and listen to nothing any more, whatever fails on the way."""
        if not self.link.attached:
            return
        for end in (
            self.link.detach,
            lambda: self.explainer.outlines.set_seen(False),
            lambda: setattr(self, "preview", False),
            self.compare_section.close_views,
            self.preview_switch.live.close,
            self.batch_tab.stop,
            self.stop,
            lambda: _stop_timers(self),
            self._memory.keep,
            self.source_section.leave,
            self.focus_frame.leave,
            self._wiring.detach,  # last: it hears of the layers that were removed before
        ):
            self.attempt(end)

    @handler
    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and hasattr(self, "_wiring"):
            (self._detach if self.parent() is None else self._attach)()
        return bool(super().event(event))

    @handler
    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self._detach()
        super().closeEvent(event)

    # --- what is pressed ------------------------------------------------------------------------

    def learn_or_stop(self) -> None:
        """What the button in the tab Filters does."""
        (self.stop if self.controller.state is State.LEARNING else self.learn)()

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


def _width_for(font: QFont) -> int:
    """How wide a dock has to be in that font."""
    choice = int(QFontMetrics(font).horizontalAdvance(_WIDEST_CHOICE))
    return max(_MIN_WIDTH, round(_WIDTH_OF_CHOICES * choice))


def _page(*parts: QWidget, grows: bool = False) -> QScrollArea:
    """A tab: parts from top to bottom, which scroll where there is too little room."""
    inside = QWidget()
    column = QVBoxLayout(inside)
    column.setContentsMargins(6, 4, 6, 4)
    column.setSpacing(4)
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


def _stop_timers(dock: QWidget) -> None:
    for timer in dock.findChildren(QTimer):
        timer.stop()


def _get_ready() -> None:
    """Compile, and find out how fast this machine is, while the user looks around."""
    threading.Thread(target=_warm_up, name="compile for napari-scsc").start()


def _warm_up() -> None:
    compiling.warm_up()
    machine_speed.measure()
