"""Every quality on every development set: each step up must be worth its time.

White noise of 0.1 with its level given, but for the micrographs, whose noise is real and unknown.
``--quick`` takes crops.
"""

import itertools
import statistics
import time
import warnings

import imageio.v3 as imageio
import numpy as np

from benchmarks import microscopy, multidim
from benchmarks.data import existing_path, load_array, load_images
from benchmarks.preprocessing import grey
from benchmarks.quality import psnr
from benchmarks.speed import STACK
from napari_scsc import RestorationWarning, denoise
from napari_scsc.groups import compiling

_SIGMA = 0.1
_QUALITIES = ("draft", "fast", "balanced")
_TOLERANCE_DB = 0.03


def run(report, *, data, quick):
    warnings.simplefilter("ignore", RestorationWarning)  # real noise is not always sure
    compiling.warm_up()
    sets = _sets(data, quick)
    for name, cases in sets.items():
        for quality in _QUALITIES:
            scores, start = [], time.process_time()
            for kind, noisy, sigma, score in cases:
                scores.append(
                    score(denoise(noisy, kind=kind, sigma=sigma, quality=quality, n_jobs=1))
                )
            seconds = (time.process_time() - start) / len(cases)
            report.add(set=name, quality=quality, psnr=statistics.fmean(scores), seconds=seconds)
    found = {(row["set"], row["quality"]): row["psnr"] for row in report.rows}
    for name in sets:
        for lower, higher in itertools.pairwise(_QUALITIES):
            gain = found[name, higher] - found[name, lower]
            report.at_least(f"{name}: {higher} above {lower}, dB", gain, -_TOLERANCE_DB)
    ax = report.figure()
    for quality in _QUALITIES:
        ax.plot(list(sets), [found[name, quality] for name in sets], "o-", label=quality)
    ax.set(ylabel="PSNR, dB")
    ax.legend()


def load_photographs(folder, crop):
    """The ten images and those of Set12, grey in [0, 1]."""
    ten = [grey(image).astype(np.float32)[crop] for image in load_images(folder, "ten_images")]
    set12 = [
        imageio.imread(file).astype(np.float32)[crop] / 255
        for file in sorted(existing_path(folder, "set12").glob("*.png"))
    ]
    return ten, set12


def _sets(folder, quick):
    crop = np.s_[:96, :96] if quick else np.s_[:, :]
    ten, set12 = load_photographs(folder, crop)
    stack = load_array(folder, "video/airport_tyx.npz", "video")[STACK] / np.float32(255)
    sets = {
        "ten images": [_white("image", image) for image in ten],
        "Set12": [_white("image", image) for image in set12],
        "W2S": [_real(n[crop], c[crop]) for n, c in microscopy.load_w2s(folder)],
        "FMD": [_real(n[crop], c[crop]) for n, c in microscopy.load_fmd(folder)],
        "stack": [_white("stack", np.ascontiguousarray(stack[:8, :48, :48] if quick else stack))],
    }
    for case in multidim.CASES:
        sets[case.kind] = [_white(case.kind, case.load(folder, quick))]
    return sets


def _white(kind, clean):
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    noisy = clean + np.float32(_SIGMA) * noise
    return kind, noisy, _SIGMA, lambda result: float(psnr(clean, result))


def _real(noisy, clean):
    return "image", noisy, None, lambda result: microscopy.matched_psnr(clean, result)
