"""When the plots redraw: soon, but no more often than a rate allows."""

from __future__ import annotations

import math
import time

from qtpy.QtCore import QObject, QTimer, Signal

from napari_scsc.errors import UserError
from napari_scsc.plugin.handlers import handler


class RedrawClock(QTimer):
    """Emits ``due`` soon after it was asked to, at most ``rate`` times a second."""

    due = Signal()

    def __init__(self, rate: float, parent: QObject) -> None:
        super().__init__(parent)
        self.rate = rate
        self._drawn_at = -math.inf
        self.setSingleShot(True)
        self.timeout.connect(self._emit)

    @property
    def rate(self) -> float:
        """Redraws a second, at the most."""
        return self._rate

    @rate.setter
    def rate(self, value: float) -> None:
        if not 0 < value < math.inf:
            raise UserError(
                f"must be a positive number of redraws a second, not {value!r}", argument="rate"
            )
        self._rate = float(value)

    def ask(self) -> None:
        """Draw as soon as the rate allows."""
        if not self.isActive():
            wait = max(0.0, self._drawn_at + 1 / self._rate - time.monotonic())
            self.start(math.ceil(1000 * wait))

    @handler
    def _emit(self) -> None:
        self._drawn_at = time.monotonic()
        self.due.emit()
