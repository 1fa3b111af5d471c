"""The main job, without a window: denoise a noisy sample and leave the pictures in a folder."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import numpy as np
from numpy.typing import NDArray

from napari_scsc import iter_denoise, iter_inpaint, pictures, samples
from napari_scsc.restore.job import Updates
from napari_scsc.results import Update

Array = NDArray[Any]


def main() -> None:
    """Run the demonstration; see ``--help``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    clean = samples.tissue((320, 320))

    print("A picture of cells as a camera would count it: about 200 photons where it is brightest")
    photons = rng.poisson(200 * clean) + rng.normal(100, 4, clean.shape)
    counts = np.clip(np.round(photons), 0, 65535).astype(np.uint16)
    denoised, learned = _run(iter_denoise(counts), "denoised")
    print(f"  {_psnr(counts, 200 * clean + 100)} -> {_psnr(denoised, 200 * clean + 100)}")

    print("The same picture with a third of its pixels, two columns and a scratch missing")
    missing = rng.random(clean.shape) < 1 / 3
    missing[:, 150:152] = True
    missing[np.arange(40, 290), np.arange(40, 290) // 2] = True
    holes = np.where(missing, np.nan, clean)
    filled, _ = _run(iter_inpaint(holes), "filled")
    print(f"  {_psnr(filled, clean)}")

    files = {
        "noisy-and-denoised.png": _side_by_side(counts, denoised),
        "holes-and-filled.png": _side_by_side(np.nan_to_num(holes), filled),
        "base-filters-B.png": pictures.enlarge(pictures.mosaic(learned.B), 6),
        "weights-W.png": pictures.enlarge(pictures.diverging(learned.W), 8),
    }
    for name, picture in files.items():
        iio.imwrite(folder / name, picture)
    iio.imwrite(folder / "denoised.tif", denoised)
    for name in (*files, "denoised.tif"):
        print(f"  {folder / name}")


def _run(updates: Updates, what: str) -> tuple[Array, Update]:
    """Go through the updates as the dock does; return the result and the last learned filters."""
    start = time.perf_counter()
    learned = None
    for update in updates:
        learned = update.learned or learned
        if update.stage == "noise" and update.noise and update.noise.sigma:
            noise = update.noise
            print(f"  noise: {noise.sigma:.3g}, variance a unit of brightness: {noise.gain:.3g}")
    assert learned is not None
    print(
        f"  {len(learned.B)} base filters learned from {learned.sample} tiles, "
        f"{what} in {time.perf_counter() - start:.1f} s"
    )
    return update.result, learned


def _psnr(image: Array, clean: Array) -> str:
    error = np.mean((image.astype(float) - clean) ** 2)
    return f"{10 * np.log10(np.ptp(clean) ** 2 / error):.1f} dB"


def _side_by_side(before: Array, after: Array) -> Array:
    low, high = np.percentile(after, (0.5, 99.8))
    gap = np.full((len(before), 4), high)
    return pictures.enlarge(pictures.grey(np.hstack([before, gap, after]), low, high), 2)


if __name__ == "__main__":
    main()
