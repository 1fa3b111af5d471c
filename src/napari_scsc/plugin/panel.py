"""The dock: Source, Learn, Restore, Compare, from top to bottom in the order of work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, Container, FloatSlider, FloatSpinBox, SpinBox
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils.notifications import show_error, show_info, show_warning
from qtpy.QtCore import QEvent, Qt, QTimer
from qtpy.QtWidgets import (
    QApplication,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible

from napari_scsc import arrays, measures
from napari_scsc.axes import PRESETS, Axes, Role
from napari_scsc.bank import FilterBank
from napari_scsc.io import readers
from napari_scsc.plugin import layers, recipes
from napari_scsc.plugin.jobs import Job, Outcome, Report
from napari_scsc.plugin.plots import Plots
from napari_scsc.restore import groups

if TYPE_CHECKING:
    import napari

_WORDS: dict[Role, str] = {"shift": "slide", "joint": "span", "sample": "separate"}
_ROLES = {word: role for role, word in _WORDS.items()}
_NO_MASK = "no layer"
_LEARN_TILES = {"quick": 8, "balanced": 16, "thorough": 64}


class Dock(QWidget):
    """The one widget of the plugin, and a handle on it for scripts."""

    def __init__(self, napari_viewer: napari.viewer.Viewer) -> None:
        super().__init__()
        self.setObjectName("napari-scsc")
        self._viewer = napari_viewer
        self._bank: FilterBank | None = None
        self._learning: Job | None = None
        self._restoring: Job | None = None
        self._result: Image | None = None
        self._source: layers.Snapshot | None = None
        self._script = ""
        self._started = 0.0
        self._chosen: dict[str, Axes] = {}  # axes that the user corrected, by the id of the layer
        self._build()
        self._follow_layers()
        self._show_source()
        # While the user looks around: the first press of a button should not have to wait for it.
        threading.Thread(target=groups.warm_up, name="compile for napari-scsc").start()

    # --- for scripts ----------------------------------------------------------------------------

    @property
    def bank(self) -> FilterBank | None:
        """The filters that restore; None until some were learned or loaded."""
        return self._bank

    @bank.setter
    def bank(self, bank: FilterBank | None) -> None:
        self._bank = bank
        if bank is None:
            self.plots.clear()
        else:
            labels = readers.filter_labels(bank)[1:]
            self.plots.show_bank(bank.filters, bank.n_joint, labels, weights=bank.weights)
        self._show_state()

    @property
    def result(self) -> Image | None:
        """The layer of the last restoration."""
        return self._result

    @property
    def script(self) -> str:
        """The lines that do again what was done last."""
        return self._script

    @property
    def message(self) -> str:
        """What the dock says at its foot."""
        return str(self._status.text())

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._learning is not None or self._restoring is not None

    def learn(self) -> None:
        """Learn filters from the ticked layers, in the background."""
        sources = self._ticked()
        self._refuse_if(self._learning is not None, "filters are being learned: stop that first")
        snapshots = [layers.snapshot(layer, self._axes_of(layer)) for layer in sources]
        request = recipes.Learn(
            axes=snapshots[0].axes,
            n_base=self.n_base.value or None,
            filter_size=self.filter_size.value or None,
            tiles=_LEARN_TILES[self.thoroughness.value],
            seed=self.seed.value,
            go_on=self._bank if self.go_on.value else None,
        )
        images = [s.data for s in snapshots]
        self._name_filter_axes(snapshots[0].axes)
        self._script = request.script([s.name for s in snapshots])
        self._learning = self._run(
            lambda tick: request.updates(images, tick), self._learned, "Learning"
        )

    def denoise(self) -> None:
        """Denoise the first ticked layer, in the background."""
        self.task.value = "Denoise"
        self.restore()

    def inpaint(self) -> None:
        """Fill what is missing in the first ticked layer, in the background."""
        self.task.value = "Inpaint"
        self.restore()

    def restore(self) -> None:
        """Denoise or inpaint, as the dock is set."""
        layer = self._ticked()[0]
        self._refuse_if(self._restoring is not None, "a restoration is running: stop it first")
        source = layers.snapshot(layer, self._axes_of(layer))
        missing = self._missing(source) if self.task.value == "Inpaint" else None
        request = self._request(source)
        self._source, self._result = source, None
        self._script = request.script(source.name, self._mask_words())
        self._name_filter_axes(source.axes)
        self._restoring = self._run(
            lambda tick: request.updates(source.data, missing, tick),
            self._restored,
            "Denoising" if request.task == "denoised" else "Filling",
        )

    def preview(self) -> None:
        """Denoise or inpaint what is in view, quickly, into a layer of its own."""
        layer = self._ticked()[0]
        if self._restoring is not None and not self._restoring.property("preview"):
            return
        self.stop()
        self.wait(5)
        whole = layers.snapshot(layer, self._axes_of(layer))
        source, start = recipes.in_view(whole, layer, self._viewer.dims)
        missing = self._missing(source, start) if self.task.value == "Inpaint" else None
        request = self._request(source, preview=True)
        self._source, self._result = source, None
        self._restoring = self._run(
            lambda tick: request.updates(source.data, missing, tick), self._restored, "Preview"
        )
        self._restoring.setProperty("preview", True)

    def stop(self) -> None:
        """Stop what runs; what was learned or restored so far stays."""
        for job in (self._learning, self._restoring):
            if job is not None:
                job.stop()

    def pause(self) -> None:
        """Hold what runs, or let it go on."""
        for job in (self._learning, self._restoring):
            if job is not None:
                (job.resume if job.paused else job.pause)()
        self._show_state()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs, the window staying alive; False if that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.busy:
            QApplication.processEvents()
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def save_bank(self, path: str | Path) -> None:
        """Write the filters to a file."""
        self._refuse_if(self._bank is None, "there are no filters yet: learn some first")
        assert self._bank is not None
        self._bank.save(path)

    def load_bank(self, path: str | Path) -> None:
        """Read filters from a file, and restore with them from now on."""
        self.bank = FilterBank.load(path)
        self._say(f"{self.bank.n_base} filters loaded from {Path(path).name}")

    # --- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(6, 6, 6, 6)
        area.setWidget(inside)
        outer.addWidget(area)
        for title, content in (
            ("Source", self._build_source()),
            ("Learn", self._build_learn()),
            ("Restore", self._build_restore()),
            ("Compare", self._build_compare()),
        ):
            section = QCollapsible(title)
            section.addWidget(content)  # which follows its size, as setContent does not
            section.expand(animate=False)
            column.addWidget(section)
        column.addStretch()
        outer.addWidget(self._build_foot())
        self.setMinimumWidth(300)

    def _build_source(self) -> QWidget:
        # The stubs of PyQt6 say that an item may be None; it is asked for by number here.
        self._list: Any = QListWidget()
        self._list.setToolTip("Layers to learn from; the first ticked one is restored")
        self._list.setAccessibleName("Layers to learn from")
        self._list.setMaximumHeight(90)
        self._list.itemChanged.connect(self._show_source)
        self.kind = ComboBox(
            label="kind",
            choices=["guess", *PRESETS, "custom"],
            tooltip="What the axes mean. 'guess' reads labels, name and shape of the layer",
        )
        self.kind.changed.connect(self._kind_changed)
        self._axes_row = Container(layout="vertical", labels=True)
        self._cost = _label("")
        return _stacked(self._list, self.kind, self._axes_row, self._cost)

    def _build_learn(self) -> QWidget:
        self.thoroughness = ComboBox(
            label="effort", choices=list(_LEARN_TILES), tooltip="How many tiles are learned from"
        )
        self.thoroughness.value = "balanced"
        self.n_base = SpinBox(
            label="base filters", min=0, max=1000, tooltip="R, how many; 0: what suits the data"
        )
        self.filter_size = SpinBox(
            label="filter size",
            min=0,
            max=64,
            tooltip="Pixels along a side; 0: what suits the data",
        )
        self.seed = SpinBox(label="seed", min=0, max=2**31 - 1, tooltip="Same seed, same result")
        self.go_on = CheckBox(
            text="go on from the filters that are there",
            tooltip="Add the ticked layers to what was learned before",
        )
        advanced = QCollapsible("advanced")
        advanced.addWidget(_stacked(self.n_base, self.filter_size, self.seed, self.go_on))
        advanced.collapse(animate=False)
        self._learn_button = _button(
            "Learn", "Learn base filters B from the ticked layers", self.learn
        )
        self.plots = Plots()
        self.plots.setMinimumHeight(330)
        return _stacked(self.thoroughness, advanced, _row(self._learn_button), self.plots)

    def _build_restore(self) -> QWidget:
        self.task = ComboBox(label="task", choices=["Denoise", "Inpaint"])
        self.task.changed.connect(self._show_state)
        self.quality = ComboBox(
            label="quality", choices=["fast", "balanced", "best"], value="balanced"
        )
        self.sigma = FloatSpinBox(
            label="noise",
            min=0,
            max=1e12,
            step=0.001,
            tooltip="Standard deviation of the noise, sigma, in the units of the image; "
            "0: estimated (denoise), or none (inpaint)",
        )
        self._noise = _label("")
        self.strength = FloatSlider(
            label="strength",
            min=0.2,
            max=3,
            value=1,
            tooltip="1 takes away the noise that is there",
        )
        self.missing_layer = ComboBox(
            label="missing",
            choices=self._mask_choices,
            tooltip="Labels (not zero) or Shapes that cover what is missing; NaN always is",
        )
        self.saturated = CheckBox(text="saturated values are missing", value=False)
        self._redo = QTimer(self)
        self._redo.setSingleShot(True)
        self._redo.setInterval(250)
        self._redo.timeout.connect(self._preview_again)
        self.strength.changed.connect(lambda _value: self._redo.start())
        self._preview_button = _button("Preview", "Restore what is in view", self.preview)
        self.residual = CheckBox(text="residual layer", tooltip="What was taken away, as a layer")
        return _stacked(
            self.task,
            self.quality,
            self.sigma,
            self._noise,
            self.strength,
            self.missing_layer,
            self.saturated,
            self.residual,
            _row(self._preview_button),
        )

    def _build_compare(self) -> QWidget:
        self.reference = ComboBox(
            label="reference",
            choices=self._reference_choices,
            tooltip="A clean version of the same data: PSNR and SSIM of the result against it",
        )
        self.reference.changed.connect(self._compare)
        self._score = _label("")
        self._hold = _button("Hold to see the original", "Hides the result while pressed", None)
        self._hold.pressed.connect(lambda: self._show_original(True))
        self._hold.released.connect(lambda: self._show_original(False))
        return _stacked(self._hold, self.reference, self._score)

    def _build_foot(self) -> QWidget:
        self._bar = QProgressBar()
        self._bar.setRange(0, 100)
        self._bar.setAccessibleName("Progress")
        self._bar.hide()
        self._status = _label("")
        # Always in sight, whatever the size of the screen.
        self._restore_button = _button("Learn and denoise", "", self.restore)
        self._pause_button = _button("Pause", "Hold what runs, or let it go on", self.pause)
        self._stop_button = _button("Stop", "Stop; what was done so far stays", self.stop)
        self._save = _button("Save filters", "Write the base filters to a file", self._save_dialog)
        load = _button("Load filters", "Read base filters from a file", self._load_dialog)
        self._to_layer = _button("Filters to layer", "Show B as a layer", self._filters_to_layer)
        self._copy = _button("Copy script", "The lines that do this again", self._copy_script)
        return _stacked(
            self._bar,
            self._status,
            _row(self._restore_button, self._pause_button, self._stop_button),
            _row(self._save, load),
            _row(self._to_layer, self._copy),
        )

    # --- layers ---------------------------------------------------------------------------------

    def _follow_layers(self) -> None:
        events = self._viewer.layers.events
        for signal in (events.inserted, events.removed, events.reordered):
            signal.connect(self._list_layers)
        events.inserted.connect(self._take_bank)
        self._list_layers()

    def _take_bank(self, event: Any) -> None:
        """A filter bank that was dropped on the viewer becomes that of the dock."""
        bank = layers.bank_of(event.value)
        if bank is not None and (self._bank is None or bank.id != self._bank.id):
            self.bank = bank
            self._say(f"{bank.n_base} filters from {event.value.name}")

    def reset_choices(self, _event: Any = None) -> None:
        """Read the layers again; napari calls it too."""
        self._list_layers()

    def _list_layers(self, _event: Any = None) -> None:
        ticked = {
            self._list.item(i).data(Qt.ItemDataRole.UserRole)
            for i in range(self._list.count())
            if self._list.item(i).checkState() == Qt.CheckState.Checked
        }
        images = [
            layer
            for layer in self._viewer.layers
            if isinstance(layer, Image) and not layers.is_ours(layer)
        ]
        self._list.blockSignals(True)
        self._list.clear()
        for layer in images:
            item = QListWidgetItem(layer.name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            own = str(layer.unique_id)
            item.setData(Qt.ItemDataRole.UserRole, own)
            on = own in ticked or (not ticked and layer is images[-1])
            item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
            self._list.addItem(item)
            layer.events.name.disconnect(self._rename)
            layer.events.name.connect(self._rename)
        self._list.blockSignals(False)
        self.missing_layer.reset_choices()
        self.reference.reset_choices()
        self._show_source()

    def _rename(self, _event: Any = None) -> None:
        names = {str(layer.unique_id): layer.name for layer in self._viewer.layers}
        for i in range(self._list.count()):
            item = self._list.item(i)
            item.setText(names.get(item.data(Qt.ItemDataRole.UserRole), item.text()))

    def _ticked(self) -> list[Image]:
        by_id = {str(layer.unique_id): layer for layer in self._viewer.layers}
        ids = [
            self._list.item(i).data(Qt.ItemDataRole.UserRole)
            for i in range(self._list.count())
            if self._list.item(i).checkState() == Qt.CheckState.Checked
        ]
        found = [by_id[i] for i in ids if i in by_id]
        if not found:
            raise ValueError("no image layer is ticked: open an image and tick it under Source")
        return found

    def _axes_of(self, layer: Image) -> Axes:
        chosen = self._chosen.get(str(layer.unique_id))
        if chosen is not None:
            return chosen
        if self.kind.value in PRESETS:
            return PRESETS[self.kind.value]
        return layers.guess(layer)

    def _mask_choices(self, _widget: Any = None) -> list[str]:
        masks = [x.name for x in self._viewer.layers if isinstance(x, Labels | Shapes)]
        return [_NO_MASK, *masks]

    def _reference_choices(self, _widget: Any = None) -> list[str]:
        return [_NO_MASK, *(x.name for x in self._viewer.layers if isinstance(x, Image))]

    def _missing(self, source: layers.Snapshot, start: Any = None) -> Any:
        """Everything that says what is missing, together; None if only NaN does."""
        masks = []
        whole = source if start is None else start.whole
        if self.missing_layer.value != _NO_MASK and self.missing_layer.value in self._viewer.layers:
            masks.append(layers.missing_from(self._viewer.layers[self.missing_layer.value], whole))
        if self.saturated.value:
            masks.append(layers.saturated(whole.data))
        if not masks:
            return None
        combined = np.logical_or.reduce(masks)
        return combined if start is None else combined[start.region]

    def _mask_words(self) -> list[str]:
        words = []
        if self.task.value == "Inpaint":
            if self.missing_layer.value != _NO_MASK:
                words.append(f"viewer.layers[{self.missing_layer.value!r}].data != 0")
            if self.saturated.value:
                words.append("image >= image.max()")
        return words

    # --- running --------------------------------------------------------------------------------

    def _request(self, source: layers.Snapshot, preview: bool = False) -> recipes.Restore:
        fits = self._bank is not None and recipes.fits(self._bank, source)
        return recipes.Restore(
            task="denoised" if self.task.value == "Denoise" else "filled",
            axes=source.axes,
            bank=self._bank if fits else None,
            sigma=self.sigma.value or None,
            strength=self.strength.value,
            quality="fast" if preview else self.quality.value,
            seed=self.seed.value,
            preview=preview,
        )

    def _name_filter_axes(self, axes: Axes) -> None:
        """Filters have the joint axes first, then the shift axes."""
        pairs = list(zip(axes.labels, axes.roles, strict=True))
        joint, shift = ([n for n, r in pairs if r == role] for role in ("joint", "shift"))
        self.plots.set_axes(len(joint), [*joint, *shift])

    def _run(self, start: Callable[..., Any], finish: Callable[[Outcome], None], what: str) -> Job:
        job = Job(start, self)
        job.setProperty("what", what)
        job.reported.connect(self._reported)
        job.ended.connect(finish)
        self._started = time.monotonic()
        self._bar.setValue(0)
        self._bar.show()
        self._say(f"{what} ...")
        job.start()
        QTimer.singleShot(0, self._show_state)
        return job

    def _reported(self, report: Report) -> None:
        update = report.update
        self._bar.setValue(round(100 * update.done))
        spent = time.monotonic() - self._started
        left = f", about {spent / update.done - spent:.0f} s left" if update.done > 0.1 else ""
        self._say(update.message + left)
        if update.noise is not None and update.noise.sigma > 0:
            sure = "" if update.noise.sure else " (not sure)"
            self._noise.setText(f"noise level {update.noise.sigma:.4g}{sure}")
        if update.learned is not None:
            self.plots.show_update(update.learned)
        if report.blocks and self._source is not None and self._restoring is not None:
            layer = self._result_layer(self._source)
            for region, values in report.blocks:
                layer.data[region] = values
            layer.refresh()

    def _result_layer(self, source: layers.Snapshot) -> Image:
        """The layer that the blocks go to: ours for this source and task, or a new one."""
        assert self._restoring is not None
        preview = bool(self._restoring.property("preview"))
        task = "preview" if preview else ("denoised" if self.task.value == "Denoise" else "filled")
        if self._result is not None:
            return self._result
        found = layers.find_result(self._viewer.layers, source.layer_id, task)
        shape, dtype = source.shape, arrays.view(source.data).dtype
        arguments = layers.result_arguments(source, task, {"script": self._script})
        if found is not None and found.data.shape == shape and found.data.dtype == dtype:
            found.data = np.zeros(shape, dtype)
            found.metadata = arguments["metadata"]
        else:
            if found is not None:
                self._viewer.layers.remove(found)
            found = self._viewer.add_image(np.zeros(shape, dtype), **arguments)
        self._result = found
        return found

    def _learned(self, outcome: Outcome) -> None:
        self._learning = None
        last = outcome.last
        if last is not None and last.bank is not None:
            self._bank = last.bank
        count = "no" if self._bank is None else self._bank.n_base
        self._finish(outcome, f"{count} base filters")

    def _restored(self, outcome: Outcome) -> None:
        job, self._restoring = self._restoring, None
        source, last = self._source, outcome.last
        preview = job is not None and bool(job.property("preview"))
        if last is not None and last.bank is not None and not preview:
            self._bank = last.bank
        if self._result is not None and self._result in self._viewer.layers and source is not None:
            if outcome.how == "stopped" and not preview:
                self._result.name = f"{source.name} · partial"
            elif outcome.how == "done" and last is not None and last.result is not None:
                self._result.data = np.asarray(last.result)
                task = layers.result_arguments(source, self._task_of(self._result), {})["name"]
                self._result.name = task
                if self.residual.value and not preview:
                    self._show_residual(source)
        self._finish(outcome, "done")
        if last is not None:
            for remark in last.remarks:
                show_warning(remark)
        self._compare()

    @staticmethod
    def _task_of(layer: Image) -> str:
        return str(layer.metadata[layers.OURS]["task"])

    def _finish(self, outcome: Outcome, done: str) -> None:
        self._bar.hide()
        if outcome.how == "failed":
            self._say(f"That did not work: {outcome.error}")
            show_error(f"napari-scsc: {outcome.error}")
        elif outcome.how == "stopped":
            self._say("Stopped; what was done so far is kept")
        else:
            self._say(f"{done}, {time.monotonic() - self._started:.1f} s")
        self._show_state()

    def _preview_again(self) -> None:
        shown = self._result is not None and self._result in self._viewer.layers
        if shown and self._result is not None and self._task_of(self._result) == "preview":
            self.preview()

    # --- showing --------------------------------------------------------------------------------

    def _kind_changed(self, _value: Any = None) -> None:
        self._chosen.clear()
        self._show_source()

    def _show_source(self, _item: Any = None) -> None:
        """Axes and cost of the first ticked layer."""
        self._axes_row.clear()
        try:
            layer = self._ticked()[0]
        except ValueError as error:
            self._cost.setText(str(error))
            self._show_state()
            return
        try:
            axes = self._axes_of(layer)
            problem = ""
        except ValueError as error:
            axes, problem = layers.fallback(np.shape(layer.data), layer.rgb), str(error)
        for position, (label, role) in enumerate(zip(axes.labels, axes.roles, strict=True)):
            box = ComboBox(label=label, choices=list(_ROLES), value=_WORDS[role])
            box.tooltip = "slide: filters move along it; span: they cover it; separate: one by one"
            box.changed.connect(
                lambda word, p=position, a=axes, i=str(layer.unique_id): self._correct(
                    i, a, p, word
                )
            )
            self._axes_row.append(box)
        self._cost.setText(problem or recipes.cost(layer.data, axes))
        self._show_state()

    def _correct(self, layer_id: str, axes: Axes, position: int, word: str) -> None:
        roles = list(axes.roles)
        roles[position] = _ROLES[word]
        try:
            self._chosen[layer_id] = Axes("custom", axes.labels, tuple(roles))
        except ValueError as error:
            show_warning(str(error))
        QTimer.singleShot(0, self._show_source)  # not while the box is still speaking

    def _show_state(self, _value: Any = None) -> None:
        """Which buttons can be pressed, and what they will do."""
        try:
            self._ticked()
            ready, why = True, ""
        except ValueError as error:
            ready, why = False, str(error)
        verb = self.task.value.lower()
        label = verb.capitalize() if self._bank is not None else f"Learn and {verb}"
        self._restore_button.setText(label)
        for button, free in (
            (self._learn_button, self._learning is None),
            (self._restore_button, self._restoring is None),
            (self._preview_button, self._restoring is None),
        ):
            button.setEnabled(ready and free)
            if not ready:
                button.setToolTip(why)
        self._restore_button.setToolTip(
            why or f"{label} the first ticked layer into a new layer; your layer stays as it is"
        )
        paused = any(j is not None and j.paused for j in (self._learning, self._restoring))
        self._pause_button.setText("Resume" if paused else "Pause")
        for button in (self._pause_button, self._stop_button):
            button.setEnabled(self.busy)
        inpaint = self.task.value == "Inpaint"
        self.missing_layer.enabled = self.saturated.enabled = inpaint
        for button in (self._save, self._to_layer):
            button.setEnabled(self._bank is not None)
        self._copy.setEnabled(bool(self._script))
        self._hold.setEnabled(self._result is not None)

    def _show_original(self, yes: bool) -> None:
        if self._result is not None and self._result in self._viewer.layers:
            self._result.visible = not yes

    def _show_residual(self, source: layers.Snapshot) -> None:
        assert self._result is not None
        difference = np.asarray(source.data, np.float32) - np.asarray(self._result.data, np.float32)
        arguments = layers.result_arguments(source, "residual", {"script": self._script})
        spread = float(np.nanstd(difference)) or 1.0
        if not source.looks["rgb"]:
            arguments["contrast_limits"] = (-3 * spread, 3 * spread)
            arguments["colormap"] = "gray"
        old = layers.find_result(self._viewer.layers, source.layer_id, "residual")
        if old is not None:
            self._viewer.layers.remove(old)
        self._viewer.add_image(difference, **{**arguments, "visible": False})

    def _compare(self, _value: Any = None) -> None:
        self._score.setText("")
        name = self.reference.value
        if self._result is None or name in (None, _NO_MASK) or name not in self._viewer.layers:
            return
        try:
            a, b = (np.asarray(x.data) for x in (self._result, self._viewer.layers[name]))
            self._score.setText(
                f"PSNR {measures.psnr(a, b):.2f} dB, SSIM {measures.ssim(a, b):.3f}"
            )
        except ValueError as error:
            self._score.setText(str(error))

    def _filters_to_layer(self) -> None:
        if self._bank is not None:
            self._viewer.add_layer(Layer.create(*readers.bank_layer(self._bank, "base filters")))

    def _copy_script(self) -> None:
        clipboard: Any = QApplication.clipboard()
        clipboard.setText(self._script)
        show_info("The script is in the clipboard")

    def _save_dialog(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save filters", "filters.scsc", "*.scsc")
        if path:
            self._try(lambda: self.save_bank(path))

    def _load_dialog(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load filters", "", "*.scsc")
        if path:
            self._try(lambda: self.load_bank(path))

    def _try(self, action: Callable[[], None]) -> None:
        """Do what a button asks for; say what is wrong instead of raising into Qt."""
        try:
            action()
        except Exception as error:
            self._say(str(error))
            show_error(f"napari-scsc: {error}")

    def _say(self, text: str) -> None:
        self._status.setText(text)

    @staticmethod
    def _refuse_if(condition: bool, why: str) -> None:
        if condition:
            raise ValueError(why)

    # --- the end --------------------------------------------------------------------------------

    def event(self, event: Any) -> bool:
        """Closing a dock only takes its widget out of the window: that is the end of its jobs."""
        if event.type() == QEvent.Type.ParentChange and self.parent() is None:
            self.stop()
        return bool(super().event(event))

    def closeEvent(self, event: Any) -> None:
        """The end of its jobs."""
        self.stop()
        super().closeEvent(event)


def _label(text: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    return label


def _button(text: str, tip: str, action: Callable[[], None] | None) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    if action is not None:
        button.clicked.connect(lambda: _guarded(button, action))
    return button


def _guarded(button: QPushButton, action: Callable[[], None]) -> None:
    """Run the action of a button; say what is wrong instead of raising into Qt."""
    dock = button.parent()
    while dock is not None and not isinstance(dock, Dock):
        dock = dock.parent()
    if dock is not None:
        dock._try(action)


def _row(*buttons: QPushButton) -> QWidget:
    box = QWidget()
    line = QHBoxLayout(box)
    line.setContentsMargins(0, 0, 0, 0)
    for button in buttons:
        line.addWidget(button)
    return box


def _stacked(*parts: Any) -> QWidget:
    """Widgets from top to bottom; magicgui's in one container each, with their labels."""
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(4)
    fields: list[Any] = []
    forms: list[Any] = []

    def flush() -> None:
        if fields:
            form = Container(widgets=list(fields), labels=True)
            form.margins = (0, 0, 0, 0)
            column.addWidget(form.native)
            forms.append(form)
            fields.clear()

    for part in parts:
        if isinstance(part, QWidget):
            flush()
            column.addWidget(part)
        else:
            fields.append(part)
    flush()
    box.forms = forms  # a container must live as long as its widget
    return box
