"""Claims of the paper, and judges that compute from the measured rows whether they hold.

A judge is a function of rows that returns a ``Verdict``. The functions below make judges.
"""

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from laboratory.evaluation import NUMBERS_PER_PIXEL, equal_size_column
from laboratory.result_rows import distinct_labels, final_rows, mean, select_rows

YES, MOSTLY, NO = "yes", "mostly", "no"
UNDECIDED, NOT_TESTED = "undecided", "not tested"

DEFINITIONS = ("SCSC", "SCSC orthonormal")
"""The systems that are SCSC: as the paper defines it, and with orthonormal base filters."""

MUCH_DB, MUCH_PERCENT = 1.0, 5.0
"""What "much" and "significantly" must be at least: of a PSNR, and of an objective."""

_MOSTLY_SHARE = 0.9  # of all pairs
_SURE_STANDARD_ERRORS = 2.0  # that a lead must exceed, where there are several seeds


class Verdict(NamedTuple):
    """What was measured, in words, and whether it agrees with the paper."""

    measured: str
    agrees: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and a judge of it for each definition of SCSC.

    A sentence that is not about SCSC has one judge.
    """

    text: str
    judge: Callable[[list], Verdict]
    orthonormal_judge: Callable[[list], Verdict] | None = None

    def verdicts(self, rows):
        """Of SCSC as the paper defines it, and with orthonormal filters if that differs."""
        judges = (self.judge, self.orthonormal_judge)
        return [judge(rows) for judge in judges if judge is not None]


def judges_of_both(make_judge):
    """``make_judge`` of each definition of SCSC."""
    return tuple(map(make_judge, DEFINITIONS))


def verdict(measured, agrees):
    """A verdict of yes or no."""
    return Verdict(measured, YES if agrees else NO)


def untested(why):
    """The verdict where the rows do not tell."""
    return Verdict(why, NOT_TESTED)


def claims_for_each_comparison(text, make_judges):
    """The claim at equal beta, so for filters of length one, and at each equal size of the code.

    For filters of length one also by the objective, which is what learning lowers.
    ``make_judges`` takes the column, and makes the judges of a ``Claim``.
    """
    comparisons = {
        "equal beta": "psnr",
        "equal beta, filters of length one": "psnr_unit",
        "objective, filters of length one": "objective_unit",
    }
    for numbers in NUMBERS_PER_PIXEL:
        comparisons[f"{numbers:g} numbers a pixel"] = equal_size_column(numbers)
    return tuple(
        Claim(f"{text} ({words})", *make_judges(key)) for words, key in comparisons.items()
    )


# --- one system against another -----------------------------------------------------------------


@dataclass(frozen=True)
class Lead:
    """How far one system is ahead of another, and how well that is known."""

    mean: float
    error: float = 0.0  # standard error of the difference; one seed says nothing of it

    def exceeds(self, least):
        """YES, NO, or UNDECIDED if that may be chance."""
        beyond = self.mean - least
        if abs(beyond) <= _SURE_STANDARD_ERRORS * self.error:
            return UNDECIDED
        return YES if beyond > 0 else NO

    def is_within(self, most):
        """Whether its size is at most ``most``."""
        return _OPPOSITE[Lead(abs(self.mean), self.error).exceeds(most)]


_OPPOSITE = {YES: NO, NO: YES, UNDECIDED: UNDECIDED}


def is_objective(key):
    """Whether less is better in that column; leads are then shares of the objective, in percent."""
    return key.startswith("objective")


def compute_lead(rows, ours, theirs, key):
    """The lead of ours in the rows of one case; None if one of the two has no figure there.

    In dB; how much lower it is, in percent, for an objective.
    """
    our_means, their_means = (_means_by_seed(rows, key, system) for system in (ours, theirs))
    if not our_means or not their_means:
        return None
    gaps = [our_means[seed] - their_means[seed] for seed in our_means if seed in their_means]
    if len(gaps) == len(our_means) == len(their_means):  # the same starts: compare each with itself
        return Lead(statistics.fmean(gaps), _standard_error(gaps))
    both = [list(means.values()) for means in (our_means, their_means)]
    gap = statistics.fmean(both[0]) - statistics.fmean(both[1])
    return Lead(gap, math.hypot(*map(_standard_error, both)))


def _means_by_seed(rows, key, system):
    system_rows = select_rows(rows, system=system)
    seeds = distinct_labels(system_rows, "seed")
    means = {seed: mean(system_rows, key, seed=seed) for (seed,) in seeds}
    worth = _logarithmic_worth if is_objective(key) else float
    return {seed: worth(value) for seed, value in means.items() if value is not None}


def _logarithmic_worth(objective):
    """Differences of it are percents where they are small; ``_format_range`` has them exactly."""
    return -100 * math.log(objective)


def _standard_error(numbers):
    return statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0


def leads_by_case(rows, ours, theirs, key, cases=("data", "R"), match=None):
    """{case: lead}, theirs looked up by the labels in ``match`` only; none without both."""
    rows = final_rows(rows)
    match = cases if match is None else match
    leads = {}
    for case in distinct_labels(select_rows(rows, system=ours), *cases):
        labels = dict(zip(cases, case, strict=True))
        case_rows = select_rows(rows, system=ours, **labels) + select_rows(
            rows, system=theirs, **{label: labels[label] for label in match}
        )
        if (lead := compute_lead(case_rows, ours, theirs, key)) is not None:
            leads[case] = lead
    return leads


def always_above(ours, theirs, key="psnr", cases=("data", "R"), match=None, where=None, least=0.0):
    """A judge: ours is above theirs, by more than ``least`` dB, in every case that was measured.

    An objective must be lower; "much" is then ``MUCH_PERCENT``.
    """
    if is_objective(key):
        least = MUCH_PERCENT if least else 0.0
        words = f"lower by {least:g} % or more" if least else "lower"
    else:
        words = f"above by {least:g} dB or more" if least else "above"
    return _in_every_case(
        ours, theirs, key, cases, match, where, words, lambda lead: lead.exceeds(least)
    )


def always_within(ours, theirs, most, key="psnr", cases=("data",)):
    """A judge: both are the same in every case, but for ``most`` up or down.

    That is in dB, in percent for an objective.
    """
    words = f"within {most:g} {'%' if is_objective(key) else 'dB'}"
    return _in_every_case(
        ours, theirs, key, cases, cases, None, words, lambda lead: lead.is_within(most)
    )


def _in_every_case(ours, theirs, key, cases, match, where, words, decide):
    def judge(rows):
        rows = [row for row in rows if where is None or where(row)]
        leads = leads_by_case(rows, ours, theirs, key, cases, match)
        if not leads:
            return untested(f"no case with both {ours} and {theirs}")
        answers = [decide(lead) for lead in leads.values()]
        unsure = answers.count(UNDECIDED)
        text = f"{ours} against {theirs}: {words} in {answers.count(YES)} of {len(leads)} cases, "
        text += _format_range((lead.mean for lead in leads.values()), key)
        return Verdict(
            text + (f"; {unsure} may be chance" if unsure else ""),
            NO if NO in answers else UNDECIDED if unsure else YES,
        )

    return judge


def _format_range(numbers, key):
    if is_objective(key):
        numbers, digits, unit = [100 * math.expm1(-number / 100) for number in numbers], 1, "%"
    else:
        numbers, digits, unit = list(numbers), 2, "dB"
    ends = dict.fromkeys(f"{end:+.{digits}f}" for end in (min(numbers), max(numbers)))
    return f"{' to '.join(ends)} {unit}"


# --- one system at several sizes ----------------------------------------------------------------


def grows_with(size, key="psnr", slack=0.1, without=()):
    """A judge: more of ``size`` is better for every system but those, on every set.

    A step down of less than ``slack`` dB between two neighbours is none; percent of an objective.
    """

    def judge(rows):
        rows = [row for row in final_rows(rows) if row["system"] not in without]
        n_rising, n_lines, exceptions = 0, 0, []
        for system, data in distinct_labels(rows, "system", "data"):
            line = _line(rows, size, key, system, data)
            if len(line) < 2:
                continue
            n_lines += 1
            steps = [b - a for (_, a), (_, b) in itertools.pairwise(line)]
            gain = line[-1][1] - line[0][1]
            rises = min(steps) > -slack and gain > 0
            n_rising += rises
            if not rises:
                exceptions.append(f"{system} on {data} {_format_range([gain], key)}")
        if not n_lines:
            return untested(f"no system at two values of {size}")
        text = f"better with {size} in {n_rising} of {n_lines} lines"
        text += f"; not: {', '.join(exceptions)}" if exceptions else ""
        return verdict(text, n_rising == n_lines)

    return judge


def _line(rows, size, key, system, data):
    """Pairs (size, mean of the column), sorted."""
    line_rows = select_rows(rows, system=system, data=data)
    points = [(x, mean(line_rows, key, **{size: x})) for (x,) in distinct_labels(line_rows, size)]
    worth = _logarithmic_worth if is_objective(key) else float
    return sorted((x, worth(value)) for x, value in points if value is not None)


# --- groups of systems --------------------------------------------------------------------------


def better_in_every_pair(first, second, better, what):
    """A judge: every one of the first systems is ``better(rows, a, b)`` than every second one.

    ``better`` says YES, NO, UNDECIDED, or NOT_TESTED where one of them has no figure: such a pair
    is not compared.
    """

    def judge(rows):
        answers = [
            better(select_rows(rows, data=data), a, b)
            for (data,) in distinct_labels(rows, "data")
            for a in first
            for b in second
            if select_rows(rows, data=data, system=a) and select_rows(rows, data=data, system=b)
        ]
        compared = [answer for answer in answers if answer != NOT_TESTED]
        if not compared:
            return untested("no pair to compare")
        n_better, unsure = compared.count(YES), compared.count(UNDECIDED)
        text = f"{what} in {n_better} of {len(compared)} pairs"
        text += f"; {unsure} may be chance" if unsure else ""
        skipped = len(answers) - len(compared)
        text += f"; {skipped} could not be compared" if skipped else ""
        return Verdict(text, _agreement_of_pairs(n_better, unsure, len(compared)))

    return judge


def _agreement_of_pairs(n_better, unsure, total):
    if n_better == total:
        return YES
    if n_better >= _MOSTLY_SHARE * total:
        return MOSTLY
    return UNDECIDED if n_better + unsure >= _MOSTLY_SHARE * total else NO
