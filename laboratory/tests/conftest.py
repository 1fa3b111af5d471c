"""What the tests of the laboratory run under."""

import atexit
import os
import shutil
import tempfile

import dask
import pytest

# FFT plans are remembered: the tests have a memory of their own, which lasts one run.
_plans = tempfile.mkdtemp(prefix="napari-scsc-laboratory-")
atexit.register(shutil.rmtree, _plans, ignore_errors=True)
os.environ["NAPARI_SCSC_CACHE"] = _plans


@pytest.fixture
def dask_on_one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def data_set():
    """Two training samples and a test sample that look like images."""
    import numpy as np

    from benchmarks.synthetic import sample
    from laboratory.data_sets import DataSet

    images = np.stack([sample((24, 24), seed=seed) for seed in range(3)])
    return DataSet(images[:2], images[2:])
