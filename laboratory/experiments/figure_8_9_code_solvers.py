"""Figures 8 and 9: niAPG against ADMM for the code and the weights of one sample."""

import json
import math
import statistics
import time
from functools import cache

import numpy as np

from laboratory import data_sets, figures, learning
from laboratory.result_rows import distinct_labels, select_rows
from laboratory.systems.code_admm import solve_by_admm
from laboratory.verdicts import (
    DEFINITIONS,
    UNDECIDED,
    Claim,
    Verdict,
    judges_of_both,
    untested,
    verdict,
)
from laboratory.work_units import WorkUnit
from napari_scsc.model.solver import code
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.threads import single_threaded

TITLE = "Figures 8 and 9: niAPG and ADMM for the code step"
NOTES = (
    "A training sample of City with filters that SCSC learned there in two passes; two random W, "
    "and a code of zero to begin with. ADMM is that of `laboratory.systems.code_admm`, which takes "
    "proximal steps for its bilinear constraint; the paper does not say how it was solved there, "
    "nor with which rho, so a No below is about this ADMM at that rho. Its times are the mean of "
    "its iterations, without the evaluation of the objective, which niAPG needs for its steps and "
    "ADMM only for this figure. The violation is ||Y - W Z||^2 in space, by Parseval that of the "
    "paper but for a constant."
)
SUMMARY = (
    ("filters_of", "system"),
    ("objective", "violation", "violation_share", "late_change", "seconds", "iteration"),
)
RHOS = (0.02, 0.1, 1.0, 10.0)


def admm_name(rho):
    """The name of ADMM with that penalty."""
    return f"ADMM, rho {rho:g}"


SOLVERS = ("niAPG", *map(admm_name, RHOS))
N_STARTS = 2
_SETTLED_CHANGE = 1e-4  # of the objective, an iteration, over the last tenth: the tolerance of SCSC
_VIOLATED_SHARE = 1e-3  # of the energy of Y
_NEAR_LOWEST = 1.02  # times the lowest objective: as good as the lowest
_WORSE_SHARE = 0.05  # of the objective: what settles so far above the other has not solved it


def plan(scale):
    units = []
    for definition in DEFINITIONS:
        settings = scale.small_set_settings() | {"filters_of": definition, "passes": 2}
        settings |= {"iterations": 400}
        units += [
            WorkUnit("solvers", solver, "city", seed, settings, guessed_seconds=10)
            for solver in SOLVERS
            for seed in range(N_STARTS)
        ]
    return units


def measure(unit, folder):
    settings = unit.settings
    sample = data_sets.load_data_set(folder, unit.data, settings).train[0]
    bank = _learned_bank(unit.data, json.dumps(settings), folder)
    weights = _start(unit.seed, settings)
    geometry = Geometry((), sample.shape, bank.support)
    problem = _ClockedProblem(geometry, bank.n_base, np.float32)
    problem.set_filters(bank.filters)
    problem.set_sample(sample, None)
    options = {"beta": settings["beta"], "max_iter": settings["iterations"]}
    with single_threaded():
        code.solve(problem, weights, beta=settings["beta"], max_iter=2)  # compiles and plans
        if unit.system == "niAPG":
            rows = _by_niapg(problem, weights, options)
        else:
            rows = _by_admm(problem, bank.filters, weights, options, _rho(unit.system))
    return _thin_out(rows)


@cache
def _learned_bank(data, settings, folder):
    """The same filters for all solvers and starts."""
    settings = json.loads(settings)
    unit = WorkUnit("learning", settings["filters_of"], data, 0, settings)
    return learning.learn_to_the_end(unit, folder).model.bank


def _rho(solver):
    return float(solver.split()[-1])


def _start(seed, settings):
    weights = np.random.default_rng(seed).standard_normal((settings["R"], settings["K"]))
    return (weights / np.linalg.norm(weights, axis=0)).astype(np.float32)


