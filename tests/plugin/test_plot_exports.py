"""The live plots: what can be taken away, and what they leave behind."""

from __future__ import annotations

import csv
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

pytest.importorskip("pytestqt")

import imageio.v3 as iio
from plot_tools import (
    EXPLAIN,
    FILTERS,
    PROGRESS,
    TABS,
    WEIGHTS,
    make_explanation,
    make_update,
    settle,
    show,
)
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QApplication, QFileDialog

from napari_scsc.plugin.plots import Plots


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


def test_closing_stops_every_timer(plots, qtbot):
    plots.show_bank(make_update((4, 3, 5, 5)).B, 0)
    show(plots, qtbot)
    plots.filters.positions.players[0].click()
    plots.show_bank(make_update((4, 3, 5, 5), sample=2).B, 0)
    plots.close()
    assert not plots.clock.isActive()
    assert not plots.filters.positions._timer.isActive()
    plots.show_update(make_update())
    assert not plots.clock.isActive()


def test_nothing_is_left_of_a_deleted_widget(qtbot):
    plots = Plots()
    plots.show_update(make_update((4, 3, 5, 5)))
    plots.show_explanation(make_explanation())
    for tab in TABS:
        show(plots, qtbot, tab)
    plots.filters.positions.players[0].setChecked(True)
    destroyed = []
    for timer in (plots.clock, plots.filters.positions._timer, plots.progress.view):
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


@pytest.mark.screen
def test_filters_go_beside_the_images_in_their_units():
    from napari.components import ViewerModel

    from napari_scsc.plugin.placing import add_beside, beside

    viewer = ViewerModel()
    assert beside(viewer, (20, 30)) == ((1, 1), (0, 0))
    image = viewer.add_image(
        np.zeros((3, 200, 100)), scale=(5, 0.5, 0.5), translate=(0, 10, 20), units=("um",) * 3
    )
    units = viewer.layers.extent.units
    names = []
    for name in ("base filters · mosaic", "base filters · stack"):
        ends = [layer.extent.world[1, -1] for layer in viewer.layers]
        made = add_beside(viewer, (np.zeros((20, 30)), {"name": name}, "image"))
        assert made.extent.world[0, -1] - made.scale[-1] / 2 > max(ends)
        assert made.extent.world[0, -2] == pytest.approx(image.extent.world[0, -2])
        assert np.ptp(made.extent.world[:, -2]) == pytest.approx(100 / 4, rel=0.1)
        names.append(made.name)
    assert viewer.layers.extent.units == units
    assert names == ["base filters · mosaic", "base filters · stack"]
