"""The main job: in napari with the dock, or without a screen as pictures in a folder."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import imageio.v3 as iio
import numpy as np

from napari_scsc import iter_denoise, iter_inpaint, samples
from napari_scsc._types import Array
from napari_scsc.data import rgb_pictures
from napari_scsc.errors import PathExistsError
from napari_scsc.groups import compiling
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.run.updates import Finished, NoiseFound, TileLearned, Updates

_PICTURES = (
    "noisy-and-denoised.png",
    "holes-and-filled.png",
    "base-filters-B.png",
    "weights-W.png",
)
_RESULT = "denoised.tif"


def main() -> None:
    """Run the demonstration; see ``--help``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument(
        "--headless", action="store_true", help="no window, though there is a screen"
    )
    parser.add_argument("--screenshot", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.screenshot:
        _take_screenshot(arguments.out / "napari.png")
    else:
        run(arguments.out, arguments.headless)


def run(folder: Path, headless: bool = False, overwrite: bool = True) -> None:
    """Open the window, or without a screen leave pictures in the folder."""
    if _has_screen() and not headless:
        _open_window()
    else:
        files = [folder / name for name in (*_PICTURES, _RESULT)]
        existing = next((file for file in files if file.exists()), None)
        if existing is not None and not overwrite:
            raise PathExistsError(
                "is there already", path=existing, remedy="name another folder with --out"
            )
        _without_window(folder)
        _screenshot_on_a_virtual_screen(folder)


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _open_window() -> None:
    try:
        import napari
    except ImportError:
        sys.exit("A window needs napari and a Qt binding: pip install 'napari[pyqt6]'")
    from napari_scsc.plugin import sample_data, session

    session.open(*sample_data.noisy_tissue())
    print('Press the large button, "Denoise", in the dock on the right')
    napari.run()


def _screenshot_on_a_virtual_screen(folder: Path) -> None:
    program = shutil.which("xvfb-run")
    if program is None or importlib.util.find_spec("napari") is None:
        print("  no picture of the window: that needs napari and xvfb-run")
        return
    screen = (program, "-a", "-s", "-screen 0 1600x1000x24")
    demo = (sys.executable, "-m", "napari_scsc.plugin.demo", "--screenshot", "--out", str(folder))
    subprocess.run([*screen, *demo], check=False)


def _take_screenshot(path: Path) -> None:
    from qtpy.QtTest import QTest

    from napari_scsc.plugin import sample_data, session

    viewer, dock = session.open(*sample_data.noisy_tissue())
    viewer.window.resize(1400, 900)
    dock.denoise()
    if not dock.wait(300):
        sys.exit("the dock did not finish")
    QTest.qWait(300)
    viewer.screenshot(str(path), canvas_only=False, flash=False)
    viewer.close()
    print(f"  {path}")


def _without_window(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    print("Compiling the inner loops; only the first run takes some time for it", flush=True)
    compiling.warm_up()
    rng = np.random.default_rng(0)
    clean = samples.tissue((320, 320))

    print("A picture of cells as a camera would count it: about 200 photons where it is brightest")
    photons = rng.poisson(200 * clean) + rng.normal(100, 4, clean.shape)
    counts = np.clip(np.round(photons), 0, 65535).astype(np.uint16)
    denoised, learned = _run(iter_denoise(counts), "denoised")
    truth = 200 * clean + 100
    print(f"  PSNR against the truth: {_psnr(counts, truth)} -> {_psnr(denoised, truth)}")

    print("The same picture with a third of its pixels, two columns and a scratch missing")
    missing = rng.random(clean.shape) < 1 / 3
    missing[:, 150:152] = True
    missing[np.arange(40, 290), np.arange(40, 290) // 2] = True
    holes = np.where(missing, np.nan, clean)
    filled, _ = _run(iter_inpaint(holes, quality="fast"), "filled")
    print(f"  PSNR against the truth: {_psnr(filled, clean)}")

    drawn = (
        _side_by_side(counts, denoised),
        _side_by_side(np.nan_to_num(holes), filled),
        rgb_pictures.enlarge(rgb_pictures.mosaic(learned.B), 6),
        rgb_pictures.enlarge(rgb_pictures.diverging(learned.W), 8),
    )
    for name, picture in zip(_PICTURES, drawn, strict=True):
        iio.imwrite(folder / name, picture)
    iio.imwrite(folder / _RESULT, denoised)
    for name in (*_PICTURES, _RESULT):
        print(f"  {folder / name}")
    print(
        "  (in the picture of W, a row is a base filter, a column one of the filters mixed of them)"
    )


def _run(updates: Updates, what: str) -> tuple[Array, SampleUpdate]:
    """Go through the updates as the dock does; return the result and the last learned filters."""
    start = time.perf_counter()
    sample: SampleUpdate | None = None
    for update in updates:
        if isinstance(update, TileLearned):
            sample = update.sample
        elif isinstance(update, NoiseFound) and update.noise.sigma:
            noise = update.noise
            grows = ", growing with brightness" if noise.depends_on_signal else ""
            print(f"  noise found: {noise.sigma:.3g} counts{grows}")
    assert sample is not None
    assert isinstance(update, Finished)
    print(
        f"  {len(sample.B)} base filters learned from {sample.sample} tiles, "
        f"{what} in {time.perf_counter() - start:.1f} s"
    )
    return update.result, sample


def _psnr(image: Array, clean: Array) -> str:
    error = np.mean((image.astype(float) - clean) ** 2)
    return f"{10 * np.log10(np.ptp(clean) ** 2 / error):.1f} dB"


def _side_by_side(before: Array, after: Array) -> Array:
    low, high = np.percentile(after, (0.5, 99.8))
    gap = np.full((len(before), 4), high)
    return rgb_pictures.enlarge(rgb_pictures.grey(np.hstack([before, gap, after]), low, high), 2)


if __name__ == "__main__":
    main()
