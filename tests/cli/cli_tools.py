"""The command line in tests: run it here, or as a process of its own."""

from __future__ import annotations

import inspect
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from napari_scsc import cli
from napari_scsc.cli.program import INTERRUPTED
from napari_scsc.io.formats import open_file
from napari_scsc.io.stores import store_for

__all__ = ["open_file"]

DRAFT = ("--quality", "draft")

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits are others there")


def run(*args, **more):
    # Before version 8.2 of click, both streams were one unless told.
    old = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner = CliRunner(**({"mix_stderr": False} if old else {}))
    return runner.invoke(cli.main, [str(a) for a in args], prog_name="napari-scsc", **more)


def succeed(*args, **more):
    result = run(*args, **more)
    assert result.exit_code == 0, result.stderr
    return result


def save(path, array, labels, scale, units):
    store = store_for(
        path, array.shape, array.dtype, array.shape, labels=labels, scale=scale, units=units
    )
    store.create()
    store.write(tuple(slice(0, n) for n in array.shape), array)
    store.finish()


# The same in a process of its own, and a checkpoint after every tile.
PROGRAM = """
import sys
from napari_scsc.cli import commands
from napari_scsc.restore import passes
from napari_scsc.run import block_grid
passes._bytes_per_point = lambda *_: 2e4
block_grid.CHUNK_VALUES = 3000
commands._MAX_SECONDS_LOST = 0.0
commands.main(prog_name="napari-scsc")
"""


def start(*args, program=PROGRAM, **more):
    command = [sys.executable, "-c", program, *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **more)


def lines_of(text):
    """What was complained of; the lines of progress left out."""
    return [line for line in text.splitlines() if not re.match(r"\S+: +\d+% ", line)]


def interrupt(process, is_time):
    """Press Ctrl-C once something is there; return what the process says of it."""
    deadline = time.monotonic() + 60
    while process.poll() is None and not is_time():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, errors
    assert out == ""
    return lines_of(errors)
