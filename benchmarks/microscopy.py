"""Real noise of microscopes, its level unknown: ours beside others, one thread each.

A single frame is denoised and compared with the mean of many. W2S: as brightness and contrast of
the two differ, each result is first matched to the mean by the best a x + b, and the peak of PSNR
and SSIM is the range of the mean. FMD, twelve images of its test set: as its authors do, without a
match and with a peak of 255.

Beside the methods of others stand the simple things: a blur of the width that is best for each
image, which nobody knows without the truth, and a Wiener filter over the whole image that gets the
noise that ours finds.

The settings of the groups were chosen on six photographs (``set12``) with simulated noise. The
others get the noise level that their documentation recommends to estimate, and bm3d also what ours
finds.
``--quick`` takes small crops, on which the bars say little.
"""

import functools
import statistics
import warnings

import numpy as np
from skimage.restoration import estimate_sigma

from benchmarks import peers
from benchmarks.data import existing_path, load_image
from napari_scsc import RestorationWarning, denoise, estimate_noise
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.whitening import cosine_levels

_WIDE_FIELD = ("010_0", "031_2", "042_1", "077_2", "099_0")
_QUALITIES = ("draft", "fast", "balanced")
_OURS = "balanced"
_TOGETHER = "FMD, the stack together"  # not among the images that are judged
_SHOWN = 160  # rows and columns of the pictures


def run(report, *, data, quick):
    pairs, stack = _load(data)
    if quick:
        crop = np.s_[..., 192:288, 192:288]
        pairs = {name: tuple(a[crop] for a in pairs[name]) for name in list(pairs)[3::6]}
        stack = tuple(a[crop] for a in stack)
    _warm_up()
    shown = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RestorationWarning)  # the table has what was estimated
        for name, (noisy, clean) in pairs.items():
            results = _all_methods(report, name, noisy, clean)
            shown[name] = {"clean": clean, "noisy": results["input"], **results}
        _whole_stack(report, *stack)
    over_all = [{"set": "all", **row} for row in peers.means(_judged(report), "method")]
    report.extra("means", peers.means(report.rows, "set", "method") + over_all)
    _bars(report)
    _show(report, shown, _best_rival(report, "psnr"))


def load_w2s(folder):
    """Pairs (noisy, clean), float32 in the units of the files."""
    return [_pair(folder, f"w2s_{name}", "tif") for name in _WIDE_FIELD]


def load_fmd(folder):
    """Pairs (noisy, clean) of the development images of FMD's test set."""
    files = sorted(existing_path(folder, "fmd/raw").glob("*.png"))
    names = [f"fmd/{part}/{file.name}" for file in files for part in ("raw", "gt")]
    images = [load_image(folder, name).astype(np.float32) for name in names]
    return list(zip(images[::2], images[1::2], strict=True))


def _pair(folder, name, ending):
    files = (f"microscopy/{name}_{part}.{ending}" for part in ("noisy", "clean"))
    return tuple(load_image(folder, file).astype(np.float32) for file in files)


def _load(folder):
    """Pairs (noisy, clean) of planes, and of the whole stack, float32 in the units of the files."""
    w2s = zip(_WIDE_FIELD, load_w2s(folder), strict=True)
    pairs = {f"W2S {name}": pair for name, pair in w2s}
    files = sorted(existing_path(folder, "fmd/raw").glob("*.png"))
    for file, pair in zip(files, load_fmd(folder), strict=True):
        pairs[file.stem.removesuffix("_1").replace("_", " ")] = pair
    return pairs, _pair(folder, "fmd_stack", "tif")


def _ours(noisy, **options):
    return denoise(noisy, **{"kind": "image", "n_jobs": 1, **options})


def _warm_up():
    """Compile everything that is timed."""
    noisy = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    for quality in _QUALITIES:
        _ours(noisy, quality=quality, sigma=1.0)
    estimate_noise(noisy, kind="image")


def _all_methods(report, name, noisy, clean):
    usual = float(estimate_sigma(noisy))
    noise = estimate_noise(noisy, kind="image")
    labels = {"set": name.split()[0], "image": name}
    score = _scores if labels["set"] == "W2S" else _plain_scores
    methods = {
        "input": lambda: noisy,
        **{q: functools.partial(_ours, noisy, quality=q) for q in _QUALITIES},
        "best blur": lambda: peers.best_blur(noisy, lambda x: score(clean, x)["psnr"]),
        "global Wiener, our noise": lambda: _stabilised(noisy, noise, _wiener),
        "bm3d": lambda: peers.bm3d(noisy, usual),
        "bm3d, our sigma": lambda: peers.bm3d(noisy, noise.sigma),
        "bm3d, our noise, Anscombe": lambda: _stabilised(noisy, noise, _bm3d),
        "NLM, our noise, Anscombe": lambda: _stabilised(noisy, noise, _nl_means),
        "scikit-image NLM": lambda: peers.nl_means(noisy, usual),
        # Its default weight is made for [0, 1].
        "scikit-image TV": lambda: 255 * peers.total_variation(noisy / 255, 0.1),
        "scikit-image wavelet": lambda: peers.wavelet(noisy, usual),
    }
    labels |= {"usual_sigma": usual, "our_sigma": float(noise.sigma), "our_gain": float(noise.gain)}
    labels["correlated"] = bool(noise.lags)
    results = peers.compare(report, methods, clean, score, **labels)
    return {method: _matched(clean, result)[0] for method, result in results.items()}


