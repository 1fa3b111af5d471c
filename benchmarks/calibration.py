"""How often the truth lies within the standard errors of a result, and regions keep brightness.

Of a normal error, 68 % lie within one standard error and 95 % within two. The two constants of
``groups/denoiser.py`` were chosen on every second photograph and four flowers ("chosen" in the
table); the other sets check them. FMD is without its wide-field images, whose noise is correlated.
The clean images of W2S and FMD are means of 400 and 50 other frames: they are matched to the noisy
one in gain and offset, and have an error of their own, which is added.

Regions are random squares of 10 to 64 pixels a side; ``audit`` says whether they are preserved.
``--quick`` takes crops and one quality.
"""

import dataclasses
import warnings

import numpy as np

from benchmarks import microscopy
from benchmarks.data import existing_path, load_array, load_images
from benchmarks.preprocessing import grey
from benchmarks.qualities import load_photographs
from benchmarks.speed import STACK
from napari_scsc import RestorationWarning, audit, iter_denoise
from napari_scsc.groups import compiling

_LEVELS = (0.05, 0.1, 0.2)
_QUALITIES = ("draft", "fast", "balanced")
_JUDGED = "balanced"
_N_FLOWERS = 8
_N_REGIONS = 100  # of an image
_SIDES = (10, 64)
_BANDS = {"within_1": (0.60, 0.75), "within_2": (0.90, 0.97)}
_MIN_PRESERVED = 0.95
_FMD_FRAMES, _W2S_FRAMES = 50, 400  # of which the clean images are means


@dataclasses.dataclass(frozen=True)
class Case:
    """A noisy image, its truth, and of how many frames that is the mean."""

    noisy: np.ndarray
    clean: np.ndarray
    kind: str = "image"
    sigma: float | None = None
    n_frames: float = np.inf


def run(report, *, data, quick):
    warnings.simplefilter("ignore", RestorationWarning)  # real noise is not always sure
    compiling.warm_up()
    sets = _sets(data, quick)
    for quality in (_JUDGED,) if quick else _QUALITIES:
        for name, cases in sets.items():
            report.add(set=name, quality=quality, **_measure(cases, quality))
    judged = [row for row in report.rows if row["quality"] == _JUDGED]
    for row in judged:
        for figure, (least, most) in _BANDS.items():
            words = f"{row['set']}: truth {figure.replace('_', ' ')} SE"
            report.at_least(words, row[figure], least)
            report.at_most(words, row[figure], most)
        if not np.isnan(row["preserved"]):
            report.at_least(f"{row['set']}: regions preserved", row["preserved"], _MIN_PRESERVED)
    _draw(report, judged)


def _measure(cases, quality):
    """Coverage, bias and preserved regions over all images of a set."""
    away, signed, regions = [], [], []
    for case in cases:
        *_, last = iter_denoise(
            case.noisy, kind=case.kind, sigma=case.sigma, quality=quality, n_jobs=1, error=True
        )
        of_truth = last.noise.variance(last.result) / case.n_frames
        z = (last.result - case.clean) / np.sqrt(last.error**2 + of_truth)
        away.append(np.abs(z).ravel())
        signed.append(np.clip(z, -10, 10).ravel())
        regions += [_audit_square(case.noisy, last, square) for square in _squares(case.noisy)]
    away, signed = np.concatenate(away), np.concatenate(signed)
    return {
        "images": len(cases),
        "within_1": float(np.mean(away < 1)),
        "within_2": float(np.mean(away < 2)),
        "bias": float(np.mean(signed)),
        "preserved": float(np.mean([r.verdict == "preserved" for r in regions])),
        "rms_difference": float(np.sqrt(np.mean([r.difference_in_errors**2 for r in regions]))),
    }


def _squares(image):
    """Random squares of the last two axes, each in a random plane."""
    rng = np.random.default_rng(0)
    *planes, height, width = image.shape
    for _ in range(_N_REGIONS):
        side = int(rng.integers(_SIDES[0], min(_SIDES[1], height, width) + 1))
        y, x = (int(rng.integers(0, n - side + 1)) for n in (height, width))
        yield (*(int(rng.integers(n)) for n in planes), *np.s_[y : y + side, x : x + side])


def _audit_square(noisy, last, square):
    before, after = noisy[square], last.result[square]
    (region,) = audit(before, after, np.ones(before.shape, int), last.noise)
    return region


def _sets(folder, quick):
    crop = np.s_[:96, :96] if quick else np.s_[:, :]
    ten, set12 = load_photographs(folder, crop)
    photographs = [*set12, *ten]
    flowers = [
        grey(image).astype(np.float32)[crop]
        for image in load_images(folder, "flower", "test")[:_N_FLOWERS]
    ]
    chosen, checked = (photographs[i::2] + flowers[i::2] for i in (0, 1))
    video = load_array(folder, "video/airport_tyx.npz", "video")[STACK] / np.float32(255)
    video = np.ascontiguousarray(video[:8, :48, :48] if quick else video)
    sets = {}
    for sigma in _LEVELS:
        sets[f"chosen on, {sigma:g}"] = [_white(image, sigma) for image in chosen]
        sets[f"photographs and flowers, {sigma:g}"] = [_white(image, sigma) for image in checked]
        sets[f"Set12, {sigma:g}"] = [_white(image, sigma) for image in set12]
        sets[f"ten images, {sigma:g}"] = [_white(image, sigma) for image in ten]
    sets["video, 0.1"] = [_white(video, 0.1, "video")]
    sets["stack, 0.1"] = [_white(video, 0.1, "stack")]
    w2s = microscopy.load_w2s(folder)
    sets["W2S"] = [_real(noisy[crop], clean[crop], _W2S_FRAMES) for noisy, clean in w2s]
    files = sorted(existing_path(folder, "fmd/raw").glob("*.png"))
    fmd = zip(files, microscopy.load_fmd(folder), strict=True)
    sets["FMD"] = [
        _real(noisy[crop], clean[crop], _FMD_FRAMES)
        for file, (noisy, clean) in fmd
        if not file.name.startswith("WideField")
    ]
    return sets


def _white(clean, sigma, kind="image"):
    noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
    return Case(clean + np.float32(sigma) * noise, clean, kind, sigma)


def _real(noisy, clean, n_frames):
    gain, offset = np.polyfit(clean.ravel(), noisy.ravel(), 1)
    return Case(noisy, (gain * clean + offset).astype(np.float32), n_frames=n_frames)


def _draw(report, rows):
    ax = report.figure()
    names = [row["set"] for row in rows]
    for figure, (least, most) in _BANDS.items():
        (line,) = ax.plot([row[figure] for row in rows], names, "o", label=figure)
        ax.axvspan(least, most, alpha=0.15, color=line.get_color())
    ax.set(xlabel="share of the pixels")
    ax.legend()
