"""Learn with a system and test what it learned: at the beta of all, and at the size of all.

Test PSNR is the paper's. It rises as codes get larger, and longer filters pay less for the same.
So it is measured again as if all filters had length one, and with the betas at which a pixel of the
test samples takes ``TARGETS`` numbers.
"""

import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

import dask
import numpy as np

from benchmarks.paper import sets
from benchmarks.paper.size import size_of
from benchmarks.quality import psnr
from benchmarks.systems import EVERY, SYSTEMS
from benchmarks.systems.base import Task
from napari_scsc import SCSC, FilterBank, ZeroCodeWarning

TARGETS = (0.25, 0.5, 0.75)
"""Numbers a pixel at equal size: with one a pixel, a code that is finished is nearly lossless."""

_TOLERANCE = 0.02  # of such a number
_UNEQUAL = 1.3  # times as many: further apart, what lies between is not a straight line
_FIRST_SLOPE = -0.2  # numbers a pixel over the logarithm of beta, if only one code is there
_LEAST_SLOPE = -0.05  # a flatter line would lead too far
_WIDER = (1.1, 4.0)  # least and largest factor to a beta beyond all that were tried
_UNIT = 0.01  # from length one, which makes no difference
_CHECKPOINTS = 3.0  # factor between the learning times of two tests on the way


def equal_key(target):
    """Column of the PSNR at that many numbers a pixel."""
    return f"psnr_at_{target:g}"


EQUAL = tuple(equal_key(target) for target in TARGETS)
QUALITY = ("psnr", "psnr_unit", "length", "per_pixel", "numbers", *EQUAL)
"""Columns that say how good what was learned is."""

ONLINE = tuple(name for name, system in SYSTEMS.items() if system.is_online)
BATCH = tuple(name for name in SYSTEMS if name not in ONLINE)