def _stabilised(noisy, noise, method):
    """``method(values, noise, sigma)`` of values in which the noise is even."""
    if not noise.depends_on_signal:
        return method(noisy, noise, noise.sigma)
    transform = Anscombe(noise.gain, noise.offset, noise.floor**2)
    return transform.inverse(method(transform.forward(noisy).astype(np.float32), noise, 1.0))


def _bm3d(values, noise, sigma):
    if not noise.lags:
        return peers.bm3d(values, sigma)
    # The k-th cosine of n pixels has k / 2 periods, the k-th wave of Fourier k, or n - k.
    rows, columns = (
        np.minimum(2 * np.minimum(np.arange(n), n - np.arange(n)), n - 1) for n in values.shape
    )
    full = cosine_levels(noise.lags, (), values.shape)[np.ix_(rows, columns)]
    return peers.bm3d_spectrum(values, full.astype(np.float64) ** 2 * sigma**2 * values.size)


def _wiener(values, noise, sigma):
    levels = cosine_levels(noise.lags, (), values.shape) if noise.lags else 1.0
    return peers.global_wiener(values, (sigma * levels) ** 2)


def _nl_means(values, noise, sigma):
    return peers.nl_means(values, sigma)


def _whole_stack(report, noisy, clean):
    """The planes of the stack denoised together, as a row beside the others."""

    def score(clean, result):
        planes = [_scores(*pair) for pair in zip(clean, result, strict=True)]
        return {key: statistics.fmean(plane[key] for plane in planes) for key in planes[0]}

    one_by_one = {"balanced": lambda: np.stack([_ours(plane) for plane in noisy])}
    together = {"balanced, as a stack": lambda: _ours(noisy, kind="stack")}
    methods = {**one_by_one, **together}
    peers.compare(report, methods, clean, score, set=_TOGETHER, image="FMD stack")


def _matched(clean, result):
    """The result with the brightness and contrast of the clean image, and the range of that."""
    clean, result = clean.astype(np.float64), result.astype(np.float64)
    together = ((result - result.mean()) * (clean - clean.mean())).mean()
    contrast = together / max(result.var(), 1e-12)
    return clean.mean() + contrast * (result - result.mean()), float(np.ptp(clean))


def matched_psnr(clean, result):
    """After the best match of brightness and contrast; the peak is the range of the clean image."""
    matched, peak = _matched(clean, result)
    return float(10 * np.log10(peak**2 / np.mean((matched - clean) ** 2)))


def _scores(clean, result):
    matched, peak = _matched(clean, result)
    return {
        "psnr": matched_psnr(clean, result),
        "ssim": peers.ssim(clean.astype(np.float64), matched, peak),
    }


def _plain_scores(clean, result):
    result = np.clip(result, 0, 255)
    return {
        "psnr": float(10 * np.log10(255**2 / np.mean((clean.astype(np.float64) - result) ** 2))),
        "ssim": peers.ssim(clean.astype(np.float64), result, 255),
    }


def _judged(report):
    return [row for row in report.rows if row["set"] != _TOGETHER]


def _best_rival(report, figure):
    rows = peers.means(_judged(report), "method")
    rivals = [row for row in rows if row["method"] not in _QUALITIES]
    return max(rivals, key=lambda row: row[figure])["method"]


def _bars(report):
    found = functools.partial(peers.mean, _judged(report), "psnr")
    rivals = {row["method"] for row in _judged(report)} - {*_QUALITIES, "input"}
    for name in dict.fromkeys(row["set"] for row in _judged(report)):
        best = max(rivals, key=lambda method: found(set=name, method=method))
        gain = found(set=name, method=_OURS) - found(set=name, method=best)
        report.at_least(f"{name}: {_OURS}, dB above the best other ({best})", gain, 0.0)
    rival = _best_rival(report, "psnr")
    gain = found(method=_OURS) - found(method=rival)
    report.at_least(f"all: {_OURS}, dB above the best other ({rival})", gain, 0.3)
    for simple in ("best blur", "global Wiener, our noise"):
        gain = found(set="W2S", method=_OURS) - found(set="W2S", method=simple)
        report.at_least(f"W2S: {_OURS}, dB above {simple}", gain, 0.5)
    steps = [
        found(image=image, method="balanced") - found(image=image, method="fast")
        for image in dict.fromkeys(row["image"] for row in _judged(report))
        if not image.startswith("W2S")
    ]
    if steps:
        report.at_least("FMD: balanced above fast on the worst image, dB", min(steps), -0.05)


def _show(report, shown, rival):
    """The middle of each image."""
    examples = {}
    for name, pictures in shown.items():
        starts = [max(0, (n - _SHOWN) // 2) for n in pictures["clean"].shape]
        crop = tuple(slice(start, start + _SHOWN) for start in starts)
        examples[name] = {p: pictures[p][crop] for p in ("clean", "noisy", rival, _OURS)}
    peers.show(report, examples)
