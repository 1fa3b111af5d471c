"""What the dock is doing, without Qt: a state, what each event does in it, and a queue.

At most two jobs run at a time, one that learns and one that restores: a restoration, or a preview.
The controller says what may begin, in which order, and what waits; a ``JobRunner`` does it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from napari_scsc.errors import UserError


class Lane(Enum):
    """Where a job runs; each lane has room for one."""

    LEARN = auto()
    RESTORE = auto()


class Task(Enum):
    """What the user can ask for, with the lane that it runs in."""

    LEARN = ("learn", Lane.LEARN)
    RESTORE = ("restore", Lane.RESTORE)
    PREVIEW = ("preview", Lane.RESTORE)

    @property
    def lane(self) -> Lane:
        """Where it runs."""
        return self.value[1]


class Ending(Enum):
    """How a job ended."""

    DONE = auto()
    STOPPED = auto()
    FAILED = auto()


class State(Enum):
    """What the dock is doing, with the lanes whose jobs are at work and not about to stop.

    ``LEARNING_FIRST`` has a restoration in the queue that uses the filters; the states that end in
    ``AGAIN`` have a preview there, and wait for the one before to stop.
    """

    IDLE = ("idle", ())
    LEARNING = ("learning", (Lane.LEARN,))
    LEARNING_FIRST = ("learning first", (Lane.LEARN,))
    RESTORING = ("restoring", (Lane.RESTORE,))
    PREVIEWING = ("previewing", (Lane.RESTORE,))
    PREVIEWING_AGAIN = ("previewing again", ())
    LEARNING_AND_RESTORING = ("learning and restoring", tuple(Lane))
    LEARNING_AND_PREVIEWING = ("learning and previewing", tuple(Lane))
    LEARNING_AND_PREVIEWING_AGAIN = ("learning and previewing again", (Lane.LEARN,))
    STOPPING = ("stopping", ())
    STOPPING_BOTH = ("stopping both", ())

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Lanes whose jobs can be held."""
        lanes: tuple[Lane, ...] = self.value[1]
        return lanes


class Event(Enum):
    """What can happen. ``LEARN_FIRST`` asks for a restoration with filters still to be learned."""

    LEARN = auto()
    LEARN_FIRST = auto()
    RESTORE = auto()
    PREVIEW = auto()
    STOP = auto()
    RESET = auto()
    LEARNED = auto()
    LEARNING_BROKE_OFF = auto()
    RESTORED = auto()


class Action(Enum):
    """What the controller does on the way into a state."""

    NOTHING = auto()
    START = auto()
    """Start what was asked for."""
    START_FIRST = auto()
    """Start learning; what was asked for waits."""
    WAIT = auto()
    """What was asked for waits, in the place of what waited before."""
    REPLACE = auto()
    """Stop the preview; what was asked for waits for that."""
    STOP = auto()
    """Stop every job, and forget what waits."""
    START_NEXT = auto()
    """Ask again for what waits, from the new state."""
    FORGET = auto()
    """Forget what waits: there is nothing to wait for any more."""


S, E, A = State, Event, Action  # for the table alone

