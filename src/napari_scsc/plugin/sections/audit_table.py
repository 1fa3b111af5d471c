"""Whether the regions of a Labels layer keep their brightness: a table, and a file of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from napari.layers import Labels
from qtpy.QtWidgets import QFileDialog, QTableWidget, QTableWidgetItem

from napari_scsc.data.image import wrap_image
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.result_layer import ResultLayer
from napari_scsc.plugin.sections.form_widgets import LayerChoice, Section, show_field
from napari_scsc.plugin.sections.restore_section import NO_LAYER
from napari_scsc.restore.audit import Audit, AuditedRegion, audit

_COLUMNS = ("region", "verdict", "before", "after", "change", "pixels")
_MAX_HEIGHT = 180  # pixels: more rows are scrolled


class AuditTable(Section):
    """The audit of the result that was made last; to be seen where a Labels layer fits it."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._shown: ResultLayer | None = None
        self.audit: Audit | None = None
        self.regions = ComboBox(
            label="regions",
            choices=self._fitting,
            tooltip="A Labels layer: whether each of its regions is as bright as before",
        )
        self._chosen = LayerChoice(self.regions, viewer)
        self.regions.changed.connect(lambda _value: self.attempt(self.update_table))
        self.table = QTableWidget(0, len(_COLUMNS))
        self.table.setHorizontalHeaderLabels(_COLUMNS)
        self.table.setAccessibleName("Brightness of the regions before and after")
        self.table.setMaximumHeight(_MAX_HEIGHT)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        header: Any = self.table.verticalHeader()
        header.hide()
        self.save_button = self.make_button(
            "Save as CSV", "Write the table to a file", self._ask_where_to_save
        )
        self._auditing = Background(self)
        self._auditing.failed.connect(self.failed)
        self.fill(self.regions, self.table, self.save_button)
        self.show_result(None)

    def show_result(self, restored: ResultLayer | None) -> None:
        """Be about that result from now on."""
        self._shown = restored
        self.follow_layers()
        self.update_table()

    def follow_layers(self) -> None:
        """Read again which layers fit."""
        self._chosen.reset()
        show_field(self.regions, self.has_choices)

    @property
    def has_choices(self) -> bool:
        """Whether a layer fits."""
        return len(self._fitting()) > 1

    @property
    def busy(self) -> bool:
        """Whether an audit is being computed."""
        return self._auditing.running

    def update_table(self) -> None:
        """Audit the regions of the layer that is chosen, in the background."""
        self._auditing.forget()
        self._show(None)
        shown, name = self._shown, self.regions.value
        if shown is None or shown.layer is None or name not in self._fitting()[1:]:
            return
        before, after, noise = shown.request.source.data, shown.layer.data, shown.noise
        labels, error = self._viewer.layers[name].data, shown.error
        assert noise is not None  # the result is finished

        def compute() -> Audit:
            numbers = wrap_image(labels).whole()
            shape = wrap_image(before).shape
            if numbers.ndim < len(shape):  # colours are in the same region
                numbers = numbers[..., None]
            return audit(before, after, np.broadcast_to(numbers, shape), noise, error)

        self._auditing.run(compute, self._show)

    def save(self, path: str) -> None:
        """Write the table to a file."""
        assert self.audit is not None
        self.audit.to_csv(path)

    def _ask_where_to_save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save the audit", "audit.csv", "*.csv")
        if path:
            self.save(path)

    def _show(self, found: Audit | None) -> None:
        self.audit = found
        self.table.setVisible(found is not None)
        self.save_button.setVisible(found is not None)
        self.table.setRowCount(0 if found is None else len(found))
        for row, region in enumerate(found or ()):
            for column, text in enumerate(_cells(region)):
                self.table.setItem(row, column, QTableWidgetItem(text))
        self.table.resizeColumnsToContents()

    def _fitting(self, _widget: Any = None) -> list[str]:
        """Labels layers of the shape of the denoised image; before them, none."""
        shown = self._shown
        is_there = shown is not None and shown.layer is not None and shown.noise is not None
        if shown is None or not is_there or shown.request.task != "denoise":
            return [NO_LAYER]
        shape = shown.request.source.shape
        plane = shape[:-1] if shown.request.source.looks["rgb"] else shape
        return [
            NO_LAYER,
            *(
                layer.name
                for layer in self._viewer.layers
                if isinstance(layer, Labels) and wrap_image(layer.data).shape == plane
            ),
        ]


def _cells(region: AuditedRegion) -> tuple[str, ...]:
    """A row of the table."""
    return (
        str(region.label),
        region.verdict,
        f"{region.mean_before:.4g}",
        f"{region.mean_after:.4g}",
        f"{region.difference_in_errors:+.1f} SE",
        str(region.n_pixels),
    )
