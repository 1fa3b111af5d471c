"""Small restorations whose results must not change unless a change is meant.

``python tests/restore/reference_cases.py`` writes them anew, to ``reference_results.json``: after
a change that is meant to change results, and never before one that is not.
"""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path

import numpy as np

import napari_scsc

FILE = Path(__file__).with_name("reference_results.json")
SHAPES = {
    "image": (44, 40),
    "rgb": (40, 36, 3),
    "video": (5, 28, 24),
    "stack": (6, 24, 28),
    "multispectral": (6, 32, 28),
    "light-field": (3, 3, 24, 28),
    "time-lapse": (2, 30, 28),
}
VARIANTS = (
    *(("scsc", quality) for quality in ("draft", "fast", "balanced")),
    ("scsc-paper", "balanced"),
    ("ocsc-paper", "balanced"),
)
TASKS = ("denoise", "inpaint")


def noisy(kind):
    """A smooth pattern with an edge, and noise of the level 8, as whole numbers."""
    shape = SHAPES[kind]
    grids = np.meshgrid(*(np.arange(n, dtype=np.float64) for n in shape), indexing="ij")
    phase = sum((i + 2) / 9 * g for i, g in enumerate(grids))
    clean = 120 + 50 * np.sin(phase) + 40 * (grids[-1] > grids[-2])
    rng = np.random.default_rng(len(shape) + sum(shape))
    return np.clip(clean + 8 * rng.standard_normal(shape), 0, 255).astype(np.uint8)


def holes(kind):
    """A quarter of the values are missing."""
    return np.random.default_rng(1).random(SHAPES[kind]) < 0.25


def restore(kind, task, method, quality, **options):
    """One of the restorations, by the functions that users call."""
    image = noisy(kind)
    options = {"kind": kind, "method": method, "quality": quality, "n_jobs": 1, **options}
    if task == "denoise":
        return napari_scsc.denoise(image, **options)
    return napari_scsc.inpaint(image, holes(kind), **options)


def cases():
    """All combinations, each with its name."""
    for kind in SHAPES:
        for task in TASKS:
            for method, quality in VARIANTS:
                yield f"{kind} {task} {method} {quality}", (kind, task, method, quality)


def facts(result):
    """A digest of the bits, and figures that rounding hardly changes."""
    values = np.ascontiguousarray(result)
    step = max(1, values.size // 7)
    return {
        "digest": hashlib.sha256(values.tobytes()).hexdigest()[:16],
        "mean": float(values.mean()),
        "std": float(values.std()),
        "some": [float(v) for v in values.ravel()[::step]],
    }


def machine():
    """What the last bits of a result may depend on."""
    import numba
    import scipy

    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        names = (
            "model name",
            "cpu family",
            "model\t",
            "stepping",
            "flags",
        )  # names alone tell little
        found = [
            next((x.split(":")[1].strip() for x in lines if x.startswith(n)), "") for n in names
        ]
        model = f"{found[0]} {hashlib.sha256(' '.join(found).encode()).hexdigest()[:8]}"
    versions = [module.__version__ for module in (np, scipy, numba)]
    return [model, platform.python_version(), *versions]


def main():
    """Write all results."""
    results = {name: facts(restore(*case)) for name, case in cases()}
    FILE.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
