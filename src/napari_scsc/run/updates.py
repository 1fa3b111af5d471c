"""What jobs report while they run."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from napari_scsc._types import Array, Region
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import single_threaded
from napari_scsc.model.updates import Update
from napari_scsc.noise.model import Noise

LEARNING = 0.05  # share of the work that learning is, roughly


@dataclass(frozen=True, slots=True)
class RestoreUpdate:
    """How far a restoration is. Nothing in it is written to any more.

    Attributes
    ----------
    stage : {"noise", "look", "learn", "restore", "encode", "done"}
        What was just done; "look" is a draft with general filters, before any are learned.
    done : float
        Share of the work, 0 to 1.
    message : str
        The same in words.
    noise : Noise, optional
        What was found, or given.
    learned : Update, optional
        While filters are being learned: B, and the W of the last tile.
    bank : FilterBank, optional
        The filters that restore, once they are there.
    region : tuple of slice, optional
        Which part of the image has new values.
    values : ndarray, optional
        These values, as the image has them.
    result : array, optional
        The whole result, like the image; in the last update only.
    remarks : tuple of str
        What the user should know: holes that were too wide, noise that is uncertain.
    """

    stage: str
    done: float
    message: str
    noise: Noise | None = None
    learned: Update | None = None
    bank: FilterBank | None = None
    region: Region | None = None
    values: Array | None = None
    result: Any = None
    remarks: tuple[str, ...] = ()


class RestorationWarning(UserWarning):
    """A result that should be looked at: holes too wide to fill, noise that is uncertain."""


Updates = Generator[RestoreUpdate, None, None]


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


def finished(common: RestoreUpdate, result: Any, remarks: Counter[str]) -> RestoreUpdate:
    """The last update of a restoration."""
    words = tuple(text.format(count) for text, count in remarks.items())
    return replace(
        common,
        stage="done",
        done=1.0,
        message="done",
        result=result,
        remarks=(*common.remarks, *words),
    )


def run_to_end(updates: Updates, progress: Callable[[RestoreUpdate], None] | None) -> Any:
    """Run to the end, reporting each update; return the result and warn of the remarks."""
    update = None
    with closing(updates):  # its threads end, also if the caller keeps an exception
        for update in updates:
            if progress:
                progress(update)
    assert update is not None
    for remark in update.remarks:
        warnings.warn(remark, RestorationWarning, stacklevel=3)
    return update.result
