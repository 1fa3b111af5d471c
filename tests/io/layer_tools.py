"""What the tests of layers share: files that are written, and layers that are read."""

from __future__ import annotations

from pathlib import Path

import imageio.v3 as iio
import numpy as np

from napari_scsc import FilterBank
from napari_scsc.io.layers import get_reader, read_layers

RNG = np.random.default_rng(0)


def read(path):
    """The layers of a path, by the way that napari takes for what it offers us, and the dock."""
    reader = get_reader(str(path))
    return read_layers(Path(path)) if reader is None else reader(str(path))


def read_one(path):
    (layer,) = read(path)
    data, arguments, layer_type = layer
    assert layer_type == "image"
    return data, arguments


def kind(arguments):
    return arguments["metadata"]["napari_scsc"]["kind"]


def bank_of(shape=(4, 5, 7), n_joint=0, **info):
    return FilterBank(RNG.standard_normal(shape).astype(np.float32), n_joint, info=info)


def write_images(folder, names, images):
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in zip(names, images, strict=True):
        iio.imwrite(folder / name, image)
    return folder


def greys(n, shape=(6, 8), dtype=np.uint16):
    return RNG.integers(0, np.iinfo(dtype).max, (n, *shape), dtype)
