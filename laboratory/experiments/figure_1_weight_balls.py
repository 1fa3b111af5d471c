"""Figure 1: the l1 against the l2 ball for the weights, over R."""

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.verdicts import MUCH_DB, always_above, claims_for_each_comparison

TITLE = "Figure 1: SCSC-L1 and SCSC-L2 at different R"
NOTES = (
    "SCSC is SCSC-L2. Much is 1 dB. With the l1 ball most columns of W are multiples of one base "
    "filter: maps of parallel columns count as one."
)
SUMMARY = ("data", "system", "R"), (*QUALITY_COLUMNS, "seconds", "passes")
CLAIMS = claims_for_each_comparison(
    "SCSC-L1 is much inferior to SCSC-L2, at all R",
    lambda key: always_above("SCSC", "SCSC-L1", key, least=MUCH_DB),
)


def plan(scale):
    return [unit for r in scale.bases for unit in learning_units(scale, ("SCSC", "SCSC-L1"), R=r)]


def draw(rows):
    return figures.plot_against(rows, "R", "R")
