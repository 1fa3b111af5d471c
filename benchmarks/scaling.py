"""How time and memory grow with K, R, P and N, beside the complexities that the paper states.

code    O(R K P + R P log P)  an iteration
filters O(R^2 P + R P log P)  an iteration
space   O(R^2 P)              for what is kept of all samples

Base filters in balls are the paper's. The history of orthonormal ones has the lags of the support
in place of frequencies: neither it nor the filter step depends on P.
"""

import statistics
import tracemalloc

import numpy as np

from benchmarks.synthetic import problem_and_weights, sample
from benchmarks.timing import CodeTimer, interleaved, seconds_of
from napari_scsc import SCSC

_SUPPORT = (11, 11)
_STANDARD = {"K": 100, "R": 10, "length": 100, "N": 1}
_CODE_ITERATIONS = 5  # of a learned sample: its memory does not depend on them
# What the paper's formulas say at fixed other sizes, when the leading term is all that counts.
_PAPER = {
    "code_ms": {"K": "1", "R": "1", "P": "1 (and log P)", "N": "0"},
    "filter_ms": {"K": "0", "R": "2", "P": "1 (and log P)", "N": "0"},
    "learn_ms": {"K": "-", "R": "-", "P": "-", "N": "0"},
    "history_mb": {"K": "0", "R": "2", "P": "1", "N": "0"},
    "state_mb": {"K": "0", "R": "2", "P": "1", "N": "0"},
    "peak_mb": {"K": "-", "R": "-", "P": "-", "N": "0"},
}
_CONSTRAINTS = ("ball", "orthonormal")
_FLAT = 0.02  # an exponent that is zero but for what the interpreter itself allocates


def sweeps(quick):
    return {
        "K": [50, 200, 800] if quick else [50, 100, 200, 400, 800],
        "R": [5, 10, 20] if quick else [5, 10, 20, 40],
        "P": [48**2, 128**2] if quick else [48**2, 64**2, 96**2, 128**2, 192**2, 256**2],
        "N": [1, 4] if quick else [1, 2, 4, 8, 16],
    }


def run(report, *, data, quick):
    exponents = []
    for filters in _CONSTRAINTS:
        rows = measure_sizes(filters, quick)
        for row in rows:
            report.add(**row)
        exponents += fit_exponents(rows)
        _check(report, filters, exponents)
    report.extra("exponents", exponents)
    _draw(report, sweeps(quick))


def measure_sizes(filters, quick):
    """Times and memory at all sizes, for one constraint on the base filters."""
    repeats = 2 if quick else 5
    return [
        row
        for axis, values in sweeps(quick).items()
        for row in _measure(filters, axis, values, repeats)
    ]


def fit_exponents(rows):
    """Slopes of all quantities along each sweep, beside the exponents of the paper."""
    exponents = []
    for axis in dict.fromkeys(row["sweep"] for row in rows):
        sweep = [row for row in rows if row["sweep"] == axis]
        for quantity, paper in _PAPER.items():
            slope = exponent(_sizes(axis, sweep), [row[quantity] for row in sweep])
            exponents.append(
                {
                    "filters": sweep[0]["filters"],
                    "of": quantity,
                    "in": axis,
                    "exponent": slope,
                    "paper": paper[axis],
                }
            )
    return exponents


def _check(report, filters, exponents):
    found = {
        (row["of"], row["in"]): abs(row["exponent"])
        for row in exponents
        if row["filters"] == filters
    }
    report.at_most(f"{filters}: exponent of code time in K", found["code_ms", "K"], 1.1)
    for axis in ("K", "N") if filters == "ball" else ("K", "P", "N"):
        report.at_most(
            f"{filters}: exponent of the history in {axis}", found["history_mb", axis], 0
        )
    report.at_most(f"{filters}: exponent of the whole state in N", found["state_mb", "N"], 0)
    report.at_most(f"{filters}: exponent of peak memory in N", found["peak_mb", "N"], _FLAT)


def _sizes(axis, rows):
    """P is the padded box, in which all the work is done."""
    return [row["box" if axis == "P" else axis] for row in rows]


def exponent(sizes, values):
    """Slope of a straight line through the logarithms; rounded, so that constant means zero."""
    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 6) + 0.0  # never -0


def _measure(filters, axis, values, repeats):
    cases = [_case(filters, axis, value) for value in values]
    timers = {value: _timers(case) for value, case in zip(values, cases, strict=True)}
    times = {
        name: interleaved({value: timers[value][name] for value in values}, repeats)
        for name in ("code_ms", "filter_ms", "learn_ms")
    }
    return [
        {
            "sweep": axis,
            **case,
            "box": timers[value]["box"],
            **{name: 1e3 * statistics.median(times[name][value]) for name in times},
            **_memory(case),
        }
        for value, case in zip(values, cases, strict=True)
    ]


def _case(filters, axis, value):
    size = {"length": round(value**0.5)} if axis == "P" else {axis: value}
    return {"filters": filters} | _STANDARD | size


def _timers(case):
    """What measures a code iteration, a filter iteration and a learned sample, in seconds."""
    shift = (case["length"],) * 2
    problem, weights = problem_and_weights(case["K"], case["R"], shift, _SUPPORT)
    timer = CodeTimer(problem, weights)
    timer.solve(5)
    model = _learn(case)
    step, history = model._state.step, model._state.history
    step.tol = 0.0

    def filter_seconds(early=2, measured=20):
        times = []
        for iterations in (early, early + measured):
            step.max_iter = iterations
            times.append(seconds_of(lambda: step.update(history)))
        return (times[1] - times[0]) / measured

    def learning_seconds():
        state = _learn(case)._state
        return state.seconds / state.n_seen

    return {
        "code_ms": timer.seconds,
        "filter_ms": filter_seconds,
        "learn_ms": learning_seconds,
        "box": problem.geometry.size,
    }


def _memory(case):
    tracemalloc.start()
    model = _learn(case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    state = model._state
    return {
        "history_mb": _bytes_of_arrays(state.history) / 1e6,
        "state_mb": _bytes_of_arrays(state, state.step, state.history) / 1e6,
        "peak_mb": peak / 1e6,
    }


def _bytes_of_arrays(*owners):
    """All arrays that these objects hold, whatever their names; each buffer once."""
    buffers = {}
    for owner in owners:
        for value in vars(owner).values():
            if isinstance(value, np.ndarray):
                while isinstance(value.base, np.ndarray):
                    value = value.base
                buffers[id(value)] = value.nbytes
    return sum(buffers.values())


def _learn(case):
    model = SCSC(case["R"], case["K"], _SUPPORT, filters=case["filters"], max_iter=_CODE_ITERATIONS)
    for seed in range(case["N"]):
        model.partial_fit(sample((case["length"],) * 2, seed=seed))
    return model


def _draw(report, values):
    axes = report.figure(columns=len(values), rows=len(_CONSTRAINTS))
    for line, filters in zip(axes, _CONSTRAINTS, strict=True):
        for ax, axis in zip(line, values, strict=True):
            rows = [r for r in report.rows if (r["filters"], r["sweep"]) == (filters, axis)]
            sizes = _sizes(axis, rows)
            for quantity in _PAPER:
                relative = [row[quantity] / rows[0][quantity] for row in rows]
                ax.loglog(sizes, relative, "o-", label=quantity.split("_")[0])
            ax.set(xlabel=axis, ylabel="relative to the first", title=f"{filters}, against {axis}")
    axes[0, 0].legend()
