"""What the dock does in which state, without a window."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from napari_scsc.errors import UserError
from napari_scsc.plugin.controller import (
    TRANSITIONS,
    Action,
    Controller,
    Ending,
    Event,
    Request,
    State,
    Task,
)

AT_WORK = (State.LEARNING, State.LEARNING_FIRST, State.RESTORING)


@dataclass
class Work:
    task: Task
    name: str = ""


@dataclass
class Runner:
    """Remembers what it was told; a job that is stopped ends only when the test says so."""

    log: list = field(default_factory=list)
    running: Work | None = None

    def start(self, work):
        assert self.running is None, "two jobs at a time"
        self.running = work
        self.log.append(("start", work.name or work.task.name))

    def stop(self):
        assert self.running is not None
        self.log.append(("stop",))

    def hold(self, held):
        assert self.running is not None
        self.log.append(("hold" if held else "go on",))

    def finish(self, work, outcome):
        self.log.append(("finish", work.name or work.task.name, outcome))

    def fail(self, error):
        self.log.append(("fail", str(error)))


class Bench:
    """A controller with a runner, and words for what the dock asks of it."""

    def __init__(self):
        self.runner = Runner()
        self.states = []
        self.controller = Controller(self.runner, lambda: self.states.append(self.controller.state))

    @property
    def state(self):
        return self.controller.state

    @property
    def log(self):
        return self.runner.log

    def ask(self, task, name=""):
        self.controller.ask(Request(task, lambda: Work(task, name)))

    def learn_and_restore(self):
        self.controller.ask(
            Request(Task.RESTORE, lambda: Work(Task.RESTORE)),
            first=Request(Task.LEARN, lambda: Work(Task.LEARN)),
        )

    def end(self, ending=Ending.DONE):
        self.runner.running = None
        self.controller.job_ended(ending, ending.name)


@pytest.fixture
def bench():
    return Bench()


# --- the table ---------------------------------------------------------------------------------


def test_every_state_is_reached_and_left():
    assert {state for state, _ in TRANSITIONS.values()} == set(State)
    assert {state for state, _ in TRANSITIONS} == set(State)


def test_everything_can_be_stopped_and_leads_back_to_idle():
    for state in State:
        stopped, _ = TRANSITIONS[state, Event.STOP]
        if stopped is not State.IDLE:
            stopped, _ = TRANSITIONS[stopped, Event.BROKE_OFF]
        assert stopped is State.IDLE


def test_a_job_can_end_in_every_state_that_it_runs_in():
    """Also while it is being stopped: it may have been done already."""
    for state, event in product((*AT_WORK, State.STOPPING), (Event.DONE, Event.BROKE_OFF)):
        after, _ = TRANSITIONS[state, event]
        assert after is State.IDLE


def test_nothing_starts_while_something_runs():
    for (state, _), (_, action) in TRANSITIONS.items():
        if action in (Action.START, Action.START_FIRST):
            assert state is State.IDLE


def test_reset_is_for_the_idle_alone():
    assert {state for state, event in TRANSITIONS if event is Event.RESET} == {State.IDLE}


# --- one task ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", Ending)
@pytest.mark.parametrize(
    ("task", "state"), [(Task.LEARN, State.LEARNING), (Task.RESTORE, State.RESTORING)]
)
def test_task_runs_and_ends(bench, task, state, ending):
    bench.ask(task)
    assert bench.state is state
    assert bench.controller.is_busy
    bench.end(ending)
    assert bench.state is State.IDLE
    assert bench.log == [("start", task.name), ("finish", task.name, ending.name)]


def test_dock_is_idle_when_the_end_of_a_job_is_shown(bench):
    seen = []
    bench.runner.finish = lambda _work, _outcome: seen.append(bench.state)
    bench.ask(Task.RESTORE)
    bench.end()
    assert seen == [State.IDLE]


def test_what_cannot_be_prepared_changes_nothing(bench):
    def refuse():
        raise UserError("no layer")

    with pytest.raises(UserError, match="no layer"):
        bench.controller.ask(Request(Task.RESTORE, refuse))
    assert bench.state is State.IDLE
    assert not bench.log
    assert not bench.states


def test_what_is_refused_is_not_even_prepared(bench):
    bench.ask(Task.RESTORE)
    with pytest.raises(UserError):
        bench.controller.ask(Request(Task.RESTORE, lambda: pytest.fail("prepared")))


@pytest.mark.parametrize(("first", "then"), list(product(Task, Task)))
def test_second_job_is_refused_with_what_to_do(bench, first, then):
    bench.ask(first)
    with pytest.raises(UserError, match="stop"):
        bench.ask(then)
    assert bench.log == [("start", first.name)]


def test_busy_dock_cannot_be_reset(bench):
    bench.controller.check(Event.RESET)
    bench.ask(Task.LEARN)
    with pytest.raises(UserError, match="stop"):
        bench.controller.check(Event.RESET)


# --- filters first -----------------------------------------------------------------------------


def test_restoration_waits_for_the_filters_it_needs(bench):
    bench.learn_and_restore()
    assert bench.state is State.LEARNING_FIRST
    bench.end()
    assert bench.state is State.RESTORING
    assert bench.log == [("start", "LEARN"), ("finish", "LEARN", "DONE"), ("start", "RESTORE")]


@pytest.mark.parametrize("ending", [Ending.STOPPED, Ending.FAILED])
def test_restoration_does_not_follow_learning_that_broke_off(bench, ending):
    bench.learn_and_restore()
    bench.end(ending)
    assert bench.state is State.IDLE
    assert ("start", "RESTORE") not in bench.log
    assert bench.controller.waiting is None


def test_what_waited_and_cannot_start_is_told(bench):
    def refuse():
        raise UserError("the layer is gone")

    bench.controller.ask(
        Request(Task.RESTORE, refuse), first=Request(Task.LEARN, lambda: Work(Task.LEARN))
    )
    bench.end()
    assert bench.state is State.IDLE
    assert bench.log[-1] == ("fail", "the layer is gone")


# --- stop and pause ----------------------------------------------------------------------------


def test_stop_forgets_what_waits(bench):
    bench.learn_and_restore()
    bench.controller.stop()
    bench.end(Ending.DONE)  # it was done before it could be stopped
    assert bench.state is State.IDLE
    assert ("start", "RESTORE") not in bench.log


def test_stop_twice_stops_once(bench):
    bench.ask(Task.LEARN)
    bench.controller.stop()
    bench.controller.stop()
    assert bench.log.count(("stop",)) == 1


def test_stop_of_nothing_does_nothing(bench):
    bench.controller.stop()
    assert bench.state is State.IDLE
    assert not bench.log


def test_pause_holds_what_runs_and_lets_it_go_on(bench):
    bench.ask(Task.RESTORE)
    bench.controller.pause()
    assert bench.controller.is_paused
    bench.controller.pause()
    assert not bench.controller.is_paused
    assert bench.log[1:] == [("hold",), ("go on",)]


def test_pause_of_nothing_does_nothing(bench):
    bench.controller.pause()
    assert not bench.controller.is_paused
    assert not bench.log


def test_stop_ends_a_pause(bench):
    bench.ask(Task.RESTORE)
    bench.controller.pause()
    bench.controller.stop()
    assert not bench.controller.is_paused
    bench.controller.pause()  # what is about to stop is left alone
    assert not bench.controller.is_paused


def test_next_job_is_not_held_because_the_one_before_was(bench):
    bench.learn_and_restore()
    bench.controller.pause()
    bench.end()
    assert not bench.controller.is_paused


# --- whatever happens --------------------------------------------------------------------------

MOVES = st.one_of(
    st.sampled_from([*Task, "both", "stop", "pause"]),
    st.sampled_from(Ending),
)


@given(st.lists(MOVES, max_size=30))
def test_state_and_jobs_agree_whatever_is_asked_for_and_whenever_jobs_end(moves):
    bench = Bench()
    for move in moves:
        if isinstance(move, Ending):
            if bench.runner.running is not None:
                bench.end(move)
        elif move == "stop":
            bench.controller.stop()
        elif move == "pause":
            bench.controller.pause()
        else:
            with suppress(UserError):
                bench.learn_and_restore() if move == "both" else bench.ask(move)
        assert (bench.runner.running is not None) == bench.controller.is_busy
        assert (bench.controller.waiting is not None) == (bench.state is State.LEARNING_FIRST)
        assert not bench.controller.is_paused or bench.state in AT_WORK


def test_every_refusal_says_what_to_do():
    for state, event in product(State, (Event.LEARN, Event.RESTORE, Event.RESET)):
        bench = Bench()
        bench.controller.state = state
        refusal = bench.controller.refusal(event)
        assert bool(refusal) == (state is not State.IDLE)
        assert not refusal or "stop" in refusal


def test_controller_needs_no_qt():
    code = "import sys, napari_scsc.plugin.controller; print('qtpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
