"""One thread inside a sample: parallelism comes from samples and tiles.

Two spinning BLAS threads on a busy two-core machine are far slower than one, and a sum split over
another number of threads rounds differently.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_int


class Executor(Protocol):
    """Where the samples of a batch are coded; ``Threads``, or the workers of a cluster.

    Attributes
    ----------
    is_here : bool
        Whether that is in this process: what cannot be sent to another one can then be used.
    """

    is_here: bool

    def map(self, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
        """Call the function as ``map`` does; the results are for ``gather``, or another ``map``."""

    def gather(self, results: list[Any], cancellation: Cancellation = NEVER) -> list[Any]:
        """The values of results of ``map``, in their order; waits for them, ticking meanwhile."""


class ThreadExecutor:
    """Threads of this process; with one job, the thread that asks."""

    is_here = True

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = check_int("n_jobs", n_jobs, 1)

    def map(self, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
        """Call the function for each row of the columns."""
        rows = list(zip(*columns, strict=True))
        if self.n_jobs == 1 or len(rows) < 2:
            return [function(*row) for row in rows]
        with ThreadPoolExecutor(min(self.n_jobs, len(rows))) as pool:
            return list(pool.map(function, *zip(*rows, strict=True)))

    def gather(self, results: list[Any], cancellation: Cancellation = NEVER) -> list[Any]:
        """The results, which are there already."""
        return results


_lock = threading.Lock()
_users = 0
_before: list[int] = []


@cache
def _libraries() -> list[Any]:
    """All BLAS libraries of the process; looked for once, because that is slow."""
    return [x for x in ThreadpoolController().lib_controllers if x.user_api == "blas"]


def _set(library: Any, n: int) -> None:
    # threadpoolctl lets only the first thread that ever asked change OpenBLAS, so that threads do
    # not fight over it. Ours do not: the users are counted, and a worker must be able to ask.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS to one thread while any caller is inside; give it back when the last one leaves."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = [library.num_threads for library in _libraries()]
            for library in _libraries():
                _set(library, 1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for library, n in zip(_libraries(), _before, strict=True):
                    _set(library, n)
