"""A job of several parts, such as layers that are restored one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from napari_scsc.batch.updates import BatchUpdate
from napari_scsc.cancellation import Cancellation, Cancelled
from napari_scsc.run.updates import RestoreUpdate, Updates


@dataclass(frozen=True, slots=True)
class PartFailed:
    """A part of a job cannot be done; the others are."""

    error: Exception
    done: float = 1.0


@dataclass(frozen=True, slots=True)
class PartUpdate:
    """An update of one part of a job.

    Attributes
    ----------
    part : int
        Which part, from 0 on.
    update : RestoreUpdate, PartFailed or BatchUpdate
        What it says.
    done : float
        How much of the whole job is done, 0 to 1.
    """

    part: int
    update: RestoreUpdate | PartFailed | BatchUpdate
    done: float


@dataclass(frozen=True, slots=True)
class Part:
    """One part: what runs it, and about how many seconds it takes."""

    start: Callable[[Cancellation], Updates]
    seconds: float = 1.0


def run_parts(parts: Sequence[Part], cancellation: Cancellation) -> Iterator[PartUpdate]:
    """Run the parts one after the other; one that fails does not keep the others from it.

    If all of them fail, the last error is raised.
    """
    total = sum(part.seconds for part in parts)
    before, failures = 0.0, 0
    for number, part in enumerate(parts):
        try:
            for update in part.start(cancellation):
                yield PartUpdate(number, update, (before + part.seconds * update.done) / total)
        except Cancelled:
            raise
        except Exception as error:  # told with the others
            failures += 1
            if failures == len(parts):
                raise
            yield PartUpdate(number, PartFailed(error), (before + part.seconds) / total)
        before += part.seconds
