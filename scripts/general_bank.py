"""Learn the general filter banks of the package again: ``python scripts/general_bank.py``.

They come from pictures made on the spot, so that nothing is owed to anybody: dead leaves, which are
discs of all sizes that cover each other and have the statistics of photographs, and the cells of
``napari_scsc.samples``.
"""

from pathlib import Path

import numpy as np
from scipy import ndimage

from napari_scsc import learn, samples
from napari_scsc.model.bank import FilterBank

FOLDER = Path(__file__).parents[1] / "src" / "napari_scsc" / "banks"
SIGMA = 0.01  # of the range: what is fainter is not worth a filter


def dead_leaves(shape, seed, n_colours=1):
    """Discs with radii of which there are r^-3, the last on top, (*shape, colours) in [0, 1]."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    grains = [ndimage.gaussian_filter(rng.normal(size=shape), width) for width in (0.5, 1, 2, 4)]
    picture = np.full((*shape, n_colours), 0.5)
    covered = np.zeros(shape, bool)
    while covered.mean() < 0.999:  # from the top down: what is covered stays
        radius = 2 / np.sqrt(1 - rng.uniform(0, 1 - (2 / 80) ** 2))
        centre = rng.uniform(-radius, np.add(shape, radius))
        around = tuple(slice(max(0, int(c - radius)), max(0, int(c + radius) + 2)) for c in centre)
        near = (rows[around] - centre[0]) ** 2 + (columns[around] - centre[1]) ** 2
        new = (near < radius**2) & ~covered[around]
        grain = grains[rng.integers(len(grains))][around]
        shade = rng.uniform(0, 1, n_colours) + (0.1 * rng.uniform() * grain)[..., None]
        picture[around][new] = shade[new]
        covered[around] |= new
    return ndimage.gaussian_filter(picture, (0.6, 0.6, 0)).astype(np.float32)


def moving(shape, seed):
    """A part of a picture that glides, and is not still in any direction, (t, y, x)."""
    rng = np.random.default_rng(seed)
    picture = dead_leaves((shape[1] + 64, shape[2] + 64), seed)[..., 0]
    velocity = rng.normal(0, 1, 2)
    frames = [
        ndimage.shift(picture, 32 + velocity * t, order=1, mode="mirror")[: shape[1], : shape[2]]
        for t in range(shape[0])
    ]
    return np.stack(frames)


def sources():
    """What each bank is learned from."""
    grey = [dead_leaves((256, 256), seed)[..., 0] for seed in range(8)]
    grey += [samples.tissue((256, 256), seed) for seed in range(4)]
    colours = [dead_leaves((192, 192), seed, 3) for seed in range(8)]
    videos = [moving((16, 96, 96), seed) for seed in range(8)]
    return {
        "image": (grey, {"filter_shape": (8, 8), "n_base": 64}),
        "rgb": (colours, {"filter_shape": (5, 5), "n_base": 75}),
        "video": (videos, {"filter_shape": (4, 5, 5), "n_base": 100}),
    }


def main():
    """Learn and write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for kind, (images, options) in sources().items():
        found = learn(images, kind=kind, sigma=SIGMA, **options)
        info = {
            "learner": "general",
            "kind": kind,
            "learned_from": "synthetic pictures: dead leaves, and for images cells too",
            "recipe": "scripts/general_bank.py",
        }
        bank = FilterBank(found.filters, found.n_joint, info=info)
        bank.save(FOLDER / f"{kind}.scsc", overwrite=True)
        print(kind, bank, f"{(FOLDER / f'{kind}.scsc').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
