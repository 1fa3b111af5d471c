"""What the paper claims, and whether what was measured agrees: computed from rows, always."""

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.paper.learning import TARGETS, equal_key

YES, MOSTLY, NO = "yes", "mostly", "no"
UNDECIDED, NOT_TESTED = "undecided", "not tested"

MUCH_DB = 1.0
"""What "much" and "significantly" must be at least."""

_MOSTLY = 0.9  # of all pairs
_ERRORS = 2.0  # standard errors that a lead must exceed, where there are several seeds


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


@dataclass(frozen=True)
class Lead:
    """How far one system is ahead of another, and how well that is known."""

    mean: float
    error: float = 0.0  # standard error of the difference; one seed says nothing of it

    def exceeds(self, least):
        """YES, NO, or UNDECIDED if that may be chance."""
        beyond = self.mean - least
        if abs(beyond) <= _ERRORS * self.error:
            return UNDECIDED
        return YES if beyond > 0 else NO

    def is_within(self, most):
        """Whether its size is at most ``most``."""
        return _OPPOSITE[Lead(abs(self.mean), self.error).exceeds(most)]


_OPPOSITE = {YES: NO, NO: YES, UNDECIDED: UNDECIDED}


def lead(rows, ours, theirs, key):
    """The lead in some rows of a case; None if one of the two has no figure there."""
    mine, other = (_by_seed(rows, key, system) for system in (ours, theirs))
    if not mine or not other:
        return None
    gaps = [mine[seed] - other[seed] for seed in mine if seed in other]
    if len(gaps) == len(mine) == len(other):  # the same starts: compare each with itself
        return Lead(statistics.fmean(gaps), _standard_error(gaps))
    several = [list(found.values()) for found in (mine, other)]
    gap = statistics.fmean(several[0]) - statistics.fmean(several[1])
    return Lead(gap, math.hypot(*map(_standard_error, several)))


def _by_seed(rows, key, system):
    some = chosen(rows, system=system)
    found = {seed: mean(some, key, seed=seed) for (seed,) in distinct(some, "seed")}
    return {seed: value for seed, value in found.items() if value is not None}


def _standard_error(numbers):
    return statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0


def leads(rows, ours, theirs, key, cases=("data", "R"), match=None):
    """{case: lead}, theirs looked up by the labels in ``match`` only; none without both."""
    rows = ends(rows)
    match = cases if match is None else match
    found = {}
    for case in distinct(chosen(rows, system=ours), *cases):
        labels = dict(zip(cases, case, strict=True))
        some = chosen(rows, system=ours, **labels) + chosen(
            rows, system=theirs, **{label: labels[label] for label in match}
        )
        if (ahead := lead(some, ours, theirs, key)) is not None:
            found[case] = ahead
    return found


def always_above(ours, theirs, key="psnr", cases=("data", "R"), match=None, where=None, least=0.0):
    """A judge: ours is above theirs, by more than ``least``, in every case that was measured."""
    words = f"above by {least:g} dB or more" if least else "above"
    return _in_every_case(
        ours, theirs, key, cases, match, where, words, lambda ahead: ahead.exceeds(least)
    )


def always_within(ours, theirs, most, key="psnr", cases=("data",)):
    """A judge: both are the same in every case, but for ``most`` dB up or down."""
    words = f"within {most:g} dB"
    return _in_every_case(
        ours, theirs, key, cases, cases, None, words, lambda ahead: ahead.is_within(most)
    )


def _in_every_case(ours, theirs, key, cases, match, where, words, decide):
    def judge(rows):
        some = [row for row in rows if where is None or where(row)]
        found = leads(some, ours, theirs, key, cases, match)
        if not found:
            return untested(f"no case with both {ours} and {theirs}")
        answers = [decide(ahead) for ahead in found.values()]
        unsure = answers.count(UNDECIDED)
        text = f"{ours} against {theirs}: {words} in {answers.count(YES)} of {len(found)} cases, "
        text += f"{_range(ahead.mean for ahead in found.values())} dB"
        return Verdict(
            text + (f"; {unsure} may be chance" if unsure else ""),
            NO if NO in answers else UNDECIDED if unsure else YES,
        )

    return judge


