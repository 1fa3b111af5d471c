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
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: slow, so once


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS to one thread while any caller is inside; give it back when the last one leaves."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
                _limit = None
