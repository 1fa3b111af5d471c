"""One iteration of the code step against the least that its arithmetic and traffic can take.

The bound is measured in the same run: three matrix products, the FFTs with measured plans, and one
pass that reads the code and its predecessor and writes one of them.
"""

import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyfftw

from benchmarks.synthetic import problem_and_weights
from benchmarks.timing import CodeTimer, interleaved, median_ratio, seconds_of

_PARTS = ("gemm", "fft", "stream")
_BLOCK_WIDTHS = (512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Case:
    n_filters: int
    n_base: int
    shift: tuple
    support: tuple = (11, 11)
    joint: tuple = ()
    bar: float = 3.0

    @property
    def name(self):
        size = "x".join(str(n) for n in (*self.joint, *self.shift))
        return f"K={self.n_filters} R={self.n_base} {size}{' joint' if self.joint else ''}"


def cases(quick):
    main = Case(100, 10, (100, 100), bar=2.0)
    if quick:
        return [
            main,
            Case(50, 5, (100, 100)),
            Case(400, 10, (100, 100)),
            Case(100, 20, (100, 100)),
            Case(100, 30, (100, 100)),
            Case(100, 10, (32, 32)),
            Case(50, 8, (20, 48, 48), (5, 7, 7)),
            Case(50, 8, (64, 64), joint=(8,)),
        ]
    grid = [Case(k, r, (100, 100)) for k in (50, 100, 200, 400, 800) for r in (5, 10, 20, 30)]
    return [
        main,
        *(case for case in grid if (case.n_filters, case.n_base) != (100, 10)),
        *(Case(100, 10, (n, n)) for n in (32, 64, 128, 256, 512)),
        Case(50, 8, (20, 48, 48), (5, 7, 7)),
        Case(50, 8, (64, 64), joint=(8,)),
        Case(50, 10, (60, 60), joint=(31,)),
    ]


class Bound:
    """The work that no iteration can do without, in buffers of its own."""

    def __init__(self, case, geometry):
        rng = np.random.default_rng(0)

        def random(*shape):
            return rng.standard_normal(shape).astype(np.float32)

        k, r, p = case.n_filters, case.n_base, geometry.size
        self.w, self.z, self.before = random(r, k), random(k, p), random(k, p)
        self.g = random(r, p)
        self.y, self.after = np.empty_like(self.g), np.empty_like(self.z)
        self.gradient_w, self.gradient_z = np.empty((r, k), np.float32), np.empty(k * p, np.float32)
        base, joint = (_plans(n, geometry.box) for n in (r, geometry.n_joint))
        self.transforms = (base[0], joint[1], joint[0], base[1])
        self.passes = max(1, round(4e8 / (k * p * r)))
        self.products = [
            self._fastest(product)
            for product in (self._compose, self._code_gradient, self._weight_gradient)
        ]

    def measure(self):
        """Seconds of one pass of the parts, each the mean of several passes."""
        spent = np.zeros(len(_PARTS))
        for _ in range(self.passes):
            spent += self._one_pass()
        return spent / self.passes

    def _one_pass(self):
        start = time.perf_counter()
        for product, blocks in self.products:
            product(blocks)
        multiplied = time.perf_counter()
        for transform in self.transforms:
            transform.execute()
        transformed = time.perf_counter()
        np.add(self.z, self.before, out=self.after)
        end = time.perf_counter()
        return np.array([multiplied - start, transformed - multiplied, end - transformed])

    # The same product over all columns at once or over blocks of them: a block that stays in the
    # cache is often faster, and a bound must not be slower than what it bounds.

    def _fastest(self, product):
        size = self.z.shape[1]
        candidates = []
        for width in {size, *(n for n in _BLOCK_WIDTHS if n < size)}:
            blocks = [slice(i, min(i + width, size)) for i in range(0, size, width)]
            product(blocks)
            times = [seconds_of(lambda blocks=blocks: product(blocks)) for _ in range(5)]
            candidates.append((min(times), width, blocks))
        return product, min(candidates)[2]

    def _compose(self, blocks):
        for block in blocks:
            np.matmul(self.w, self.z[:, block], out=self.y[:, block])

    def _code_gradient(self, blocks):
        # Into the same buffer for all blocks: no iteration has to keep this gradient whole.
        for block in blocks:
            g = self.g[:, block]
            out = self.gradient_z[: len(self.z) * g.shape[1]].reshape(len(self.z), -1)
            np.matmul(self.w.T, g, out=out)

    def _weight_gradient(self, blocks):
        if len(blocks) == 1:
            np.matmul(self.g, self.z.T, out=self.gradient_w)
            return
        self.gradient_w[...] = 0
        for block in blocks:
            self.gradient_w += self.g[:, block] @ self.z[:, block].T


def _plans(batch, box):
    space = pyfftw.zeros_aligned((batch, *box), np.float32)
    spectrum = pyfftw.zeros_aligned((batch, *box[:-1], box[-1] // 2 + 1), np.complex64)
    axes = tuple(range(1, len(box) + 1))
    measured = {"axes": axes, "threads": 1}
    return (
        pyfftw.FFTW(space, spectrum, flags=("FFTW_MEASURE",), **measured),
        pyfftw.FFTW(
            spectrum,
            space,
            direction="FFTW_BACKWARD",
            flags=("FFTW_MEASURE", "FFTW_DESTROY_INPUT"),
            **measured,
        ),
    )


def run(report, *, data, quick):
    for case in cases(quick):
        measure_case(report, case, repeats=3 if quick else 5)
    _draw(report)


def measure_case(report, case, repeats):
    problem, weights = problem_and_weights(
        case.n_filters, case.n_base, case.shift, case.support, case.joint
    )
    timer, bound = CodeTimer(problem, weights), Bound(case, problem.geometry)
    timer.solve(10)  # compiles the kernels, once a process
    bound.measure()
    times = interleaved({"iteration": timer.seconds, "bound": bound.measure}, repeats)
    bounds = [float(parts.sum()) for parts in times["bound"]]
    ratio = median_ratio(times["iteration"], bounds)
    parts = 1e3 * np.median(times["bound"], axis=0)
    report.add(
        case=case.name,
        n_filters=case.n_filters,
        n_base=case.n_base,
        box="x".join(map(str, problem.geometry.box)),
        iteration_ms=1e3 * statistics.median(times["iteration"]),
        bound_ms=1e3 * statistics.median(bounds),
        **{f"{name}_ms": float(part) for name, part in zip(_PARTS, parts, strict=True)},
        ratio=ratio,
        smallest_ratio=min(a / b for a, b in zip(times["iteration"], bounds, strict=True)),
        largest_ratio=max(a / b for a, b in zip(times["iteration"], bounds, strict=True)),
    )
    report.at_most(f"iteration / bound, {case.name}", ratio, case.bar)


def _draw(report):
    ax = report.figure()
    ax.figure.set_size_inches(8, 0.25 * len(report.rows) + 1.5)
    names = [row["case"] for row in report.rows]
    ratios = [row["ratio"] for row in report.rows]
    spread = [
        [row["ratio"] - row["smallest_ratio"] for row in report.rows],
        [row["largest_ratio"] - row["ratio"] for row in report.rows],
    ]
    ax.barh(names, ratios, xerr=spread)
    ax.axvline(2, color="grey", linestyle=":")
    ax.axvline(3, color="grey", linestyle="--")
    ax.invert_yaxis()
    ax.set(xlabel="time of an iteration / its bound (dotted: bar of the first case)")
