"""What the experiments plan: all systems, sets and seeds, and nothing twice."""

import pytest

from laboratory.checks import orthonormal_filters
from laboratory.experiment_scale import FULL, QUICK
from laboratory.experiments import EXPERIMENTS, load_experiment
from laboratory.experiments.figure_8_9_code_solvers import N_STARTS
from laboratory.experiments.table_5_restoration import SMOOTH
from laboratory.systems import ALL_SYSTEMS, SYSTEMS, UNTRAINED
from laboratory.verdicts import DEFINITIONS
from laboratory.work_units import unique_units

SCALES = pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])


NAMES = pytest.mark.parametrize("name", EXPERIMENTS)


COMPARED = {
    "balls": {*DEFINITIONS, "SCSC-L1"},
    "weights": {*DEFINITIONS, "SCSC-L1"},
    "sharing": {
        *DEFINITIONS,
        "SCSC (shared)",
        "SCSC orthonormal (shared)",
        "SEP-TD",
        "SEP-TD, rescaled",
        "OCSC",
    },
    "finetune": {*DEFINITIONS, "OCSC", "OCSC fine-tuned"},
    "filters": {*DEFINITIONS, "OCSC", "SBCSC"},
    "convergence": {
        *DEFINITIONS,
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
    "large": {*DEFINITIONS, "OCSC", *UNTRAINED},
    "highdim": {*DEFINITIONS, "OCSC", "CCSC", *UNTRAINED},
    "restoration": {*DEFINITIONS, "SBCSC", "OCSC", "smooth part only"},
    "solvers": {"niAPG", "ADMM, rho 0.02", "ADMM, rho 0.1", "ADMM, rho 1", "ADMM, rho 10"},
    "complexity": {*DEFINITIONS, "OCSC"},
    "readings": {*DEFINITIONS},
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
    assert {unit.data for unit in plan} >= SETS[name] - (set() if scale.quick else {"city"})
    assert {unit.data for unit in plan} <= SETS[name]


@SCALES
@NAMES
def test_every_system_of_a_case_has_every_seed(name, scale):
    seeds = {}
    for unit in load_experiment(name).plan(scale):
        size = unit.settings.get("K"), unit.settings.get("R"), unit.settings.get("beta")
        case = (unit.system, unit.data, *size, unit.settings.get("radius"))
        seeds.setdefault(case, set()).add(unit.seed)
    all_seeds = {frozenset(range(count)) for count in (scale.seeds, scale.sweep_seeds, N_STARTS)}
    assert {frozenset(found) for found in seeds.values()} <= all_seeds


@SCALES
def test_both_definitions_of_scsc_are_measured_alike(scale):
    for name in EXPERIMENTS:
        cases = {definition: set() for definition in DEFINITIONS}
        for unit in load_experiment(name).plan(scale):
            definition = unit.settings.get("filters_of", unit.system)
            if definition in cases:
                settings = unit.settings | {"filters_of": None, "curve": None}
                cases[definition].add((unit.data, unit.seed, repr(sorted(settings.items()))))
        assert len({frozenset(found) for found in cases.values()}) == 1


def test_check_of_orthonormal_filters_shares_units_with_the_comparison_of_all_systems():
    compared = {unit.key for unit in load_experiment("convergence").plan(FULL)}
    checked = [u for u in orthonormal_filters.plan(FULL) if u.settings["R"] not in (20, 30)]
    assert {unit.key for unit in checked} <= compared


@SCALES
@NAMES
def test_units_differ_in_their_keys(name, scale):
    plan = load_experiment(name).plan(scale)
    assert len({unit.key for unit in plan}) == len(plan) > 0


def test_learning_units_ask_for_systems_that_exist():
    plan = [unit for name in EXPERIMENTS for unit in load_experiment(name).plan(QUICK)]
    asked = {unit.system for unit in plan if unit.kind in ("learning", "weights", "restoration")}
    assert asked == {*ALL_SYSTEMS, SMOOTH}  # and none of them is forgotten


@pytest.mark.parametrize("name", ["highdim", "restoration", "convergence", "large", "sharing"])
def test_only_the_budget_ends_what_learns(name):
    learners = [u for u in load_experiment(name).plan(FULL) if u.system in SYSTEMS]
    assert not any("passes" in unit.settings for unit in learners)
    assert len({unit.settings["budget"] for unit in learners}) == 1


def test_experiments_share_what_is_the_same():
    plans = [unit for name in ("balls", "sharing") for unit in load_experiment(name).plan(QUICK)]
    assert len(unique_units(plans)) < len(plans)
