"""The passes over groups against the least that their products and memory traffic can take.

Every bound is measured in the same run, on the same data: patches expressed in the base filters
against the matrix product alone, matching against the same differences without a selection, the
shrinkage of groups against the matrix products that it cannot do without, and a copy of what it
reads and writes.
"""

import statistics
import time

import numba
import numpy as np

from benchmarks.timing import interleaved, median_ratio
from napari_scsc import learn, samples
from napari_scsc.groups import compiling, group_kernels
from napari_scsc.groups.denoiser import GroupDenoiser, planes_of, reference_places
from napari_scsc.groups.patches import PatchGrid
from napari_scsc.model.basis import Basis
from napari_scsc.model.threads import single_threaded
from napari_scsc.restore.passes import passes_for

_SIGMA = 0.1
_PATCHES_AT_A_TIME = 4096  # that stay in the cache
_MIN_PAIRS, _MIN_SHARE = 150.0, 0.4  # millions a second; of the differences alone


def run(report, *, data, quick):
    side, repeats = (192, 1) if quick else (512, 5)
    compiling.warm_up()
    noise = np.random.default_rng(0).normal(0, _SIGMA, (side, side))
    noisy = (samples.tissue((side, side)) + noise).astype(np.float32)[None]
    basis = Basis.of(learn(noisy[0], kind="image", sigma=_SIGMA))
    passes = passes_for(basis.patch, "balanced")
    pilot = GroupDenoiser(basis, passes_for(basis.patch, "fast")).denoise(noisy, _SIGMA)
    with single_threaded():
        _pass(report, "threshold", basis, noisy, noisy, passes.threshold, passes, repeats)
        for wiener in passes.wiener:
            _pass(report, "wiener", basis, noisy, pilot, wiener, passes, repeats)
    _bars(report)
    _draw(report)


def _pass(report, name, basis, noisy, like, group_pass, passes, repeats):
    grid = PatchGrid(1, noisy.shape[1:], basis.patch)
    places = (1, *grid.places)
    references = reference_places(places, (1, *group_pass.step))
    reach = np.array((0, *group_pass.reach))
    coefficients = grid.express(like, basis.vectors)
    planes = planes_of(coefficients, places)
    kernels = group_kernels.get()
    groups = kernels.match(planes, references, reach, group_pass.size)
    total, tallies = np.zeros(noisy.size, np.float32), np.zeros((3, noisy.size), np.float32)
    where = (grid.points, grid.offsets, total, 0, tallies)
    start = np.ones(group_pass.size, np.float32) / np.float32(group_pass.size**0.5)
    start[0] *= 2

    def shrink():
        if name == "threshold":
            kernels.threshold(
                coefficients, groups, _SIGMA, passes.strength, basis.vectors, basis.n_flat, start,
                *where,
            )  # fmt: skip
        else:
            kernels.wiener(
                noisy.ravel(), coefficients, groups, _SIGMA, basis.vectors, basis.n_flat, *where
            )

    patches = np.random.default_rng(0).random((_PATCHES_AT_A_TIME, grid.length), np.float32)
    room = np.empty_like(coefficients)

    def multiply():
        for begin in range(0, len(room), len(patches)):
            out = room[begin : begin + len(patches)]
            np.matmul(patches[: len(out)], basis.vectors.T, out=out)

    parts = {
        "express": (
            lambda: grid.express(like, basis.vectors, out=room),
            multiply,
        ),
        "match": (
            lambda: kernels.match(planes, references, reach, group_pass.size),
            lambda: _differences(planes, references, reach),
        ),
        "shrink": (shrink, lambda: _products(name, coefficients, groups, basis.vectors)),
    }
    _differences(planes, references, reach)  # compiles
    for part, (work, bound) in parts.items():
        times = interleaved(
            {"work": lambda w=work: _cpu(w), "bound": lambda b=bound: _cpu(b)}, repeats
        )
        ratio = median_ratio(times["work"], times["bound"])
        facts = {}
        if part == "match":
            facts["million_pairs"] = _count_pairs(places, references, reach) / 1e6
        report.add(
            what=f"{name}, {part}",
            milliseconds=1e3 * statistics.median(times["work"]),
            bound_ms=1e3 * statistics.median(times["bound"]),
            ratio=ratio,
            **facts,
        )


def _bars(report):
    """Matching, both passes together."""
    rows = [row for row in report.rows if "million_pairs" in row]
    pairs, spent, bound = (
        sum(row[key] for row in rows) for key in ("million_pairs", "milliseconds", "bound_ms")
    )
    report.at_least("matching: million pairs a second", pairs / spent * 1e3, _MIN_PAIRS)
    report.at_least("matching: share of the differences alone", bound / spent, _MIN_SHARE)


def _cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def _count_pairs(places, references, reach):
    """All pairs of a reference and a candidate, fewer at the border."""
    low = np.maximum(references - reach, 0)
    high = np.minimum(references + reach + 1, places)
    return int((high - low).prod(axis=1).sum())


@numba.njit(fastmath={"contract", "reassoc", "nsz", "arcp"}, nogil=True)
def _differences(planes, references, reach):
    """Squares of all differences, and nothing else."""
    _, n_y, n_planes, n_x = planes.shape
    row = np.zeros(2 * reach[2] + 1, np.float32)
    for g in range(len(references)):
        y, x = references[g, 1], references[g, 2]
        first, last = max(0, x - reach[2]), min(n_x, x + reach[2] + 1)
        own = planes[0, y, :, x]
        for j in range(max(0, y - reach[1]), min(n_y, y + reach[1] + 1)):
            candidates = planes[0, j]
            for r in range(0, n_planes, 4):
                a, b = candidates[r, first:last], candidates[r + 1, first:last]
                c, d = candidates[r + 2, first:last], candidates[r + 3, first:last]
                for k in range(last - first):
                    p, q = a[k] - own[r], b[k] - own[r + 1]
                    s, t = c[k] - own[r + 2], d[k] - own[r + 3]
                    row[k] += (p * p + q * q) + (s * s + t * t)
    return row


_DIRECTIONS = 8  # of a group: about as many as there are here
_AT_A_TIME = 256  # groups whose copies stay in the cache


def _products(name, coefficients, groups, vectors):
    """Members read; their products with each other or with a few directions; patches written."""
    for first in range(0, len(groups), _AT_A_TIME):
        x = coefficients[groups[first : first + _AT_A_TIME]]
        if name == "threshold":
            x @ x.swapaxes(1, 2)
        few = x[:, :_DIRECTIONS]
        codes = x @ few.swapaxes(1, 2)  # of the pilot, or of the noisy patches
        if name == "wiener":
            x @ few.swapaxes(1, 2)
        codes @ (few @ vectors)


def _draw(report):
    ax = report.figure()
    ax.figure.set_size_inches(8, 0.4 * len(report.rows) + 1.5)
    ax.barh([row["what"] for row in report.rows], [row["ratio"] for row in report.rows])
    ax.axvline(1, color="grey", linestyle=":")
    ax.invert_yaxis()
    ax.set(xlabel="processor time / bound")
