"""How much longer work takes here than on the machine on which costs were measured.

Measured once, by a short run, kept beside the caches, and corrected after each job: for all jobs,
and for those of the same kind, whose cost may be misjudged by itself. What cannot be read or
written is done without.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.cache import cache_folder, make_cache_folder
from napari_scsc.data.axes import Axes
from napari_scsc.groups import compiling
from napari_scsc.groups.denoiser import GroupDenoiser
from napari_scsc.io.atomic_files import write_json
from napari_scsc.model.basis import Basis
from napari_scsc.model.general_banks import general_bank_for
from napari_scsc.restore.methods import Task
from napari_scsc.restore.passes import passes_for
from napari_scsc.restore.quality import Quality

_FILE = "speed.json"
_MACHINE = "machine"  # the entry of all jobs
_LAYER = "result layer"  # the entry of what shows a result
_REFERENCE_LAYER_SECONDS = 0.01  # that a viewer takes for one more layer, times those there
_LAYERS_AHEAD = 10  # as many as the first one takes by itself
_REFERENCE_SECONDS = 0.050  # that the short run takes on that machine
_SHORT_RUN_SIDE, _SHORT_RUNS = 192, 3
_NEW_SHARE = 0.6  # of the last job in what is expected of the next
_LIMITS = (0.02, 100.0)  # beyond which no machine is: something else went wrong
_MIN_SECONDS = 0.2  # a job that is shorter says nothing of longer ones
_lock = threading.Lock()
_factors: dict[str, float] | None = None  # as read from the file, once


def name_job(axes: Axes, task: Task, quality: Quality, method: str) -> str:
    """Jobs of one name are expected to be misjudged alike."""
    n_shift = axes.roles.count("shift")
    joint = " joint" if "joint" in axes.roles else ""
    return f"{method} {task} {quality} {n_shift}{joint}"


def factor_of(job: str) -> float:
    """Seconds of such a job here, for a second there; 1 where nothing is known."""
    factors = _load()
    return factors.get(job, factors.get(_MACHINE, 1.0))


def correct(job: str, reference_seconds: float, seconds: float) -> None:
    """Learn from a job that took so long, and would have taken so long there."""
    if min(reference_seconds, seconds) < _MIN_SECONDS:
        return
    _learn({_MACHINE: _NEW_SHARE / 2, job: _NEW_SHARE}, seconds / reference_seconds)


def seconds_of_layer(n_layers: float = 1) -> float:
    """What a viewer that has so many layers takes here to show one more, beside the computing."""
    return _load().get(_LAYER, 1.0) * _REFERENCE_LAYER_SECONDS * (_LAYERS_AHEAD + n_layers)


def correct_layer(seconds: float, n_layers: float = 1) -> None:
    """Learn from results each of which took a viewer that had so many layers so long."""
    reference = _REFERENCE_LAYER_SECONDS * (_LAYERS_AHEAD + n_layers)
    _learn({_LAYER: _NEW_SHARE}, seconds / reference)


def _learn(shares: Mapping[str, float], found: float) -> None:
    """Mix the factor that was found into those of some names, each with a share."""
    ratio = min(max(found, _LIMITS[0]), _LIMITS[1])
    with _lock:
        factors = dict(_load())
        for name, share in shares.items():
            expected = factors.get(name, ratio)
            factors[name] = expected * (ratio / expected) ** share
        _save(factors)


def measure() -> None:
    """Do the short run, unless the machine is known already."""
    if _MACHINE in _load():
        return
    compiling.warm_up()
    bank = general_bank_for((), (_SHORT_RUN_SIDE,) * 2)
    assert bank is not None
    basis = Basis.of(bank)
    sample = np.random.default_rng(0).standard_normal((1, _SHORT_RUN_SIDE, _SHORT_RUN_SIDE))
    denoiser = GroupDenoiser(basis, passes_for(basis.patch, "fast"))
    times = []
    for _ in range(_SHORT_RUNS):
        start = time.perf_counter()
        denoiser.denoise(sample.astype(np.float32), 1.0)
        times.append(time.perf_counter() - start)
    with _lock:
        _save({**_load(), _MACHINE: statistics.median(times) / _REFERENCE_SECONDS})


def forget() -> None:
    """Read the file again when it is needed."""
    global _factors
    _factors = None


def _load() -> dict[str, float]:
    global _factors
    if _factors is None:
        try:
            _factors = _checked(json.loads(_file().read_text(encoding="utf-8")))
        except (OSError, RuntimeError, ValueError):
            _factors = {}
    return _factors


def _checked(found: Any) -> dict[str, float]:
    if not isinstance(found, dict):
        return {}
    return {
        str(name): float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and _LIMITS[0] <= value <= _LIMITS[1]
    }


def _save(factors: dict[str, float]) -> None:
    global _factors
    _factors = factors
    with contextlib.suppress(OSError, RuntimeError):  # it is then known in this process only
        write_json(make_cache_folder() / _FILE, factors)


def _file() -> Path:
    return cache_folder() / _FILE
