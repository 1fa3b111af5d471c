"""The levels of quality: one record each, with all that a level means.

Imports nothing heavy: the command line shows the names in its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Quality = Literal["draft", "fast", "balanced", "best"]
QUALITIES: tuple[Quality, ...] = get_args(Quality)


@dataclass(frozen=True, slots=True)
class QualityLevel:
    """What a level of quality spends.

    Attributes
    ----------
    summary : str
        What it is for.
    step_shares : tuple of float
        Distance between two reference patches as a share of a patch, for images with one, two and
        three shift axes.
    inpaint_step_shares : tuple of float
        The same in the many rounds of inpainting, which need references that lie closer.
    is_step_rounded_up : bool
        Whether that distance is rounded up, or to the nearest.
    step_share_without_middles : float, optional
        The share where the middles of the filters add nothing; see ``uses_middles``.
    first_size, second_size : int
        Patches of a group in the thresholding and in the Wiener pass; 0 leaves the second out, and
        both 0 make a draft, without groups.
    uses_middles : bool
        Whether the result is the mean of two: by the filters, and by their middles.
    inpaint_rounds : int
        How often a guess at missing values is denoised.
    seconds_per_megapoint : float
        Time of one thread for a million points of an image, measured on a laptop's core.
    """

    summary: str
    step_shares: tuple[float, float, float]
    inpaint_step_shares: tuple[float, float, float]
    is_step_rounded_up: bool
    step_share_without_middles: float | None
    first_size: int
    second_size: int
    uses_middles: bool
    inpaint_rounds: int
    seconds_per_megapoint: float


LEVELS: dict[Quality, QualityLevel] = {
    "draft": QualityLevel(
        summary="each patch by itself: next to no time, for a look at a large volume",
        step_shares=(1.0, 1.0, 1.0),
        inpaint_step_shares=(1.0, 1.0, 1.0),
        is_step_rounded_up=True,
        step_share_without_middles=None,
        first_size=0,
        second_size=0,
        uses_middles=False,
        inpaint_rounds=8,
        seconds_per_megapoint=0.2,
    ),
    "fast": QualityLevel(
        summary="one pass over groups of similar patches",
        step_shares=(0.65, 0.65, 0.65),
        inpaint_step_shares=(0.65, 0.65, 0.65),
        is_step_rounded_up=False,
        step_share_without_middles=None,
        first_size=24,
        second_size=0,
        uses_middles=False,
        inpaint_rounds=8,
        seconds_per_megapoint=10.0,
    ),
    # In three dimensions the passes cost most, and neighbours overlap in more directions. In two,
    # 0.55 is 0.03 dB less than 0.5, in little more than half of the time.
    "balanced": QualityLevel(
        summary="a second pass, with the first one's result as a pilot",
        step_shares=(0.5, 0.55, 0.6),
        inpaint_step_shares=(0.5, 0.5, 0.6),
        is_step_rounded_up=True,
        step_share_without_middles=None,
        first_size=32,
        second_size=64,
        uses_middles=False,
        inpaint_rounds=12,
        seconds_per_megapoint=26.0,
    ),
    "best": QualityLevel(
        summary="the mean of two restorations, or closer reference patches",
        step_shares=(0.5, 0.5, 0.6),
        inpaint_step_shares=(0.5, 0.5, 0.6),
        is_step_rounded_up=True,
        step_share_without_middles=0.34,
        first_size=32,
        second_size=64,
        uses_middles=True,
        inpaint_rounds=20,
        seconds_per_megapoint=90.0,
    ),
}
