"""What a restoration costs beside its speed: memory, growth with the image, compiling, first look.

Each is measured in a process of its own. ``--quick`` takes smaller images.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

_START = """
import json, os, sys, time
import numpy as np
from napari_scsc import denoise, iter_denoise, samples
from napari_scsc.groups import compiling
import napari_scsc.restore.denoise, napari_scsc.learning.loop
"""
_COMPILE = """
start = time.process_time()
compiling.warm_up()
print(json.dumps(time.process_time() - start))
"""
_FIRST_LOOK = """
image = np.random.default_rng(0).normal(0, 0.1, (512, 512)) + samples.tissue((512, 512))
start = time.perf_counter()
for update in iter_denoise(image.astype(np.float32), kind="image"):
    if type(update).__name__ == "FirstLook":
        print(json.dumps(time.perf_counter() - start))
        break
"""
_DENOISE = """
import resource, psutil
side = int(sys.argv[1])
tile = samples.tissue((256, 256)) + np.random.default_rng(0).normal(0, 0.1, (256, 256))
image = np.tile(tile.astype(np.float32), (side // 256, side // 256))
denoise(image[:256, :256], kind="image", sigma=0.1, n_jobs=1)  # compiles, loads
before = psutil.Process().memory_info().rss
start = time.process_time()
result = denoise(image, kind="image", sigma=0.1, n_jobs=1)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak - before - result.nbytes]))
"""
_SIDES = (256, 512, 1024, 2048, 4096)


def run(report, *, data, quick):
    sides = _SIDES[:3] if quick else _SIDES
    _compiling(report, repeats=1 if quick else 3)
    _growth(report, sides)


def _child(script, *arguments, cache=None):
    """What a script prints last, run with a cache of compiled code of its own."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    done = subprocess.run(
        [sys.executable, "-c", _START + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _compiling(report, repeats):
    found = {"compile": [], "load": [], "first look": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            found["first look"].append(_child(_FIRST_LOOK, cache=cache))
        with tempfile.TemporaryDirectory() as cache:
            found["compile"].append(_child(_COMPILE, cache=cache))
            found["load"].append(_child(_COMPILE, cache=cache))
    for (what, times), bar in zip(found.items(), (6.0, 0.3, 1.5), strict=True):
        seconds = sorted(times)[len(times) // 2]
        report.add(what=what, seconds=seconds)
        report.at_most(f"{what}: seconds", seconds, bar)


def _growth(report, sides):
    times = {}
    for side in sides:
        # The quickest of a few: small images are soon measured, and easily disturbed.
        rounds = [_child(_DENOISE, side) for _ in range(5 if side < 1024 else 1)]
        seconds, memory = min(rounds)
        times[side] = seconds
        report.add(what=f"balanced, {side} x {side}", seconds=seconds, megabytes=memory / 1e6)
    first, last = min(times), max(times)
    exponent = math.log(times[last] / times[first]) / math.log((last / first) ** 2)
    report.at_most(f"exponent of time in points, {first} to {last} a side", exponent, 1.03)
    report.at_most(f"MB beside image and result, {last} x {last}", memory / 1e6, 300)
    ax = report.figure()
    ax.loglog([s**2 for s in times], list(times.values()), "o-")
    ax.set(xlabel="points", ylabel="processor seconds, balanced")