def measure(unit, folder):
    """One row for the end of learning and, with ``curve``, rows for tests on the way."""
    samples = sets.load(folder, unit.data, unit.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        return learn_and_test(unit, samples, EVERY[unit.system])


@contextmanager
def on_one_thread():
    """Blocks of CCSC are workers where dask has several threads: not where times are compared."""
    with dask.config.set(scheduler="synchronous"):
        yield


def learn_and_test(unit, samples, system):
    """Rows of a unit, with the samples and the system at hand."""
    settings = unit.settings
    task = task_of(unit, samples)
    test = Test(samples.test, settings["test_iterations"])
    warm_up(task)
    rows = []
    next_look = 0.0
    with on_one_thread():
        for step, ended in ended_steps(system(task), settings):
            if ended:
                found = tested_both(step.model, test, settings["beta"])
                rows.append(_row(step, found) | {"end": True, "ended_by": ended})
            elif settings.get("curve") and step.seconds >= next_look:
                rows.append(_row(step, tested_both(step.model, test, settings["beta"])))
                next_look = _CHECKPOINTS * step.seconds
    if settings["sparsity_steps"]:
        rows[-1] |= _at_equal_size(step.model, test, found, settings["sparsity_steps"])
    return rows


def last_step(unit, folder):
    """What a system has learned when its unit is over."""
    samples = sets.load(folder, unit.data, unit.settings)
    task = task_of(unit, samples)
    warm_up(task)
    with on_one_thread():
        steps = ended_steps(EVERY[unit.system](task), unit.settings)
        return next(step for step, ended in steps if ended)


def task_of(unit, samples):
    """What the unit asks of its system."""
    settings = unit.settings
    return Task(
        samples=samples.train,
        n_filters=settings["K"],
        support=tuple(settings.get("support", sets.SUPPORT)),
        beta=settings["beta"],
        seed=unit.seed,
        n_joint=samples.n_joint,
        n_base=settings["R"],
        radius=settings["radius"],
    )


def warm_up(task):
    """Compile the kernels and plan the FFTs of both kinds of coders: neither is learning."""
    filters = task.first_filters()
    for some, arguments in (
        (filters, {"weights": "identity"}),
        (filters[: task.n_base], {"weights": "sample", "n_filters": task.n_filters}),
    ):
        bank = FilterBank(some, n_joint=task.n_joint)
        model = SCSC.from_bank(bank, beta=task.beta, **arguments)
        model.encode(task.samples[0], max_iter=2)


def ended_steps(steps, settings):
    """Pairs of a step and why it is the last ("" if it is not): the time, the passes, or itself."""
    for step in steps:
        yield step, (ended := _why_last(step, settings))
        if ended:
            return
    yield step, "itself"


def _why_last(step, settings):
    if step.passes >= 1 and step.seconds >= settings["budget"]:  # who is slow sees all samples
        return "budget"
    return "passes" if step.passes >= settings.get("passes", math.inf) else ""


def _row(step, found):
    """``found`` is {beta: Tested}: at the beta of all, and at what that is for unit filters."""
    plain, unit = next(iter(found.values())), list(found.values())[-1]
    return {
        "seconds": step.seconds,
        "passes": step.passes,
        "kept_mb": step.kept / 1e6,
        **vars(plain),
        "psnr_unit": unit.psnr,
        "objective_unit": unit.objective,
        "end": False,
    }


# --- testing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tested:
    """Means over the test samples, and the sum of their objectives."""

    psnr: float
    per_pixel: float  # values of the code that count, a place of the shift axes
    numbers: float  # and what else the sample has for itself, a place
    tiny: float  # share of the non-zeros that are too small to count
    length: float  # of the filters that are used
    objective: float


@dataclass(frozen=True)
class Test:
    """Codes test samples and says how well, and with how many numbers."""

    samples: np.ndarray
    iterations: int

    def of(self, model):
        each = [self._one(model, sample) for sample in self.samples]
        means = {
            field.name: float(np.mean([getattr(tested, field.name) for tested in each]))
            for field in fields(Tested)
        }
        return Tested(**means | {"objective": sum(tested.objective for tested in each)})

    def _one(self, model, sample):
        # Without a tolerance: the objective settles long before the number of values does.
        code = model.encode(sample, max_iter=self.iterations, tol=0.0)
        places = math.prod(sample.shape[-(code.Z.ndim - 1) :])
        size = size_of(model, code)
        return Tested(
            psnr=float(psnr(sample, code.reconstruction)),
            per_pixel=size.values / places,
            numbers=size.numbers / places,
            tiny=size.tiny,
            length=size.length,
            objective=float(code.objective[-1]),
        )


def tested_both(model, test, beta):
    """{beta: Tested}, at beta and at what it is for filters of length one.

    Filters of length l at l times the price are filters of length one at that price.
    """
    plain = test.of(with_beta(model, beta))
    if abs(plain.length - 1) <= _UNIT:
        return {beta: plain}
    longer = beta * plain.length
    return {beta: plain, longer: test.of(with_beta(model, longer))}


def with_beta(model, beta):
    """The same filters and start, another price of the code."""
    if not isinstance(model, SCSC):  # one that fits another to each sample
        return replace(model, model=with_beta(model.model, beta))
    return SCSC.from_bank(model.bank, **(model.settings.arguments() | {"beta": beta}))


def _at_equal_size(model, test, found, steps):
    found = tested_around(TARGETS, lambda beta: test.of(with_beta(model, beta)), found, steps)
    return {equal_key(target): psnr_at(found, target) for target in TARGETS}


def tested_around(targets, test_at, found, steps):
    """{beta: Tested}, at most so many, with neighbours around each target if there were enough.

    ``found`` is where to begin. All targets use the same codes: what was tried for one is a bracket
    for the next. The largest comes first, for the first code is larger than most.
    """
    found = dict(found)
    for target in sorted(targets, reverse=True):
        while psnr_at(found, target) is None and len(found) < steps:
            beta = _next_beta({b: tested.numbers - target for b, tested in found.items()})
            found[beta] = test_at(beta)
    return found


def psnr_at(found, target):
    """PSNR at so many numbers a pixel, on the line between its neighbours.

    ``found`` is {beta: Tested}. None where it could not be reached: that is not to be compared.
    """
    points = sorted((tested.numbers / target, tested.psnr) for tested in found.values())
    nearest = min(points, key=lambda point: abs(point[0] - 1))
    if abs(nearest[0] - 1) <= _TOLERANCE:
        return nearest[1]
    sparse = max((point for point in points if point[0] <= 1), default=None)
    dense = min((point for point in points if point[0] > 1), default=None)
    if not sparse or not dense or dense[0] > _UNEQUAL * sparse[0]:
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
        return _beyond(excess)
    share = excess[dense] / (excess[dense] - excess[sparse])
    share = min(max(share, 0.1), 0.9)
    return math.exp((1 - share) * math.log(dense) + share * math.log(sparse))


def _beyond(excess):
    """A beta outside all that were tried: on the line through the two at that end."""
    last, *others = sorted(excess, reverse=min(excess.values()) > 0)
    slope = _FIRST_SLOPE
    if others:
        slope = (excess[last] - excess[others[0]]) / math.log(last / others[0])
    wanted = -excess[last] / min(slope, _LEAST_SLOPE)
    least, most = map(math.log, _WIDER)
    return last * math.exp(math.copysign(min(max(abs(wanted), least), most), wanted))
