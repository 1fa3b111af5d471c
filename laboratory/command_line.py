"""``python -m benchmarks paper NAME --data DIR``: run experiments of the paper again."""

import argparse
import importlib
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from benchmarks.data import DataError, load_lcne
from benchmarks.paper import EXPERIMENTS, results, units
from benchmarks.paper.scale import FULL, QUICK


def experiment_named(name):
    """The module of an experiment."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; there are: {', '.join(EXPERIMENTS)}")
    return importlib.import_module(f"benchmarks.paper.{name}")


def main(words):
    """Run what the command line asks for; 0 if every unit could be measured, else 1 or 2."""
    parser = _parser()
    arguments = parser.parse_args(words)
    names = EXPERIMENTS if arguments.name == "all" else (arguments.name,)
    try:
        experiments = {name: experiment_named(name) for name in names}
    except ValueError as error:
        parser.error(str(error))
    try:
        failed = run(experiments, scale_of(arguments), arguments)
    except DataError as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


def scale_of(arguments):
    """The sizes, with the seeds and the budget that were asked for."""
    scale = QUICK if arguments.quick else FULL
    if arguments.seeds is not None:
        scale = replace(scale, seeds=arguments.seeds)
    if arguments.budget is not None:
        scale = replace(scale, budget=arguments.budget)
    return scale


def run(experiments, scale, arguments):
    """Measure all units of all experiments, then write what they say; return what failed."""
    out = arguments.out / "paper"
    store = units.Store(out / "units")
    plans = {name: module.plan(scale) for name, module in experiments.items()}
    wanted = [unit for plan in plans.values() for unit in plan]
    if any(unit.data != "synthetic" for unit in wanted):
        load_lcne(arguments.data, "fruit")  # says now, not after minutes, that nothing is there
    if arguments.fresh:
        for unit in wanted:
            store.forget(unit)
    failed = units.run(wanted, store, arguments.data, arguments.jobs)
    texts = []
    for name, module in experiments.items():
        rows, missing = gather(plans[name], store, failed)
        texts.append(results.write(module, name, rows, missing, scale, out))
        print(f"\n{texts[-1]}", flush=True)
        _tell(name, module, rows)
    if arguments.name == "all":
        (out / "paper.md").write_text("# The paper, again\n\n" + "\n".join(texts), encoding="utf-8")
    return failed


def gather(plan, store, failed):
    """The rows of all units that are done, and why others are not."""
    rows, missing = [], {}
    for unit in plan:
        record = store.record(unit)
        if record is None:
            missing[unit.name] = failed.get(unit.key, "not run")
        else:
            rows += record["rows"]
    return rows, missing


def _tell(name, module, rows):
    counts = Counter(found.agrees for _, found in results.verdicts(module, rows))
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks paper",
        description="Run the experiments of the paper's Section 4 again, and judge its claims. "
        "What is done is kept, so that a run that was stopped goes on. Units whose time is "
        "reported run alone, the others one a core; every library has one thread.",
        epilog="experiments: " + ", ".join(EXPERIMENTS),
    )
    parser.add_argument("name", metavar="NAME", help="an experiment, or all")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the benchmark data")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parents[1] / "results",
        metavar="DIR",
        help="results go to its folder paper (default: benchmarks/results)",
    )
    parser.add_argument("--seeds", type=int, help="how many (default: 5; quick: 1)")
    parser.add_argument("--budget", type=float, help="seconds of learning a unit gets")
    parser.add_argument("--quick", action="store_true", help="small sizes: half an hour for all")
    parser.add_argument("--fresh", action="store_true", help="measure again what is done")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)"
    )
    return parser
