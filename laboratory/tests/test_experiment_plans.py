"""What the experiments plan: all systems, sets and seeds, and nothing twice."""

import pytest

from laboratory.experiment_scale import FULL, QUICK
from laboratory.experiments import EXPERIMENTS, load_experiment
from laboratory.experiments.table_5_restoration import SMOOTH
from laboratory.systems import ALL_SYSTEMS, ONLINE_SYSTEMS, UNTRAINED
from laboratory.work_units import unique_units

SCALES = pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])


NAMES = pytest.mark.parametrize("name", EXPERIMENTS)


COMPARED = {
    "balls": {"SCSC", "SCSC-L1"},
    "weights": {"SCSC", "SCSC-L1"},
    "sharing": {"SCSC", "SCSC (shared)", "SEP-TD", "SEP-TD, rescaled", "OCSC"},
    "finetune": {"SCSC", "OCSC", "OCSC fine-tuned"},
    "filters": {"SCSC", "OCSC", "SBCSC"},
    "convergence": {
        "SCSC",
        "OCSC",
        "OCDL-Degraux",
        "OCDL-Liu",
        "DeconvNet",
        "FCSC",
        "FFCSC",
        "CBPDN",
        "CONSENSUS",
        "SBCSC",
        "CCSC",
        "SCSC (ADMM code)",
        *UNTRAINED,
    },
    "large": {"SCSC", "OCSC", *UNTRAINED},
    "highdim": {"SCSC", "OCSC", "CCSC", *UNTRAINED},
    "restoration": {"SBCSC", "OCSC", "SCSC", "smooth part only"},
    "solvers": {"niAPG", "ADMM, rho 0.02", "ADMM, rho 0.1", "ADMM, rho 1", "ADMM, rho 10"},
    "complexity": {"SCSC", "OCSC"},
    "readings": {"SCSC"},
}


SETS = {
    "balls": {"fruit", "city"},
    "sharing": {"fruit", "city"},
    "finetune": {"fruit", "city"},
    "convergence": {"fruit", "city"},
    "readings": {"fruit", "city"},
    "weights": {"city"},
    "filters": {"fruit", "city", "cifar10", "flower"},
    "large": {"cifar10", "flower"},
    "highdim": {"video", "multispectral", "light field"},
    "restoration": {"fruit"},
    "solvers": {"city"},
    "complexity": {"synthetic"},
}


@SCALES
@NAMES
def test_plan_covers_every_system_and_set(name, scale):
    plan = load_experiment(name).plan(scale)
    assert {unit.system for unit in plan} == COMPARED[name]
    assert {unit.data for unit in plan} == SETS[name]


@SCALES
@NAMES
def test_every_system_of_a_case_has_every_seed(name, scale):
    seeds = {}
    for unit in load_experiment(name).plan(scale):
        size = unit.settings.get("K"), unit.settings.get("R"), unit.settings.get("beta")
        case = (unit.system, unit.data, *size, unit.settings.get("radius"))
        seeds.setdefault(case, set()).add(unit.seed)
    assert len({frozenset(found) for found in seeds.values()}) == 1


@SCALES
@NAMES
def test_units_differ_in_their_keys(name, scale):
    plan = load_experiment(name).plan(scale)
    assert len({unit.key for unit in plan}) == len(plan) > 0


def test_learning_units_ask_for_systems_that_exist():
    plan = [unit for name in EXPERIMENTS for unit in load_experiment(name).plan(QUICK)]
    asked = {unit.system for unit in plan if unit.kind in ("learning", "weights", "restoration")}
    assert asked == {*ALL_SYSTEMS, SMOOTH}  # and none of them is forgotten


@pytest.mark.parametrize("name", ["highdim", "restoration", "convergence", "large"])
def test_online_systems_have_ten_passes_where_batch_methods_have_a_budget(name):
    online = [u for u in load_experiment(name).plan(QUICK) if u.system in ONLINE_SYSTEMS]
    assert {unit.settings["passes"] for unit in online} == {10}


def test_experiments_share_what_is_the_same():
    plans = [unit for name in ("balls", "sharing") for unit in load_experiment(name).plan(QUICK)]
    assert len(unique_units(plans)) < len(plans)
