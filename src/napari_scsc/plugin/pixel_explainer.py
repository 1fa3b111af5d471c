"""Which filters made the pixel that was clicked."""

from __future__ import annotations

from typing import Any

from napari_scsc.errors import UserError
from napari_scsc.plugin import layers
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.task_runner import Parts, TaskRunner
from napari_scsc.restore.explain import explain


class PixelExplainer(Background):
    """Explains a pixel of the result, or of the source where there is none, in the plots."""

    def __init__(self, parts: Parts, runner: TaskRunner) -> None:
        super().__init__(runner)
        self._parts, self._runner = parts, runner

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        bank = self._parts.filters.bank
        if bank is None:
            raise UserError("there are no filters yet: learn some, then click a pixel")
        layer, source = self._parts.source.first()
        axes, original = source.axes, None
        result = self._runner.result
        if result is not None and result.layer in self._parts.viewer.layers:
            layer, shown = result.layer, result.request.source
            axes, original = shown.axes, shown.data
        place = layers.pixel_at(layer, position, axes)
        if place is not None:
            data = layer.data
            self.run(
                lambda: explain(data, bank, place, source=original, axes=axes),
                self._parts.learn.plots.show_explanation,
            )
