"""A batch on the command line: where it is computed, how far it is, what is said of each file."""

from __future__ import annotations

import logging
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.batch.inputs import naming_inputs
from napari_scsc.batch.job import iter_batch, plan_batch
from napari_scsc.batch.request import BatchRequest
from napari_scsc.batch.results import check_folder
from napari_scsc.batch.updates import (
    BatchUpdates,
    FileDone,
    FileFailed,
    FileProgress,
    FileReport,
    FileStarted,
    FileState,
    write_summary,
)
from napari_scsc.cli.inputs import FileRequest, is_terminal, open_array
from napari_scsc.cli.messages import complain, printable, render, say
from napari_scsc.cli.program import FAILED, keeping_partial
from napari_scsc.errors import (
    MissingPackageError,
    PathExistsError,
    Remedy,
    UserError,
    message_of,
)
from napari_scsc.io.filenames import partial_of, path_beside

if TYPE_CHECKING:
    from napari_scsc.run.updates import Finished, Updates

_LOG_SHARE, _LOG_SECONDS = 0.1, 60.0  # of the work, or of time, between two lines of a log


def restore_each(
    request: BatchRequest,
    files: FileRequest,
    describe: Callable[[Finished], dict[str, Any]],
) -> None:
    """Make the result of each input, and say what was found.

    ``describe`` tells what is to be said of a finished job apart from its files and remarks.
    """
    check_summary(files.summary, request.resume)
    reports = {report.path: report for report in plan_batch(request)}
    updates = iter_batch(request, open_input=open_array)
    with computing_on(files.scheduler):
        try:
            _follow_batch(updates, files, request, reports, describe)
        finally:
            if files.summary is not None:
                write_summary(reports.values(), files.summary, render)
    if any(report.state is FileState.FAILED for report in reports.values()):
        sys.exit(FAILED)


def check_summary(path: str | None, resume: bool) -> None:
    """Refuse a file for the summary that is there, or that cannot be written."""
    if path is None:
        return
    if Path(path).exists() and not resume:
        raise PathExistsError("is there already", path=path, remedy=Remedy.CHOOSE_ANOTHER_NAME)
    check_folder(Path(path).parent)


def _follow_batch(
    updates: BatchUpdates,
    files: FileRequest,
    request: BatchRequest,
    reports: dict[str, FileReport],
    describe: Callable[[Finished], dict[str, Any]],
) -> None:
    """Go through the updates with a bar a file; say what came of each, and keep the reports."""
    running: FileReport | None = None

    def find_partial() -> Path | None:
        return None if running is None or files.out == "-" else partial_of(running.result)

    with keeping_partial(find_partial), closing(updates), ExitStack() as bars:
        show: Show = _show_nothing
        for update in updates:
            if isinstance(update, FileStarted):
                running = update.report
                reports[running.path] = replace(running, state=FileState.STOPPED)
                show = bars.enter_context(showing_progress(Path(running.path).name))
            elif isinstance(update, FileProgress):
                show(update.update.done, update.update.message)
            elif isinstance(update, FileDone | FileFailed):
                bars.close()
                running = None
                reports[update.report.path] = update.report
                if isinstance(update, FileFailed):
                    complain(render(message_of(update.error)))
                else:
                    _say_done(update, files, request, describe)


def _say_done(
    update: FileDone,
    files: FileRequest,
    request: BatchRequest,
    describe: Callable[[Finished], dict[str, Any]],
) -> None:
    report, result = update.report, update.report.result
    facts: dict[str, Any] = {"input": report.path, "output": str(result)}
    remarks = [render(warning) for warning in report.warnings]
    if not files.as_json:
        for remark in remarks:
            complain(f"{report.path}: {remark}")
    if update.finished is None:
        facts |= {"was_there": True, "remarks": remarks}
        say(facts, f"{result} is there already", as_json=files.as_json)
        return
    if files.out == "-":
        _copy_to_standard_output(result)
        return
    facts |= {**describe(update.finished), "remarks": remarks}
    made = str(result)
    if request.options.get("error"):
        facts["error"] = str(path_beside(result, "error"))
        made += f", {facts['error']}"
    say(facts, f"{report.path} -> {made}", as_json=files.as_json)


def _copy_to_standard_output(path: Path) -> None:
    with open(path, "rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def do_each(paths: list[str], do: Callable[[str], None]) -> None:
    """Do it for each input; one that cannot be read does not keep the others from it."""
    has_failed = False
    for path in paths:
        try:
            with naming_inputs([path]):
                do(path)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError) as error:
            complain(render(message_of(error)))
            has_failed = True
    if has_failed:
        sys.exit(FAILED)


@contextmanager
def computing_on(scheduler: str | None) -> Iterator[None]:
    """Have dask compute where the user wants it."""
    if scheduler is None or scheduler == "threads":
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingPackageError(
            "needs the package distributed",
            argument="scheduler",
            remedy="pip install 'napari-scsc[cluster]'",
        ) from None
    if "://" in scheduler:
        with Client(scheduler, timeout=10):
            yield
        return
    if not re.fullmatch("cluster:[1-9][0-9]*", scheduler):
        raise UserError(
            f"is threads, cluster:N or tcp://host:8786, not {scheduler}", argument="scheduler"
        )
    sizes = {"n_workers": int(scheduler.removeprefix("cluster:")), "threads_per_worker": 1}
    # Ctrl-C reaches every process of a terminal: this one tells the workers to stop, and those
    # that begin while it is ignored go on ignoring it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(dashboard_address=":0", silence_logs=logging.CRITICAL, **sizes)
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster, Client(cluster):
        yield


def follow(updates: Updates, title: str) -> Finished:
    """Go through the updates with a bar on a terminal, or lines in a log; return the last one."""
    from napari_scsc.run.updates import Finished

    update = None
    with closing(updates), showing_progress(title) as show:
        for update in updates:
            show(update.done, update.message)
    assert isinstance(update, Finished)
    return update


Show = Callable[[float, str], None]
"""Shows how much is done, and what."""


def _show_nothing(done: float, message: str) -> None:
    pass


def showing_progress(title: str) -> AbstractContextManager[Show]:
    """A bar on a terminal, or lines in a log."""
    return _progress_bar(title) if is_terminal(sys.stderr) else _progress_log(title)


@contextmanager
def _progress_bar(title: str) -> Iterator[Show]:
    from tqdm import tqdm

    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(total=1.0, desc=printable(title), bar_format=layout, file=sys.stderr) as bar:

        def show(done: float, message: str) -> None:
            bar.initial = bar.initial or done
            bar.n = done
            bar.set_postfix_str(message)

        yield show


@contextmanager
def _progress_log(title: str) -> Iterator[Show]:
    from tqdm import tqdm

    start, first_done = time.monotonic(), 0.0
    last_done, last_time = -1.0, 0.0

    def show(done: float, message: str) -> None:
        nonlocal first_done, last_done, last_time
        first_done = first_done or done  # what a resumed run has found took no time
        is_due = done >= last_done + _LOG_SHARE or time.monotonic() > last_time + _LOG_SECONDS
        if not is_due and not done == 1 > last_done:
            return
        last_done, last_time = done, time.monotonic()
        left = ""
        if first_done < done < 1:
            seconds = (last_time - start) * (1 - done) / (done - first_done)
            left = f", {tqdm.format_interval(seconds)} left"
        click.echo(printable(f"{title}: {done:.0%} {message}{left}"), err=True)

    yield show
