"""White noise on the paper's ten images: the chain of groups beside bm3d, one thread each.

The settings of the chain were chosen on six other photographs (``set12``), never on these.
"""

import statistics
import time

import bm3d
import imageio.v3 as iio
import numpy as np

from benchmarks.data import DataError
from napari_scsc.restore.chain import ChainSettings, denoise_sample
from napari_scsc.restore.patches import cosine_basis

_GREY = np.array([0.298936021, 0.587043074, 0.114020904], np.float32)
_PATCH = (8, 8)


def run(report, *, data, quick):
    folder = None if data is None else data / "ten_images"
    if folder is None or not folder.is_dir():
        raise DataError("--data must name the folder that holds ten_images")
    files = sorted(folder.glob("*.jpg"))[: 3 if quick else None]
    _ours(np.zeros((32, 32), np.float32), 0.1, 64)  # compile
    for variance in (0.01, 0.1):
        for file in files:
            _one(report, file, variance)
        _bars(report, variance)
    _draw(report)


def _one(report, file, variance):
    clean = (iio.imread(file).astype(np.float32) / 255) @ _GREY
    sigma = variance**0.5
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    noisy = clean + np.float32(sigma) * noise
    row = {"image": file.stem, "variance": variance, "noisy_db": _psnr(noisy, clean)}
    for name, method in {
        "bm3d": lambda: bm3d.bm3d(noisy, sigma),
        "threshold": lambda: _ours(noisy, sigma, 0),
        "wiener": lambda: _ours(noisy, sigma, 64),
    }.items():
        start = time.perf_counter()
        result = method()
        row[f"{name}_s"] = time.perf_counter() - start
        row[f"{name}_db"] = _psnr(result, clean)
    report.add(**row)


def _ours(noisy, sigma, second_size):
    basis = cosine_basis(1, _PATCH)
    settings = ChainSettings(second_size=second_size)
    return denoise_sample(noisy[None], sigma, _PATCH, basis, settings)[0]


def _psnr(estimate, clean):
    return -10 * float(np.log10(np.mean((estimate - clean) ** 2)))


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
