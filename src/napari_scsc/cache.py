"""Where what was measured on this machine is kept: plans of FFTs, and how fast it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The folder, which may not exist yet; RuntimeError where there is no home folder."""
    if chosen := os.environ.get("NAPARI_SCSC_CACHE"):
        return Path(chosen)
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    usual = os.environ.get(variable)
    return (Path(usual) if usual else Path.home() / ".cache") / "napari-scsc"
