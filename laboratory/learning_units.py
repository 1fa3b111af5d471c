"""Units that learn: the same words for the same work, so that experiments share what is done."""

from benchmarks.paper.learning import BATCH
from benchmarks.paper.sets import SMALL
from benchmarks.paper.units import Unit
from benchmarks.systems import STARTS

WITHOUT_BASE = ("OCSC", "OCDL-Liu", "OCDL-Degraux", "no learning (shared)", *BATCH)
"""Systems that have no base filters: their R is their K."""


def learn(scale, system, data, seed, *, alone=False, **changes):
    """A unit that learns with a system; one pass if it is online, else until its time is over."""
    settings = scale.small_images() if data in SMALL else {}
    settings = settings | _passes(system) | changes
    if system in WITHOUT_BASE:
        settings["R"] = settings["K"]
    if system == "OCSC fine-tuned":  # as many filters as the others have base filters
        settings["K"] = settings["R"]
    return Unit("learning", system, data, seed, settings, alone, _guess(scale, system, settings))


def _passes(system):
    if system in BATCH:
        return {}
    return {"passes": 0 if system in STARTS else 1}


def everywhere(scale, systems, sets=SMALL, **options):
    """A unit for each system, set and seed."""
    return [
        learn(scale, system, data, seed, **options)
        for data in sets
        for system in systems
        for seed in range(scale.seeds)
    ]


def _guess(scale, system, settings):
    """Seconds of learning and testing, roughly, until like units have been measured."""
    k, r = settings["K"] / 100, settings["R"] / 10
    frames = 7 if len(settings.get("support", ())) == 3 else 1
    images = frames * (settings["size"] / 100) ** 2  # in those of Fruit
    is_light = system.startswith("SCSC") and settings["R"] <= 30
    one_pass = images * settings["n_train"] * (k * r if is_light else 20 * k**2.5)
    learning = settings["budget"]
    if system in STARTS:
        learning = 0
    elif system not in BATCH:  # at least a pass, whatever the budget
        learning = max(min(learning, one_pass * settings["passes"]), one_pass)
    rounds = 6 if system == "OCSC fine-tuned" else 1
    tests = (settings["sparsity_steps"] or 1) + (5 if settings.get("curve") else 0)
    coded = rounds * settings["n_test"] * tests * settings["test_iterations"]
    return learning + images * coded * k * _CODE_SECONDS


_CODE_SECONDS = 0.007  # an iteration of a test code: an image of Fruit, a hundred filters
