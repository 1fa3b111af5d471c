"""What a new user does, from an open layer to the result: real clicks in a real window."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tifffile
from dock_tools import (
    children,
    complaints,
    errors_raised,
    finish,
    is_ready,
    noisy_cells,
    quietly,
    run_script,
    set_preferences,
)
from journey_tools import (
    LEFT,
    buttons_in_sight,
    choose_in,
    choose_in_menu,
    click,
    click_canvas,
    drop,
    give_focus,
    pick_layer,
    press_main,
    press_tab_until,
    radio,
    run,
    show_tab,
    tick,
    turn_wheel,
    type_into,
    visible_layers,
)
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QPushButton

from napari_scsc import denoise, inpaint, samples
from napari_scsc.plugin.layers import is_ours
from napari_scsc.plugin.sections.learn_section import SCSC

pytestmark = pytest.mark.screen

DRAFT = {"quality": "draft", "seed": 0}
LABELS_OF_FIVE = ("t", "c", "z", "y", "x")


@pytest.fixture
def start(make_dock, monkeypatch):
    """A window of a laptop's size, with a dock; afterwards nothing may have been complained of."""

    set_preferences(monkeypatch, quality="balanced")

    def make(*images, **looks):
        viewer, dock = make_dock(*images, show=True, **looks)
        viewer.window.resize(1280, 720)
        QTest.qWait(50)
        return viewer, dock

    yield make
    assert errors_raised() == []


def same(layer, expected):
    np.testing.assert_array_equal(np.asarray(layer.data), expected)


# --- 1: open a file, and press the one button -----------------------------------------------------


def test_from_a_file_to_its_result_is_one_click(start, tmp_path):
    viewer, dock = start()
    assert "open an image first" in dock.about
    image = noisy_cells((96, 80))
    path = tmp_path / "cells.tif"
    tifffile.imwrite(path, image)
    viewer.open(path, plugin="napari")
    before = image.copy()
    assert len(buttons_in_sight(dock)) <= 6
    button = dock.run_section.main_button
    assert button.text().startswith("Denoise")
    assert "~" in button.text()  # about how long it will take
    run(dock)
    result = viewer.layers["cells · denoised"]
    assert result.data.dtype == image.dtype
    same(result, quietly(denoise, image))
    same(viewer.layers["cells"], before)
    assert len(buttons_in_sight(dock)) <= 6
    assert is_ready(dock)


# --- 2: denoise as one likes it -------------------------------------------------------------------


def test_settings_that_are_clicked_and_typed_are_those_of_the_result(start):
    image = noisy_cells()
    viewer, dock = start(image, name="mine", scale=(0.3, 0.3), units=("µm", "µm"))
    choose_in(dock.restore_section.quality, "draft")
    type_into(dock.restore_section.sigma, "55,5")
    run(dock)
    result = viewer.layers["mine · denoised"]
    same(result, quietly(denoise, image, sigma=55.5, **DRAFT))
    np.testing.assert_allclose(result.scale, (0.3, 0.3))
    assert [str(unit) for unit in result.units] == ["micrometer", "micrometer"]
    result.name = "the good one"
    run(dock)
    assert {"the good one", "mine · denoised"} <= {layer.name for layer in viewer.layers}


# --- 3: learn from two images, restore a third ----------------------------------------------------


def test_filters_are_learned_from_two_images_and_restore_a_third(start):
    viewer, dock = start()
    for number in range(3):
        viewer.add_image(noisy_cells((64, 64)) + np.uint16(number), name=f"cells {number}")
    pick_layer(dock, "cells 0", add=False)
    pick_layer(dock, "cells 1", add=True)
    assert set(dock.sources) == {"cells 0", "cells 1"}
    show_tab(dock, "Filters")
    click(dock.learn_section.start)
    finish(dock)
    bank = dock.bank
    assert bank is not None
    assert dock.plots.redraws > 0
    show_tab(dock, "Restore")
    pick_layer(dock, "cells 2", add=False)
    choose_in(dock.restore_section.quality, "draft")
    run(dock)
    same(
        viewer.layers["cells 2 · denoised"],
        quietly(denoise, viewer.layers["cells 2"].data, bank=bank, **DRAFT),
    )
    assert dock.fit  # of filters of other images, it says whether they fit


# --- 4: the paper's model -------------------------------------------------------------------------


