"""One code iteration with R base filters against one of SPORCO's ConvBPDN with K filters."""

import statistics

from benchmarks import contenders
from benchmarks.synthetic import problem_and_weights
from benchmarks.timing import CodeTimer, interleaved, median_ratio, seconds_of

_N_FILTERS, _N_BASE, _SUPPORT = 100, 10, (11, 11)
_BAR_LENGTH, _BAR = 512, 25


def run(report, *, data, quick):
    for length in (110, 256) if quick else (110, 256, _BAR_LENGTH):
        _compare(report, length, repeats=3 if quick else 5)
    ax = report.figure()
    lengths = [row["length"] for row in report.rows]
    for name in ("ours_ms", "sporco_ms"):
        ax.loglog(lengths, [row[name] for row in report.rows], "o-", label=name.split("_")[0])
    ax.set(xlabel="length of a square image", ylabel="ms an iteration")
    ax.legend()


def _compare(report, length, repeats):
    problem, weights = problem_and_weights(_N_FILTERS, _N_BASE, (length, length), _SUPPORT)
    timer = CodeTimer(problem, weights)
    image = problem.geometry.crop(problem.sample)
    iterations = 10 if length < 200 else 3
    filters = contenders.first_filters(_N_FILTERS, _SUPPORT, seed=0)
    # No tolerance: each call of solve() then takes as many iterations as it was told to.
    theirs = contenders.coder(filters, image, iterations, tolerance=0.0)

    def their_seconds():
        before = theirs.k
        seconds = seconds_of(theirs.solve)
        return seconds / (theirs.k - before)

    timer.solve(10)
    theirs.solve()
    times = interleaved({"ours": timer.seconds, "sporco": their_seconds}, repeats)
    ratio = median_ratio(times["sporco"], times["ours"])
    report.add(
        length=length,
        n_filters=_N_FILTERS,
        n_base=_N_BASE,
        ours_ms=1e3 * statistics.median(times["ours"]),
        sporco_ms=1e3 * statistics.median(times["sporco"]),
        ratio=ratio,
        smallest_ratio=min(b / a for a, b in zip(times["ours"], times["sporco"], strict=True)),
        largest_ratio=max(b / a for a, b in zip(times["ours"], times["sporco"], strict=True)),
    )
    if length == _BAR_LENGTH:
        report.at_least(f"times faster than SPORCO, {length}x{length}", ratio, _BAR)
