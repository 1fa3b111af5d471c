"""Compiling the kernels of groups ahead of time, and whether that is going on."""

from __future__ import annotations

import time

import numpy as np

from napari_scsc.groups.denoiser import GroupDenoiser
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.model.basis import Basis

_LOADING = 1.0  # seconds in which what an earlier run compiled is there
_started: list[float] = []  # when the warm-ups began that have not ended


def is_compiling() -> bool:
    """Whether the passes are being compiled, which happens once on a machine."""
    return any(time.monotonic() - start > _LOADING for start in tuple(_started))


def warm_up() -> None:
    """Compile, or load what an earlier run compiled: some seconds the first time ever."""
    start = time.monotonic()
    _started.append(start)
    try:
        _run_once()
    finally:
        _started.remove(start)


def _run_once() -> None:
    basis = Basis(np.ones((1, 1), np.float32), (2, 2), np.eye(4, dtype=np.float32))
    once = GroupPass((2, 2), (2, 2), 4)
    sample = np.random.default_rng(0).standard_normal((1, 6, 6)).astype(np.float32)
    GroupDenoiser(basis, Passes(once, (once,))).denoise(sample, 1.0)
