"""The data of the paper's experiments, as samples; of the large sets only what the folder holds."""

from dataclasses import dataclass

import numpy as np

from benchmarks.data import load_array, load_images, load_lcne
from benchmarks.preprocessing import normalise_contrast, preprocess

SMALL = ("fruit", "city")
SUPPORT = (11, 11)


@dataclass(frozen=True)
class Samples:
    """Training and test samples, (N, *joint, *shift) float32."""

    train: np.ndarray
    test: np.ndarray
    n_joint: int = 0


def load(folder, name, settings):
    """A set by its name, at the size and with the numbers of samples that the settings say."""
    size, n_train, n_test = (settings[key] for key in ("size", "n_train", "n_test"))
    if name in SMALL:
        parts = load_lcne(folder, name)
        train, test = (np.ascontiguousarray(_middle(part, size)) for part in parts)
        return Samples(train[:n_train], test[:n_test])
    if name == "cifar10":
        parts = [load_array(folder, "cifar10/cifar10_subset.npz", part) for part in _CIFAR_PARTS]
        counts = (n_train, n_test)
        return Samples(*(_photographs(p[:n]) for p, n in zip(parts, counts, strict=True)))
    if name == "flower":
        train, test = (load_images(folder, "flower", part) for part in ("train", "test"))
        return Samples(
            *(
                _photographs([_middle_of_photograph(image, size) for image in part[:n]])
                for part, n in ((train, n_train), (test, n_test))
            )
        )
    return _CUTTERS[name](folder, size, n_train, n_test, settings["joint_step"])


_CIFAR_PARTS = ("train", "test")


def _middle(images, size):
    first = [(length - size) // 2 for length in images.shape[-2:]]
    return images[..., first[0] : first[0] + size, first[1] : first[1] + size]


def _middle_of_photograph(image, size):
    return np.moveaxis(_middle(np.moveaxis(image, -1, 0), size), 0, -1)


def _photographs(images):
    return np.stack([preprocess(image) for image in images])


# --- more dimensions ----------------------------------------------------------------------------


def _video(folder, size, n_train, n_test, _, length=7):
    """Pieces of seven frames, as in the paper."""
    frames = _by_plane(load_array(folder, "video/airport_tyx.npz", "video"))
    pieces = [
        window[start : start + length]
        for window in _windows(frames, size)
        for start in range(0, len(frames) - length + 1, length)
    ]
    return _divided(pieces, n_train, n_test, 0)


def _multispectral(folder, size, n_train, n_test, step):
    """Every ``step``-th band."""
    cube = load_array(folder, "multispectral/cloth_yxc.npz", "cube").transpose(2, 0, 1)
    return _divided(_windows(_by_plane(cube[::step]), size), n_train, n_test, 1)


def _light_field(folder, size, n_train, n_test, step):
    """Every ``step``-th view in both directions."""
    views = load_array(folder, "light_field/lytro_uvyx.npz", "views")[::step, ::step]
    return _divided(_windows(_by_plane(views), size), n_train, n_test, 2)


def _by_plane(array):
    """The contrast of each frame, band or view normalised as that of an image."""
    planes = array.reshape(-1, *array.shape[-2:]).astype(np.float64)
    planes = [normalise_contrast(plane / planes.max()) for plane in planes]
    return np.stack([plane - plane.mean() for plane in planes]).reshape(array.shape)


def _windows(array, size):
    rows, columns = (range(0, n - size + 1, size) for n in array.shape[-2:])
    return [array[..., y : y + size, x : x + size] for y in rows for x in columns]


def _divided(pieces, n_train, n_test, n_joint):
    """Test pieces from all over, training pieces from the rest."""
    order = np.random.default_rng(0).permutation(len(pieces))
    test, train = order[:n_test], order[n_test : n_test + n_train]
    return Samples(
        *(np.stack([pieces[i] for i in p]).astype(np.float32) for p in (train, test)),
        n_joint=n_joint,
    )


_CUTTERS = {"video": _video, "multispectral": _multispectral, "light field": _light_field}
