"""The live plots: what they draw, when they draw it, and what they leave behind."""

from __future__ import annotations

import csv
import gc
import subprocess
import sys
import weakref
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pytestqt")

import imageio.v3 as iio
import pyqtgraph as pg
from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
from qtpy.QtGui import QColor, QPalette, QWheelEvent
from qtpy.QtWidgets import QApplication, QFileDialog

from napari_scsc.data.pictures import diverging
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.plots import Plots
from napari_scsc.plugin.plots.content import Ranking
from napari_scsc.restore.explain import Explanation

TABS = FILTERS, WEIGHTS, PROGRESS, EXPLAIN = range(4)


def make_update(shape=(6, 5, 5), n_filters=9, sample=1, **changes):
    rng = np.random.default_rng(sample)
    values = {
        "sample": sample,
        "B": rng.standard_normal(shape).astype(np.float32),
        "W": rng.standard_normal((shape[0], n_filters)).astype(np.float32),
        "use": rng.exponential(size=n_filters),
        "objective": 10.0 / sample,
        "sparsity": 0.05,
        "psnr": 30.0 + sample,
        "seconds": 0.1 * sample,
        "iterations": 3,
        "converged": True,
    }
    return SampleUpdate(**{**values, **changes})


def make_explanation(parts=(0.5, -0.2, 0.1), **changes):
    """Of filters 0, 1, 2, ... with these parts."""
    parts = np.array(parts)
    order = np.argsort(-np.abs(parts), kind="stable")
    values = {
        "position": (34, 50),
        "labels": ("y", "x"),
        "value": float(parts.sum()),
        "before": 0.6,
        "filters": order,
        "parts": parts[order],
        "parts_before": 1.5 * parts[order],
        "rest": 0.0,
    }
    return Explanation(**{**values, **changes})


@pytest.fixture
def plots(qtbot):
    widget = Plots(rate=1000)
    qtbot.addWidget(widget)
    widget.resize(340, 420)
    return widget


def show(plots, qtbot, tab=FILTERS):
    plots.tabs.setCurrentIndex(tab)
    plots.show()
    settle(plots, qtbot)


def settle(plots, qtbot):
    """Wait until the visible tab shows the newest content."""
    qtbot.waitUntil(lambda: plots.tabs.currentIndex() not in plots._stale)


def point_at(picture, row, column):
    picture.hover(picture.image.mapToScene(QPointF(column + 0.5, row + 0.5)))


def pixels(picture):
    return picture.image.image


# --- when it draws ------------------------------------------------------------------------------


def test_nothing_is_drawn_while_hidden(plots, qtbot):
    for sample in range(1, 20):
        plots.show_update(make_update(sample=sample))
    qtbot.wait(30)
    assert plots.redraws == 0
    assert not plots._timer.isActive()
    show(plots, qtbot)
    assert plots.redraws == 1

    plots.hide()
    plots.show_update(make_update(sample=20))
    qtbot.wait(30)
    assert plots.redraws == 1


def test_only_the_visible_tab_is_drawn(plots, qtbot):
    show(plots, qtbot, PROGRESS)
    plots.show_update(make_update())
    settle(plots, qtbot)
    assert plots.filters.picture.image.image is None
    plots.tabs.setCurrentIndex(FILTERS)
    settle(plots, qtbot)
    assert plots.filters.picture.image.image is not None


def test_updates_faster_than_the_rate_are_skipped_and_the_newest_is_shown(plots, qtbot):
    show(plots, qtbot)
    plots.rate = 5
    before = plots.redraws
    for sample in range(1, 101):
        plots.show_update(make_update(sample=sample))
        QApplication.processEvents()
    assert plots.redraws - before < 20
    settle(plots, qtbot)
    assert plots.filters._content.filters is not None
    np.testing.assert_array_equal(plots.filters._content.filters, make_update(sample=100).B)


def test_items_are_reused(plots, qtbot):
    show(plots, qtbot)
    plots.show_update(make_update())
    settle(plots, qtbot)
    image, count = plots.filters.picture.image, len(plots.filters.picture.view.scene().items())
    plots.show_update(make_update(sample=2))
    settle(plots, qtbot)
    assert plots.filters.picture.image is image
    assert len(plots.filters.picture.view.scene().items()) == count


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_must_be_positive(plots, rate):
    with pytest.raises(ValueError, match="rate"):
        plots.rate = rate


