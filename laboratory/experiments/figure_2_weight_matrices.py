"""Figure 2: the weights of a test sample in the l1 and in the l2 ball."""

import numpy as np

from laboratory import data_sets, figures, learning
from laboratory.code_size import is_significant
from laboratory.result_rows import mean
from laboratory.verdicts import DEFINITIONS, Claim, judges_of_both, untested, verdict
from laboratory.work_units import WorkUnit

TITLE = "Figure 2: weight matrices of a test sample from City"
NOTES = (
    "Only columns of filters that the code uses count. An entry is near zero below 1 % of the "
    "largest of its column; a base filter is used by a column if its weight is above 10 % of that."
)
SUMMARY = ("data", "system"), ("near_zero", "base_filters", "one_base_filter", "columns")
_NEAR_ZERO, _USED = 0.01, 0.1


def plan(scale):
    return [
        WorkUnit(
            "weights",
            system,
            "city",
            seed,
            scale.small_set_settings() | {"passes": 1},
            guessed_seconds=8,
        )
        for system in (*DEFINITIONS, "SCSC-L1")
        for seed in range(scale.sweep_seeds)
    ]


def measure(unit, folder):
    step = learning.learn_to_the_end(unit, folder)
    sample = data_sets.load_data_set(folder, unit.data, unit.settings).test[0]
    code = step.model.encode(sample, max_iter=unit.settings["test_iterations"], tol=0.0)
    used = is_significant(code.Z).any(axis=tuple(range(1, code.Z.ndim)))
    return [{**describe(code.W[:, used]), "weights": np.round(code.W, 4).tolist()}]


def describe(weights):
    """Shares and counts of a matrix of weights (R, K)."""
    size = np.abs(weights)
    relative = size / np.maximum(size.max(axis=0), 1e-12)
    counts = (relative > _USED).sum(axis=0)
    return {
        "columns": weights.shape[1],
        "near_zero": float((relative < _NEAR_ZERO).mean()),
        "base_filters": float(counts.mean()),
        "one_base_filter": float((counts == 1).mean()),
    }


def _mostly_zero(rows):
    share = mean(rows, "near_zero", system="SCSC-L1")
    if share is None:
        return untested("no weights of SCSC-L1")
    return verdict(f"{share:.0%} of the entries of SCSC-L1 are near zero", share > 0.5)


def _one_base_filter(rows):
    share = mean(rows, "one_base_filter", system="SCSC-L1")
    if share is None:
        return untested("no weights of SCSC-L1")
    count = mean(rows, "base_filters", system="SCSC-L1")
    return verdict(
        f"{share:.0%} of the columns of SCSC-L1 use one base filter; {count:.1f} on average",
        share > 0.5,
    )


def _denser(ours):
    def judge(rows):
        shares = [mean(rows, "near_zero", system=system) for system in ("SCSC-L1", ours)]
        if None in shares:
            return untested("not both balls")
        return verdict(
            f"near zero: {shares[1]:.0%} with SCSC-L2, {shares[0]:.0%} with SCSC-L1",
            shares[1] < min(shares[0], 0.5),
        )

    return judge


CLAIMS = (
    Claim("most entries of W are zero with SCSC-L1", _mostly_zero),
    Claim("typically only one base filter approximates an original filter", _one_base_filter),
    Claim("with SCSC-L2, W is dense and has more non-zero entries", *judges_of_both(_denser)),
)


def draw(rows):
    systems = ("SCSC-L1", *DEFINITIONS)
    figure, axes = figures.make_panels(1, len(systems))
    shown = {row["system"]: row for row in reversed(rows)}  # the first seed of each
    for ax, system in zip(axes[:, 0], systems, strict=True):
        if system in shown:
            weights = np.array(shown[system]["weights"])
            picture = ax.imshow(np.abs(weights), "viridis", vmin=0, vmax=1, aspect="auto")
            ax.set(title=system, xlabel="filter", ylabel="base filter")
            figure.colorbar(picture, ax=ax, label="|W|")
    return figure