class _ClockedProblem(Problem):
    """A problem that notes when its gradient is asked for: once an iteration, at its beginning."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.iteration_starts = []

    def gradient(self):
        self.iteration_starts.append(time.process_time())
        super().gradient()


def _by_niapg(problem, weights, options):
    problem.iteration_starts.clear()
    begin = time.process_time()
    solution = code.solve(problem, weights, tol=0.0, **options)
    # An iteration ends where the next begins.
    ends = [*problem.iteration_starts[1:], time.process_time()]
    values = solution.objective[1 : 1 + len(ends)]
    return [
        {"iteration": i, "seconds": end - begin, "objective": value}
        for i, (end, value) in enumerate(zip(ends, values, strict=True), start=1)
    ]


def _by_admm(problem, filters, weights, options, rho):
    begin = time.process_time()
    solution = solve_by_admm(problem, filters, weights, rho=rho, **options)
    each = (time.process_time() - begin) / options["max_iter"]
    each = max(each - _seconds_of_evaluation(problem, solution, options["beta"]), 0.0)
    energy = float(np.sum((solution.weights @ solution.codes) ** 2, dtype=np.float64))
    pairs = zip(solution.objective, solution.violation, strict=True)
    return [
        {
            "iteration": i,
            "seconds": i * each,
            "objective": value,
            "violation": violation,
            "violation_share": violation / energy if energy else float("inf"),
        }
        for i, (value, violation) in enumerate(pairs, start=1)
    ]


def _seconds_of_evaluation(problem, solution, beta, times=20):
    """What ``solve_by_admm`` spends an iteration on its record: objective and violation."""
    weights, codes = solution.weights, solution.codes
    product, other = weights @ codes, np.zeros_like(problem.maps)
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        code.compose(problem, weights, codes)
        problem.evaluate() + beta * float(np.abs(codes).sum(dtype=np.float64))
        float(np.sum((other - product) ** 2, dtype=np.float64))
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def _thin_out(rows, most=60):
    """Rows at iterations of even distance on a logarithmic scale, the last one marked."""
    late = [row["objective"] for row in rows[int(0.9 * len(rows)) :]]
    change = (max(late) - min(late)) / abs(late[-1]) / len(late)
    places = np.unique(np.geomspace(1, len(rows), most).astype(int)) - 1
    thinned = [rows[i] | {"end": False} for i in places]
    thinned[-1] |= {"end": True, "late_change": change}
    return thinned


# --- judging ------------------------------------------------------------------------------------


def _finals(rows, system):
    return select_rows(rows, system=system, end=True)


def _for_both(judge):
    """The judge, of the rows with the filters of each definition."""
    return judges_of_both(lambda ours: lambda rows: judge(select_rows(rows, filters_of=ours)))


def _niapg_converges(rows):
    finals = _finals(rows, "niAPG")
    if not finals:
        return untested("niAPG was not run")
    worst = max(row["late_change"] for row in finals)
    return verdict(
        f"last tenth of the iterations: the objective changes by at most {worst:.1e} of itself "
        f"an iteration, {len(finals)} starts",
        worst < _SETTLED_CHANGE,
    )


def _admm_fails(rho):
    """A judge: at this rho ADMM does not settle, or settles far above niAPG."""

    def judge(rows):
        ours, finals = _finals(rows, "niAPG"), _finals(rows, admm_name(rho))
        if not ours or not finals:
            return untested("not both solvers")
        goal, reached = (np.mean([row["objective"] for row in ends]) for ends in (ours, finals))
        change = max(row["late_change"] for row in finals)
        excess = reached / goal - 1
        text = f"ends {excess:+.0%} from niAPG's objective, changes by {change:.1e} an iteration"
        is_met = max(row["violation_share"] for row in finals) < _VIOLATED_SHARE
        if is_met and not change < _SETTLED_CHANGE:  # slow is not the same as failing
            return Verdict(f"{text}; its constraint is met: still on its way", UNDECIDED)
        return verdict(text, not change < _SETTLED_CHANGE or not excess < _WORSE_SHARE)

    return judge


def _violation_stays(rho):
    def judge(rows):
        shares = [row["violation_share"] for row in _finals(rows, admm_name(rho))]
        if not shares:
            return untested("ADMM was not run")
        return verdict(
            f"{min(shares):.1e} to {max(shares):.1e} of ||W Z||^2 at the end",
            not max(shares) < _VIOLATED_SHARE,
        )

    return judge


def _niapg_first(column, name):
    """A judge: niAPG is near the lowest objective sooner than ADMM at its best rho."""

    def judge(rows):
        goal = _NEAR_LOWEST * min((row["objective"] for row in rows if row.get("end")), default=0.0)
        needed = {
            system: statistics.median(_needed_until(select_rows(rows, system=system), goal, column))
            for (system,) in distinct_labels(rows, "system")
        }
        if "niAPG" not in needed or len(needed) < 2:
            return untested("not both solvers")
        ours = needed.pop("niAPG")
        rival = min(needed, key=needed.get)
        return verdict(
            f"within {_NEAR_LOWEST - 1:.0%} of the lowest objective after {ours:.3g} {name} "
            f"(median); {rival}, the best of them, after {needed[rival]:.3g}",
            ours < needed[rival],
        )

    return judge


def _needed_until(rows, goal, column):
    """For each start, the column where the objective first is at most ``goal``; inf if never."""
    return [
        min(
            (r[column] for r in select_rows(rows, seed=seed) if r["objective"] <= goal),
            default=math.inf,
        )
        for (seed,) in distinct_labels(rows, "seed")
    ]


CLAIMS = (
    Claim("niAPG converges", *_for_both(_niapg_converges)),
    *(Claim(f"ADMM fails to converge (rho {rho:g})", *_for_both(_admm_fails(rho))) for rho in RHOS),
    *(
        Claim(
            f"the violation of ADMM's constraint does not go to zero (rho {rho:g})",
            *_for_both(_violation_stays(rho)),
        )
        for rho in RHOS
    ),
    *(
        Claim(
            f"niAPG has fast convergence ({words}; ADMM at any rho)",
            *_for_both(_niapg_first(column, unit)),
        )
        for words, column, unit in (
            ("seconds", "seconds", "s"),
            ("iterations", "iteration", "iterations"),
        )
    ),
)


def draw(rows):
    figure, axes = figures.make_panels(2, len(DEFINITIONS))
    for line, definition in zip(axes, DEFINITIONS, strict=True):
        _draw_line(line, definition, select_rows(rows, filters_of=definition))
    return figure


def _draw_line(axes, definition, rows):
    lines = ("-", (0, (1, 3)), "--", "-.", ":")
    colours = ("#d62728", "#ff7f0e", "#1f77b4", "#2ca02c", "#9467bd")
    for system, line, colour in zip(SOLVERS, lines, colours, strict=True):
        for seed in range(N_STARTS):
            start_rows = select_rows(rows, system=system, seed=seed)
            look = {"linestyle": line, "color": colour, "label": None if seed else system}
            for ax, x, y in zip(
                axes, ("seconds", "iteration"), ("objective", "violation"), strict=True
            ):
                points = [(row[x], row[y]) for row in start_rows if y in row]
                if points:
                    ax.loglog(*zip(*points, strict=True), **look)
    axes[0].set(title=f"{definition}: objective", xlabel="processor seconds", ylabel="objective")
    axes[1].set(title="constraint violation", xlabel="iterations", ylabel="||Y - W Z||^2")
    for ax in axes:
        ax.legend(fontsize="small")