def every_way(text, make_judge):
    """The claim at equal beta, so for filters of length one, and at each equal size of the code.

    ``make_judge`` takes the column.
    """
    return (
        Claim(f"{text} (equal beta)", make_judge("psnr")),
        Claim(f"{text} (equal beta, filters of length one)", make_judge("psnr_unit")),
        *(
            Claim(f"{text} ({target:g} numbers a pixel)", make_judge(equal_key(target)))
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
    """Learning time until the test PSNR (or another column) of a curve is ``goal``; inf if never.

    Objectives must fall, all else must rise.
    """
    sign = _sign(key)
    return min(
        (row["seconds"] for row in rows if key in row and sign * row[key] >= sign * goal),
        default=math.inf,
    )


def _sign(key):
    return -1 if key.startswith("objective") else 1


def lower_goal(key):
    """Of two final values, the one that is easier to reach."""
    return min if _sign(key) > 0 else max


def times_to_equal(rows, a, b, goal_of, key="psnr", average=statistics.median):
    """Average over the seeds of the times of two systems to a goal, set by their final values.

    None if no seed has both.
    """
    times = []
    for (seed,) in distinct(rows, "seed"):
        both = [chosen(rows, system=system, seed=seed) for system in (a, b)]
        finals = [mean(ends(curve), key) for curve in both]
        if None not in finals:
            times.append([time_to(curve, goal_of(*finals), key) for curve in both])
    return [average(column) for column in zip(*times, strict=True)] or None


def faster_at_equal(ours, theirs, key):
    """A judge: ours is sooner at the worse of both final values.

    Where what they began with is as good as that, no time to it says anything of learning.
    """

    def judge(rows):
        texts, sooner = [], []
        for (data,) in distinct(rows, "data"):
            some = chosen(rows, data=data)
            times = times_to_equal(some, ours, theirs, lower_goal(key), key)
            if not times:
                continue
            goal = lower_goal(key)(mean(ends(some), key, system=s) for s in (ours, theirs))
            if start := start_as_good(some, (ours, theirs), goal, key):
                text = f"{data}: {start} is as good as the worse of both ({goal:.4g})"
            else:
                text = f"{data}: {seconds(times[0])} against {seconds(times[1])}"
                sooner.append(times[0] < times[1])
            texts.append(text + _paces(some, ours, theirs))
        if not texts:
            return untested("no curves of both")
        text = "; ".join(texts)
        return verdict(text, all(sooner)) if sooner else untested(text)

    return judge


def by_psnr_and_objective(text, make_judge):
    """The claim by both, for filters of length one; ``text`` has a {} for what is compared."""
    return (
        Claim(text.format("PSNR"), make_judge("psnr_unit")),
        Claim(text.format("objective"), make_judge("objective_unit")),
    )


def start_as_good(rows, systems, goal, key):
    """Which of the systems' beginnings is at the goal already, in words; None if none is."""
    for name in dict.fromkeys(map(start_of, systems)):
        if time_to(chosen(rows, system=name), goal, key) == 0:
            return f"{name} ({mean(rows, key, system=name):.4g})"
    return None


def start_of(system):
    """What a system is before it has learned anything."""
    has_weights = system.startswith("SCSC")
    return "no learning (SCSC)" if has_weights else "no learning (shared)"


def _paces(rows, *systems):
    """How long each takes for a sample, in words."""
    paces = [pace(rows, system) for system in systems]
    if None in paces:
        return ""
    return f" ({' and '.join(seconds(each) for each in paces)} a sample)"


def pace(rows, system):
    """Seconds of learning a sample, each time that it is seen; None if that is not known."""
    each = [
        row["seconds"] / (row["passes"] * row["n_train"])
        for row in chosen(ends(rows), system=system)
        if row.get("passes") and "n_train" in row
    ]
    return statistics.fmean(each) if each else None


def seconds(number):
    return "never" if math.isinf(number) else f"{number:.3g} s"


# --- groups -------------------------------------------------------------------------------------


def groups_compared(first, second, better, what):
    """A judge: every one of the first systems is ``better(rows, a, b)`` than every second one.

    ``better`` says YES, NO, UNDECIDED, or NOT_TESTED where one of them has no figure: such a pair
    is not compared.
    """

    def judge(rows):
        answers = [
            better(chosen(rows, data=data), a, b)
            for (data,) in distinct(rows, "data")
            for a in first
            for b in second
            if chosen(rows, data=data, system=a) and chosen(rows, data=data, system=b)
        ]
        compared = [answer for answer in answers if answer != NOT_TESTED]
        if not compared:
            return untested("no pair to compare")
        good, unsure = compared.count(YES), compared.count(UNDECIDED)
        text = f"{what} in {good} of {len(compared)} pairs"
        text += f"; {unsure} may be chance" if unsure else ""
        left = len(answers) - len(compared)
        text += f"; {left} could not be compared" if left else ""
        return Verdict(text, _of_pairs(good, unsure, len(compared)))

    return judge


def _of_pairs(good, unsure, total):
    if good == total:
        return YES
    if good >= _MOSTLY * total:
        return MOSTLY
    return UNDECIDED if good + unsure >= _MOSTLY * total else NO
