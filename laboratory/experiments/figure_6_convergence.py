"""Figure 6: test PSNR against learning time on Fruit and City, all systems."""

from statistics import fmean

from laboratory import figures
from laboratory.evaluation import EQUAL_SIZE_COLUMNS, NUMBERS_PER_PIXEL, QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.result_rows import distinct_labels, final_rows, mean, select_rows
from laboratory.systems import BATCH_SYSTEMS, UNTRAINED
from laboratory.time_to_quality import (
    claims_for_psnr_and_objective,
    faster_at_equal_quality,
    format_seconds,
    start_that_reaches,
    times_to_common_goal,
    untrained_name,
)
from laboratory.verdicts import (
    DEFINITIONS,
    NO,
    NOT_TESTED,
    YES,
    Claim,
    always_within,
    better_in_every_pair,
    claims_for_each_comparison,
    compute_lead,
    is_objective,
    judges_of_both,
    untested,
    verdict,
)

TITLE = "Figure 6: testing PSNR with clock time on the small data sets"
NOTES = (
    "Every unit ran on one thread until its budget of processor seconds, but for one pass at "
    "least. R is 10. Only the first seed is tested on the way, and in the full version not those "
    "that are far behind. An iteration of a batch method is a pass. The objective, error and price "
    "of the test codes, is what learning lowers: with better filters codes get sparser, and at "
    "equal beta the PSNR may fall while the objective does. Where the test objective rises, the "
    "filters fit the few training samples too closely, or the learner's own objective, with other "
    "boundaries, is not the test's. `psnr_unit` and `objective_unit` are at a price that is equal "
    'for filters of length one. "No learning" is what SCSC, and what all others, begin with: a '
    "time to what the beginning already has says nothing of learning and is not compared. CCSC and "
    "SCSC with ADMM for its code are not in the paper's figure, and not among its batch or online "
    "methods below. Most rivals were written anew from their papers: their times are those of "
    "these programs, not of their authors'. All are tested by one coder."
)
SUMMARY = (
    ("data", "system"),
    (*QUALITY_COLUMNS, "objective", "seconds", "passes", "kept_mb"),
)
ONLINE = ("OCSC", "OCDL-Degraux", "OCDL-Liu")  # and SCSC
PAPERS_BATCH = tuple(system for system in BATCH_SYSTEMS if system != "CCSC")
SYSTEMS = (*DEFINITIONS, *ONLINE, *BATCH_SYSTEMS)
_COMPARABLE_DB, _COMPARABLE_PERCENT = 0.5, 5.0


def plan(scale):
    return [
        *learning_units(scale, SYSTEMS, seeds=scale.seeds),
        *learning_units(scale, (*UNTRAINED, "SCSC (ADMM code)")),
    ]


def sooner(key):
    """A comparison: a reaches the final value of b before b does, and had to learn for it."""

    def compare(rows, a, b):
        times = times_to_common_goal(rows, a, b, _second, key)
        goal = mean(final_rows(rows), key, system=b)
        if times is None or start_that_reaches(rows, (a,), goal, key):
            return NOT_TESTED
        return YES if times[0] < times[1] else NO

    return compare


def _second(_, final):
    return final


def _better_end(key):
    def compare(rows, a, b):
        ahead = compute_lead(final_rows(rows), a, b, key)
        return NOT_TESTED if ahead is None else ahead.exceeds(0.0)

    return compare


def _storage(ours):
    def judge(rows):
        texts, agrees = [], []
        for (data,) in distinct_labels(rows, "data"):
            set_rows = select_rows(final_rows(rows), data=data)
            kept_mb = [mean(set_rows, "kept_mb", system=system) for system in ("OCSC", ours)]
            if None not in kept_mb:
                row = select_rows(set_rows, system=ours)[0]
                texts.append(f"{data}: {kept_mb[0] / kept_mb[1]:.0f} times less")
                agrees.append(kept_mb[0] / kept_mb[1] >= 0.8 * (row["K"] / row["R"]) ** 2)
        return verdict("; ".join(texts), all(agrees)) if texts else untested("not both systems")

    return judge


