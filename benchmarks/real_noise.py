"""Noise that pixels share, simulated on photographs and unknown to ours: found, and taken away.

Ours gets nothing but the noisy image; "white" is ours as if no pixel shared noise, and bm3d gets
the true spectrum. The noise has a standard deviation of 0.1: Gaussian blotches in which neighbours
have a correlation of 0.3 or 0.6, exponential ones of 0.6, and white noise with rows that share an
error of half its level (0.1 each, then). ``--quick`` takes two images.
"""

import statistics
import time
import warnings

import numpy as np
from scipy import optimize, signal

from benchmarks import peers
from benchmarks.data import load_images
from benchmarks.preprocessing import grey
from benchmarks.quality import psnr
from napari_scsc import RestorationWarning, denoise, estimate_noise
from napari_scsc.groups import compiling

_SIGMA = 0.1
_LAGS = 8  # of the covariance that is compared
_ROUNDS = 3  # of which times are the median


def run(report, *, data, quick):
    warnings.simplefilter("ignore", RestorationWarning)
    compiling.warm_up()
    images = [grey(image).astype(np.float32) for image in load_images(data, "ten_images")]
    images = images[::5] if quick else images
    for name, (make, lags) in _CASES.items():
        for number, clean in enumerate(images):
            rng = np.random.default_rng(number)
            noisy = clean + np.float32(_SIGMA) * make(rng, clean.shape).astype(np.float32)
            _compare(report, name, number, clean, noisy, lags)
    for number, clean in enumerate(images):
        rng = np.random.default_rng(number)
        noisy = clean + np.float32(_SIGMA) * rng.standard_normal(clean.shape).astype(np.float32)
        found = estimate_noise(noisy, kind="image")
        report.add(
            noise="white",
            image=number,
            ours=psnr(clean, denoise(noisy, kind="image", n_jobs=1)),
            white=psnr(clean, denoise(noisy, kind="image", sigma=_SIGMA, n_jobs=1)),
            level=found.sigma / _SIGMA,
            correlated=found.correlated,
        )
    _bars(report)
    _time(report, images[0])
    _show(report)


def _compare(report, name, number, clean, noisy, lags):
    found = estimate_noise(noisy, kind="image")
    true = lags(_LAGS)
    results = {
        "white": denoise(noisy, kind="image", noise="white", n_jobs=1),
        "ours": denoise(noisy, kind="image", n_jobs=1),
        "bm3d, true spectrum": peers.bm3d_spectrum(noisy, _spectrum(name, clean.shape)),
    }
    row = {method: float(psnr(clean, result)) for method, result in results.items()}
    level = found.sigma / (_SIGMA * (1.25**0.5 if name == "stripes" else 1))
    row |= {"level": level, "correlated": found.correlated}
    if name != "stripes":
        measured = np.array(found.lags) if found.lags else np.eye(1, _LAGS**2).reshape(_LAGS, -1)
        ours, truth = _covariance(measured * found.sigma**2), _covariance(true * _SIGMA**2)
        row["covariance error"] = float(np.linalg.norm(ours - truth) / np.linalg.norm(truth))
    else:
        row["rows found"] = found.rows / (_SIGMA / 2)
    report.add(noise=name, image=number, **row)


def _bars(report):
    rows = report.rows
    for name, least in (("0.3", 2.0), ("0.6", 3.0), ("0.6, exponential", 3.0), ("stripes", 2.0)):
        of = [row for row in rows if row["noise"] == name]
        gain = statistics.fmean(row["ours"] - row["white"] for row in of)
        report.at_least(f"{name}: above white treatment, dB", gain, least)
        gain = statistics.fmean(row["ours"] - row["bm3d, true spectrum"] for row in of)
        report.at_least(f"{name}: above bm3d that knows the spectrum, dB", gain, 0.0)
        if name != "stripes":
            error = statistics.fmean(row["covariance error"] for row in of)
            report.at_most(f"{name}: relative error of the covariance, mean", error, 0.15)
    white = [row for row in rows if row["noise"] == "white"]
    loss = statistics.fmean(row["white"] - row["ours"] for row in white)
    report.at_most("white noise: lost beside the true level, dB", loss, 0.02)
    count = sum(bool(row["correlated"]) for row in white)
    report.at_most("white noise that was called correlated, images", count, 0)


