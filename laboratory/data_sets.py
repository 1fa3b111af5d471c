"""The data of the paper's experiments, as samples; of the large sets only what the folder holds."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.data import existing_path, load_array, load_images
from laboratory.preprocessing import normalise_contrast, preprocess

SMALL_SETS = ("fruit", "city")
SET_NAMES = (*SMALL_SETS, "cifar10", "flower", "video", "multispectral", "light field")
FILTER_SUPPORT = (11, 11)
"""Of all two-dimensional sets."""

_FRAMES_PER_SAMPLE = 7  # of the video, as in the paper


@dataclass(frozen=True)
class DataSet:
    """Training and test samples, (N, *joint, *shift) float32."""

    train: np.ndarray
    test: np.ndarray
    n_joint: int = 0


def load_data_set(folder, name, settings):
    """A set by its name, at the size and with the numbers of samples that the settings say."""
    return _LOADERS[name](folder, settings)


def load_authors_arrays(folder, name):
    """The authors' preprocessed arrays of "fruit" or "city": (training, test)."""
    return tuple(
        np.load(existing_path(folder, f"lcne/{name}_{part}.npy")) for part in ("train", "test")
    )


# --- photographs --------------------------------------------------------------------------------


def _load_small_set(name, folder, settings):
    train, test = (
        np.ascontiguousarray(_middle(part, settings["size"]))
        for part in load_authors_arrays(folder, name)
    )
    return DataSet(train[: settings["n_train"]], test[: settings["n_test"]])


def _load_cifar10(folder, settings):
    train, test = (
        load_array(folder, "cifar10/cifar10_subset.npz", part) for part in ("train", "test")
    )
    return DataSet(
        _preprocess_all(train[: settings["n_train"]]), _preprocess_all(test[: settings["n_test"]])
    )


def _load_flower(folder, settings):
    """Squares from the middle of the photographs."""
    train, test = (
        [_middle_of_photograph(image, settings["size"]) for image in images[:count]]
        for images, count in (
            (load_images(folder, "flower", "train"), settings["n_train"]),
            (load_images(folder, "flower", "test"), settings["n_test"]),
        )
    )
    return DataSet(_preprocess_all(train), _preprocess_all(test))


def _middle(images, size):
    """The squares in the middle of images (..., Y, X)."""
    top, left = ((length - size) // 2 for length in images.shape[-2:])
    return images[..., top : top + size, left : left + size]


def _middle_of_photograph(image, size):
    return np.moveaxis(_middle(np.moveaxis(image, -1, 0), size), 0, -1)


def _preprocess_all(photographs):
    return np.stack([preprocess(photograph) for photograph in photographs])


# --- more dimensions ----------------------------------------------------------------------------


def _load_video(folder, settings):
    """Pieces of a few frames."""
    frames = _normalise_planes(load_array(folder, "video/airport_tyx.npz", "video"))
    pieces = [
        window[start : start + _FRAMES_PER_SAMPLE]
        for window in _windows(frames, settings["size"])
        for start in range(0, len(frames) - _FRAMES_PER_SAMPLE + 1, _FRAMES_PER_SAMPLE)
    ]
    return _split(pieces, settings, n_joint=0)


def _load_multispectral(folder, settings):
    """Every ``joint_step``-th band."""
    cube = load_array(folder, "multispectral/cloth_yxc.npz", "cube").transpose(2, 0, 1)
    bands = _normalise_planes(cube[:: settings["joint_step"]])
    return _split(_windows(bands, settings["size"]), settings, n_joint=1)


def _load_light_field(folder, settings):
    """Every ``joint_step``-th view in both directions."""
    step = settings["joint_step"]
    views = load_array(folder, "light_field/lytro_uvyx.npz", "views")[::step, ::step]
    return _split(_windows(_normalise_planes(views), settings["size"]), settings, n_joint=2)


def _normalise_planes(array):
    """The contrast of each frame, band or view normalised as that of an image."""
    planes = array.reshape(-1, *array.shape[-2:]).astype(np.float64)
    planes = [normalise_contrast(plane / planes.max()) for plane in planes]
    return np.stack([plane - plane.mean() for plane in planes]).reshape(array.shape)


def _windows(array, size):
    """Squares (..., size, size) that do not overlap."""
    rows, columns = (range(0, n - size + 1, size) for n in array.shape[-2:])
    return [array[..., y : y + size, x : x + size] for y in rows for x in columns]


def _split(pieces, settings, n_joint):
    """Test pieces from all over, training pieces from the rest."""
    n_train, n_test = settings["n_train"], settings["n_test"]
    order = np.random.default_rng(0).permutation(len(pieces))
    test, train = order[:n_test], order[n_test : n_test + n_train]
    return DataSet(
        *(np.stack([pieces[i] for i in part]).astype(np.float32) for part in (train, test)),
        n_joint=n_joint,
    )


_LOADERS = {
    **{name: partial(_load_small_set, name) for name in SMALL_SETS},
    "cifar10": _load_cifar10,
    "flower": _load_flower,
    "video": _load_video,
    "multispectral": _load_multispectral,
    "light field": _load_light_field,
}
