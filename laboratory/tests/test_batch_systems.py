"""Batch systems: what each must do, whatever its equations are."""

import importlib
import itertools

import numpy as np
import pytest
from scipy import fft

from laboratory.systems import choose_constants, deconvnet, fcsc, ffcsc, sbcsc
from laboratory.systems.circular_convolution import CircularDomain, as_filters
from laboratory.systems.interface import MAX_BATCH_ITERATIONS, LearningTask, shared_coder
from napari_scsc import SCSC, FilterBank

CIRCULAR = {"deconvnet": deconvnet, "fcsc": fcsc, "sbcsc": sbcsc}
ALL = {**CIRCULAR, "ffcsc": ffcsc}
every_system = pytest.mark.parametrize("system", ALL.values(), ids=ALL)


def unit(filters):
    axes = tuple(range(1, filters.ndim))
    norms = np.sqrt((filters**2).sum(axis=axes, keepdims=True))
    return (filters / norms).astype(np.float32)


def random_filters(rng, *shape):
    return unit(rng.standard_normal(shape))


def reconstruct(filters, codes, n_joint=0):
    """Circular convolution of codes (N, K, *space): (N, *joint, *space)."""
    space = codes.shape[2:]
    axes = tuple(range(-len(space), 0))
    spectra = fft.rfftn(filters.astype(float), space, axes=axes)
    maps = fft.rfftn(codes.astype(float), axes=axes)
    maps = np.expand_dims(maps, tuple(range(2, 2 + n_joint)))
    return fft.irfftn((spectra * maps).sum(axis=1), space, axes=axes)


def objective(filters, samples, codes, beta, masked, n_joint=0):
    """F of all samples; the padding counts as zeros unless it is masked out."""
    fit = reconstruct(filters, codes, n_joint)
    shift = samples.shape[1 + n_joint :]
    inside = (..., *(slice(n) for n in shift))
    residual = 0 * fit if masked else fit.copy()
    residual[inside] = fit[inside] - samples
    return 0.5 * np.sum(residual**2) + beta * np.abs(codes).sum()


def reference_codes(filters, samples, beta, iterations=1000):
    """Plain FISTA on the circle, for a known answer of the circular systems."""
    space = tuple(n + m - 1 for n, m in zip(samples.shape[1:], filters.shape[1:], strict=True))
    axes = tuple(range(1, 1 + len(space)))
    spectra = fft.fftn(filters.astype(float), space, axes=axes)
    target = fft.fftn(samples.astype(float), space, axes=axes)
    step = 1 / (np.abs(spectra) ** 2).sum(axis=0).max()
    codes = np.zeros((len(samples), len(filters), *space))
    ahead, momentum = codes, 1.0
    axes = tuple(range(2, 2 + len(space)))
    for _ in range(iterations):
        missing = (spectra * fft.fftn(ahead, axes=axes)).sum(axis=1) - target
        gradient = fft.ifftn(spectra.conj() * missing[:, None], axes=axes).real
        moved = ahead - step * gradient
        better = moved - np.clip(moved, -step * beta, step * beta)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = better + (momentum - 1) / grown * (better - codes)
        codes, momentum = better, grown
    return codes


def best_match(learned, true):
    """Mean over the true filters of the largest correlation with a learned one, at any shift."""
    size = tuple(2 * n - 1 for n in true.shape[1:])
    axes = tuple(range(1, true.ndim))
    spectra = fft.fftn(unit(true), size, axes=axes)
    others = fft.fftn(unit(learned), size, axes=axes).conj()
    matches = [np.abs(fft.ifftn(spectrum * others, axes=axes).real).max() for spectrum in spectra]
    return np.mean(matches)


def planted(rng, n_samples=6, n_filters=3, shift=(24, 24), support=(5, 5), density=0.01):
    """Smooth filters, and samples that are sparse sums of them without noise."""
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in support), indexing="ij"))
    angles = np.arange(n_filters) * np.pi / n_filters
    waves = [np.sin(4 * (np.cos(a) * grid[0] + np.sin(a) * grid[1])) for a in angles]
    filters = unit(np.array(waves) * np.exp(-(grid**2).sum(axis=0)))
    codes = np.zeros((n_samples, n_filters, *shift), np.float32)
    inner = (..., *(slice(n - m + 1) for n, m in zip(shift, support, strict=True)))
    amplitudes = rng.choice([-1, 1], codes[inner].shape) * (rng.random(codes[inner].shape) + 0.5)
    codes[inner] = amplitudes * (rng.random(codes[inner].shape) < density)
    return filters, reconstruct(filters, codes).astype(np.float32)


