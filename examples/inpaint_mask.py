"""Fill what a mask marks as missing, without a window."""

import numpy as np

from napari_scsc import inpaint, samples

image, missing = samples.with_holes((160, 160))  # missing: True where nothing is known

filled = inpaint(image, missing, quality="fast")
assert np.array_equal(filled[~missing], image[~missing])  # what was known stays as it is

# With the noise level of the known values given, they are denoised as well.
smooth = inpaint(image, missing, sigma=0.01, quality="fast")
np.savez("filled.npz", filled=filled, smooth=smooth)
print(f"filled.npz: {missing.mean():.0%} of the image was missing")