# --- what it draws ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "n_joint", "sliders"),
    [
        ((6, 5, 5), 0, 0),
        ((4, 11), 0, 0),
        ((5, 3, 7, 7), 0, 1),
        ((7, 31, 3, 3), 1, 1),
        ((3, 6, 11), 1, 0),
        ((8, 8, 8, 3, 3), 2, 2),
        ((3, 2, 2, 2, 3, 3), 1, 3),
        ((1, 5, 5), 0, 0),
        ((1, 1, 1), 0, 0),
    ],
)
@pytest.mark.parametrize("n_filters", [1, 12])
def test_every_shape_is_drawn_in_every_tab(plots, qtbot, shape, n_joint, sliders, n_filters):
    plots.set_axes(n_joint)
    update = make_update(shape, n_filters)
    plots.show_update(update)
    for tab in (FILTERS, WEIGHTS, PROGRESS):
        show(plots, qtbot, tab)
        assert not plots.grab().isNull()
    assert len(plots.filters.positions.sliders) == sliders
    assert pixels(plots.weights.picture).shape == (shape[0], n_filters, 3)
    layer = plots.mosaic_layer()
    assert layer.ndim == 2 + sliders
    assert np.isfinite(layer).all()
    assert np.abs(layer).max() == pytest.approx(1)
    assert plots.filters.spectrum.isHidden() == (shape != (7, 31, 3, 3))


@pytest.mark.parametrize("value", [0.0, 0.5, np.nan, np.inf])
def test_constant_and_broken_filters_have_a_colour(plots, qtbot, value):
    B, W = np.full((3, 5, 5), value, np.float32), np.full((3, 4), value, np.float32)
    use = np.full(4, value)
    plots.show_update(make_update(B=B, W=W, use=use, psnr=np.inf, objective=np.nan))
    plots.show_explanation(make_explanation((value, value, value), rest=value))
    for tab in TABS:
        show(plots, qtbot, tab)
        assert not plots.grab().isNull()
    assert np.isfinite(plots.mosaic_layer()).all()
    assert np.isfinite(plots.weights_table()).all()