def training_objective(model, samples):
    return sum(model.encode(x, max_iter=100).objective[-1] for x in samples)


def steps(system, task, n):
    return list(itertools.islice(system.learn(task), n))


def learned(step):
    return step.model.bank.filters


def code_well(system, filters, samples, beta, n_joint=0):
    iterations = {deconvnet: 2000, sbcsc: 300}.get(system, 300)
    return system.code(filters, samples, beta, iterations, n_joint)


@every_system
def test_code_of_a_single_point_filter_is_a_soft_threshold(system):
    samples = np.random.default_rng(0).standard_normal((2, 9, 8)).astype(np.float32)
    codes = code_well(system, np.ones((1, 1, 1), np.float32), samples, beta=0.3)
    expected = np.sign(samples) * np.maximum(np.abs(samples) - 0.3, 0)
    np.testing.assert_allclose(codes[:, 0], expected, atol=2e-3)


@every_system
def test_code_of_an_orthonormal_joint_filter_is_a_soft_threshold(system):
    """One point long and two channels deep, so the filters are an orthonormal basis."""
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((2, 2)))[0].astype(np.float32)
    samples = rng.standard_normal((1, 2, 12)).astype(np.float32)
    codes = code_well(system, basis[:, :, None], samples, beta=0.2, n_joint=1)
    matched = np.einsum("kc,ncp->nkp", basis, samples)
    expected = np.sign(matched) * np.maximum(np.abs(matched) - 0.2, 0)
    np.testing.assert_allclose(codes, expected, atol=2e-3)


@pytest.mark.parametrize("system", CIRCULAR.values(), ids=CIRCULAR)
def test_circular_coders_reach_the_least_objective(system):
    rng = np.random.default_rng(2)
    filters = random_filters(rng, 6, 4, 4)
    samples = rng.standard_normal((2, 14, 13)).astype(np.float32)
    least = objective(filters, samples, reference_codes(filters, samples, 0.2), 0.2, masked=False)
    codes = code_well(system, filters, samples, beta=0.2)
    assert codes.dtype == np.float32
    reached = objective(filters, samples, codes, 0.2, masked=False)
    assert least * 0.9999 <= reached <= 1.01 * least


def test_masked_coder_reaches_the_objective_of_the_engine():
    """Both leave the padding free, so it is the same problem."""
    rng = np.random.default_rng(3)
    filters = random_filters(rng, 6, 5, 5)
    samples = rng.standard_normal((2, 15, 16)).astype(np.float32)
    scsc_and_ocsc = SCSC.from_bank(FilterBank(filters), weights="identity", n_filters=6, beta=0.2)
    theirs = [scsc_and_ocsc.encode(x, max_iter=1000, tol=0).objective[-1] for x in samples]
    codes = code_well(ffcsc, filters, samples, beta=0.2)
    ours = objective(filters, samples, codes, 0.2, masked=True)
    assert ours == pytest.approx(sum(theirs), rel=0.01)


def test_each_boundary_has_its_own_best_code():
    rng = np.random.default_rng(10)
    samples = rng.standard_normal((1, 9, 8)).astype(np.float32)
    filters = random_filters(rng, 4, 5, 5)
    masked, circular = (code_well(s, filters, samples, beta=0.1) for s in (ffcsc, fcsc))
    for right, wrong, is_masked in ((masked, circular, True), (circular, masked, False)):
        value = objective(filters, samples, right, 0.1, is_masked)
        assert value < 0.95 * objective(filters, samples, wrong, 0.1, is_masked)


