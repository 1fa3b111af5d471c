"""The program around the commands: failures in one line, exit codes, Ctrl-C."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from napari_scsc.cli.messages import complain, render
from napari_scsc.errors import RunInterrupted, UserError, message_of

FAILED, CLUSTER_FAILED, INTERRUPTED = 1, 3, 130  # 130 is what shells have for Ctrl-C


class Program(click.Group):
    """Commands whose failures are one line and an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the program itself; without any, click shows the help."""
        if not args:
            return super().parse_args(ctx, args)
        with failing_in_one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        for name in ("asyncio", "distributed", "tifffile"):  # what matters is raised as well
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with failing_in_one_line(ctx), stopping_at_once_when_asked_twice():
            return super().invoke(ctx)


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
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(INTERRUPTED)
    except Exception as error:
        complain(render(message_of(error)))
        sys.exit(CLUSTER_FAILED if isinstance(error, RunInterrupted) else FAILED)


@contextmanager
def keeping_partial(find_partial: Callable[[], Path | None]) -> Iterator[None]:
    """Where a job breaks off, say where its finished part is, and end the program.

    Other inputs are not tried: who pressed Ctrl-C wants none of them, and a disk that is full
    takes none of them.
    """
    try:
        yield
    except (UserError, BrokenPipeError):
        raise
    except (KeyboardInterrupt, OSError) as error:
        partial = find_partial()
        if partial is None or not partial.exists():
            raise
        reason, code = "stopped", INTERRUPTED
        if isinstance(error, OSError):
            reason, code = render(message_of(error)), FAILED
        complain(f"{reason}. --resume goes on with what is in {partial}")
        sys.exit(code)


@contextmanager
def stopping_at_once_when_asked_twice() -> Iterator[None]:
    """Stop in order at the first Ctrl-C; at the second, at once: what is on the disk is whole."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where no signals come
        return
    earlier_handler = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier_handler)
