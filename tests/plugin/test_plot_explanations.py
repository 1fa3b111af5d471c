"""The live plots: what made a pixel, and how it looks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pytestqt")

import pyqtgraph as pg
from plot_tools import EXPLAIN, FILTERS, PROGRESS, make_explanation, make_update, settle, show
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QColor, QPalette, QWheelEvent
from qtpy.QtWidgets import QAbstractButton, QApplication

from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.plots import Plots
from napari_scsc.plugin.plots.plot_widgets import TextLine


def lines(plots):
    """Name and amount of each line of the explanation."""
    view = plots.explain.list
    items = [view.topLevelItem(i) for i in range(view.topLevelItemCount())]
    return {item.text(0): item.text(2) for item in items}


def picture_in_line(plots, row):
    """The pixel in the middle of a line's picture; transparent if it has none."""
    icon = plots.explain.list.topLevelItem(row).icon(0)
    picture = icon.pixmap(plots.explain.list.iconSize()).toImage()
    return picture.pixelColor(picture.width() // 2, picture.height() // 2)


def bar_colours(plots, row):
    """Which colours the bar of a line has to the left and to the right of zero."""
    view = plots.explain.list
    view.setCurrentItem(view.topLevelItem(0 if row else 1))  # the chosen one has a background
    cell = view.visualRect(view.model().index(row, 1))
    image = view.viewport().grab().toImage()
    middle, y = cell.center().x(), cell.center().y()

    def saturated(columns):
        colours = {image.pixelColor(x, y).name() for x in columns}
        return {name for name in colours if QColor(name).saturation() > 100}

    left = saturated(range(cell.left() + 1, middle - 3))
    return left, saturated(range(middle + 3, cell.right()))


def test_without_an_explanation_the_tab_says_how_to_get_one(plots, qtbot):
    show(plots, qtbot, EXPLAIN)
    assert "click a pixel" in plots.explain.headline.text()
    plots.show_explanation(make_explanation())
    settle(plots, qtbot)
    assert "Click a pixel" not in plots.explain.headline.text()
    plots.show_explanation(None)
    settle(plots, qtbot)
    assert "click a pixel" in plots.explain.headline.text()
    assert not plots.explain.list.isVisible()


def test_an_explanation_names_the_pixel_and_what_each_filter_adds(plots, qtbot):
    filters = make_update((3, 5, 5)).B
    plots.show_bank(filters, 0)
    plots.show_explanation(make_explanation((0.1, -0.2, 0.5), value=0.532, before=0.611))
    show(plots, qtbot, EXPLAIN)
    assert plots.explain.headline.text() == "y 34, x 50: 0.532 (was 0.611)"
    assert lines(plots) == {"B 2": "+0.500", "B 1": "-0.200", "B 0": "+0.100"}
    assert list(lines(plots)) == ["B 2", "B 1", "B 0"]  # the largest first
    for row, number in enumerate((2, 1, 0)):
        colour = picture_in_line(plots, row).getRgb()[:3]
        assert colour == tuple(diverging(filters[number])[2, 2])
    left, right = bar_colours(plots, 0)
    assert right
    assert not left
    left, right = bar_colours(plots, 1)
    assert left
    assert not right


def test_many_filters_are_summed_and_what_none_explains_is_told(plots, qtbot):
    parts = 0.5 ** np.arange(20)
    explanation = make_explanation(parts, rest=0.25, before=None, parts_before=None)
    plots.show_explanation(explanation)
    show(plots, qtbot, EXPLAIN)
    assert len(lines(plots)) == 8
    assert lines(plots)["14 others"] == f"{parts[6:].sum():+.2f}"
    assert lines(plots)["no filter"] == "+0.25"
    assert "was" not in plots.explain.headline.text()


@pytest.mark.parametrize(
    ("shape", "n_joint", "mean"), [((3, 5, 5), 0, 0.2), ((3, 4, 5, 5), 1, [0.1, 0.2, 0.3, 0.4])]
)
def test_a_constant_filter_is_called_mean_and_leaves_room_for_the_others(
    plots, qtbot, shape, n_joint, mean
):
    filters = make_update(shape).B
    filters[0] = np.reshape(mean, (-1, 1, 1))
    plots.show_bank(filters, n_joint)
    plots.show_explanation(make_explanation((900.0, 20.0, -5.0)))
    show(plots, qtbot, EXPLAIN)
    assert list(lines(plots)) == ["B 0 (mean)", "B 1", "B 2"]
    assert bar_colours(plots, 1)[1]


def test_what_no_filter_explains_leaves_room_for_the_filters(plots, qtbot):
    """Filters without a constant one leave the local mean, which is nearly all of the value."""
    plots.show_explanation(make_explanation((20.0, -5.0), value=915.0, rest=900.0))
    show(plots, qtbot, EXPLAIN)
    assert lines(plots)["no filter"] == "+900.0"
    assert plots.explain._scale == 30.0  # of the source


def test_the_mean_over_an_axis_is_named(plots, qtbot):
    explanation = make_explanation(position=(3, 4, None), labels=("y", "x", "c"))
    plots.show_explanation(explanation)
    show(plots, qtbot, EXPLAIN)
    assert plots.explain.headline.text().startswith("y 3, x 4, mean of c: ")


def test_lines_of_an_explanation_are_reached_by_keyboard(plots, qtbot):
    plots.show_explanation(make_explanation((0.5, -0.2, 0.1)))
    show(plots, qtbot, EXPLAIN)
    view = plots.explain.list
    assert view.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert view.accessibleName()
    assert plots.explain.text.text().startswith("B 0: +0.500 of the result, +0.750 of the source")
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert plots.explain.text.text().startswith("B 1: -0.200 of the result, -0.300 of the source")
    # Another pixel leaves the choice where it is.
    plots.show_explanation(make_explanation((0.5, -0.1, 0.2)))
    settle(plots, qtbot)
    assert plots.explain.text.text().startswith("B 2: +0.200")


@pytest.mark.parametrize("known", [True, False])
def test_an_explanation_by_other_filters_has_no_wrong_pictures(plots, qtbot, known):
    if known:
        plots.show_bank(make_update((9, 5, 5)).B, 0)
    plots.show_explanation(make_explanation(np.arange(1, 10)))
    plots.show_bank(make_update((2, 3, 4, 4), sample=2).B, 1)
    show(plots, qtbot, EXPLAIN)
    assert list(lines(plots))[:2] == ["B 8", "B 7"]
    assert picture_in_line(plots, 0).alpha() == 0
    assert ("filters have changed" in plots.explain.headline.text()) == known


def test_pictures_in_an_explanation_follow_the_sliders(plots, qtbot):
    filters = make_update((3, 4, 5, 5)).B
    plots.show_bank(filters, 1)
    plots.show_explanation(make_explanation())
    show(plots, qtbot, EXPLAIN)
    plots.filters.positions.sliders[0].setValue(3)
    settle(plots, qtbot)
    limit = np.abs(filters[0]).max()
    assert picture_in_line(plots, 0).getRgb()[:3] == tuple(diverging(filters[0, 3], limit)[2, 2])


def test_explaining_is_true_while_its_tab_can_be_seen(plots, qtbot):
    told = []
    plots.explaining_changed.connect(lambda now: told.append((now, plots.explaining)))
    plots.tabs.setCurrentIndex(EXPLAIN)
    assert not plots.explaining
    plots.show()
    assert plots.explaining
    plots.tabs.setCurrentIndex(FILTERS)
    assert not plots.explaining
    plots.tabs.setCurrentIndex(EXPLAIN)
    plots.close()
    assert not plots.explaining
    assert told == [(True, True), (False, False)] * 2


def test_colours_follow_the_palette(plots, qtbot):
    plots.show_update(make_update())
    show(plots, qtbot, PROGRESS)
    for back, text in (("#202124", "#eeeeee"), ("#f5f5f5", "#101010")):
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Window, QColor(back))
        palette.setColor(QPalette.ColorRole.WindowText, QColor(text))
        plots.setPalette(palette)
        QApplication.processEvents()
        for view in (
            plots.filters.picture.view,
            plots.filters.spectrum,
            plots.weights.picture.view,
            plots.progress.view,
        ):
            assert view.backgroundBrush().color().name() == back
        listed = plots.explain.list.palette()
        assert listed.color(QPalette.ColorRole.Base).name() == back
        assert listed.color(QPalette.ColorRole.Text).name() == text
        axis = plots.progress.plots[0].getAxis("left")
        assert axis.textPen().color().name() == text
        title = plots.progress.plots[0].titleLabel
        assert QColor(title.opts["color"]).name() == text
        curve = plots.progress.curves[0].opts["pen"].color()
        assert abs(curve.lightness() - QColor(back).lightness()) > 80


