"""The whole way, without a window: learn from a sample, code it, leave pictures in a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

import imageio.v3 as iio
import numpy as np
from scipy import ndimage

from napari_scsc import SCSC, Relative, pictures, samples


def main() -> None:
    """Run the demonstration; see ``--help``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    image = samples.tissue((288, 288))
    # The model has no filter for the slow changes of brightness: it codes what is left of them.
    smooth = ndimage.gaussian_filter(image, 6)
    detail = image - smooth
    tiles = [detail[y : y + 96, x : x + 96] for y in (0, 96, 192) for x in (0, 96, 192)]

    model = SCSC(n_base=12, n_filters=64, filter_shape=(9, 9), beta=Relative(0.03), max_iter=60)
    print("Learning base filters B from nine tiles of a synthetic picture of cells")
    for update in model.iter_fit(tiles):
        print(
            f"  tile {update.sample}: objective {update.objective:8.3f}, "
            f"{100 * update.sparsity:4.1f} % of the code in use, "
            f"reconstruction {update.psnr:5.2f} dB, {update.seconds:4.1f} s"
        )
    code = model.encode(detail, max_iter=100)
    reconstruction = smooth + code.reconstruction
    psnr = -10 * np.log10(np.mean((reconstruction - image) ** 2))
    print(f"The whole picture, coded with W of its own: {psnr:.2f} dB")

    # The most used filters first, as in the paper's figure.
    use = np.abs(code.Z).sum(axis=tuple(range(1, code.Z.ndim)))
    weights = code.W[:, np.argsort(-use)]
    pair = np.hstack([image, np.ones((len(image), 4)), reconstruction])
    files = {
        "base-filters-B.png": pictures.enlarge(pictures.mosaic(model.bank.filters), 8),
        "weights-W.png": pictures.enlarge(pictures.diverging(weights), 12),
        "image-and-reconstruction.png": pictures.grey(pair, 0, 1),
    }
    for name, picture in files.items():
        iio.imwrite(folder / name, picture)
    model.bank.save(folder / "tissue.scsc")
    for name in (*files, "tissue.scsc"):
        print(f"  {folder / name}")


if __name__ == "__main__":
    main()
