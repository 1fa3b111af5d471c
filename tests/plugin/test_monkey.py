"""Random actions in the dock: nothing is raised, lost or stuck, and what the user has stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.screen

MONKEY = Path(__file__).with_name("monkey.py")


def act(seed, *arguments, timeout):
    """What the monkey reports; it runs in a process of its own, which must live."""
    done = subprocess.run(
        [sys.executable, str(MONKEY), "--seed", str(seed), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-5000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert not report["faults"], "\n".join(fault["what"] for fault in report["faults"])
    return report


def test_fifty_actions_find_no_fault():
    report = act(1, "--actions", "50", timeout=300)
    assert report["actions"] == 50
    assert len(report["counts"]) > 15


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_five_hundred_actions_find_no_fault(seed):
    act(seed, "--actions", "500", timeout=1800)
