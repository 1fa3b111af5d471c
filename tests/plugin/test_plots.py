"""The live plots: what they draw, and when."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pytestqt")

from plot_tools import (
    FILTERS,
    PROGRESS,
    TABS,
    WEIGHTS,
    make_explanation,
    make_update,
    pixels,
    point_at,
    settle,
    show,
)
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtWidgets import QApplication

from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.plots.plot_content import ColumnRanking


def test_nothing_is_drawn_while_hidden(plots, qtbot):
    for sample in range(1, 20):
        plots.show_update(make_update(sample=sample))
    qtbot.wait(30)
    assert plots.redraws == 0
    assert not plots.clock.isActive()
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
    ranking, use = ColumnRanking(), rng.exponential(size=60)
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
    assert plots.explain.pages.isHidden()
    assert not plots.filters.picture.image.isVisible()
    assert not plots.weights.picture.image.isVisible()
    assert plots.progress.rows() == []
    assert not plots.filters.positions.sliders
    with pytest.raises(ValueError, match="no filters"):
        plots.mosaic_layer()
    point_at(plots.filters.picture, 1, 1)
    point_at(plots.weights.picture, 1, 1)
    qtbot.keyClick(plots.filters.picture.view, Qt.Key.Key_Right)
