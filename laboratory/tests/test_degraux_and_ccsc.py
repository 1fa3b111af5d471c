"""OCDL-Degraux and CCSC: their filter steps and codes against those of the engine."""

from itertools import islice

import dask
import numpy as np
import pytest
import scipy.optimize

from laboratory.systems import ccsc, degraux
from laboratory.systems.box_fft import backward, forward
from laboratory.tests.planted_filters import (
    learned_filters,
    planted_task,
    total_objective,
    unit_filters,
)
from napari_scsc.model.solver import code
from napari_scsc.model.solver.filter_step import FilterStep
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry, Problem, filter_spectra

pytestmark = pytest.mark.usefixtures("dask_on_one_thread")


@pytest.fixture(params=[((), (12, 13), (3, 4)), ((2,), (7,), (5,)), ((), (3, 9), (5, 3))])
def coded(request):
    """Samples with random codes: geometry, spectra of codes and samples, and both in space."""
    joint, shift, support = request.param
    geometry = Geometry(joint, shift, support)
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((4, 3, geometry.size)).astype(np.float32)
    samples = rng.standard_normal((4, geometry.n_joint, geometry.size)).astype(np.float32)
    return geometry, codes, samples


def spectra_of(coded):
    geometry, codes, samples = coded
    return forward(codes, geometry), forward(samples, geometry)


def mean_error(filters, coded):
    """Half the squared error a sample, on the circle that is the box."""
    geometry, codes, samples = coded
    spectra = filter_spectra(filters, geometry)
    maps = forward(codes.astype(np.float64), geometry)
    found = backward(np.einsum("kcf,nkf->ncf", spectra, maps), geometry)
    return 0.5 * np.sum((found - samples) ** 2) / len(samples)


def correlations(coded):
    memory = degraux.Correlations(coded[0], 3)
    for maps, sample in zip(*spectra_of(coded), strict=True):
        memory.add(maps, sample)
    return memory


def history(coded):
    geometry = coded[0]
    history = History(3, geometry, np.float32)
    history.update(list(zip(*spectra_of(coded), strict=True)))
    return history


def random_filters(geometry, seed=1):
    rng = np.random.default_rng(seed)
    return unit_filters(rng.standard_normal((3, *geometry.joint, *geometry.support)))


def test_gradient_of_degraux_is_that_of_the_error(coded):
    geometry = coded[0]
    filters = random_filters(geometry)
    memory = correlations(coded)
    spectra = memory.spectrum(filters.reshape(memory.sample.shape))
    gradient = np.stack([memory.gradient(k, spectra) for k in range(3)]).ravel()
    numeric = scipy.optimize.approx_fprime(
        filters.ravel(), lambda d: mean_error(d.reshape(filters.shape), coded), 1e-4
    )
    np.testing.assert_allclose(gradient, numeric, rtol=2e-3, atol=2e-3 * np.abs(numeric).max())


def test_degraux_finds_the_closed_form_where_no_filter_is_as_long_as_allowed(coded):
    geometry, codes, samples = coded
    quiet = (geometry, codes, samples / 100)
    filters = random_filters(geometry).astype(np.float32)
    found = degraux.improve(filters, correlations(quiet), sweeps=3000, tolerance=1e-7)
    # The error is quadratic: its columns are what a filter of one point explains.
    points = np.eye(filters.size).reshape(-1, *filters.shape)
    maps, spectra = (s.astype(np.complex128) for s in spectra_of(quiet))
    columns = np.stack(
        [
            backward(np.einsum("kcf,nkf->ncf", filter_spectra(p, geometry), maps), geometry)
            for p in points
        ]
    )
    values = backward(spectra, geometry).ravel()
    best = np.linalg.lstsq(columns.reshape(filters.size, -1).T, values, rcond=None)[0]
    assert np.linalg.norm(best) < 0.9
    np.testing.assert_allclose(found.ravel(), best, atol=1e-3 * np.abs(best).max())


