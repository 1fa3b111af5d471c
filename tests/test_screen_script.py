"""The script that looks for a screen installs nothing on a machine without being told to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "screen.sh"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="for Linux")


def run_script(folder, *arguments, **environment):
    """Run it where libraries are missing, with stand-ins for what could install them."""
    for name, text in {
        "ldconfig": "true",
        "apt-get": f'echo "$@" >> {folder}/asked',
        "sudo": 'shift; exec env PATH=$PATH "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    path = f"{folder}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", os.fspath(SCRIPT), *arguments],
        env={"PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    asked = folder / "asked"
    return done, asked.read_text() if asked.exists() else ""


def test_without_a_word_packages_are_named_and_not_installed(tmp_path):
    for environment in ({}, {"CI": ""}, {"CI": "false"}):
        done, asked = run_script(tmp_path, **environment)
        assert done.returncode == 1
        assert asked == ""
        assert "Missing packages: " in done.stderr
        assert "libegl1" in done.stderr


@pytest.mark.parametrize(("arguments", "environment"), [(["--install"], {}), ([], {"CI": "true"})])
def test_with_a_word_it_says_what_it_installs(tmp_path, arguments, environment):
    done, asked = run_script(tmp_path, *arguments, **environment)
    assert "installing system packages with apt-get: " in done.stdout
    assert "libegl1" in done.stdout
    assert "install -y --no-install-recommends" in asked


def test_where_there_is_a_screen_nothing_is_looked_for(tmp_path):
    done, asked = run_script(tmp_path, DISPLAY=":1", CI="true")
    assert (done.returncode, done.stdout, done.stderr, asked) == (0, "", "", "")
