"""``python -m laboratory NAME --data DIR``: run experiments of the paper again, or a check."""

import argparse
import os
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path

from benchmarks.data import DataError
from benchmarks.report import Report
from laboratory import experiment_report, overview, work_units
from laboratory.checks import CHECKS, load_check
from laboratory.data_sets import load_authors_arrays
from laboratory.experiment_scale import FULL, QUICK
from laboratory.experiments import EXPERIMENTS, load_experiment

_EXPERIMENT_OPTIONS = ("seeds", "budget", "fresh", "jobs")


def main(words):
    """Run what the command line asks for.

    Returns the exit status: 0 if every unit could be measured and every bar is met, 2 if the data
    are not there, else 1.
    """
    parser = _make_parser()
    arguments = parser.parse_args(words)
    name = arguments.name
    if name not in (*EXPERIMENTS, *CHECKS, "all"):
        known = ", ".join((*EXPERIMENTS, *CHECKS, "all"))
        parser.error(f"there is no experiment or check {name!r}; there are: {known}")
    try:
        if name in CHECKS:
            for option in _EXPERIMENT_OPTIONS:
                is_known = option == "jobs" and CHECKS[name].has_units
                if getattr(arguments, option) is not None and not is_known:
                    parser.error(f"--{option} is for experiments, and {name} is a check")
            return 1 if run_check(name, arguments) else 0
        return 1 if run_experiments(name, arguments) else 0
    except DataError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


def run_check(name, arguments):
    """Run a check and write its report; return the bars that were missed."""
    report = Report(name, arguments.out)
    options = {"jobs": _count_jobs(arguments)} if CHECKS[name].has_units else {}
    load_check(name).run(report, data=arguments.data, quick=arguments.quick, **options)
    missed = report.finish()
    for line in missed:
        print(f"missed: {line}")
    return missed


def run_experiments(name, arguments):
    """Measure all units of the experiments, then write what they say; return what failed."""
    names = EXPERIMENTS if name == "all" else (name,)
    experiments = {each: load_experiment(each) for each in names}
    scale = choose_scale(arguments)
    store = work_units.UnitStore(arguments.out / "units")
    plans = {each: experiment.plan(scale) for each, experiment in experiments.items()}
    wanted = [unit for plan in plans.values() for unit in plan]
    if any(unit.data != "synthetic" for unit in wanted):
        load_authors_arrays(arguments.data, "fruit")  # fails now, not after minutes
    if arguments.fresh:
        for unit in wanted:
            store.forget(unit)
    failed = work_units.run_units(wanted, store, arguments.data, _count_jobs(arguments))
    texts, gathered = [], {}
    for each, experiment in experiments.items():
        rows, missing = gather_rows(plans[each], store, failed)
        gathered[each] = rows
        texts.append(
            experiment_report.write_report(experiment, each, rows, missing, scale, arguments.out)
        )
        print(f"\n{texts[-1]}", flush=True)
        _print_verdict_counts(each, experiment, rows)
    if name == "all":
        text = "# The paper, again\n\n" + "\n".join(texts)
        (arguments.out / "paper.md").write_text(text, encoding="utf-8")
        overview.write_overview(gathered, arguments.out)
    return failed


def _count_jobs(arguments):
    return arguments.jobs if arguments.jobs is not None else os.cpu_count() or 1


def choose_scale(arguments):
    """The sizes, with the seeds and the budget that were asked for."""
    scale = QUICK if arguments.quick else FULL
    if arguments.seeds is not None:
        scale = replace(scale, seeds=arguments.seeds, sweep_seeds=arguments.seeds)
    if arguments.budget is not None:
        scale = replace(scale, budget=arguments.budget)
    return scale


def gather_rows(plan, store, failed):
    """The rows of all units that are done, and why others are not."""
    rows, missing = [], {}
    for unit in plan:
        record = store.record(unit)
        if record is None:
            missing[unit.name] = failed.get(unit.key, "not run")
        else:
            rows += record["rows"]
    return rows, missing


def _print_verdict_counts(name, experiment, rows):
    judged = experiment_report.judge_claims(experiment, rows)
    counts = Counter(verdict.agrees for _, verdicts in judged for verdict in verdicts)
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m laboratory",
        description="Run the experiments of the paper's Section 4 again, and judge its claims.\n"
        "What is done is kept, so that a run that was stopped goes on. Units run one a core,\n"
        "every library has one thread, and times are of the processor.",
        epilog="experiments:\n"
        + textwrap.fill(", ".join(EXPERIMENTS), initial_indent="  ", subsequent_indent="  ")
        + "\n\nchecks, which are no experiments of the paper and have bars to reach:\n"
        + "\n".join(f"  {name:14} {check.purpose}" for name, check in CHECKS.items())
        + "\n\nExit status: 0 all measured and all bars met, 1 not so, 2 the data are not there.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="an experiment, all of them, or a check")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the benchmark data")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "results",
        metavar="DIR",
        help="where the results go (default: laboratory/results)",
    )
    parser.add_argument(
        "--seeds", type=int, help="how many (default: 3 where all systems are compared, else 1)"
    )
    parser.add_argument("--budget", type=float, help="processor seconds of learning a unit gets")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: less than an hour for all"
    )
    parser.add_argument(
        "--fresh", action="store_true", default=None, help="measure again what is done"
    )
    parser.add_argument(
        "--jobs", type=int, help="processes (default: one a core); 0: report what is done"
    )
    return parser
