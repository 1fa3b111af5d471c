"""The systems that are in SPORCO."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from laboratory.systems.interface import shared_coder
from laboratory.tests.planted_filters import planted_task, take_steps, total_objective

pytestmark = pytest.mark.usefixtures("dask_on_one_thread")


def test_batch_systems_reach_the_same_objective():
    pytest.importorskip("sporco")
    task = planted_task()
    # SPORCO's samples are periodic and ours are not: with nothing near the border that is the same.
    inner = np.zeros_like(task.samples)
    inner[:, 6:-6, 6:-6] = task.samples[:, 6:-6, 6:-6]
    near = replace(task, samples=inner, noise=0.1)
    iterations = {"CBPDN": 60, "CONSENSUS": 60, "CCSC": 10}
    ends = {name: take_steps(name, near, n)[-1].model for name, n in iterations.items()}
    values = {name: total_objective(model, inner) for name, model in ends.items()}
    start = total_objective(shared_coder(near, near.first_filters()), inner)
    assert max(values.values()) < start
    assert max(values.values()) < 1.05 * min(values.values()), values


@pytest.mark.parametrize("joint", [(), (2,), (2, 3)])
def test_filters_come_back_from_sporco_as_they_went_in(joint):
    pytest.importorskip("sporco")
    sporco_systems = importlib.import_module("laboratory.systems.sporco_systems")
    task = planted_task(2, (10, 11), joint, (3, 4))
    filters = sporco_systems._filters_for_sporco(task)
    assert filters.shape[:2] == (3, 4)
    back = sporco_systems._filters_from_sporco(filters, task)
    np.testing.assert_array_equal(back, task.first_filters())
