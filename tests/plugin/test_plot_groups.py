"""The live plots: the personal dictionary of a pixel's group."""

from __future__ import annotations

import csv

import numpy as np
import pytest

pytest.importorskip("pytestqt")

from plot_tools import EXPLAIN, make_explanation, make_update, pixels, point_at, settle, show
from qtpy.QtCore import Qt
from qtpy.QtGui import QPalette

from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.restore.personal_dictionary import PersonalDictionary


def make_group(shape=(6, 5, 5), count=6, **changes):
    """A group whose filters mix base filters of that shape; the first holds half of all."""
    base = make_update(shape).B
    weights = np.linalg.qr(np.random.default_rng(3).standard_normal((shape[0], count)))[0]
    powers = 0.5 ** np.arange(1, count + 1)
    values = {
        "position": (34, 50),
        "labels": ("y", "x"),
        "members": tuple((slice(i, i + 5), slice(i, i + 5)) for i in range(30)),
        "mean": base[0],
        "weights": weights,
        "powers": powers,
        "filters": np.tensordot(weights.T, base, axes=1),
        "outside": 1 - powers.sum(),
    }
    return PersonalDictionary(**{**values, **changes})


def show_group(plots, qtbot, group, shape=(6, 5, 5), n_joint=0):
    plots.show_bank(make_update(shape).B, n_joint)
    plots.show_explanation(make_explanation(), group)
    show(plots, qtbot, EXPLAIN)
    qtbot.mouseClick(plots.explain.by_group, Qt.MouseButton.LeftButton)
    settle(plots, qtbot)


def tile(plots, number, size=(5, 5), columns=3):
    """A filter as it is seen in the mosaic."""
    down, right = divmod(number, columns)
    height, width = size
    y, x = 1 + down * (height + 1), 1 + right * (width + 1)
    return pixels(plots.explain.group.filters)[y : y + height, x : x + width, :3]


def test_group_has_a_page_of_its_own_that_stays_from_pixel_to_pixel(plots, qtbot):
    plots.show_explanation(make_explanation(), make_group())
    show(plots, qtbot, EXPLAIN)
    explain = plots.explain
    assert explain.list.isVisible()
    assert not explain.group.isVisible()
    qtbot.mouseClick(explain.by_group, Qt.MouseButton.LeftButton)
    assert explain.group.isVisible()
    assert not explain.list.isVisible()
    plots.show_explanation(make_explanation(position=(1, 2)), make_group())
    settle(plots, qtbot)
    assert explain.group.isVisible()
    assert explain.headline.text().startswith("y 1, x 2")
    plots.show_explanation(make_explanation())  # without a group there is no choice
    settle(plots, qtbot)
    assert explain.list.isVisible()
    assert not explain.choice.isVisible()


def test_mosaic_has_the_filters_and_the_heat_map_their_weights(plots, qtbot):
    group = make_group()
    show_group(plots, qtbot, group)
    for number in range(6):
        np.testing.assert_array_equal(tile(plots, number), diverging(group.filters[number]))
    np.testing.assert_array_equal(pixels(plots.explain.group.weights), diverging(group.weights))


def test_only_the_strongest_of_many_are_shown(plots, qtbot):
    group = make_group((40, 5, 5), 40)
    show_group(plots, qtbot, group, (40, 5, 5))
    assert pixels(plots.explain.group.weights).shape[:2] == (40, 16)
    assert len(plots.explain.group.filters.tiles) == 16


def test_pointing_at_a_filter_or_a_column_tells_of_it(plots, qtbot):
    group = make_group()
    show_group(plots, qtbot, group)
    view = plots.explain.group
    assert view.text.text().startswith("D 0 holds 50% of how the 30 patches differ")
    point_at(view.filters, 8, 2)  # second row, first of three
    assert view.text.text().startswith("D 3 holds 6%")
    assert view.weights._outline.rect().center().x() == pytest.approx(3)
    point_at(view.weights, 4, 1)
    assert view.text.text().startswith("D 1 holds 25%")
    largest = int(np.abs(group.weights[:, 1]).argmax())
    assert f"D 1 = {group.weights[largest, 1]:.2g}\N{NO-BREAK SPACE}B" in view.text.text()
    qtbot.keyClick(view.weights.view, Qt.Key.Key_Right)
    assert view.text.text().startswith("D 2 holds")
    qtbot.keyClick(view.filters.view, Qt.Key.Key_Down)
    assert view.text.text().startswith("D 5 holds")
    qtbot.keyClick(view.weights.view, Qt.Key.Key_Right)  # there is no other
    assert view.text.text().startswith("D 5 holds")


