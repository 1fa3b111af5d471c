"""Small parts that the sections of the dock are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magicgui.widgets import Container, FloatSpinBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QAbstractSpinBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from superqt import QCollapsible


class Section(QWidget):
    """A part of the dock. What goes wrong in it is told by ``failed``, not raised into Qt."""

    failed = Signal(object)  # the exception

    def attempt(self, action: Callable[[], None]) -> None:
        """Do what a button asks for."""
        try:
            action()
        except Exception as error:  # the user is told, whatever it was
            self.failed.emit(error)

    def button(self, text: str, tip: str, action: Callable[[], None] | None = None) -> QPushButton:
        """Make a button that does something."""
        button = QPushButton(text)
        button.setToolTip(tip)
        if action is not None:
            button.clicked.connect(lambda: self.attempt(action))
        return button

    def fill(self, *parts: Any) -> None:
        """Put parts from top to bottom: widgets of Qt, and fields of magicgui with their labels."""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self._forms = _stack(column, parts)  # a container must live as long as its widgets


def folded(title: str, *parts: Any) -> QCollapsible:
    """Fields behind a title that unfolds them."""
    inside = Section()
    inside.fill(*parts)
    return fold(title, inside, unfolded=False)


def fold(title: str, inside: QWidget, unfolded: bool) -> QCollapsible:
    """A title that folds and unfolds a widget."""
    made = QCollapsible(title, expandedIcon="▼", collapsedIcon="▶")
    made.addWidget(inside)  # which follows its size, as setContent does not
    (made.expand if unfolded else made.collapse)(animate=False)
    return made


def number(name: str, most: float, at_zero: str, tip: str) -> FloatSpinBox:
    """A field for a positive number of any size; at zero it says what that means."""
    field = FloatSpinBox(label=name, min=0, max=most, tooltip=tip)
    box: Any = field.native
    box.setDecimals(6)
    box.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
    box.setSpecialValueText(at_zero)
    return field


def label(text: str = "") -> QLabel:
    """Text that wraps."""
    made = QLabel(text)
    made.setWordWrap(True)
    return made


def row(*widgets: QWidget) -> QWidget:
    """Widgets side by side."""
    box = QWidget()
    line = QHBoxLayout(box)
    line.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        line.addWidget(widget)
    return box


def _stack(column: QVBoxLayout, parts: tuple[Any, ...]) -> list[Any]:
    """Add the parts; fields that follow each other share a form, so that their labels line up."""
    forms: list[Any] = []
    fields: list[Any] = []
    for part in (*parts, None):
        if part is not None and not isinstance(part, QWidget):
            fields.append(part)
            continue
        if fields:
            form = Container(labels=True)
            form.margins = (0, 0, 0, 0)
            form.extend(fields)  # one by one, or magicgui does not line up their labels
            column.addWidget(form.native)
            forms.append(form)
            fields = []
        if part is not None:
            column.addWidget(part)
    return forms
