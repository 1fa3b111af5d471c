from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import references
from cancelling import CallingCancellation
from scsc_samples import SMALL, images
from threadpoolctl import threadpool_info

from napari_scsc import SCSC, FilterBank, Relative
from napari_scsc.model.solver.filter_step import FilterStep, project_filters
from napari_scsc.model.threads import single_threaded

# --- it learns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "n_joint", "support"),
    [
        ((60,), 0, (7,)),
        ((2, 40), 1, (5,)),
        ((16, 15), 0, (3, 4)),
        ((3, 12, 13), 1, (3, 3)),
        ((2, 2, 10, 9), 2, (3, 3)),
        ((6, 8, 9), 0, (3, 3, 3)),
        ((4, 5, 6, 5), 0, (2, 2, 3, 2)),
    ],
)
def test_learning_explains_samples_of_every_dimension(shape, n_joint, support):
    samples = images(3, shape)
    model = SCSC(4, 8, support, n_joint, beta=Relative(0.02), max_iter=60).fit(samples, passes=2)
    assert model.bank.filters.shape == (4, *shape[:n_joint], *support)
    result = model.encode(samples[0], max_iter=200)
    error = np.mean((result.reconstruction - samples[0]) ** 2)
    assert error < 0.2 * np.mean(samples[0] ** 2)
    expected = references.convolve(
        model.bank.filters,
        np.tensordot(result.W, result.Z, axes=1),
        n_joint,
        shape[n_joint:],
    )
    np.testing.assert_allclose(result.reconstruction, expected, atol=1e-4)


@pytest.mark.parametrize("weights", ["sample", "shared", "identity"])
def test_objective_of_new_samples_falls_with_learning(weights):
    n_filters = 4 if weights == "identity" else 8
    model = SCSC(4, n_filters, (5, 5), beta=0.05, weights=weights, max_iter=40)
    updates = list(model.iter_fit(images(6, (24, 24)), passes=2))
    first = np.mean([u.objective for u in updates[:6]])
    second = np.mean([u.objective for u in updates[6:]])
    assert second < first
    assert [u.sample for u in updates] == list(range(1, 13))
    assert model.n_seen == 12


def test_shared_weights_are_the_same_for_all_samples():
    model = SCSC(**SMALL, weights="shared").fit(images())
    x, y = images(2, seed=1)
    np.testing.assert_array_equal(model.encode(x).W, model.encode(y).W)


def test_identity_weights_have_no_weights():
    model = SCSC(3, 3, (3, 4), weights="identity", max_iter=12).fit(images())
    np.testing.assert_array_equal(model.encode(images()[0]).W, np.eye(3))
    assert model.bank.weights is None


def test_identity_weights_equal_a_plain_ocsc(monkeypatch):
    """OCSC written out in one dimension: exact codes, sums over samples, projected gradient."""
    exact = partial(FilterStep, max_iter=20_000, tol=1e-9)
    monkeypatch.setattr("napari_scsc.model.state.FilterStep", exact)
    samples, beta, support, n = images(3, (18,)), 0.1, 3, 18
    model = SCSC(
        2, 2, (support,), beta=beta, weights="identity", dtype="float64", max_iter=4000, tol=0
    )
    updates = model.iter_fit(samples)
    rng = np.random.default_rng([0, 0])
    filters = rng.standard_normal((2, support))
    filters /= np.linalg.norm(filters, axis=1, keepdims=True)
    gram, moment = np.zeros((2 * support, 2 * support)), np.zeros(2 * support)
    for x in samples:
        a = references.matrix(filters, 0, (n,))
        z = references.lasso(a, x, np.ones(n), np.eye(2), beta, 30_000)
        # Outside the sample nothing was measured: the reconstruction stands in for it.
        full = n + 2 * (support - 1)
        toeplitz = np.zeros((full, 2, support))
        for m in range(support):
            toeplitz[m : m + z.shape[1], :, m] = z.T
        toeplitz = toeplitz.reshape(full, -1)
        target = toeplitz @ filters.ravel()
        target[support - 1 : support - 1 + n] = x
        gram += toeplitz.T @ toeplitz
        moment += toeplitz.T @ target
        step = 1 / np.linalg.norm(gram, 2)
        for _ in range(20_000):
            filters = filters - step * (gram @ filters.ravel() - moment).reshape(filters.shape)
            filters = project_filters(filters)
        np.testing.assert_allclose(next(updates).B, filters, atol=2e-3)


# --- the same bits ------------------------------------------------------------------------------


def test_same_seed_gives_the_same_bits():
    one, two = (SCSC(**SMALL, seed=3).fit(images()).bank for _ in range(2))
    other = SCSC(**SMALL, seed=4).fit(images()).bank
    np.testing.assert_array_equal(one.filters, two.filters)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.id == two.id != other.id


def test_partial_fit_in_a_loop_is_fit():
    model = SCSC(**SMALL)
    for x in images():
        model.partial_fit(x)
    np.testing.assert_array_equal(model.bank.filters, SCSC(**SMALL).fit(images()).bank.filters)


@pytest.mark.parametrize("weights", ["sample", "shared", "identity"])
def test_resumed_equals_uninterrupted(tmp_path, weights):
    arguments = {**SMALL, "weights": weights, "forget": 0.1}
    if weights == "identity":
        arguments["n_filters"] = 3
    samples = images(6)
    whole = SCSC(**arguments).fit(samples)
    SCSC(**arguments).fit(samples[:3]).checkpoint(tmp_path / "half.scsc")
    resumed = SCSC.resume(tmp_path / "half.scsc")
    assert resumed.settings == whole.settings
    resumed.fit(samples[3:])
    np.testing.assert_array_equal(resumed.bank.filters, whole.bank.filters)
    assert resumed.n_seen == 6
    if weights != "identity":
        np.testing.assert_array_equal(resumed.bank.weights, whole.bank.weights)


