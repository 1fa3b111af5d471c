"""Units of work: each is measured once, kept in a file of its own, and never measured again.

Units run one a core, and libraries have one thread. What is reported of learning is the time of
the processor, so that units do not disturb each other.
"""

import hashlib
import importlib
import json
import re
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from benchmarks.data import DataError
from laboratory.experiments import load_experiment


@dataclass(frozen=True)
class WorkUnit:
    """One system on one set with one seed.

    ``kind`` says whose ``measure(unit, folder)`` does it: "learning", or an experiment's.
    """

    kind: str
    system: str
    data: str
    seed: int
    settings: dict = field(default_factory=dict)
    guessed_seconds: float = 10.0  # as long as nothing is known

    @property
    def labels(self):
        """What its rows begin with."""
        return {"system": self.system, "data": self.data, "seed": self.seed, **self.settings}

    @property
    def name(self):
        """What people read."""
        sizes = "".join(f", {k} {self.settings[k]}" for k in ("K", "R") if k in self.settings)
        return f"{self.system}, {self.data}{sizes}, seed {self.seed}"

    @property
    def key(self):
        """Name of its file: the same settings, the same file."""
        text = json.dumps([self.kind, self.labels], sort_keys=True)
        words = re.sub(r"[^\w.]+", "_", f"{self.kind}-{self.system}-{self.data}-{self.seed}")
        return f"{words}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def measure(self, folder):
        """Do the work; the rows that came of it, each with the labels."""
        if self.kind == "learning":
            module = importlib.import_module("laboratory.learning")
        else:
            module = load_experiment(self.kind)
        return [{**self.labels, **row} for row in module.measure(self, folder)]


class UnitStore:
    """The folder in which the finished units are."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def record(self, unit):
        """What was kept of a unit; None if it is not done."""
        path = self._path(unit)
        if not path.exists():
            return None
        return json.loads(path.read_text(encoding="utf-8"))

    def keep(self, unit, rows, seconds):
        """Write the file whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {
            "kind": unit.kind,
            "labels": unit.labels,
            "seconds": seconds,
            "rows": rows,
        }
        path = self._path(unit)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(record), encoding="utf-8")
        partial.replace(path)

    def forget(self, unit):
        """Let it be measured again."""
        self._path(unit).unlink(missing_ok=True)

    def median_seconds(self):
        """Median seconds of the finished units, by what makes them alike."""
        times = {}
        for path in self.folder.glob("*.json"):
            record = json.loads(path.read_text(encoding="utf-8"))
            likeness = _likeness(record["kind"], record["labels"])
            times.setdefault(likeness, []).append(record["seconds"])
        return {likeness: statistics.median(seconds) for likeness, seconds in times.items()}

    def _path(self, unit):
        return self.folder / f"{unit.key}.json"


def _likeness(kind, labels):
    sizes = ("K", "R", "size", "sparsity_steps")
    return kind, labels["system"], labels["data"], *map(labels.get, sizes)


def unique_units(units):
    """Each unit once, though several experiments want it."""
    return list({unit.key: unit for unit in units}.values())


def expected_seconds(units, store, jobs):
    """How long the units will take, from what like ones took, or else from their guesses."""
    known = store.median_seconds()
    each = [known.get(_likeness(unit.kind, unit.labels), unit.guessed_seconds) for unit in units]
    return sum(each) / jobs


def run_units(units, store, folder, jobs=1, say=print):
    """Do what is not done yet; return {key: message} of the units that failed.

    Without ``jobs`` nothing is done.
    """
    if jobs == 0:
        return {}
    wanted = unique_units(units)
    todo = [unit for unit in wanted if store.record(unit) is None]
    minutes = expected_seconds(todo, store, jobs) / 60
    say(
        f"{len(todo)} units to do, {len(wanted) - len(todo)} done before; "
        f"about {minutes:.0f} minutes"
    )
    failed = {}
    progress = _Progress(len(todo), say)
    for unit, outcome in _outcomes(todo, folder, min(jobs, max(len(todo), 1))):
        if isinstance(outcome, BaseException):
            failed[unit.key] = f"{type(outcome).__name__}: {outcome}"
        else:
            store.keep(unit, *outcome)
        progress.report(unit, outcome)
    return failed


@dataclass
class _Progress:
    total: int
    say: Callable[[str], None]
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def report(self, unit, outcome):
        self.done += 1
        failed = isinstance(outcome, BaseException)
        words = f"FAILED: {outcome}" if failed else f"{outcome[1]:.1f} s"
        minutes = (time.monotonic() - self.start) / 60
        self.say(f"[{self.done}/{self.total}, {minutes:.1f} min] {unit.kind}: {unit.name}: {words}")


def _outcomes(units, folder, workers):
    """Pairs of a unit and (rows, seconds), or what it raised."""
    if not units:
        return
    # Processes of their own: a fork would inherit locks of threads that it does not have.
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        futures = {pool.submit(_measure_timed, unit, folder): unit for unit in units}
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, DataError | BrokenProcessPool):
                pool.shutdown(cancel_futures=True)
                raise error
            yield futures[future], error or future.result()


def _measure_timed(unit, folder):
    start = time.perf_counter()
    rows = unit.measure(folder)
    return rows, time.perf_counter() - start
