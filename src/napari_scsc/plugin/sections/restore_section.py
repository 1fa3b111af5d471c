"""Restore: what to do, how strongly, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, FloatSlider
from napari.layers import Image, Labels, Shapes
from qtpy.QtCore import QTimer, Signal

from napari_scsc.choices import QUALITIES
from napari_scsc.data.image import wrap_image
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import layers, recipes
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.parts import Fold, LayerChoice, Section, label, number, row, show_field

NO_LAYER = "no layer"
_TASKS = {"Denoise": "denoised", "Inpaint": "filled"}
_METHODS = {"groups of similar patches": "scsc", "the paper's code": "scsc-paper"}


class RestoreSection(Section):
    """The task, the noise and its strength, and the masks.

    ``task_changed`` and ``strength_moved`` say what their names say; ``preview_wanted`` that the
    button was pressed.
    """

    task_changed = Signal()
    preview_wanted = Signal()
    strength_moved = Signal()
    quality_changed = Signal()

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
            tooltip="What to spend: fast, balanced and best take about 1 : 3 : 8 in time; a draft "
            "takes next to none, and is good for a look at a large volume",
        )
        self.sigma = number(
            "noise",
            1e12,
            "auto",
            "sigma, the standard deviation of the noise in the units of the image. auto: estimated "
            "when denoising; none when inpainting, where known values are kept as they are",
        )
        self._noise = label()
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
        self.quality.changed.connect(lambda _value: self.quality_changed.emit())
        self.preview = self.button(
            "Preview",
            "Restore what is in view, quickly; again whenever the strength changes",
            self.preview_wanted.emit,
        )
        self.fill(
            self.task,
            self.quality,
            self.sigma,
            self._noise,
            self.strength,
            self.missing_layer,
            self.saturated,
            row(self.preview),
            Fold("advanced", self.method, self.residual),
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

    def request(
        self, source: Snapshot, bank: FilterBank | None, seed: int, threads: int | None
    ) -> recipes.Restore:
        """What the fields ask for; the bank is used if it suits the source."""
        fits = bank is not None and recipes.fits(bank, source)
        options: dict[str, Any] = {
            "strength": self.strength.value,
            "quality": self.quality.value,
            "seed": seed,
        }
        if self.sigma.value:
            options["sigma"] = self.sigma.value
        if _METHODS[self.method.value] != "scsc":
            options["method"] = _METHODS[self.method.value]
        return recipes.Restore(self.wanted, source.axes, options, bank if fits else None, threads)

    def missing(self, image: Image) -> Callable[[], Any]:
        """What says where the image is missing, all together: to be called in the worker."""
        if not self.inpaints:
            return lambda: None
        drawn = self._mask_layer()
        found = None if drawn is None else layers.missing_from(drawn, image)
        data = image.data if self.saturated.value else None
        may_hold_nan = wrap_image(image.data).dtype.kind == "f"
        if found is None and data is None and not may_hold_nan:
            raise ValueError(
                "nothing is marked as missing: choose a Labels or Shapes layer as the mask"
            )

        def together() -> Any:
            masks = [] if found is None else [found]
            if data is not None:
                masks.append(layers.saturated(data))
            return np.logical_or.reduce(masks) if masks else None

        return together

    @property
    def wanted(self) -> str:
        """What a result of the task is called."""
        return _TASKS[self.task.value]

    def mask_words(self, name: str) -> list[str]:
        """The same as expressions for a script about the layer of that name."""
        words = []
        if self.inpaints:
            if self._mask_layer() is not None:
                mask, image = self.missing_layer.value, name
                words.append(f"missing_from(viewer.layers[{mask!r}], viewer.layers[{image!r}])")
            if self.saturated.value:
                words.append("saturated(image)")
        return words

    def show_noise(self, noise: Noise | None) -> None:
        """Say what noise was found; what the user gave needs no telling."""
        found = noise if noise is not None and noise.sigma > 0 and not self.sigma.value else None
        words = ""
        if found is not None:
            sure = "" if found.sure else " (not sure: type it in if you know it)"
            mean = "mean " if found.depends_on_signal else ""
            grows = ", grows with brightness" if found.depends_on_signal else ""
            words = f"noise found: {mean}{found.sigma:.4g}{grows}{sure}"
        self._noise.setText(words)
        self._noise.setVisible(bool(words))

    @property
    def noise(self) -> str:
        """What is said of the noise."""
        return str(self._noise.text())

    # --- fields ---------------------------------------------------------------------------------

    def _mask_layer(self) -> Labels | Shapes | None:
        name = self.missing_layer.value
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

    def _sigma_changed(self, _value: Any = None) -> None:
        # Where nothing is known to be noise, there is nothing to be stronger or weaker about.
        show_field(self.strength, not self.inpaints or self.sigma.value > 0)
