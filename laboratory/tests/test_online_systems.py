"""The systems of the paper that are online, in SPORCO, or a consensus: what must hold of each."""

import inspect
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import dask
import numpy as np
import pytest
import scipy.optimize
from scipy.signal import fftconvolve

from benchmarks.systems import SYSTEMS, ccsc, degraux, engine, sep_td
from benchmarks.systems.base import Task, shared
from napari_scsc.model.solver import code
from napari_scsc.model.solver.filter_step import FilterStep
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry, Problem, filter_spectra

MINE = [
    "SCSC",
    "SCSC-L1",
    "SCSC (shared)",
    "SCSC (ADMM code)",
    "OCSC",
    "OCSC fine-tuned",
    "SEP-TD",
    "SEP-TD, rescaled",
    "OCDL-Liu",
    "OCDL-Degraux",
    "CBPDN",
    "CONSENSUS",
    "CCSC",
]

GAINS = {"SCSC-L1": 0.01}  # one base filter a column: what the others say of it is little
ITERATIONS = {"CBPDN": 30, "CONSENSUS": 30, "CCSC": 6}  # of those that are not online


def unit(filters):
    norms = np.linalg.norm(filters.reshape(len(filters), -1), axis=1)
    return filters / norms.reshape(-1, *[1] * (filters.ndim - 1))


@dataclass(frozen=True)
class PlantedTask(Task):
    """The filters that made the samples are known, and learning starts not too far from them."""

    planted: np.ndarray | None = None
    noise: float = 0.15

    def first_filters(self):
        filters = self.planted[: self.n_filters]
        noise = np.random.default_rng(self.seed).standard_normal(filters.shape)
        return unit(filters + self.noise * noise).astype(np.float32)


def planted_task(n=8, shift=(20, 20), joint=(), support=(5, 5), n_filters=3, density=0.01):
    """Samples that are sparse sums of a few filters."""
    rng = np.random.default_rng(0)
    filters = unit(rng.standard_normal((n_filters, *joint, *support)))
    reach = tuple(m + h - 1 for m, h in zip(shift, support, strict=True))
    values = rng.standard_normal((n, n_filters, *reach))
    codes = values * (rng.random(values.shape) < density)
    samples = 2 * np.stack([convolved(filters, z, len(joint)) for z in codes])
    return PlantedTask(
        samples=samples.astype(np.float32),
        n_filters=n_filters,
        support=support,
        beta=0.05,
        seed=1,
        n_joint=len(joint),
        n_base=n_filters,
        planted=filters,
    )


def convolved(filters, maps, n_joint):
    """sum_k d_k * z_k at the points of the sample."""
    maps = maps.reshape(len(maps), *[1] * n_joint, *maps.shape[1:])
    axes = tuple(range(1 + n_joint, filters.ndim))
    return fftconvolve(maps, filters, "valid", axes=axes).sum(axis=0)


def system(name):
    if SYSTEMS[name].module == "sporco_systems":
        pytest.importorskip("sporco")
    return SYSTEMS[name]


def objective(model, samples):
    return sum(model.encode(x, max_iter=300).objective[-1] for x in samples)


def likeness(found, planted):
    """Mean over planted filters of the largest correlation with a found one, at any shift."""
    lengths = tuple(2 * h for h in planted.shape[1:])
    axes = tuple(range(2, 2 + len(lengths)))
    spectra = [np.fft.fftn(unit(f), lengths, axes=[a - 1 for a in axes]) for f in (planted, found)]
    product = spectra[0][:, None] * spectra[1][None].conj()
    return np.abs(np.fft.ifftn(product, axes=axes).real).max(axis=(1, *axes)).mean()


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def has_weights(name):
    return name.startswith("SCSC")


def span_likeness(found, planted):
    """Mean cosine of the principal angles between the spans of two sets of filters."""
    bases = [np.linalg.qr(f.reshape(len(f), -1).T.astype(float))[0] for f in (found, planted)]
    return np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).mean()


def model_filters(model):
    return getattr(model, "model", model).bank.filters


def take(name, task, n):
    return list(islice(system(name)(task), n))


# --- all systems --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MINE)
def test_planted_filters_are_found_better_than_the_start(name):
    task = planted_task(n=10)
    training, new = replace(task, samples=task.samples[:8]), task.samples[8:]
    if name.startswith("SEP-TD"):
        training = replace(training, n_base=8)
    steps = take(name, training, ITERATIONS.get(name, 24))
    assert objective(steps[-1].model, new) < 0.95 * objective(steps[0].model, new)
    # The filters of a sample are combinations of those learned where there are weights: then what
    # was planted is what they span, and not each of them.
    like = span_likeness if has_weights(name) else likeness
    start, end = (like(f, task.planted) for f in (task.first_filters(), learned(steps)))
    assert end > start + GAINS.get(name, 0.05)


