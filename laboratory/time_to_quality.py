"""How long systems learn until they are as good as another: judged from their learning curves.

A curve is the rows of one system on one set with one seed, evaluated at several learning times.
"""

import math
import statistics
from functools import partial

from laboratory.result_rows import distinct_labels, final_rows, mean, select_rows
from laboratory.verdicts import Claim, is_objective, judges_of_both, untested, verdict


def claims_for_psnr_and_objective(text, make_judge):
    """The claim by both, for filters of length one; ``text`` has a {} for what is compared.

    ``make_judge`` takes the definition of SCSC and the column.
    """
    return tuple(
        Claim(text.format(words), *judges_of_both(partial(make_judge, key=key)))
        for words, key in (("PSNR", "psnr_unit"), ("objective", "objective_unit"))
    )


def faster_at_equal_quality(ours, theirs, key):
    """A judge: ours is sooner at the worse of both final values.

    Where what they began with is as good as that, no time to it says anything of learning.
    """

    def judge(rows):
        texts, sooner = [], []
        for (data,) in distinct_labels(rows, "data"):
            set_rows = select_rows(rows, data=data)
            times = times_to_common_goal(set_rows, ours, theirs, easier_goal(key), key)
            if not times:
                continue
            finals = (mean(final_rows(set_rows), key, system=s) for s in (ours, theirs))
            goal = easier_goal(key)(finals)
            if start := start_that_reaches(set_rows, (ours, theirs), goal, key):
                text = f"{data}: {start} is as good as the worse of both ({goal:.4g})"
            else:
                text = f"{data}: {format_seconds(times[0])} against {format_seconds(times[1])}"
                sooner.append(times[0] < times[1])
            texts.append(text + _format_paces(set_rows, ours, theirs))
        if not texts:
            return untested("no curves of both")
        text = "; ".join(texts)
        return verdict(text, all(sooner)) if sooner else untested(text)

    return judge


def time_to_goal(rows, goal, key="psnr"):
    """Learning time until a column of a curve is at ``goal``; infinite if it never is.

    Objectives must fall, all else must rise. On the line between two evaluations.
    """
    sign = _sign(key)
    curve = sorted((row["seconds"], sign * (row[key] - goal)) for row in rows if key in row)
    for place, (seconds, excess) in enumerate(curve):
        if excess >= 0:
            if place == 0:
                return seconds
            before, lack = curve[place - 1]
            return before + (seconds - before) * lack / (lack - excess)
    return math.inf


def _sign(key):
    return -1 if is_objective(key) else 1


def easier_goal(key):
    """The function of two final values that gives the one that is easier to reach."""
    return min if _sign(key) > 0 else max


def times_to_common_goal(rows, a, b, goal_of, key="psnr", average=statistics.median):
    """Average over the seeds of the times of two systems to a goal, set by their final values.

    Seeds with which the first was not tested on the way are left out; None if no seed remains.
    """
    times = []
    for (seed,) in distinct_labels(rows, "seed"):
        curves = [select_rows(rows, system=system, seed=seed) for system in (a, b)]
        finals = [mean(final_rows(curve), key) for curve in curves]
        if None not in finals and len(curves[0]) > 1:
            times.append([time_to_goal(curve, goal_of(*finals), key) for curve in curves])
    return [average(column) for column in zip(*times, strict=True)] or None


def start_that_reaches(rows, systems, goal, key):
    """Which of the systems' beginnings is at the goal already, in words; None if none is."""
    for name in dict.fromkeys(map(untrained_name, systems)):
        if time_to_goal(select_rows(rows, system=name), goal, key) == 0:
            return f"{name} ({mean(rows, key, system=name):.4g})"
    return None


def untrained_name(system):
    """The name of what a system is before it has learned anything."""
    if system.startswith("SCSC orthonormal"):
        return "no learning (SCSC orthonormal)"
    return "no learning (SCSC)" if system.startswith("SCSC") else "no learning (shared)"


def seconds_per_sample(rows, system):
    """Seconds of learning a sample, each time that it is seen; None if that is not known."""
    paces = [
        row["seconds"] / (row["passes"] * row["n_train"])
        for row in select_rows(final_rows(rows), system=system)
        if row.get("passes") and "n_train" in row
    ]
    return statistics.fmean(paces) if paces else None


def _format_paces(rows, *systems):
    """How long each takes for a sample, in words."""
    paces = [seconds_per_sample(rows, system) for system in systems]
    if None in paces:
        return ""
    return f" ({' and '.join(format_seconds(pace) for pace in paces)} a sample)"


def format_seconds(number):
    """Seconds in words; an infinite time is never."""
    return "never" if math.isinf(number) else f"{number:.3g} s"
