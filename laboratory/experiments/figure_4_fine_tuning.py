"""Figure 4: SCSC against OCSC of the same space, its filters tuned to each test sample."""

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.verdicts import MUCH_DB, always_above, claims_for_each_comparison

TITLE = "Figure 4: SCSC and OCSC with fine-tuning"
NOTES = (
    "OCSC learns K = R filters, so that it takes the space of SCSC, whose K stays. At equal size "
    "the filters that were fitted to a sample count as numbers of that sample, as do the weights "
    "of SCSC. Much is 1 dB. R goes up to K/2: fitting 100 filters again to each test sample takes "
    "minutes each time."
)
SUMMARY = ("data", "system", "R"), (*QUALITY_COLUMNS, "seconds", "passes")
CLAIMS = (
    *claims_for_each_comparison(
        "fine-tuning improves OCSC",
        lambda key: always_above("OCSC fine-tuned", "OCSC", key),
    ),
    *claims_for_each_comparison(
        "OCSC with fine-tuning is still much worse than SCSC",
        lambda key: always_above("SCSC", "OCSC fine-tuned", key, least=MUCH_DB),
    ),
)


def _bases(scale):
    return [r for r in scale.bases if r <= scale.n_filters // 2]


def plan(scale):
    units = []
    for r in _bases(scale):
        units += learning_units(scale, ("SCSC", "OCSC fine-tuned"), R=r)
        units += learning_units(scale, ("OCSC",), K=r)
    return units


def draw(rows):
    return figures.plot_against(rows, "R", "R (K of OCSC)")