def test_no_option_of_pyqtgraph_is_touched(qtbot):
    before = dict(pg.CONFIG_OPTIONS)
    qtbot.addWidget(Plots())
    assert dict(pg.CONFIG_OPTIONS) == before


def test_it_fits_a_dock(plots, qtbot):
    plots.show_bank(make_update((80, 31, 5, 5)).B, 1)
    show(plots, qtbot)
    assert plots.minimumSizeHint().width() <= 340
    assert plots.minimumSizeHint().height() <= 420
    assert plots.tabs.tabBar().sizeHint().width() <= 340
    buttons = plots.buttons
    for button in (buttons.to_layer, buttons.save):
        assert button.accessibleName()
        assert button.toolTip()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    below = (plots.filters.positions, plots.filters.spectrum, plots.filters.scale)
    widgets = (plots.filters.picture, *below, plots.filters.text)

    def lie_below_each_other():
        for upper, lower in pairwise(widgets):
            assert upper.geometry().bottom() < lower.geometry().top()

    qtbot.waitUntil(lie_below_each_other)
    assert plots.filters.text.geometry().bottom() < plots.filters.height()


def test_the_wheel_is_left_to_the_dock(plots, qtbot):
    plots.show_update(make_update())
    show(plots, qtbot)
    view = plots.filters.picture.view
    before = plots.filters.picture.plot.viewRange()
    centre = QPointF(view.rect().center())
    event = QWheelEvent(
        centre,
        QPointF(view.mapToGlobal(centre.toPoint())),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    event.ignore()
    QApplication.sendEvent(view.viewport(), event)
    assert not event.isAccepted()
    assert plots.filters.picture.plot.viewRange() == before


@pytest.mark.parametrize("is_empty", [True, False])
def test_nothing_is_cut_in_a_narrow_dock_with_large_type(plots, qtbot, is_empty):
    font = plots.font()
    font.setPointSizeF(16)
    plots.setFont(font)
    plots.resize(320, 560)
    if not is_empty:
        plots.show_update(make_update())
        plots.show_explanation(make_explanation())
    for tab in range(5):
        show(plots, qtbot, tab)
        assert plots.width() == 320
        assert not plots.tabs.tabBar().isVisible()  # five names have no room
        assert plots.chooser.isVisible()
        assert plots.chooser.currentText() == plots.tabs.tabText(tab)
        for button in plots.findChildren(QAbstractButton):
            if button.isVisible() and button.text():
                assert button.width() >= button.sizeHint().width(), button.text()
        for line in plots.findChildren(TextLine):
            if line.isVisible():
                assert line.heightForWidth(line.width()) <= line.height(), line.text()
                assert line.toolTip() == line.text()


def test_the_list_of_tabs_chooses_and_goes_when_there_is_room(plots, qtbot):
    show(plots, qtbot, FILTERS)
    plots.resize(120, 560)
    assert plots.chooser.isVisible()
    plots.chooser.activated.emit(EXPLAIN)
    assert plots.explaining
    plots.resize(600, 560)
    assert plots.tabs.tabBar().isVisible()
    assert not plots.chooser.isVisible()


def test_headings_of_curves_grow_with_the_type(plots, qtbot):
    plots.show_update(make_update())
    show(plots, qtbot, PROGRESS)
    heading = plots.progress.plots[0].titleLabel
    small = heading.item.boundingRect().height()
    font = plots.font()
    font.setPointSizeF(2 * font.pointSizeF())
    plots.setFont(font)
    assert heading.item.boundingRect().height() > 1.5 * small
