"""Learn filters from several images, write them to a file, and restore with them elsewhere."""

import numpy as np

from napari_scsc import FilterBank, denoise, learn, samples

images = [samples.noisy_tissue((128, 128), seed=seed) for seed in range(3)]

# Here: one bank for a series, with a note on where it comes from.
learned = learn(images[:2])
bank = FilterBank(
    learned.filters,
    learned.n_joint,
    learned.weights,
    learned.settings,
    {**learned.info, "microscope": "sample data"},
)
bank.save("tissue.scsc")

# There: nothing in the file can run, and its id tells whether these are the same filters.
received = FilterBank.load("tissue.scsc")
assert received.id == bank.id
print(received, dict(received.info))

clean = denoise(images[2], bank=received, quality="fast")
np.save("clean.npy", clean)
