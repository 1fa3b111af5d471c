"""Denoise a light field: all views of a scene together."""

import numpy as np

from napari_scsc import denoise, samples

views = samples.light_field((5, 5, 64, 64))  # (u, v, y, x)
truth = samples.light_field((5, 5, 64, 64), clean=True)  # only a sample has one

clean = denoise(views, kind="light-field", quality="fast")


def error(result):
    """Root of the mean squared error, in counts."""
    return np.sqrt(np.mean((result - truth) ** 2))


print(f"error before {error(views.astype(np.float32)):.1f}, after {error(clean):.1f} counts")
np.save("views.npy", clean)
