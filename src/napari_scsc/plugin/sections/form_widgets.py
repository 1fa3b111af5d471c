"""Widgets that the sections of the dock are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, FloatSlider
from qtpy.QtCore import QEvent, QLocale, QObject, Qt, Signal
from qtpy.QtGui import QColor, QFont, QValidator
from qtpy.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QSizePolicy,
    QSlider,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from napari_scsc.plugin.handlers import handler, tell

_LIGHT = 140  # lightness of 255 from which on black is read better than white


class Section(QWidget):
    """A part of the dock. What goes wrong in it is told by ``failed``, not raised into Qt."""

    failed = Signal(object)
    """Brings the exception."""

    def attempt(self, action: Callable[[], None]) -> None:
        """Do what a button asks for."""
        try:
            action()
        except Exception as error:  # the user is told, whatever it was
            tell(self, error)

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


class FontFollower(QObject):
    """Tells a widget which font napari's labels have, whenever that may have changed.

    Parameters
    ----------
    widget : QWidget
        Whose labels they are.
    take_font : function
        Called with the font.
    """

    def __init__(self, widget: QWidget, take_font: Callable[[QFont], None]) -> None:
        super().__init__(widget)
        self._label = QLabel(widget)
        self._label.hide()
        self._take_font = take_font
        widget.installEventFilter(self)

    @handler
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Look again after a change of style, and when the widget is shown."""
        if event is not None and event.type() in (QEvent.Type.StyleChange, QEvent.Type.Show):
            self._label.ensurePolished()
            self._take_font(self._label.font())
        return bool(super().eventFilter(watched, event))


