"""What made the pixel that was clicked: which filters, and patches like the one around it."""

from __future__ import annotations

from typing import Any

from napari.layers import Image

from napari_scsc.errors import UserError
from napari_scsc.plugin import layers
from napari_scsc.plugin.group_outlines import GroupOutlines
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.task_runner import Parts, TaskRunner
from napari_scsc.restore.explain import Explanation, explain
from napari_scsc.restore.personal_dictionary import PersonalDictionary, explain_group


class PixelExplainer(Background):
    """Explains a pixel of the result, or of the source where there is none, in the plots.

    It is marked in the viewer at once, and the patches of its group are outlined there, while the
    plots show the explanation.
    """

    def __init__(self, parts: Parts, runner: TaskRunner) -> None:
        super().__init__(runner)
        self._parts, self._runner = parts, runner
        self.outlines = GroupOutlines(parts.viewer)

    def explain(self, position: Any) -> None:
        """Show which filters made the pixel at that position of the world."""
        found = self._parts.filters.bank
        layer, source = self._parts.source.first()
        axes, original, noise = source.axes, None, None
        active = self._parts.viewer.layers.selection.active
        result = self._runner.result_in(active) or self._runner.result
        if result is not None and result.layer in self._parts.viewer.layers:
            if result.channel is not None:
                raise UserError(
                    f"{result.request.source.name} was restored together with other channels, and "
                    "no filter is its alone"
                )
            layer, shown = result.layer, result.request.source
            axes, original, noise = shown.axes, shown.data, result.noise
            found = result.bank or found
        if found is None:
            raise UserError("there are no filters yet: learn some, then click a pixel")
        bank = found
        place = layers.pixel_at(layer, position, axes)
        if place is None:
            return
        self.outlines.mark_pixel(layer, place)
        data = layer.data

        def work() -> tuple[Explanation, PersonalDictionary]:
            return (
                explain(data, bank, place, source=original, axes=axes),
                explain_group(data, bank, place, noise=noise, axes=axes),
            )

        self.run(work, lambda found: self._show(layer, *found))

    def _show(self, layer: Image, explanation: Explanation, group: PersonalDictionary) -> None:
        self._parts.learn.plots.show_explanation(explanation, group)
        self.outlines.show(group, layer)