def test_the_papers_model_learns_in_sight_and_restores(start):
    viewer, dock = start(noisy_cells((72, 72)), name="mine")
    show_tab(dock, "Filters")
    radio(dock.learn_section.model, SCSC)
    choose_in(dock.learn_section.effort, "quick")
    click(dock.learn_section.start)
    finish(dock, 180)
    assert dock.bank.info["learner"] == "scsc"
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)
    QTest.qWait(150)
    show_tab(dock, "Restore")
    click(next(b for b in buttons_in_sight(dock) if "advanced" in b.text()))
    choose_in(dock.restore_section.method, "the paper's code")
    run(dock, 180)
    result = viewer.layers["mine · denoised"]
    clean = 1000 * samples.tissue((72, 72)) + 500
    error = np.sqrt(np.mean((result.data - clean) ** 2))
    assert error < 0.8 * np.sqrt(np.mean((viewer.layers["mine"].data - clean) ** 2))


# --- 5: three kinds of masks ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["labels", "shapes", "nan", "saturated"])
def test_holes_are_filled_wherever_they_are_marked(start, kind):
    image = noisy_cells().astype(np.float32)
    holes = np.zeros(image.shape, bool)
    holes[20:24, 30:40] = True
    if kind == "nan":
        image[holes] = np.nan
    elif kind == "saturated":
        image[holes] = image.max() + 1000
    viewer, dock = start(image, name="mine")
    if kind == "labels":
        viewer.add_labels(holes.astype(int), name="holes")
    elif kind == "shapes":
        viewer.add_shapes([np.array([[19.5, 29.5], [23.5, 39.5]])], name="holes")
    radio(dock.restore_section.task, "Fill holes")
    assert dock.missing_layer == ("holes" if kind in ("labels", "shapes") else "no layer")
    if kind == "saturated":
        tick(dock.restore_section.saturated.native)
    assert dock.run_section.main_button.text().startswith("Fill")
    run(dock)
    result = viewer.layers["mine · filled"]
    missing = None if kind == "nan" else holes
    if kind == "saturated":
        expected = quietly(inpaint, image, saturation=image.max(), seed=0)
    else:
        expected = quietly(inpaint, image, missing, seed=0)
    same(result, expected)
    same_places = ~holes
    np.testing.assert_array_equal(result.data[same_places], image[same_places])
    assert np.isfinite(result.data).all()


