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
    Lane,
    Request,
    State,
    Task,
)

ASKED = {Task.LEARN: Event.LEARN, Task.RESTORE: Event.RESTORE, Task.PREVIEW: Event.PREVIEW}


@dataclass
class Work:
    task: Task
    name: str = ""


@dataclass
class Runner:
    """Remembers what it was told; a job that is stopped ends only when the test says so."""

    log: list = field(default_factory=list)
    running: dict = field(default_factory=dict)

    def start(self, work):
        assert work.task.lane not in self.running, "two jobs in one lane"
        self.running[work.task.lane] = work
        self.log.append(("start", work.name or work.task.name))

    def stop(self, lane):
        assert lane in self.running
        self.log.append(("stop", lane.name))

    def hold(self, lane, held):
        assert lane in self.running
        self.log.append(("hold" if held else "go on", lane.name))

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

    def end(self, lane, ending=Ending.DONE):
        del self.runner.running[lane]
        self.controller.job_ended(lane, ending, ending.name)


@pytest.fixture
def bench():
    return Bench()


# --- the table ------------------------------------------------------------------------------------


def test_every_state_is_reached_and_left():
    reached = {state for state, _ in TRANSITIONS.values()}
    assert reached == set(State)
    assert {state for state, _ in TRANSITIONS} == set(State)


def test_everything_can_be_stopped_and_leads_back_to_idle():
    ends = (Event.LEARNED, Event.RESTORED)
    for state in State:
        stopped, _ = TRANSITIONS[state, Event.STOP]
        for _ in range(2):
            if stopped is not State.IDLE:
                stopped, _ = TRANSITIONS[
                    stopped, next(e for e in ends if (stopped, e) in TRANSITIONS)
                ]
        assert stopped is State.IDLE


def test_a_job_can_end_in_every_state_that_it_runs_in():
    """Also while it is being stopped: it may have been done already."""
    for state in State:
        for lane in state.lanes:
            ends = (
                (Event.LEARNED, Event.LEARNING_BROKE_OFF)
                if lane is Lane.LEARN
                else (Event.RESTORED,)
            )
            for event in ends:
                after, _ = TRANSITIONS[state, event]
                assert lane not in after.lanes


def test_nothing_starts_in_a_lane_that_is_taken():
    for (state, event), (_, action) in TRANSITIONS.items():
        if action is Action.START:
            assert Task[event.name].lane not in state.lanes


def test_reset_is_for_the_idle_alone():
    assert [state for state, event in TRANSITIONS if event is Event.RESET] == [State.IDLE]


# --- one task -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "state"),
    [
        (Task.LEARN, State.LEARNING),
        (Task.RESTORE, State.RESTORING),
        (Task.PREVIEW, State.PREVIEWING),
    ],
)
@pytest.mark.parametrize("ending", Ending)
def test_task_runs_and_ends(bench, task, state, ending):
    bench.ask(task)
    assert bench.state is state
    assert bench.controller.is_busy
    bench.end(task.lane, ending)
    assert bench.state is State.IDLE
    assert not bench.controller.is_busy
    assert bench.log == [("start", task.name), ("finish", task.name, ending.name)]
    assert bench.states == [state, State.IDLE]


def test_dock_is_idle_when_the_end_of_a_job_is_shown(bench):
    """The buttons are those of the state after it."""
    seen = []
    bench.runner.finish = lambda work, outcome: seen.append(bench.state)
    bench.ask(Task.RESTORE)
    bench.end(Lane.RESTORE)
    assert seen == [State.IDLE]


def test_what_cannot_be_prepared_changes_nothing(bench):
    def prepare():
        raise ValueError("open an image first")

    for task in Task:
        with pytest.raises(ValueError, match="open an image"):
            bench.controller.ask(Request(task, prepare))
    assert bench.state is State.IDLE
    assert bench.log == []
    assert bench.states == []


def test_what_is_refused_is_not_even_prepared(bench):
    bench.ask(Task.RESTORE)
    prepared = []
    with pytest.raises(UserError, match="stop it first"):
        bench.controller.ask(Request(Task.RESTORE, lambda: prepared.append(1)))
    assert not prepared


