"""A promise of the time knows the machine, and learns from every job."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from napari_scsc import denoise, iter_denoise
from napari_scsc.cancellation import Cancelled
from napari_scsc.data.axes import PRESETS
from napari_scsc.groups import compiling
from napari_scsc.plugin.jobs import PausableCancellation
from napari_scsc.restore import machine_speed
from napari_scsc.restore.cost import estimate_cost, estimate_reference_cost

AXES = PRESETS["image"]
JOB = machine_speed.name_job(AXES, "denoise", "fast", "scsc")


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """A machine that nothing is known of."""
    monkeypatch.setenv("NAPARI_SCSC_CACHE", str(tmp_path))
    machine_speed.forget()
    yield tmp_path / "speed.json"
    machine_speed.forget()


def promised(shape=(300, 300), quality="fast"):
    return estimate_cost(shape, AXES, "denoise", quality).seconds


def expected(shape=(300, 300), quality="fast"):
    return estimate_reference_cost(shape, AXES, "denoise", quality, "scsc", 1).seconds


def test_machine_that_is_not_known_is_that_of_the_costs():
    assert promised() == expected()


def test_job_that_took_three_times_as_long_is_promised_so():
    machine_speed.correct(JOB, 1.0, 3.0)
    assert promised() == pytest.approx(3 * expected())
    # And so are others, until they have told themselves.
    assert promised(quality="balanced") == pytest.approx(3 * expected(quality="balanced"))


def test_promise_follows_a_machine_that_becomes_busy_and_quiet_again():
    for ratio in (1.0, 4.0, 1.0):
        for _ in range(4):
            machine_speed.correct(JOB, 2.0, 2.0 * ratio)
        assert ratio / 1.2 < machine_speed.factor_of(JOB) < 1.2 * ratio


def test_kinds_of_jobs_are_told_apart():
    other = machine_speed.name_job(PRESETS["stack"], "denoise", "fast", "scsc")
    for _ in range(4):
        machine_speed.correct(JOB, 1.0, 1.0)
        machine_speed.correct(other, 1.0, 5.0)
    assert machine_speed.factor_of(JOB) == pytest.approx(1.0)
    assert machine_speed.factor_of(other) == pytest.approx(5.0)


def test_layers_of_results_are_learned_of_by_themselves():
    before = machine_speed.seconds_of_layer()
    for _ in range(4):
        machine_speed.correct_layer(0.5)
    assert machine_speed.seconds_of_layer() == pytest.approx(0.5, rel=0.1)
    assert before < 0.5
    assert promised() == expected()


def test_what_was_learned_is_there_in_the_next_process(file):
    machine_speed.correct(JOB, 1.0, 2.0)
    machine_speed.forget()
    assert machine_speed.factor_of(JOB) == pytest.approx(2.0)
    assert set(json.loads(file.read_text())) == {"machine", JOB}


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"machine": "fast"}', '{"machine": -3e99}'])
def test_file_that_is_damaged_is_as_none(file, text):
    file.write_text(text)
    assert promised() == expected()
    machine_speed.correct(JOB, 1.0, 2.0)
    assert promised() == pytest.approx(2 * expected())


def test_folder_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("NAPARI_SCSC_CACHE", str(tmp_path / "a file" / "folder"))
    machine_speed.correct(JOB, 1.0, 2.0)
    assert promised() == pytest.approx(2 * expected())


def test_short_run_measures_the_machine_once(file):
    machine_speed.measure()
    (factor,) = json.loads(file.read_text()).values()
    assert 0.02 <= factor <= 100
    file.write_text('{"machine": 7}')
    machine_speed.forget()
    machine_speed.measure()
    assert machine_speed.factor_of(JOB) == 7


def noisy(shape=(160, 160)):
    return np.random.default_rng(0).normal(100, 10, shape).astype(np.float32)


def test_job_corrects_the_promise_of_the_next(file):
    compiling.warm_up()
    denoise(noisy((320, 320)), kind="image", quality="balanced", n_jobs=1)
    assert "scsc denoise balanced 2" in json.loads(file.read_text())


def test_job_that_was_cancelled_says_nothing(file):
    compiling.warm_up()
    cancellation = PausableCancellation()
    updates = iter_denoise(noisy(), kind="image", n_jobs=1, cancellation=cancellation)
    next(updates)
    cancellation.cancel()
    with pytest.raises(Cancelled):
        list(updates)
    assert not file.exists()


def test_time_in_which_a_job_was_held_does_not_count():
    cancellation = PausableCancellation()
    assert cancellation.paused_seconds == 0
    cancellation.hold(True)
    waiting = threading.Thread(target=cancellation.check)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    cancellation.hold(False)
    waiting.join()
    held = cancellation.paused_seconds
    assert held >= 0.05
    cancellation.hold(False)  # once more changes nothing
    assert cancellation.paused_seconds == held
