"""How thorough the passes over a sample are."""

from __future__ import annotations

from dataclasses import dataclass

# By the number of shift axes: how far from a reference patch similar ones are looked for.
FIRST_REACH = {1: (60,), 2: (20, 20), 3: (16, 6, 6)}
SECOND_REACH = {1: (120,), 2: (32, 32), 3: (16, 8, 8)}


@dataclass(frozen=True, slots=True)
class Passes:
    """How thorough the passes are.

    Attributes
    ----------
    step : tuple of int
        Places between two reference patches, along each shift axis.
    first_reach, second_reach : tuple of int
        How far from a reference similar patches are looked for.
    first_size, second_size : int
        Patches of a group in the thresholding and in the Wiener pass; 0 leaves the second out,
        and both 0 make a draft, without groups.
    strength : float
        Noise level that the thresholding pass assumes, relative to sigma.
    """

    step: tuple[int, ...]
    first_reach: tuple[int, ...]
    second_reach: tuple[int, ...]
    first_size: int = 32
    second_size: int = 64
    strength: float = 0.9

    @property
    def is_draft(self) -> bool:
        """Whether there are no groups."""
        return self.first_size == 0

    @property
    def n_passes(self) -> int:
        """How many passes there are."""
        return 2 if self.second_size else 1
