"""Where along the axes that a picture of the filters does not have."""

from __future__ import annotations

from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QGridLayout, QLabel, QSlider, QToolButton, QWidget

from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots.plot_content import PlotContent


class AxisSliders(QWidget):
    """A slider and a play button for each axis of the filters that the picture does not show."""

    moved = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._axes: list[tuple[str, int]] = []
        self.sliders: list[QSlider] = []
        self.players: list[QToolButton] = []
        self._numbers: list[QLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._timer = QTimer(self)
        self._timer.setInterval(200)
        self._timer.timeout.connect(self._advance)
        self.hide()

    @property
    def index(self) -> tuple[int, ...]:
        """The chosen position along each axis."""
        return tuple(slider.value() for slider in self.sliders)

    def set_axes(self, content: PlotContent | None) -> None:
        """Have the sliders for that content, in the middle where they are new."""
        axes = (
            []
            if content is None
            else list(zip(content.labels[:-2], content.filters.shape[1:-2], strict=True))
        )
        if axes == self._axes:
            return
        self._axes = axes
        while item := self._grid.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        self.sliders, self.players, self._numbers = [], [], []
        for row, (label, length) in enumerate(axes):
            self._add(row, label, length)
        self._timer.stop()
        self._say()
        self.setVisible(bool(axes))

    def _add(self, row: int, label: str, length: int) -> None:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, length - 1)
        slider.setValue(length // 2)
        slider.setPageStep(max(1, length // 8))
        slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        slider.setAccessibleName(f"Position along {label}")
        slider.valueChanged.connect(self._move)
        name = QLabel(label)
        name.setBuddy(slider)
        number = QLabel()
        number.setMinimumWidth(number.fontMetrics().horizontalAdvance(f"{length}/{length}"))
        number.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        player = QToolButton()
        player.setText("\N{BLACK RIGHT-POINTING TRIANGLE}")
        player.setCheckable(True)
        player.setAutoRaise(True)
        player.setToolTip(f"Play along {label}")
        player.setAccessibleName(f"Play along {label}")
        player.toggled.connect(self._play)
        for column, widget in enumerate((name, slider, number, player)):
            self._grid.addWidget(widget, row, column)
        self.sliders.append(slider)
        self.players.append(player)
        self._numbers.append(number)

    @handler
    def _move(self) -> None:
        self._say()
        self.moved.emit()

    def _say(self) -> None:
        for number, slider in zip(self._numbers, self.sliders, strict=True):
            number.setText(f"{slider.value()}/{slider.maximum()}")

    @handler
    def _play(self) -> None:
        """Run while a button is down and somebody can see it."""
        if self.isVisible() and any(player.isChecked() for player in self.players):
            self._timer.start()
        else:
            self._timer.stop()

    @handler
    def _advance(self) -> None:
        for slider, player in zip(self.sliders, self.players, strict=True):
            if player.isChecked():
                slider.setValue((slider.value() + 1) % (slider.maximum() + 1))

    @handler
    def showEvent(self, event: QShowEvent | None) -> None:
        """Go on playing."""
        super().showEvent(event)
        self._play()

    @handler
    def hideEvent(self, event: QHideEvent | None) -> None:
        """Rest."""
        super().hideEvent(event)
        self._timer.stop()
