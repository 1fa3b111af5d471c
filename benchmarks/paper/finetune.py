"""Figure 4: SCSC against OCSC of the same space, its filters tuned to each test sample."""

from benchmarks.paper import figures
from benchmarks.paper.claims import always_above, both_ways
from benchmarks.paper.learning import EQUAL
from benchmarks.paper.plans import everywhere

TITLE = "Figure 4: SCSC and OCSC with fine-tuning"
NOTES = (
    "OCSC learns K = R filters, so that it takes the space of SCSC, whose K stays. At equal "
    "sparsity all have the same number of non-zeros a pixel, though not of filters. R goes up to "
    "K/2: fitting 100 filters again to each test sample takes minutes each time."
)
SUMMARY = ("data", "system", "R"), ("psnr", "per_pixel", *EQUAL, "seconds", "passes")
CLAIMS = (
    *both_ways(
        "fine-tuning improves OCSC",
        lambda key: always_above("OCSC fine-tuned", "OCSC", key),
    ),
    *both_ways(
        "OCSC with fine-tuning is still much worse than SCSC",
        lambda key: always_above("SCSC", "OCSC fine-tuned", key),
    ),
)


def _bases(scale):
    return [r for r in scale.bases if r <= scale.n_filters // 2]


def plan(scale):
    units = []
    for r in _bases(scale):
        units += everywhere(scale, ("SCSC", "OCSC fine-tuned"), R=r)
        units += everywhere(scale, ("OCSC",), K=r)
    return units


def draw(rows):
    return figures.against(rows, "R", "R (K of OCSC)")
