"""Work units: kept, resumed, and counted once."""

import pytest

from laboratory import work_units
from laboratory.command_line import gather_rows
from laboratory.work_units import UnitStore, WorkUnit, expected_seconds, run_units, unique_units


def test_a_unit_that_two_experiments_want_is_one():
    same = [WorkUnit("learning", "SCSC", "fruit", 0) for _ in range(2)]
    assert unique_units(same) == same[:1]


def test_settings_make_another_unit():
    first, second = (WorkUnit("learning", "SCSC", "fruit", 0, {"K": k}) for k in (50, 100))
    assert first.key != second.key


@pytest.fixture
def plan():
    return [WorkUnit("stand_in", "SCSC", "fruit", seed, {"K": 5}) for seed in range(3)]


@pytest.fixture
def measured(monkeypatch):
    """Units are measured here and at once; the seeds that were."""
    seeds = []

    def outcomes(units, folder, workers):
        for unit in units:
            seeds.append(unit.seed)
            yield unit, ([{**unit.labels, "psnr": 20 + unit.seed / 3}], 0.5)

    monkeypatch.setattr(work_units, "_outcomes", outcomes)
    return seeds


def quiet(_):
    pass


def test_finished_units_are_not_measured_again(tmp_path, plan, measured):
    store = UnitStore(tmp_path)
    run_units(plan[:2], store, None, say=quiet)
    first, _ = gather_rows(plan, store, {})
    run_units(plan, store, None, say=quiet)
    again, missing = gather_rows(plan, store, {})
    assert measured == [0, 1, 2]
    assert again[:2] == first
    assert len(again) == 3
    assert not missing


def test_without_jobs_nothing_is_measured(tmp_path, plan, measured):
    run_units(plan, UnitStore(tmp_path), None, jobs=0, say=quiet)
    assert measured == []


def test_fresh_forgets(tmp_path, plan, measured):
    store = UnitStore(tmp_path)
    run_units(plan[:1], store, None, say=quiet)
    store.forget(plan[0])
    run_units(plan[:1], store, None, say=quiet)
    assert measured == [0, 0]


def test_a_unit_that_fails_stops_no_other(tmp_path, plan, monkeypatch):
    def outcomes(units, folder, workers):
        for unit in units:
            yield unit, MemoryError("too large") if unit.seed == 1 else ([unit.labels], 1.0)

    monkeypatch.setattr(work_units, "_outcomes", outcomes)
    store = UnitStore(tmp_path)
    failed = run_units(plan, store, None, say=quiet)
    rows, missing = gather_rows(plan, store, failed)
    assert [row["seed"] for row in rows] == [0, 2]
    assert missing == {"SCSC, fruit, K 5, seed 1": "MemoryError: too large"}


def test_how_long_it_takes_is_known_from_like_units(tmp_path, plan):
    store = UnitStore(tmp_path)
    assert expected_seconds(plan, store, jobs=1) == sum(unit.guessed_seconds for unit in plan)
    store.keep(plan[0], [], 7.0)
    assert expected_seconds(plan, store, jobs=1) == 21
    assert expected_seconds(plan, store, jobs=2) == 10.5
