"""The levels of quality: one record each, with all that a level means.

Imports nothing heavy: the command line shows the names in its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Quality = Literal["draft", "fast", "balanced"]
QUALITIES: tuple[Quality, ...] = get_args(Quality)


@dataclass(frozen=True, slots=True)
class PassLevel:
    """What a pass over groups spends, for images with one, two and three shift axes.

    Attributes
    ----------
    step_shares : tuple of float
        Distance between two reference patches as a share of a patch.
    reaches : tuple of tuple of int
        How far from a reference similar patches are looked for, along each axis.
    sizes : tuple of int
        Patches of a group.
    """

    step_shares: tuple[float, float, float]
    reaches: tuple[tuple[int], tuple[int, int], tuple[int, int, int]]
    sizes: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class QualityLevel:
    """What a level of quality spends.

    Attributes
    ----------
    summary : str
        What it is for.
    threshold : PassLevel
        The first pass, which looks for groups in the noisy image.
    wiener : tuple of PassLevel
        Those that follow; the result of each is the pilot of the next.
    leaves_out_weak_filters : bool
        Whether base filters are left out that hardly stand above the noise.
    inpaint_rounds : int
        How often a guess at missing values is denoised.
    """

    summary: str
    threshold: PassLevel
    wiener: tuple[PassLevel, ...]
    leaves_out_weak_filters: bool
    inpaint_rounds: int


_NEAR = ((36,), (12, 12), (12, 5, 5))
_MIDDLE = ((60,), (20, 20), (16, 5, 5))
_FAR = ((120,), (32, 32), (16, 6, 6))
_SMALL, _LARGE = (32, 32, 32), (64, 64, 64)

LEVELS: dict[Quality, QualityLevel] = {
    "draft": QualityLevel(
        summary="one pass over few groups of similar patches: for a look at a large volume",
        threshold=PassLevel((1.0, 1.0, 0.88), _NEAR, (24, 24, 32)),
        wiener=(),
        leaves_out_weak_filters=True,
        inpaint_rounds=8,
    ),
    "fast": QualityLevel(
        summary="a second pass, with the first one's result as a pilot",
        threshold=PassLevel((1.0, 1.0, 0.88), _NEAR, _SMALL),
        wiener=(PassLevel((0.94, 0.94, 0.9), _NEAR, (32, 32, 64)),),
        leaves_out_weak_filters=False,
        inpaint_rounds=8,
    ),
    "balanced": QualityLevel(
        summary="both passes over more, and larger, groups from farther around",
        threshold=PassLevel((0.7, 0.7, 0.7), _MIDDLE, _SMALL),
        wiener=(PassLevel((0.6, 0.6, 0.65), _FAR, _LARGE),),
        leaves_out_weak_filters=False,
        inpaint_rounds=14,
    ),
}
