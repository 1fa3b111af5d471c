"""Rows of work units that learn."""

from types import SimpleNamespace

import dask
import numpy as np
import pytest

from laboratory import learning
from laboratory.data_sets import DataSet
from laboratory.evaluation import EQUAL_SIZE_COLUMNS, NUMBERS_PER_PIXEL
from laboratory.systems import ALL_SYSTEMS, SYSTEMS, UNTRAINED
from laboratory.verdicts import DEFINITIONS
from laboratory.work_units import WorkUnit

SETTINGS = {
    "K": 8,
    "R": 3,
    "support": [5, 5],
    "beta": 0.1,
    "radius": 1.0,
    "budget": 60.0,
    "passes": 1,
    "test_iterations": 60,
    "sparsity_steps": 15,
}


def learned(data_set, system, **changes):
    unit = WorkUnit("learning", system, "synthetic", 0, SETTINGS | changes)
    return learning.learn_and_evaluate(unit, data_set, SYSTEMS[system])


@pytest.mark.parametrize("system", [*DEFINITIONS, "OCSC", "OCSC fine-tuned"])
def test_psnr_at_equal_size_is_between_that_of_smaller_and_larger_codes(data_set, system):
    (row,) = learned(data_set, system)
    assert row["end"]
    (found,) = (row[key] for key in EQUAL_SIZE_COLUMNS)
    assert (found < row["psnr"]) == (row["numbers"] > NUMBERS_PER_PIXEL[0])


def test_rows_have_both_readings_of_equal_beta(data_set):
    (row,) = learned(data_set, "OCSC", sparsity_steps=0)
    assert (row["psnr_unit"], row["objective_unit"]) == (row["psnr"], row["objective"])
    (row,) = learned(data_set, "SCSC", sparsity_steps=0)
    longer = row["length"] > 1
    assert longer
    assert (row["psnr_unit"] < row["psnr"]) == longer
    assert (row["objective_unit"] > row["objective"]) == longer


def test_orthonormal_filters_need_no_correction_of_their_length(data_set):
    (row,) = learned(data_set, "SCSC orthonormal", sparsity_steps=0)
    assert row["length"] == pytest.approx(1, abs=0.01)
    assert (row["psnr_unit"], row["objective_unit"]) == (row["psnr"], row["objective"])


@pytest.mark.parametrize("name", UNTRAINED)
def test_no_learning_is_tested_like_the_others(data_set, name):
    unit = WorkUnit("learning", name, "synthetic", 0, SETTINGS | {"passes": 0})
    (row,) = learning.learn_and_evaluate(unit, data_set, ALL_SYSTEMS[name])
    assert (row["seconds"], row["passes"], row["end"]) == (0, 0, True)
    assert row["psnr_unit"] > 0


def test_objective_of_the_test_is_the_sum_over_its_samples(data_set):
    (row,) = learned(data_set, "OCSC", sparsity_steps=0)
    (twice,) = learned(DataSet(data_set.train, np.repeat(data_set.test, 2, axis=0)), "OCSC")
    assert twice["objective"] == pytest.approx(2 * row["objective"], rel=1e-4)
    assert twice["psnr"] == pytest.approx(row["psnr"], abs=0.01)


def test_curve_ends_with_what_the_plain_run_has(data_set):
    budget = {"budget": 1e-9, "sparsity_steps": 0}  # a pass, whatever it takes
    (plain,) = learned(data_set, "SCSC", **budget)
    *_, last = rows = learned(data_set, "SCSC", curve=True, **budget)
    assert [row["end"] for row in rows[:-1]] == [False] * (len(rows) - 1)
    assert len(rows) > 1
    assert last["psnr"] == plain["psnr"]


def test_end_says_why_it_is_the_end():
    steps = [SimpleNamespace(seconds=s, passes=p) for s, p in ((1, 0.5), (2, 1.0), (3, 1.5))]

    def ends(**settings):
        return [(s.seconds, why) for s, why in learning.steps_until_end(steps, settings) if why]

    assert ends(budget=2) == [(2, "budget")]
    assert ends(budget=1) == [(2, "budget")]  # not before it has seen every sample
    assert ends(budget=9, passes=0.5) == [(1, "passes")]
    assert ends(budget=9) == [(3, "itself")]


def test_blocks_are_no_workers_where_time_is_measured(data_set):
    seen = []

    def system(task):
        seen.append(dask.config.get("scheduler", None))
        yield from ALL_SYSTEMS["no learning (shared)"](task)

    unit = WorkUnit("learning", "", "synthetic", 0, SETTINGS | {"sparsity_steps": 0})
    learning.learn_and_evaluate(unit, data_set, system)
    assert seen == ["synchronous"]
    assert dask.config.get("scheduler", None) is None
