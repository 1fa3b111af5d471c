"""The variants of SCSC and OCSC: fine-tuning, and ADMM for the code."""

from dataclasses import replace

import numpy as np
import pytest

from laboratory.systems import scsc_and_ocsc
from laboratory.systems.interface import shared_coder
from laboratory.tests.planted_filters import (
    convolved,
    model_filters,
    planted_task,
    take_steps,
    total_objective,
)

ORTHONORMAL = "SCSC orthonormal"

pytestmark = pytest.mark.usefixtures("dask_on_one_thread")


@pytest.mark.parametrize("masked", [False, True])
def test_fine_tuning_never_worsens_the_objective_of_its_sample(masked):
    task = planted_task()
    plain = shared_coder(task, task.first_filters())
    tuned = scsc_and_ocsc.FineTuned(plain)
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
    result = scsc_and_ocsc.FineTuned(shared_coder(task, task.first_filters())).encode(
        x, max_iter=100
    )
    error = 0.5 * np.sum((x - result.reconstruction) ** 2, dtype=np.float64)
    expected = error + task.beta * np.abs(result.Z).sum(dtype=np.float64)
    assert result.objective[-1] == pytest.approx(expected, rel=1e-4)
    # The filters that it returns are those of its code.
    made = convolved(result.filters, result.Z, 0)
    np.testing.assert_allclose(made, result.reconstruction, atol=1e-4)


def test_fine_tuning_has_as_many_filters_as_others_have_base_filters():
    task = planted_task(2, (14, 14), support=(3, 3))
    (step,) = take_steps("OCSC fine-tuned", replace(task, n_filters=7, n_base=2), 1)
    assert len(model_filters(step.model)) == 2


def test_orthonormal_filters_are_so_from_the_beginning():
    task = planted_task()
    for step in (
        next(scsc_and_ocsc.scsc_orthonormal_start(task)),
        *take_steps(ORTHONORMAL, task, 3),
    ):
        rows = step.model.bank.filters.reshape(task.n_base, -1)
        np.testing.assert_allclose(rows @ rows.T, np.eye(task.n_base), atol=1e-5)


def test_what_orthonormal_filters_keep_does_not_depend_on_the_size_of_samples():
    kept = {
        take_steps(ORTHONORMAL, planted_task(2, (length, length)), 1)[0].kept_bytes
        for length in (14, 30)
    }
    assert len(kept) == 1


def test_admm_for_the_code_learns_as_well_as_niapg():
    task = planted_task()
    ends = [take_steps(name, task, 16)[-1].model for name in ("SCSC", "SCSC (ADMM code)")]
    ours, theirs = (total_objective(model, task.samples) for model in ends)
    assert theirs == pytest.approx(ours, rel=0.1)