class TextButton(QToolButton):
    """A button without a frame, in the font of labels: napari's themes give it none."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setText(text)
        self.setAutoRaise(True)
        FontFollower(self, self.setFont)


class Fold(QWidget):
    """A title that folds and unfolds what is below it."""

    def __init__(self, title: str, *parts: Any) -> None:
        super().__init__()
        self._title = title
        self.head = TextButton()
        self.head.setCheckable(True)
        self.head.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.head.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.head.setMinimumWidth(1)  # a long title must not widen the dock
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
        self._toggled(False)

    @property
    def title(self) -> str:
        """What it says."""
        return self._title

    @title.setter
    def title(self, title: str) -> None:
        self._title = title
        self._toggled(self.head.isChecked())

    @handler
    def _toggled(self, unfolded: bool) -> None:
        self.inside.setVisible(unfolded)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.head.setText(f"{'▾' if unfolded else '▸'} {self._title}")
        self.head.setToolTip(self._title)
        self.head.setAccessibleName(f"{self._title}, {'unfolded' if unfolded else 'folded'}")


class NumberField(QObject):
    """A field for a positive number of any size; at zero it says what that means.

    Used as a field of magicgui is, which has none that takes a comma for a point and steps in
    proportion.

    Parameters
    ----------
    label : str
        What it is.
    most : float
        The largest number.
    at_zero : str
        What zero means.
    tooltip : str
        What it is good for.
    """

    changed = Signal(float)
    typical_wanted = Signal()
    """A step up from zero was asked for, and nothing says yet where that leads."""

    def __init__(self, label: str, most: float, at_zero: str, tooltip: str) -> None:
        super().__init__()
        self.label, self.tooltip = label, tooltip
        self.native = _NumberBox(most)
        self.native.setSpecialValueText(at_zero)
        self.native.setToolTip(tooltip)
        self.native.valueChanged.connect(self.changed)
        self.native.typical_wanted.connect(self.typical_wanted)

    @property
    def value(self) -> float:
        """The number."""
        return float(self.native.value())

    @value.setter
    def value(self, value: float) -> None:
        self.native.setValue(value)

    def set_typical(self, value: float | None) -> None:
        """The number that a step up from zero leads to; steps are a tenth of it."""
        self.native.typical = value

    def set_text_at_zero(self, text: str) -> None:
        """What zero means from now on."""
        self.native.setSpecialValueText(text)


class DecimalComma(QValidator):
    """Has a box of numbers take 12,5 for 12.5, whatever the language of the system is.

    Left to itself, Qt takes the comma for one between thousands, or the point for one.
    """

    def __init__(self, box: QDoubleSpinBox) -> None:
        super().__init__(box)
        self._box = box
        box.setLocale(QLocale.c())
        line: Any = box.lineEdit()
        line.setValidator(self)

    def validate(self, text: str | None, position: int) -> Any:
        """What the box says of the same text with a point."""
        return self._box.validate((text or "").replace(",", "."), position)


class _NumberBox(QDoubleSpinBox):
    """Steps by a tenth of what is typical, or of the number itself."""

    typical_wanted = Signal()

    def __init__(self, most: float) -> None:
        super().__init__()
        self.typical: float | None = None
        self.setDecimals(9)
        self.setRange(0, most)
        self.setKeyboardTracking(False)
        DecimalComma(self)

    def validate(self, text: str | None, position: int) -> tuple[Any, str, int]:
        """Whether the text is a number, or may become one."""
        text = text or ""
        if text == self.specialValueText():
            return QValidator.State.Acceptable, text, position
        if re.fullmatch(r"\s*\d*(\.\d*)?([eE][-+]?\d*)?\s*", text) is None:
            return QValidator.State.Invalid, text, position
        try:
            value = float(text)
        except ValueError:  # not yet
            return QValidator.State.Intermediate, text, position
        fits = value <= self.maximum()
        state = QValidator.State.Acceptable if fits else QValidator.State.Intermediate
        return state, text, position

    def valueFromText(self, text: str | None) -> float:
        """The number that was typed."""
        try:
            return float(text or "")
        except ValueError:
            return 0.0

    def textFromValue(self, value: float) -> str:
        """No more digits than mean something."""
        return f"{value:.6g}"

    @handler
    def stepBy(self, steps: int) -> None:
        """From zero to what is typical first, then in tenths."""
        value = self.value()
        if value == 0:
            if steps > 0 and self.typical is None:  # a number of ours would be of other units
                self.typical_wanted.emit()
            elif steps > 0:
                self.setValue(self.typical or 0.0)
            return
        unit = self.typical or 10.0 ** math.floor(math.log10(value))
        self.setValue(max(0.0, round(value + steps * unit / 10, 12)))


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
    in_a_row : bool
        Whether they stand side by side.
    """

    changed = Signal(str)

    def __init__(
        self, label: str, sentences: Mapping[str, str], tooltip: str, in_a_row: bool = False
    ) -> None:
        super().__init__()
        self.label, self.tooltip, self.choices = label, tooltip, tuple(sentences)
        self.native = QWidget()
        self.sentence = make_label()
        self._sentences = sentences
        self._buttons = {name: QRadioButton(name) for name in sentences}
        self._group = QButtonGroup(self.native)
        column: QBoxLayout = QHBoxLayout() if in_a_row else QVBoxLayout()
        self.native.setLayout(column)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12 if in_a_row else 4)
        for name, button in self._buttons.items():
            button.setToolTip(sentences[name])
            button.setAccessibleDescription(sentences[name])
            button.toggled.connect(self._toggled)
            self._group.addButton(button)
            column.addWidget(button)
        if in_a_row:
            column.addStretch()
        self.native.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
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

    @handler
    def _toggled(self, is_chosen: bool) -> None:
        if is_chosen:
            self.sentence.setText(self._sentences[self.value])
            self.changed.emit(self.value)


