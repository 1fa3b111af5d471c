"""Figure 3: dictionaries of each sample's own against shared ones, over R."""

from benchmarks.paper import figures
from benchmarks.paper.claims import always_above, every_way
from benchmarks.paper.learning import QUALITY
from benchmarks.paper.plans import everywhere

TITLE = "Figure 3: shared and sample-dependent dictionaries"
NOTES = (
    "OCSC has no R: its line is one dictionary of K filters. SEP-TD decomposes it by least "
    "squares, which leaves filters shorter than one; rescaled, they are as long as before."
)
SUMMARY = (
    ("data", "system", "R"),
    (*QUALITY, "seconds", "passes"),
)
CLAIMS = (
    *every_way(
        "SCSC always outperforms SCSC (shared)",
        lambda key: always_above("SCSC", "SCSC (shared)", key),
    ),
    *every_way("SCSC always outperforms SEP-TD", lambda key: always_above("SCSC", "SEP-TD", key)),
    *every_way(
        "SCSC always outperforms SEP-TD, rescaled",
        lambda key: always_above("SCSC", "SEP-TD, rescaled", key),
    ),
    *every_way(
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
