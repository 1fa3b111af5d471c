"""The experiments of the paper, a module each, named after the figure or table that it repeats.

An experiment has a TITLE, NOTES, a ``plan(scale)`` of work units, CLAIMS of the paper, a SUMMARY
(columns that label a case, columns that are averaged over it) and ``draw(rows)``, its figure. It
may have ``tables(rows)``, further ones; ``summarised(rows)``, the rows that the summary is made of;
and ``measure(unit, folder)``, if its units do not just learn and evaluate.
"""

import importlib

EXPERIMENTS = {
    "convergence": "figure_6_convergence",
    "large": "figure_7_large_sets",
    "highdim": "table_4_higher_dimensions",
    "solvers": "figure_8_9_code_solvers",
    "complexity": "table_1_complexity",
    "balls": "figure_1_weight_balls",
    "weights": "figure_2_weight_matrices",
    "sharing": "figure_3_shared_dictionaries",
    "finetune": "figure_4_fine_tuning",
    "filters": "figure_5_number_of_filters",
    "restoration": "table_5_restoration",
    "readings": "beta_and_radius",
}
"""Modules by the names that the command line knows, those whose times are reported first."""


def load_experiment(name):
    """The module of an experiment."""
    return importlib.import_module(f"{__name__}.{EXPERIMENTS[name]}")
