"""Widgets that the sections of the dock are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox
from qtpy.QtCore import QObject, Qt, Signal
from qtpy.QtWidgets import (
    QAbstractSpinBox,
    QButtonGroup,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)


class Section(QWidget):
    """A part of the dock. What goes wrong in it is told by ``failed``, not raised into Qt."""

    failed = Signal(object)
    """Brings the exception."""

    def attempt(self, action: Callable[[], None]) -> None:
        """Do what a button asks for."""
        try:
            action()
        except Exception as error:  # the user is told, whatever it was
            self.failed.emit(error)

    def make_button(
        self, text: str, tip: str, action: Callable[[], None] | None = None
    ) -> QPushButton:
        """Make a button that does something."""
        button = QPushButton(text)
        button.setToolTip(tip)
        if action is not None:
            button.clicked.connect(lambda: self.attempt(action))
        return button

    def fill(self, *parts: Any) -> None:
        """Put parts from top to bottom: widgets of Qt, and fields of magicgui with their labels."""
        stack(self, *parts)


class Fold(QWidget):
    """A title that folds and unfolds what is below it.

    A ``section`` has a bold title and begins unfolded; one that ``grows`` takes spare room.
    """

    def __init__(self, title: str, *parts: Any, section: bool = False, grows: bool = False) -> None:
        super().__init__()
        self._title = title
        self._grows = grows
        self.head = QToolButton()
        self.head.setAutoRaise(True)
        self.head.setCheckable(True)
        self.head.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.head.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.head.setMinimumWidth(1)  # a long title must not widen the dock
        font = self.head.font()
        font.setBold(section)
        self.head.setFont(font)
        self.inside = QWidget()
        stack(self.inside, *parts)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        line = QHBoxLayout()
        line.addWidget(self.head, 1)
        line.addStretch()
        column.addLayout(line)
        column.addWidget(self.inside)
        self.head.toggled.connect(self._toggled)
        self.head.setChecked(section)
        self._toggled(section)

    @property
    def title(self) -> str:
        """What it says."""
        return self._title

    @title.setter
    def title(self, title: str) -> None:
        self._title = title
        self._toggled(self.head.isChecked())

    def _toggled(self, unfolded: bool) -> None:
        self.inside.setVisible(unfolded)
        height = (
            QSizePolicy.Policy.Expanding if unfolded and self._grows else QSizePolicy.Policy.Maximum
        )
        self.setSizePolicy(QSizePolicy.Policy.Preferred, height)
        self.head.setText(f"{'▾' if unfolded else '▸'} {self._title}")
        self.head.setToolTip(self._title)
        self.head.setAccessibleName(f"{self._title}, {'unfolded' if unfolded else 'folded'}")


def make_number_field(name: str, most: float, at_zero: str, tip: str) -> FloatSpinBox:
    """A field for a positive number of any size; at zero it says what that means."""
    field = FloatSpinBox(label=name, min=0, max=most, tooltip=tip)
    box: Any = field.native
    box.setDecimals(6)
    box.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
    box.setSpecialValueText(at_zero)
    return field


class RadioField(QObject):
    """One of a few choices, all of them in sight; ``sentence`` is a label on the chosen one.

    Used as a field of magicgui is, whose own radio buttons are drawn into a frame.

    Parameters
    ----------
    label : str
        What is chosen.
    sentences : mapping of str to str
        The choices, the first one chosen at first, and what is to be said of each.
    tooltip : str
        What it is good for.
    """

    changed = Signal(str)

    def __init__(self, label: str, sentences: Mapping[str, str], tooltip: str) -> None:
        super().__init__()
        self.label, self.tooltip, self.choices = label, tooltip, tuple(sentences)
        self.native = QWidget()
        self.sentence = make_label()
        self._sentences = sentences
        self._buttons = {name: QRadioButton(name) for name in sentences}
        self._group = QButtonGroup(self.native)
        column = QVBoxLayout(self.native)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        for name, button in self._buttons.items():
            button.setToolTip(sentences[name])
            button.setAccessibleDescription(sentences[name])
            button.toggled.connect(self._toggled)
            self._group.addButton(button)
            column.addWidget(button)
        self.value = self.choices[0]

    @property
    def value(self) -> str:
        """The name of what is chosen."""
        return next(name for name, button in self._buttons.items() if button.isChecked())

    @value.setter
    def value(self, name: str) -> None:
        if name not in self.choices:
            raise ValueError(f"{name!r} is no {self.label}: there are {', '.join(self.choices)}")
        self._buttons[name].setChecked(True)

    def _toggled(self, is_chosen: bool) -> None:
        if is_chosen:
            self.sentence.setText(self._sentences[self.value])
            self.changed.emit(self.value)


class LayerChoice:
    """Keeps a box of layer names on the layer that was chosen, whatever it is called by now."""

    def __init__(self, box: Any, viewer: Any) -> None:
        self._box, self._viewer = box, viewer
        self._chosen: Any = None
        box.changed.connect(self._remember)

    def reset(self) -> None:
        """Read the names again."""
        chosen = self._chosen
        is_open = chosen is not None and chosen in self._viewer.layers
        with self._box.changed.blocked():
            self._box.reset_choices()
            if is_open and chosen.name in self._box.choices:
                self._box.value = chosen.name
        if chosen is not None and not is_open:
            self._box.changed.emit(self._box.value)

    def _remember(self, name: Any) -> None:
        self._chosen = next((x for x in self._viewer.layers if x.name == name), None)


def make_label(text: str = "") -> QLabel:
    """Text that wraps."""
    made = QLabel(text)
    made.setWordWrap(True)
    made.setMinimumWidth(240)  # else room is kept for the many lines of a narrower one
    return made


def make_row(*widgets: QWidget) -> QWidget:
    """Widgets side by side."""
    box = QWidget()
    line = QHBoxLayout(box)
    line.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        line.addWidget(widget)
    return box


def stack(box: QWidget, *parts: Any) -> None:
    """Put parts into a box, from top to bottom.

    Fields of magicgui get labels; one form for all of them, so that the labels line up.
    """
    form = QFormLayout(box)
    form.setContentsMargins(0, 0, 0, 0)
    form.setVerticalSpacing(4)
    form.setHorizontalSpacing(8)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    for part in parts:
        if isinstance(part, ComboBox):  # a long name must not widen the dock
            part.native.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            part.native.setMinimumContentsLength(8)
        if isinstance(part, QWidget):
            form.addRow(part)
        elif isinstance(part, CheckBox):  # which says itself what it is
            form.addRow(part.native)
        else:
            name = QLabel(part.label)
            name.setToolTip(part.tooltip or "")
            name.setBuddy(part.native)
            for slider in part.native.findChildren(QSlider):  # it has the focus, not its frame
                slider.setAccessibleName(part.label)
            form.addRow(name, part.native)


def show_field(field: Any, shown: bool, name: str | None = None) -> None:
    """Show or hide a field with its label, or call it something else."""
    form: Any = field.native.parentWidget().layout()
    form.setRowVisible(field.native, shown)
    if name is not None:
        form.labelForField(field.native).setText(name)


def allow(button: QPushButton, tip: str, refusal: str) -> None:
    """Let a button be pressed, with a tip, unless there is a refusal: then that is its tip."""
    button.setEnabled(not refusal)
    button.setToolTip(refusal or tip)
