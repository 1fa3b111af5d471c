"""Table 1: exponents of time and space in K, R, P and N, and the memory of OCSC against SCSC."""

import statistics
from functools import partial

import numpy as np

from benchmarks import scaling
from benchmarks.synthetic import sample
from benchmarks.timing import CodeTimer, interleaved, seconds_of
from laboratory import figures
from laboratory.result_rows import mean
from laboratory.verdicts import DEFINITIONS, Claim, judges_of_both, untested, verdict
from laboratory.work_units import WorkUnit
from napari_scsc import SCSC
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.orthonormal_step import LagHistory
from napari_scsc.model.solver.problem import Geometry, Problem

TITLE = "Table 1: complexities"
NOTES = (
    "Slopes of straight lines through logarithms, from synthetic samples of the same sizes in both "
    "versions. The history of orthonormal filters holds correlations at the lags of the support "
    "instead of H and G. At these sizes lower "
    "terms still count, so an exponent may be below that of the leading term. What must not be is "
    "an exponent above it: the paper's are upper bounds."
)
SUMMARY = ("system", "of", "in", "paper"), ("exponent", "ratio")
_EXPONENT_MARGIN = (
    0.25  # by which a fitted exponent may be above that of the formula: noise, and log P
)
_SUPPORT, _SHAPE_OF_OCSC = (11, 11), (48, 48)
_FILTERS = dict(zip(DEFINITIONS, ("ball", "orthonormal"), strict=True))
_GROWING_WITH_K = ("filter_ms", "history_mb")  # of OCSC
_PAPER_OCSC = {"code_ms": "1", "filter_ms": "2", "history_mb": "2"}


def plan(scale):
    return [
        WorkUnit("complexity", system, "synthetic", 0, guessed_seconds=60)
        for system in (*DEFINITIONS, "OCSC")
    ]


def measure(unit, folder):
    if unit.system == "OCSC":
        return _of_ocsc()
    filters = _FILTERS[unit.system]
    rows = scaling.measure_sizes(filters, quick=True)
    return [*scaling.fit_exponents(rows), *_memory_ratios(filters)]


def _of_ocsc(counts=(10, 20, 40)):
    models = {k: _ocsc(k) for k in counts}
    timers = {
        "code_ms": {k: _code_timer(model) for k, model in models.items()},
        "filter_ms": {k: _filter_timer(model) for k, model in models.items()},
    }
    measured = {
        what: {k: statistics.median(v) for k, v in interleaved(by_count, 3).items()}
        for what, by_count in timers.items()
    }
    measured["history_mb"] = {k: _count_bytes(model._state.history) for k, model in models.items()}
    return [
        {
            "of": what,
            "in": "K",
            "exponent": scaling.exponent(counts, [values[k] for k in counts]),
            "paper": _PAPER_OCSC[what],
        }
        for what, values in measured.items()
    ]


def _ocsc(k):
    model = SCSC(k, k, _SUPPORT, weights="identity", max_iter=2)
    return model.partial_fit(sample(_SHAPE_OF_OCSC))


def _code_timer(model):
    problem = Problem(Geometry((), _SHAPE_OF_OCSC, _SUPPORT), model.settings.n_base, np.float32)
    problem.set_filters(model.bank.filters)
    problem.set_sample(sample(_SHAPE_OF_OCSC), None)
    timer = CodeTimer(problem, None)
    timer.solve(5)
    return timer.seconds


def _filter_timer(model, early=2, measured=10):
    step, history = model._state.step, model._state.history
    step.tol = 0.0

    def seconds():
        times = []
        for iterations in (early, early + measured):
            step.max_iter = iterations
            times.append(seconds_of(lambda: step.update(history)))
        return (times[1] - times[0]) / measured

    return seconds


def _count_bytes(history, names=None):
    arrays = history.arrays()
    return sum(arrays[name].nbytes for name in names or arrays)


