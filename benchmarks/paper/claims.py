"""What the paper claims, and whether what was measured agrees: computed from rows, always."""

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.paper.learning import TARGETS, equal_key

YES, NO, NOT_TESTED = "yes", "no", "not tested"


class Verdict(NamedTuple):
    """What was measured, in words, and whether it agrees with the paper."""

    measured: str
    agrees: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and the function of the rows that judges it."""

    text: str
    judge: Callable[[list], Verdict]


def verdict(measured, agrees):
    """Yes or no."""
    return Verdict(measured, YES if agrees else NO)


def untested(why):
    return Verdict(why, NOT_TESTED)


# --- rows ---------------------------------------------------------------------------------------


def chosen(rows, **labels):
    return [row for row in rows if all(row.get(key) == value for key, value in labels.items())]


def values(rows, key, **labels):
    """All finite values of a column."""
    found = (row.get(key) for row in chosen(rows, **labels))
    return [value for value in found if value is not None and math.isfinite(value)]


def mean(rows, key, **labels):
    """Mean of a column; None where there is nothing."""
    found = values(rows, key, **labels)
    return statistics.fmean(found) if found else None


def deviation(rows, key, **labels):
    found = values(rows, key, **labels)
    return statistics.stdev(found) if len(found) > 1 else None


def distinct(rows, *keys):
    """All combinations of the labels, in the order in which they appear."""
    return list(dict.fromkeys(tuple(row.get(key) for key in keys) for row in rows))


def ends(rows):
    """Rows of the end of learning."""
    return [row for row in rows if row.get("end", True)]


# --- judges -------------------------------------------------------------------------------------


def leads(rows, ours, theirs, key, cases=("data", "R"), match=None):
    """{case: mean of ours - mean of theirs}, theirs looked up by the labels in ``match`` only."""
    rows = ends(rows)
    match = cases if match is None else match
    found = {}
    for case in distinct(chosen(rows, system=ours), *cases):
        labels = dict(zip(cases, case, strict=True))
        mine = mean(rows, key, system=ours, **labels)
        other = mean(rows, key, system=theirs, **{label: labels[label] for label in match})
        if mine is not None and other is not None:
            found[case] = mine - other
    return found


def always_above(ours, theirs, key="psnr", cases=("data", "R"), match=None, where=None, least=0.0):
    """A judge: ours is above theirs, by more than ``least``, in every case that was measured."""

    def judge(rows):
        some = [row for row in rows if where is None or where(row)]
        found = leads(some, ours, theirs, key, cases, match)
        if not found:
            return untested(f"no case with both {ours} and {theirs}")
        above = sum(lead > least for lead in found.values())
        words = f"{least:+g} dB or more" if least else "above"
        return verdict(
            f"{ours} against {theirs}: {words} in {above} of {len(found)} cases, "
            f"{_range(found.values())} dB",
            above == len(found),
        )

    return judge


def both_ways(text, make_judge):
    """The claim at equal beta and at each equal sparsity; ``make_judge`` takes the column."""
    return (
        Claim(f"{text} (equal beta)", make_judge("psnr")),
        *(
            Claim(f"{text} ({target:g} non-zeros a pixel)", make_judge(equal_key(target)))
            for target in TARGETS
        ),
    )


def _range(numbers):
    numbers = list(numbers)
    low, high = min(numbers), max(numbers)
    return f"{low:+.2f}" if low == high else f"{low:+.2f} to {high:+.2f}"


def grows_with(size, key="psnr", slack=0.1):
    """A judge: more of ``size`` is better for every system on every set.

    A step down of less than ``slack`` dB between two neighbours is none.
    """

    def judge(rows):
        rows = ends(rows)
        good, all_lines, texts = 0, 0, []
        for system, data in distinct(rows, "system", "data"):
            line = _line(rows, size, key, system, data)
            if len(line) < 2:
                continue
            all_lines += 1
            steps = [b - a for (_, a), (_, b) in itertools.pairwise(line)]
            rises = min(steps) > -slack and line[-1][1] > line[0][1]
            good += rises
            if not rises:
                texts.append(f"{system} on {data} {line[-1][1] - line[0][1]:+.2f} dB")
        if not all_lines:
            return untested(f"no system at two values of {size}")
        exceptions = f"; not: {', '.join(texts)}" if texts else ""
        return verdict(
            f"better with {size} in {good} of {all_lines} lines{exceptions}", good == all_lines
        )

    return judge


def _line(rows, size, key, system, data):
    some = chosen(rows, system=system, data=data)
    points = [(x, mean(some, key, **{size: x})) for (x,) in distinct(some, size)]
    return sorted(point for point in points if point[1] is not None)


# --- curves -------------------------------------------------------------------------------------


def time_to(rows, goal, key="psnr"):
    """Learning time until the test PSNR of a curve is ``goal``; inf if never."""
    return min((row["seconds"] for row in rows if row[key] >= goal), default=math.inf)


def times_to_equal(rows, a, b, goal_of, key="psnr"):
    """Median over the seeds of the times of two systems to a goal, set by their final PSNRs.

    None if no seed has both.
    """
    times = []
    for (seed,) in distinct(rows, "seed"):
        both = [chosen(rows, system=system, seed=seed) for system in (a, b)]
        finals = [mean(ends(curve), key) for curve in both]
        if None not in finals:
            times.append([time_to(curve, goal_of(*finals), key) for curve in both])
    return [statistics.median(column) for column in zip(*times, strict=True)] or None


def faster_at_equal_psnr(ours, theirs):
    """A judge: ours is sooner at the lower of both final PSNRs."""

    def judge(rows):
        texts, sooner = [], []
        for (data,) in distinct(rows, "data"):
            times = times_to_equal(chosen(rows, data=data), ours, theirs, min)
            if times:
                texts.append(f"{data}: {times[0]:.3g} s against {times[1]:.3g} s")
                sooner.append(times[0] < times[1])
        return verdict("; ".join(texts), all(sooner)) if texts else untested("no curves of both")

    return judge


def groups_compared(first, second, better, what):
    """A judge: every one of the first systems is ``better(rows, a, b)`` than every second one."""

    def judge(rows):
        good = total = 0
        for (data,) in distinct(rows, "data"):
            some = chosen(rows, data=data)
            there = {system for (system,) in distinct(some, "system")}
            for a in first:
                for b in second:
                    if {a, b} <= there:
                        total += 1
                        good += bool(better(some, a, b))
        if not total:
            return untested("no pair to compare")
        return verdict(f"{what} in {good} of {total} pairs", good == total)

    return judge
