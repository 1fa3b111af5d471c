"""Figure 3: dictionaries of each sample's own against shared ones, over R."""

from benchmarks.paper import figures
from benchmarks.paper.claims import always_above, both_ways
from benchmarks.paper.learning import EQUAL
from benchmarks.paper.plans import everywhere

TITLE = "Figure 3: shared and sample-dependent dictionaries"
NOTES = (
    "OCSC has no R: its line is one dictionary of K filters. SEP-TD decomposes it by least "
    "squares, which leaves filters shorter than one; rescaled, they are as long as before."
)
SUMMARY = (
    ("data", "system", "R"),
    ("psnr", "per_pixel", *EQUAL, "seconds", "passes"),
)
CLAIMS = (
    *both_ways(
        "SCSC always outperforms SCSC (shared)",
        lambda key: always_above("SCSC", "SCSC (shared)", key),
    ),
    *both_ways("SCSC always outperforms SEP-TD", lambda key: always_above("SCSC", "SEP-TD", key)),
    *both_ways(
        "SCSC always outperforms SEP-TD, rescaled",
        lambda key: always_above("SCSC", "SEP-TD, rescaled", key),
    ),
    *both_ways(
        "SCSC outperforms OCSC from R = 10 on",
        lambda key: always_above(
            "SCSC",
            "OCSC",
            key,
            match=("data",),
            where=lambda row: row["system"] == "OCSC" or row["R"] >= 10,
        ),
    ),
)


def plan(scale):
    over_r = ("SCSC", "SCSC (shared)", "SEP-TD", "SEP-TD, rescaled")
    units = [unit for r in scale.bases for unit in everywhere(scale, over_r, R=r)]
    return units + everywhere(scale, ("OCSC",))


def draw(rows):
    return figures.against(rows, "R", "R", constant=("OCSC",))
