"""What the dock is doing, without Qt: a state, what each event does in it, and what waits.

One job runs at a time: it learns, or it restores. The controller says what may begin and what
waits; a ``JobRunner`` does it. The live preview runs beside it, and is no business of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from napari_scsc.errors import UserError


class Task(Enum):
    """What the user can ask for."""

    LEARN = auto()
    RESTORE = auto()


class Ending(Enum):
    """How a job ended."""

    DONE = auto()
    STOPPED = auto()
    FAILED = auto()


class State(Enum):
    """What the dock is doing. ``LEARNING_FIRST``: a restoration waits for the filters."""

    IDLE = auto()
    LEARNING = auto()
    LEARNING_FIRST = auto()
    RESTORING = auto()
    STOPPING = auto()


class Event(Enum):
    """What can happen. ``LEARN_FIRST`` asks for a restoration with filters still to be learned."""

    LEARN = auto()
    LEARN_FIRST = auto()
    RESTORE = auto()
    STOP = auto()
    RESET = auto()
    DONE = auto()
    BROKE_OFF = auto()


class Action(Enum):
    """What the controller does on the way into a state."""

    NOTHING = auto()
    START = auto()
    """Start what was asked for."""
    START_FIRST = auto()
    """Start learning; what was asked for waits."""
    START_NEXT = auto()
    """Ask again for what waits."""
    STOP = auto()
    """Stop the job, and forget what waits."""


S, E, A = State, Event, Action  # for the table alone

TRANSITIONS: dict[tuple[State, Event], tuple[State, Action]] = {
    (S.IDLE, E.LEARN): (S.LEARNING, A.START),
    (S.IDLE, E.LEARN_FIRST): (S.LEARNING_FIRST, A.START_FIRST),
    (S.IDLE, E.RESTORE): (S.RESTORING, A.START),
    (S.IDLE, E.STOP): (S.IDLE, A.NOTHING),
    (S.IDLE, E.RESET): (S.IDLE, A.NOTHING),
    (S.LEARNING, E.STOP): (S.STOPPING, A.STOP),
    (S.LEARNING, E.DONE): (S.IDLE, A.NOTHING),
    (S.LEARNING, E.BROKE_OFF): (S.IDLE, A.NOTHING),
    (S.LEARNING_FIRST, E.STOP): (S.STOPPING, A.STOP),
    (S.LEARNING_FIRST, E.DONE): (S.IDLE, A.START_NEXT),
    (S.LEARNING_FIRST, E.BROKE_OFF): (S.IDLE, A.NOTHING),
    (S.RESTORING, E.STOP): (S.STOPPING, A.STOP),
    (S.RESTORING, E.DONE): (S.IDLE, A.NOTHING),
    (S.RESTORING, E.BROKE_OFF): (S.IDLE, A.NOTHING),
    (S.STOPPING, E.STOP): (S.STOPPING, A.NOTHING),
    (S.STOPPING, E.DONE): (S.IDLE, A.NOTHING),
    (S.STOPPING, E.BROKE_OFF): (S.IDLE, A.NOTHING),
}
"""Where an event leads from a state, and what is done. What is not listed is refused."""

_REFUSALS = {
    State.LEARNING: "filters are being learned: stop that first",
    State.LEARNING_FIRST: "filters are being learned for a restoration: stop that first",
    State.RESTORING: "a restoration is running: stop it first",
    State.STOPPING: "what runs is being stopped: wait until it has ended",
}


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
        """Start a job; none is running."""

    def stop(self) -> None:
        """Have the job stop soon, also if it is held."""

    def hold(self, held: bool) -> None:
        """Hold the job, or let it go on."""

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
        Called after every change of the state, and of whether the job is held.
    """

    def __init__(self, runner: JobRunner, changed: Callable[[], None]) -> None:
        self.state = State.IDLE
        self.waiting: Request | None = None
        self.is_paused = False
        """Whether the job is held."""
        self._runner = runner
        self._changed = changed
        self._running: Work | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a job is running, held or not."""
        return self.state is not State.IDLE

    def refusal(self, event: Event) -> str:
        """Why that cannot be asked for now; empty if it can."""
        return "" if (self.state, event) in TRANSITIONS else _REFUSALS[self.state]

    def check(self, event: Event) -> None:
        """Raise the refusal of an event, if there is one."""
        refusal = self.refusal(event)
        if refusal:
            raise UserError(refusal)

    def ask(self, request: Request, first: Request | None = None) -> None:
        """Start a task; UserError says why that cannot be.

        ``first`` is the learning that must come before it.
        """
        event = Event[request.task.name] if first is None else Event.LEARN_FIRST
        self.check(event)
        state, _ = TRANSITIONS[self.state, event]
        work = (first or request).prepare()  # raises before anything has changed
        self.waiting = None if first is None else request
        self._enter(state, work)

    def stop(self) -> None:
        """Stop what runs, and forget what waits."""
        state, action = TRANSITIONS[self.state, Event.STOP]
        if action is Action.STOP:
            self.waiting, self.is_paused = None, False
            self._runner.stop()
        self._enter(state)

    def pause(self) -> None:
        """Hold what runs, or let it go on; what is about to stop is left alone."""
        if self.is_busy and self.state is not State.STOPPING:
            self.is_paused = not self.is_paused
            self._runner.hold(self.is_paused)
            self._changed()

    def job_ended(self, ending: Ending, outcome: Any) -> None:
        """Leave the state that the job ran in, show how it ended, and start what waited for it."""
        event = Event.DONE if ending is Ending.DONE else Event.BROKE_OFF
        state, action = TRANSITIONS[self.state, event]
        work, self._running = self._running, None
        waiting, self.waiting = self.waiting, None
        self.is_paused = False
        self._enter(state)
        self._runner.finish(work, outcome)
        if waiting is not None and action is Action.START_NEXT:
            try:
                self.ask(waiting)
            except Exception as error:  # nobody above could tell the user
                self._runner.fail(error)

    def _enter(self, state: State, work: Work | None = None) -> None:
        self.state = state
        if work is not None:
            self._running = work
            self._runner.start(work)
        self._changed()
