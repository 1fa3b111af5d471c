"""Figure 1: the l1 against the l2 ball for the weights, over R."""

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import units_over_r
from laboratory.verdicts import (
    MUCH_DB,
    always_above,
    claims_for_each_comparison,
    judges_of_both,
)

TITLE = "Figure 1: SCSC-L1 and SCSC-L2 at different R"
NOTES = (
    "SCSC is SCSC-L2. SCSC-L1 has its filters in balls, as in the paper, also where SCSC has "
    "orthonormal ones. Much is 1 dB. With the l1 ball most columns of W are multiples of one base "
    "filter: maps of parallel columns count as one."
)
SUMMARY = ("data", "system", "R"), (*QUALITY_COLUMNS, "seconds", "passes")
CLAIMS = claims_for_each_comparison(
    "SCSC-L1 is much inferior to SCSC-L2, at all R",
    lambda key: judges_of_both(lambda ours: always_above(ours, "SCSC-L1", key, least=MUCH_DB)),
)


def plan(scale):
    return units_over_r(scale, ("SCSC-L1",))


def draw(rows):
    return figures.plot_against(rows, "R", "R")
