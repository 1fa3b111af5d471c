"""What made one pixel: the base filters, and the group of patches like the one around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from qtpy.QtCore import QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import QHideEvent, QIcon, QPalette, QPixmap, QShowEvent
from qtpy.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QRadioButton,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from napari_scsc._types import LayerData
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.explanation_bars import BARS, ExplanationBars
from napari_scsc.plugin.plots.explanation_lines import (
    ExplanationLine,
    amount,
    lines_of,
    rest_before,
    scale_of,
)
from napari_scsc.plugin.plots.group_view import GroupView, group_layer, group_table
from napari_scsc.plugin.plots.plot_content import PlotContent, place_text
from napari_scsc.plugin.plots.plot_export import Table
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_widgets import TextLine

if TYPE_CHECKING:
    from napari_scsc.restore.explain import Explanation
    from napari_scsc.restore.personal_dictionary import PersonalDictionary

_HINT = "Once there are filters, click a pixel of the image to see what made it."
_HINT_LINES, _HEAD_LINES = 4, 2
_NO_PICTURES = "The filters have changed since: click again to see them."
_SIDE = 24  # pixels of a filter's picture
_NAMES, _AMOUNTS = 0, 2  # columns, on both sides of the bars


class ExplainTab(PlotTab):
    """The pixel, and one of two pages on what made it.

    One has the few filters that matter with what they add, and all others in one line; the other
    the personal dictionary of the group of patches like the one around the pixel.
    """

    title = "Explain"
    tip = "What made a pixel: base filters, and patches like the one around it"
    is_picture = False
    seen = Signal(bool)  # the tab appeared on the screen, or went
    turned = Signal()  # another page is to be seen

    def __init__(self) -> None:
        super().__init__()
        self._explanation: Explanation | None = None
        self._group: PersonalDictionary | None = None
        self._of: PlotContent | None = None  # with whose filters it was explained
        self._lines: list[ExplanationLine] = []
        self._scale = 1.0
        self.headline = TextLine(lines=_HINT_LINES)
        self.list = QTreeWidget()
        self.bars = ExplanationBars(self.list)
        self.text = TextLine(lines=2)
        self._set_up_list()
        parts = QWidget()
        column = theme.column(parts)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.list, 1)
        column.addWidget(self.text)
        self.group = GroupView()
        self.pages = QStackedWidget()
        self.pages.addWidget(parts)
        self.pages.addWidget(self.group)
        self.choice = QWidget()
        self.by_filters, self.by_group = QRadioButton("base filters"), QRadioButton("its group")
        self._set_up_choice()
        layout = theme.column(self)
        layout.addWidget(self.headline)
        layout.addWidget(self.choice)
        layout.addWidget(self.pages, 1)
        layout.addStretch()  # while the pages are hidden, the hint stays at the top
        self.draw(None, ())

    def _set_up_choice(self) -> None:
        self.by_filters.setToolTip("What each base filter adds to the pixel")
        self.by_group.setToolTip(
            "The patches like the one around the pixel, outlined in the image, and the filters "
            "D = B W that this group mixes for itself"
        )
        self.by_filters.setChecked(True)
        row = QHBoxLayout(self.choice)
        row.setContentsMargins(0, 0, 0, 0)
        for button in (self.by_filters, self.by_group):
            row.addWidget(button)
        row.addStretch()
        self.by_group.toggled.connect(self._turn_page)

    def _set_up_list(self) -> None:
        view = self.list
        view.setAccessibleName("What each base filter adds to the pixel")
        view.setColumnCount(3)
        view.setHeaderHidden(True)
        view.setRootIsDecorated(False)
        view.setUniformRowHeights(True)
        view.setAllColumnsShowFocus(True)
        view.setIconSize(QSize(_SIDE, _SIDE))
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setItemDelegate(self.bars)
        header = view.header()
        header.setMinimumSectionSize(10)
        header.setStretchLastSection(False)
        for column in (_NAMES, _AMOUNTS):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(BARS, QHeaderView.ResizeMode.Stretch)
        view.setMouseTracking(True)
        view.itemEntered.connect(self._point)
        view.currentItemChanged.connect(self._show_chosen)

    @handler
    def _turn_page(self, to_group: bool) -> None:
        self.pages.setCurrentWidget(self.group if to_group else self.pages.widget(0))
        self.is_picture = to_group
        self.turned.emit()

    def explain(
        self,
        explanation: Explanation | None,
        content: PlotContent | None,
        group: PersonalDictionary | None = None,
    ) -> None:
        """Take what is to be drawn, and the content with whose filters it was explained."""
        self._explanation, self._of, self._group = explanation, content, group
        if group is None:
            self.by_filters.setChecked(True)

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show the pixel, with pictures of its filters at that position of their other axes."""
        explanation = self._explanation
        self.pages.setVisible(explanation is not None)
        self.choice.setVisible(self._group is not None)
        if explanation is None:
            self.headline.set_lines(_HINT_LINES)
            self.headline.say(_HINT)
            return
        self.headline.set_lines(_HEAD_LINES)
        self._lines = lines_of(explanation, self._of or content)
        self._scale = scale_of(self._lines)
        headline = _headline(explanation, self._scale)
        if _same_filters(self._of, content):
            self.headline.say(headline)
            self._fill_list(content, index)
        else:
            self.headline.say(headline, _NO_PICTURES)
            self._fill_list(None, index)
        if self._group is not None:
            self.group.draw(self._group, index)

    def _fill_list(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        self.bars.show_lines(self._lines, self._scale)
        with QSignalBlocker(self.list):
            self.list.clear()
            for line in self._lines:
                self.list.addTopLevelItem(self._item(line, content, index))
        if self._lines:
            row = min(self.bars.chosen, len(self._lines) - 1)
            self.list.setCurrentItem(self.list.topLevelItem(row))

    def _item(
        self, line: ExplanationLine, content: PlotContent | None, index: tuple[int, ...]
    ) -> QTreeWidgetItem:
        item = QTreeWidgetItem([line.name, "", amount(line.part, self._scale, sign="+")])
        item.setIcon(_NAMES, _icon(line, content, index))
        item.setTextAlignment(_AMOUNTS, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setData(_NAMES, Qt.ItemDataRole.AccessibleTextRole, self._sentence(line))
        return item

    def _sentence(self, line: ExplanationLine) -> str:
        text = f"{line.name}: {amount(line.part, self._scale, sign='+')} of the result"
        if line.before is not None:
            text += f", {amount(line.before, self._scale, sign='+')} of the source (grey)"
        return text

    @handler
    def _point(self, item: QTreeWidgetItem) -> None:
        """The mouse is over a line."""
        self.list.setCurrentItem(item)

    @handler
    def _show_chosen(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.bars.chosen = self.list.indexOfTopLevelItem(item)
            self.text.say(self._sentence(self._lines[self.bars.chosen]))

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether no pixel was explained yet."""
        return self._explanation is None

    @property
    def _shown_group(self) -> PersonalDictionary | None:
        """The group, if its page is to be seen."""
        return self._group if self.by_group.isChecked() else None

    def table(self, content: PlotContent | None) -> Table:
        """One row a filter, the largest part first; then what they do not explain, and the sum."""
        if self._shown_group is not None:
            return group_table(self._shown_group)
        explanation = self._explanation
        assert explanation is not None
        nothing: list[float | str] = [""] * len(explanation.filters)
        before = explanation.parts_before
        pairs = zip(
            explanation.filters.tolist(),
            explanation.parts.tolist(),
            nothing if before is None else before.tolist(),
            strict=True,
        )
        where = place_text(explanation.labels, explanation.position)
        return [
            ["base filter", f"part of the result at {where}", "part of the source"],
            *pairs,
            ["no filter", float(explanation.rest), _or_nothing(rest_before(explanation))],
            ["sum", float(explanation.value), _or_nothing(explanation.before)],
        ]

    def no_layer(self, content: PlotContent | None) -> str:
        """Why there is no layer."""
        if self._shown_group is None or self._of is None:
            return "An explanation cannot be a layer: save it as a picture or a table"
        return "" if len(self._shown_group.powers) else "The group has no filters"

    def layer(self, content: PlotContent | None) -> LayerData:
        """The filters of the group."""
        if self._shown_group is None or self._of is None:
            raise ValueError(self.no_layer(content))
        return group_layer(self._shown_group, [label or "y" for label in self._of.labels])

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        colours = QPalette(palette)
        # The list lies in the tab like everything else, and not in a field of its own.
        colours.setColor(QPalette.ColorRole.Base, palette.color(QPalette.ColorRole.Window))
        colours.setColor(QPalette.ColorRole.Text, palette.color(QPalette.ColorRole.WindowText))
        self.list.setPalette(colours)
        self.group.recolour(palette)

    @handler
    def showEvent(self, event: QShowEvent | None) -> None:
        """Tell that somebody looks."""
        super().showEvent(event)
        if event is not None and not event.spontaneous():
            self.seen.emit(True)

    @handler
    def hideEvent(self, event: QHideEvent | None) -> None:
        """Tell that nobody looks any more."""
        super().hideEvent(event)
        if event is not None and not event.spontaneous():
            self.seen.emit(False)


def _headline(explanation: Explanation, scale: float) -> str:
    where = place_text(explanation.labels, explanation.position)
    text = f"{where}: {amount(explanation.value, scale)}"
    if explanation.before is not None:
        text += f" (was {amount(explanation.before, scale)})"
    return text


def _or_nothing(value: float | None) -> float | str:
    return "" if value is None else float(value)


def _same_filters(then: PlotContent | None, now: PlotContent | None) -> bool:
    """Whether the filters of an explanation, if they were known, are those that are shown."""
    return then is None or (now is not None and np.array_equal(then.filters, now.filters))


def _icon(line: ExplanationLine, content: PlotContent | None, index: tuple[int, ...]) -> QIcon:
    """The filter's picture, or as much room if there is none."""
    canvas = QPixmap(_SIDE, _SIDE)
    canvas.fill(Qt.GlobalColor.transparent)
    if content is not None and line.number is not None and line.number < len(content.filters):
        theme.draw_framed(canvas, content.picture(line.number, index))
    return QIcon(canvas)