# --- two tasks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "state"),
    [
        (Task.RESTORE, State.LEARNING_AND_RESTORING),
        (Task.PREVIEW, State.LEARNING_AND_PREVIEWING),
    ],
)
def test_learning_and_restoring_run_at_the_same_time_in_any_order(task, state):
    for order in ((Task.LEARN, task), (task, Task.LEARN)):
        for ends in ((Lane.LEARN, Lane.RESTORE), (Lane.RESTORE, Lane.LEARN)):
            bench = Bench()
            for one in order:
                bench.ask(one)
            assert bench.state is state
            for lane in ends:
                bench.end(lane)
            assert bench.state is State.IDLE


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (Task.LEARN, Task.LEARN),
        (Task.RESTORE, Task.RESTORE),
        (Task.RESTORE, Task.PREVIEW),
        (Task.PREVIEW, Task.RESTORE),
    ],
)
def test_lane_that_is_taken_is_refused_with_what_to_do(bench, first, then):
    bench.ask(first)
    before = bench.state
    assert "stop" in bench.controller.refusal(ASKED[then])
    with pytest.raises(UserError, match="stop"):
        bench.ask(then)
    assert bench.state is before
    assert bench.log == [("start", first.name)]


def test_busy_dock_cannot_be_reset(bench):
    bench.controller.check(Event.RESET)
    for task in Task:
        bench.ask(task)
        with pytest.raises(UserError, match="stop it first"):
            bench.controller.check(Event.RESET)
        bench.end(task.lane)
    bench.controller.check(Event.RESET)


# --- learning first -------------------------------------------------------------------------------


def test_restoration_waits_for_the_filters_it_needs(bench):
    bench.learn_and_restore()
    assert bench.state is State.LEARNING_FIRST
    assert [request.task for request in bench.controller.queue] == [Task.RESTORE]
    bench.end(Lane.LEARN)
    assert bench.state is State.RESTORING
    assert not bench.controller.queue
    assert bench.log == [("start", "LEARN"), ("finish", "LEARN", "DONE"), ("start", "RESTORE")]


@pytest.mark.parametrize("ending", [Ending.STOPPED, Ending.FAILED])
def test_restoration_does_not_follow_learning_that_broke_off(bench, ending):
    bench.learn_and_restore()
    bench.end(Lane.LEARN, ending)
    assert bench.state is State.IDLE
    assert not bench.controller.queue
    assert ("start", "RESTORE") not in bench.log


def test_restoration_joins_the_learning_that_runs_already(bench):
    bench.ask(Task.LEARN)
    bench.learn_and_restore()
    assert bench.state is State.LEARNING_FIRST
    assert bench.log == [("start", "LEARN")]
    bench.end(Lane.LEARN)
    assert bench.state is State.RESTORING


def test_nothing_else_starts_while_a_restoration_waits(bench):
    bench.learn_and_restore()
    for task in Task:
        with pytest.raises(UserError, match="waits"):
            bench.ask(task)
    with pytest.raises(UserError, match="waits"):
        bench.learn_and_restore()


def test_what_waited_and_cannot_start_is_told(bench):
    def prepare():
        raise ValueError("the layer is gone")

    bench.controller.ask(
        Request(Task.RESTORE, prepare), first=Request(Task.LEARN, lambda: Work(Task.LEARN))
    )
    bench.end(Lane.LEARN)
    assert bench.state is State.IDLE
    assert bench.log[-1] == ("fail", "the layer is gone")


# --- previews -------------------------------------------------------------------------------------


def test_preview_that_is_asked_for_again_stops_the_one_before(bench):
    bench.ask(Task.PREVIEW, "first")
    bench.ask(Task.PREVIEW, "second")
    bench.ask(Task.PREVIEW, "third")
    assert bench.state is State.PREVIEWING_AGAIN
    assert bench.log == [("start", "first"), ("stop", "RESTORE")]
    bench.end(Lane.RESTORE, Ending.STOPPED)
    assert bench.state is State.PREVIEWING
    assert bench.log[2:] == [("finish", "first", "STOPPED"), ("start", "third")]
    bench.end(Lane.RESTORE)
    assert bench.state is State.IDLE


def test_preview_is_made_again_beside_learning(bench):
    bench.ask(Task.LEARN)
    bench.ask(Task.PREVIEW, "first")
    bench.ask(Task.PREVIEW, "second")
    assert bench.state is State.LEARNING_AND_PREVIEWING_AGAIN
    bench.end(Lane.RESTORE, Ending.STOPPED)
    assert bench.state is State.LEARNING_AND_PREVIEWING
    assert bench.log[-1] == ("start", "second")
    assert ("stop", "LEARN") not in bench.log


def test_learning_that_ends_while_a_preview_is_replaced_takes_nothing_away(bench):
    bench.ask(Task.LEARN)
    bench.ask(Task.PREVIEW, "first")
    bench.ask(Task.PREVIEW, "second")
    bench.end(Lane.LEARN)
    assert bench.state is State.PREVIEWING_AGAIN
    bench.end(Lane.RESTORE, Ending.STOPPED)
    assert bench.log[-1] == ("start", "second")


