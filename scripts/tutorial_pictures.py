"""Make the figures of tutorials and gallery: before, after, and how far each is from the truth.

    python scripts/tutorial_pictures.py [name ...]

Without names, all of them. Every figure is made of the samples of the package, with the settings
that the tutorial names. The errors below the pictures are computed here, over all of the data.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from napari_scsc import RestorationWarning, denoise, inpaint, samples

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SIDE = 264  # of a panel, in pixels
GAP, CAPTION = 8, 44
DARK, LIGHT, FAINT = (30, 30, 30), (240, 240, 240), (150, 150, 150)
COLOURS = ((86, 180, 233), (230, 159, 0), (240, 240, 240))
GREYS = 128  # of a picture's palette

Panel = tuple[Image.Image, str, str]


def denoise_image() -> Image.Image:
    """A noisy micrograph, denoised, the truth, and what was taken away."""
    noisy, truth = samples.noisy_tissue(), samples.noisy_tissue(clean=True)
    clean = denoise(noisy)
    part = np.s_[60:192, 60:192]
    taken = noisy.astype(np.float32) - clean
    _print_light(clean, truth)
    return _row(
        _panel(noisy[part], truth, "before", _error(noisy, truth)),
        _panel(clean[part], truth, "denoised", _error(clean, truth)),
        _panel(truth[part], truth, "the truth", "no noise"),
        _panel(
            taken[part], 3 * np.array((-taken.std(), taken.std())), "taken away", "the residual"
        ),
    )


def strength() -> Image.Image:
    """The same at four strengths."""
    noisy, truth = samples.noisy_tissue(), samples.noisy_tissue(clean=True)
    part = np.s_[60:192, 60:192]
    panels = [_panel(noisy[part], truth, "before", _error(noisy, truth))]
    for value in (0.5, 0.8, 1.0, 2.0):
        clean = denoise(noisy, strength=value)
        panels.append(_panel(clean[part], truth, f"strength {value:g}", _error(clean, truth)))
    return _row(*panels)


def fill() -> Image.Image:
    """Scratches, dead columns and a block, filled."""
    image, missing = samples.with_holes()
    truth, _ = samples.with_holes(clean=True)
    filled, smooth = inpaint(image, missing), inpaint(image, missing, sigma=0.01)
    part = np.s_[60:192, 60:192]
    return _row(
        _panel(image[part], truth, "before", f"{missing.mean():.0%} is missing"),
        _panel(filled[part], truth, "filled", _error_in(filled, truth, missing)),
        _panel(smooth[part], truth, "filled and denoised", _error_in(smooth, truth, missing)),
        _panel(truth[part], truth, "the truth", ""),
    )


def wide_hole() -> Image.Image:
    """A hole that is wider than the filters."""
    truth, _ = samples.with_holes(clean=True)
    image, missing = truth.copy(), np.zeros(truth.shape, bool)
    missing[75:125, 95:145] = True
    image[missing] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RestorationWarning)  # it is what the figure is about
        filled = inpaint(image, missing)
    part = np.s_[34:166, 54:186]
    return _row(
        _panel(image[part], truth, "before", "a hole of 50 x 50 pixels"),
        _panel(filled[part], truth, "filled", _error_in(filled, truth, missing)),
        _panel(truth[part], truth, "the truth", "is not in the result"),
    )


def rgb() -> Image.Image:
    """A stained section, its colours restored one by one and together."""
    noisy, truth = samples.rgb(), samples.rgb(clean=True)
    alone = np.moveaxis(denoise(np.moveaxis(noisy, -1, 0), kind="time-lapse"), 0, -1)
    together = denoise(noisy, kind="rgb")
    limits = np.array((-1, 200))  # below zero: not brightened
    part = np.s_[20:152, 40:172]
    return _row(
        _panel(noisy[part], limits, "before", _error(noisy, truth, "of 255")),
        _panel(alone[part], limits, "each colour by itself", _error(alone, truth, "of 255")),
        _panel(together[part], limits, "colours together", _error(together, truth, "of 255")),
        _panel(truth[part], limits, "the truth", ""),
    )


def stack() -> Image.Image:
    """One plane, restored by itself and with its neighbours."""
    noisy, truth = samples.stack(), samples.stack(clean=True)
    alone, together = denoise(noisy, kind="time-lapse"), denoise(noisy, kind="stack")
    part = np.s_[12, :, 8:136]
    return _row(
        _panel(noisy[part], truth, "before, plane 12", _error(noisy, truth)),
        _panel(alone[part], truth, "each plane by itself", _error(alone, truth)),
        _panel(together[part], truth, "planes together", _error(together, truth)),
        _panel(truth[part], truth, "the truth", ""),
    )


def time_lapse() -> Image.Image:
    """Two channels of a time-lapse of stacks, before and after."""
    noisy, truth = samples.time_lapse(), samples.time_lapse(clean=True)
    clean = denoise(noisy, axes="tczyx")
    panels = []
    for channel, name in enumerate(("chromatin", "membranes")):
        before, after, limits = noisy[:, channel], clean[:, channel], truth[:, channel]
        part = np.s_[2, 5, :, 8:104]
        panels += [
            _panel(before[part], limits, f"{name}, before", _error(before, limits)),
            _panel(after[part], limits, "denoised", _error(after, limits)),
        ]
    return _row(*panels)


def stripes() -> Image.Image:
    """Rows that share a part of their noise."""
    truth = samples.noisy_tissue(clean=True)
    rng = np.random.default_rng(0)
    noisy = truth + 5 * rng.standard_normal(truth.shape) + 6 * rng.standard_normal((256, 1))
    white = denoise(noisy, kind="image", noise="white")
    clean = denoise(noisy, kind="image")
    part = np.s_[60:192, 60:192]
    return _row(
        _panel(noisy[part], truth, "stripes and grain", _error(noisy, truth)),
        _panel(white[part], truth, 'noise="white"', _error(white, truth)),
        _panel(clean[part], truth, "denoised", _error(clean, truth)),
        _panel(truth[part], truth, "the truth", ""),
    )


def shared_noise() -> Image.Image:
    """Neighbours that share their noise."""
    truth = samples.noisy_tissue(clean=True)
    blotches = ndimage.gaussian_filter(np.random.default_rng(0).standard_normal(truth.shape), 0.8)
    noisy = truth + 10 * blotches / blotches.std()
    white = denoise(noisy, kind="image", noise="white")
    clean = denoise(noisy, kind="image")
    part = np.s_[60:192, 60:192]
    return _row(
        _panel(noisy[part], truth, "blotches", _error(noisy, truth)),
        _panel(white[part], truth, 'noise="white"', _error(white, truth)),
        _panel(clean[part], truth, "denoised", _error(clean, truth)),
        _panel(truth[part], truth, "the truth", ""),
    )


def error_map() -> Image.Image:
    """What the result says of its error, beside the error that it has."""
    noisy, truth = samples.noisy_tissue(), samples.noisy_tissue(clean=True)
    clean, error = denoise(noisy, kind="image", error=True)
    part = np.s_[60:192, 60:192]
    limits = np.array((0.0, np.quantile(error, 0.999)))
    missed = np.abs(clean - truth)
    within = np.mean(missed < error)
    return _row(
        _panel(noisy[part], truth, "before", _error(noisy, truth)),
        _panel(clean[part], truth, "denoised", _error(clean, truth)),
        _panel(error[part], limits, "its standard error", f"0 (black) to {limits[1]:.1f} counts"),
        _panel(missed[part], limits, "what it missed", f"less than that at {within:.0%}"),
    )


def video() -> Image.Image:
    """One frame, restored by itself and with its neighbours."""
    noisy, truth = samples.video(), samples.video(clean=True)
    alone, together = denoise(noisy, kind="time-lapse"), denoise(noisy, kind="video")
    part = np.s_[16, :, 16:144]
    return _row(
        _panel(noisy[part], truth, "before, frame 16", _error(noisy, truth)),
        _panel(alone[part], truth, 'kind="time-lapse"', _error(alone, truth)),
        _panel(together[part], truth, 'kind="video"', _error(together, truth)),
        _panel(truth[part], truth, "the truth", ""),
    )


def multispectral() -> Image.Image:
    """One band, restored by itself and with the others; and the spectrum of one pixel."""
    noisy, truth = samples.multispectral(), samples.multispectral(clean=True)
    alone, together = denoise(noisy, kind="time-lapse"), denoise(noisy, kind="multispectral")
    part = np.s_[15, 20:152, 20:152]
    pixel = np.s_[:, 80, 80]
    curves = (("before", noisy[pixel]), ("denoised", together[pixel]), ("truth", truth[pixel]))
    return _row(
        _panel(noisy[part], truth[15], "before, band 15", _error(noisy, truth)),
        _panel(alone[part], truth[15], "each band by itself", _error(alone, truth)),
        _panel(together[part], truth[15], "all bands together", _error(together, truth)),
        (_plot(curves), "spectrum of pixel (80, 80)", "bands 0 to 30, counts"),
    )


def light_field() -> Image.Image:
    """One view, restored by itself and with the others."""
    noisy, truth = samples.light_field(), samples.light_field(clean=True)
    n_u, n_v, *size = noisy.shape
    alone = denoise(noisy.reshape(n_u * n_v, *size), kind="time-lapse").reshape(noisy.shape)
    together = denoise(noisy, kind="light-field")
    part = np.s_[3, 3, :, 8:120]
    return _row(
        _panel(noisy[part], truth, "before, middle view", _error(noisy, truth)),
        _panel(alone[part], truth, "each view by itself", _error(alone, truth)),
        _panel(together[part], truth, "all views together", _error(together, truth)),
        _panel(truth[part], truth, "the truth", ""),
    )


def qualities() -> Image.Image:
    """What the qualities make of a video."""
    noisy, truth = samples.video(), samples.video(clean=True)
    part = np.s_[16, :, 16:144]
    panels = [_panel(noisy[part], truth, "before, frame 16", _error(noisy, truth))]
    for quality in ("draft", "fast", "balanced"):
        clean = denoise(noisy, kind="video", quality=quality)
        panels.append(_panel(clean[part], truth, quality, _error(clean, truth)))
    return _row(*panels)


def spots() -> Image.Image:
    """Small spots, brighter and brighter, on an even background with the noise of photons."""
    rows, columns = np.mgrid[:128, :128]
    places = [(y, x) for y in range(16, 128, 32) for x in range(16, 128, 32)]
    truth = np.full((128, 128), 20.0)
    for i, (y, x) in enumerate(places):
        near = np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * 1.3**2))  # 3 pixels wide
        truth += 5 * (i + 1) * near
    noisy = np.random.default_rng(0).poisson(truth).astype(np.float32)  # no steps of one photon
    clean = denoise(noisy)
    limits = np.array((5, truth.max()))
    for i, (y, x) in enumerate(places):
        around = np.s_[y - 2 : y + 3, x - 2 : x + 3]
        light = (clean[around].mean() - 20) / (truth[around].mean() - 20)
        print(f"    a spot of {5 * (i + 1)} photons has {light:.0%} of its light")
    return _row(
        _panel(noisy, limits, "before", "spots of 5, 10, ... 80 photons"),
        _panel(clean, limits, "denoised", "the faintest are gone"),
        _panel(truth, limits, "the truth", "background of 20 photons"),
    )


FIGURES: tuple[Callable[[], Image.Image], ...] = (
    denoise_image,
    strength,
    fill,
    wide_hole,
    rgb,
    stack,
    time_lapse,
    stripes,
    shared_noise,
    error_map,
    video,
    multispectral,
    light_field,
    qualities,
    spots,
)


# --- errors ---------------------------------------------------------------------------------------


def _error(image: np.ndarray, truth: np.ndarray, unit: str = "counts") -> str:
    """The root of the mean squared error, in counts of the camera."""
    return f"error {_rms(image - truth):.1f} {unit}"


def _error_in(image: np.ndarray, truth: np.ndarray, missing: np.ndarray) -> str:
    """The same where values were missing, in hundredths of the range."""
    return f"error in the holes {_rms((image - truth)[missing]):.3f}"


def _rms(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference.astype(np.float64) ** 2)))


def _print_light(clean: np.ndarray, truth: np.ndarray) -> None:
    """How much brighter than the truth, above the offset of the camera, the large objects are."""
    objects, n = ndimage.label(truth > 140)
    for i in range(1, n + 1):
        inside = objects == i
        if inside.sum() > 200:
            expected = truth[inside].mean() - 100
            share = (clean[inside].mean() - 100) / expected - 1
            print(f"    an object of {inside.sum()} pixels: {share:+.1%}")


# --- drawing --------------------------------------------------------------------------------------


def _panel(values: np.ndarray, limits: np.ndarray, title: str, below: str) -> Panel:
    """A picture with its words; black and white are the least and the largest of ``limits``."""
    low, high = float(np.min(limits)), float(np.max(limits))
    grey = np.clip((values.astype(np.float64) - low) / (high - low), 0, 1)
    picture = Image.fromarray(np.rint(255 * np.sqrt(grey) if low >= 0 else 255 * grey).astype("u1"))
    width = round(SIDE * values.shape[1] / values.shape[0])
    return picture.resize((width, SIDE), Image.Resampling.NEAREST).convert("RGB"), title, below


def _plot(curves: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
    """Curves over one axis, drawn with little."""
    picture = Image.new("RGB", (SIDE, SIDE), (0, 0, 0))
    draw = ImageDraw.Draw(picture)
    low = min(float(values.min()) for _, values in curves)
    high = max(float(values.max()) for _, values in curves)
    for i, ((name, values), colour) in enumerate(zip(curves, COLOURS, strict=True)):
        x = np.linspace(34, SIDE - 8, len(values))
        y = SIDE - 10 - (values - low) / (high - low) * (SIDE - 80)
        draw.line(list(zip(x, y, strict=True)), fill=colour, width=2)
        draw.text((40, 6 + 18 * i), name, fill=colour, font=_font(13))
    for value, y in ((high, 64), (low, SIDE - 18)):
        draw.text((4, y), f"{value:.0f}", fill=FAINT, font=_font(12))
    return picture


def _row(*panels: Panel) -> Image.Image:
    """Pictures side by side, with their words below."""
    width = sum(picture.width for picture, *_ in panels) + GAP * (len(panels) + 1)
    row = Image.new("RGB", (width, SIDE + CAPTION + 2 * GAP), DARK)
    draw = ImageDraw.Draw(row)
    x = GAP
    for picture, title, below in panels:
        row.paste(picture, (x, GAP))
        draw.text((x, SIDE + 12), title, fill=LIGHT, font=_font(15))
        draw.text((x, SIDE + 32), below, fill=FAINT, font=_font(14))
        print(f"    {title}: {below}")
        x += picture.width + GAP
    return row


def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def main() -> None:
    """Make the figures that were asked for."""
    known = {figure.__name__.replace("_", "-"): figure for figure in FIGURES}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(known))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the figures")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(known)
    if unknown:
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or known:
        path = arguments.out / f"tutorial-{name}.png"
        few = known[name]().quantize(GREYS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        print(f"  {path}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
