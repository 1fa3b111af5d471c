"""Figure 1: the l1 against the l2 ball for the weights, over R."""

from benchmarks.paper import figures
from benchmarks.paper.claims import always_above, both_ways
from benchmarks.paper.learning import EQUAL
from benchmarks.paper.plans import everywhere

TITLE = "Figure 1: SCSC-L1 and SCSC-L2 at different R"
NOTES = "SCSC is SCSC-L2."
SUMMARY = ("data", "system", "R"), ("psnr", "per_pixel", *EQUAL, "seconds", "passes")
CLAIMS = both_ways(
    "SCSC-L1 is much inferior to SCSC-L2, at all R",
    lambda key: always_above("SCSC", "SCSC-L1", key),
)


def plan(scale):
    return [unit for r in scale.bases for unit in everywhere(scale, ("SCSC", "SCSC-L1"), R=r)]


def draw(rows):
    return figures.against(rows, "R", "R")
