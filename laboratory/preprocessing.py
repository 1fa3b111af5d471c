"""The preprocessing behind the paper's Fruit and City figures: grey, contrast, mean, edge taper."""

import numpy as np
from scipy import ndimage

from benchmarks.preprocessing import grey

_CONTRAST_SIZE, _CONTRAST_SIGMA = 13, 4.773
_TAPER_SIZE, _TAPER_SIGMA = 11, 11 / 3


def preprocess(rgb):
    """(Y, X, 3) uint8 -> (Y, X) float32, as the authors' arrays are."""
    contrast = normalise_contrast(grey(rgb))
    return taper_edges(contrast - contrast.mean()).astype(np.float32)


def normalise_contrast(image):
    """Subtract the local mean and divide by the local deviation, which is floored at its median."""
    window = gaussian(_CONTRAST_SIZE, _CONTRAST_SIGMA)

    def local_mean(values):
        for axis in range(values.ndim):
            values = ndimage.correlate1d(values, window, axis, mode="mirror")
        return values

    mean = local_mean(image)
    deviation = np.sqrt(np.maximum(local_mean(image**2) - mean**2, 0))
    floor = np.sort(deviation, axis=None)[(deviation.size - 1) // 2]  # the lower median
    divisor = np.maximum(deviation, floor)
    return np.divide(image - mean, divisor, out=np.zeros_like(mean), where=divisor > 0)


def taper_edges(image):
    """Blend the borders into a circularly blurred copy, as MATLAB's ``edgetaper`` does."""
    blur = gaussian(_TAPER_SIZE, _TAPER_SIGMA)
    blurred, keep = image, np.ones(())
    for axis, length in enumerate(image.shape):
        blurred = ndimage.correlate1d(blurred, blur, axis, mode="wrap")
        keep = keep[..., None] * _kept(blur, length)
    return keep * image + (1 - keep) * blurred


def _kept(blur, length):
    """Weight of the image along one axis: 0 at the ends, 1 beyond the reach of the blur."""
    correlation = np.fft.ifft(np.abs(np.fft.fft(blur, length - 1)) ** 2).real
    correlation = np.append(correlation, correlation[0])
    return 1 - correlation / correlation.max()


def gaussian(size, sigma):
    """Window of sum 1; the windows of images are outer products of it."""
    distance = np.arange(size) - (size - 1) / 2
    window = np.exp(-(distance**2) / (2 * sigma**2))
    return window / window.sum()
