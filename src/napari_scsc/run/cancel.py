"""Cancelling a run in other processes."""

from __future__ import annotations

import math
import time
from pathlib import Path

from napari_scsc._types import Tick

_SECONDS_BETWEEN_CHECKS = 0.2  # seconds between two looks at what is done, and at whether to stop


class Stopped(Exception):
    """Somebody wants no more of it."""


def stop_file_ticker(stop_file: Path) -> Tick:
    """What a task calls often: it raises when somebody wants to stop."""
    looked = -math.inf

    def tick() -> None:
        nonlocal looked
        if time.monotonic() - looked > _SECONDS_BETWEEN_CHECKS:
            looked = time.monotonic()
            if stop_file.exists():
                raise Stopped

    return tick
