"""What a user does with the mouse, the keys and the wheel, on the real widgets of the dock."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from qtpy.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QWheelEvent
from qtpy.QtTest import QTest
from qtpy.QtWidgets import (
    QApplication,
    QPushButton,
    QRadioButton,
    QStyle,
    QStyleOptionButton,
    QToolButton,
)

LEFT = Qt.MouseButton.LeftButton
NOTCH = 120


def click(widget):
    assert widget.isVisible(), widget
    assert widget.isEnabled(), widget.toolTip()
    QTest.mouseClick(widget, LEFT)


def tick(box):
    """Click the box of a check box: beside its text nothing happens."""
    assert box.isVisible()
    option = QStyleOptionButton()
    box.initStyleOption(option)
    place = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)
    QTest.mouseClick(box, LEFT, pos=place.center())


def press_main(dock):
    click(dock.run_section.main_button)


def run(dock, seconds=120):
    press_main(dock)
    assert dock.wait(seconds)


def radio(field, text):
    button = next(b for b in field.native.findChildren(QRadioButton) if b.text() == text)
    QTest.mouseClick(button, LEFT, pos=QPoint(8, button.height() // 2))
    assert button.isChecked()


def choose_in(box, text):
    """Open a combo box and click an entry of its list."""
    native = getattr(box, "native", box)
    rows = [native.itemText(i) for i in range(native.count())]
    row = next(i for i, words in enumerate(rows) if words.split(" · ")[0] == text)
    native.showPopup()
    view = native.view()
    view.scrollTo(native.model().index(row, 0))
    place = view.visualRect(native.model().index(row, 0)).center()
    QTest.qWait(QApplication.doubleClickInterval() + 50)  # a click right after opening is not one
    QTest.mouseMove(view.viewport(), place)
    QTest.mouseClick(view.viewport(), LEFT, pos=place)
    assert native.currentText().split(" · ")[0] == text


def pick_layer(dock, name, *, add):
    """Click a layer in the list of the picker: on its box, which adds it, or on its name."""
    picker = dock.source_section.picker
    names = {str(layer.unique_id): layer.name for layer in dock.viewer.layers}
    row = [names[i] for i in picker.ids].index(name)
    picker.showPopup()
    view = picker.view()
    place = view.visualRect(picker.model().index(row, 0))
    x = place.left() + (6 if add else 60)
    QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(x, place.center().y()))
    picker.hidePopup()


def show_tab(dock, name):
    """Click a tab of the dock."""
    bar = dock.tabs.tabBar()
    row = [bar.tabText(i) for i in range(bar.count())].index(name)
    QTest.mouseClick(bar, LEFT, pos=bar.tabRect(row).center())
    assert dock.tabs.currentIndex() == row


def turn_wheel(widget, notches):
    """Turn the wheel over the middle of a widget."""
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle,
        QPointF(widget.mapToGlobal(widget.rect().center())),
        QPoint(0, 0),
        QPoint(0, notches * NOTCH),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def give_focus(widget):
    """Make the window active, and go to one of its fields, as a click does."""
    widget.window().activateWindow()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(40):
        if QApplication.focusWidget() is widget:
            return
        QTest.qWait(50)
        widget.window().activateWindow()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
    raise AssertionError(f"no focus for {widget}: {QApplication.focusWidget()} has it")


def type_into(field, text):
    """Replace what is in a field."""
    native = getattr(field, "native", field)
    give_focus(native)
    native.selectAll()
    QTest.keyClicks(native, text)
    QTest.keyClick(native, Qt.Key.Key_Return)


def choose_in_menu(dock, name):
    """Open the menu of the dock, and click an entry of it."""

    def press():
        menu = dock.menu.menu()
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(dock.menu.entries[name]).center())

    QTimer.singleShot(100, press)
    click(dock.menu)  # comes back when the menu has closed


def click_canvas(viewer, world):
    """Click the canvas at a position of the world, in its plane."""
    canvas = viewer.window._qt_viewer.canvas.native
    camera = viewer.scene.camera
    y, x = (np.array(world[-2:]) - np.array(camera.center[-2:])) * camera.zoom
    where = QPoint(round(canvas.width() / 2 + x), round(canvas.height() / 2 + y))
    QTest.mouseMove(canvas, where)
    QTest.mouseClick(canvas, LEFT, pos=where)


def drop(table, paths):
    """Drop files on a table, as from a file manager."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    facts = (Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier)
    for event in (
        QDragEnterEvent(QPoint(5, 5), *facts),
        QDragMoveEvent(QPoint(5, 5), *facts),
        QDropEvent(QPointF(5, 5), *facts),
    ):
        QApplication.sendEvent(table.viewport(), event)


def press_tab_until(widget, most=40):
    """Go on with the Tab key until a widget has the focus; how many presses that took."""
    for count in range(most):
        if QApplication.focusWidget() is widget:
            return count
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not reach {widget}")


def buttons_in_sight(dock):
    """The push buttons of the tab that is seen, and the menu's."""
    kinds = (QPushButton, QToolButton)
    page = dock.tabs.currentWidget()
    found = [b for kind in kinds for b in page.findChildren(kind) if b.isVisible()]
    return [*found, dock.menu]


def visible_layers(viewer):
    return {layer.name for layer in viewer.layers if layer.visible}
