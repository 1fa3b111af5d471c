"""Where samples are coded: in threads, each of which computes with one thread of BLAS.

Parallelism comes from samples and tiles, never from inside a sample: two spinning BLAS threads on a
busy two-core machine are far slower than one, and a sum split over another number of threads
rounds differently.
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
    """Where the samples of a batch are coded: a ``ThreadExecutor``, or the workers of a cluster.

    Attributes
    ----------
    is_here : bool
        Whether that is in this process: what cannot be sent to another one can then be used.
    """

    is_here: bool

    def map(self, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
        """Call the function for each row of the columns; results go to ``gather`` or ``map``."""

    def gather(self, results: list[Any], cancellation: Cancellation = NEVER) -> list[Any]:
        """Wait for the values of results of ``map``, in their order, unless cancelled."""


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
_threads_before: list[int] = []


@cache
def _blas_libraries() -> list[Any]:
    """All BLAS libraries of the process; looked for once, because that is slow."""
    return [x for x in ThreadpoolController().lib_controllers if x.user_api == "blas"]


def _set_threads(library: Any, n: int) -> None:
    # threadpoolctl lets only the first thread that ever asked change OpenBLAS, so that threads do
    # not fight over it. Ours do not: the users are counted, and a worker must be able to ask.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS to one thread while any caller is inside; give it back when the last one leaves."""
    global _users, _threads_before
    with _lock:
        if _users == 0:
            _threads_before = [library.num_threads for library in _blas_libraries()]
            for library in _blas_libraries():
                _set_threads(library, 1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for library, n in zip(_blas_libraries(), _threads_before, strict=True):
                    _set_threads(library, n)
