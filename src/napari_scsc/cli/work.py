"""How the command line works: for each input, where the user wants it, with a bar."""

from __future__ import annotations

import logging
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.cli.files import checkpoint_of, is_done, open_input
from napari_scsc.cli.words import (
    FAILED,
    complain,
    is_terminal,
    keeping,
    naming,
    say,
    translated,
    words_of,
)

if TYPE_CHECKING:
    from napari_scsc.run.updates import RestoreUpdate, Updates


def make_each(
    start: Callable[..., Updates],
    targets: dict[str, Path],
    found: Callable[[RestoreUpdate], dict[str, Any]],
    **asked: Any,
) -> None:
    """Make the result of each input, and say what was found."""
    from napari_scsc.restore.options import memory_of
    from napari_scsc.run.partial import Output

    is_piped = asked["out"] == "-"
    memory = memory_of(asked["memory"])

    def make(path: str) -> None:
        target = targets[path]
        facts = {"input": path, "output": str(target)}
        if is_done(target, asked["resume"]):
            say({**facts, "was_there": True}, f"{target} is there already", **asked)
            return
        image, axes = open_input(path, **asked)
        updates = start(
            image.array,
            axes=axes,
            sigma=asked["sigma"],
            n_jobs=asked["jobs"],
            out=Output(target, image.scale, image.units),
            memory=memory,
            resume=asked["resume"],
        )
        with keeping(None if is_piped else checkpoint_of(target)):
            last = follow(updates, Path(path).name)
        remarks = [translated(str(remark)) for remark in (*image.remarks, *last.remarks)]
        if not asked["as_json"]:
            for remark in remarks:
                complain(f"{path}: {remark}")
        if is_piped:
            with open(target, "rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        say({**facts, **found(last), "remarks": remarks}, f"{path} -> {target}", **asked)

    with computing_on(asked["scheduler"]):
        each(list(targets), make)


def each(paths: list[str], do: Callable[[str], None]) -> None:
    """Do it for each input; one that cannot be read does not keep the others from it."""
    failed = False
    for path in paths:
        try:
            with naming(path):
                do(path)
        except (ValueError, OSError, ImportError) as error:
            if isinstance(error, BrokenPipeError) or hasattr(error, "__notes__"):
                raise  # it broke off while it wrote, and so would the others
            complain(words_of(error))
            failed = True
    if failed:
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
        raise ValueError("--scheduler needs: pip install 'napari-scsc[cluster]'") from None
    if "://" in scheduler:
        with Client(scheduler, timeout=10):
            yield
        return
    if not re.fullmatch("cluster:[1-9][0-9]*", scheduler):
        raise ValueError(f"--scheduler is threads, cluster:N or tcp://host:8786, not {scheduler}")
    options = {"n_workers": int(scheduler.removeprefix("cluster:")), "threads_per_worker": 1}
    # Ctrl-C reaches every process of a terminal: this one tells the workers to stop, and those
    # that begin while it is ignored go on ignoring it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(dashboard_address=":0", silence_logs=logging.CRITICAL, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster, Client(cluster):
        yield


def follow(updates: Updates, what: str) -> RestoreUpdate:
    """Go through the updates with a bar on a terminal, or lines in a log; return the last one."""
    last = None
    with closing(updates), _progress(what) as show:
        for last in updates:
            show(last.done, last.message)
    assert last is not None
    return last


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float, str], None]]:
    from tqdm import tqdm

    if is_terminal(sys.stderr):
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        with tqdm(total=1.0, desc=what, bar_format=layout, file=sys.stderr) as bar:

            def show(done: float, message: str) -> None:
                bar.initial = bar.initial or done
                bar.n = done
                bar.set_postfix_str(message)

            yield show
        return
    told, when = -1.0, 0.0
    begun, first = time.monotonic(), 0.0

    def tell(done: float, message: str) -> None:
        nonlocal told, when, first
        first = first or done  # what a resumed run has found took no time
        if done >= told + 0.1 or done == 1 > told or time.monotonic() > when + 60:
            told, when = done, time.monotonic()
            left = ""
            if first < done < 1:
                seconds = (when - begun) * (1 - done) / (done - first)
                left = f", {tqdm.format_interval(seconds)} left"
            click.echo(f"{what}: {done:.0%} {message}{left}", err=True)

    yield tell
