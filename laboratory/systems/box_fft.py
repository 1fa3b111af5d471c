"""Fourier transforms of maps on the box of a geometry, on one thread. P points, F frequencies."""

import scipy.fft


def forward(values, geometry):
    """(..., P) -> (..., F)."""
    boxed = values.reshape(*values.shape[:-1], *geometry.box)
    axes = tuple(range(-len(geometry.box), 0))
    return scipy.fft.rfftn(boxed, axes=axes, workers=1).reshape(*values.shape[:-1], -1)


def backward(spectrum, geometry):
    """(..., F) -> (..., P)."""
    half = (*geometry.box[:-1], geometry.box[-1] // 2 + 1)
    axes = tuple(range(-len(geometry.box), 0))
    boxed = spectrum.reshape(*spectrum.shape[:-1], *half)
    values = scipy.fft.irfftn(boxed, geometry.box, axes, workers=1)
    return values.reshape(*spectrum.shape[:-1], -1)
