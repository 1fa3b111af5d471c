"""The paper's laboratory: every experiment of its Section 4, run again and judged.

A module an experiment. Each has a TITLE, NOTES, a ``plan(scale)`` of units, CLAIMS, a SUMMARY
(labels, figures) and ``draw(rows)``. It may have ``tables(rows)``, further ones.
"""

EXPERIMENTS = (
    "convergence",
    "large",
    "highdim",
    "solvers",
    "complexity",
    "balls",
    "weights",
    "sharing",
    "finetune",
    "filters",
    "restoration",
    "readings",
)
"""Names, those whose times are reported first."""
