"""The dock by keyboard alone, read aloud, and in larger type."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dock_tools import children, noisy_cells
from journey_tools import give_focus
from qtpy.QtCore import Qt
from qtpy.QtGui import QColor
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QScrollBar,
)

pytestmark = pytest.mark.screen

CONTROLS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QListWidget)


def controls(dock):
    """What can be operated, as the user sees it: an editor inside of a box is a part of it."""
    return [
        control
        for control in children(dock, CONTROLS)
        if control.isVisibleTo(dock)
        and not isinstance(control, QScrollBar)
        and not isinstance(control.parentWidget(), QAbstractSpinBox | QComboBox)
    ]


def unfold(dock):
    for head in dock.findChildren(QAbstractButton):
        if head.isCheckable() and "folded" in head.accessibleName():
            head.setChecked(True)


@pytest.fixture(params=[0, 1], ids=["Restore", "Filters"])
def dock(make_dock, request):
    _, found = make_dock(noisy_cells(), name="cells", show=True)
    found.tabs.setCurrentIndex(request.param)
    unfold(found)
    return found


def name_of(control, dock):
    """What a screen reader says."""
    buddies = [label.text() for label in dock.findChildren(QLabel) if label.buddy() is control]
    texts = [control.text()] if hasattr(control, "text") else []
    return "".join([control.accessibleName(), *buddies, *texts]).strip()


def test_every_control_is_reached_by_the_tab_key(dock):
    chain = {dock}
    widget = dock.nextInFocusChain()
    while widget is not dock:
        chain.add(widget)
        widget = widget.nextInFocusChain()
    for control in controls(dock):
        proxy = control.focusProxy() or control
        assert proxy.focusPolicy() & Qt.FocusPolicy.TabFocus, name_of(control, dock)
        assert proxy in chain, name_of(control, dock)


def test_every_control_has_a_name(dock):
    nameless = [w for w in controls(dock) if not name_of(w, dock)]
    assert len(controls(dock)) > 15
    assert not nameless, [(type(w).__name__, w.toolTip(), w.parent()) for w in nameless]


def test_buttons_can_be_pressed_with_the_keyboard(dock, qtbot):
    head = next(b for b in dock.findChildren(QAbstractButton) if "folded" in b.accessibleName())
    before = head.isChecked()
    head.setFocus()
    qtbot.keyClick(head, Qt.Key.Key_Space)
    assert head.isChecked() is not before


def test_nothing_is_cut_off_in_larger_type(dock, qtbot):
    font = dock.font()
    font.setPointSizeF(1.25 * font.pointSizeF())
    dock.setFont(font)
    for widget in children(dock, (*CONTROLS, QLabel)):
        widget.setFont(font)
    window = dock.window()
    window.resize(1400, 1000)
    qtbot.wait(50)
    for button in dock.findChildren(QAbstractButton):
        if button.isVisibleTo(dock) and button.text():
            least = button.fontMetrics().horizontalAdvance(button.text().replace("&", ""))
            assert button.width() >= least, button.text()


def luminance(color):
    channels = np.array([color.redF(), color.greenF(), color.blueF()])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    """The ratio of the Web Content Accessibility Guidelines."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_text_stands_out_from_its_ground(dock, theme, qtbot):
    import napari

    viewer = napari.current_viewer()
    viewer.theme = theme
    qtbot.wait(50)
    for label in dock.findChildren(QLabel):
        if not label.isVisibleTo(dock) or not label.text().strip():
            continue
        picture = label.grab().toImage()
        ground = QColor(picture.pixel(0, 0))
        places = itertools.product(range(picture.width()), range(picture.height()))
        shades = {picture.pixel(*place) for place in places}
        strongest = max(contrast(QColor(shade), ground) for shade in shades)
        assert strongest >= 4.5, (label.text(), strongest)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_focus_on_the_coloured_button_is_seen(make_dock, theme, qtbot):
    viewer, dock = make_dock(noisy_cells(), show=True)
    viewer.theme = theme
    button = dock.run_section.main_button
    give_focus(button)
    qtbot.wait(50)
    picture = dock.grab().toImage()
    ratio = picture.devicePixelRatio()
    corner = button.mapTo(dock, button.rect().topLeft())
    middle = corner.x() + button.width() // 4

    def shade(y):
        return QColor(picture.pixel(int(middle * ratio), int((corner.y() + y) * ratio)))

    frame, inside, ground = shade(-1), shade(4), shade(-4)
    assert contrast(frame, inside) >= 3
    assert contrast(frame, ground) >= 3


def test_diverging_map_is_told_apart_without_red_or_green():
    from napari_scsc.data import rgb_pictures

    low, zero, high = rgb_pictures.diverging(np.array([[-1.0, 0.0, 1.0]]))[0] / 255
    for missing in (0, 1):
        ends = [np.delete(color, missing) for color in (low, zero, high)]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(ends, 2)) > 0.3
