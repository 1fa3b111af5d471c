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
    NO,
    NOT_TESTED,
    YES,
    Claim,
    always_within,
    better_in_every_pair,
    claims_for_each_comparison,
    compute_lead,
    untested,
    verdict,
)

TITLE = "Figure 6: testing PSNR with clock time on the small data sets"
NOTES = (
    "Every unit ran alone, on one thread, until its budget or ten passes, but for one pass at "
    "least. An iteration of a batch method is a pass. The objective, error and price of the test "
    "codes, is what learning lowers: with better filters codes get sparser, and at equal beta the "
    "PSNR may fall while the objective does. Where the test objective rises, the filters fit "
    "the few training samples too closely, or the learner's own objective, with other boundaries, "
    "is not the test's. `psnr_unit` and `objective_unit` are at a price that is equal for filters "
    'of length one. "No learning" is what SCSC, and what all others, begin with: a time to what '
    "the beginning already has says nothing of learning and is not compared. CCSC and SCSC with "
    "ADMM for its code are not in the paper's figure, and not among its batch or online methods "
    "below. Most rivals were written anew from their papers: "
    "their times are those of these programs, not of their authors'. All are tested by one coder."
)
SUMMARY = (
    ("data", "system"),
    (*QUALITY_COLUMNS, "objective", "objective_unit", "seconds", "passes", "kept_mb"),
)
ONLINE = ("SCSC", "OCSC", "OCDL-Degraux", "OCDL-Liu")
PAPERS_BATCH = tuple(system for system in BATCH_SYSTEMS if system != "CCSC")
SYSTEMS = (*ONLINE, *BATCH_SYSTEMS, "SCSC (ADMM code)")
_COMPARABLE_DB = 0.5
_PASSES = 10


def plan(scale):
    options = {"runs_alone": True, "curve": True}
    batch = [system for system in SYSTEMS if system in BATCH_SYSTEMS]
    online = [system for system in SYSTEMS if system not in BATCH_SYSTEMS]
    return [
        *learning_units(scale, UNTRAINED),
        *learning_units(scale, online, passes=_PASSES, **options),
        *learning_units(scale, batch, **options),
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


def _storage(rows):
    texts, agrees = [], []
    for (data,) in distinct_labels(rows, "data"):
        kept_mb = [mean(final_rows(rows), "kept_mb", system=s, data=data) for s in ("OCSC", "SCSC")]
        if None not in kept_mb:
            row = select_rows(rows, system="SCSC", data=data)[0]
            texts.append(f"{data}: {kept_mb[0] / kept_mb[1]:.0f} times less")
            agrees.append(kept_mb[0] / kept_mb[1] >= 0.8 * (row["K"] / row["R"]) ** 2)
    return verdict("; ".join(texts), all(agrees)) if texts else untested("not both systems")


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
            better_in_every_pair(
                ONLINE, PAPERS_BATCH, sooner(key), f"the batch method's final {what} reached sooner"
            ),
        )
        for text, key, what in _SOONER
    ),
    *claims_for_each_comparison(
        "online methods have better PSNR than batch methods",
        lambda key: better_in_every_pair(
            ONLINE, PAPERS_BATCH, _better_end(key), "the online method better"
        ),
    ),
    *claims_for_each_comparison(
        f"SCSC has comparable PSNR as OCSC (within {_COMPARABLE_DB} dB)",
        lambda key: always_within("SCSC", "OCSC", _COMPARABLE_DB, key),
    ),
    *claims_for_psnr_and_objective(
        "SCSC is faster than OCSC at equal {} (filters of length one)",
        lambda key: faster_at_equal_quality("SCSC", "OCSC", key),
    ),
    Claim("SCSC requires less storage than OCSC, by about (K/R)^2", _storage),
)


# --- SCSC against each of the others --------------------------------------------------------------

_GOALS = {"psnr": "PSNR", "psnr_unit": "PSNR, length one", "objective_unit": "objective"}


def tables(rows):
    """SCSC against every other system: leads, and seconds to what the rival ends with."""
    header = (
        "data",
        "rival",
        "equal beta",
        "equal beta, length one",
        *(f"{target:g} numbers a pixel" for target in NUMBERS_PER_PIXEL),
        *(f"seconds to its {what}" for what in _GOALS.values()),
    )
    lines = [
        (data, rival, *_leads_over(set_rows, rival), *_times_against(set_rows, rival))
        for (data,) in distinct_labels(rows, "data")
        for set_rows in [select_rows(rows, data=data)]
        for (rival,) in distinct_labels(set_rows, "system")
        if rival != "SCSC" and rival not in UNTRAINED
    ]
    text = (
        "SCSC against every other system: its lead in test PSNR (dB), then the seconds of SCSC / "
        "of the rival until they have what the rival ends with, all in the mean of the seeds. 0: "
        "what it begins with, before learning, is as good. never: for one seed at least, not "
        "within the budget. No figure: not both could be brought to that size. The objective is "
        "that of filters of length one."
    )
    return [(text, header, lines)] if lines else []


def _leads_over(rows, rival):
    for key in ("psnr", "psnr_unit", *EQUAL_SIZE_COLUMNS):
        ahead = compute_lead(final_rows(rows), "SCSC", rival, key)
        yield None if ahead is None else f"{ahead.mean:+.2f}"


def _times_against(rows, rival):
    """With what they begin with as the first points of their curves."""
    pair = ("SCSC", rival)
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
