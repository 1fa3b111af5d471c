"""What jobs report while they run: a small union of frozen types.

A job is a generator of updates. Every update has ``done``, the share of the work that is done, and
``message``, the same in words. Arrays in an update are not written to any more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from napari_scsc._types import Array, Region
from napari_scsc.errors import Message, UserTypeError
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import single_threaded
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.noise.model import Noise

LEARNING_SHARE = 0.05
"""About how much of the work of a restoration is learning."""


@dataclass(frozen=True, slots=True)
class NoiseFound:
    """The noise of an image was estimated, or given; ``image`` counts from 1 on."""

    noise: Noise
    image: int = 1
    done: float = 0.0

    @property
    def message(self) -> str:
        """The noise level in words."""
        return f"noise level {self.noise.sigma:.3g}" if self.noise.sigma else "no noise"


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A draft of a region with general filters, to look at before any filters are learned."""

    region: Region
    values: Array
    done: float = 0.0

    @property
    def message(self) -> str:
        """What it is."""
        return "a first look"


@dataclass(frozen=True, slots=True)
class TileLearned:
    """Filters were learned from one more tile.

    Attributes
    ----------
    sample : SampleUpdate
        What the tile changed: base filters B, its weights W, its objective.
    bank : FilterBank
        The filters so far.
    number, total : int
        Which tile it was, from 1 on, and how many there are.
    """

    sample: SampleUpdate
    bank: FilterBank
    number: int
    total: int
    done: float

    @property
    def message(self) -> str:
        """How far learning is."""
        return f"learned from tile {self.number} of {self.total}"


@dataclass(frozen=True, slots=True)
class RegionRestored:
    """A region of the image has new values, as the image has them.

    A tile is reported after each pass over it, so that a region can come several times; the last
    time it has the values of the result, and ``is_final`` says so.
    """

    region: Region
    values: Array
    number: int
    total: int
    done: float
    is_final: bool = True

    @property
    def message(self) -> str:
        """How far restoring is."""
        if self.total == 1:
            return f"{self.done:.0%}"
        return f"tile {self.number} of {self.total}"


@dataclass(frozen=True, slots=True)
class BlocksDone:
    """More blocks of a result that goes to a file are done."""

    count: int
    total: int
    done: float

    @property
    def message(self) -> str:
        """How far it is."""
        return f"step {self.count} of {self.total}"


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a job.

    Attributes
    ----------
    result : array, FilterBank or Codes
        What was asked for.
    noise : Noise, optional
        The noise that the restoration went by.
    bank : FilterBank, optional
        The filters that restored, or that were learned.
    remarks : tuple of Message
        What the user should know: holes that were too wide, noise that is uncertain.
    error : array, optional
        The standard error of each value of the result, if it was asked for; float32.
    support : array, optional
        How many patches of a group are alike as far as noise can tell, in the mean over the groups
        behind a value; with the error of a result in memory.
    recipe : Recipe, optional
        How a restoration came to its result, as files of results keep it; ``recipe.to_json()`` is
        what they hold. Not there for lazy results.
    """

    result: Any
    noise: Noise | None = None
    bank: FilterBank | None = None
    remarks: tuple[Message, ...] = ()
    error: Any = None
    support: Any = None
    recipe: Any = None
    done: float = 1.0

    @property
    def message(self) -> str:
        """That it is done."""
        return "done"


RestoreUpdate = NoiseFound | FirstLook | TileLearned | RegionRestored | BlocksDone | Finished
Updates = Generator[RestoreUpdate, None, None]


class RestorationWarning(UserWarning):
    """A result that should be looked at: holes too wide to fill, noise that is uncertain."""


def hold_to_one_thread(updates: Updates) -> Updates:
    """The same updates, with BLAS held to one thread while one is being made."""
    try:
        while True:
            with single_threaded():
                update = next(updates, None)
            if update is None:
                return
            yield update
    finally:
        updates.close()


def run_to_end(
    updates: Updates, progress: Callable[[RestoreUpdate], None] | None = None
) -> Finished:
    """Run a job, reporting each update; warn of the remarks, and return the last update."""
    if progress is not None and not callable(progress):
        raise UserTypeError(
            f"must be a function that takes updates, but is {progress!r:.80}", argument="progress"
        )
    update: RestoreUpdate | None = None
    with closing(updates):  # its threads end, also if the caller keeps an exception
        for update in updates:
            if progress:
                progress(update)
    assert isinstance(update, Finished)
    for remark in update.remarks:
        warnings.warn(str(remark), RestorationWarning, stacklevel=3)
    return update
