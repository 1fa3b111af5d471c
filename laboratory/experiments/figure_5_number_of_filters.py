"""Figure 5: the effect of K."""

from laboratory import figures
from laboratory.data_sets import SMALL_SETS
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.verdicts import (
    DEFINITIONS,
    claims_for_each_comparison,
    grows_with,
    judges_of_both,
)

TITLE = "Figure 5: effect of K on the testing PSNR"
NOTES = (
    "CIFAR-10 and Flower are subsets, Flower cut to squares: nothing here says who could not run "
    "on the whole sets. A pass of SBCSC is one of its iterations."
)
SUMMARY = (
    ("data", "system", "K"),
    (*QUALITY_COLUMNS, "seconds", "passes", "kept_mb"),
)
_OTHER = dict(zip(DEFINITIONS, reversed(DEFINITIONS), strict=True))
CLAIMS = claims_for_each_comparison(
    "a larger K is consistently better for all methods",
    lambda key: judges_of_both(lambda ours: grows_with("K", key, without=_OTHER[ours])),
)
_FULL = {
    "fruit": {"SCSC": (50, 100, 200), "OCSC": (50, 100), "SBCSC": (50, 100)},
    "cifar10": {"SCSC": (100, 300), "OCSC": (50, 100)},
    "flower": {"SCSC": (100, 300), "OCSC": (25, 50)},
}
_QUICK = {
    "fruit": {"SCSC": (20, 40, 80), "OCSC": (20, 40), "SBCSC": (20, 40)},
    "city": {"SCSC": (20, 40, 80), "OCSC": (20, 40), "SBCSC": (20, 40)},
    "cifar10": {"SCSC": (20, 40, 80), "OCSC": (20, 40)},
    "flower": {"SCSC": (20, 40, 80), "OCSC": (10, 20)},
}


def large_set_settings(scale, data):
    """Settings of a unit that learns from CIFAR-10 or Flower."""
    sizes = {
        "cifar10": (32, 30, 8) if scale.quick else (32, 30, 3),
        "flower": (80, 10, 2) if scale.quick else (64, 15, 1),
    }
    size, n_train, n_test = sizes[data]
    return scale.other_set_settings(
        size=size, n_train=n_train, n_test=n_test, R=10 if scale.quick else 30
    )


def plan(scale):
    units = []
    for data, systems in (_QUICK if scale.quick else _FULL).items():
        changes = {} if data in SMALL_SETS else large_set_settings(scale, data)
        systems = {"SCSC orthonormal": systems["SCSC"]} | systems
        for system, counts in systems.items():
            for k in counts:
                units += learning_units(scale, (system,), (data,), **(changes | {"K": k}))
    return units


def draw(rows):
    return figures.plot_against(rows, "K", "K")
