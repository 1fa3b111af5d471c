"""pyFFTW and numba may be missing: what stands in for them gives the same result."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from napari_scsc import SCSC
from napari_scsc.model.solver import fft, kernels
from napari_scsc.model.solver.fft import RealFFT, fast_length


def learn(n_joint=0, **changes):
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((3, *[2] * n_joint, 20, 18))
    arguments = {
        "n_base": 3,
        "n_filters": 6,
        "filter_shape": (5, 4),
        "n_joint": n_joint,
        "max_iter": 15,
        "dtype": "float64",
    }
    return SCSC(**{**arguments, **changes}).fit(samples).bank.filters


@pytest.mark.parametrize("n_joint", [0, 1])
@pytest.mark.parametrize(
    ("variable", "value"), [("NAPARI_SCSC_FFT", "scipy"), ("NAPARI_SCSC_KERNELS", "numpy")]
)
def test_stand_in_learns_the_same_filters(monkeypatch, variable, value, n_joint):
    expected = learn(n_joint)
    monkeypatch.setenv(variable, value)
    assert value in (fft.backend(), kernels.backend())
    np.testing.assert_allclose(learn(n_joint), expected, atol=1e-8)


@pytest.mark.parametrize("missing", ["pyfftw", "numba"])
def test_package_works_without(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import numpy as np\n"
        "from napari_scsc import SCSC\n"
        "x = np.random.default_rng(0).standard_normal((2, 12, 12))\n"
        "model = SCSC(n_base=2, n_filters=4, filter_shape=(3, 3), max_iter=5).fit(x)\n"
        "assert np.isfinite(model.encode(x[0]).reconstruction).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (8, 6), (3, 4, 5), (2, 3, 4, 6)])
def test_planned_fft_equals_numpy(monkeypatch, shape, dtype):
    x = np.random.default_rng(0).standard_normal((3, *shape)).astype(dtype)
    axes = tuple(range(1, len(shape) + 1))
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for name in ("pyfftw", "scipy"):
        monkeypatch.setenv("NAPARI_SCSC_FFT", name)
        plan = RealFFT(3, shape, dtype)
        plan.space[...] = x
        plan.forward()
        np.testing.assert_allclose(plan.spectrum, np.fft.rfftn(x, axes=axes), atol=tolerance)
        plan.inverse()
        np.testing.assert_allclose(plan.space / np.prod(shape), x, atol=tolerance)
        assert plan.space.dtype == dtype


def test_plan_is_remembered_between_processes(tmp_path):
    code = (
        "import numpy as np\n"
        "from napari_scsc.model.solver.fft import RealFFT\n"
        "plan = RealFFT(4, (90, 84), 'float32')\n"
        "plan.space[...] = np.random.default_rng(0).standard_normal(plan.space.shape)\n"
        "plan.forward()\n"
        "print(plan.spectrum.tobytes().hex()[:200000])\n"
    )
    environment = {"NAPARI_SCSC_CACHE": str(tmp_path), "PATH": ""}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        for _ in range(3)
    ]
    assert runs[0] == runs[1] == runs[2]
    assert len(list(tmp_path.iterdir())) == (1 if fft.fftw() is not None else 0)


@pytest.mark.skipif(fft.fftw() is None, reason="pyFFTW is not installed")
@pytest.mark.parametrize("state", ["damaged", "not a folder"])
def test_unusable_memory_of_plans_is_no_error(monkeypatch, tmp_path, state):
    cache = tmp_path / "cache"
    if state == "damaged":
        monkeypatch.setenv("NAPARI_SCSC_CACHE", str(cache))
        RealFFT(2, (10, 12), "float32")
        for file in cache.iterdir():
            file.write_bytes(b"(fftw-3.3 nonsense")
    else:
        cache.write_text("in the way")
        monkeypatch.setenv("NAPARI_SCSC_CACHE", str(cache / "below"))
    plan = RealFFT(2, (10, 12), "float32")
    plan.space[...] = 1
    plan.forward()
    assert plan.spectrum[0, 0, 0] == pytest.approx(120)


@pytest.mark.skipif(fft.fftw() is None, reason="pyFFTW is not installed")
def test_plans_of_others_are_not_forgotten(monkeypatch, tmp_path):
    monkeypatch.setenv("NAPARI_SCSC_CACHE", str(tmp_path))
    array = fft.fftw().empty_aligned((30, 21), "complex64")
    fft.fftw().FFTW(array, array.copy(), flags=("FFTW_MEASURE",))
    before = fft.fftw().export_wisdom()
    RealFFT(2, (22, 20), "float32")
    assert fft.fftw().export_wisdom() == before


def test_fast_lengths_are_even_and_smooth():
    for n in range(2, 700):
        length = fast_length(n)
        assert length >= n
        assert length % 2 == 0
        for prime in (2, 3, 5, 7):
            while length % prime == 0:
                length //= prime
        assert length == 1
    assert fast_length(1) == 1
