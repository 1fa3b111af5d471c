"""Work units that learn: the same settings for the same work, so that experiments share results."""

from laboratory.data_sets import SMALL_SETS
from laboratory.systems import BATCH_SYSTEMS, UNTRAINED
from laboratory.verdicts import DEFINITIONS
from laboratory.work_units import WorkUnit

SYSTEMS_WITHOUT_BASE_FILTERS = (
    "OCSC",
    "OCDL-Liu",
    "OCDL-Degraux",
    "no learning (shared)",
    *BATCH_SYSTEMS,
)
"""Their R is their K."""

DRAWN_OVER_TIME = (
    *DEFINITIONS,
    "SCSC (ADMM code)",
    "OCSC",
    "OCDL-Liu",
    "OCDL-Degraux",
    *BATCH_SYSTEMS,
)

TIMED_BASE = 20
"""R at which SCSC with orthonormal filters has a curve with every seed: its time has a bar."""

_CODE_SECONDS = 0.007  # an iteration of a test code: an image of Fruit, a hundred filters
_TESTS_ON_THE_WAY = 3


def learning_unit(scale, system, data, seed, **changes):
    """A unit that learns with a system until its time is over, but for one pass at least."""
    settings = scale.small_set_settings() if data in SMALL_SETS else {}
    settings = settings | changes
    if system in UNTRAINED:
        settings["passes"] = 0
    if system in SYSTEMS_WITHOUT_BASE_FILTERS:
        settings["R"] = settings["K"]
    if system == "OCSC fine-tuned":  # as many filters as the others have base filters
        settings["K"] = settings["R"]
    settings = _further_tests(scale, system, data, seed, settings) | settings
    return WorkUnit("learning", system, data, seed, settings, _guess_seconds(system, settings))


def learning_units(scale, systems, sets=SMALL_SETS, seeds=None, **changes):
    """A unit for each system, set and seed; ``sweep_seeds`` of them unless said otherwise."""
    return [
        learning_unit(scale, system, data, seed, **changes)
        for data in sets
        for system in systems
        for seed in range(scale.sweep_seeds if seeds is None else seeds)
    ]


def units_over_r(scale, rivals):
    """Units of SCSC, in both definitions, and of rivals that have an R, at several R."""
    return [
        unit
        for systems, values, sets in (
            (DEFINITIONS, scale.bases, SMALL_SETS),
            (rivals, scale.rival_bases, scale.rival_sets),
        )
        for r in values
        for unit in learning_units(scale, systems, sets, R=r)
    ]


def _further_tests(scale, system, data, seed, settings):
    """Settings of the tests beside that at the end: equal sizes, and a curve on Fruit and City."""
    has_sizes = (
        seed == 0
        and data in scale.further_test_sets
        and system not in scale.tested_at_the_end_only
        and (scale.quick or settings["R"] in (scale.n_base, scale.n_filters))
    )
    is_drawn = system in DRAWN_OVER_TIME and settings["K"] == scale.n_filters
    has_curve = data in SMALL_SETS and is_drawn and has_sizes
    if system == "SCSC orthonormal" and data in SMALL_SETS and settings["R"] == TIMED_BASE:
        has_curve = True
    return {"sparsity_steps": scale.sparsity_steps if has_sizes else 0} | (
        {"curve": True} if has_curve else {}
    )


def _guess_seconds(system, settings):
    """Seconds of learning and testing, roughly, until like units have been measured."""
    k, r = settings["K"] / 100, settings["R"] / 10
    frames = 7 if len(settings.get("support", ())) == 3 else 1
    images = frames * (settings["size"] / 100) ** 2  # in those of Fruit
    is_light = system.startswith("SCSC")
    one_pass = images * settings["n_train"] * (k * r**0.7 / 2 if is_light else 10 * k**2.5)
    learning = settings["budget"]
    if system in UNTRAINED:
        learning = 0
    elif system not in BATCH_SYSTEMS:  # at least a pass, whatever the budget
        learning = max(learning, one_pass)
    rounds = 6 if system == "OCSC fine-tuned" else 1
    tests = 1 + settings["sparsity_steps"] / 2 + (_TESTS_ON_THE_WAY if "curve" in settings else 0)
    coded = rounds * settings["n_test"] * tests * settings["test_iterations"]
    return learning + images * coded * k * _CODE_SECONDS
