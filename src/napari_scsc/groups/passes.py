"""What the passes over a sample look at."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class GroupPass:
    """One pass over groups of similar patches.

    Attributes
    ----------
    step : tuple of int
        Places between two reference patches, along each shift axis.
    reach : tuple of int
        How far from a reference similar patches are looked for.
    size : int
        Patches of a group.
    """

    step: tuple[int, ...]
    reach: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Passes:
    """A thresholding pass, and the Wiener passes that follow.

    Attributes
    ----------
    threshold : GroupPass
        Looks for groups in the sample itself.
    wiener : tuple of GroupPass
        Each looks for groups in the result of the pass before, its pilot.
    strength : float
        Noise level that the thresholding pass assumes, relative to sigma.
    """

    threshold: GroupPass
    wiener: tuple[GroupPass, ...] = ()
    strength: float = 0.9

    @property
    def n_passes(self) -> int:
        """How many passes there are."""
        return 1 + len(self.wiener)

    def nearby(self) -> Passes:
        """All passes with groups as small, and from as near by, as those of the first."""
        first = self.threshold
        near = (replace(w, reach=first.reach, size=first.size) for w in self.wiener)
        return replace(self, wiener=tuple(near))

    @property
    def reach(self) -> tuple[int, ...]:
        """How far the pass that looks furthest looks."""
        return tuple(map(max, *(p.reach for p in (self.threshold, self.threshold, *self.wiener))))
