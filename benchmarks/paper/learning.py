"""Learn with a system and test what it learned: at the beta of all, and at the sparsity of all.

Test PSNR is the paper's. It rises as codes get denser, so it is measured again with the betas at
which the test codes have ``TARGETS`` non-zeros a pixel.
"""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.paper import sets
from benchmarks.quality import psnr
from benchmarks.systems import SYSTEMS
from benchmarks.systems.base import Task
from napari_scsc import SCSC, FilterBank, ZeroCodeWarning

TARGETS = (0.25, 0.5, 1.0)
"""Non-zeros a pixel at equal sparsity, up to as many as there are pixels.

Above that, a smaller beta hardly adds non-zeros any more, and PSNR says little of sparsity.
"""

_TOLERANCE = 0.02  # of such a number
_UNEQUAL = 1.4  # times as many: further apart, what lies between is not a straight line
_WIDER = 3.0  # factor between two betas until the wanted sparsity lies between them
_CHECKPOINTS = 2.0  # factor between the learning times of two tests on the way


def equal_key(target):
    """Column of the PSNR at that many non-zeros a pixel."""
    return f"psnr_at_{target:g}"


EQUAL = tuple(equal_key(target) for target in TARGETS)

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
    if step.passes >= 1 and step.seconds >= settings["budget"]:  # who is slow sees all samples
        return "budget"
    return "passes" if step.passes >= settings.get("passes", math.inf) else ""


def _row(step, tested):
    return {
        "seconds": step.seconds,
        "passes": step.passes,
        "kept_mb": step.kept / 1e6,
        "psnr": tested.psnr,
        "objective": tested.objective,
        "nonzero": tested.nonzero,
        "per_pixel": tested.per_pixel,
    }


# --- testing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tested:
    """Means over the test samples, and the sum of their objectives."""

    psnr: float
    nonzero: float  # share of the code
    per_pixel: float  # non-zeros a place of the shift axes
    objective: float


@dataclass(frozen=True)
class Test:
    """Codes test samples and says how well and how sparsely."""

    samples: np.ndarray
    iterations: int

    def of(self, model):
        each = [self._one(model, sample) for sample in self.samples]
        *columns, objectives = zip(*each, strict=True)
        return Tested(*(float(np.mean(column)) for column in columns), float(sum(objectives)))

    def _one(self, model, sample):
        code = model.encode(sample, max_iter=self.iterations)
        count = np.count_nonzero(code.Z)
        places = math.prod(sample.shape[-(code.Z.ndim - 1) :])
        return (
            psnr(sample, code.reconstruction),
            count / code.Z.size,
            count / places,
            code.objective[-1],
        )


def with_beta(model, beta):
    """The same filters and start, another price of the code."""
    if not isinstance(model, SCSC):  # one that fits another to each sample
        return replace(model, model=with_beta(model.model, beta))
    return SCSC.from_bank(model.bank, **(model.settings.arguments() | {"beta": beta}))


def _at_equal_sparsity(model, test, settings):
    found = tested_around(
        TARGETS,
        lambda beta: test.of(with_beta(model, beta)),
        settings["beta"],
        settings["sparsity_steps"],
    )
    return {equal_key(target): psnr_at(found, target) for target in TARGETS}


def tested_around(targets, test_at, start, steps):
    """{beta: Tested}, at most so many, with neighbours around each target if there were enough.

    All targets use the same codes: what was tried for one is a bracket for the next. The densest
    comes first, for the first code is denser than most.
    """
    found = {start: test_at(start)}
    for target in sorted(targets, reverse=True):
        while psnr_at(found, target) is None and len(found) < steps:
            beta = _next_beta({b: _excess(tested, target) for b, tested in found.items()})
            found[beta] = test_at(beta)
    return found


def _excess(tested, target):
    """Logarithm of how many times too many non-zeros there are."""
    return math.log(max(tested.per_pixel, 1e-9) / target)


def psnr_at(found, target):
    """PSNR at so many non-zeros a pixel, on the line between its neighbours in the logarithm.

    ``found`` is {beta: Tested}. None where it could not be reached: that is not to be compared.
    """
    points = sorted((_excess(tested, target), tested.psnr) for tested in found.values())
    nearest = min(points, key=lambda point: abs(point[0]))
    if abs(nearest[0]) <= math.log1p(_TOLERANCE):
        return nearest[1]
    sparse = max((point for point in points if point[0] <= 0), default=None)
    dense = min((point for point in points if point[0] > 0), default=None)
    if not sparse or not dense or dense[0] - sparse[0] > math.log(_UNEQUAL):
        return None
    share = sparse[0] / (sparse[0] - dense[0])
    return sparse[1] + share * (dense[1] - sparse[1])


def _next_beta(excess):
    """Where to look next, given {beta: excess}, which falls with beta.

    False position on logarithms, kept away from the ends of the bracket so that it always shrinks.
    """
    dense = max((b for b, value in excess.items() if value > 0), default=None)
    sparse = min((b for b, value in excess.items() if value <= 0), default=None)
    if dense is None or sparse is None:
        return max(excess) * _WIDER if sparse is None else min(excess) / _WIDER
    share = excess[dense] / (excess[dense] - excess[sparse])
    share = min(max(share, 0.1), 0.9)
    return math.exp((1 - share) * math.log(dense) + share * math.log(sparse))
