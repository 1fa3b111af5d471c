"""Noise as hostile images have it: different, shared, or none at all; nothing is told to ours.

- Bands, channels, samples and frames whose noise differs: the error of each beside that of the
  same image in which all have its noise, or of it alone.
- A grey image saved as RGB, and channels of very different size, in the same way.
- Images without any noise, of more than twenty kinds: the share of the pixels that change, and
  whether the light of beads stays.

``--quick`` takes smaller images.
"""

import warnings

import numpy as np
from scipy import ndimage

from napari_scsc import RestorationWarning, denoise, estimate_noise, samples
from napari_scsc.groups import compiling

_LEAST_ERROR = 1e-3  # of the spread of an image without noise: as good as none


def run(report, *, data, quick):
    warnings.simplefilter("ignore", RestorationWarning)
    compiling.warm_up()
    side = 128 if quick else 192
    for name, make in _NOISY.items():
        _compare(report, name, *make(side))
    for name, make in CLEAN.items():
        _leave(report, name, make(side))
    _bars(report)
    _show(report)


def _compare(report, name, clean, noisy, kind, groups):
    """``groups`` says of each part by itself: its slices, its kind, and how to scale it."""
    found = estimate_noise(noisy, kind=kind)
    result = denoise(noisy, kind=kind, quality="fast", n_jobs=1)
    for number, (part, own_kind) in enumerate(groups):
        alone = denoise(noisy[part], kind=own_kind, quality="fast", n_jobs=1)
        ours, own = _error(clean[part], result[part]), _error(clean[part], alone)
        own = max(own, _LEAST_ERROR * float(np.std(clean[part])))
        report.add(
            case=name,
            part=number,
            noisy=_error(clean[part], noisy[part]),
            ours=ours,
            alone=own,
            ratio=ours / own,
            sure=found.sure,
        )


def _leave(report, name, image):
    kind = "rgb" if image.ndim == 3 else "image"
    found = estimate_noise(image, kind=kind)
    result = denoise(image, kind=kind, n_jobs=1)
    change = np.abs(result.astype(float) - image)
    spread = float(np.std(image.astype(float))) or 1.0
    light = float(np.abs(image.astype(float) - np.min(image)).sum())
    report.add(
        case=name,
        sigma=found.sigma,
        sure=found.sure,
        changed=float(np.mean(change > 0)),
        most=float(change.max() / spread),
        light_lost=float((image.astype(float) - result).sum() / light) if light else 0.0,
    )


def _bars(report):
    for name in _NOISY:
        ratio = max(row["ratio"] for row in report.rows if row["case"] == name)
        report.at_most(f"{name}: error / that of it alone", ratio, 1.1)
    for name in CLEAN:
        changed = next(row["changed"] for row in report.rows if row["case"] == name)
        report.at_most(f"{name}: share of the pixels changed", changed, 0.0)


def _show(report):
    ax = report.figure()
    rows = [row for row in report.rows if "ratio" in row]
    ax.barh([f"{row['case']} {row['part']}" for row in rows], [row["ratio"] for row in rows])
    ax.axvline(1.1)


def _error(clean, values):
    return float(np.sqrt(np.mean((np.asarray(clean, float) - values) ** 2)))


def _tissue(side, seed=0):
    return samples.tissue((side, side), seed).astype(np.float32)


def _white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- noise that differs, or is shared -------------------------------------------------------------


def _bands(side):
    levels = np.array([0.05] * 4 + [0.2] * 4, np.float32)
    clean = np.stack([_tissue(side) * np.float32(0.6 + 0.05 * i) for i in range(8)])
    noisy = clean + levels[:, None, None] * _white(clean.shape)
    return (
        clean,
        noisy,
        "multispectral",
        [(np.s_[:4], "multispectral"), (np.s_[4:], "multispectral")],
    )


def _unlike_bands(side):
    """Four bands of one scene, four of another."""
    clean, noisy, *rest = _bands(side)
    other = np.stack([_tissue(side, 5) * np.float32(0.6 + 0.05 * i) for i in range(8)])
    change = np.zeros_like(clean)
    change[4:] = other[4:] - clean[4:]
    return clean + change, noisy + change, *rest


def _channels(factor, levels, seeds=(0, 1), last=False):
    def make(side):
        clean = np.stack([_tissue(side, seed) for seed in seeds])
        noisy = clean + np.array(levels, np.float32)[:, None, None] * _white(clean.shape)
        for images in (clean, noisy):
            images[-1] *= factor
        return clean, noisy, "multispectral", [(i, "image") for i in range(len(seeds))]

    return make