# --- stop -----------------------------------------------------------------------------------------


def test_stop_forgets_what_waits(bench):
    for ask in (bench.learn_and_restore, lambda: [bench.ask(Task.PREVIEW) for _ in range(2)]):
        ask()
        bench.controller.stop()
        assert bench.state is State.STOPPING
        assert not bench.controller.queue
        (lane,) = bench.runner.running
        bench.end(lane, Ending.STOPPED)
        assert bench.state is State.IDLE


def test_stop_stops_both_lanes_and_waits_for_both(bench):
    bench.ask(Task.LEARN)
    bench.ask(Task.RESTORE)
    bench.controller.stop()
    assert bench.state is State.STOPPING_BOTH
    assert bench.log[2:] == [("stop", "LEARN"), ("stop", "RESTORE")]
    for task in Task:
        with pytest.raises(UserError, match="being stopped"):
            bench.ask(task)
    bench.end(Lane.RESTORE, Ending.STOPPED)
    assert bench.state is State.STOPPING
    assert bench.controller.is_busy
    bench.end(Lane.LEARN, Ending.DONE)  # it was done before it could be stopped
    assert bench.state is State.IDLE


def test_stop_twice_stops_once(bench):
    bench.ask(Task.LEARN)
    bench.controller.stop()
    bench.controller.stop()
    assert bench.log == [("start", "LEARN"), ("stop", "LEARN")]
    bench.controller.stop()


def test_stop_of_nothing_does_nothing(bench):
    bench.controller.stop()
    assert bench.state is State.IDLE
    assert bench.log == []


# --- pause ----------------------------------------------------------------------------------------


def test_pause_holds_what_runs_and_lets_it_go_on(bench):
    bench.ask(Task.LEARN)
    bench.ask(Task.RESTORE)
    bench.controller.pause()
    assert bench.controller.is_paused
    assert bench.controller.is_busy
    bench.controller.pause()
    assert not bench.controller.is_paused
    assert bench.log[2:] == [
        ("hold", "LEARN"),
        ("hold", "RESTORE"),
        ("go on", "LEARN"),
        ("go on", "RESTORE"),
    ]


def test_pause_of_nothing_does_nothing(bench):
    bench.controller.pause()
    assert not bench.controller.is_paused


def test_stop_ends_a_pause(bench):
    bench.ask(Task.RESTORE)
    bench.controller.pause()
    bench.controller.stop()
    assert not bench.controller.is_paused
    bench.controller.pause()  # what is about to stop is not held
    assert not bench.controller.is_paused
    assert bench.log == [("start", "RESTORE"), ("hold", "RESTORE"), ("stop", "RESTORE")]


def test_preview_that_is_held_and_asked_for_again_is_not_held_any_more(bench):
    bench.ask(Task.PREVIEW)
    bench.controller.pause()
    bench.ask(Task.PREVIEW)
    assert not bench.controller.is_paused


# --- whatever happens -----------------------------------------------------------------------------

MOVES = st.one_of(
    st.sampled_from(Task),
    st.sampled_from(["learn and restore", "stop", "pause"]),
    st.tuples(st.sampled_from(Lane), st.sampled_from(Ending)),
)


@given(st.lists(MOVES, max_size=40))
def test_lanes_and_state_agree_whatever_is_asked_for_and_whenever_jobs_end(moves):
    bench = Bench()
    for move in moves:
        if isinstance(move, Task) or move == "learn and restore":
            with suppress(UserError):
                bench.ask(move) if isinstance(move, Task) else bench.learn_and_restore()
        elif isinstance(move, tuple):
            if move[0] in bench.runner.running:
                bench.end(*move)
        else:
            (bench.controller.stop if move == "stop" else bench.controller.pause)()
        assert bench.controller.is_busy == bool(bench.runner.running)
        assert set(bench.state.lanes) <= set(bench.runner.running)
        assert len(bench.controller.queue) <= 1
        assert bench.controller.queue == type(bench.controller.queue)() or bench.runner.running
    bench.controller.stop()
    for lane in tuple(bench.runner.running):
        bench.end(lane, Ending.STOPPED)
    assert bench.state is State.IDLE


def test_every_refusal_says_what_to_do():
    for state, event in product(State, ASKED.values()):
        bench = Bench()
        bench.controller.state = state
        refusal = bench.controller.refusal(event)
        assert bool(refusal) == ((state, event) not in TRANSITIONS)
        assert not refusal or "stop" in refusal


def test_controller_needs_no_qt():
    code = (
        "import sys, napari_scsc.plugin.controller\n"
        "print(*sorted({'napari', 'qtpy', 'magicgui', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