def test_filters_lie_row_by_row_with_a_line_between_them(plots, qtbot):
    filters = make_update((5, 4, 4)).B
    plots.show_bank(filters, 0)
    show(plots, qtbot)
    picture = pixels(plots.filters.picture)
    assert picture.shape == (2 * 5 + 1, 3 * 5 + 1, 4)
    for r, one in enumerate(filters):
        y, x = (r // 3) * 5 + 1, (r % 3) * 5 + 1
        np.testing.assert_array_equal(picture[y : y + 4, x : x + 4, :3], diverging(one))
    assert (picture[:6:5, :, :3] == picture[0, 0, :3]).all()
    assert (picture[-5:, -5:, 3] == 0).all()  # nothing where the sixth would be
    assert (picture[:6, :, 3] == 255).all()
    # y is down, as in napari.
    image = plots.filters.picture.image
    assert image.mapToScene(QPointF(0, 0)).y() < image.mapToScene(QPointF(0, 5)).y()


def test_sliders_turn_the_filters_and_the_composed_filter(plots, qtbot):
    update = make_update((4, 3, 2, 5, 5))
    plots.set_axes(2, ("u", "v", "y", "x"))
    plots.show_update(update)
    show(plots, qtbot)
    positions = plots.filters.positions
    assert [s.accessibleName() for s in positions.sliders] == [
        "Position along u",
        "Position along v",
    ]
    assert all(s.focusPolicy() & Qt.FocusPolicy.TabFocus for s in positions.sliders)
    positions.sliders[0].setFocus()
    qtbot.keyClick(positions.sliders[0], Qt.Key.Key_Right)
    settle(plots, qtbot)
    assert positions.index == (2, 1)
    point_at(plots.filters.picture, 1, 1)
    assert plots.filters.text.text() == f"B 0, u 2, v 1, y 0, x 0: {update.B[0, 2, 1, 0, 0]:.3g}"
    # An update of the same axes leaves the sliders where they are.
    plots.show_update(make_update((4, 3, 2, 5, 5), sample=2))
    settle(plots, qtbot)
    assert positions.index == (2, 1)


def test_an_axis_can_be_played_and_rests_when_hidden(plots, qtbot):
    plots.show_bank(make_update((4, 3, 5, 5)).B, 0, ("t", "y", "x"))
    show(plots, qtbot)
    positions = plots.filters.positions
    positions._timer.setInterval(1)
    positions.players[0].click()
    qtbot.waitUntil(lambda: positions.index == (0,))  # it goes round
    plots.hide()
    assert not positions._timer.isActive()
    plots.show()
    assert positions._timer.isActive()
    positions.players[0].click()
    assert not positions._timer.isActive()


def test_the_spectrum_is_that_of_the_chosen_point(plots, qtbot):
    filters = make_update((4, 31, 3, 3)).B
    plots.show_bank(filters, 1, ("c", "y", "x"))
    show(plots, qtbot)
    point_at(plots.filters.picture, 2, 4 + 3)
    _, values = plots.filters._spectrum.getData()
    np.testing.assert_array_equal(values, filters[1, :, 1, 2])


def test_hovering_a_filter_names_it(plots, qtbot):
    update = make_update((6, 5, 5))
    plots.show_update(update)
    show(plots, qtbot)
    picture = plots.filters.picture
    for r in range(6):
        point_at(picture, (r // 3) * 6 + 1 + 3, (r % 3) * 6 + 1 + 2)
        assert plots.filters.text.text() == f"B {r}, y 3, x 2: {update.B[r, 3, 2]:.3g}"
    point_at(picture, 0, 0)  # a line between filters changes nothing
    point_at(picture, -5, 300)  # nor does a place beside the picture
    assert plots.filters.text.text().startswith("B 5, ")


def test_hovering_the_weights_names_the_pair_and_composes_the_filter(plots, qtbot):
    update = make_update((10, 5, 5), 20)
    plots.show_update(update)
    show(plots, qtbot, WEIGHTS)
    order = np.argsort(-update.use)
    point_at(plots.weights.picture, 7, 12)
    k = order[12]
    first, second, *_ = plots.weights.text.text().split("\n")
    assert first == f"B 7 \N{MULTIPLICATION SIGN} column {k}: {update.W[7, k]:.2g}"
    largest = np.argmax(np.abs(update.W[:, k]))
    start = f"D {k} = {update.W[largest, k]:.2g} B {largest}"
    assert second.replace("\N{NO-BREAK SPACE}", " ").startswith(start)

    composed = np.tensordot(update.W[:, k], update.B, 1)
    shown = plots.weights.composed.pixmap().toImage()
    step = shown.width() / 5
    for y, x in ((0, 0), (2, 3), (4, 4)):
        colour = shown.pixelColor(int((x + 0.5) * step), int((y + 0.5) * step))
        assert colour.getRgb()[:3] == tuple(diverging(composed)[y, x])


def test_the_mouse_itself_is_followed(plots, qtbot):
    plots.show_update(make_update())
    show(plots, qtbot, WEIGHTS)
    view, image = plots.weights.picture.view, plots.weights.picture.image

    def move_there():
        # pyqtgraph leaves out moves that come within ten milliseconds.
        where = view.mapFromScene(image.mapToScene(QPointF(3.5, 2.5)))
        for point in (where + QPoint(0, 1), where):
            qtbot.mouseMove(view.viewport(), point)
            qtbot.wait(15)
        assert plots.weights._chosen == (2, 3)

    qtbot.waitUntil(move_there)


def test_arrow_keys_choose(plots, qtbot):
    plots.show_update(make_update((6, 5, 5)))
    show(plots, qtbot)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Left):
        qtbot.keyClick(plots.filters.picture.view, key)
    assert plots.filters.text.text().startswith("B 3, ")
    show(plots, qtbot, WEIGHTS)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(plots.weights.picture.view, key)
    assert plots.weights.text.text().startswith("B 1 ")


def test_columns_are_ordered_by_use_and_the_axis_says_so(plots, qtbot):
    W = np.array([[1, 0.5, 1 + 1e-7, 2, 0]], np.float32)
    plots.show_update(make_update((1, 3, 3), W=W, use=np.array([0, 9, 1, 4, 2])))
    show(plots, qtbot, WEIGHTS)
    np.testing.assert_array_equal(plots.weights_table(), W[:, [1, 3, 4, 2, 0]])
    axis = plots.weights.picture.plot.getAxis("bottom")
    assert "by use" in axis.labelText
    # What is known of a bank is only how long its columns are: those of equal length stay.
    plots.show_bank(np.ones((1, 3, 3)), 0, weights=W)
    settle(plots, qtbot)
    np.testing.assert_array_equal(plots.weights_table(), W[:, [3, 0, 2, 1, 4]])
    assert "by use" not in axis.labelText
    assert "by length" in axis.labelText


def test_columns_used_about_as_much_keep_their_places(plots):
    W = np.arange(4, dtype=np.float32)[None]
    for use, order in (
        ([4, 3, 2, 1], [0, 1, 2, 3]),
        ([3.05, 3.0, 2.02, 2.04], [0, 1, 2, 3]),
        ([3.0, 3.05, 2.04, 2.02], [0, 1, 2, 3]),
        ([2.0, 3.05, 2.04, 9.0], [3, 1, 0, 2]),
        ([0, 0, 0, 0], [3, 1, 0, 2]),
    ):
        plots.show_update(make_update((1, 3, 3), W=W, use=np.array(use, float)))
        np.testing.assert_array_equal(plots.weights_table()[0], order)


def test_the_order_is_never_far_from_the_truth_and_calmer_than_it():
    rng = np.random.default_rng(0)
    ranking, use = Ranking(), rng.exponential(size=60)
    shown, true = [], []
    for _ in range(50):
        use = use * np.exp(0.02 * rng.standard_normal(60))
        order = ranking.order(use)
        assert sorted(order) == list(range(60))
        most_used_behind = np.maximum.accumulate(use[order][::-1])[::-1]
        barely = 1e-3 * use.max()
        assert (1.2 * use[order] + barely >= most_used_behind).all()
        shown.append(order)
        true.append(np.argsort(-use))

    def moves(orders):
        return sum(int((a != b).sum()) for a, b in pairwise(orders))

    assert moves(shown) < 0.5 * moves(true)


def test_curves_hold_every_update_and_a_new_run_begins_anew(plots, qtbot):
    show(plots, qtbot, PROGRESS)
    for sample in range(1, 6):
        plots.show_update(make_update(sample=sample, psnr=np.inf if sample == 2 else 30.0))
    settle(plots, qtbot)
    objective, sparsity, psnr = (curve.getData() for curve in plots.progress.curves)
    np.testing.assert_allclose(objective[0], [0.1, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(sparsity[1], 5.0)
    assert len(psnr[0]) == 4
    assert plots.progress.text.text() == "5 samples in 0.5 s"
    plots.show_update(make_update(sample=1))
    settle(plots, qtbot)
    assert plots.progress.text.text() == "1 sample in 0.1 s"


def test_a_long_run_is_drawn_with_few_points_and_all_its_peaks(plots, qtbot):
    for sample in range(1, 5003):
        plots.progress.append(make_update(sample=sample, objective=9.0 if sample == 1234 else 1.0))
    plots.show_update(make_update(sample=5003, objective=2.0))
    show(plots, qtbot, PROGRESS)
    x, y = plots.progress.curves[0].getData()
    assert len(x) < 450
    assert (np.diff(x) >= 0).all()
    assert y.max() == 9
    assert (x[-1], y[-1]) == (pytest.approx(500.3), 2)
    assert len(plots.progress.rows()) == 5003
    low, high = plots.progress.plots[0].viewRange()[0]
    assert low < 0.1
    assert high > 500.3


def test_filters_of_the_last_update_keep_their_weights(plots):
    update = make_update()
    plots.show_update(update)
    plots.show_bank(update.B.copy(), 0)
    np.testing.assert_array_equal(np.sort(plots.weights_table()), np.sort(update.W))
    plots.show_bank(2 * update.B, 0)
    with pytest.raises(ValueError, match="no weights"):
        plots.weights_table()
    plots.show_bank(2 * update.B, 0, weights=update.W)
    assert plots.weights_table().shape == update.W.shape


def test_labels_must_fit_the_filters(plots):
    with pytest.raises(ValueError, match="one for each axis"):
        plots.show_bank(np.zeros((3, 5, 5)), 0, ("x",))


def test_clear_forgets(plots, qtbot):
    plots.show_update(make_update((4, 3, 5, 5)))
    plots.show_explanation(make_explanation())
    for tab in TABS:
        show(plots, qtbot, tab)
    plots.clear()
    for tab in TABS:
        show(plots, qtbot, tab)
    assert plots.explain.list.isHidden()
    assert not plots.filters.picture.image.isVisible()
    assert not plots.weights.picture.image.isVisible()
    assert plots.progress.rows() == []
    assert not plots.filters.positions.sliders
    with pytest.raises(ValueError, match="no filters"):
        plots.mosaic_layer()
    point_at(plots.filters.picture, 1, 1)
    point_at(plots.weights.picture, 1, 1)
    qtbot.keyClick(plots.filters.picture.view, Qt.Key.Key_Right)


# --- what made a pixel --------------------------------------------------------------------------


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


# --- how it looks -------------------------------------------------------------------------------


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


# --- what can be taken away ---------------------------------------------------------------------


def test_each_tab_can_be_saved_as_picture_and_table(plots, tmp_path):
    update = make_update((4, 2, 3, 3), 5)
    plots.show_update(update)
    parts = np.array([0.5, 0.25, -0.125, 0.0625])
    plots.show_explanation(make_explanation(parts, value=0.75, rest=0.0625, before=None))
    rows = {}
    for tab in TABS:
        plots.tabs.setCurrentIndex(tab)
        plots.save_picture(tmp_path / f"{tab}.png")
        assert iio.imread(tmp_path / f"{tab}.png")[..., :3].std() > 10
        plots.save_table(tmp_path / f"{tab}.csv")
        with open(tmp_path / f"{tab}.csv", newline="") as stream:
            rows[tab] = list(csv.reader(stream))
    assert rows[FILTERS][0][:3] == [
        "base filter",
        "axis 1 0, y 0, x 0",
        "axis 1 0, y 0, x 1",
    ]
    saved = np.array(rows[FILTERS][1:], np.float32)[:, 1:]
    np.testing.assert_array_equal(saved, update.B.reshape(4, -1))
    columns = [int(name.removeprefix("column ")) for name in rows[WEIGHTS][0][1:]]
    saved = np.array(rows[WEIGHTS][1:], np.float32)[:, 1:]
    np.testing.assert_array_equal(saved, update.W[:, columns])
    assert rows[PROGRESS] == [
        ["sample", "seconds", "objective", "share of code in use", "PSNR in dB"],
        ["1", "0.1", "10", "0.05", "31"],
    ]
    assert rows[EXPLAIN] == [
        ["base filter", "part of the result at y 34, x 50", "part of the source"],
        ["0", "0.5", "0.75"],
        ["1", "0.25", "0.375"],
        ["2", "-0.125", "-0.1875"],
        ["3", "0.0625", "0.09375"],
        ["no filter", "0.0625", ""],
        ["sum", "0.75", ""],
    ]
    assert len(list(tmp_path.iterdir())) == 8  # nothing is left beside them


def test_a_file_that_cannot_be_written_leaves_nothing(plots, tmp_path):
    plots.show_update(make_update())
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        plots.save_table(tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    plots.clear()
    for tab in TABS:
        plots.tabs.setCurrentIndex(tab)
        with pytest.raises(ValueError, match="nothing to save"):
            plots.save_table(tmp_path / "empty.csv")


def test_the_layer_is_the_mosaic_without_colours(plots):
    filters = make_update((5, 3, 4, 4)).B
    plots.show_bank(filters, 0)
    layer = plots.mosaic_layer()
    assert layer.shape == (3, 2 * 5 + 1, 3 * 5 + 1)
    assert layer.dtype == np.float32
    scaled = filters[4] / np.abs(filters[4]).max()
    np.testing.assert_allclose(layer[:, 6:10, 6:10], scaled)


def choose_file(monkeypatch, path):
    """Answer the next dialog with this path, or with Cancel."""
    monkeypatch.setattr(QFileDialog, "exec", lambda _: path is not None)
    monkeypatch.setattr(QFileDialog, "selectedFiles", lambda _: [str(path)])


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("suffix", ["png", "csv", "CSV"])
def test_the_save_button_saves_the_visible_tab(plots, qtbot, tmp_path, monkeypatch, tab, suffix):
    plots.show_update(make_update())
    plots.show_explanation(make_explanation())
    show(plots, qtbot, tab)
    choose_file(monkeypatch, tmp_path / f"plot.{suffix}")
    plots.buttons.save.click()
    (saved,) = tmp_path.iterdir()
    assert saved.read_bytes().startswith(b"\x89PNG" if suffix == "png" else b"base filter,") or (
        tab == PROGRESS and saved.read_bytes().startswith(b"sample,")
    )


@pytest.mark.parametrize("name", ["taken.png", "taken.csv", "gone/plot.png", "plot.tif", "plot"])
def test_what_cannot_be_saved_is_reported(plots, qtbot, tmp_path, monkeypatch, name):
    for taken in ("taken.png", "taken.csv"):
        (tmp_path / taken).mkdir()
    plots.show_update(make_update())
    show(plots, qtbot)
    choose_file(monkeypatch, tmp_path / name)
    with qtbot.waitSignal(plots.failed) as told:
        plots.buttons.save.click()
    assert name in told.args[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken.csv", "taken.png"]


def test_a_cancelled_dialog_saves_nothing(plots, qtbot, tmp_path, monkeypatch):
    plots.show_update(make_update())
    show(plots, qtbot)
    choose_file(monkeypatch, None)
    with qtbot.assertNotEmitted(plots.failed):
        plots.buttons.save.click()


def test_buttons_say_why_they_are_grey(plots, qtbot):
    to_layer, save = plots.buttons.to_layer, plots.buttons.save
    for tab in TABS:
        show(plots, qtbot, tab)
        assert not to_layer.isEnabled()
        assert not save.isEnabled()
        assert "nothing to save" in save.toolTip()
    plots.show_update(make_update())
    plots.show_explanation(make_explanation())
    for tab in TABS:
        show(plots, qtbot, tab)
        assert save.isEnabled()
        assert to_layer.isEnabled() == (tab in (FILTERS, WEIGHTS))
        assert ("cannot be a layer" in to_layer.toolTip()) == (tab in (PROGRESS, EXPLAIN))
    plots.clear()
    settle(plots, qtbot)
    assert not save.isEnabled()


@pytest.mark.parametrize(("shape", "labels"), [((5, 3, 4, 4), ("c", "y", "x")), ((5, 9), ("x",))])
def test_filters_and_weights_become_layers_of_napari(plots, qtbot, shape, labels):
    from napari.layers import Layer

    update = make_update(shape)
    plots.set_axes(len(labels) - len(labels[-2:]), labels)
    plots.show_update(update)
    expected = {FILTERS: plots.mosaic_layer(), WEIGHTS: plots.weights_table()}
    for tab, data in expected.items():
        show(plots, qtbot, tab)
        with qtbot.waitSignal(plots.layer_wanted) as wanted:
            plots.buttons.to_layer.click()
        layer = Layer.create(*wanted.args[0])
        np.testing.assert_array_equal(layer.data, data)
        assert layer.name
        assert not layer.rgb
        assert not layer.multiscale
        low, high = layer.contrast_limits
        assert low == -high  # zero is white
        np.testing.assert_allclose(layer.colormap.map(0.5)[..., :3], 247 / 255, atol=0.01)
        if tab == FILTERS:
            assert layer.axis_labels == ("c", "y", "x")[-layer.ndim :]


# --- the end ------------------------------------------------------------------------------------


def test_closing_stops_every_timer(plots, qtbot):
    plots.show_bank(make_update((4, 3, 5, 5)).B, 0)
    show(plots, qtbot)
    plots.filters.positions.players[0].click()
    plots.show_bank(make_update((4, 3, 5, 5), sample=2).B, 0)
    plots.close()
    assert not plots._timer.isActive()
    assert not plots.filters.positions._timer.isActive()
    plots.show_update(make_update())
    assert not plots._timer.isActive()


def test_nothing_is_left_of_a_deleted_widget(qtbot):
    plots = Plots()
    plots.show_update(make_update((4, 3, 5, 5)))
    plots.show_explanation(make_explanation())
    for tab in TABS:
        show(plots, qtbot, tab)
    plots.filters.positions.players[0].setChecked(True)
    destroyed = []
    for timer in (plots._timer, plots.filters.positions._timer, plots.progress.view):
        timer.destroyed.connect(lambda *_: destroyed.append(True))
    alive = weakref.ref(plots)
    plots.show_update(make_update((4, 3, 5, 5), sample=2))
    plots.deleteLater()
    del plots, timer
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    assert len(destroyed) == 3
    gc.collect()
    assert alive() is None


def test_the_plots_need_no_napari():
    code = (
        "import sys, napari_scsc.plugin.plots; "
        "print([m for m in ('napari', 'vispy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
