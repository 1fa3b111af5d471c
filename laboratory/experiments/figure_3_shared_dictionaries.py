"""Figure 3: dictionaries of each sample's own against shared ones, over R."""

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.verdicts import always_above, claims_for_each_comparison

TITLE = "Figure 3: shared and sample-dependent dictionaries"
NOTES = (
    "OCSC has no R: its line is one dictionary of K filters. SEP-TD decomposes it by least "
    "squares, which leaves filters shorter than one; rescaled, they are as long as before."
)
SUMMARY = (
    ("data", "system", "R"),
    (*QUALITY_COLUMNS, "seconds", "passes"),
)
CLAIMS = (
    *claims_for_each_comparison(
        "SCSC always outperforms SCSC (shared)",
        lambda key: always_above("SCSC", "SCSC (shared)", key),
    ),
    *claims_for_each_comparison(
        "SCSC always outperforms SEP-TD", lambda key: always_above("SCSC", "SEP-TD", key)
    ),
    *claims_for_each_comparison(
        "SCSC always outperforms SEP-TD, rescaled",
        lambda key: always_above("SCSC", "SEP-TD, rescaled", key),
    ),
    *claims_for_each_comparison(
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
    units = [unit for r in scale.bases for unit in learning_units(scale, over_r, R=r)]
    return units + learning_units(scale, ("OCSC",))


def draw(rows):
    return figures.plot_against(rows, "R", "R", constant=("OCSC",))