TRANSITIONS: dict[tuple[State, Event], tuple[State, Action]] = {
    (S.IDLE, E.LEARN): (S.LEARNING, A.START),
    (S.IDLE, E.LEARN_FIRST): (S.LEARNING_FIRST, A.START_FIRST),
    (S.IDLE, E.RESTORE): (S.RESTORING, A.START),
    (S.IDLE, E.PREVIEW): (S.PREVIEWING, A.START),
    (S.IDLE, E.STOP): (S.IDLE, A.NOTHING),
    (S.IDLE, E.RESET): (S.IDLE, A.NOTHING),
    (S.LEARNING, E.LEARN_FIRST): (S.LEARNING_FIRST, A.WAIT),
    (S.LEARNING, E.RESTORE): (S.LEARNING_AND_RESTORING, A.START),
    (S.LEARNING, E.PREVIEW): (S.LEARNING_AND_PREVIEWING, A.START),
    (S.LEARNING, E.STOP): (S.STOPPING, A.STOP),
    (S.LEARNING, E.LEARNED): (S.IDLE, A.NOTHING),
    (S.LEARNING, E.LEARNING_BROKE_OFF): (S.IDLE, A.NOTHING),
    (S.LEARNING_FIRST, E.STOP): (S.STOPPING, A.STOP),
    (S.LEARNING_FIRST, E.LEARNED): (S.IDLE, A.START_NEXT),
    (S.LEARNING_FIRST, E.LEARNING_BROKE_OFF): (S.IDLE, A.FORGET),
    (S.RESTORING, E.LEARN): (S.LEARNING_AND_RESTORING, A.START),
    (S.RESTORING, E.STOP): (S.STOPPING, A.STOP),
    (S.RESTORING, E.RESTORED): (S.IDLE, A.NOTHING),
    (S.PREVIEWING, E.LEARN): (S.LEARNING_AND_PREVIEWING, A.START),
    (S.PREVIEWING, E.PREVIEW): (S.PREVIEWING_AGAIN, A.REPLACE),
    (S.PREVIEWING, E.STOP): (S.STOPPING, A.STOP),
    (S.PREVIEWING, E.RESTORED): (S.IDLE, A.NOTHING),
    (S.PREVIEWING_AGAIN, E.LEARN): (S.LEARNING_AND_PREVIEWING_AGAIN, A.START),
    (S.PREVIEWING_AGAIN, E.PREVIEW): (S.PREVIEWING_AGAIN, A.WAIT),
    (S.PREVIEWING_AGAIN, E.STOP): (S.STOPPING, A.STOP),
    (S.PREVIEWING_AGAIN, E.RESTORED): (S.IDLE, A.START_NEXT),
    (S.LEARNING_AND_RESTORING, E.STOP): (S.STOPPING_BOTH, A.STOP),
    (S.LEARNING_AND_RESTORING, E.LEARNED): (S.RESTORING, A.NOTHING),
    (S.LEARNING_AND_RESTORING, E.LEARNING_BROKE_OFF): (S.RESTORING, A.NOTHING),
    (S.LEARNING_AND_RESTORING, E.RESTORED): (S.LEARNING, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING, E.PREVIEW): (S.LEARNING_AND_PREVIEWING_AGAIN, A.REPLACE),
    (S.LEARNING_AND_PREVIEWING, E.STOP): (S.STOPPING_BOTH, A.STOP),
    (S.LEARNING_AND_PREVIEWING, E.LEARNED): (S.PREVIEWING, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING, E.LEARNING_BROKE_OFF): (S.PREVIEWING, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING, E.RESTORED): (S.LEARNING, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING_AGAIN, E.PREVIEW): (S.LEARNING_AND_PREVIEWING_AGAIN, A.WAIT),
    (S.LEARNING_AND_PREVIEWING_AGAIN, E.STOP): (S.STOPPING_BOTH, A.STOP),
    (S.LEARNING_AND_PREVIEWING_AGAIN, E.LEARNED): (S.PREVIEWING_AGAIN, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING_AGAIN, E.LEARNING_BROKE_OFF): (S.PREVIEWING_AGAIN, A.NOTHING),
    (S.LEARNING_AND_PREVIEWING_AGAIN, E.RESTORED): (S.LEARNING, A.START_NEXT),
    (S.STOPPING, E.STOP): (S.STOPPING, A.NOTHING),
    (S.STOPPING, E.LEARNED): (S.IDLE, A.NOTHING),
    (S.STOPPING, E.LEARNING_BROKE_OFF): (S.IDLE, A.NOTHING),
    (S.STOPPING, E.RESTORED): (S.IDLE, A.NOTHING),
    (S.STOPPING_BOTH, E.STOP): (S.STOPPING_BOTH, A.NOTHING),
    (S.STOPPING_BOTH, E.LEARNED): (S.STOPPING, A.NOTHING),
    (S.STOPPING_BOTH, E.LEARNING_BROKE_OFF): (S.STOPPING, A.NOTHING),
    (S.STOPPING_BOTH, E.RESTORED): (S.STOPPING, A.NOTHING),
}
"""Where an event leads from a state, and what is done. What is not listed is refused."""

_REFUSALS = {
    Event.LEARN: "filters are being learned: stop that first",
    Event.LEARN_FIRST: "a restoration is running: stop it first",
    Event.RESTORE: "a restoration is running: stop it first",
    Event.PREVIEW: "a restoration is running: stop it first",
    Event.RESET: "something is running: stop it first",
}
_WAITING = "a restoration waits for the filters that are being learned: stop it first"
_STOPPING = "what runs is being stopped: wait until it has ended"


