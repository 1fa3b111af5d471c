"""Some rounds of each fault; ``NAPARI_SCSC_FAULT_ROUNDS`` says how many of the slow ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("NAPARI_SCSC_FAULT_ROUNDS", "50"))
SEED = os.environ.get("NAPARI_SCSC_FAULT_SEED", "0")
MANY = ("kills", "signals", "full", "read-only", "inputs", "memory")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


def run_rounds(program, *arguments):
    """Run the rounds in a process that starts no threads; what failed is in its output."""
    # With threads of BLAS it could not be forked.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / program), *map(str, arguments), "--seed", SEED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout


def test_a_few_kills_lose_nothing():
    run_rounds("fault_rounds.py", "kills", "--rounds", 2, "--jobs", "npy", "zarr")


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_faults_end_in_the_right_bits_or_a_clear_word(kind):
    run_rounds("fault_rounds.py", kind, "--rounds", ROUNDS)


@pytest.mark.slow
def test_lost_workers_change_nothing():
    pytest.importorskip("distributed")
    run_rounds("lost_workers.py", "--rounds", ROUNDS)