def _comparable(key):
    most = _COMPARABLE_PERCENT if is_objective(key) else _COMPARABLE_DB
    return judges_of_both(lambda ours: always_within(ours, "OCSC", most, key))


def _against_batch(compare, what):
    return judges_of_both(
        lambda ours: better_in_every_pair((ours, *ONLINE), PAPERS_BATCH, compare, what)
    )


_SOONER = (
    ("converge faster than batch methods (equal beta)", "psnr", "PSNR"),
    ("converge faster than batch methods (equal beta, filters of length one)", "psnr_unit", "PSNR"),
    (
        "converge faster than batch methods (test objective, filters of length one)",
        "objective_unit",
        "objective",
    ),
)
CLAIMS = (
    *(
        Claim(
            f"online methods {text}",
            *_against_batch(sooner(key), f"the batch method's final {what} reached sooner"),
        )
        for text, key, what in _SOONER
    ),
    *claims_for_each_comparison(
        "online methods have better PSNR than batch methods",
        lambda key: _against_batch(_better_end(key), "the online method better"),
    ),
    *claims_for_each_comparison(
        f"SCSC has comparable PSNR as OCSC (within {_COMPARABLE_DB} dB, or 5 % of an objective)",
        _comparable,
    ),
    *claims_for_psnr_and_objective(
        "SCSC is faster than OCSC at equal {} (filters of length one)",
        lambda ours, key: faster_at_equal_quality(ours, "OCSC", key),
    ),
    Claim("SCSC requires less storage than OCSC, by about (K/R)^2", *judges_of_both(_storage)),
)


# --- SCSC against each of the others --------------------------------------------------------------

_GOALS = {"psnr": "PSNR", "psnr_unit": "PSNR, length one", "objective_unit": "objective"}


def tables(rows):
    """SCSC against every other system: leads, and seconds to what the rival ends with."""
    return [table for ours in DEFINITIONS for table in _tables_of(ours, rows)]


def _tables_of(ours, rows):
    header = (
        "data",
        "rival",
        "equal beta",
        "equal beta, length one",
        *(f"{target:g} numbers a pixel" for target in NUMBERS_PER_PIXEL),
        *(f"seconds to its {what}" for what in _GOALS.values()),
    )
    lines = [
        (data, rival, *_leads_over(set_rows, ours, rival), *_times_against(set_rows, ours, rival))
        for (data,) in distinct_labels(rows, "data")
        for set_rows in [select_rows(rows, data=data)]
        for (rival,) in distinct_labels(set_rows, "system")
        if rival not in (*DEFINITIONS, *UNTRAINED)
    ]
    text = (
        f"{ours} against every other system: its lead in test PSNR (dB), the mean of the seeds; "
        "then the seconds of SCSC / of the rival until they have what the rival ends with, with "
        "the first seed. 0: what it begins with, before learning, is as good. never: not within "
        "the budget. No figure: not both could be brought to that size. The objective is that of "
        "filters of length one."
    )
    is_measured = bool(select_rows(rows, system=ours))
    return [(text, header, lines)] if lines and is_measured else []


def _leads_over(rows, ours, rival):
    for key in ("psnr", "psnr_unit", *EQUAL_SIZE_COLUMNS):
        ahead = compute_lead(final_rows(rows), ours, rival, key)
        yield None if ahead is None else f"{ahead.mean:+.2f}"


def _times_against(rows, ours, rival):
    """With what they begin with as the first points of their curves."""
    pair = (ours, rival)
    begun = [
        start | {"system": system, "end": False}
        for system in pair
        for start in select_rows(rows, system=untrained_name(system))
    ]
    for key in _GOALS:
        times = times_to_common_goal(rows + begun, *pair, _second, key, average=fmean)
        yield (
            " / ".join(format_seconds(each).removesuffix(" s") for each in times) if times else None
        )


def draw(rows):
    return figures.plot_curves(rows)
