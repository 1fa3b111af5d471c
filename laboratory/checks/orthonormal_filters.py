"""SCSC with orthonormal base filters against every rival, after the same processor seconds.

K = 100 filters of 11 x 11 on Fruit and City, 100 x 100, beta 0.1. The objective is the mean over
the test images, with filters at length one.
"""

import math
import statistics

from laboratory import work_units
from laboratory.data_sets import SMALL_SETS, load_authors_arrays
from laboratory.experiment_scale import FULL, QUICK
from laboratory.figures import legend_beside, style
from laboratory.learning_units import TIMED_BASE, learning_unit
from laboratory.result_rows import final_rows, select_rows
from laboratory.time_to_quality import time_to_goal
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry

OURS = "SCSC orthonormal"
RIVALS = (
    "OCDL-Liu",
    "SBCSC",
    "CONSENSUS",
    "OCSC",
    "CBPDN",
    "OCDL-Degraux",
    "FFCSC",
    "FCSC",
    "DeconvNet",
    "CCSC",
)
_OBJECTIVE_BARS = {10: 155.0, 20: 138.0, 30: 126.0}  # by R
_RIVALS_ABOVE = {10: ("OCSC",), 20: RIVALS, 30: ()}
_TIMED_RIVAL, _SECONDS_BAR = "OCDL-Liu", 8.0
_STATE_BARS = {10: 100, 20: 25}  # times less than OCSC's H, by R


def plan(scale):
    """SCSC at each R of a bar, and every rival."""
    return [
        learning_unit(scale, system, data, seed, **changes)
        for seed in range(scale.seeds)
        for data in SMALL_SETS
        for system, changes in (
            *((OURS, {"R": r}) for r in _OBJECTIVE_BARS),
            *((rival, {}) for rival in RIVALS),
        )
    ]


def run(report, *, data, quick, jobs):
    load_authors_arrays(data, SMALL_SETS[0])  # fails now, not after minutes
    scale = QUICK if quick else FULL
    units = plan(scale)
    store = work_units.UnitStore(report.out / "units")
    work_units.run_units(units, store, data, jobs)
    rows = [row for unit in units if (kept := store.record(unit)) for row in kept["rows"]]
    rows = [row | {"mean_objective": row["objective_unit"] / row["n_test"]} for row in rows]
    for row in final_rows(rows):
        report.add(**{key: row[key] for key in _REPORTED})
    for name in SMALL_SETS:
        _judge(report, name, select_rows(rows, data=name), scale)
    _draw(report, rows)


_REPORTED = (
    "data",
    "system",
    "R",
    "seed",
    "mean_objective",
    "psnr_unit",
    "per_pixel",
    "seconds",
    "passes",
    "kept_mb",
)


def _judge(report, name, rows, scale):
    def objectives(system, **labels):
        found = select_rows(final_rows(rows), system=system, **labels)
        return [row["mean_objective"] for row in found]

    for r, bar in _OBJECTIVE_BARS.items():
        ours = objectives(OURS, R=r)
        report.at_most(f"{name}: objective, R = {r}, {_count_seeds(ours)}", _median(ours), bar)
        for rival in _RIVALS_ABOVE[r]:
            theirs = objectives(rival)
            words = f"{_median(theirs):.1f}, {_count_seeds(theirs)}"
            ratio = _median(ours) / _median(theirs)
            report.at_most(f"{name}: R = {r} / {rival} ({words})", ratio, 1.0)
    times = list(_times_to_rival(rows))
    report.at_most(
        f"{name}: seconds to the last objective of {_TIMED_RIVAL}, R = {TIMED_BASE}, "
        f"{_count_seeds(times)}",
        _median(times),
        _SECONDS_BAR,
    )
    for r, bar in _STATE_BARS.items():
        kept = select_rows(final_rows(rows), system=OURS, R=r)
        ratio = _bytes_of_ocsc(scale) / 1e6 / kept[0]["kept_mb"] if kept else math.nan
        report.at_least(f"{name}: H of OCSC / all that is kept, R = {r}", ratio, bar)


def _median(numbers):
    return statistics.median(numbers or [math.nan])


def _count_seeds(numbers):
    return "1 seed" if len(numbers) == 1 else f"{len(numbers)} seeds"


def _times_to_rival(rows):
    """For each seed, when the objective is what the rival ends with."""
    for rival in select_rows(final_rows(rows), system=_TIMED_RIVAL):
        curve = select_rows(rows, system=OURS, R=TIMED_BASE, seed=rival["seed"])
        if curve:
            yield time_to_goal(curve, rival["objective_unit"], "objective_unit")


def _bytes_of_ocsc(scale):
    """H of the same number of filters without weights."""
    geometry = Geometry((), (scale.crop, scale.crop), (11, 11))
    return scale.n_filters**2 * geometry.n_frequencies * History(1, geometry, "f4").h.itemsize


_MARKERS = {10: "o", 20: "s", 30: "D"}  # by R


def _draw(report, rows):
    axes = report.figure(columns=2)
    for ax, name in zip(axes, SMALL_SETS, strict=True):
        for row in final_rows(select_rows(rows, data=name, seed=0)):
            labels = {key: row[key] for key in ("data", "system", "R", "seed")}
            curve = sorted(select_rows(rows, **labels), key=lambda each: each["seconds"])
            look = style(row["system"])
            if row["system"] == OURS:
                look |= {"label": f"{OURS}, R = {row['R']}", "marker": _MARKERS[row["R"]]}
            ax.semilogx(
                [each["seconds"] for each in curve],
                [each["mean_objective"] for each in curve],
                **look,
            )
        ax.set(title=name, xlabel="processor seconds", ylabel="test objective, length one")
    legend_beside(axes[0].figure, axes[0])
