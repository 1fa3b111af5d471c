"""Figure 3: dictionaries of each sample's own against shared ones, over R."""

from functools import partial

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units, units_over_r
from laboratory.verdicts import (
    always_above,
    claims_for_each_comparison,
    judges_of_both,
)

TITLE = "Figure 3: shared and sample-dependent dictionaries"
NOTES = (
    "OCSC has no R: its line is one dictionary of K filters. SEP-TD decomposes it by least "
    "squares, which leaves filters shorter than one; rescaled, they are as long as before. It "
    "takes as long as OCSC, and is run at R = 10. SCSC with orthonormal filters is compared with "
    "one W for all samples of such filters."
)
SUMMARY = (
    ("data", "system", "R"),
    (*QUALITY_COLUMNS, "seconds", "passes"),
)
_SHARED = {"SCSC": "SCSC (shared)", "SCSC orthonormal": "SCSC orthonormal (shared)"}


def _above_at_each_r(rival, key):
    return judges_of_both(lambda ours: always_above(ours, rival, key))


def _above_ocsc(key):
    def has_ten(row):
        return row["system"] == "OCSC" or row["R"] >= 10

    return judges_of_both(
        lambda ours: always_above(ours, "OCSC", key, match=("data",), where=has_ten)
    )


CLAIMS = (
    *claims_for_each_comparison(
        "SCSC always outperforms SCSC (shared)",
        lambda key: judges_of_both(lambda ours: always_above(ours, _SHARED[ours], key)),
    ),
    *(
        claim
        for rival in ("SEP-TD", "SEP-TD, rescaled")
        for claim in claims_for_each_comparison(
            f"SCSC always outperforms {rival}", partial(_above_at_each_r, rival)
        )
    ),
    *claims_for_each_comparison("SCSC outperforms OCSC from R = 10 on", _above_ocsc),
)


def plan(scale):
    return [
        *units_over_r(scale, _SHARED.values()),
        *learning_units(scale, ("SEP-TD", "SEP-TD, rescaled"), scale.rival_sets),
        *learning_units(scale, ("OCSC",)),
    ]


def draw(rows):
    return figures.plot_against(rows, "R", "R", constant=("OCSC",))
