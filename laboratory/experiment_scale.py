"""How much is run: the paper's sizes, or smaller ones that still put every claim to the test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes that several experiments share; what one experiment alone needs stands there."""

    quick: bool
    seeds: int
    budget: float  # seconds of learning that a unit gets
    n_filters: int  # K on Fruit and City
    n_base: int  # R where it is not what varies
    bases: tuple  # R where it varies
    crop: int  # length of the Fruit and City images, cut from their middle
    n_train: int
    n_test: int
    test_iterations: int  # of each test code, which nothing else stops
    sparsity_steps: int  # how often the test images are coded to find equal sizes

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
            "sparsity_steps": self.sparsity_steps,
            "budget": self.budget,
        }


FULL = Scale(
    quick=False,
    seeds=5,
    budget=600.0,
    n_filters=100,
    n_base=10,
    bases=(5, 10, 11, 12, 14, 16, 20, 25, 33, 50, 100),  # K/20, K/10, K/9, ..., K/2, K
    crop=100,
    n_train=10,
    n_test=4,
    test_iterations=1500,
    sparsity_steps=15,
)

QUICK = Scale(
    quick=True,
    seeds=1,
    budget=8.0,
    n_filters=40,
    n_base=10,
    bases=(5, 10, 20),
    crop=64,
    n_train=10,
    n_test=2,
    test_iterations=600,
    sparsity_steps=9,
)
