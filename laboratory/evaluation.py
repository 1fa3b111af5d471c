"""How good learned filters are: they code test samples, at one price for all and at one size.

Test PSNR is the paper's. It rises as codes get larger, and longer filters pay less for the same.
So it is measured again as if all filters had length one, and with the betas at which a pixel of the
test samples takes ``NUMBERS_PER_PIXEL`` numbers.
"""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from benchmarks.quality import psnr
from laboratory.code_size import measure_code_size
from napari_scsc import SCSC

NUMBERS_PER_PIXEL = (0.5,)
"""Equal sizes of codes: with one number a pixel a code is nearly lossless, with 0.25 a blur."""

_SIZE_TOLERANCE = 0.02  # of such a number
_MAX_SIZE_RATIO = 1.3  # of neighbours: further apart, what lies between is not a straight line
_FIRST_SLOPE = -0.2  # numbers a pixel over the logarithm of beta, if only one code is there
_LEAST_SLOPE = -0.05  # a flatter line would lead too far
_WIDENING_FACTORS = (1.1, 4.0)  # least and largest, to a beta beyond all that were tried
_LENGTH_TOLERANCE = 0.01  # from length one, which makes no difference


def equal_size_column(numbers):
    """Column of the PSNR at that many numbers a pixel."""
    return f"psnr_at_{numbers:g}"


EQUAL_SIZE_COLUMNS = tuple(equal_size_column(numbers) for numbers in NUMBERS_PER_PIXEL)
QUALITY_COLUMNS = (
    "psnr",
    "psnr_unit",
    "objective_unit",
    "length",
    "per_pixel",
    "numbers",
    *EQUAL_SIZE_COLUMNS,
)
"""Columns that say how good what was learned is."""


@dataclass(frozen=True)
class Evaluation:
    """Means over the test samples, and the sum of their objectives."""

    psnr: float
    per_pixel: float  # values of the code that count, a place of the shift axes
    numbers: float  # and what else the sample has for itself, a place
    tiny: float  # share of the non-zeros that are too small to count
    length: float  # of the filters that are used
    objective: float


@dataclass(frozen=True)
class Evaluator:
    """Codes test samples and says how well, and with how many numbers."""

    samples: np.ndarray
    iterations: int

    def evaluate(self, model):
        """The ``Evaluation`` of a coder on all samples."""
        each = [self._evaluate_one(model, sample) for sample in self.samples]
        means = {
            field.name: float(np.mean([getattr(evaluation, field.name) for evaluation in each]))
            for field in fields(Evaluation)
        }
        objective = sum(evaluation.objective for evaluation in each)
        return Evaluation(**means | {"objective": objective})

    def _evaluate_one(self, model, sample):
        # Without a tolerance: the objective settles long before the number of values does.
        code = model.encode(sample, max_iter=self.iterations, tol=0.0)
        places = math.prod(sample.shape[-(code.Z.ndim - 1) :])
        size = measure_code_size(model, code)
        return Evaluation(
            psnr=float(psnr(sample, code.reconstruction)),
            per_pixel=size.values / places,
            numbers=size.numbers / places,
            tiny=size.tiny,
            length=size.length,
            objective=float(code.objective[-1]),
        )


def evaluate_at_both_prices(model, evaluator, beta):
    """{beta: Evaluation}, at beta and at what it is for filters of length one.

    Filters of length l at l times the price are filters of length one at that price.
    """
    plain = evaluator.evaluate(with_beta(model, beta))
    if abs(plain.length - 1) <= _LENGTH_TOLERANCE:
        return {beta: plain}
    unit_beta = beta * plain.length
    return {beta: plain, unit_beta: evaluator.evaluate(with_beta(model, unit_beta))}


def with_beta(model, beta):
    """The same filters and start, another price of the code."""
    if not isinstance(model, SCSC):  # one that fits another to each sample
        return replace(model, model=with_beta(model.model, beta))
    return SCSC.from_bank(model.bank, **(model.settings.arguments() | {"beta": beta}))


# --- equal size ---------------------------------------------------------------------------------


def evaluate_at_equal_sizes(model, evaluator, evaluations, max_evaluations):
    """{column: PSNR} at each of ``NUMBERS_PER_PIXEL``; None where it could not be reached.

    ``evaluations`` is {beta: Evaluation}, what is known already.
    """
    evaluations = evaluate_around(
        NUMBERS_PER_PIXEL,
        lambda beta: evaluator.evaluate(with_beta(model, beta)),
        evaluations,
        max_evaluations,
    )
    return {
        equal_size_column(numbers): interpolate_psnr(evaluations, numbers)
        for numbers in NUMBERS_PER_PIXEL
    }


def evaluate_around(targets, evaluate_at, evaluations, max_evaluations):
    """{beta: Evaluation}, at most so many, with neighbours around each target if possible.

    ``evaluations`` is where to begin. All targets use the same codes: what was tried for one is a
    bracket for the next. The largest comes first, for the first code is larger than most.
    """
    evaluations = dict(evaluations)
    for target in sorted(targets, reverse=True):
        while interpolate_psnr(evaluations, target) is None and len(evaluations) < max_evaluations:
            beta = _next_beta({b: known.numbers - target for b, known in evaluations.items()})
            evaluations[beta] = evaluate_at(beta)
    return evaluations


def interpolate_psnr(evaluations, target):
    """PSNR at so many numbers a pixel, on the line between its neighbours.

    ``evaluations`` is {beta: Evaluation}. None where the size could not be reached: that is not to
    be compared.
    """
    points = sorted((known.numbers / target, known.psnr) for known in evaluations.values())
    nearest = min(points, key=lambda point: abs(point[0] - 1))
    if abs(nearest[0] - 1) <= _SIZE_TOLERANCE:
        return nearest[1]
    sparse = max((point for point in points if point[0] <= 1), default=None)
    dense = min((point for point in points if point[0] > 1), default=None)
    if not sparse or not dense or dense[0] > _MAX_SIZE_RATIO * sparse[0]:
        return None
    share = (1 - sparse[0]) / (dense[0] - sparse[0])
    return sparse[1] + share * (dense[1] - sparse[1])


def _next_beta(excess):
    """Where to look next, given {beta: numbers too many}, which fall with beta.

    Codes are nearly linear in the logarithm of beta: false position on that, kept away from the
    ends of the bracket so that it always shrinks.
    """
    dense = max((b for b, value in excess.items() if value > 0), default=None)
    sparse = min((b for b, value in excess.items() if value <= 0), default=None)
    if dense is None or sparse is None:
        return _beta_beyond(excess)
    share = excess[dense] / (excess[dense] - excess[sparse])
    share = min(max(share, 0.1), 0.9)
    return math.exp((1 - share) * math.log(dense) + share * math.log(sparse))


def _beta_beyond(excess):
    """A beta outside all that were tried: on the line through the two at that end."""
    last, *others = sorted(excess, reverse=min(excess.values()) > 0)
    slope = _FIRST_SLOPE
    if others:
        slope = (excess[last] - excess[others[0]]) / math.log(last / others[0])
    wanted = -excess[last] / min(slope, _LEAST_SLOPE)
    least, most = map(math.log, _WIDENING_FACTORS)
    return last * math.exp(math.copysign(min(max(abs(wanted), least), most), wanted))
