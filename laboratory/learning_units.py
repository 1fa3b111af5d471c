"""Work units that learn: the same settings for the same work, so that experiments share results."""

from laboratory.data_sets import SMALL_SETS
from laboratory.systems import BATCH_SYSTEMS, UNTRAINED
from laboratory.work_units import WorkUnit

SYSTEMS_WITHOUT_BASE_FILTERS = (
    "OCSC",
    "OCDL-Liu",
    "OCDL-Degraux",
    "no learning (shared)",
    *BATCH_SYSTEMS,
)
"""Their R is their K."""

_CODE_SECONDS = 0.007  # an iteration of a test code: an image of Fruit, a hundred filters


def learning_unit(scale, system, data, seed, *, runs_alone=False, **changes):
    """A unit that learns with a system; one pass if it is online, else until its time is over."""
    settings = scale.small_set_settings() if data in SMALL_SETS else {}
    settings = settings | _default_passes(system) | changes
    if system in SYSTEMS_WITHOUT_BASE_FILTERS:
        settings["R"] = settings["K"]
    if system == "OCSC fine-tuned":  # as many filters as the others have base filters
        settings["K"] = settings["R"]
    guess = _guess_seconds(system, settings)
    return WorkUnit("learning", system, data, seed, settings, runs_alone, guess)


def learning_units(scale, systems, sets=SMALL_SETS, **options):
    """A unit for each system, set and seed."""
    return [
        learning_unit(scale, system, data, seed, **options)
        for data in sets
        for system in systems
        for seed in range(scale.seeds)
    ]


def _default_passes(system):
    if system in BATCH_SYSTEMS:
        return {}
    return {"passes": 0 if system in UNTRAINED else 1}


def _guess_seconds(system, settings):
    """Seconds of learning and testing, roughly, until like units have been measured."""
    k, r = settings["K"] / 100, settings["R"] / 10
    frames = 7 if len(settings.get("support", ())) == 3 else 1
    images = frames * (settings["size"] / 100) ** 2  # in those of Fruit
    is_light = system.startswith("SCSC") and settings["R"] <= 30
    one_pass = images * settings["n_train"] * (k * r if is_light else 20 * k**2.5)
    learning = settings["budget"]
    if system in UNTRAINED:
        learning = 0
    elif system not in BATCH_SYSTEMS:  # at least a pass, whatever the budget
        learning = max(min(learning, one_pass * settings["passes"]), one_pass)
    rounds = 6 if system == "OCSC fine-tuned" else 1
    evaluations = (settings["sparsity_steps"] or 1) + (5 if settings.get("curve") else 0)
    coded = rounds * settings["n_test"] * evaluations * settings["test_iterations"]
    return learning + images * coded * k * _CODE_SECONDS
