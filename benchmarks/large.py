"""Data larger than memory: peak memory, kills, workers, overhead of the blocks, chunks read.

The volumes are made in a temporary folder (TMPDIR says where): three times 16 GB of room for the
full run.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import zarr

from benchmarks.timing import interleaved, median_ratio, seconds_of
from napari_scsc import FilterBank, denoise, iter_learn, learn, samples
from napari_scsc.groups import compiling

_COMMAND = (sys.executable, "-m", "napari_scsc")
_GB = 10**9
# Every module that a run loads, so that what is measured is what the data take.
_BASELINE = (
    "import time, dask.array, zarr, click; import napari_scsc.cli;"
    "from napari_scsc import denoise, learn; from napari_scsc.io import stores;"
    "from napari_scsc.io.formats import zarr_files;"
    "from napari_scsc.restore import groups; groups.warm_up();"
    "print('ready', flush=True); time.sleep(60)"
)


def run(report, *, data, quick):
    with tempfile.TemporaryDirectory(prefix="napari-scsc-large-") as name:
        folder = Path(name)
        memory = _memory(
            report, folder, [_GB // 4, _GB // 2] if quick else [_GB, 4 * _GB, 16 * _GB]
        )
        _kills(report, folder, 4 if quick else 50)
        _speed(report, 1 if quick else 3, folder)
        _chunks_read(report, folder)
    axes = report.figure()
    for job, points in memory.items():
        axes.plot([size / _GB for size, _ in points], [peak / _GB for _, peak in points], label=job)
    axes.set(xscale="log", xlabel="volume, GB", ylabel="peak memory above baseline, GB", ylim=0)
    axes.legend()


# --- memory -------------------------------------------------------------------------------------


def make_volume(path, n_bytes, seed=0):
    """A video of noisy cells in double precision: half as many points as in single."""
    clean = samples.video((16, 256, 256), clean=True).astype(np.float64)
    clean = (clean - clean.min()) / np.ptp(clean)
    frames = max(16, n_bytes // (8 * 512 * 512) // 16 * 16)
    volume = zarr.create_array(
        str(path),
        shape=(frames, 512, 512),
        chunks=(16, 256, 256),
        dtype="f8",
        compressors=None,
        dimension_names=["t", "y", "x"],
    )
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.1, (64, *clean.shape[1:]))
    for start in range(0, frames, 16):
        for y in (0, 256):
            for x in (0, 256):
                # Other noise in each chunk, without drawing all of it anew.
                first = int(rng.integers(0, 48))
                part = clean + np.roll(noise[first : first + 16], int(rng.integers(256)), axis=-1)
                volume[start : start + 16, y : y + 256, x : x + 256] = part
    return path


def _memory(report, folder, sizes):
    baseline = _peak([sys.executable, "-c", _BASELINE], until="ready")
    found = {"learn": [], "denoise": []}
    for size in sizes:
        volume = make_volume(folder / f"{size}.zarr", size)
        bank, out = folder / f"{size}.scsc", folder / f"{size}-out.zarr"
        for job, command in {
            "learn": ("learn", str(volume), "-o", str(bank), "--tiles", "256"),
            "denoise": (
                *("denoise", str(volume), "-o", str(out), "--quality", "draft"),
                *("--memory", "1GB", "--bank", str(bank)),
            ),
        }.items():
            start = time.perf_counter()
            peak = _peak([*_COMMAND, *command]) - baseline
            seconds = time.perf_counter() - start
            found[job].append((size, peak))
            report.add(part="memory", what=job, volume_gb=size / _GB, peak_mb=peak / 1e6, s=seconds)
            report.at_most(f"{job}, {size / _GB:g} GB: peak memory, GB", peak / _GB, 1.2)
        for path in (volume, out):
            shutil.rmtree(path)
    return found


def _peak(command, until=None):
    """Largest resident memory of a command and its children, in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    peak = 0
    if until is not None:
        process.stdout.readline()
        peak = psutil.Process(process.pid).memory_info().rss
        process.kill()
        process.wait()
        return peak
    while process.poll() is None:
        try:
            own = psutil.Process(process.pid)
            family = [own, *own.children(recursive=True)]
            peak = max(peak, sum(p.memory_info().rss for p in family))
        except psutil.Error:
            pass
        time.sleep(0.05)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return peak


# --- kills --------------------------------------------------------------------------------------