def learned(steps):
    return model_filters(steps[-1].model)


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize(
    ("joint", "shift", "support"),
    [((), (40,), (5,)), ((2,), (14, 15), (3, 4)), ((), (9, 8, 10), (3, 3, 3))],
    ids=["1-D", "joint axis", "3-D"],
)
def test_any_number_of_axes(name, joint, shift, support):
    task = planted_task(3, shift, joint, support, n_filters=2, density=0.1)
    first, second = take(name, task, 2)
    assert first.seconds > 0
    assert 0 < first.passes < second.passes
    assert first.kept > 0
    assert model_filters(second.model).shape == (2, *joint, *support)
    assert second.model.encode(task.samples[0], max_iter=5).reconstruction.shape == (*joint, *shift)


@pytest.mark.parametrize("name", MINE)
def test_a_step_stays_what_it_was_when_learning_goes_on(name):
    task = planted_task(3, (14, 14), support=(3, 3))
    steps = system(name)(task)
    model = next(steps).model
    before = model.encode(task.samples[0], max_iter=10).reconstruction
    filters = model_filters(model).copy()
    assert not np.array_equal(model_filters(next(steps).model), filters)
    np.testing.assert_array_equal(model.encode(task.samples[0], max_iter=10).reconstruction, before)


@pytest.mark.parametrize("name", [n for n in MINE if SYSTEMS[n].is_online])
def test_online_systems_keep_as_much_after_many_samples_as_after_one(name):
    task = planted_task(3, (14, 14), support=(3, 3))
    steps = take(name, task, 7)
    assert steps[0].kept == steps[-1].kept
    assert steps[-1].passes == pytest.approx(7 / 3)


def test_every_name_of_the_paper_is_there_with_where_it_comes_from():
    assert set(MINE) < set(SYSTEMS)
    assert {"SBCSC", "FFCSC", "FCSC", "DeconvNet"} < set(SYSTEMS)
    assert all(method.reference for method in SYSTEMS.values())


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_can_be_found_and_does_nothing_before_a_step_is_taken(name):
    assert inspect.isgenerator(system(name)(planted_task(2, (14, 14))))


def test_other_systems_work_where_sporco_is_missing():
    script = (
        "import sys; sys.modules['sporco'] = None\n"
        "from benchmarks.systems import SYSTEMS, ccsc, degraux, engine, sep_td\n"
        "try: SYSTEMS['CBPDN'](None)\n"
        "except ImportError: print('missing')"
    )
    root = Path(__file__).parents[1]
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "missing"


# --- the engine's variants ----------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_fine_tuning_never_worsens_the_objective_of_its_sample(masked):
    task = planted_task()
    plain = shared(task, task.first_filters())
    tuned = engine.FineTuned(plain)
    for x in task.samples[:3]:
        mask = np.random.default_rng(0).random(x.shape) < 0.7 if masked else None
        before = plain.encode(x, mask, max_iter=100)
        after = tuned.encode(x, mask, max_iter=100)
        assert after.objective[0] == pytest.approx(before.objective[-1], rel=1e-6)
        assert after.objective[-1] == min(after.objective)
        assert after.objective[-1] < 0.95 * before.objective[-1]  # random filters: much to gain


def test_objective_of_fine_tuning_is_that_of_what_it_returns():
    task = planted_task()
    x = task.samples[0]
    result = engine.FineTuned(shared(task, task.first_filters())).encode(x, max_iter=100)
    error = 0.5 * np.sum((x - result.reconstruction) ** 2, dtype=np.float64)
    expected = error + task.beta * np.abs(result.Z).sum(dtype=np.float64)
    assert result.objective[-1] == pytest.approx(expected, rel=1e-4)
    # The filters that it returns are those of its code.
    made = convolved(result.filters, result.Z, 0)
    np.testing.assert_allclose(made, result.reconstruction, atol=1e-4)


def test_fine_tuning_has_as_many_filters_as_others_have_base_filters():
    task = planted_task(2, (14, 14), support=(3, 3))
    (step,) = take("OCSC fine-tuned", replace(task, n_filters=7, n_base=2), 1)
    assert len(model_filters(step.model)) == 2


def test_admm_for_the_code_learns_as_well_as_niapg():
    task = planted_task()
    ends = [take(name, task, 16)[-1].model for name in ("SCSC", "SCSC (ADMM code)")]
    ours, theirs = (objective(model, task.samples) for model in ends)
    assert theirs == pytest.approx(ours, rel=0.1)


# --- SEP-TD -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(6,), (5, 4), (3, 4, 5)])
def test_decomposition_finds_filters_that_are_of_low_rank(lengths):
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal((n, 2)) for n in lengths]
    filters = sep_td.compose(vectors, rng.standard_normal((2, 12)))
    found = sep_td.compose(*sep_td.decompose(filters, 2))
    assert np.linalg.norm(found - filters) < 1e-3 * np.linalg.norm(filters)


