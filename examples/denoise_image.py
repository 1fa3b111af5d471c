"""Denoise one image and save it, without a window."""

import imageio.v3 as iio

from napari_scsc import denoise, estimate_noise, samples

image = samples.noisy_tissue((160, 160))  # or iio.imread("mine.tif")

noise = estimate_noise(image)
print(f"noise level {noise.sigma:.3g}, grows with brightness: {noise.depends_on_signal}")

clean = denoise(image, quality="fast")  # "balanced", the default, takes longer
iio.imwrite("denoised.tif", clean)
print(f"denoised.tif: {clean.shape} {clean.dtype}")