def _time(report, clean):
    """Processor time with correlated noise beside white noise, on four copies side by side."""
    large = np.tile(clean, (2, 2))
    rng = np.random.default_rng(0)
    noises = {"white": rng.standard_normal(large.shape), "0.6": _CASES["0.6"][0](rng, large.shape)}
    seconds = {name: [] for name in noises}
    for _ in range(_ROUNDS):
        for name, noise in noises.items():
            noisy = large + np.float32(_SIGMA) * noise.astype(np.float32)
            start = time.process_time()
            denoise(noisy, kind="image", n_jobs=1)
            seconds[name].append(time.process_time() - start)
    ratio = statistics.median(seconds["0.6"]) / statistics.median(seconds["white"])
    report.at_most("time of balanced, correlated / white", ratio, 1.15)


def _show(report):
    """Means of all images, for each noise."""
    ax = report.figure()
    for method in ("white", "bm3d, true spectrum", "ours"):
        means = [
            statistics.fmean(row[method] for row in report.rows if row["noise"] == name)
            for name in _CASES
        ]
        ax.plot(list(_CASES), means, "o-", label=method)
    ax.set(xlabel="noise", ylabel="PSNR, dB")
    ax.legend()


def _blur_width(correlation):
    """Of a Gaussian after which neighbours of white noise have that correlation."""
    return optimize.brentq(lambda width: np.exp(-1 / (4 * width**2)) - correlation, 0.1, 5)


def _blotches(correlation):
    def make(rng, shape):
        noise = np.fft.fft2(rng.standard_normal(shape))
        frequencies = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1]))
        width = _blur_width(correlation)
        noise = np.fft.ifft2(noise * np.exp(-2 * (np.pi * width * frequencies) ** 2)).real
        return noise / noise.std()

    return make


def _exponential(correlation):
    def make(rng, shape):
        noise = rng.standard_normal([n + 64 for n in shape])
        for axis in (0, 1):
            noise = signal.lfilter(
                [np.sqrt(1 - correlation**2)], [1, -correlation], noise, axis=axis
            )
        return noise[64:, 64:]

    return make


def _stripes(rng, shape):
    return rng.standard_normal(shape) + 0.5 * rng.standard_normal((shape[0], 1))


def _gaussian_lags(correlation):
    def lags(n):
        distance = np.arange(n)
        along = np.exp(-(distance**2) / (4 * _blur_width(correlation) ** 2))
        return np.outer(along, along)

    return lags


def _exponential_lags(correlation):
    return lambda n: np.outer(correlation ** np.arange(n), correlation ** np.arange(n))


_CASES = {
    "0.3": (_blotches(0.3), _gaussian_lags(0.3)),
    "0.6": (_blotches(0.6), _gaussian_lags(0.6)),
    "0.6, exponential": (_exponential(0.6), _exponential_lags(0.6)),
    "stripes": (_stripes, lambda n: np.eye(1, n * n).reshape(n, n)),
}


def _spectrum(name, shape):
    """The true power spectrum, as bm3d wants it."""
    size = shape[0] * shape[1]
    if name == "stripes":
        power = np.ones(shape)
        power[:, 0] += 0.25 * shape[1]
    else:
        n = min(shape) // 2
        lags = _CASES[name][1](n)
        full = np.zeros(shape)
        full[:n, :n] = lags
        full[:n, -n + 1 :] = lags[:, :0:-1]
        full[-n + 1 :, :n] = lags[:0:-1]
        full[-n + 1 :, -n + 1 :] = lags[:0:-1, :0:-1]
        power = np.maximum(np.fft.fft2(full).real, 1e-9)
    return power * _SIGMA**2 * size


def _covariance(lags):
    """Over all pairs of pixels of a patch."""
    row, column = np.divmod(np.arange(_LAGS**2), _LAGS)
    return lags[abs(row[:, None] - row), abs(column[:, None] - column)]