# --- 6: each kind of data -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "labels", "kind"),
    [
        ((64, 64), "yx", "image"),
        ((64, 64, 3), "yxc", "rgb"),
        ((6, 48, 48), "tyx", "video"),
        ((8, 40, 40), "zyx", "stack"),
        ((5, 48, 48), "cyx", "multispectral"),
        ((3, 3, 40, 40), "uvyx", "light-field"),
        ((3, 48, 48), "nyx", "time-lapse"),
    ],
)
def test_every_kind_of_data_is_proposed_shown_and_restored(start, shape, labels, kind):
    if kind == "rgb":
        image = np.moveaxis(noisy_cells((3, *shape[:2])) // 16, 0, -1).astype(np.uint8)
        viewer, dock = start(image, name="mine", rgb=True)
    else:
        viewer, dock = start()
        viewer.add_image(noisy_cells(shape), name="mine", axis_labels=tuple(labels), rgb=False)
    choose_in(dock.restore_section.quality, "draft")
    if kind == "time-lapse":  # what the letter n does not tell
        click(next(b for b in buttons_in_sight(dock) if b.text() == "edit"))
        choose_in(dock.source_section.kind, "time-lapse")
    assert dock.axes.kind == kind
    image = viewer.layers["mine"].data
    run(dock)
    same(viewer.layers["mine · denoised"], quietly(denoise, image, kind=kind, **DRAFT))


# --- 7: five axes in an OME-TIFF ------------------------------------------------------------------


def test_ome_tiff_of_five_axes_is_restored_as_it_stands(start, tmp_path):
    image = noisy_cells((2, 2, 5, 40, 40))
    path = tmp_path / "embryo.ome.tif"
    tifffile.imwrite(path, image, metadata={"axes": "TCZYX"}, ome=True)
    viewer, dock = start()
    viewer.open(path, plugin="napari")
    layer = viewer.layers[0]
    layer.axis_labels = LABELS_OF_FIVE[-layer.ndim :]
    assert "each by itself; z, y, x together" in dock.about
    assert dock.run_section.main_button.isEnabled()
    choose_in(dock.restore_section.quality, "draft")
    run(dock)
    same(dock.result, quietly(denoise, image, axes="tczyx", **DRAFT))


# --- 8: control -----------------------------------------------------------------------------------


def test_a_run_is_held_goes_on_and_is_stopped_with_what_it_has(start):
    image = noisy_cells((1024, 1024))
    viewer, dock = start(image, name="mine")
    choose_in(dock.restore_section.quality, "fast")
    press_main(dock)
    section = dock.run_section
    while dock.progress < 0.5:
        QTest.qWait(20)
        assert dock.busy
    click(section.pause_button)
    assert dock.paused
    QTest.qWait(600)  # what was on its way has come
    held = dock.progress
    QTest.qWait(300)
    assert dock.progress == held
    assert dock.message == "Paused"
    click(section.pause_button)
    assert dock.message != "Paused"
    assert section.main_button.text() == "Stop"
    click(section.main_button)
    finish(dock, 10)
    partial = viewer.layers["mine · denoised, partial"]
    left = viewer.layers[f"{partial.name}: not restored"].data.astype(bool)
    assert left.any()
    assert not left.all()
    done = ~left
    same(viewer.layers["mine"], image)
    assert (np.asarray(partial.data)[done] != image[done]).any()
    assert is_ready(dock)


# --- 9: preview -----------------------------------------------------------------------------------


def test_preview_is_seen_in_its_frame_and_follows_what_is_set(start):
    viewer, dock = start(noisy_cells((600, 600)), name="mine")
    choose_in(dock.restore_section.quality, "draft")
    tick(dock.restore_section.preview.native)
    QTest.qWait(400)
    finish(dock)
    live = dock.preview_switch.live
    first = np.array(live.layer.data)
    assert live.layer in viewer.layers
    assert live.layer.visible
    type_into(dock.restore_section.sigma, "200")
    QTest.qWait(600)
    finish(dock)
    assert not np.array_equal(live.layer.data, first)
    before = live.layer.translate.copy()
    viewer.scene.camera.zoom *= 4
    viewer.scene.camera.center = (0, 80, 80)
    QTest.qWait(600)
    finish(dock)
    assert not np.array_equal(live.layer.translate, before)
    tick(dock.compare_section.wipe_switch)
    QTest.qWait(100)
    assert dock.compare_section.wipe.is_on
    tick(dock.restore_section.preview.native)
    assert [layer.name for layer in viewer.layers if is_ours(layer)] == []


# --- 10: explain, compare, and take the script along ----------------------------------------------


def test_result_is_compared_explained_and_done_again_by_its_script(start, tmp_path):
    image = noisy_cells()
    path = tmp_path / "cells.tif"
    tifffile.imwrite(path, image)
    viewer, dock = start()
    viewer.open(path, plugin="napari")
    choose_in(dock.restore_section.quality, "draft")
    run(dock)
    result = dock.result
    section = dock.compare_section
    viewer.add_image(image[::-1], name="on top")
    QTest.mousePress(section.hold, LEFT)
    assert visible_layers(viewer) == {"cells"}
    QTest.mouseRelease(section.hold, LEFT)
    assert visible_layers(viewer) == {"cells", result.name, "on top"}
    for name in ("residual", "error", "support"):
        tick(section.maps.switches[name])
        finish(dock)
        assert any(layer.name.endswith(f"· {name}") for layer in viewer.layers), name
        tick(section.maps.switches[name])
    del viewer.layers["on top"]
    show_tab(dock, "Filters")
    dock.plots.tabs.setCurrentWidget(dock.plots.explain)
    QTest.qWait(100)
    click_canvas(viewer, (20, 30))
    finish(dock)
    explanation = dock.plots.explain._explanation
    assert explanation.position == (20, 30)
    assert explanation.value == pytest.approx(result.data[20, 30])
    choose_in_menu(dock, "Copy script")
    script = QApplication.clipboard().text()
    same(result, run_script(None, script)["result"])
    choose_in_menu(dock, "Copy command")
    command = QApplication.clipboard().text()
    program = [sys.executable, "-m", "napari_scsc"]
    line = command.strip().splitlines()[-1]
    assert line.startswith("napari-scsc denoise")
    done = subprocess.run(
        [*program, *_words(line)[1:], "-o", str(tmp_path / "again.tif")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    same(result, tifffile.imread(tmp_path / "again.tif"))


def _words(line):
    import shlex

    words = shlex.split(line)
    for option in ("-o", "--out"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    return words


# --- 11: a large image ----------------------------------------------------------------------------


@pytest.mark.slow
def test_image_of_4096_squared_is_restored_while_the_window_lives(start):
    image = np.tile(noisy_cells((512, 512)), (8, 8))
    viewer, dock = start(image, name="slide")
    choose_in(dock.restore_section.quality, "draft")
    press_main(dock)
    seen = []
    while dock.busy:
        seen.append(dock.progress)
        QTest.qWait(50)
    assert seen == sorted(seen)
    assert len(set(seen)) > 10
    same(viewer.layers["slide · denoised"], quietly(denoise, image, **DRAFT))


# --- 12: many files -------------------------------------------------------------------------------


def test_twenty_files_dropped_on_the_batch_tab_are_restored(start, tmp_path):
    images = [noisy_cells((48, 48)) + np.uint16(number) for number in range(20)]
    folder = tmp_path / "night"
    folder.mkdir()
    for number, image in enumerate(images):
        tifffile.imwrite(folder / f"well {number:02}.tif", image)
    viewer, dock = start(images[0], name="mine")
    choose_in(dock.restore_section.quality, "draft")
    show_tab(dock, "Batch")
    tab = dock.batch_tab
    drop(tab.files.table, [folder])
    assert len(tab.reports) == 20
    type_into(tab.output.out, str(tmp_path / "clean"))
    click(tab.start_button)
    finish(dock, 120)
    assert [str(report.state) for report in tab.reports] == ["done"] * 20
    for number, image in enumerate(images):
        made = tifffile.imread(tmp_path / "clean" / f"well {number:02}.tif")
        np.testing.assert_array_equal(made, quietly(denoise, image, **DRAFT))
    assert [layer.name for layer in viewer.layers] == ["mine"]


# --- 13: wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("constant", None),
        ("tiny", None),
        ("all missing", "nothing"),
        ("mask of another shape", "shape"),
        ("no mask", "mask"),
    ],
)
def test_wrong_input_is_refused_in_words_and_the_dock_stays_usable(start, wrong, words):
    data = {
        "constant": np.full((48, 48), 7, np.uint8),
        "tiny": noisy_cells((3, 3)),
        "all missing": np.full((48, 48), np.nan, np.float32),
    }.get(wrong, noisy_cells())
    viewer, dock = start(data, name="mine")
    choose_in(dock.restore_section.quality, "draft")
    if "mask" in wrong:
        radio(dock.restore_section.task, "Fill holes")
    if wrong == "mask of another shape":
        viewer.add_labels(np.eye(32, dtype=int), name="holes")
    if dock.run_section.main_button.isEnabled():
        run(dock)
    said = " ".join([dock.about, dock.message, dock.run_section.main_button.toolTip()])
    if words is not None:
        assert words in said.lower() + " ".join(complaints()).lower(), said
        assert not any(is_ours(layer) for layer in viewer.layers)
    same(viewer.layers["mine"], data)
    viewer.add_image(noisy_cells((40, 56)), name="good")
    pick_layer(dock, "good", add=False)
    radio(dock.restore_section.task, "Denoise")
    run(dock)
    assert "good · denoised" in viewer.layers


# --- 14: the keyboard alone -----------------------------------------------------------------------


def test_keyboard_alone_sets_restores_and_stops(start):
    image = noisy_cells()
    viewer, dock = start(image, name="mine")
    give_focus(dock.source_section.picker)
    quality = dock.restore_section.quality.native
    press_tab_until(quality)
    QTest.keyClicks(quality, "dr")
    assert dock.quality == "draft"
    button = dock.run_section.main_button
    press_tab_until(button)
    QTest.keyClick(button, Qt.Key.Key_Space)
    finish(dock)
    same(viewer.layers["mine · denoised"], quietly(denoise, image, **DRAFT))
    assert dock.isAncestorOf(QApplication.focusWidget())


def test_wheel_over_the_page_changes_nothing(start):
    _, dock = start(noisy_cells(), name="mine")
    before = {name: getattr(dock, name) for name in ("task", "quality", "sigma", "strength")}
    give_focus(dock.run_section.main_button)
    page = dock.tabs.currentWidget()
    for widget in children(page, (QPushButton,)):
        turn_wheel(widget, 3)
    for field in (dock.restore_section.quality, dock.restore_section.sigma):
        turn_wheel(field.native, 6)
    assert {name: getattr(dock, name) for name in before} == before
