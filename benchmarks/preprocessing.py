"""Colour photographs as grey images."""

import numpy as np

GREY = np.array([0.298936021, 0.587043074, 0.114020904])
"""What red, green and blue count for."""


def grey(rgb):
    """Weighted sum of the colours, in [0, 1] for uint8."""
    return (rgb.astype(np.float64) / 255) @ GREY
