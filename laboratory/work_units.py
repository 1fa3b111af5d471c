"""Units of work: each is measured once, kept in a file of its own, and never measured again.

A unit whose time is reported runs alone; the others run one a core. Libraries have one thread.
"""

import hashlib
import importlib
import json
import re
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from benchmarks.data import DataError


@dataclass(frozen=True)
class Unit:
    """One system on one set with one seed; ``kind`` is the module whose ``measure`` does it."""

    kind: str
    system: str
    data: str
    seed: int
    settings: dict = field(default_factory=dict)
    alone: bool = False  # its time is reported
    guess: float = 10.0  # seconds it may take, as long as nothing is known

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
        module = importlib.import_module(f"benchmarks.paper.{self.kind}")
        return [{**self.labels, **row} for row in module.measure(self, folder)]


class Store:
    """The folder in which the finished units are."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def record(self, unit):
        """What was kept of a unit; None if it is not done, or not as it should be."""
        path = self.folder / f"{unit.key}.json"
        if not path.exists():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        return None if unit.alone and not record["alone"] else record

    def keep(self, unit, rows, seconds):
        """Write the file whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {
            "kind": unit.kind,
            "labels": unit.labels,
            "alone": unit.alone,
            "seconds": seconds,
            "rows": rows,
        }
        path = self.folder / f"{unit.key}.json"
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(record), encoding="utf-8")
        beside.replace(path)

    def forget(self, unit):
        """Let it be measured again."""
        (self.folder / f"{unit.key}.json").unlink(missing_ok=True)

    def measured_seconds(self):
        """Median seconds of the finished units, by what makes them alike."""
        times = {}
        for path in self.folder.glob("*.json"):
            record = json.loads(path.read_text(encoding="utf-8"))
            times.setdefault(_likeness(record["kind"], record["labels"]), []).append(
                record["seconds"]
            )
        return {what: statistics.median(values) for what, values in times.items()}


def _likeness(kind, labels):
    return kind, labels["system"], labels["data"], labels.get("K"), labels.get("size")


def without_repeats(units):
    """Each unit once, though several experiments want it; alone, if one of them wants it so."""
    found = {}
    for unit in units:
        if unit.key not in found or unit.alone:
            found[unit.key] = unit
    return list(found.values())


def expected_seconds(units, store, jobs):
    """How long the units will take, from what like ones took, or else from their guesses."""
    known = store.measured_seconds()
    total = 0.0
    for unit in units:
        seconds = known.get(_likeness(unit.kind, unit.labels), unit.guess)
        total += seconds if unit.alone else seconds / jobs
    return total


def run(units, store, folder, jobs=1, say=print):
    """Do what is not done yet; return {key: message} of the units that failed."""
    todo = [unit for unit in without_repeats(units) if store.record(unit) is None]
    done = len(without_repeats(units)) - len(todo)
    minutes = expected_seconds(todo, store, jobs) / 60
    say(f"{len(todo)} units to do, {done} done before; about {minutes:.0f} minutes")
    failed = {}
    progress = _Progress(len(todo), say)
    for alone in (True, False):
        some = [unit for unit in todo if unit.alone == alone]
        workers = 1 if alone else min(jobs, max(len(some), 1))
        for unit, outcome in _outcomes(some, folder, workers):
            if isinstance(outcome, BaseException):
                failed[unit.key] = f"{type(outcome).__name__}: {outcome}"
            else:
                store.keep(unit, *outcome)
            progress.tell(unit, outcome)
    return failed


@dataclass
class _Progress:
    total: int
    say: object
    done: int = 0
    start: float = field(default_factory=time.monotonic)

    def tell(self, unit, outcome):
        self.done += 1
        came = f"FAILED: {outcome}" if isinstance(outcome, BaseException) else f"{outcome[1]:.1f} s"
        minutes = (time.monotonic() - self.start) / 60
        self.say(f"[{self.done}/{self.total}, {minutes:.1f} min] {unit.kind}: {unit.name}: {came}")


def _outcomes(units, folder, workers):
    """Pairs of a unit and (rows, seconds), or what it raised."""
    if not units:
        return
    # Processes of their own: a fork would inherit locks of threads that it does not have.
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        futures = {pool.submit(_timed, unit, folder): unit for unit in units}
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, DataError | BrokenProcessPool):
                pool.shutdown(cancel_futures=True)
                raise error
            yield futures[future], error or future.result()


def _timed(unit, folder):
    start = time.perf_counter()
    rows = unit.measure(folder)
    return rows, time.perf_counter() - start
