"""Spoiled files of every kind are read, or refused in clear words; no code is run."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from pathlib import Path

import fuzz
import fuzz_mutations
import fuzz_samples
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")

# What longer runs found: a file each, small.
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
QUICK_CASES = 3


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages, about old versions of formats
        fuzz.make_samples(folder)
    return folder


def read_quietly(kind, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages, about what they find
        return fuzz.read(kind, path)


@pytest.mark.parametrize("kind", fuzz_samples.SAMPLES)
def test_spoiled_files_are_read_or_refused(samples, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = list(fuzz_samples.SAMPLES)
    for turn in range(QUICK_CASES):
        number = turn * len(kinds) + kinds.index(kind)
        _, path = fuzz.spoil(samples, tmp_path / "case", kinds, seed=11, number=number)
        outcome, detail = read_quietly(kind, path)
        assert outcome in ("read", "refused"), detail
    assert not (tmp_path / fuzz_samples.CANARY).exists()


def test_what_was_found_once_is_not_found_again():
    """In a process of their own: some of them ended it."""
    program = (
        "import sys, warnings; from pathlib import Path; import fuzz\n"
        "warnings.simplefilter('ignore')\n"
        "for path in map(Path, sys.argv[1:]):\n"
        "    print(path.name, *fuzz.read('image', path), flush=True)\n"
    )
    paths = list(map(str, CORPUS))
    done = subprocess.run(
        [sys.executable, "-c", program, *paths],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    outcomes = [line.split()[1] for line in done.stdout.splitlines()]
    assert len(outcomes) == len(paths)
    assert set(outcomes) <= {"read", "refused"}, done.stdout


def test_whole_files_are_read(samples):
    refused = {"npy-pickle", "h5-outside", "ome-tif-outside", "zarr2-pickle"}
    for kind in fuzz_samples.SAMPLES:
        path = samples / kind / (samples / f"{kind}.name").read_text()
        outcome, detail = read_quietly(kind, path)
        assert outcome == ("refused" if kind in refused else "read"), (kind, detail)


def test_a_case_is_the_same_each_time(samples, tmp_path):
    kinds = list(fuzz_samples.SAMPLES)
    contents = []
    for turn in range(2):
        made = [fuzz.spoil(samples, tmp_path / str(turn), kinds, 0, n)[1] for n in range(8)]
        contents.append([path.read_bytes() for path in made if path.is_file()])
    assert contents[0] == contents[1]


def test_mutations_change_something():
    data = bytes(range(256)) * 8
    spoiled = [fuzz_mutations.mutate_bytes(data, random.Random(n)) for n in range(50)]
    assert sum(one != data for one in spoiled) > 40


@pytest.mark.slow
def test_a_thousand_cases_end_well():
    counts, findings = fuzz.fuzz(1000, seed=5)
    assert findings == []
    assert counts["read"] > 50
    assert counts["refused"] > 200
