"""Compare: the original behind the result, what is known of it, figures where they are."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import ComboBox
from napari.layers import Image

from napari_scsc.data import measures
from napari_scsc.data.image import wrap_image
from napari_scsc.plugin import layers
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.result_layer import ResultLayer
from napari_scsc.plugin.sections.audit_table import AuditTable
from napari_scsc.plugin.sections.form_widgets import LayerChoice, Section, make_label
from napari_scsc.plugin.sections.map_switches import MapSwitches
from napari_scsc.plugin.sections.restore_section import NO_LAYER

KEY = "Shift-O"


class CompareSection(Section):
    """All about the result that was made last."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._shown: ResultLayer | None = None
        self._held: list[tuple[Any, bool]] = []  # layers, and whether they were visible
        self.reference = ComboBox(
            label="reference",
            choices=self._images,
            tooltip="A clean version of the same data: PSNR and SSIM of the result against it; "
            "the higher, the closer",
        )
        self._chosen = LayerChoice(self.reference, viewer)
        self.reference.changed.connect(lambda _value: self.compare())
        self._scores = make_label()
        self._scores.hide()
        self.hold = self.make_button(
            "Hold to see the original", f"The results are hidden while you hold it, or {KEY}"
        )
        self.hold.pressed.connect(lambda: self.show_original(True))
        self.hold.released.connect(lambda: self.show_original(False))
        self.maps = MapSwitches(viewer)
        self.audit = AuditTable(viewer)
        self._measuring = Background(self)
        for part in (self._measuring, self.maps, self.audit):
            part.failed.connect(self.failed)
        self.fill(self.hold, self.maps, self.reference, self._scores, self.audit)
        self.show_result(None)

    def show_result(self, restored: ResultLayer | None) -> None:
        """Be about that result from now on."""
        self._shown = restored
        self.hold.setEnabled(self._result() is not None)
        self.maps.show_result(restored)
        self.audit.show_result(restored)
        self.compare()

    def reset_choices(self) -> None:
        """Read the layers that may be references again."""
        self._chosen.reset()
        self.hold.setEnabled(self._result() is not None)
        self.maps.follow_layers()
        self.audit.follow_layers()

    @property
    def scores(self) -> str:
        """PSNR and SSIM, if a reference says so."""
        return str(self._scores.text())

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
        if self._shown is not None and self._shown.is_preview:  # a part of the image only
            return
        pair = (result.data, self._viewer.layers[name].data)

        def measure() -> str:
            a, b = (wrap_image(data).whole() for data in pair)
            try:
                return f"PSNR {measures.psnr(a, b):.2f} dB, SSIM {measures.ssim(a, b):.3f}"
            except ValueError as error:  # not of one shape: nothing to be alarmed about
                return str(error)

        self._measuring.run(measure, self._say)

    def show_original(self, shown: bool) -> None:
        """Show the original and none of its results, or all as it was before."""
        if not shown:
            for layer, visible in self._held:
                layer.visible = visible
            self._held = []
        elif not self._held and self._shown is not None and self._result() is not None:
            source = self._shown.request.source.layer_id
            for layer in self._viewer.layers:
                is_source = str(layer.unique_id) == source
                if is_source or layers.source_of(layer) == source:
                    self._held.append((layer, layer.visible))
                    layer.visible = is_source

    def _result(self) -> Image | None:
        """The layer of the result, if it is still there."""
        result = None if self._shown is None else self._shown.layer
        return result if result in self._viewer.layers else None

    def _images(self, _widget: Any = None) -> list[str]:
        return [NO_LAYER, *(x.name for x in self._viewer.layers if isinstance(x, Image))]

    def _say(self, text: str) -> None:
        self._scores.setText(text)
        self._scores.setVisible(bool(text))
