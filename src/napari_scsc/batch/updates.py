"""What a batch reports while it runs: a small union of frozen types, and a report a file.

Like the updates of one image, each has ``done``, the share of all the work that is done, and
``message``, the same in words.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_scsc.errors import Message
from napari_scsc.io.atomic_files import write_atomically

if TYPE_CHECKING:
    from napari_scsc.noise.model import Noise
    from napari_scsc.run.updates import Finished, RestoreUpdate


class FileState(StrEnum):
    """How far a file of a batch is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    WAS_THERE = "was there"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class FileReport:
    """What is known of one file of a batch: words and numbers, no values of the image.

    Attributes
    ----------
    path : str
        The input, as it was given.
    result : Path
        The file of its result.
    state : FileState
        How far it is.
    sigma : float, optional
        The noise level that was found or given, in the units of the image.
    noise : str
        What else was found of the noise, in a few words.
    seconds : float
        How long it took.
    warnings : tuple of Message
        What the user should know of the file and its result.
    fit : str
        Whether the filters suit the image: "fits" or "learn again"; empty if that is not known.
    failure : Message, optional
        Why there is no result.
    outdated : tuple of str
        How a result that was there is not what would be made now: the ends of a sentence about
        several of them, "with other settings".
    """

    path: str
    result: Path
    state: FileState = FileState.WAITING
    sigma: float | None = None
    noise: str = ""
    seconds: float = 0.0
    warnings: tuple[Message, ...] = ()
    fit: str = ""
    failure: Message | None = None
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileStarted:
    """A file is being restored; ``number`` counts all files from 0 on."""

    number: int
    report: FileReport
    done: float

    @property
    def message(self) -> str:
        """Which file it is."""
        return Path(self.report.path).name


@dataclass(frozen=True, slots=True)
class FileProgress:
    """More of a file is done; ``update`` is that of its restoration."""

    number: int
    update: RestoreUpdate
    done: float

    @property
    def message(self) -> str:
        """How far the file is."""
        return self.update.message


@dataclass(frozen=True, slots=True)
class FileDone:
    """The result of a file is there; ``finished`` is None if it was there before."""

    number: int
    report: FileReport
    finished: Finished | None
    done: float

    @property
    def message(self) -> str:
        """Which file is done."""
        return f"{Path(self.report.path).name} {self.report.state}"


@dataclass(frozen=True, slots=True)
class FileFailed:
    """A file could not be restored."""

    number: int
    report: FileReport
    error: Exception
    done: float

    @property
    def message(self) -> str:
        """Which file failed."""
        return f"{Path(self.report.path).name} {self.report.state}"


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """The end of a batch; files that come after a failure may still be waiting."""

    reports: tuple[FileReport, ...]
    done: float = 1.0

    @property
    def message(self) -> str:
        """How many files have a result."""
        return f"{sum(has_result(report) for report in self.reports)} of {len(self.reports)} done"


BatchUpdate = FileStarted | FileProgress | FileDone | FileFailed | BatchFinished
BatchUpdates = Generator[BatchUpdate, None, None]


def has_result(report: FileReport) -> bool:
    """Whether the result of a file is there."""
    return report.state in (FileState.DONE, FileState.WAS_THERE)


def count_in_words(reports: Sequence[FileReport]) -> str:
    """How many files were restored, were there before, and failed."""
    states = [report.state for report in reports]
    earlier, failed = states.count(FileState.WAS_THERE), states.count(FileState.FAILED)
    if earlier:
        words = [f"{states.count(FileState.DONE)} restored", f"{earlier} {_was(earlier)} there"]
        outdated = Counter(words for report in reports for words in report.outdated)
        words += [f"{count} of them {how}" for how, count in outdated.items()]
    else:
        words = [f"{sum(map(has_result, reports))} of {len(reports)}"]
    if failed:
        words.append(f"{failed} failed")
    return ", ".join(words)


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def noise_in_words(noise: Noise) -> str:
    """What stands out of a noise, apart from its level; empty if it is plain."""
    shared = {"rows": noise.rows, "columns": noise.columns, "frames": noise.frames}
    words = {
        "grows with brightness": noise.depends_on_signal,
        "shared by neighbours": bool(noise.lags),
        **{f"shared by {name}": level > 0 for name, level in shared.items()},
        "shared by channels": bool(noise.shared),
        "not sure": not noise.sure,
    }
    return ", ".join(word for word, holds in words.items() if holds)


_COLUMNS = ("file", "result", "state", "sigma", "noise", "seconds", "fit", "warnings", "failure")


def write_summary(
    reports: Iterable[FileReport],
    path: str | os.PathLike[str],
    render: Callable[[Message], str] = str,
) -> None:
    """Write a table with one row a file, as CSV; ``render`` gives the words of messages."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    table.writerows(_row(report, render) for report in reports)
    write_atomically(path, text.getvalue().encode("utf-8"))


def _row(report: FileReport, render: Callable[[Message], str]) -> tuple[Any, ...]:
    return (
        report.path,
        report.result if has_result(report) else "",
        report.state,
        "" if report.sigma is None else f"{report.sigma:.6g}",
        report.noise,
        f"{report.seconds:.2f}" if report.seconds else "",
        report.fit,
        "; ".join(map(render, report.warnings)),
        "" if report.failure is None else render(report.failure),
    )
