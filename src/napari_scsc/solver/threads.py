"""One thread inside a sample: parallelism comes from samples and tiles.

Two spinning BLAS threads on a busy two-core machine are far slower than one, and a sum split over
another number of threads rounds differently.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

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