def test_composed_filters_are_sums_of_outer_products():
    rng = np.random.default_rng(0)
    a, b, weights = (rng.standard_normal(shape) for shape in ((3, 2), (4, 2), (2, 5)))
    expected = np.einsum("ir,jr,rk->kij", a, b, weights)
    np.testing.assert_allclose(sep_td.compose([a, b], weights), expected)


def test_error_of_the_decomposition_falls_with_its_rank_and_no_filter_gets_longer():
    filters = unit(np.random.default_rng(0).standard_normal((20, 5, 5)))
    errors = []
    for rank in (1, 5, 10, 20):
        found = sep_td.compose(*sep_td.decompose(filters, rank))
        assert (np.linalg.norm(found.reshape(20, -1), axis=1) < 1 + 1e-9).all()
        errors.append(np.linalg.norm(found - filters))
    assert sorted(errors, reverse=True) == errors
    assert errors[-1] < 0.3 * errors[0]


def test_rescaled_filters_are_as_long_as_those_they_stand_for():
    filters = np.random.default_rng(0).standard_normal((6, 5, 5))
    found = sep_td.rescaled(filters, 2)
    lengths = (np.linalg.norm(f.reshape(6, -1), axis=1) for f in (found, filters))
    np.testing.assert_allclose(*lengths)
    best = sep_td.approximate(filters, 2)
    assert np.linalg.matrix_rank(np.concatenate([found, best]).reshape(12, -1)) == 2


@pytest.mark.parametrize("name", ["SEP-TD", "SEP-TD, rescaled"])
def test_sep_td_of_full_rank_is_ocsc(name):
    task = planted_task(4, (14, 14), support=(3, 3))
    separable = take(name, replace(task, n_base=9), 4)
    for ours, theirs in zip(take("OCSC", task, 4), separable, strict=True):
        np.testing.assert_allclose(learned([theirs]), learned([ours]), atol=1e-5)


# --- OCDL-Degraux -------------------------------------------------------------------------------


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
    return ccsc.forward(codes, geometry), ccsc.forward(samples, geometry)


def mean_error(filters, coded):
    """Half the squared error a sample, on the circle that is the box."""
    geometry, codes, samples = coded
    spectra = filter_spectra(filters, geometry)
    maps = ccsc.forward(codes.astype(np.float64), geometry)
    found = ccsc.backward(np.einsum("kcf,nkf->ncf", spectra, maps), geometry)
    return 0.5 * np.sum((found - samples) ** 2) / len(samples)


def correlations(coded):
    memory = degraux.Correlations(coded[0], 3)
    for maps, sample in zip(*spectra_of(coded), strict=True):
        memory.add(maps, sample)
    return memory


def history(coded):
    geometry = coded[0]
    history = History(3, geometry.n_joint, geometry.n_frequencies, np.float32)
    history.update(list(zip(*spectra_of(coded), strict=True)))
    return history


def random_filters(geometry, seed=1):
    rng = np.random.default_rng(seed)
    return unit(rng.standard_normal((3, *geometry.joint, *geometry.support)))


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
            ccsc.backward(np.einsum("kcf,nkf->ncf", filter_spectra(p, geometry), maps), geometry)
            for p in points
        ]
    )
    values = ccsc.backward(spectra, geometry).ravel()
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


# --- CCSC ---------------------------------------------------------------------------------------


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
    one, several = (objective(model, task.samples) for model in ends)
    assert several == pytest.approx(one, rel=0.1)


def test_scheduler_does_not_change_what_blocks_agree_on():
    task = planted_task(4, (14, 14), support=(3, 3))
    results = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            results.append(learned(list(islice(ccsc.learn(task, 4), 3))))
    np.testing.assert_array_equal(*results)


# --- SPORCO -------------------------------------------------------------------------------------


def test_batch_systems_reach_the_same_objective():
    pytest.importorskip("sporco")
    task = planted_task()
    # SPORCO's samples are periodic and ours are not: with nothing near the border that is the same.
    inner = np.zeros_like(task.samples)
    inner[:, 6:-6, 6:-6] = task.samples[:, 6:-6, 6:-6]
    near = replace(task, samples=inner, noise=0.1)
    iterations = {"CBPDN": 60, "CONSENSUS": 60, "CCSC": 10}
    ends = {name: take(name, near, n)[-1].model for name, n in iterations.items()}
    values = {name: objective(model, inner) for name, model in ends.items()}
    start = objective(shared(near, near.first_filters()), inner)
    assert max(values.values()) < start
    assert max(values.values()) < 1.05 * min(values.values()), values


@pytest.mark.parametrize("joint", [(), (2,), (2, 3)])
def test_filters_come_back_from_sporco_as_they_went_in(joint):
    pytest.importorskip("sporco")
    from benchmarks.systems import sporco_systems

    task = planted_task(2, (10, 11), joint, (3, 4))
    there = sporco_systems._filters_for_sporco(task)
    assert there.shape[:2] == (3, 4)
    back = sporco_systems._filters_from_sporco(there, task)
    np.testing.assert_array_equal(back, task.first_filters())