@every_system
def test_objective_falls_while_learning(system):
    """Of fresh codes of the training samples: nothing but the filters can have made it fall."""
    _, samples = planted(np.random.default_rng(4))
    task = LearningTask(samples, n_filters=6, support=(5, 5), beta=0.05)
    start = training_objective(shared_coder(task, task.first_filters()), samples)
    done = steps(system, task, 12)
    early, late = (training_objective(step.model, samples) for step in (done[0], done[-1]))
    assert late < early
    assert late < 0.95 * start


@every_system
def test_planted_filters_are_found_better_than_by_the_start(system):
    true, samples = planted(np.random.default_rng(5))
    task = LearningTask(samples, n_filters=6, support=(5, 5), beta=0.05, seed=1)
    before = best_match(task.first_filters(), true)
    after = best_match(learned(steps(system, task, 40)[-1]), true)
    assert after > before + 0.1
    assert after > 0.85


@every_system
@pytest.mark.parametrize(
    ("joint", "shift", "support"),
    [((), (20,), (5,)), ((2, 2), (9, 8), (3, 4)), ((3,), (6, 7, 5), (3, 2, 3))],
)
def test_any_number_of_axes(system, joint, shift, support):
    rng = np.random.default_rng(6)
    samples = rng.standard_normal((3, *joint, *shift)).astype(np.float32)
    task = LearningTask(samples, n_filters=4, support=support, beta=0.1, n_joint=len(joint))
    last = steps(system, task, 2)[-1]
    filters = learned(last)
    assert filters.shape == (4, *joint, *support)
    assert filters.dtype == np.float32
    assert np.isfinite(filters).all()
    assert last.model.encode(samples[0], max_iter=3).reconstruction.shape == samples[0].shape

    codes = system.code(filters, samples, 0.1, 60, len(joint))
    masked = system is ffcsc
    nothing = objective(filters, samples, 0 * codes, 0.1, masked, len(joint))
    assert objective(filters, samples, codes, 0.1, masked, len(joint)) < 0.9 * nothing


@every_system
def test_filters_stay_in_the_unit_ball(system):
    _, samples = planted(np.random.default_rng(7), n_samples=2)
    task = LearningTask(samples, n_filters=4, support=(5, 5), beta=0.05)
    for step in steps(system, task, 3):
        assert (np.linalg.norm(learned(step).reshape(4, -1), axis=1) <= 1 + 1e-5).all()


@every_system
def test_steps_count_passes_and_all_codes_are_kept(system):
    _, samples = planted(np.random.default_rng(8), n_samples=2)
    task = LearningTask(samples, n_filters=4, support=(5, 5), beta=0.05)
    done = steps(system, task, 3)
    assert [step.passes for step in done] == [1, 2, 3]
    assert 0 < done[0].seconds < done[1].seconds < done[2].seconds
    codes = 2 * 4 * 28 * 28 * 4  # samples, filters, points, bytes
    assert all(step.kept_bytes >= codes for step in done)


@every_system
def test_learning_gives_up_in_the_end(system):
    samples = np.random.default_rng(9).standard_normal((1, 6)).astype(np.float32)
    task = LearningTask(samples, n_filters=2, support=(3,), beta=0.1)
    assert len(list(system.learn(task))) == MAX_BATCH_ITERATIONS


# --- how constants are chosen -------------------------------------------------------------------


def test_constants_are_chosen_without_test_images(monkeypatch):
    training = np.random.default_rng(0).standard_normal((10, 60, 60))
    monkeypatch.setattr(
        choose_constants, "load_authors_arrays", lambda folder, name: (training, None)
    )
    learned_from, judged_on = (
        choose_constants.crops(None, part)
        for part in (choose_constants.LEARN, choose_constants.JUDGE)
    )
    assert (
        learned_from.shape[1:]
        == judged_on.shape[1:]
        == (choose_constants.CROP, choose_constants.CROP)
    )
    assert not any(np.array_equal(x, y) for x in learned_from for y in judged_on)


def test_constant_is_left_at_its_best_value(monkeypatch):
    monkeypatch.setattr(fcsc, "RHO_FILTERS", fcsc.RHO_FILTERS)  # puts it back
    monkeypatch.setattr(
        choose_constants, "learn_for", lambda seconds, system, task: fcsc.RHO_FILTERS
    )
    monkeypatch.setattr(choose_constants, "objective", lambda model, samples: (model - 2) ** 2)
    found = choose_constants.try_values("FCSC", "RHO_FILTERS", (1, 2, 3), [None], None, 0)
    assert found == {1: 1, 2: 0, 3: 1}
    assert fcsc.RHO_FILTERS == 2


