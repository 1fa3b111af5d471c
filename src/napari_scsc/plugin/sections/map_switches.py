"""Switches for what is known of a result: each shows or removes a layer beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from napari.layers import Image
from qtpy.QtWidgets import QCheckBox

from napari_scsc._types import Array
from napari_scsc.data.image import wrap_image
from napari_scsc.plugin import layers
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.result_layer import ResultLayer
from napari_scsc.plugin.sections.form_widgets import Section, make_row

_TIPS = {
    "residual": "Show what was taken away, as a layer of its own",
    "error": "Show the standard error of each value, in the units of the image",
    "support": "Show how many patches that are alike stand behind each value; few where structure "
    "is rare",
    "fit": "Show how much of some tiles lies outside the span of the filters, from 0 to 1",
}
_COLOURS = {"error": "magma", "support": "viridis", "fit": "inferno"}
_NO_RESULT = "There is no result yet"
_NOT_KEPT = "Known of what was denoised by groups of patches, and is not in a file"


class MapSwitches(Section):
    """The residual, the error and the support of the result that was made last.

    Nothing is restored again: the error and the support were kept by the run. What was switched on
    for an earlier result stays in the viewer.
    """

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._shown: ResultLayer | None = None
        self._made: dict[str, Image] = {}
        self._subtracting = Background(self)
        self._subtracting.failed.connect(self.failed)
        self.switches = {name: self._make_switch(name) for name in _TIPS}
        self.fill(make_row(*self.switches.values()))
        self.show_result(None)

    def _make_switch(self, name: str) -> QCheckBox:
        box = QCheckBox(name)
        box.setToolTip(_TIPS[name])
        box.clicked.connect(lambda is_on: self.attempt(lambda: self.switch(name, bool(is_on))))
        return box

    def show_result(self, restored: ResultLayer | None) -> None:
        """Be about that result from now on."""
        if restored is not self._shown:
            self._made = {}
        self._shown = restored
        self.follow_layers()

    def follow_layers(self) -> None:
        """Show which layers are still there, and which there could be."""
        for name, box in self.switches.items():
            made = self._made.get(name)
            box.setChecked(made is not None and made in self._viewer.layers)
            refusal = self._refusal(name)
            box.setEnabled(not refusal)
            if name == "fit":  # known where filters come from other images
                box.setVisible(self._shown is not None and self._shown.fit is not None)
            box.setToolTip(refusal or _TIPS[name])

    @property
    def busy(self) -> bool:
        """Whether a residual is being computed."""
        return self._subtracting.running

    def switch(self, name: str, is_on: bool) -> None:
        """Show the layer of that name, or remove it."""
        made = self._made.pop(name, None)
        if made is not None and made in self._viewer.layers:
            self._viewer.layers.remove(made)
        if is_on and self._shown is not None:
            self._make(self._shown, name)

    def show_residual(self, restored: ResultLayer) -> None:
        """Add what was taken away as a layer that is hidden at first, once it is computed."""
        self.show_result(restored)
        self._make(restored, "residual", visible=False)

    def _refusal(self, name: str) -> str:
        """Why there cannot be such a layer; empty if there can."""
        shown = self._shown
        if shown is None or shown.layer is None or shown.layer not in self._viewer.layers:
            return _NO_RESULT
        return "" if name == "residual" or getattr(shown, name) is not None else _NOT_KEPT

    def _make(self, restored: ResultLayer, name: str, visible: bool = True) -> None:
        if name != "residual":
            values = _map_fit(restored) if name == "fit" else getattr(restored, name)
            self._add(restored, name, values, visible)
            return
        if restored.layer is None:
            return
        data, result = restored.request.source.data, restored.layer.data

        def subtract() -> Array:
            before, after = (wrap_image(x).whole() for x in (data, result))
            found = np.empty(before.shape, np.float32)
            return np.subtract(before, after, out=found, dtype=np.float64, casting="same_kind")

        self._subtracting.run(subtract, lambda found: self._add(restored, name, found, visible))

    def _add(self, restored: ResultLayer, name: str, values: Array, visible: bool) -> None:
        source = restored.request.source
        arguments = layers.result_arguments(source, name, {"script": restored.origin.script})
        if name == "residual":
            if not source.looks["rgb"]:
                most = 3 * _of_finite(values, np.std)
                arguments |= {"contrast_limits": (-most, most), "colormap": "gray"}
        else:
            if source.looks["rgb"]:  # one figure for all colours: it is no colour
                values = np.sqrt(np.mean(np.square(values), axis=-1))
            arguments |= {
                "rgb": False,
                "contrast_limits": (0.0, _of_finite(values, partial(np.percentile, q=99.8))),
                "colormap": _COLOURS[name],
            }
        made = self._viewer.add_image(values, **arguments)
        made.visible = visible  # from the start, napari cannot hide colours that are shown in 3-D
        if restored is self._shown:
            self._made[name] = made
        self.follow_layers()


def _of_finite(values: Array, measure: Callable[[Array], Any]) -> float:
    """A measure of the values that are finite, for limits of contrast: 1 where it would be 0."""
    found = np.asarray(values, np.float64)
    finite = found[np.isfinite(found)]
    return (float(measure(finite)) if finite.size else 0.0) or 1.0


def _map_fit(restored: ResultLayer) -> Array:
    """The energy outside the span of the filters, of the tiles that were looked at."""
    assert restored.fit is not None
    values = np.full(restored.request.source.shape, np.nan, np.float32)
    for tile in restored.fit.tiles:
        values[tile.region if restored.channel is None else tile.region[1:]] = tile.energy_outside
    return values
