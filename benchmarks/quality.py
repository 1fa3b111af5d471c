"""How good a reconstruction is."""

import numpy as np


def psnr(image, reconstruction):
    """The paper's: peak 1, over all pixels of the preprocessed image."""
    return 20 * np.log10(np.sqrt(image.size) / np.linalg.norm(image - reconstruction))
