"""What the command line says: results, complaints, and errors in one line."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

FAILED, BROKEN_OFF, INTERRUPTED = 1, 3, 130  # 130 is what shells have for Ctrl-C


def say(facts: dict[str, Any], *lines: str, as_json: bool, **_: Any) -> None:
    """Give a result: to programs as JSON, to people as lines."""
    click.echo(json.dumps(facts) if as_json else "\n".join(lines))


def complain(words: str) -> None:
    """Say on the standard error, in one line, what is wrong."""
    click.echo(f"napari-scsc: {' '.join(words.split())}", err=True)


_TRANSLATED = (
    (r"^memory must", "--memory must"),
    (r"inpaint\(image, None\)", "inpaint"),
    (r"as in inpaint\(image, ~np.isfinite\(image\)\)", "with a --mask for inpaint"),
    (r"\b(\w+)=(?:\.\.\.|True\b)", r"--\1"),
    (r"""\b(\w+)=["']([\w./-]+)["']""", r"--\1 \2"),
    (r"again with resume\b", "again with --resume"),
    (r"\bgive it as sigma\b", "give it with --sigma"),
    (r"\bgive sigma\b", "give --sigma"),
    (r"the same arguments", "the same options"),
    (r"the same memory", "the same --memory"),
    (r"name one of them as a sample or joint axis", "call one of them n in --axes"),
    (r"drop the axis, or choose another kind", "choose another --kind or --axes"),
    (r"\bn_(base|filters)\b", r"--n-\1"),
    (r"\bfilter_shape\b", "--size"),
    (r"^\d+ requested and \d+ written$", "not all could be written, as on a full disk"),
)


def words_of(error: BaseException) -> str:
    """What went wrong, for somebody who sees no code."""
    if isinstance(error, OSError) and error.strerror:
        words = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, ValueError | TypeError | OSError | ImportError | RuntimeError):
        words = str(error)
    else:
        words = f"{type(error).__name__}: {error}"
    return ". ".join([translated(words), *getattr(error, "__notes__", ())])


def translated(words: str) -> str:
    """What the functions of Python say, in the words of the command line."""
    for pattern, option in _TRANSLATED:
        words = re.sub(pattern, option, words)
    return words


@contextmanager
def failing_in_one_line(ctx: click.Context) -> Iterator[None]:
    """Turn whatever goes wrong into a line and an exit code."""
    try:
        yield
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else ctx.command_path
        complain(f"{error.format_message().rstrip('.')}. See {command} --help")
        sys.exit(error.exit_code)
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise  # click knows what to do
    except KeyboardInterrupt as error:
        complain(". ".join(["stopped", *getattr(error, "__notes__", ())]))
        sys.exit(INTERRUPTED)
    except Exception as error:
        from napari_scsc.errors import RunInterrupted

        complain(words_of(error))
        sys.exit(BROKEN_OFF if isinstance(error, RunInterrupted) else FAILED)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let an error say which input it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        words = words_of(error)
        name = "standard input" if path == "-" else Path(path).name
        said = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)
        raise ValueError(words if said else f"{path}: {words}") from error


@contextmanager
def naming_numbered(paths: list[str]) -> Iterator[None]:
    """Let an error about the n-th of several images say which input that is."""
    try:
        yield
    except ValueError as error:
        words = re.sub(r"^image (\d+) of \d+", lambda n: paths[int(n[1]) - 1], str(error))
        raise type(error)(words) from error


@contextmanager
def stopping_at_once_when_asked_twice() -> Iterator[None]:
    """Stop in order at the first Ctrl-C; at the second, stop: what is on the disk is whole."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where no signals come
        return
    first = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, first)


@contextmanager
def keeping(checkpoint: Path | None) -> Iterator[None]:
    """Say where the finished part of a run is that breaks off."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if checkpoint is not None and checkpoint.exists():
            error.add_note(f"--resume goes on with what is in {checkpoint}")
        raise


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at it, or types."""
    return stream is not None and stream.isatty()  # a closed one is None
