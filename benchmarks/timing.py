"""Times that a noisy machine cannot spoil much: differences, interleaved, and their medians."""

import statistics
import time
from dataclasses import dataclass

from napari_scsc.model.solver import code

BETA = 0.1
_EARLY = 10  # iterations that, with all set-up, are subtracted
_MEASURED = 40  # a multiple of the period at which the solver tests its step sizes


def seconds_of(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass
class CodeTimer:
    """Time of one iteration of the code step, set-up not counted."""

    problem: object
    weights: object

    def solve(self, iterations):
        solution = code.solve(self.problem, self.weights, beta=BETA, max_iter=iterations, tol=0.0)
        done = len(solution.objective) - 2
        if done != iterations:
            raise RuntimeError(f"the solver stopped after {done} of {iterations} iterations")

    def seconds(self, early=_EARLY, measured=_MEASURED):
        short = seconds_of(lambda: self.solve(early))
        long = seconds_of(lambda: self.solve(early + measured))
        return (long - short) / measured


def interleaved(contenders, repeats):
    """Measure all contenders in turn, ``repeats`` times: name -> list of what each returned."""
    results = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, measure in contenders.items():
            results[name].append(measure())
    return results


def median_ratio(numerators, denominators):
    """Median of the ratios of what was measured in the same round."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))
