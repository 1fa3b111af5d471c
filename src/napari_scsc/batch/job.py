"""Restoring many files, one after the other: the one loop of command line and dock."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import napari_scsc
from napari_scsc.batch.earlier import report_earlier
from napari_scsc.batch.inputs import (
    STANDARD_INPUT,
    find_axes,
    find_inputs,
    load_bank,
    load_frames,
    load_mask,
    naming_inputs,
    open_array,
)
from napari_scsc.batch.plates import Plate, find_plates, finish_plates
from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.batch.results import check_folder, name_results
from napari_scsc.batch.updates import (
    BatchFinished,
    BatchUpdates,
    FileDone,
    FileFailed,
    FileProgress,
    FileReport,
    FileStarted,
    FileState,
    noise_in_words,
)
from napari_scsc.cancellation import NEVER, Cancellation, Cancelled
from napari_scsc.errors import RunInterrupted, UserError, message_of
from napari_scsc.io.filenames import partial_of

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.noise.model import Noise
    from napari_scsc.run.origin import Origin
    from napari_scsc.run.updates import Finished, RestoreUpdate

OpenArray = Callable[[str, str | None], "OpenedFile"]
"""Opens an input, by its name and key."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def plan_batch(request: BatchRequest) -> tuple[FileReport, ...]:
    """The files of a batch and those of their results; what is wrong with the names fails here."""
    results, plates = _name_files(request)
    return tuple(
        report
        for path, result in results.items()
        for report in (plates[path].plan() if path in plates else [FileReport(path, result)])
    )


def _name_files(request: BatchRequest) -> tuple[dict[str, Path], dict[str, Plate]]:
    """The result of each input, and the plates among the inputs whose fields are all wanted."""
    goes_on = request.on_failure == "go-on"
    paths = find_inputs(request.inputs, request.pattern, keep_missing=goes_on)
    default = request.default_suffix
    results = name_results(paths, request.out, request.format, request.resume, default)
    if request.zarr_format and not any(path.name.endswith(".zarr") for path in results.values()):
        raise UserError("is for results that are zarr", argument="zarr_format")
    return results, find_plates(request, results)


def iter_batch(
    request: BatchRequest, cancellation: Cancellation = NEVER, *, open_input: OpenArray = open_array
) -> BatchUpdates:
    """Restore each file of a request into a file, yielding updates.

    Wrong names and arguments raise at the call. A file that cannot be restored is told by an
    update, and the others are restored unless the request says otherwise; a disk that is full, and
    a cluster that is gone, end it. Nothing of an image is kept when its result is written.

    Parameters
    ----------
    request : BatchRequest
        What to do.
    cancellation : Cancellation, optional
        Cancels it: the generator then raises ``Cancelled``. The same request with ``resume`` goes
        on, to the same bits.
    open_input : function
        Opens an input by its name and key.

    Yields
    ------
    FileStarted, FileProgress, FileDone or FileFailed, BatchFinished
        The last one has a report of every file.
    """
    planned = plan_batch(request)
    _, plates = _name_files(request)
    options = _load_options(request)
    for folder in {report.result.parent for report in planned}:
        check_folder(folder)
    return _restore_all(request, planned, tuple(plates.values()), options, cancellation, open_input)


def _load_options(request: BatchRequest) -> dict[str, Any]:
    """The arguments that all files share: what is in files is loaded, what is wrong fails."""
    from napari_scsc.restore.options import RestoreOptions, parse_memory

    options = dict(request.options)
    options["memory"] = parse_memory(options.get("memory"))
    if request.bank is not None:
        given = request.bank
        options["bank"] = load_bank(given) if isinstance(given, str) else given
    if request.dark is not None:
        options["noise"] = load_frames(request.dark)
    if request.task != "encode":
        RestoreOptions(**options)
    if request.task != "denoise":
        options["missing"] = load_mask(request.mask)
    return {**options, "resume": request.resume}


