"""Restoration beside bm3d and bm4d, one thread each, in processor time; medians of five.

The image is a mosaic of four of the paper's ten, noise 0.1. bm3d and bm4d are given the same noise
level, and run as often. ``--quick`` measures once, on smaller data, on which the bars say little.
"""

import statistics
import time

import numpy as np

from benchmarks import multidim, peers
from benchmarks.data import load_array, load_images
from benchmarks.preprocessing import grey
from benchmarks.quality import psnr
from napari_scsc import denoise, inpaint
from napari_scsc.groups import compiling

_SIGMA = 0.1
_QUALITIES = ("draft", "fast", "balanced")
_TO_BM3D = {"fast": 0.04, "balanced": 0.15}
_TO_BM4D = {"stack": 0.12, "video": 0.15, "multispectral": 0.02, "light-field": 0.01}
_DRAFT_SECONDS = 0.6  # a million points
_BELOW = {"draft": ("fast", 0.6), "fast": ("balanced", 0.35)}  # in dB
STACK = np.s_[20:44, 40:136, 60:156]  # of the video, taken for a stack


def run(report, *, data, quick):
    repeats = 1 if quick else 5
    images = [grey(image).astype(np.float32) for image in load_images(data, "ten_images")]
    compiling.warm_up()
    denoise(images[0][:48, :48], kind="image", sigma=_SIGMA, n_jobs=1)  # all that is loaded late
    _mosaic(report, images, repeats, quick)
    _draft(report, images, repeats)
    _gaps(report, images, repeats, quick)
    _two_threads(report, images, repeats)
    for kind, clean in _volumes(data, quick):
        _volume(report, kind, clean, repeats)
    _draw(report)


def _cpu(work, repeats=1):
    """Processor seconds, the median, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return statistics.median(times), result


def _ratio(work, rival, repeats):
    """Median of the ratios of processor times, measured in turn; median times; last results."""
    rounds = [(*_cpu(work), *_cpu(rival)) for _ in range(repeats)]
    ours, result, theirs, other = zip(*rounds, strict=True)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return ratio, statistics.median(ours), statistics.median(theirs), result[-1], other[-1]


def _noisy(clean):
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    return clean + np.float32(_SIGMA) * noise


def _tiled(images, rows):
    """Images side by side, in so many rows and columns."""
    numbers = iter(range(rows * rows))
    return np.block(
        [[images[next(numbers) % len(images)] for _ in range(rows)] for _ in range(rows)]
    )


def _ours(noisy, quality, kind="image", n_jobs=1):
    return denoise(noisy, kind=kind, sigma=_SIGMA, quality=quality, n_jobs=n_jobs)


def _mosaic(report, images, repeats, quick):
    clean = images[0] if quick else _tiled(images, 2)
    noisy = _noisy(clean)
    for quality in _QUALITIES:
        ratio = _beside(
            report,
            f"{len(clean)} x {len(clean)}, {quality}",
            clean,
            lambda quality=quality: _ours(noisy, quality),
            ("bm3d", lambda: peers.bm3d(noisy, _SIGMA)),
            repeats,
        )
        if quality in _TO_BM3D:
            report.at_most(f"{quality}: time / bm3d's", ratio, _TO_BM3D[quality])


def _beside(report, what, clean, work, peer, repeats):
    """Add a row for ours beside a peer, (name, work), and return the ratio of their times."""
    ratio, ours, theirs, result, other = _ratio(work, peer[1], repeats)
    report.add(
        what=what,
        seconds=ours,
        peer=peer[0],
        peer_seconds=theirs,
        ratio=ratio,
        psnr=float(psnr(clean, result)),
        peer_psnr=float(psnr(clean, other.reshape(clean.shape))),
    )
    return ratio


def _draft(report, images, repeats):
    """Seconds a million points of an image, and what each quality has on the ten."""
    clean = _tiled(images, 4)
    seconds, _ = _cpu(lambda: _ours(_noisy(clean), "draft"), repeats)
    per_million = seconds / clean.size * 1e6
    report.add(what=f"{len(clean)} x {len(clean)}, draft, a million points", seconds=per_million)
    report.at_most("draft: seconds a million points", per_million, _DRAFT_SECONDS)
    means = {
        quality: statistics.fmean(
            float(psnr(image, _ours(_noisy(image), quality))) for image in images
        )
        for quality in _QUALITIES
    }
    for quality, (better, bar) in _BELOW.items():
        lost = means[better] - means[quality]
        report.add(what=f"ten images: {quality} below {better}, dB", psnr=lost)
        report.at_most(f"{quality}: dB below {better}", lost, bar)


def _gaps(report, images, repeats, quick):
    clean = images[0]
    missing = np.random.default_rng(0).random(clean.shape) < 0.5
    seconds, result = _cpu(lambda: inpaint(clean, missing, kind="image", n_jobs=1), repeats)
    score = float(psnr(clean, result))
    report.add(what="inpaint 256 x 256, half missing", seconds=seconds, psnr=score)
    report.at_most("inpaint 256 x 256, half missing: seconds", seconds, 3.0)
    clean = _tiled(images, 2 if quick else 4)
    missing = np.zeros(clean.shape, bool)
    missing[:, 500:502] = True
    seconds, _ = _cpu(lambda: inpaint(clean, missing, kind="image", n_jobs=1), repeats)
    report.add(what=f"inpaint a column of two pixels in {clean.shape[0]} rows", seconds=seconds)
    report.at_most("inpaint a column of two pixels: seconds", seconds, 1.5)


def _two_threads(report, images, repeats):
    """By the clock, for two cores."""
    noisy = _noisy(_tiled(images, 4))
    ratios = []
    for _ in range(repeats):
        times = []
        for n_jobs in (1, 2):
            start = time.perf_counter()
            _ours(noisy, "balanced", n_jobs=n_jobs)
            times.append(time.perf_counter() - start)
        ratios.append(times[1] / times[0])
    ratio = statistics.median(ratios)
    report.add(what="1024 x 1024, balanced, two threads / one", ratio=ratio)
    report.at_most("two threads / one", ratio, 0.53)


def _volumes(folder, quick):
    stack = load_array(folder, "video/airport_tyx.npz", "video")[STACK] / np.float32(255)
    yield "stack", np.ascontiguousarray(stack[:8, :48, :48] if quick else stack)
    for case in multidim.CASES:
        yield case.kind, case.load(folder, quick)


def _volume(report, kind, clean, repeats):
    noisy = _noisy(clean)
    volume = noisy.reshape(-1, *noisy.shape[-2:])
    ratio = _beside(
        report,
        f"{kind} {' x '.join(map(str, clean.shape))}, balanced",
        clean,
        lambda: _ours(noisy, "balanced", kind),
        ("bm4d", lambda: peers.bm4d(volume, _SIGMA)),
        repeats,
    )
    report.at_most(f"{kind}, balanced: time / bm4d's", ratio, _TO_BM4D[kind])


def _draw(report):
    ax = report.figure()
    rows = [row for row in report.rows if "peer" in row]
    ax.figure.set_size_inches(8, 0.4 * len(rows) + 1.5)
    ax.barh([row["what"] for row in rows], [row["ratio"] for row in rows])
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="processor time / that of the peer (bm3d, bm4d)")
