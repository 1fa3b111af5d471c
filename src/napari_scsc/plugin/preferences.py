"""Preferences of the user, from napari's own dialogue, and what the dock was set to last time."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari.settings import get_plugin_settings, get_settings

from napari_scsc.io.atomic_files import write_atomically
from napari_scsc.restore.quality import QUALITIES

_PLUGIN = "napari-scsc"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the manifest's ``configurations`` ask for.

    Attributes
    ----------
    threads : int or None
        How many threads restore; None: one for each core.
    quality : str
        The quality that the dock begins with.
    plot_rate : float
        Redraws of the live plots a second.
    results_folder : Path or None
        Where large results go; None: they stay in memory.
    large_result : int
        From how many bytes on a result is large.
    """

    threads: int | None
    quality: str
    plot_rate: float
    results_folder: Path | None
    large_result: int

    def folder_for(self, size: int) -> Path | None:
        """The folder that a result of so many bytes goes to; None: it stays in memory."""
        return self.results_folder if size >= self.large_result else None


_DEFAULTS = Preferences(None, "balanced", 12.0, None, 2_000_000_000)


def read_preferences() -> Preferences:
    """The preferences as they are now; the manifest's where napari does not know the plugin."""
    try:
        found = get_plugin_settings(_PLUGIN).restoration
    except (KeyError, AttributeError):
        return _DEFAULTS
    folder = str(found.results_folder).strip()
    # An earlier version may have kept one that is no more.
    quality = str(found.quality) if found.quality in QUALITIES else _DEFAULTS.quality
    return Preferences(
        threads=int(found.threads) or None,
        quality=quality,
        plot_rate=float(found.plot_rate),
        results_folder=Path(folder).expanduser() if folder else None,
        large_result=int(found.large_result_mb) * 10**6,
    )


def read_fields() -> dict[str, Any]:
    """The fields of the dock as they were left; empty if nothing usable was."""
    path = _memory_path()
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
        if isinstance(found, dict):
            return found
    return {}


def keep_fields(fields: dict[str, Any]) -> None:
    """Keep the fields for the next time. That this may fail is no reason to bother anyone."""
    path = _memory_path()
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(fields, indent=1).encode())


def _memory_path() -> Path | None:
    """A file beside napari's settings; None if napari keeps none."""
    path = get_settings().config_path
    return None if path is None else Path(str(path)).with_name("napari-scsc-dock.json")
