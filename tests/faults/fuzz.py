"""Spoil files of every kind, and see that each is read or refused in clear words.

    python tests/faults/fuzz.py --count 100000 --log fuzz.jsonl

Every file is read in a child process that may take only so much memory and time. What a case does
follows from its number and the seed alone; the log has a line for each finding and for each
thousand cases, and a run with the same log goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

CASES_PER_CHILD = 1500
SECONDS_A_CASE = 20
MEMORY_BYTES = 3 << 30  # more than a child takes when it begins
_LARGE_BYTES = 1 << 30  # that a small file may not take
_FINDINGS = ("crash", "hang", "leak", "code", "memory", "secret", "nameless")


def run_child(samples: Path, work: Path, seed: int) -> None:
    """Read numbers of cases from standard input, and print what became of each."""
    import logging
    import resource
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import fuzz_samples
    import psutil

    limit = psutil.Process().memory_info().vms + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(work)
    events: list[str] = []
    watched = ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "socket.connect")

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "pickle.find_class" and args[0] not in ("os", "posix", "nt", "subprocess"):
            return  # dask sends its own objects from place to place
        if event in watched:
            events.append(f"{event} {args!r:.100}")

    sys.addaudithook(watch)
    kinds = list(fuzz_samples.SAMPLES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for line in sys.stdin:
        number = int(line)
        events.clear()
        kind, path = spoil(samples, work / "case", kinds, seed, number)
        try:
            found, detail = read(kind, path)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            found, detail = "leak", f"{type(error).__name__}: {error!s:.200} at {place}"
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if (now - peak) * 1024 > _LARGE_BYTES:
            found, detail = "memory", f"{(now - peak) // 1024} MB; {detail}"
        peak = max(peak, now)
        if events or (work / fuzz_samples.CANARY).exists():
            found, detail = "code", " ".join(events)
        print(json.dumps([number, kind, found, detail]), flush=True)


def spoil(samples: Path, case: Path, kinds: list[str], seed: int, number: int) -> tuple[str, Path]:
    """Make the file of a case: a copy of a sample, spoiled."""
    import fuzz_mutations

    rng = random.Random(f"{seed} {number}")
    kind = kinds[number % len(kinds)]
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(samples / kind, case)
    path = case / (samples / f"{kind}.name").read_text()
    fuzz_mutations.mutate(path, rng)
    return kind, path


def read(kind: str, path: Path) -> tuple[str, str]:
    """Read a file as all entries of the package do; what is no clear error is raised."""
    from fuzz_readers import READERS, SecretShown, read_image

    from napari_scsc.errors import UserError

    outcome = "read"
    for reader in READERS.get(kind, read_image):
        try:
            reader(path)
        except SecretShown as error:
            return "secret", str(error)
        except UserError as error:
            outcome = "refused"
            if path.name not in str(error):
                return "nameless", f"{type(error).__name__}: {error!s:.200}"
        except OSError as error:  # the system's own, which says which file it is about
            if not error.filename:
                raise
            outcome = "refused"
    return outcome, ""


class Child:
    """A process that reads spoiled files."""

    def __init__(self, samples: Path, work: Path, seed: int) -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        command = [sys.executable, __file__, "--child", str(samples), str(work), str(seed)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self.n_done = 0

    def try_case(self, number: int) -> tuple[int, str, str, str]:
        """What became of a case."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        seconds = SECONDS_A_CASE if self.n_done else 120  # the first imports everything
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return number, "", "crash", f"status {self.process.wait()}"
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return number, "", "hang", f"more than {seconds} s"
        line = self.process.stdout.readline()
        if not line:
            return number, "", "crash", f"status {self.process.wait()}"
        self.n_done += 1
        return tuple(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def make_samples(folder: Path) -> list[str]:
    """Write the whole files, each in a folder of its own."""
    import fuzz_samples

    for kind, make in fuzz_samples.SAMPLES.items():
        place = folder / kind
        place.mkdir(parents=True)
        made = make(place)
        (folder / f"{kind}.name").write_text(os.fspath(made.relative_to(place)))
    return list(fuzz_samples.SAMPLES)


def fuzz(
    count: int, seed: int, log: Path | None = None, folder: Path | None = None
) -> tuple[collections.Counter[str], list[dict[str, Any]]]:
    """Try so many cases; returns how many ended how, and the findings."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=folder) as temporary:
        samples, work = Path(temporary, "samples"), Path(temporary, "work")
        samples.mkdir()
        kinds = make_samples(samples)
        first, counts = _go_on(log, seed)
        findings: list[dict[str, Any]] = []
        child: Child | None = None
        started = time.monotonic()
        try:
            for number in range(first, count):
                child = child or Child(samples, work, seed)
                _, kind, outcome, detail = child.try_case(number)
                kind = kind or kinds[number % len(kinds)]
                counts[outcome] += 1
                if outcome in _FINDINGS:
                    finding = {"case": number, "kind": kind, "what": outcome, "detail": detail}
                    findings.append(finding)
                    _write(log, {"seed": seed, **finding})
                if outcome in ("crash", "hang") or child.n_done >= CASES_PER_CHILD:
                    child.close()
                    child = None
                if (number + 1) % 1000 == 0:
                    seconds = round(time.monotonic() - started)
                    state = {"seed": seed, "done": number + 1, "counts": dict(counts)}
                    _write(log, {**state, "seconds": seconds})
        finally:
            if child is not None:
                child.close()
    return counts, findings


def _go_on(log: Path | None, seed: int) -> tuple[int, collections.Counter[str]]:
    """Where a run with this log and seed ended."""
    if log is None or not log.exists():
        return 0, collections.Counter()
    lines = map(json.loads, log.read_text().splitlines())
    states = [line for line in lines if line["seed"] == seed and "done" in line]
    if not states:
        return 0, collections.Counter()
    return states[-1]["done"], collections.Counter(states[-1]["counts"])


def _write(log: Path | None, line: dict[str, Any]) -> None:
    if log is not None:
        with open(log, "a") as stream:
            stream.write(json.dumps(line) + "\n")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("fuzz.jsonl"))
    given = parser.parse_args()
    counts, findings = fuzz(given.count, given.seed, given.log)
    print(dict(counts))
    for finding in findings:
        print(finding)
    sys.exit(bool(findings))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
