"""Checks: what is no experiment of the paper, but has bars to reach on its data.

A check is a module with ``run(report, data, quick)``, as a benchmark is; one that is made of work
units also takes ``jobs``.
"""

import importlib
from typing import NamedTuple


class Check(NamedTuple):
    """The module of a check, and a line about it."""

    module: str
    purpose: str
    has_units: bool = False


CHECKS = {
    "preprocessing": Check(
        "authors_preprocessing", "the paper's preprocessing against the authors' arrays"
    ),
    "orthonormal": Check(
        "orthonormal_filters",
        "orthonormal base filters against every rival on Fruit and City (long)",
        has_units=True,
    ),
    "fruit": Check("fruit_and_city", "test PSNR, time and memory on Fruit and City (long)"),
}
"""Checks by the names that the command line knows."""


def load_check(name):
    """The module of a check."""
    return importlib.import_module(f"{__name__}.{CHECKS[name].module}")
