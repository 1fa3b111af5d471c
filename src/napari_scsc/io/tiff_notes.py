"""What TIFF descriptions say of channels and recipes, as stores write and formats read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.io.channels import Channel

RECIPE = "napari-scsc/recipe"
"""Namespace of the OME annotation, and name of the line in ImageJ's notes, that hold a recipe."""

WINDOWS = "napari-scsc/windows"
"""Namespace of the OME annotation with the window of each channel, for which OME has no field."""


def to_ome_colour(colour: str) -> int:
    """A colour as OME has it: red, green, blue and opacity in a signed integer of 32 bits."""
    value = int(f"{colour}ff", 16)
    return value - (1 << 32) if value >= 1 << 31 else value


def from_ome_colour(text: str) -> str:
    """Six digits of an OME colour; empty where it is none."""
    return f"{int(text) & 0xFFFFFFFF:08X}"[:6] if re.fullmatch(r"-?\d{1,10}", text) else ""


def to_imagej_table(colour: str) -> Array:
    """The look-up table of ImageJ that goes from black to a colour; grey where there is none."""
    brightest = np.array([int(colour[i : i + 2] or "ff", 16) for i in (0, 2, 4)])
    return np.rint(brightest[:, None] * np.arange(256) / 255).astype(np.uint8)


def from_imagej_table(table: Any) -> str:
    """The colour of a look-up table that goes from black to it; empty for all other tables."""
    values = np.asarray(table)
    if values.shape != (3, 256):
        return ""
    colour = bytes(values[:, -1].astype(np.uint8)).hex().upper()
    is_ramp = np.abs(to_imagej_table(colour).astype(int) - values).max() <= 1
    return colour if is_ramp else ""


def windows_json(channels: Sequence[Channel]) -> str:
    """The windows of all channels; empty if none has one."""
    windows = [channel.window for channel in channels]
    return json.dumps(windows) if any(windows) else ""


def windows_from_json(text: str | None) -> list[tuple[float, float] | None]:
    """The windows of channels; none where the text is no list of them."""
    found = _load(text)
    return [window_of(pair) for pair in found] if isinstance(found, list) else []


def window_of(pair: Any) -> tuple[float, float] | None:
    """Two numbers as a window, or None if they are something else."""
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError):
        return None
    return (low, high) if low < high < np.inf and low > -np.inf else None


def channels_json(channels: Sequence[Channel]) -> list[dict[str, Any]]:
    """Channels for the description that only tifffile reads."""
    return [{"name": c.name, "colour": c.colour, "window": c.window} for c in channels]


def channels_from_json(value: Any) -> tuple[Channel, ...]:
    """Channels of such a description; none where it is damaged."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return ()
    return known_channels(
        Channel(
            str(entry.get("name") or ""),
            colour_of(entry.get("colour")),
            window_of(entry.get("window")),
        )
        for entry in value
    )


def colour_of(value: Any) -> str:
    """Six digits in capitals, or nothing."""
    text = str(value or "").lstrip("#").upper()
    return text if re.fullmatch("[0-9A-F]{6}", text) else ""


def known_channels(channels: Any) -> tuple[Channel, ...]:
    """The channels, if anything is known of one of them."""
    found = tuple(channels)
    return found if any(channel != Channel() for channel in found) else ()


def recipe_json(recipe: Mapping[str, Any]) -> str:
    """A recipe as text of a single line."""
    return json.dumps(dict(recipe))


def recipe_from_json(text: Any) -> dict[str, Any]:
    """The recipe in a text; empty where there is none."""
    found = _load(text) if isinstance(text, str) else text
    return found if isinstance(found, dict) else {}


def _load(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:  # somebody else's words
        return None
