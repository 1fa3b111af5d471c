"""The images that the benchmarks read; none of them is part of the repository."""

import imageio.v3 as imageio
import numpy as np


class DataError(Exception):
    """The data are not where they were said to be."""


def load_lcne(folder, name):
    """The authors' preprocessed arrays of "fruit" or "city": (training, test)."""
    return tuple(
        np.load(_existing(folder, f"lcne/{name}_{part}.npy")) for part in ("train", "test")
    )


def load_images(folder, *parts):
    """All JPEG images of a folder, in the authors' order: alphabetical, so 1, 10, 2, ..."""
    where = _existing(folder, "/".join(parts))
    images = [imageio.imread(file) for file in sorted(where.glob("*.jpg"))]
    if not images:
        raise DataError(f"no JPEG images in {where}")
    return images


def load_image(folder, name):
    """One image file, all its planes."""
    return imageio.imread(_existing(folder, name))


def load_array(folder, name, key):
    """One array of an NPZ file."""
    with np.load(_existing(folder, name)) as arrays:
        return arrays[key]


def _existing(folder, name):
    if folder is None:
        raise DataError("needs the benchmark data: say where they are with --data DIR")
    if not folder.is_dir():
        raise DataError(f"there is no data folder {folder}")
    path = folder / name
    if not path.exists():
        raise DataError(f"{folder} holds no {name}")
    return path
