"""Figure 7: test PSNR against learning time on the large sets, SCSC against OCSC."""

from benchmarks.paper import figures
from benchmarks.paper.claims import Claim, always_above, both_ways, faster_at_equal_psnr
from benchmarks.paper.filters import large_images
from benchmarks.paper.learning import EQUAL
from benchmarks.paper.plans import learn

TITLE = "Figure 7: testing PSNR on the large data sets"
NOTES = (
    "Subsets of the paper's sets; Flower is cut to squares. On Flower OCSC has a sixth of the "
    "filters, as in the paper, where more did not fit into memory. Both have the same time, but "
    "for ten passes at most and one at least."
)
SUMMARY = (
    ("data", "system", "K", "R"),
    (
        "psnr",
        "per_pixel",
        "objective",
        *EQUAL,
        "seconds",
        "passes",
        "budget",
        "kept_mb",
    ),
)
CLAIMS = (
    *both_ways(
        "SCSC significantly outperforms OCSC on both sets",
        lambda key: always_above("SCSC", "OCSC", key, cases=("data",), match=("data",)),
    ),
    Claim("SCSC reaches what OCSC reaches in less time", faster_at_equal_psnr("SCSC", "OCSC")),
)


def plan(scale):
    k = 40 if scale.quick else 300
    units = []
    for data in ("cifar10", "flower"):
        for system in ("SCSC", "OCSC"):
            count = k // 6 if (system, data) == ("OCSC", "flower") else k
            changes = large_images(scale, data) | {"K": count, "curve": True, "passes": 10}
            units += [
                learn(scale, system, data, seed, alone=True, **changes)
                for seed in range(scale.seeds)
            ]
    return units


def draw(rows):
    return figures.curves(rows)
