"""Denoise a multispectral cube with filters learned from another one."""

import numpy as np

from napari_scsc import FilterBank, denoise, learn, samples

first = samples.multispectral((31, 80, 80), seed=1)  # (c, y, x)
second = samples.multispectral((31, 80, 80), seed=2)

bank = learn([first], kind="multispectral")
bank.save("stains.scsc")

clean = denoise(second, kind="multispectral", bank=FilterBank.load("stains.scsc"), quality="fast")

# Where the bands come last, say so: the result has its axes as they came in.
bands_last = np.moveaxis(second, 0, -1)
same = denoise(bands_last, kind="multispectral", axes="yxc", bank=bank, quality="fast")
assert same.shape == bands_last.shape
np.save("stains.npy", clean)