def test_resumed_in_another_process_equals_uninterrupted(tmp_path):
    samples = images(4)
    np.save(tmp_path / "samples.npy", samples)
    SCSC(**SMALL, beta=Relative(0.1)).fit(samples[:2]).checkpoint(tmp_path / "half.scsc")
    script = (
        "import sys, numpy as np\n"
        "from napari_scsc import SCSC\n"
        "folder = sys.argv[1]\n"
        "model = SCSC.resume(folder + '/half.scsc')\n"
        "model.fit(np.load(folder + '/samples.npy')[2:]).bank.save(folder + '/bank.scsc')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    whole = SCSC(**SMALL, beta=Relative(0.1)).fit(samples).bank
    assert FilterBank.load(tmp_path / "bank.scsc").id == whole.id


def test_notes_are_kept_with_a_checkpoint(tmp_path):
    model = SCSC(**SMALL).fit(images())
    model.checkpoint(tmp_path / "plain")
    assert SCSC.notes(tmp_path / "plain") == ({}, {})
    model.checkpoint(tmp_path / "noted", {"a": [1, None, "b"]}, {"filters": np.ones(3)})
    notes, arrays = SCSC.notes(tmp_path / "noted")
    assert notes == {"a": [1, None, "b"]}
    assert arrays.keys() == {"filters"}
    np.testing.assert_array_equal(arrays["filters"], np.ones(3))
    np.testing.assert_array_equal(SCSC.resume(tmp_path / "noted").bank.filters, model.bank.filters)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["noted", "plain"]
    resumed = SCSC.resume(tmp_path / "noted").fit(images(seed=1))
    assert resumed.bank.id == model.fit(images(seed=1)).bank.id


def test_number_of_threads_changes_nothing():
    one, two = (
        SCSC(**SMALL).fit(images(6), batch=3, n_jobs=n_jobs).bank.filters for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one, two)


def test_samples_of_a_batch_are_coded_with_the_same_filters():
    samples = images(2)
    model = SCSC(**SMALL)
    updates = list(model.iter_fit(samples, batch=2))
    np.testing.assert_array_equal(updates[0].B, updates[1].B)
    alone = SCSC(**SMALL).partial_fit(samples[0])
    assert not np.array_equal(alone.bank.filters, model.bank.filters)


def test_forgetting_does_not_depend_on_the_batch():
    counts = [
        SCSC(**SMALL, forget=0.5).fit(images(), batch=batch)._state.history.count
        for batch in (1, 2, 4)
    ]
    assert counts == [1.875] * 3


def test_coding_in_many_threads_equals_coding_in_one():
    model = SCSC(**SMALL).fit(images())
    samples = [x[: 14 - i % 3] for i, x in enumerate(images(12, seed=5))]
    expected = [model.encode(x).Z for x in samples]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: model.encode(x).Z, samples))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_blas_has_one_thread_inside_and_its_own_number_outside():
    def threads():
        return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}

    before, inside = threads(), []
    cancellation = CallingCancellation(lambda: inside.append(threads()))
    model = SCSC(**SMALL)
    list(model.iter_fit(images(2), cancellation=cancellation))
    assert all(found <= {1} for found in inside)
    assert inside
    assert threads() == before


def test_blas_has_one_thread_in_a_worker_too():
    """Also after the main thread has asked for it: the limit does not belong to who came first."""

    def threads():
        with single_threaded():
            return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}

    threads()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads).result() <= {1}


@pytest.mark.parametrize("filters", ["orthonormal", "ball"])
def test_others_see_only_finished_filters(monkeypatch, filters):
    """Whoever looks while the filter step runs sees the filters of before."""
    model = SCSC(**SMALL, filters=filters).fit(images()[:2])
    seen = []
    kind = type(model._state.step)
    step = kind.update

    def watched(self, history):
        seen.append(model.bank.id)
        step(self, history)
        seen.append(model.bank.id)

    before = model.bank.id
    monkeypatch.setattr(kind, "update", watched)
    model.partial_fit(images()[2])
    assert seen == [before, before]
    assert model.bank.id != before


@pytest.mark.parametrize(
    ("filters", "part"),
    [("orthonormal", "orthonormal_step.project_orthonormal"), ("ball", "filter_step.invert")],
)
def test_interrupted_filter_step_leaves_a_usable_model(monkeypatch, filters, part):
    samples = images()
    model = SCSC(**SMALL, filters=filters, forget=0).fit(samples[:2])
    before = model.bank.id
    with monkeypatch.context() as patched:
        patched.setattr(f"napari_scsc.model.solver.{part}", _out_of_memory)
        with pytest.raises(MemoryError):
            model.partial_fit(samples[2])
    assert model.bank.id == before
    assert model.n_seen == model._state.history.count == 3
    model.partial_fit(samples[3])
    assert np.isfinite(model.bank.filters).all()


def _out_of_memory(*_):
    raise MemoryError


def test_double_precision_agrees_with_single():
    single = SCSC(**SMALL).fit(images()).bank.filters
    double = SCSC(**SMALL, dtype="float64").fit(images()).bank.filters
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=5e-3)
