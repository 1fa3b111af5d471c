"""A pool of problems, each lent to one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.model.solver.problem import Geometry, Problem


class ProblemPool:
    """Buffers and FFT plans that are used again for the next sample of the same shape."""

    _MAX_IDLE_BYTES = 256 << 20

    def __init__(self, n_base: int, dtype: np.dtype[Any]) -> None:
        self._n_base, self._dtype = n_base, dtype
        self._idle: list[Problem] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, geometry: Geometry, filters: NDArray[Any]) -> Iterator[Problem]:
        """Lend a problem with these filters; one that fails is not lent again."""
        with self._lock:
            fitting = [p for p in self._idle if p.geometry == geometry]
            if fitting:
                self._idle.remove(fitting[0])
        problem = fitting[0] if fitting else Problem(geometry, self._n_base, self._dtype)
        problem.set_filters(filters)
        yield problem
        with self._lock:
            self._idle.append(problem)
            while sum(p.nbytes for p in self._idle) > self._MAX_IDLE_BYTES:
                self._idle.pop(0)
