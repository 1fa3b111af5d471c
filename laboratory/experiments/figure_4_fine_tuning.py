"""Figure 4: SCSC against OCSC of the same space, its filters tuned to each test sample."""

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units, units_over_r
from laboratory.verdicts import (
    MUCH_DB,
    always_above,
    claims_for_each_comparison,
    judges_of_both,
)

TITLE = "Figure 4: SCSC and OCSC with fine-tuning"
NOTES = (
    "OCSC learns K = R filters, so that it takes the space of SCSC, whose K stays. At equal size "
    "the filters that were fitted to a sample count as numbers of that sample, as do the weights "
    "of SCSC. Much is 1 dB."
)
SUMMARY = ("data", "system", "R"), (*QUALITY_COLUMNS, "seconds", "passes")
CLAIMS = (
    *claims_for_each_comparison(
        "fine-tuning improves OCSC",
        lambda key: (always_above("OCSC fine-tuned", "OCSC", key),),
    ),
    *claims_for_each_comparison(
        "OCSC with fine-tuning is still much worse than SCSC",
        lambda key: judges_of_both(
            lambda ours: always_above(ours, "OCSC fine-tuned", key, least=MUCH_DB)
        ),
    ),
)


def plan(scale):
    return [
        *units_over_r(scale, ("OCSC fine-tuned",)),
        *(
            unit
            for r in scale.rival_bases
            for unit in learning_units(scale, ("OCSC",), scale.rival_sets, K=r)
        ),
    ]


def draw(rows):
    return figures.plot_against(rows, "R", "R (K of OCSC)")