class Work(Protocol):
    """A task that is ready to run: a snapshot of the layers and of the fields."""

    @property
    def task(self) -> Task:
        """What it does."""


@dataclass(frozen=True, slots=True)
class Request:
    """A task that was asked for; ``prepare`` makes the work of it when its turn has come."""

    task: Task
    prepare: Callable[[], Work]


class JobRunner(Protocol):
    """Runs jobs for the controller, which must hear of the end of each by ``job_ended``."""

    def start(self, work: Any) -> None:
        """Start a job; the lane of its task is free."""

    def stop(self, lane: Lane) -> None:
        """Have the job of a lane stop soon, also if it is held."""

    def hold(self, lane: Lane, held: bool) -> None:
        """Hold the job of a lane, or let it go on."""

    def finish(self, work: Any, outcome: Any) -> None:
        """Show how a job ended; the controller has left the state that it ran in."""

    def fail(self, error: Exception) -> None:
        """Say that what waited cannot be started."""


class Controller:
    """The state of the dock, what runs and what waits.

    Parameters
    ----------
    runner : JobRunner
        Does what the controller decides.
    changed : function
        Called after every change of the state, and of whether jobs are held.
    """

    def __init__(self, runner: JobRunner, changed: Callable[[], None]) -> None:
        self.state = State.IDLE
        self.queue: deque[Request] = deque()
        self._runner = runner
        self._changed = changed
        self._running: dict[Lane, Work] = {}
        self._held: set[Lane] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a job is running, held or not."""
        return self.state is not State.IDLE

    @property
    def is_paused(self) -> bool:
        """Whether a job is held."""
        return bool(self._held)

    def refusal(self, event: Event) -> str:
        """Why that cannot be asked for now; empty if it can."""
        if (self.state, event) in TRANSITIONS:
            return ""
        if self.state in (State.STOPPING, State.STOPPING_BOTH):
            return _STOPPING
        return _WAITING if self.state is State.LEARNING_FIRST else _REFUSALS[event]

    def check(self, event: Event) -> None:
        """Raise the refusal of an event, if there is one."""
        refusal = self.refusal(event)
        if refusal:
            raise UserError(refusal)

    def ask(self, request: Request, first: Request | None = None) -> None:
        """Start a task, or let it wait for what runs; UserError says why that cannot be.

        ``first`` is the learning that must come before it.
        """
        event = Event[request.task.name] if first is None else Event.LEARN_FIRST
        self.check(event)
        state, action = TRANSITIONS[self.state, event]
        begun = {Action.START: request, Action.START_FIRST: first}.get(action)
        work = None if begun is None else begun.prepare()  # raises before anything has changed
        if action is not Action.START:
            self.queue.clear()
            self.queue.append(request)
        if action is Action.REPLACE:
            self._held.discard(Lane.RESTORE)
            self._runner.stop(Lane.RESTORE)
        self._enter(state, work)

    def stop(self) -> None:
        """Stop what runs, and forget what waits."""
        state, action = TRANSITIONS[self.state, Event.STOP]
        if action is Action.STOP:
            self.queue.clear()
            self._held.clear()
            for lane in self._running:
                self._runner.stop(lane)
        self._enter(state)

    def pause(self) -> None:
        """Hold what runs, or let it go on; what is about to stop is left alone."""
        held = not self._held
        self._held = set(self.state.lanes) if held else set()
        for lane in self.state.lanes:
            self._runner.hold(lane, held)
        self._changed()

    def job_ended(self, lane: Lane, ending: Ending, outcome: Any) -> None:
        """Leave the state that the job ran in, show how it ended, and start what waited for it."""
        event = Event.RESTORED
        if lane is Lane.LEARN:
            event = Event.LEARNED if ending is Ending.DONE else Event.LEARNING_BROKE_OFF
        work = self._running.pop(lane)
        self._held.discard(lane)
        state, action = TRANSITIONS[self.state, event]
        waiting = self.queue.popleft() if action is Action.START_NEXT else None
        if action is Action.FORGET:
            self.queue.clear()
        self._enter(state)
        self._runner.finish(work, outcome)
        if waiting is not None:
            try:
                self.ask(waiting)
            except Exception as error:  # nobody above could tell the user
                self._runner.fail(error)

    def _enter(self, state: State, work: Work | None = None) -> None:
        self.state = state
        if work is not None:
            self._running[work.task.lane] = work
            self._runner.start(work)
        self._changed()
