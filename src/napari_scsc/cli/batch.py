"""Each input to its result: where it is computed, and how far it is."""

from __future__ import annotations

import logging
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.cli.inputs import FileRequest, is_done, is_terminal, open_input
from napari_scsc.cli.messages import complain, naming_inputs, render, say
from napari_scsc.cli.program import FAILED, keeping_partial
from napari_scsc.errors import MissingPackageError, UserError, message_of
from napari_scsc.io.filenames import partial_of, path_beside

if TYPE_CHECKING:
    from napari_scsc.run.updates import Finished, Updates

_LOG_SHARE, _LOG_SECONDS = 0.1, 60.0  # of the work, or of time, between two lines of a log


def restore_each(
    start: Callable[..., Updates],
    request: FileRequest,
    results: Mapping[str, Path],
    options: Mapping[str, Any],
    describe: Callable[[Finished], dict[str, Any]],
) -> None:
    """Make the result of each input, and say what was found.

    ``start`` is ``iter_denoise`` or another function that writes to a file, ``describe`` tells
    what is to be said of a finished job apart from its files and remarks.
    """
    from napari_scsc.restore.options import parse_memory

    options = {**options, "memory": parse_memory(options["memory"])}

    def restore(path: str) -> None:
        result = results[path]
        facts: dict[str, Any] = {"input": path, "output": str(result)}
        if is_done(result, options["resume"]):
            words = f"{result} is there already"
            say({**facts, "was_there": True}, words, as_json=request.as_json)
            return
        finished, remarks = _restore_input(start, path, result, request, options)
        if not request.as_json:
            for remark in remarks:
                complain(f"{path}: {remark}")
        if request.out == "-":
            _copy_to_standard_output(result)
        else:
            facts |= {**describe(finished), "remarks": remarks}
            made = str(result)
            if options.get("error"):
                facts["error"] = str(path_beside(result, "error"))
                made += f", {facts['error']}"
            say(facts, f"{path} -> {made}", as_json=request.as_json)

    with computing_on(request.scheduler):
        do_each(list(results), restore)


def _restore_input(
    start: Callable[..., Updates],
    path: str,
    result: Path,
    request: FileRequest,
    options: Mapping[str, Any],
) -> tuple[Finished, list[str]]:
    """Make the result of an input; return the last update, and all remarks as people read them."""
    from napari_scsc.run.partial import Output

    image, axes = open_input(path, request)
    output = Output(result, image.scale, image.units)
    updates = start(image.array, axes=axes, out=output, **options)
    with keeping_partial(None if request.out == "-" else partial_of(result)):
        finished = follow(updates, Path(path).name)
    return finished, [render(remark) for remark in (*image.remarks, *finished.remarks)]


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
    show_progress = _progress_bar if is_terminal(sys.stderr) else _progress_log
    with closing(updates), show_progress(title) as show:
        for update in updates:
            show(update.done, update.message)
    assert isinstance(update, Finished)
    return update


Show = Callable[[float, str], None]
"""Shows how much is done, and what."""


@contextmanager
def _progress_bar(title: str) -> Iterator[Show]:
    from tqdm import tqdm

    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(total=1.0, desc=title, bar_format=layout, file=sys.stderr) as bar:

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
        click.echo(f"{title}: {done:.0%} {message}{left}", err=True)

    yield show