def _sepia(side):
    """A grey image in one tint, with the steps of 8 bits."""
    clean, noisy, *_ = _grey_as_rgb(side, np.uint8)
    tint = np.array([1, 0.85, 0.6])
    return (
        clean * tint,
        np.rint(noisy * tint).astype(np.uint8),
        "rgb",
        [(np.s_[..., c], "image") for c in range(3)],
    )


def _time_lapse(side, n=6):
    clean = np.stack([_tissue(side, seed) for seed in range(n)])
    levels = np.geomspace(0.02, 0.2, n).astype(np.float32)
    noisy = clean + levels[:, None, None] * _white(clean.shape)
    return clean, noisy, "time-lapse", [(i, "image") for i in range(n)]


def _long_time_lapse(side):
    """More frames than are looked at one by one, the last few of them noisy."""
    clean = np.stack([_tissue(96, seed % 4) for seed in range(40)])
    levels = np.where(np.arange(40) % 5 == 4, 0.2, 0.02).astype(np.float32)
    noisy = clean + levels[:, None, None] * _white(clean.shape)
    return clean, noisy, "time-lapse", [(i, "image") for i in (3, 4, 9, 10, 38, 39)]


def _video(order):
    def make(side):
        clean = samples.video((16, side // 2, side // 2), clean=True).astype(np.float32)
        clean = clean / clean.std()
        levels = np.array([0.05, 0.5], np.float32)[order(np.arange(16))]
        noisy = clean + levels[:, None, None] * _white(clean.shape)
        quiet, loud = np.flatnonzero(levels < 0.1), np.flatnonzero(levels > 0.1)
        return clean, noisy, "video", [(quiet, "video"), (loud, "video")]

    return make


def _drifting_video(side):
    clean = samples.video((16, side // 2, side // 2), clean=True).astype(np.float32)
    clean = clean / clean.std()
    levels = np.geomspace(0.05, 0.5, 16).astype(np.float32)
    noisy = clean + levels[:, None, None] * _white(clean.shape)
    return clean, noisy, "video", [(np.s_[4 * i : 4 * i + 4], "video") for i in range(4)]


def _grey_as_rgb(side, dtype=np.float32, level=0.1):
    clean = _tissue(side)
    clean = 200 * clean / clean.max() + 20
    noisy = clean + np.float32(200 * level) * _white(clean.shape)
    if dtype == np.uint8:
        noisy = np.clip(np.rint(noisy), 0, 255)
    noisy = noisy.astype(dtype)
    return np.stack([clean] * 3, -1), np.stack([noisy] * 3, -1), "rgb", [(np.s_[..., 0], "image")]


def _hot(value):
    def make(side):
        clean = _tissue(side)
        noisy = clean + np.float32(0.1) * _white(clean.shape)
        where = side // 2
        noisy[where, where] = clean[where, where] = value
        away = np.s_[: where - 8]
        return clean, noisy, "image", [(away, "image")]

    return make


_NOISY = {
    "eight bands, 0.05 and 0.2": _bands,
    "eight bands of two scenes, 0.05 and 0.2": _unlike_bands,
    "two channels, 0.05 and 0.2": _channels(1, (0.05, 0.2)),
    "two channels of one scene, 0.05 and 0.2": _channels(1, (0.05, 0.2), (0, 0)),
    "two channels, 0.02 and 0.2": _channels(1, (0.02, 0.2)),
    "two channels, one times 1000": _channels(1000, (0.1, 0.1)),
    "two channels of one scene, one times 1000": _channels(1000, (0.1, 0.1), (0, 0)),
    "five channels of five scenes": _channels(1, (0.1,) * 5, range(5)),
    "two channels, one clean": _channels(1, (0.0, 0.1)),
    "time-lapse, 0.02 to 0.2": _time_lapse,
    "time-lapse of 40 frames, every fifth 0.2": _long_time_lapse,
    "video, halves of 0.05 and 0.5": _video(lambda i: (i >= 8).astype(int)),
    "video, frames in turn": _video(lambda i: i % 2),
    "video, every eighth frame": _video(lambda i: (i % 8 == 3).astype(int)),
    "video, drifting": _drifting_video,
    "grey as RGB": _grey_as_rgb,
    "grey as RGB, 8 bits": lambda side: _grey_as_rgb(side, np.uint8),
    "grey in a tint, 8 bits": _sepia,
    "hot pixel of 1e2": _hot(1e2),
    "hot pixel of 1e6": _hot(1e6),
    "hot pixel of 1e9": _hot(1e9),
}


# --- no noise -------------------------------------------------------------------------------------


def _blobs(side, width=3, seed=0):
    return ndimage.gaussian_filter(_white((side, side), seed), width) > 0


def _lines(side, width=1, seed=1):
    page = np.full((side, side), 255, np.uint8)
    rng = np.random.default_rng(seed)
    steps = np.linspace(0, 1, 4 * side)
    for _ in range(12):
        a, b = rng.uniform(2, side - 3, (2, 2))
        y, x = np.rint(a[:, None] + (b - a)[:, None] * steps).astype(int)
        for d in range(width):
            page[np.minimum(y + d, side - 1), x] = 0
    return page


def _levels(side, n=5, width=4):
    smooth = ndimage.gaussian_filter(_white((side, side)), width)
    ranks = np.searchsorted(np.quantile(smooth, np.linspace(0, 1, n + 1)[1:-1]), smooth)
    return (ranks * (255 // (n - 1))).astype(np.uint8)


def _beads(side, dtype=np.uint16, width=1.2, n=40, size=1.0):
    rng = np.random.default_rng(0)
    points = np.zeros((side, side))
    points[rng.integers(5, side - 5, n), rng.integers(5, side - 5, n)] = rng.uniform(0.2, 1, n)
    values = ndimage.gaussian_filter(points, width) if width else points
    return (values / values.max() * size * (1 if dtype == np.float32 else 60000)).astype(dtype)


def _gradient(side, dtype=np.uint8):
    y, x = np.mgrid[:side, :side] / side
    return (255 * (0.7 * x + 0.3 * y)).astype(dtype)


def _checkers(side, size=8):
    y, x = np.mgrid[:side, :side]
    return (((y // size + x // size) % 2) * 255).astype(np.uint8)


_GLYPHS = (0x7A5B, 0x2C97, 0x73E7, 0x79ED, 0x5BC9, 0x79CF, 0x79EF, 0x7249, 0x7BEF, 0x7BED)


def _text(side, dark=0, light=255):
    """Glyphs of three by five pixels, in lines."""
    page = np.full((side, side), light, np.uint8)
    rng = np.random.default_rng(2)
    for row in range(3, side - 6, 8):
        for column in range(3, side - 4, 4):
            glyph = _GLYPHS[rng.integers(len(_GLYPHS))]
            if rng.random() < 0.15:
                continue
            bits = np.array([glyph >> i & 1 for i in range(15)], bool).reshape(5, 3)
            page[row : row + 5, column : column + 3][bits] = dark
    return page


def _antialiased_text(side):
    large = _text(2 * side).astype(float)
    return large.reshape(side, 2, side, 2).mean((1, 3)).astype(np.uint8)


def _screen(side):
    """A window with a frame, a shaded bar, text, and buttons."""
    page = np.full((side, side, 3), 240, np.uint8)
    page[: side // 8] = (40, 90, 160)
    page[:4] = np.linspace(60, 200, side).astype(np.uint8)[None, :, None]
    page[side // 4 : side // 2, 8 : side // 2] = _antialiased_text(side)[
        : side // 4, : side // 2 - 8, None
    ]
    page[-20:-8, 8:40] = (200, 60, 60)
    page[side // 2 :, side // 2 :: 9] = 180
    return page


def _labels(side):
    seeds = ndimage.gaussian_filter(_white((side, side)), 5)
    return ndimage.label(seeds > 0.01)[0].astype(np.uint16)


def _voronoi(side):
    rng = np.random.default_rng(0)
    points = rng.uniform(0, side, (60, 2))
    y, x = np.mgrid[:side, :side]
    return np.argmin([(y - a) ** 2 + (x - b) ** 2 for a, b in points], axis=0).astype(np.int32)


def _phantom(side):
    """Ellipses of constant values, as of Shepp and Logan."""
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    image = np.zeros((side, side), np.float32)
    for v, a, b, u, w in (
        (1, 0.7, 0.9, 0, 0), (-0.8, 0.65, 0.85, 0, 0), (0.3, 0.2, 0.3, 0.2, 0.3),
        (0.2, 0.1, 0.1, -0.3, -0.2), (0.1, 0.05, 0.3, -0.2, 0.2),
    ):  # fmt: skip
        image += np.float32(v) * (((x - u) / a) ** 2 + ((y - w) / b) ** 2 < 1)
    return image


def _like_jpeg(side):
    """A smooth picture whose cosines in blocks were rounded coarsely."""
    from scipy import fft

    blocks = (255 * _tissue(side) / _tissue(side).max()).reshape(side // 8, 8, side // 8, 8)
    cosines = fft.dctn(blocks, axes=(1, 3), norm="ortho")
    i = np.arange(8)
    steps = 10 + 6 * (i[:, None] + i)
    cosines = np.rint(cosines / steps[None, :, None]) * steps[None, :, None]
    values = fft.idctn(cosines, axes=(1, 3), norm="ortho").reshape(side, side)
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _partly(side):
    """Half of it constant, half smooth."""
    image = 200 * _tissue(side) / _tissue(side).max()
    image[:, : side // 2] = 17
    return image.astype(np.uint8)


def _saturated(side):
    return np.clip(600 * _tissue(side) / _tissue(side).max(), 0, 255).astype(np.uint8)


def _dithered(side):
    """A gradient as black and white points of a fixed screen."""
    screen = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
    return (_gradient(side, np.float64) / 255 > np.tile(screen, (side // 4, side // 4))) * np.uint8(
        255
    )


def _diffused(side):
    """A smooth picture as black and white points, each error passed on to the next points."""
    left = np.pad(_tissue(side) / _tissue(side).max(), ((0, 1), (1, 1))).astype(float)
    for y in range(side):
        for x in range(1, side + 1):
            point = float(left[y, x] > 0.5)
            error, left[y, x] = left[y, x] - point, point
            left[y, x + 1] += error * 7 / 16
            left[y + 1, x - 1 : x + 2] += error * np.array([3, 5, 1]) / 16
    return left[:side, 1:-1].astype(np.uint8) * 255


def _rings(side, dtype=np.uint8):
    y, x = np.mgrid[:side, :side] - side / 2
    return (127.5 + 127.5 * np.cos((y**2 + x**2) / (1.2 * side))).astype(dtype)


CLEAN = {
    "binary": lambda side: _blobs(side).astype(np.uint8) * 255,
    "binary, fine": lambda side: _blobs(side, 1).astype(np.uint8) * 255,
    "binary, float": lambda side: _blobs(side).astype(np.float32),
    "binary, few points": lambda side: (_beads(side, np.float32, 0) > 0).astype(np.uint8),
    "drawn lines": _lines,
    "drawn lines, thick": lambda side: _lines(side, 3),
    "drawn lines on black": lambda side: 255 - _lines(side),
    "five grey levels": _levels,
    "five grey levels, fine": lambda side: _levels(side, 5, 1.5),
    "twenty grey levels": lambda side: _levels(side, 20, 4),
    "beads on black": _beads,
    "beads on black, float": lambda side: _beads(side, np.float32),
    "beads on black, sharp": lambda side: _beads(side, np.uint16, 0.7),
    "beads on black, 8 bits": lambda side: (_beads(side) // 256).astype(np.uint8),
    "beads of one pixel": lambda side: _beads(side, np.uint16, 0),
    "gradient": _gradient,
    "gradient, float": lambda side: _gradient(side, np.float32),
    "checkerboard": _checkers,
    "checkerboard, fine": lambda side: _checkers(side, 1),
    "checkerboard, 3": lambda side: _checkers(side, 3),
    "text": _text,
    "text, grey": lambda side: _text(side, 90, 130),
    "text, smooth": _antialiased_text,
    "screenshot": _screen,
    "labels": _labels,
    "labels, touching": _voronoi,
    "phantom": _phantom,
    "as JPEG": _like_jpeg,
    "constant half": _partly,
    "saturated": _saturated,
    "tissue, 8 bits": lambda side: np.rint(255 * _tissue(side) / _tissue(side).max()).astype(
        np.uint8
    ),
    "tissue, 4 bits": lambda side: np.rint(15 * _tissue(side) / _tissue(side).max()).astype(
        np.uint8
    ),
    "tissue, float": _tissue,
    "screened": _dithered,
    "error-diffused": _diffused,
    "rings": _rings,
    "rings, float": lambda side: _rings(side, np.float32),
}
