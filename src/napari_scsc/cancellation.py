"""Cancelling a job from outside, whoever computes it."""

from __future__ import annotations

import threading


class Cancelled(Exception):
    """Raised inside a job when it was cancelled."""


class Cancellation:
    """Cancels a job: the job calls ``check`` often, from any of its threads.

    Example
    -------
    >>> cancellation = Cancellation()
    >>> cancellation.check()
    >>> cancellation.cancel()
    >>> cancellation.check()
    Traceback (most recent call last):
    napari_scsc.cancellation.Cancelled
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Make every later ``check`` raise."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._event.is_set()

    @property
    def paused_seconds(self) -> float:
        """For how long the job was held, where that can be done."""
        return 0.0

    def check(self) -> None:
        """Raise ``Cancelled`` if the job is to end."""
        if self._event.is_set():
            raise Cancelled


class _Never(Cancellation):
    """The cancellation of a job that nobody can cancel."""

    def __init__(self) -> None:
        pass

    def __repr__(self) -> str:
        return "NEVER"

    @property
    def is_cancelled(self) -> bool:
        return False

    def cancel(self) -> None:
        raise RuntimeError("this job was started without a cancellation")

    def check(self) -> None:
        pass


NEVER: Cancellation = _Never()
"""For jobs that are not cancelled from outside."""
