"""Cancelling work in other processes: a file that tells them to stop."""

from __future__ import annotations

import math
import time
from pathlib import Path

from napari_scsc.cancellation import Cancellation, Cancelled

SECONDS_BETWEEN_CHECKS = 0.2


class StopFile(Cancellation):
    """Cancelled as soon as a file exists, which every process of a run can see."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_look = -math.inf

    def cancel(self) -> None:
        """Make the file."""
        self.path.touch()

    @property
    def is_cancelled(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()

    def check(self) -> None:
        """Raise ``Cancelled`` if the file exists; it is not looked for at every call."""
        if time.monotonic() - self._last_look > SECONDS_BETWEEN_CHECKS:
            self._last_look = time.monotonic()
            if self.is_cancelled:
                raise Cancelled
