"""What a method tells of its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleCost:
    """What one sample takes, about, on the machine on which costs were measured.

    Attributes
    ----------
    tiles : int
        How many there are.
    seconds : float
        Of one thread, for all tiles.
    memory : int
        Bytes for the largest tile.
    seconds_before : float
        Until the noise and the filters of an image are found, once for all of its samples.
    """

    tiles: int
    seconds: float
    memory: int
    seconds_before: float


def count_tiles_of(shift: tuple[int, ...], size: tuple[int, ...], overlap: tuple[int, ...]) -> int:
    """How many tiles of that size and overlap cover a sample."""
    return math.prod(
        math.ceil(max(n - o, 1) / max(s - o, 1))
        for n, s, o in zip(shift, size, overlap, strict=True)
    )
