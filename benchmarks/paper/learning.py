"""Learn with a system and test what it learned: at the beta of all, and at the sparsity of all.

Test PSNR is the paper's. It rises as codes get denser, so it is measured a second time with the
beta at which the test codes have ``PER_PIXEL`` non-zeros a pixel.
"""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.fruit import psnr
from benchmarks.paper import sets
from benchmarks.systems import SYSTEMS
from benchmarks.systems.base import Task
from napari_scsc import SCSC, FilterBank, ZeroCodeWarning

PER_PIXEL = 1.0
"""Non-zeros a pixel at equal sparsity: as many as there are pixels, which a code need not exceed.

Above it, a smaller beta hardly adds non-zeros any more, and PSNR says little of sparsity.
"""

_TOLERANCE = 0.02  # of that number
_UNEQUAL = 1.25  # times as many: too far apart for what lies between to be a straight line
_WIDER = 3.0  # factor between two betas until the wanted sparsity lies between them
_CHECKPOINTS = 2.0  # factor between the learning times of two tests on the way

ONLINE = tuple(name for name, system in SYSTEMS.items() if system.is_online)
BATCH = tuple(name for name in SYSTEMS if name not in ONLINE)


def measure(unit, folder):
    """One row for the end of learning and, with ``curve``, rows for tests on the way."""
    settings = unit.settings
    samples = sets.load(folder, unit.data, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        return learn_and_test(unit, samples, SYSTEMS[unit.system])


def learn_and_test(unit, samples, system):
    """Rows of a unit, with the samples and the system at hand."""
    settings = unit.settings
    task = task_of(unit, samples)
    test = Test(samples.test, settings["test_iterations"])
    warm_up(task)
    rows = []
    next_look = 0.0
    for step, ended in ended_steps(system(task), settings):
        if ended:
            rows.append(_row(step, test.of(step.model)) | {"end": True, "ended_by": ended})
        elif settings.get("curve") and step.seconds >= next_look:
            rows.append(_row(step, test.of(step.model)) | {"end": False})
            next_look = _CHECKPOINTS * step.seconds
    if settings["sparsity_steps"]:
        rows[-1] |= _at_equal_sparsity(step.model, test, settings)
    return rows


def last_step(unit, folder):
    """What a system has learned when its unit is over."""
    samples = sets.load(folder, unit.data, unit.settings)
    task = task_of(unit, samples)
    warm_up(task)
    steps = ended_steps(SYSTEMS[unit.system](task), unit.settings)
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
    if step.seconds >= settings["budget"]:
        return "budget"
    return "passes" if step.passes >= settings.get("passes", math.inf) else ""


def _row(step, tested):
    return {
        "seconds": step.seconds,
        "passes": step.passes,
        "kept_mb": step.kept / 1e6,
        "psnr": tested.psnr,
        "nonzero": tested.nonzero,
        "per_pixel": tested.per_pixel,
    }


# --- testing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tested:
    """Means over the test samples."""

    psnr: float
    nonzero: float  # share of the code
    per_pixel: float  # non-zeros a place of the shift axes


@dataclass(frozen=True)
class Test:
    """Codes test samples and says how well and how sparsely."""

    samples: np.ndarray
    iterations: int

    def of(self, model):
        each = [self._one(model, sample) for sample in self.samples]
        return Tested(*(float(np.mean(column)) for column in zip(*each, strict=True)))

    def _one(self, model, sample):
        code = model.encode(sample, max_iter=self.iterations)
        count = np.count_nonzero(code.Z)
        places = math.prod(sample.shape[-(code.Z.ndim - 1) :])
        return psnr(sample, code.reconstruction), count / code.Z.size, count / places


def with_beta(model, beta):
    """The same filters and start, another price of the code."""
    if not isinstance(model, SCSC):  # one that fits another to each sample
        return replace(model, model=with_beta(model.model, beta))
    return SCSC.from_bank(model.bank, **(model.settings.arguments() | {"beta": beta}))


def _at_equal_sparsity(model, test, settings):
    found = {}

    def per_pixel(beta):
        found[beta] = test.of(with_beta(model, beta))
        return found[beta].per_pixel

    beta_at(per_pixel, PER_PIXEL, settings["beta"], settings["sparsity_steps"])
    return equal_figures(found, PER_PIXEL)


def equal_figures(found, wanted):
    """PSNR and beta at the wanted number of non-zeros, on the line between its neighbours.

    ``found`` is {beta: Tested}. None where it could not be reached: that is not to be compared.
    """
    points = sorted(
        (math.log(max(tested.per_pixel, 1e-9) / wanted), tested.psnr, math.log(beta))
        for beta, tested in found.items()
    )
    nearest = min(points, key=lambda point: abs(point[0]))
    sparse = max((point for point in points if point[0] <= 0), default=None)
    dense = min((point for point in points if point[0] > 0), default=None)
    figures = {"equal_psnr": None, "equal_beta": None}
    if sparse and dense and dense[0] - sparse[0] < math.log(_UNEQUAL):
        share = sparse[0] / (sparse[0] - dense[0])
        psnr_there, log_beta = (
            a + share * (b - a) for a, b in zip(sparse[1:], dense[1:], strict=True)
        )
        figures = {"equal_psnr": psnr_there, "equal_beta": math.exp(log_beta)}
    elif abs(nearest[0]) <= math.log1p(_TOLERANCE):
        figures = {"equal_psnr": nearest[1], "equal_beta": math.exp(nearest[2])}
    return figures | {"equal_nearest": wanted * math.exp(nearest[0])}


def beta_at(count_of, wanted, start, steps, tolerance=_TOLERANCE):
    """The beta, of those tried, at which ``count_of(beta)``, which falls, is nearest to wanted.

    False position on logarithms, kept away from the ends of the bracket so that it always shrinks.
    """
    points = {}
    beta = start
    for _ in range(steps):
        points[beta] = math.log(max(count_of(beta), 1e-9) / wanted)
        if abs(points[beta]) <= math.log1p(tolerance):
            break
        beta = _next_beta(points)
    return min(points, key=lambda b: abs(points[b]))


def _next_beta(points):
    dense = max((b for b, excess in points.items() if excess > 0), default=None)
    sparse = min((b for b, excess in points.items() if excess <= 0), default=None)
    if dense is None or sparse is None:
        return max(points) * _WIDER if sparse is None else min(points) / _WIDER
    share = points[dense] / (points[dense] - points[sparse])
    share = min(max(share, 0.1), 0.9)
    return math.exp((1 - share) * math.log(dense) + share * math.log(sparse))
