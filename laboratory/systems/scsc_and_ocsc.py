"""The engine under test and its variants: what the weights are, and who solves for the code."""

import time
from dataclasses import dataclass, replace

import numpy as np

from laboratory.systems.code_admm import solve_by_admm
from laboratory.systems.interface import LearningStep, shared_coder, stream_samples
from napari_scsc import SCSC, Code, FilterBank
from napari_scsc.model.solver import code
from napari_scsc.model.solver.filter_step import FilterStep
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.orthonormal_step import project_orthonormal
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.state import State
from napari_scsc.model.threads import single_threaded

_LEARNING_ITERATIONS = 100
_TUNING_ROUNDS = 5  # the paper's
_TOLERANCE = 1e-4


def scsc(task):
    """SCSC as the paper defines it: weights of its own for each sample, in the l2 ball."""
    return _learn(task, weights="sample", ball="l2", filters="ball")


def scsc_orthonormal(task):
    """SCSC whose base filters are orthonormal, so that the ball is that of the composed filters."""
    return _learn(task, weights="sample", ball="l2", filters="orthonormal")


def scsc_l1(task):
    """SCSC-L1: the weights in the l1 ball."""
    return _learn(task, weights="sample", ball="l1", filters="ball")


def scsc_shared(task):
    """SCSC (shared): one matrix of weights for all samples."""
    return _learn(task, weights="shared", ball="l2", filters="ball")


def scsc_orthonormal_shared(task):
    """One matrix of weights for all samples, and orthonormal base filters."""
    return _learn(task, weights="shared", ball="l2", filters="orthonormal")


def ocsc(task):
    """OCSC (Wang et al. 2018): all K filters are learned, and there are no weights."""
    return _learn(replace(task, n_base=task.n_filters), weights="identity")


def ocsc_fine_tuned(task):
    """OCSC whose filters are fitted again to each test sample.

    It learns as many filters as the others have base filters, so that it takes the space of SCSC;
    so it does in the paper.
    """
    task = replace(task, n_filters=task.n_base)
    for step in ocsc(task):
        yield replace(step, model=FineTuned(step.model))


def scsc_by_admm(task):
    """SCSC whose code step is ADMM instead of niAPG; test samples are coded as for SCSC."""
    settings = _start(task, weights="sample", ball="l2", filters="ball").settings
    geometry = Geometry(task.joint, task.shift, task.support)
    problem = Problem(geometry, task.n_base, settings.real)
    state = State.first(settings, task.samples[0], FilterBank(_first_base(task), task.n_joint))
    for passes, sample in stream_samples(task):
        begin = time.process_time()
        with single_threaded():
            problem.set_filters(state.step.filters)
            problem.set_sample(sample, None)
            solution = solve_by_admm(
                problem,
                state.step.filters,
                state.mean_weights,
                beta=task.beta,
                radius=task.radius,
                max_iter=_LEARNING_ITERATIONS,
            )
            maps, filled, _ = problem.statistics()
            use = np.abs(solution.codes).sum(axis=1)
            state.take_in((maps, filled), solution.weights, use, forget=0.0)
            state.update_filters(ball="l2")
        state.seconds += time.process_time() - begin
        bank = FilterBank(
            state.step.filters, task.n_joint, state.mean_weights, settings=settings.to_json()
        )
        yield LearningStep(state.seconds, passes, SCSC.from_bank(bank), _kept(state))


def scsc_start(task):
    """SCSC before it has learned anything: what random base filters do."""
    yield _nothing_learned(_start(task, weights="sample", ball="l2", filters="ball"))


def scsc_orthonormal_start(task):
    """SCSC with random orthonormal base filters."""
    yield _nothing_learned(_start(task, weights="sample", ball="l2", filters="orthonormal"))


def shared_start(task):
    """Random filters for all samples, with which every system without weights begins."""
    yield _nothing_learned(shared_coder(task, task.first_filters()))


def _nothing_learned(model):
    return LearningStep(seconds=0.0, passes=0, model=model, kept_bytes=model.bank.filters.nbytes)


@dataclass(frozen=True)
class TunedCode(Code):
    """A code with the filters that it is for."""

    filters: np.ndarray  # (K, *joint, *support)
    is_refitted: bool  # whether they are others than those that were learned


@dataclass(frozen=True)
class FineTuned:
    """Codes a sample and fits the filters to it in turn; ``model`` is where it starts from."""

    model: SCSC  # with identity weights

    def encode(self, x, mask=None, max_iter=None, tol=_TOLERANCE):
        """The best of the rounds, which may be the code with the filters as they were learned."""
        bank, settings = self.model.bank, self.model.settings
        geometry = Geometry(bank.joint, x.shape[bank.n_joint :], bank.support)
        problem = Problem(geometry, bank.n_base, settings.real)
        problem.set_sample(x, mask)
        filters, codes, objective = bank.filters, None, []
        best, least = None, np.inf
        with single_threaded():
            for tuned in range(_TUNING_ROUNDS + 1):
                problem.set_filters(filters)
                solution = code.solve(
                    problem,
                    None,
                    beta=settings.beta,
                    max_iter=max_iter or settings.max_iter,
                    tol=tol,
                    codes=codes,
                )
                codes = solution.codes
                maps, filled, reconstruction = problem.statistics()
                objective.append(solution.objective[-1])
                if objective[-1] < least:
                    least, best = objective[-1], (tuned, filters, solution, reconstruction)
                filters = refit(filters, geometry, maps, filled)
        tuned, filters, solution, reconstruction = best
        return TunedCode(
            W=np.eye(bank.n_base, dtype=settings.real),
            Z=geometry.reached(solution.codes),
            reconstruction=geometry.crop(reconstruction),
            objective=(*objective, least),
            converged=solution.converged,
            filters=filters,
            is_refitted=tuned > 0,
        )


def refit(filters, geometry, maps, sample):
    """The filters that are best for the code of one sample, given its spectra and the code's."""
    history = History(len(filters), geometry, filters.dtype)
    history.update([(maps, sample)])
    step = FilterStep(filters, geometry, filters.dtype)
    step.update(history)
    return step.filters


def _learn(task, **arguments):
    seconds = 0.0
    model = _start(task, **arguments)
    for passes, sample in stream_samples(task):
        begin = time.process_time()
        model.partial_fit(sample)
        seconds += time.process_time() - begin
        if arguments["weights"] == "identity":
            coder = shared_coder(task, model.bank.filters)
        else:
            coder = SCSC.from_bank(model.bank)
        yield LearningStep(seconds, passes, coder, _kept(model._state))


def _start(task, **arguments):
    base_filters = _first_base(task)
    if arguments.get("filters") == "orthonormal":
        base_filters = project_orthonormal(base_filters)
    return SCSC.from_bank(
        FilterBank(base_filters, task.n_joint),
        n_filters=task.n_filters,
        beta=task.beta,
        radius=task.radius,
        max_iter=_LEARNING_ITERATIONS,
        tol=_TOLERANCE,
        seed=task.seed,
        **arguments,
    )


def _first_base(task):
    return replace(task, n_filters=task.n_base).first_filters()


def _kept(state):
    """What a checkpoint holds."""
    arrays = [*state.history.arrays().values(), state.step.filters]
    if hasattr(state.step, "dual"):
        arrays.append(state.step.dual)
    weights = 0 if state.mean_weights is None else state.mean_weights.nbytes
    return sum(array.nbytes for array in arrays) + weights