def test_degraux_agrees_with_the_filter_step_of_the_engine(coded):
    """The same objective, by block coordinates in space and by ADMM over frequencies."""
    geometry = coded[0]
    filters = random_filters(geometry).astype(np.float32)
    found = degraux.improve(filters, correlations(coded), sweeps=3000, tolerance=1e-7)
    step = FilterStep(filters, geometry, np.float32, max_iter=3000, tol=1e-7)
    step.update(history(coded))
    start, ours, theirs = (mean_error(f, coded) for f in (filters, found, step.filters))
    assert (np.linalg.norm(found.reshape(3, -1), axis=1) < 1 + 1e-5).all()
    assert ours == pytest.approx(theirs, abs=1e-3 * (start - theirs))


def test_filter_that_no_code_uses_stays_as_it_is(coded):
    geometry, codes, samples = coded
    codes = codes.copy()
    codes[:, 1] = 0
    filters = random_filters(geometry).astype(np.float32)
    found = degraux.improve(filters, correlations((geometry, codes, samples)))
    np.testing.assert_array_equal(found[1], filters[1])
    assert not np.array_equal(found[0], filters[0])


def blocks_of(coded, n_blocks):
    geometry, codes, samples = coded
    zeros = np.zeros((3, geometry.n_joint, geometry.size), np.float32)
    return [
        ccsc.Block(
            geometry=geometry,
            samples=x,
            mask=np.ones(geometry.size, np.float32),
            filled=x,
            codes=z,
            code_dual=np.zeros_like(z),
            filters=zeros,
            filter_dual=zeros,
        )
        for x, z in zip(np.split(samples, n_blocks), np.split(codes, n_blocks), strict=True)
    ]


def agreed_filters(coded, n_blocks, rounds):
    blocks = [dask.delayed(b) for b in blocks_of(coded, n_blocks)]
    start = random_filters(coded[0]).astype(np.float32)
    return ccsc.agree(blocks, start, 0.0, rounds)[1]


def test_one_block_does_what_the_filter_step_of_the_engine_does(coded):
    geometry = coded[0]
    start = random_filters(geometry).astype(np.float32)
    step = FilterStep(start, geometry, np.float32, max_iter=7, tol=0)
    step.update(history(coded))
    assert not np.allclose(step.filters, start, atol=0.01)
    np.testing.assert_allclose(agreed_filters(coded, 1, rounds=7), step.filters, atol=1e-4)


@pytest.mark.parametrize("n_blocks", [2, 4])
def test_several_blocks_agree_on_what_one_finds(coded, n_blocks):
    geometry = coded[0]
    step = FilterStep(random_filters(geometry), geometry, np.float32, max_iter=3000, tol=1e-7)
    step.update(history(coded))
    found = agreed_filters(coded, n_blocks, rounds=60)
    start = mean_error(random_filters(geometry), coded)
    best = mean_error(step.filters, coded)
    assert mean_error(found, coded) == pytest.approx(best, abs=0.01 * (start - best))


def test_codes_of_a_block_are_those_of_the_engine():
    task = planted_task(2, (16, 15))
    geometry = Geometry(task.joint, task.shift, task.support)
    filters = task.planted.astype(np.float32)
    block = ccsc.code(ccsc.Block.first(task.samples, 3, geometry), filters, task.beta, rounds=300)
    problem = Problem(geometry, 3, np.float32)
    problem.set_filters(filters)
    for sample, codes in zip(task.samples, block.codes, strict=True):
        problem.set_sample(sample, None)
        ours = code.solve(problem, None, beta=task.beta, max_iter=2000, tol=1e-7).objective[-1]
        code.compose(problem, None, codes)
        theirs = problem.evaluate() + task.beta * np.abs(codes).sum()
        assert theirs == pytest.approx(ours, rel=0.01)


def test_learning_in_several_blocks_is_nearly_as_good_as_in_one():
    task = planted_task()
    ends = [list(islice(ccsc.learn(task, n), 10))[-1].model for n in (1, 4)]
    in_one, in_four = (total_objective(model, task.samples) for model in ends)
    assert in_four == pytest.approx(in_one, rel=0.1)


def test_scheduler_does_not_change_what_blocks_agree_on():
    task = planted_task(4, (14, 14), support=(3, 3))
    results = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            results.append(learned_filters(list(islice(ccsc.learn(task, 4), 3))))
    np.testing.assert_array_equal(*results)
