"""The time that is promised before a job, beside what it takes: all kinds, qualities and tasks.

Every job runs twice: the first promise knows the machine's speed only, the second one the first
job too. Once on a quiet machine, once beside a process that computes without end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import numpy as np

from napari_scsc import denoise, inpaint, samples
from napari_scsc.data.samples import open_samples
from napari_scsc.groups import compiling
from napari_scsc.restore import machine_speed
from napari_scsc.restore.cost import estimate_cost

_FACTOR = 1.5
_MIN_SECONDS = 0.2  # of a job that is judged: of shorter ones, the dock says "a few seconds"
_BUSY = "while True: pass"
_JOBS = (
    *(("denoise", quality) for quality in ("draft", "fast", "balanced")),
    *(("inpaint", quality) for quality in ("fast", "balanced")),
)


def run(report, *, data, quick):
    compiling.warm_up()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NAPARI_SCSC_CACHE"] = cache
        for state, how in (("quiet", _quiet), ("busy", _busy)):
            machine_speed.forget()
            with how():
                machine_speed.measure()
                for kind, image in _images(quick).items():
                    for task, quality in _JOBS:
                        _measure(report, state, kind, image, task, quality)
    for state in ("quiet", "busy"):
        for which in ("first", "second"):
            rows = [row for row in report.rows if row["machine"] == state]
            off = [row[which] for row in rows if row["seconds"] >= _MIN_SECONDS]
            share = statistics.fmean(1 / _FACTOR <= r <= _FACTOR for r in off)
            what = f"{state}, {which} promise: share within a factor of {_FACTOR}"
            report.at_least(what, share, 1.0)
    ax = report.figure()
    ax.hist([row["second"] for row in report.rows], bins=20)
    ax.set(xlabel="time taken / time promised, second promise", ylabel="jobs")


@contextmanager
def _quiet():
    yield


@contextmanager
def _busy():
    """Another program on every core."""
    others = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _images(quick):
    side = 128 if quick else 320
    picture = samples.tissue((4 * side, 2 * side))
    small = picture[:96, :96]
    rng = np.random.default_rng(0)
    clean = {
        "image": picture[:side, :side],
        "rgb": np.stack([picture[i * side :, :side][:side] for i in range(3)], -1),
        "stack": np.stack([np.roll(small, i, 0) for i in range(6 if quick else 20)]),
        "video": np.stack([np.roll(small, i, 1) for i in range(6 if quick else 20)]),
        "multispectral": np.tensordot(
            rng.random((16, 3)), np.stack([picture[i * 96 :, :96][:96] for i in range(3)]), 1
        ),
        "light-field": np.stack(
            [[np.roll(small[:64, :64], (i, j), (0, 1)) for j in range(5)] for i in range(5)]
        ),
        "time-lapse": picture[:side, :side].reshape(4, side // 4, side),
    }
    return {
        k: (v + 0.1 * rng.standard_normal(v.shape)).astype(np.float32) for k, v in clean.items()
    }


def _measure(report, state, kind, image, task, quality):
    axes = open_samples(image, None, kind, None).axes
    missing = np.random.default_rng(0).random(image.shape) < 0.5
    ratios = []
    for _ in range(2):
        promised = estimate_cost(image.shape, axes, task, quality).seconds
        start = time.perf_counter()
        if task == "denoise":
            denoise(image, kind=kind, quality=quality, n_jobs=1)
        else:
            inpaint(image, missing, kind=kind, quality=quality, n_jobs=1)
        seconds = time.perf_counter() - start
        ratios.append(seconds / promised)
    report.add(
        machine=state,
        kind=kind,
        task=task,
        quality=quality,
        seconds=seconds,
        first=ratios[0],
        second=ratios[1],
    )
