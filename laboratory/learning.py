"""Learn with a system, as a work unit asks, and evaluate what it learned, also on the way."""

import math
import warnings
from contextlib import contextmanager

import dask

from laboratory import data_sets
from laboratory.evaluation import Evaluator, evaluate_at_both_prices, evaluate_at_equal_sizes
from laboratory.systems import ALL_SYSTEMS
from laboratory.systems.interface import LearningTask
from napari_scsc import SCSC, FilterBank, ZeroCodeWarning

_CHECKPOINT_SHARES = (0.05, 0.18, 0.5)  # of the budget: evaluations on the way


def measure(unit, folder):
    """One row for the end of learning and, with ``curve``, rows for evaluations on the way."""
    data_set = data_sets.load_data_set(folder, unit.data, unit.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        return learn_and_evaluate(unit, data_set, ALL_SYSTEMS[unit.system])


def learn_and_evaluate(unit, data_set, system):
    """Rows of a unit, with the data and the system at hand."""
    settings = unit.settings
    task = make_task(unit, data_set)
    evaluator = Evaluator(data_set.test, settings["test_iterations"])
    shares = _CHECKPOINT_SHARES if settings.get("curve") else ()
    checkpoints = [share * settings["budget"] for share in shares]
    warm_up(task)
    rows = []
    with dask_on_one_thread():
        for step, end_reason in steps_until_end(system(task), settings):
            if end_reason:
                final = evaluate_at_both_prices(step.model, evaluator, settings["beta"])
                rows.append(_row(step, final) | {"end": True, "ended_by": end_reason})
            elif checkpoints and step.seconds >= checkpoints[0]:
                on_the_way = evaluate_at_both_prices(step.model, evaluator, settings["beta"])
                rows.append(_row(step, on_the_way))
                checkpoints = [seconds for seconds in checkpoints if seconds > step.seconds]
    if max_evaluations := settings["sparsity_steps"]:
        rows[-1] |= evaluate_at_equal_sizes(step.model, evaluator, final, max_evaluations)
    return rows


def learn_to_the_end(unit, folder):
    """The step at which the unit is over: what the system has learned."""
    data_set = data_sets.load_data_set(folder, unit.data, unit.settings)
    task = make_task(unit, data_set)
    warm_up(task)
    with dask_on_one_thread():
        steps = steps_until_end(ALL_SYSTEMS[unit.system](task), unit.settings)
        return next(step for step, end_reason in steps if end_reason)


@contextmanager
def dask_on_one_thread():
    """Blocks of CCSC are workers where dask has several threads: not where times are compared."""
    with dask.config.set(scheduler="synchronous"):
        yield


def make_task(unit, data_set):
    """What the unit asks of its system."""
    settings = unit.settings
    return LearningTask(
        samples=data_set.train,
        n_filters=settings["K"],
        support=tuple(settings.get("support", data_sets.FILTER_SUPPORT)),
        beta=settings["beta"],
        seed=unit.seed,
        n_joint=data_set.n_joint,
        n_base=settings["R"],
        radius=settings["radius"],
    )


def warm_up(task):
    """Compile the kernels and plan the FFTs of both kinds of coders: neither is learning."""
    filters = task.first_filters()
    for base_filters, arguments in (
        (filters, {"weights": "identity"}),
        (filters[: task.n_base], {"weights": "sample", "n_filters": task.n_filters}),
    ):
        bank = FilterBank(base_filters, n_joint=task.n_joint)
        model = SCSC.from_bank(bank, beta=task.beta, **arguments)
        model.encode(task.samples[0], max_iter=2)


def steps_until_end(steps, settings):
    """Pairs of a step and why it is the last ("" if it is not): the time, the passes, or itself."""
    for step in steps:
        yield step, (end_reason := _end_reason(step, settings))
        if end_reason:
            return
    yield step, "itself"


def _end_reason(step, settings):
    if step.passes >= 1 and step.seconds >= settings["budget"]:  # who is slow sees all samples
        return "budget"
    return "passes" if step.passes >= settings.get("passes", math.inf) else ""


def _row(step, evaluations):
    """``evaluations`` is {beta: Evaluation}: at the beta of all, then at that of unit filters."""
    plain, unit = next(iter(evaluations.values())), list(evaluations.values())[-1]
    return {
        "seconds": step.seconds,
        "passes": step.passes,
        "kept_mb": step.kept_bytes / 1e6,
        **vars(plain),
        "psnr_unit": unit.psnr,
        "objective_unit": unit.objective,
        "end": False,
    }
