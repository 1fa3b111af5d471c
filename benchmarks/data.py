"""The images that the benchmarks read; none of them is part of the repository."""

import imageio.v3 as imageio
import numpy as np


class DataError(Exception):
    """The data are not where they were said to be."""


def load_images(folder, *parts):
    """All JPEG images of a folder, in the authors' order: alphabetical, so 1, 10, 2, ..."""
    where = existing_path(folder, "/".join(parts))
    images = [imageio.imread(file) for file in sorted(where.glob("*.jpg"))]
    if not images:
        raise DataError(f"no JPEG images in {where}")
    return images


def load_image(folder, name):
    """One image file, all its planes."""
    return imageio.imread(existing_path(folder, name))


def load_array(folder, name, key):
    """One array of an NPZ file."""
    with np.load(existing_path(folder, name)) as arrays:
        return arrays[key]


def existing_path(folder, name):
    """A file or folder of the data; a ``DataError`` says what is missing."""
    if folder is None:
        raise DataError("needs the benchmark data: say where they are with --data DIR")
    if not folder.is_dir():
        raise DataError(f"there is no data folder {folder}")
    path = folder / name
    if not path.exists():
        raise DataError(f"{folder} holds no {name}")
    return path
