"""Compare: the original behind the result, what is known of it, figures where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magicgui.widgets import ComboBox
from napari.layers import Image
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox

from napari_scsc.data import measures
from napari_scsc.data.image import wrap_image
from napari_scsc.plugin import layers
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.original_view import OriginalView
from napari_scsc.plugin.result_layer import ResultLayer
from napari_scsc.plugin.sections.audit_table import AuditTable
from napari_scsc.plugin.sections.form_widgets import (
    LayerChoice,
    Section,
    make_label,
    make_row,
)
from napari_scsc.plugin.sections.map_switches import MapSwitches
from napari_scsc.plugin.sections.restore_section import NO_LAYER
from napari_scsc.plugin.wipe import Wipe
from napari_scsc.plugin.wording import describe_fit, say

KEY = "Shift-O"


class CompareSection(Section):
    """All about a result: the one that was made last, or that is active in napari.

    ``told`` brings words for the user.
    """

    told = Signal(str)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._shown: ResultLayer | None = None
        self._preview: Image | None = None
        self._original = OriginalView(viewer)
        self.reference = ComboBox(
            label="reference",
            choices=self._images,
            tooltip="A clean version of the same data: PSNR and SSIM of the result against it; "
            "the higher, the closer. One of another range is scaled to the result first",
        )
        self._chosen = LayerChoice(self.reference, viewer)
        self.reference.changed.connect(lambda _value: self.attempt(self.compare))
        self._scores = make_label()
        self._scores.hide()
        self._fit = make_label()
        self._fit.hide()
        self.hold = self.make_button(
            "Original", f"The original alone is shown while you hold this, or {KEY}"
        )
        self.hold.pressed.connect(lambda: self.attempt(lambda: self.show_original(True)))
        self.hold.released.connect(lambda: self.attempt(lambda: self.show_original(False)))
        self.wipe = Wipe(viewer, self)
        self.wipe_switch = QCheckBox("wipe")
        self.wipe.switched.connect(self.wipe_switch.setChecked)
        self.wipe.told.connect(self.told)
        self.wipe_switch.setToolTip("Before on the left, after on the right; drag the line")
        self.wipe_switch.toggled.connect(
            lambda is_on: self.attempt(lambda: self._switch_wipe(bool(is_on)))
        )
        self.maps = MapSwitches(viewer)
        self.audit = AuditTable(viewer)
        self._measuring = Background(self)
        for part in (self._measuring, self.maps, self.audit):
            part.failed.connect(self.failed)
        self.advanced = (self.reference, self.audit)
        """What most people leave alone; the dock folds it away."""
        self.fill(
            make_row(self.hold, self.wipe_switch),
            self.maps,
            self._scores,
            self._fit,
        )
        self.show_result(None)

    def show_result(self, restored: ResultLayer | None) -> None:
        """Be about that result from now on."""
        if restored is not self._shown:
            self.wipe_switch.setChecked(False)
        self._shown = restored
        self.maps.show_result(restored)
        self.audit.show_result(restored)
        self._show_what_there_is()
        self.compare()

    def show_preview(self, preview: Image | None) -> None:
        """Compare that preview with its source, as long as it is there."""
        if preview is not self._preview:
            self._preview = preview
            self._show_what_there_is()
            if self.wipe.is_on:
                self._pair_wipe()

    def reset_choices(self) -> None:
        """Read the layers that may be references again."""
        self._chosen.reset()
        self.maps.follow_layers()
        self.audit.follow_layers()
        self._show_what_there_is()

    def _show_what_there_is(self) -> None:
        pair, result = self._pair(), self._result()
        self.setVisible(pair is not None)
        self.maps.setVisible(result is not None)
        if pair is None:
            self.wipe_switch.setChecked(False)
        fit = None if self._shown is None else self._shown.fit
        self._fit.setVisible(fit is not None)
        if fit is not None:
            words, details = describe_fit(fit)
            self._fit.setText(words)
            self._fit.setToolTip(details)

    @property
    def scores(self) -> str:
        """PSNR and SSIM, if a reference says so."""
        return str(self._scores.text())

    @property
    def fit(self) -> str:
        """What is said of the filters, if they were learned from other images."""
        return str(self._fit.text()) if self._shown and self._shown.fit else ""

    @property
    def busy(self) -> bool:
        """Whether figures, a residual or an audit are being computed."""
        return self._measuring.running or self.maps.busy or self.audit.busy

    def compare(self) -> None:
        """Measure the result against the reference, in the background."""
        self._measuring.forget()
        self._say("")
        name = self.reference.value
        result = self._result()
        if result is None or name in (None, NO_LAYER) or name not in self._viewer.layers:
            return
        self._measuring.run(_measure(result.data, self._viewer.layers[name].data), self._say)

    def show_original(self, shown: bool) -> None:
        """Show the original alone, or all as it was before."""
        pair = self._pair()
        if pair is not None or not shown:
            before = "" if pair is None else str(pair[0].unique_id)
            self._original.show_original(before, shown)

    def close_views(self) -> None:
        """Leave the layers as they are without the dock."""
        self._original.show_original("", False)
        self.wipe_switch.setChecked(False)
        self.wipe.close()

    def _switch_wipe(self, is_on: bool) -> None:
        if is_on and not self.wipe.is_on:
            self._pair_wipe()
        self.wipe.switch(is_on)

    def _pair_wipe(self) -> None:
        self.wipe.set_pair(*(self._pair() or (None, None)))

    def _pair(self) -> tuple[Image, Image] | None:
        """The layers before and after: of the preview if there is one, else of the result."""
        source_id, after = "", self._result()
        if self._shown is not None:
            source_id = self._shown.request.source.layer_id
        if self._preview is not None and self._preview in self._viewer.layers:
            after, source_id = self._preview, layers.source_of(self._preview) or ""
        by_id = {str(layer.unique_id): layer for layer in self._viewer.layers}
        if after is None or source_id not in by_id:
            return None
        return by_id[source_id], after

    def _result(self) -> Image | None:
        """The layer of the result, if it is still there."""
        result = None if self._shown is None else self._shown.layer
        return result if result in self._viewer.layers else None

    def _images(self, _widget: Any = None) -> list[str]:
        return [NO_LAYER, *(x.name for x in self._viewer.layers if isinstance(x, Image))]

    def _say(self, text: str) -> None:
        self._scores.setText(text)
        self._scores.setVisible(bool(text))


def _measure(result: Any, reference: Any) -> Callable[[], str]:
    """What measures a result against a reference, and tells it in words."""

    def measure() -> str:
        a, b = (wrap_image(data).whole() for data in (result, reference))
        try:
            scaled, is_scaled = measures.match_range(a, b)
            share = measures.known_share(a, b)
            note = " (after scaling the reference)" if is_scaled else ""
            note += f" (of the {share:.0%} that are known in it)" if share < 1 else ""
            return (
                f"PSNR {measures.psnr(a, scaled):.2f} dB, SSIM {measures.ssim(a, scaled):.3f}{note}"
            )
        except ValueError as error:  # as of another shape: nothing to be alarmed about
            return f"No figures: {say(error)}"

    return measure
