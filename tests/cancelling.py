"""Cancelling for tests."""

from __future__ import annotations

from napari_scsc.cancellation import Cancellation


class CallingCancellation(Cancellation):
    """Calls a function at every check, which may raise."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def check(self):
        self._function()
