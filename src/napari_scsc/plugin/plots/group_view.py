"""The personal dictionary of a pixel's group: its weights W, and its filters D = B W."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QHBoxLayout, QWidget

from napari_scsc._types import Array, LayerData
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.filter_mosaic import FilterMosaic
from napari_scsc.plugin.plots.plot_content import mosaic_of, sum_of_filters
from napari_scsc.plugin.plots.plot_export import Table, layer_data
from napari_scsc.plugin.plots.plot_widgets import Picture, TextLine

if TYPE_CHECKING:
    from napari_scsc.restore.personal_dictionary import PersonalDictionary

_MOST = 16  # filters that are shown: the others hold next to nothing


class GroupView(QWidget):
    """The strongest filters of a group beside the weights that mix them; one is outlined in both.

    What it is outlined for is said below: how much of the group it holds, and what it is made of.
    """

    def __init__(self) -> None:
        super().__init__()
        self._group: PersonalDictionary | None = None
        self._chosen = 0
        self.filters = FilterMosaic("Filters D of the group")
        self.filters.over.connect(self._point)
        self.filters.stepped.connect(self._step_filters)
        self.weights = Picture("Weights W of the group", ("filter D", "base filter"))
        self.weights.pointed.connect(self._point_column)
        self.weights.stepped.connect(self._step_columns)
        self.text = TextLine(lines=4)
        pictures = QHBoxLayout()
        pictures.addWidget(self.filters, 1)
        pictures.addWidget(self.weights, 1)
        layout = theme.column(self)
        layout.addLayout(pictures, 1)
        layout.addWidget(self.text)
        layout.addStretch()  # while there are no pictures, the text stays at the top

    def draw(self, group: PersonalDictionary, index: tuple[int, ...]) -> None:
        """Show a group, its filters at that position of their other axes if they have it."""
        self._group = group
        count = self._count
        for picture in (self.filters, self.weights):
            picture.setVisible(count > 0)
        if not count:
            self.text.say(f"All {len(group.members)} patches of the group are alike.")
            return
        filters = _pictures(group.filters[:count])
        others = filters.shape[1:-2]
        if len(index) != len(others) or any(i >= n for i, n in zip(index, others, strict=True)):
            index = tuple(n // 2 for n in others)
        self.filters.show_filters(filters, index)
        self.weights.show_picture(diverging(group.weights[:, :count]))
        self._show_chosen()

    @property
    def _count(self) -> int:
        return 0 if self._group is None else min(_MOST, len(self._group.powers))

    @handler
    def _point(self, number: int, *_pixel: int) -> None:
        if number != self._chosen:
            self._chosen = number
            self._show_chosen()

    @handler
    def _point_column(self, _row: int, column: int) -> None:
        self._point(column)

    @handler
    def _step_filters(self, down: int, right: int) -> None:
        self._point(self.filters.neighbour(self._chosen, down, right))

    @handler
    def _step_columns(self, _down: int, right: int) -> None:
        self._point(min(max(self._chosen + right, 0), self._count - 1))

    def _show_chosen(self) -> None:
        group = self._group
        if group is None or not self._count:
            return
        k = min(self._chosen, self._count - 1)
        self.filters.outline_filter(k)
        self.weights.outline(k, 0, 1, len(group.weights))
        total = float(group.powers.sum()) + group.outside
        self.text.say(
            f"D {k} holds {group.powers[k] / total:.0%} of how the {len(group.members)} patches "
            f"differ, all of D {1 - group.outside / total:.0%}",
            f"D {k} = {sum_of_filters(group.weights[:, k])}",
        )

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        self.filters.recolour(palette)
        self.weights.recolour(palette)


def group_table(group: PersonalDictionary) -> Table:
    """The power of each filter of the group, and below it its column of W."""
    names = ["base filter", *(f"D {k}" for k in range(len(group.powers)))]
    rows = ([r, *row] for r, row in enumerate(group.weights.tolist()))
    return [names, ["power", *group.powers.tolist()], *rows]


def group_layer(group: PersonalDictionary, labels: Sequence[str]) -> LayerData:
    """The mosaic of all filters of the group, as a layer; labels are those of the filters."""
    mosaic = mosaic_of(_pictures(group.filters))
    return layer_data(mosaic, "filters of the group", labels, 1.0, plot="group")


def _pictures(filters: Array) -> Array:
    """Filters (K, *others, y, x), also of filters that have one axis only."""
    return filters[:, None] if filters.ndim == 2 else np.asarray(filters)
