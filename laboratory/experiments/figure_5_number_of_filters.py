"""Figure 5: the effect of K."""

from laboratory import figures
from laboratory.data_sets import SMALL_SETS
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_unit
from laboratory.verdicts import claims_for_each_comparison, grows_with

TITLE = "Figure 5: effect of K on the testing PSNR"
NOTES = (
    "CIFAR-10 and Flower are subsets, Flower cut to squares: nothing here says who could not run "
    "on the whole sets. SBCSC is run on Fruit and City, as in the paper. Online systems make one "
    "pass, however long it takes; a pass of SBCSC is one of its iterations."
)
SUMMARY = (
    ("data", "system", "K"),
    (*QUALITY_COLUMNS, "seconds", "passes", "kept_mb"),
)
CLAIMS = claims_for_each_comparison(
    "a larger K is consistently better for all methods", lambda key: grows_with("K", key)
)
_FULL = {
    "fruit": {"SCSC": (50, 100, 200, 400), "OCSC": (25, 50, 100), "SBCSC": (25, 50, 100)},
    "city": {"SCSC": (50, 100, 200, 400), "OCSC": (25, 50, 100), "SBCSC": (25, 50, 100)},
    "cifar10": {"SCSC": (100, 200, 400, 800), "OCSC": (50, 100, 200, 300)},
    "flower": {"SCSC": (50, 100, 200, 400), "OCSC": (25, 50)},
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
        "cifar10": (32, 30, 8) if scale.quick else (32, 200, 50),
        "flower": (80, 10, 2) if scale.quick else (256, 60, 4),
    }
    size, n_train, n_test = sizes[data]
    changes = {"size": size, "n_train": n_train, "n_test": n_test}
    return scale.small_set_settings() | changes | {"R": 10 if scale.quick else 30}


def plan(scale):
    units = []
    for data, systems in (_QUICK if scale.quick else _FULL).items():
        changes = {} if data in SMALL_SETS else large_set_settings(scale, data)
        for system, counts in systems.items():
            for k in counts:
                for seed in range(scale.seeds):
                    units.append(learning_unit(scale, system, data, seed, **(changes | {"K": k})))
    return units


def draw(rows):
    return figures.plot_against(rows, "K", "K")