class LayerChoice:
    """Keeps a box of layer names on the layer that was chosen, whatever it is called by now."""

    def __init__(self, box: Any, viewer: Any, takes_the_only_one: bool = False) -> None:
        self._box, self._viewer = box, viewer
        self._takes_the_only_one = takes_the_only_one
        self._chosen: Any = None
        self._refused: Any = None  # the only one, which the user did not want
        box.changed.connect(self._remember)

    def reset(self) -> None:
        """Read the names again; where there is only one, it may be taken."""
        self._reset()
        names = list(self._box.choices)[1:]
        if self._takes_the_only_one and self._chosen is None and len(names) == 1:
            only = self._viewer.layers[names[0]]
            if only != self._refused:
                self._box.value = names[0]

    def forget(self) -> None:
        """Forget that one was not wanted."""
        self._refused = None
        self.reset()

    def _reset(self) -> None:
        chosen = self._chosen
        is_open = chosen is not None and chosen in self._viewer.layers
        with self._box.changed.blocked():
            self._box.reset_choices()
            if is_open and chosen.name in self._box.choices:
                self._box.value = chosen.name
        if chosen is not None and not is_open:
            self._box.changed.emit(self._box.value)

    @handler
    def _remember(self, name: Any) -> None:
        before = self._chosen
        self._chosen = next((x for x in self._viewer.layers if x.name == name), None)
        if self._chosen is None and before in self._viewer.layers:
            self._refused = before


def make_label(text: str = "") -> QLabel:
    """Text that wraps."""
    made = QLabel(text)
    made.setWordWrap(True)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    made.setMinimumWidth(240)  # else room is kept for the many lines of a narrower one
    return made


class WheelGuard(QObject):
    """Leaves the wheel to the page, unless the field under it was clicked or tabbed to first."""

    def guard(self, page: QWidget) -> None:
        """Guard all fields of a page."""
        for kind in (QComboBox, QAbstractSpinBox, QAbstractSlider, QTabBar):
            for field in page.findChildren(kind):
                if not isinstance(field, QScrollBar):
                    field.installEventFilter(self)
                    if field.focusPolicy() == Qt.FocusPolicy.WheelFocus:
                        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @handler
    def eventFilter(self, watched: Any, event: Any) -> bool:
        """Turn wheel events away from fields that have no focus."""
        if event.type() == QEvent.Type.Wheel and not _has_focus(watched):
            event.ignore()
            return True
        return bool(super().eventFilter(watched, event))


def _has_focus(widget: QWidget) -> bool:
    focused = QApplication.focusWidget()
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))


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
        elif isinstance(part, tuple):  # a label and its widget
            form.addRow(*part)
        elif isinstance(part, CheckBox):  # which says itself what it is
            form.addRow(part.native)
        else:
            name = QLabel(part.label)
            name.setToolTip(part.tooltip or "")
            name.setBuddy(part.native)
            for slider in part.native.findChildren(QSlider):  # it has the focus, not its frame
                slider.setAccessibleName(part.label)
            for box in part.native.findChildren(QDoubleSpinBox):
                DecimalComma(box)
            form.addRow(name, part.native)


def show_field(field: Any, shown: bool, name: str | None = None) -> None:
    """Show or hide a field with its label, or call it something else."""
    form: Any = field.native.parentWidget().layout()
    form.setRowVisible(field.native, shown)
    if name is not None:
        form.labelForField(field.native).setText(name)


def set_accent(button: QPushButton, colour: QColor) -> None:
    """Give a button the accent colour of the theme; it stays grey while it cannot be pressed."""
    text = "black" if colour.lightness() > _LIGHT else "white"
    button.setStyleSheet(
        f"QPushButton:enabled {{ background-color: {colour.name()}; color: {text}; padding: 5px; }}"
    )


def allow(button: QPushButton, tip: str, refusal: str) -> None:
    """Let a button be pressed, with a tip, unless there is a refusal: then that is its tip."""
    button.setEnabled(not refusal)
    button.setToolTip(refusal or tip)


def set_slider_steps(field: FloatSlider, arrow: float, page: float) -> None:
    """How far the arrow keys, and PageUp or a click beside the handle, move a slider.

    magicgui's slider counts in whole numbers of its own, and the number beside it steps by 1.
    """
    for slider in field.native.findChildren(QSlider):
        unit = slider.maximum() / field.max
        slider.setSingleStep(round(arrow * unit))
        slider.setPageStep(round(page * unit))
    for box in field.native.findChildren(QDoubleSpinBox):
        box.setSingleStep(arrow)