def _kills(report, folder, kills):
    """SIGKILL at random moments, each resumed, until it has come to its end."""
    volume = make_volume(folder / "killed.zarr", 60_000_000)
    bank, out = folder / "whole.scsc", folder / "whole.zarr"
    learning = ("learn", str(volume), "--tiles", "0", "--passes", "3", "-o")
    restoring = (
        *("denoise", str(volume), "--quality", "draft", "--memory", "100MB"),
        *("--bank", str(bank), "-o"),
    )
    whole = {}
    for what, command, target in (("learn", learning, bank), ("denoise", restoring, out)):
        start = time.perf_counter()
        subprocess.run([*_COMMAND, *command, str(target)], check=True, stderr=subprocess.DEVNULL)
        whole[what] = time.perf_counter() - start
    rng = random.Random(0)
    wrong = {"learn": 0, "denoise": 0}
    for what, command, reference in (("learn", learning, bank), ("denoise", restoring, out)):
        done = round_number = 0
        while done < kills:
            round_number += 1
            target = folder / f"{what}-{round_number}{reference.suffix}"
            partial = target.with_name(target.name + ".partial")
            while not target.exists():
                process = subprocess.Popen(
                    [*_COMMAND, *command, str(target), "--resume"],
                    stderr=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
                # Not too early, so that each run gets somewhere.
                moment = rng.uniform(0.3, 1.0) * whole[what] if done < kills else None
                start, is_new = time.perf_counter(), not partial.exists()
                try:
                    process.wait(moment)
                    if is_new:  # the machine may have got quicker
                        whole[what] = min(whole[what], time.perf_counter() - start)
                except subprocess.TimeoutExpired:
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    done += 1
            wrong[what] += not _same(target, reference)
        report.add(part="kills", what=what, kills=done, runs=round_number, wrong=wrong[what])
        report.at_most(f"{done} kills of {what}: wrong or lost", wrong[what], 0)


def _same(target, reference):
    if target.suffix == ".scsc":
        return FilterBank.load(target).id == FilterBank.load(reference).id
    mine, theirs = (zarr.open_array(path, mode="r") for path in (target, reference))
    partial = target.with_name(target.name + ".partial")
    return (
        mine.shape == theirs.shape and np.array_equal(mine[:], theirs[:]) and not partial.exists()
    )


# --- speed --------------------------------------------------------------------------------------


def _speed(report, repeats, folder):
    """Two workers against one, and blocks against the plain call."""
    compiling.warm_up()
    clean = samples.tissue((1280, 1280))
    noisy = (clean + np.random.default_rng(0).normal(0, 0.1, clean.shape)).astype(np.float32)
    bank = learn([noisy], kind="image", sigma=0.1)
    common = {"kind": "image", "sigma": 0.1, "bank": bank, "quality": "fast"}
    count = iter(range(10**6))

    def to_file(image, n_jobs, memory):
        path = folder / f"speed-{next(count)}.zarr"
        return seconds_of(lambda: denoise(image, out=path, n_jobs=n_jobs, memory=memory, **common))

    one_block = noisy[:480, :480]

    found = interleaved(
        {
            "one": lambda: to_file(noisy, 1, _GB),
            "two": lambda: to_file(noisy, 2, _GB),
            "plain": lambda: seconds_of(lambda: denoise(one_block, n_jobs=1, **common)),
            "one block": lambda: to_file(one_block, 1, 4 * _GB),
        },
        repeats,
    )
    for what, seconds in found.items():
        report.add(part="speed", what=what, s=float(np.median(seconds)))
    report.at_most("two workers / one", median_ratio(found["two"], found["one"]), 0.6)
    report.at_most(
        "blocks / plain call, one block", median_ratio(found["one block"], found["plain"]), 1.1
    )


# --- chunks -------------------------------------------------------------------------------------


class _Counted:
    """A zarr array that counts how often each of its chunks is read."""

    def __init__(self, array):
        self._array = array
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks
        self.reads = Counter()

    def __getitem__(self, region):
        spans = [
            range(s.indices(n)[0] // c, -(-s.indices(n)[1] // c))
            for s, n, c in zip(region, self.shape, self.chunks, strict=True)
        ]
        self.reads.update(_product(spans))
        return self._array[region]


def _product(spans):
    grids = np.meshgrid(*spans, indexing="ij")
    return [tuple(place) for place in np.stack([g.ravel() for g in grids], -1).tolist()]


def _chunks_read(report, folder):
    """Reads of each chunk in one pass of learning over all data."""
    array = zarr.open_array(make_volume(folder / "counted.zarr", 100_000_000), mode="r")
    counted = _Counted(array)
    updates = iter_learn([counted], kind="video", sigma=0.1, tiles=None)
    counted.reads.clear()  # what finding the range of the values has read
    for _ in updates:
        pass
    reads = list(counted.reads.values())
    n_chunks = int(np.prod([-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)]))
    mean = sum(reads) / n_chunks
    report.add(part="chunks", what="reads of a chunk in a pass", mean=mean, most=max(reads))
    report.at_most("chunks read in a pass of learning, times each", mean, 1.5)
