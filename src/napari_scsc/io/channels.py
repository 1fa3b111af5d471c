"""Channels of an image: what files and layers say of each, and results keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

# Of channels that have none, as viewers choose them.
_ONE, _TWO = ("FFFFFF",), ("FF00FF", "00FF00")
_MORE = ("00FFFF", "FF00FF", "FFFF00", "0000FF", "00FF00", "FF0000")


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of an image; made by the formats, written by the stores.

    Attributes
    ----------
    name : str
        Name of the dye, the protein or the band; empty if it has none.
    colour : str
        In which it is shown: six hexadecimal digits, red first; empty if nothing is said.
    window : tuple of float or None
        The values that are shown dark and bright.
    """

    name: str = ""
    colour: str = ""
    window: tuple[float, float] | None = None


def shown_colours(channels: Sequence[Channel]) -> list[str]:
    """In which colour each channel is shown: its own, or one that tells it from the others."""
    chosen = cycle({1: _ONE, 2: _TWO}.get(len(channels), _MORE))
    return [channel.colour or other for channel, other in zip(channels, chosen, strict=False)]