def _restore_all(
    request: BatchRequest,
    planned: tuple[FileReport, ...],
    plates: tuple[Plate, ...],
    options: Mapping[str, Any],
    cancellation: Cancellation,
    open_input: OpenArray,
) -> BatchUpdates:
    reports = list(planned)
    fields = {report.path for plate in plates for report in plate.plan()}
    was_there = [report.result.exists() for report in planned]
    work = max(1, was_there.count(False))  # what is there takes no time
    count = 0
    for number, report in enumerate(planned):
        cancellation.check()
        if was_there[number]:
            _clear_finished(report.result)
            open_source = partial(open_input, report.path, _key_of(report, request, fields))
            reports[number] = report_earlier(request, report, options, open_source)
            yield FileDone(number, reports[number], None, count / work)
            continue
        yield FileStarted(number, replace(report, state=FileState.RUNNING), count / work)
        finished, failure = None, None
        start, paused = time.monotonic(), cancellation.paused_seconds
        key = _key_of(report, request, fields)
        updates = _restore_file(request, report, key, options, cancellation, open_input)
        try:
            while True:
                update = next(updates)
                yield FileProgress(number, update, (count + update.done) / work)
        except StopIteration as end:
            reports[number], finished = end.value
        except Exception as error:  # a file may be broken in any way, and the others are whole
            if _ends_batch(error, report.result):
                raise
            failure = error
            reports[number] = replace(report, state=FileState.FAILED, failure=message_of(error))
        finally:
            updates.close()
        count += 1
        seconds = time.monotonic() - start - (cancellation.paused_seconds - paused)
        reports[number] = replace(reports[number], seconds=seconds)
        if failure is None:
            yield FileDone(number, reports[number], finished, count / work)
        else:
            yield FileFailed(number, reports[number], failure, count / work)
            if request.on_failure == "stop":
                break
    finish_plates(plates, reports, request)
    yield BatchFinished(tuple(reports))


def _key_of(report: FileReport, request: BatchRequest, fields: set[str]) -> str | None:
    """Which array of a file is restored; a field of a plate is an image by itself."""
    return None if report.path in fields else request.key


def _clear_finished(result: Path) -> None:
    from napari_scsc.run.partial import clear_finished

    clear_finished(result)


def _restore_file(
    request: BatchRequest,
    report: FileReport,
    key: str | None,
    options: Mapping[str, Any],
    cancellation: Cancellation,
    open_input: OpenArray,
) -> Generator[RestoreUpdate, None, tuple[FileReport, Finished]]:
    """Make the result of one file; returns what is to be said of it, and the last update."""
    from napari_scsc.run.partial import Output
    from napari_scsc.run.updates import Finished

    last: RestoreUpdate | None = None
    with naming_inputs([report.path]):
        image = open_input(report.path, key)
        axes = find_axes(image, request.kind, request.axes)
        output = Output(
            report.result,
            image.scale,
            image.units,
            image.translation,
            image.channels,
            request.zarr_format or image.zarr_format,
            origin=_origin_of(request, report, key),
        )
        start = getattr(napari_scsc, f"iter_{request.task}")
        updates = start(image.array, axes=axes, out=output, cancellation=cancellation, **options)
        with closing(updates):
            for last in updates:
                yield last
        assert isinstance(last, Finished)
        noise = last.noise
        made = replace(
            report,
            state=FileState.DONE,
            sigma=None if noise is None else noise.sigma,
            noise="" if noise is None else noise_in_words(noise),
            warnings=(*image.remarks, *last.remarks),
            fit=_fit_of(image.array, options.get("bank"), axes, noise),
        )
        return made, last


def _origin_of(request: BatchRequest, report: FileReport, key: str | None) -> Origin:
    """The files that one result is made from, and the command that makes it."""
    from napari_scsc.run.origin import Origin, folder_seen_from

    only = replace(
        request,
        inputs=(report.path,),
        out=str(report.result),
        pattern=None,
        format=None,
        on_failure="go-on",
        resume=False,
    )
    command = ""
    with suppress(UserError):  # of what is in no file
        command = command_line(only if key == request.key else request)  # of a field: its plate
    is_piped = report.path == STANDARD_INPUT
    return Origin(
        path=None if is_piped else report.path,
        key=key,
        mask=request.mask,
        bank=request.bank if isinstance(request.bank, str) else None,
        folder=folder_seen_from(report.result),
        command=command,
        digest=request.digest,
    )


def _ends_batch(error: Exception, result: Path) -> bool:
    """Whether no other file can be restored either: it was cancelled, or the disk is full."""
    if isinstance(error, Cancelled | RunInterrupted | BrokenPipeError):
        return True
    if isinstance(error, UserError) or not isinstance(error, OSError):
        return False
    return error.errno in _DISK_FULL or partial_of(result).exists()


def _fit_of(image: Any, bank: FilterBank | None, axes: Axes, noise: Noise | None) -> str:
    """Whether the filters suit an image, where that can be told; see ``FileReport.fit``."""
    if bank is None or noise is None:
        return ""
    from napari_scsc.restore.bank_fit import bank_fit

    try:
        return bank_fit(image, bank, axes=axes, noise=noise).verdict
    except ValueError:  # an image in which nothing can be judged
        return ""
