"""Restore: what to do, how strongly, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, FloatSlider
from napari.layers import Image, Labels, Shapes
from qtpy.QtCore import QTimer, Signal

from napari_scsc._types import Array
from napari_scsc.choices import NOISE_WISHES, OUTLIER_WISHES
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import layers
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.plugin.sections.form_widgets import (
    LayerChoice,
    NumberField,
    RadioField,
    Section,
    make_label,
    set_slider_steps,
    show_field,
)
from napari_scsc.plugin.wording import describe_noise, summarize_noise
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.restore.quality import LEVELS, QUALITIES

NO_LAYER = "no layer"
_TASKS: dict[str, RestoreTask] = {"Denoise": "denoise", "Fill holes": "inpaint"}
_METHOD_LABELS = {"scsc": "groups of similar patches", "scsc-paper": "the paper's code"}
_METHODS = {_METHOD_LABELS.get(name, name): name for name in METHODS}
_DEFAULT_METHOD = "scsc"


class RestoreSection(Section):
    """The task, what is missing, the noise, the strength and the quality.

    ``task_changed`` says what its name says; ``settings_changed`` comes with everything that
    changes the result, a moment after the last change; ``cost_changed`` with every other task,
    quality or method; ``preview_switched`` when the preview was switched on or off.
    """

    task_changed = Signal()
    settings_changed = Signal()
    cost_changed = Signal()
    preview_switched = Signal(bool)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._sigmas: dict[tuple[str, ...], float] = {}  # that were typed, by the ids of the layers
        self._target: tuple[str, ...] = ()
        self.task = RadioField(
            "task",
            {
                "Denoise": "Take the noise out",
                "Fill holes": "Fill what is missing: NaN, what a layer covers, saturated values",
            },
            "What to do with the image",
            in_a_row=True,
        )
        self.quality = ComboBox(
            label="quality",
            choices=list(QUALITIES),
            value="balanced",
            tooltip="What to spend.\n"
            + "\n".join(f"{name}: {LEVELS[name].summary}" for name in QUALITIES),
        )
        self.sigma = NumberField(
            "noise",
            1e12,
            "auto",
            "sigma, the standard deviation of the noise in the units of the image. auto: found in "
            "each image when denoising; none when filling, where known values are kept as they are",
        )
        self._found: Noise | None = None
        self._noise = make_label()
        self.noise_model = ComboBox(
            label="noise model",
            choices=list(NOISE_WISHES),
            tooltip="auto: what neighbouring pixels, rows, channels and frames share of the noise "
            "is measured.\nwhite: as if they shared nothing.\ncorrelated: neighbours share some, "
            "though it may not look so",
        )
        self.empty_layer = ComboBox(
            label="empty area",
            choices=self._masks,
            tooltip="A layer of Labels (not zero) or Shapes that covers background only: the noise "
            "is measured there",
        )
        self._empty = LayerChoice(self.empty_layer, viewer)
        self.outliers = ComboBox(
            label="outliers",
            choices=list(OUTLIER_WISHES),
            tooltip="Single pixels that stand out of all around them (hot, dead, cosmic rays).\n"
            "auto: they are replaced where there are certainly such",
        )
        self.strength = FloatSlider(
            label="strength",
            min=0.2,
            max=3,
            step=0.05,
            value=1,
            tooltip="1 takes away the noise that is there; less is gentler, more is smoother",
        )
        set_slider_steps(self.strength, 0.05, 0.25)
        self.missing_layer = ComboBox(
            label="mask",
            choices=self._masks,
            tooltip="A layer of Labels (not zero) or Shapes that covers what is missing. "
            "NaN is always missing",
        )
        self._mask = LayerChoice(self.missing_layer, viewer, takes_the_only_one=True)
        self.saturated = CheckBox(
            text="saturated values, too",
            tooltip="Take the largest value for one that the detector could not measure",
        )
        self.residual = CheckBox(
            text="residual layer", tooltip="Also show what was taken away, as a layer of its own"
        )
        self.method = ComboBox(
            label="method",
            choices=list(_METHODS),
            tooltip="Groups of similar patches restore best; the paper's own method is there for "
            "comparison",
        )
        self.preview = CheckBox(
            text="live preview",
            tooltip="Restore the part of the image that is in view, framed in the viewer, and "
            "again whenever the view or a setting changes",
        )
        self.preview.changed.connect(lambda value: self.preview_switched.emit(bool(value)))
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(250)
        self._soon.timeout.connect(self.settings_changed)
        self.sigma.changed.connect(self._sigma_changed)
        self.task.changed.connect(lambda _value: self.attempt(self._task_changed))
        for choice in (self.quality, self.method):
            choice.changed.connect(lambda _value: self.cost_changed.emit())
        for setting in (
            self.task,
            self.quality,
            self.sigma,
            self.noise_model,
            self.empty_layer,
            self.outliers,
            self.strength,
            self.missing_layer,
            self.saturated,
            self.method,
        ):
            setting.changed.connect(lambda _value: self._soon.start())
        self.advanced = (
            self.method,
            self.noise_model,
            self.empty_layer,
            self.outliers,
            self.residual,
        )
        """Fields that most people leave alone; the dock folds them away."""
        self.fill(
            self.task.native,
            self.missing_layer,
            self.saturated,
            self.sigma,
            self._noise,
            self.strength,
            self.quality,
            self.preview,
        )
        self._noise.hide()
        self._task_changed()

    # --- for the dock ---------------------------------------------------------------------------

    @property
    def inpaints(self) -> bool:
        """Whether something is to be filled."""
        return self.task_name == "inpaint"

    def reset_choices(self) -> None:
        """Read the layers that may be masks again."""
        self._mask.reset()
        self._empty.reset()

    def forget(self) -> None:
        """Forget the noise levels that were typed, and that a mask was not wanted."""
        self._sigmas.clear()
        self._mask.forget()

    @property
    def task_name(self) -> RestoreTask:
        """The task, as the function that does it is called."""
        return _TASKS[self.task.value]

    @property
    def method_name(self) -> str:
        """The method, as scripts call it."""
        return _METHODS[self.method.value]

    def options(
        self, bank: FilterBank | None, seed: int, noise_filters: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        """The arguments that the fields ask for; what is left to the function is left out."""
        options: dict[str, Any] = {
            "strength": self.strength.value,
            "quality": self.quality.value,
            "seed": seed,
        }
        if self.sigma.value:
            options["sigma"] = self.sigma.value
        elif self.noise_model.value != "auto":
            options["noise"] = self.noise_model.value
        if noise_filters and bank is not None and bank.is_of_patches and not self.inpaints:
            options["noise_filters"] = noise_filters
        if self.outliers.value != "auto":
            options["outliers"] = self.outliers.value
        if self.inpaints and self.saturated.value:
            options["saturation"] = True
        if self.method_name != _DEFAULT_METHOD:
            options["method"] = self.method_name
        return options

    def request(
        self,
        layer: Image,
        source: Snapshot,
        bank: FilterBank | None,
        seed: int,
        threads: int | None,
        noise_filters: tuple[int, ...] = (),
    ) -> RestoreRequest:
        """What the fields ask for with a layer, and a bank that suits it.

        ``noise_filters`` are those of the bank that show noise.
        """
        options = self.options(bank, seed, noise_filters)
        return RestoreRequest(
            self.task_name,
            source,
            options,
            bank,
            threads,
            self._missing_in(layer),
            tuple(self._mask_expressions(source.name)),
            self.empty_in(layer),
            self.empty_layer.value if self._layer_of(self.empty_layer) is not None else "",
        )

    def empty_in(self, image: Image) -> Array | None:
        """Where the image shows background only, if a layer says so and no level is given."""
        marked = self._layer_of(self.empty_layer)
        if marked is None or self.sigma.value:
            return None
        return layers.missing_from(marked, image)

    def _missing_in(self, image: Image) -> Callable[[], Array | None]:
        """What says where the image is missing; what is drawn by now is taken at once."""
        if not self.inpaints:
            return lambda: None
        mask = self._layer_of(self.missing_layer)
        drawn = None if mask is None else layers.missing_from(mask, image)
        may_hold_nan = wrap_image(image.data).dtype.kind == "f"
        if drawn is None and not self.saturated.value and not may_hold_nan:
            raise UserError(
                "nothing is marked as missing: choose a Labels or Shapes layer as the mask"
            )
        return lambda: drawn

    def _mask_expressions(self, name: str) -> list[str]:
        """The same as expressions for a script about the layer of that name."""
        if not self.inpaints or self._layer_of(self.missing_layer) is None:
            return []
        mask, image = self.missing_layer.value, name
        return [f"missing_from(viewer.layers[{mask!r}], viewer.layers[{image!r}])"]

    def set_target(self, layer_ids: tuple[str, ...]) -> None:
        """Be about these layers from now on: a noise level that was typed belongs to its layers."""
        if layer_ids != self._target:
            self._sigmas[self._target] = self.sigma.value
            self._target = layer_ids
            self.sigma.value = self._sigmas.get(layer_ids, 0.0)

    def show_noise(self, noise: Noise | None) -> None:
        """Say what noise was found."""
        self._found = noise if noise is not None and noise.sigma > 0 else None
        found = self._found
        self.sigma.set_typical(None if found is None else float(f"{found.sigma:.3g}"))
        self._noise.setText("" if found is None else summarize_noise(found))
        self._noise.setToolTip("" if found is None else describe_noise(found))
        self._show_noise_where_it_counts()

    def _show_noise_where_it_counts(self) -> None:
        """Not where the user gives another level, or none is needed."""
        is_wanted = not self.sigma.value and not self.inpaints
        self._noise.setVisible(self._found is not None and is_wanted)

    def show_seconds(self, seconds: dict[str, str]) -> None:
        """Say beside each quality how long it takes, in words."""
        for row, name in enumerate(QUALITIES):
            words = seconds.get(name, "")
            self.quality.native.setItemText(row, f"{name} · {words}" if words else name)

    @property
    def noise(self) -> str:
        """What is said of the noise."""
        return "" if self._noise.isHidden() else str(self._noise.text())

    # --- fields ---------------------------------------------------------------------------------

    def _layer_of(self, box: ComboBox) -> Labels | Shapes | None:
        name = box.value
        if name in (None, NO_LAYER) or name not in self._viewer.layers:
            return None
        return self._viewer.layers[name]

    def _masks(self, _widget: Any = None) -> list[str]:
        masks = [
            x.name
            for x in self._viewer.layers
            if isinstance(x, Labels | Shapes) and not layers.is_ours(x)
        ]
        return [NO_LAYER, *masks]

    def _task_changed(self) -> None:
        for field in (self.missing_layer, self.saturated):
            show_field(field, self.inpaints)
        self.sigma.set_text_at_zero("none" if self.inpaints else "auto")
        self._sigma_changed()
        self.task_changed.emit()
        self.cost_changed.emit()

    @handler
    def _sigma_changed(self, _value: Any = None) -> None:
        # Where nothing is known to be noise, there is nothing to be stronger or weaker about.
        show_field(self.strength, not self.inpaints or self.sigma.value > 0)
        self._show_noise_where_it_counts()