def _memory_ratios(filters):
    """The history of OCSC with K = 100 over that of SCSC with R = 10, at the paper's size.

    That is H and G; with orthonormal filters, the correlations in their place.
    """
    geometry = Geometry((), (100, 100), _SUPPORT)
    ocsc = History(100, geometry, np.float32)
    scsc = (History if filters == "ball" else LagHistory)(10, geometry, np.float32)
    of_pairs = ("h",) if filters == "ball" else ("lags",)
    return [
        {"of": words, "in": "OCSC / SCSC", "paper": "100", "ratio": ratio}
        for words, ratio in (
            ("H", _count_bytes(ocsc, ("h",)) / _count_bytes(scsc, of_pairs)),
            ("H and G", _count_bytes(ocsc) / _count_bytes(scsc)),
        )
    ]


# --- judging ------------------------------------------------------------------------------------


def _at_most(system, what, limits):
    """A judge: no exponent is above that of the formula by more than the margin."""

    def judge(rows):
        texts, within = [], []
        for axis, limit in limits.items():
            exponent = mean(rows, "exponent", system=system, of=what, **{"in": axis})
            if exponent is not None:
                texts.append(f"{exponent:.2f} in {axis}")
                within.append(exponent <= limit + _EXPONENT_MARGIN)
        return verdict(", ".join(texts), all(within)) if texts else untested("not measured")

    return judge


def _grows_faster(ours):
    """A judge: OCSC's filter update and space grow with K, and SCSC's do not."""

    def judge(rows):
        exponents = {
            (system, what): mean(rows, "exponent", system=system, of=what, **{"in": "K"})
            for system in (ours, "OCSC")
            for what in _GROWING_WITH_K
        }
        if None in exponents.values():
            return untested("not both systems")
        text = "; ".join(f"{s}, {w.split('_')[0]}: {v:.2f}" for (s, w), v in exponents.items())
        return verdict(
            text, all(exponents["OCSC", w] > 1 > exponents[ours, w] for w in _GROWING_WITH_K)
        )

    return judge


_LEAST_RATIO_OF_H = (
    99  # of H, which grows as R^2; G grows as R, so that with it a hundred cannot be
)


def _hundredth(ours):
    def judge(rows):
        ratios = {what: mean(rows, "ratio", system=ours, of=what) for what in ("H", "H and G")}
        if None in ratios.values():
            return untested("not measured")
        text = ", ".join(f"{what}: {ratio:.1f} times less" for what, ratio in ratios.items())
        return verdict(text, ratios["H"] >= _LEAST_RATIO_OF_H)

    return judge


CLAIMS = (
    *(
        Claim(f"SCSC, {words}", *judges_of_both(partial(_at_most, what=what, limits=limits)))
        for words, what, limits in (
            ("code update O(RKP + RP log P)", "code_ms", {"K": 1, "R": 1, "P": 1}),
            ("filter update O(R^2 P + RP log P)", "filter_ms", {"K": 0, "R": 2, "P": 1}),
            ("space O(R^2 P)", "history_mb", {"K": 0, "R": 2, "P": 1, "N": 0}),
        )
    ),
    Claim("OCSC, code update O(KP + KP log P)", _at_most("OCSC", "code_ms", {"K": 1})),
    Claim("OCSC, filter update O(K^2 P + KP log P)", _at_most("OCSC", "filter_ms", {"K": 2})),
    Claim("OCSC, space O(K^2 P)", _at_most("OCSC", "history_mb", {"K": 2})),
    Claim(
        "the space and filter time of SCSC do not grow with K, OCSC's do",
        *judges_of_both(_grows_faster),
    ),
    Claim(
        "K = 100, R = 10: SCSC takes a hundredth of the memory (H; with G it is 92)",
        *judges_of_both(_hundredth),
    ),
)


def draw(rows):
    figure, axes = figures.make_panels(1)
    ax = axes[0, 0]
    fitted = [row for row in rows if "exponent" in row]
    names = [f"{row['system']}: {row['of'].split('_')[0]} in {row['in']}" for row in fitted]
    ax.barh(names, [row["exponent"] for row in fitted], color="#d62728", label="fitted")
    for place, row in enumerate(fitted):
        if row["paper"][0].isdigit():
            ax.plot(float(row["paper"][0]), place, "k|", markersize=9)
    ax.invert_yaxis()
    ax.set(xlabel="exponent (line: the paper's leading term)")
    ax.tick_params(axis="y", labelsize="x-small")
    figure.set_size_inches(7, 0.25 * len(names) + 1)
    return figure
