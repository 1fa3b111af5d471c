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
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.requests import RestoreRequest, bank_fits
from napari_scsc.plugin.sections.form_widgets import (
    Fold,
    LayerChoice,
    Section,
    allow,
    make_label,
    make_number_field,
    make_row,
    show_field,
)
from napari_scsc.plugin.wording import describe_noise
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.restore.quality import LEVELS, QUALITIES

NO_LAYER = "no layer"
_TASKS: dict[str, RestoreTask] = {"Denoise": "denoise", "Inpaint": "inpaint"}
_METHOD_LABELS = {"scsc": "groups of similar patches", "scsc-paper": "the paper's code"}
_METHODS = {_METHOD_LABELS.get(name, name): name for name in METHODS}
_DEFAULT_METHOD = "scsc"


class RestoreSection(Section):
    """The task, the noise and its strength, and the masks.

    ``task_changed`` and ``strength_moved`` say what their names say; ``cost_changed`` comes with
    every other task, quality or method, ``preview_wanted`` when the button was pressed.
    """

    task_changed = Signal()
    preview_wanted = Signal()
    strength_moved = Signal()
    cost_changed = Signal()

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self.task = ComboBox(
            label="task",
            choices=list(_TASKS),
            tooltip="Denoise takes the noise out; Inpaint fills what is missing",
        )
        self.quality = ComboBox(
            label="quality",
            choices=list(QUALITIES),
            value="balanced",
            tooltip="What to spend: draft, fast and balanced take about 1 : 2 : 5 in time.\n"
            + "\n".join(f"{name}: {LEVELS[name].summary}" for name in QUALITIES),
        )
        self.sigma = make_number_field(
            "noise",
            1e12,
            "auto",
            "sigma, the standard deviation of the noise in the units of the image. auto: estimated "
            "when denoising; none when inpainting, where known values are kept as they are",
        )
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
            value=1,
            tooltip="1 takes away the noise that is there; less is gentler, more is smoother",
        )
        self.missing_layer = ComboBox(
            label="mask",
            choices=self._masks,
            tooltip="A layer of Labels (not zero) or Shapes that covers what is missing. "
            "NaN is always missing",
        )
        self._mask = LayerChoice(self.missing_layer, viewer)
        self.saturated = CheckBox(
            text="saturated values are missing",
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
        self._redo = QTimer(self)
        self._redo.setSingleShot(True)
        self._redo.setInterval(250)
        self._redo.timeout.connect(self.strength_moved)
        self.strength.changed.connect(lambda _value: self._redo.start())
        self.sigma.changed.connect(self._sigma_changed)
        self.task.changed.connect(lambda _value: self._task_changed())
        for choice in (self.quality, self.method):
            choice.changed.connect(lambda _value: self.cost_changed.emit())
        self.preview = self.make_button("Preview", "", self.preview_wanted.emit)
        self.fill(
            self.task,
            self.quality,
            self.sigma,
            self._noise,
            self.strength,
            self.missing_layer,
            self.saturated,
            make_row(self.preview),
            Fold(
                "advanced",
                self.method,
                self.noise_model,
                self.empty_layer,
                self.outliers,
                self.residual,
            ),
        )
        self._noise.hide()
        self._task_changed()

    # --- for the dock ---------------------------------------------------------------------------

    @property
    def inpaints(self) -> bool:
        """Whether something is to be filled."""
        return bool(self.task.value == "Inpaint")

    def reset_choices(self) -> None:
        """Read the layers that may be masks again."""
        self._mask.reset()
        self._empty.reset()

    @property
    def task_name(self) -> RestoreTask:
        """The task, as the function that does it is called."""
        return _TASKS[self.task.value]

    @property
    def method_name(self) -> str:
        """The method, as scripts call it."""
        return _METHODS[self.method.value]

    def request(
        self,
        layer: Image,
        source: Snapshot,
        bank: FilterBank | None,
        seed: int,
        threads: int | None,
        noise_filters: tuple[int, ...] = (),
    ) -> RestoreRequest:
        """What the fields ask for with a layer; the bank is used if it suits it.

        ``noise_filters`` are those of the bank that show noise.
        """
        options: dict[str, Any] = {
            "strength": self.strength.value,
            "quality": self.quality.value,
            "seed": seed,
        }
        if self.sigma.value:
            options["sigma"] = self.sigma.value
        elif self.noise_model.value != "auto":
            options["noise"] = self.noise_model.value
        fitting = bank if bank is not None and bank_fits(bank, source) else None
        if noise_filters and fitting is not None and fitting.is_of_patches and not self.inpaints:
            options["noise_filters"] = noise_filters
        if self.outliers.value != "auto":
            options["outliers"] = self.outliers.value
        if self.inpaints and self.saturated.value:
            options["saturation"] = True
        if self.method_name != _DEFAULT_METHOD:
            options["method"] = self.method_name
        return RestoreRequest(
            self.task_name,
            source,
            options,
            fitting,
            threads,
            self._missing_in(layer),
            tuple(self._mask_expressions(source.name)),
            self._empty_in(layer),
            self.empty_layer.value if self._layer_of(self.empty_layer) is not None else "",
        )

    def _empty_in(self, image: Image) -> Array | None:
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

    def show_refusal(self, refusal: str) -> None:
        """Let the button of the preview be pressed, or say why it cannot be."""
        tip = "Restore what is in view, quickly; again whenever the strength changes"
        allow(self.preview, tip, refusal)

    def show_noise(self, noise: Noise | None) -> None:
        """Say what noise was found; what the user gave needs no telling."""
        found = noise if noise is not None and noise.sigma > 0 and not self.sigma.value else None
        words = describe_noise(found) if found is not None else ""
        self._noise.setText(words)
        self._noise.setVisible(bool(words))

    @property
    def noise(self) -> str:
        """What is said of the noise."""
        return str(self._noise.text())

    # --- fields ---------------------------------------------------------------------------------

    def _layer_of(self, box: ComboBox) -> Labels | Shapes | None:
        name = box.value
        if name in (None, NO_LAYER) or name not in self._viewer.layers:
            return None
        return self._viewer.layers[name]

    def _masks(self, _widget: Any = None) -> list[str]:
        masks = [x.name for x in self._viewer.layers if isinstance(x, Labels | Shapes)]
        return [NO_LAYER, *masks]

    def _task_changed(self) -> None:
        for field in (self.missing_layer, self.saturated):
            show_field(field, self.inpaints)
        self.sigma.native.setSpecialValueText("none" if self.inpaints else "auto")
        self._sigma_changed()
        self.task_changed.emit()
        self.cost_changed.emit()

    def _sigma_changed(self, _value: Any = None) -> None:
        # Where nothing is known to be noise, there is nothing to be stronger or weaker about.
        show_field(self.strength, not self.inpaints or self.sigma.value > 0)
