"""How much is run: the paper's sizes, or smaller ones that still put every claim to the test."""

from dataclasses import dataclass

from laboratory.data_sets import SET_NAMES, SMALL_SETS
from laboratory.systems import BATCH_SYSTEMS


@dataclass(frozen=True)
class Scale:
    """Sizes that several experiments share; what one experiment alone needs stands there."""

    quick: bool
    seeds: int  # where all systems are compared on Fruit and City
    sweep_seeds: int  # everywhere else
    budget: float  # processor seconds of learning that a unit gets on Fruit and City
    other_budget: float  # and on other sets
    n_filters: int  # K on Fruit and City
    n_base: int  # R where it is not what varies
    bases: tuple  # R where it varies, for SCSC
    rival_bases: tuple  # and for those that it is compared with at each R,
    rival_sets: tuple  # on these sets
    crop: int  # length of the Fruit and City images, cut from their middle
    n_train: int
    n_test: int
    test_iterations: int  # of each test code, which nothing else stops
    sparsity_steps: int  # how often the test images are coded at most to find equal sizes
    further_test_sets: tuple  # where curves and equal sizes are measured, with the first seed,
    tested_at_the_end_only: tuple  # but not for these systems

    def small_set_settings(self):
        """Settings of a unit that learns from Fruit or City."""
        return {
            "K": self.n_filters,
            "R": self.n_base,
            "beta": 0.1,
            "radius": 1.0,
            "size": self.crop,
            "n_train": self.n_train,
            "n_test": self.n_test,
            "test_iterations": self.test_iterations,
            "budget": self.budget,
        }

    def other_set_settings(self, **changes):
        """Settings of a unit that learns from another set."""
        return self.small_set_settings() | {"budget": self.other_budget} | changes


FULL = Scale(
    quick=False,
    seeds=3,
    sweep_seeds=1,
    budget=40.0,
    other_budget=10.0,
    n_filters=100,
    n_base=10,
    bases=(5, 10, 20, 30, 50),
    rival_bases=(10,),
    rival_sets=("fruit",),
    crop=100,
    n_train=10,
    n_test=4,
    test_iterations=600,
    sparsity_steps=6,
    further_test_sets=("fruit",),
    tested_at_the_end_only=(
        "SCSC-L1",
        "SCSC (shared)",
        "SCSC orthonormal (shared)",
        "SCSC (ADMM code)",
        "SEP-TD",
        "SEP-TD, rescaled",
        "OCSC fine-tuned",
        "OCDL-Degraux",
        *BATCH_SYSTEMS,
    ),
)

QUICK = Scale(
    quick=True,
    seeds=1,
    sweep_seeds=1,
    budget=5.0,
    other_budget=5.0,
    n_filters=40,
    n_base=10,
    bases=(5, 10, 20),
    rival_bases=(5, 10, 20),
    rival_sets=SMALL_SETS,
    crop=64,
    n_train=10,
    n_test=2,
    test_iterations=600,
    sparsity_steps=6,
    further_test_sets=SET_NAMES,
    tested_at_the_end_only=(),
)
