"""A cancellation that calls a function whenever a job checks it."""

from __future__ import annotations

from collections.abc import Callable

from napari_scsc.cancellation import Cancellation


class CallingCancellation(Cancellation):
    """Calls a function at every check; the function may raise to end the job."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__()
        self._function = function

    def check(self) -> None:
        super().check()
        self._function()


class CancelAtCheck(CallingCancellation):
    """Cancels the job at its ``number``-th check; ``n_checks`` counts them."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda: None)
        self._number = number
        self.n_checks = 0

    def check(self) -> None:
        self.n_checks += 1
        if self.n_checks == self._number:
            self.cancel()
        super().check()
