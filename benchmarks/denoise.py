"""White noise on the paper's ten images: the chain of groups beside bm3d, one thread each.

The settings of the chain were chosen on six other photographs (``set12``), never on these.
"""

import statistics
import time

import bm3d
import numpy as np

from benchmarks.data import load_images
from benchmarks.fruit import psnr
from benchmarks.preprocessing import grey
from napari_scsc.restore.chain import ChainSettings, denoise_sample
from napari_scsc.restore.patches import cosine_basis

_PATCH = (8, 8)


def run(report, *, data, quick):
    images = load_images(data, "ten_images")[: 3 if quick else None]
    _ours(np.zeros((32, 32), np.float32), 0.1, 64)  # compile
    for variance in (0.01, 0.1):
        for number, image in enumerate(images):
            _one(report, number, grey(image).astype(np.float32), variance)
        _bars(report, variance)
    _draw(report)


def _one(report, number, clean, variance):
    sigma = variance**0.5
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    noisy = clean + np.float32(sigma) * noise
    row = {"image": number, "variance": variance, "noisy_db": psnr(clean, noisy)}
    for name, method in {
        "bm3d": lambda: bm3d.bm3d(noisy, sigma),
        "threshold": lambda: _ours(noisy, sigma, 0),
        "wiener": lambda: _ours(noisy, sigma, 64),
    }.items():
        start = time.perf_counter()
        result = method()
        row[f"{name}_s"] = time.perf_counter() - start
        row[f"{name}_db"] = psnr(clean, result)
    report.add(**row)


def _ours(noisy, sigma, second_size):
    basis = cosine_basis(1, _PATCH)
    settings = ChainSettings(second_size=second_size)
    return denoise_sample(noisy[None], sigma, _PATCH, basis, settings)[0]


def _bars(report, variance):
    rows = [row for row in report.rows if row["variance"] == variance]

    def mean(key):
        return statistics.fmean(row[key] for row in rows)

    gain = mean("wiener_db") - mean("bm3d_db")
    report.at_least(
        f"variance {variance}: dB above bm3d, mean", gain, 0.1 if variance < 0.05 else 0
    )
    ratio = statistics.median(row["wiener_s"] / row["bm3d_s"] for row in rows)
    report.at_most(f"variance {variance}: time / bm3d's, median", ratio, 1.0)
    quick = statistics.median(row["threshold_s"] / row["bm3d_s"] for row in rows)
    report.at_most(f"variance {variance}: first pass alone, time / bm3d's, median", quick, 0.2)


def _draw(report):
    axes = report.figure(columns=2)
    for ax, variance in zip(axes, (0.01, 0.1), strict=True):
        rows = [row for row in report.rows if row["variance"] == variance]
        for name in ("bm3d", "threshold", "wiener"):
            ax.plot([row[f"{name}_db"] for row in rows], "o-", label=name)
        ax.set(xlabel="image", ylabel="PSNR, dB", title=f"variance {variance}")
        ax.legend()