@pytest.mark.parametrize(("system", "constant", "values"), choose_constants.CANDIDATES)
def test_every_constant_has_a_value_that_was_tried(system, constant, values):
    name = choose_constants.SYSTEMS[system].module
    if name == "sporco_systems":
        pytest.importorskip("sporco")
    assert getattr(importlib.import_module(f"laboratory.systems.{name}"), constant) in values


# --- filter steps, the codes fixed ----------------------------------------------------------------


@pytest.fixture
def fixed_codes():
    """A circle, codes on it, and samples that no filters explain wholly, so that norms matter."""
    rng = np.random.default_rng(11)
    domain = CircularDomain((13, 12), (4, 3))
    codes = rng.standard_normal((5, 3, *domain.shape)).astype(np.float32)
    codes *= rng.random(codes.shape) < 0.1
    filters = 2 * random_filters(rng, 3, 4, 3)  # longer than allowed
    samples = reconstruct(filters, codes) + 0.1 * rng.standard_normal((5, *domain.shape))
    return domain, codes, samples.astype(np.float32), random_filters(rng, 3, 4, 3)


def error_of(filters, fixed_codes):
    _, codes, samples, _ = fixed_codes
    return 0.5 * np.sum((reconstruct(filters, codes) - samples) ** 2)


def best_filters(fixed_codes, iterations=3000):
    """Projected gradient with momentum on the error, every filter in the unit ball."""
    _, codes, samples, filters = fixed_codes
    maps = fft.fftn(codes.astype(float), axes=(2, 3))
    step = 1 / (np.abs(maps) ** 2).sum(axis=(0, 1)).max()
    current = ahead = filters.astype(float)
    for i in range(iterations):
        missing = fft.fftn(reconstruct(ahead, codes) - samples, axes=(1, 2))
        gradient = fft.ifftn((maps.conj() * missing[:, None]).sum(axis=0), axes=(1, 2)).real
        free = ahead - step * gradient[:, :4, :3]
        better = free / np.maximum(np.linalg.norm(free, axis=(1, 2), keepdims=True), 1)
        ahead = better + i / (i + 3) * (better - current)
        current = better
    return current


def by_fcsc(fixed_codes):
    domain, codes, samples, filters = fixed_codes
    step = fcsc.Filters(domain, domain.embed(filters))
    spectra = domain.fft(domain.embed(samples))
    code_spectra = domain.fft(np.moveaxis(codes, (0, 1), (-1, -2)))
    for _ in range(500):
        step.step(code_spectra, spectra)
    return as_filters(domain.crop(step.small), ())


def by_ffcsc(fixed_codes, monkeypatch):
    domain, codes, samples, filters = fixed_codes
    # All of the circle is measured, so that it is the same problem as that of the others.
    monkeypatch.setattr(
        CircularDomain,
        "mask",
        lambda self: np.ones((*self.shape, 1, 1), np.float32),
    )
    problem = ffcsc._filter_problem(domain, domain.embed(samples), domain.embed(filters))
    operator = domain.fft(np.moveaxis(codes, (0, 1), (-1, -2))).swapaxes(-1, -2)
    problem.improve(operator, 3000)
    return as_filters(domain.crop(problem.q.swapaxes(-1, -2)), ())


@pytest.mark.parametrize("name", ["FCSC", "FFCSC"])
def test_iterated_filter_step_reaches_the_least_error(name, fixed_codes, monkeypatch):
    best = best_filters(fixed_codes)
    found = by_fcsc(fixed_codes) if name == "FCSC" else by_ffcsc(fixed_codes, monkeypatch)
    start, least, reached = (error_of(f, fixed_codes) for f in (fixed_codes[3], best, found))
    assert np.linalg.norm(best, axis=(1, 2)) == pytest.approx(1, rel=1e-3)  # the balls matter
    assert reached == pytest.approx(least, abs=0.01 * (start - least))
