"""White noise on more dimensions: ours beside bm4d and bm3d, one thread each, noise level given.

The settings of ours were chosen on other crops and images than these. bm4d takes minutes and is run
once on each. ``--quick`` takes small crops, on which the bars say little.
"""

import functools
from dataclasses import dataclass

import numpy as np

from benchmarks import peers
from benchmarks.data import load_array
from napari_scsc import denoise

_SIGMA = 0.1
_SLICES = 4  # that bm3d gets one by one: enough to tell


@dataclass(frozen=True)
class Case:
    """Data with their rivals and bars."""

    kind: str
    file: str
    key: str
    crop: tuple  # as the file has its axes
    small_crop: tuple
    order: tuple  # of the file's axes
    n_components: int  # of the principal components that bm3d gets; 0 for none
    gain_db: float  # above the better rival
    time_ratio: float  # to bm4d's

    def load(self, folder, quick):
        """The clean values, at most 1; the last two axes are those of an image."""
        array = load_array(folder, self.file, self.key)
        # The multispectral cube has no full scale of its own: its brightest value is 1.
        peak = 255 if array.dtype == np.uint8 else array.max()
        crop = array[self.small_crop if quick else self.crop]
        return np.ascontiguousarray(crop.transpose(self.order) / peak, np.float32)


CASES = (
    Case(
        kind="multispectral",
        file="multispectral/cloth_yxc.npz",
        key="cube",
        crop=np.s_[64:192, 8:136],
        small_crop=np.s_[64:104, 8:48],
        order=(2, 0, 1),
        n_components=8,
        gain_db=0.6,
        time_ratio=0.3,
    ),
    Case(
        kind="light-field",
        file="light_field/lytro_uvyx.npz",
        key="views",
        crop=np.s_[:, :, :96, 336:432],
        small_crop=np.s_[:4, :4, :40, 336:376],
        order=(0, 1, 2, 3),
        n_components=12,
        gain_db=0.4,
        time_ratio=0.2,
    ),
    Case(
        kind="video",
        file="video/airport_tyx.npz",
        key="video",
        crop=np.s_[:50, :96, :96],
        small_crop=np.s_[:12, :40, :40],
        order=(0, 1, 2),
        n_components=0,
        gain_db=0.2,
        time_ratio=1.0,
    ),
)


def run(report, *, data, quick):
    shown = {}
    for case in CASES:
        clean = case.load(data, quick)
        noise = np.random.default_rng(0).standard_normal(clean.shape).astype(np.float32)
        noisy = clean + np.float32(_SIGMA) * noise
        _warm_up(case, noisy)
        results = _all_methods(report, case, clean, noisy)
        rival = _better_rival(report, case)
        _bars(report, case, rival)
        middle = tuple(n // 2 for n in clean.shape[:-2])
        pictures = {"clean": clean, "noisy": noisy, rival: results[rival]}
        pictures["balanced"] = results["balanced"]
        shown[case.kind] = {name: picture[middle] for name, picture in pictures.items()}
        if not quick:
            _slice_by_slice(report, case, clean, noisy)
    peers.show(report, shown)


def _ours(kind, noisy, quality="balanced"):
    return denoise(noisy, kind=kind, sigma=_SIGMA, quality=quality, n_jobs=1)


def _warm_up(case, noisy):
    """Compile everything that is timed."""
    _ours(case.kind, noisy[..., :8, :16, :16] if case.kind == "video" else noisy[..., :16, :16])


def _all_methods(report, case, clean, noisy):
    volume = noisy.reshape(-1, *noisy.shape[-2:])

    def pca():
        return peers.pca_bm3d(volume, _SIGMA, case.n_components).reshape(noisy.shape)

    methods = {
        "input": lambda: noisy,
        "fast": lambda: _ours(case.kind, noisy, "fast"),
        "balanced": lambda: _ours(case.kind, noisy),
        **({f"PCA({case.n_components}) + bm3d": pca} if case.n_components else {}),
        "bm4d": lambda: peers.bm4d(volume, _SIGMA).reshape(noisy.shape),
    }
    return peers.compare(report, methods, clean, data=case.kind)


def _slice_by_slice(report, case, clean, noisy):
    """Bm3d on some planes alone, beside what ours and the others have on all."""
    clean, noisy = (a.reshape(-1, *a.shape[-2:]) for a in (clean, noisy))
    some = np.linspace(0, len(clean) - 1, _SLICES).astype(int)
    method = {
        f"bm3d, {_SLICES} planes one by one": lambda: np.stack(
            [peers.bm3d(plane, _SIGMA) for plane in noisy[some]]
        )
    }
    peers.compare(report, method, clean[some], data=case.kind)


def _better_rival(report, case):
    rows = peers.chosen(report.rows, data=case.kind)
    rivals = [row for row in rows if "bm" in row["method"]]
    return max(rivals, key=lambda row: row["psnr"])["method"]


def _bars(report, case, rival):
    found = functools.partial(peers.mean, report.rows, "psnr", data=case.kind)
    gain = found(method="balanced") - found(method=rival)
    report.at_least(f"{case.kind}: balanced, dB above {rival}", gain, case.gain_db)
    ratio = peers.time_ratio(report.rows, "balanced", "bm4d", data=case.kind)
    report.at_most(f"{case.kind}: balanced, time / bm4d's", ratio, case.time_ratio)
