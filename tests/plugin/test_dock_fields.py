"""The fields and buttons of the dock as hands and keys find them, in a real window."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import choose, finish, is_ready, noisy_cells, slow_down, slow_learning
from journey_tools import buttons_in_sight, give_focus, press_main, turn_wheel, type_into
from napari.settings import get_settings
from qtpy.QtCore import QLocale, Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import (
    QApplication,
    QDoubleSpinBox,
    QLabel,
    QMessageBox,
    QSlider,
)

from napari_scsc import estimate_noise

pytestmark = pytest.mark.screen


# --- numbers --------------------------------------------------------------------------------------


def test_comma_is_a_decimal_point(make_dock):
    _, dock = make_dock(noisy_cells(), show=True)
    type_into(dock.restore_section.sigma.native, "12,5")
    assert dock.sigma == 12.5
    type_into(dock.restore_section.sigma.native, "0.25")
    assert dock.sigma == 0.25


@pytest.mark.parametrize("language", ["C", "en_US", "de_DE"])
def test_comma_and_point_are_decimal_in_the_strength_in_any_language(make_dock, language):
    before = QLocale()
    QLocale.setDefault(QLocale(language))
    try:
        _, dock = make_dock(noisy_cells(), show=True)
        (box,) = dock.restore_section.strength.native.findChildren(QDoubleSpinBox)
        for text, strength in (("1,75", 1.75), ("2,5", 2.5), ("0.85", 0.85)):
            type_into(box, text)
            assert dock.strength == pytest.approx(strength)
            assert box.value() == pytest.approx(strength)
    finally:
        QLocale.setDefault(before)


def test_noise_steps_from_auto_to_what_was_found_and_on_in_tenths(make_dock):
    _, dock = make_dock(noisy_cells(), show=True)
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    found = float(f"{dock.runner.result.noise.sigma:.3g}")
    box = dock.restore_section.sigma.native
    give_focus(box)
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert dock.sigma == pytest.approx(found)
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert dock.sigma == pytest.approx(1.1 * found)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e6])
def test_noise_steps_from_auto_to_an_estimate_whatever_the_units(make_dock, unit):
    image = (unit * noisy_cells()).astype(np.float32)
    _, dock = make_dock(image, show=True)
    box = dock.restore_section.sigma.native
    give_focus(box)
    QTest.keyClick(box, Qt.Key.Key_Up)
    finish(dock)
    found = estimate_noise(image, kind="image").sigma
    assert dock.sigma == pytest.approx(float(f"{found:.3g}"))
    assert dock.message == ""


def test_noise_stays_at_auto_where_there_is_none_to_step_to(make_dock):
    _, dock = make_dock(np.full((64, 64), 7, np.uint16), show=True)
    box = dock.restore_section.sigma.native
    give_focus(box)
    QTest.keyClick(box, Qt.Key.Key_Up)
    finish(dock)
    assert dock.sigma == 0
    assert "constant" in dock.message


def test_noise_that_was_typed_belongs_to_its_layer(make_dock):
    viewer, dock = make_dock(noisy_cells(), name="first", show=True)
    viewer.add_image(noisy_cells((48, 80)), name="second")
    dock.sources = ["first"]
    type_into(dock.restore_section.sigma.native, "40")
    dock.sources = ["second"]
    assert dock.sigma == 0
    dock.sources = ["first"]
    assert dock.sigma == 40


def test_keys_move_the_strength_in_sensible_steps(make_dock):
    _, dock = make_dock(noisy_cells(), show=True)
    (slider,) = dock.restore_section.strength.native.findChildren(QSlider)
    give_focus(slider)
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert dock.strength == pytest.approx(1.05)
    QTest.keyClick(slider, Qt.Key.Key_PageUp)
    assert dock.strength == pytest.approx(1.3)


def test_wheel_over_a_field_without_focus_changes_nothing(make_dock, qtbot):
    _, dock = make_dock(noisy_cells(), show=True)
    give_focus(dock.run_section.main_button)
    (slider,) = dock.restore_section.strength.native.findChildren(QSlider)
    fields = (
        dock.restore_section.quality.native,
        dock.restore_section.sigma.native,
        slider,
        dock.tabs.tabBar(),
    )
    before = (dock.quality, dock.sigma, dock.strength, dock.tabs.currentIndex())
    for field in fields:
        for _ in range(6):
            turn_wheel(field, -1)
            turn_wheel(field, 2)
    assert (dock.quality, dock.sigma, dock.strength, dock.tabs.currentIndex()) == before
    give_focus(dock.restore_section.quality.native)
    turn_wheel(dock.restore_section.quality.native, 1)
    assert dock.quality != before[0]


# --- buttons --------------------------------------------------------------------------------------


def test_main_button_stops_what_is_being_learned(make_dock, qtbot, monkeypatch):
    slow_learning(monkeypatch)
    viewer, dock = make_dock(noisy_cells(), show=True)
    dock.learn()
    button = dock.run_section.main_button
    assert button.text() == "Stop learning"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    finish(dock, 10)
    assert len(viewer.layers) == 1
    assert is_ready(dock)


def test_one_click_makes_the_result_and_few_buttons_are_in_sight(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)

    assert len(buttons_in_sight(dock)) <= 6
    qtbot.mouseClick(dock.run_section.main_button, Qt.MouseButton.LeftButton)
    assert dock.busy
    assert len(buttons_in_sight(dock)) <= 6
    finish(dock)
    assert "mine · denoised" in viewer.layers
    assert len(buttons_in_sight(dock)) <= 6


def test_message_of_an_error_is_read_to_its_remedy(make_dock, qtbot):
    viewer, dock = make_dock(show=True)
    for name, shape in (("a", (48, 64)), ("b", (64, 48))):
        viewer.add_image(noisy_cells(shape), name=f"a layer with a rather long name, {name}")
    dock.sources = [layer.name for layer in viewer.layers]
    dock.sharing = "together, as channels"
    qtbot.waitUntil(dock.run_section.main_button.isVisible, timeout=5000)
    press_main(dock)
    remedy = "restore each by itself"
    assert dock.message.endswith(remedy)
    (label,) = [
        label
        for label in dock.run_section.findChildren(QLabel)
        if label.isVisible() and label.text().endswith(remedy)
    ]
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()), timeout=2000)
    assert label.visibleRegion().boundingRect().height() == label.height()


def test_what_is_said_of_a_pause_ends_with_it(make_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_dock(noisy_cells(), show=True)
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    qtbot.mouseClick(dock.run_section.pause_button, Qt.MouseButton.LeftButton)
    assert dock.message == "Paused"
    qtbot.wait(300)
    assert dock.message == "Paused"
    qtbot.mouseClick(dock.run_section.pause_button, Qt.MouseButton.LeftButton)
    assert dock.message != "Paused"
    dock.stop()
    finish(dock, 10)


@pytest.mark.parametrize("answer", ["Yes", "No"])
def test_reset_asks_before_it_forgets_filters(make_dock, monkeypatch, tmp_path, answer):
    _, dock = make_dock(noisy_cells(), show=True)
    asked = []

    def question(*_words):
        asked.append(True)
        return getattr(QMessageBox.StandardButton, answer)

    monkeypatch.setattr(QMessageBox, "question", question)
    dock.learn()
    finish(dock)
    choose(dock, "Reset")
    assert asked == [True]
    assert (dock.bank is None) == (answer == "Yes")
    if dock.bank is not None:
        dock.save_bank(tmp_path / "mine.scsc")
        choose(dock, "Reset")
        assert asked == [True]
        assert dock.bank is None


def test_only_mask_is_taken_unless_the_user_does_not_want_it(make_dock):
    viewer, dock = make_dock(noisy_cells(), show=True)
    viewer.add_labels(np.eye(64, dtype=int), name="holes")
    assert dock.missing_layer == "holes"
    dock.missing_layer = "no layer"
    viewer.add_image(noisy_cells(), name="another")
    assert dock.missing_layer == "no layer"


def test_reference_of_another_range_is_scaled_before_it_is_compared(make_dock):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    result = dock.result.data.astype(np.float32)
    for name, reference in (("same", result), ("scaled", result / 65535)):
        viewer.add_image(reference, name=name)
    dock.reference = "same"
    finish(dock)
    assert "scaling" not in dock.scores
    dock.reference = "scaled"
    finish(dock)
    assert "after scaling the reference" in dock.scores
    assert "SSIM 1.000" in dock.scores


# --- keyboard and type ----------------------------------------------------------------------------


def test_keyboard_alone_restores_and_the_focus_stays(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    dock.quality = "draft"
    give_focus(dock.restore_section.quality.native)
    button = dock.run_section.main_button
    for _ in range(12):
        if QApplication.focusWidget() is button:
            break
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is button
    qtbot.waitUntil(dock.focus_frame.isVisible, timeout=2000)
    QTest.keyClick(button, Qt.Key.Key_Space)
    finish(dock)
    assert "mine · denoised" in viewer.layers
    assert dock.isAncestorOf(QApplication.focusWidget())
    give_focus(dock.tabs.tabBar())
    QTest.keyClick(dock.tabs.tabBar(), Qt.Key.Key_Right)
    assert dock.tabs.currentIndex() == 1


@pytest.fixture
def large_type():
    appearance = get_settings().appearance
    before = appearance.font_size
    appearance.font_size = 16
    yield
    appearance.font_size = before


def assert_nothing_is_cut(dock, qtbot):
    qtbot.wait(200)
    area = dock.tabs.widget(0)
    page, room = area.widget(), area.viewport().size()
    assert page.minimumSizeHint().width() <= room.width()
    assert page.height() <= room.height()


@pytest.mark.parametrize("data", ["image", "five axes", "three layers"])
def test_page_fits_a_small_window_in_large_type(make_dock, qtbot, large_type, data):
    viewer, dock = make_dock(show=True)
    viewer.window.resize(1280, 720)
    if data == "five axes":
        labels = ("t", "c", "z", "y", "x")
        viewer.add_image(noisy_cells((3, 2, 6, 48, 48)), name="cells", axis_labels=labels)
    else:
        for number in range(3 if data == "three layers" else 1):
            viewer.add_image(noisy_cells((48, 48)), name=f"a long name of a layer {number}")
        dock.sources = [layer.name for layer in viewer.layers]
    dock.quality = "draft"
    assert_nothing_is_cut(dock, qtbot)
    dock.denoise()
    finish(dock)
    assert_nothing_is_cut(dock, qtbot)