def test_what_no_base_filter_says_of_a_group_is_told(plots, qtbot):
    show_group(plots, qtbot, make_group(powers=np.array([3.0, 1.0] + 4 * [0.0]), outside=4.0))
    assert "all of D 50%" in plots.explain.group.text.text()


@pytest.mark.parametrize(
    ("shape", "n_joint"), [((6, 9), 0), ((6, 3, 5, 5), 1), ((6, 2, 3, 5, 5), 2), ((6, 3, 4, 5), 0)]
)
def test_groups_of_every_shape_are_drawn_and_follow_the_sliders(plots, qtbot, shape, n_joint):
    group = make_group(shape)
    show_group(plots, qtbot, group, shape, n_joint)
    before = pixels(plots.explain.group.filters).copy()
    sliders = plots.filters.positions.sliders
    assert len(sliders) == max(0, len(shape) - 3)
    for slider in sliders:
        slider.setValue(0)
        settle(plots, qtbot)
    changed = bool((pixels(plots.explain.group.filters) != before).any())
    assert changed == bool(sliders)


def test_group_of_other_filters_than_those_now_shown_is_still_drawn(plots, qtbot):
    show_group(plots, qtbot, make_group((6, 3, 5, 5)), (6, 3, 5, 5), 1)
    plots.show_bank(make_update((4, 7, 7)).B, 0)
    settle(plots, qtbot)
    assert "filters have changed" in plots.explain.headline.text()
    assert pixels(plots.explain.group.weights).shape[:2] == (6, 6)


def test_group_without_filters_says_that_its_patches_are_alike(plots, qtbot):
    group = make_group(
        powers=np.zeros(0), weights=np.zeros((6, 0)), filters=np.zeros((0, 5, 5)), outside=0.0
    )
    show_group(plots, qtbot, group)
    assert plots.explain.group.text.text() == "All 30 patches of the group are alike."
    assert not plots.explain.group.filters.isVisible()
    assert not plots.buttons.to_layer.isEnabled()


def test_group_is_saved_as_a_table_and_sent_as_a_layer(plots, qtbot, tmp_path):
    group = make_group((6, 3, 5, 5))
    show_group(plots, qtbot, group, (6, 3, 5, 5), 1)
    plots.save_table(tmp_path / "group.csv")
    names, powers, *rows = csv.reader((tmp_path / "group.csv").read_text().splitlines())
    assert names == ["base filter", *(f"D {k}" for k in range(6))]
    np.testing.assert_allclose(np.array(powers[1:], float), group.powers, rtol=1e-6)
    np.testing.assert_allclose(np.array(rows, float)[:, 1:], group.weights, rtol=1e-6)
    assert plots.buttons.to_layer.isVisible()
    with qtbot.waitSignal(plots.layer_wanted) as sent:
        plots.buttons.to_layer.click()
    data, arguments, kind = sent.args[0]
    assert kind == "image"
    assert data.shape == (3, 2 * 6 + 1, 3 * 6 + 1)
    assert arguments["axis_labels"] == ("c", "y", "x")
    first = group.filters[0] / np.abs(group.filters[0]).max()
    np.testing.assert_allclose(data[:, 1:6, 1:6], first, atol=1e-6)
    qtbot.mouseClick(plots.explain.by_filters, Qt.MouseButton.LeftButton)
    assert not plots.buttons.to_layer.isVisible()
    plots.save_table(tmp_path / "parts.csv")
    assert (tmp_path / "parts.csv").read_text().splitlines()[-1].startswith("sum")


def test_group_takes_the_colours_of_the_window(plots, qtbot):
    show_group(plots, qtbot, make_group())
    palette = QPalette(plots.palette())
    for ground in (Qt.GlobalColor.black, Qt.GlobalColor.white):
        palette.setColor(QPalette.ColorRole.Window, ground)
        plots.setPalette(palette)
        qtbot.wait(20)
        for picture in (plots.explain.group.filters, plots.explain.group.weights):
            assert picture.view.backgroundBrush().color() == palette.color(
                QPalette.ColorRole.Window
            )
