"""Denoise a video, and see how far it is."""

import imageio.v3 as iio

from napari_scsc import iter_denoise, samples

video = samples.video((12, 64, 80))  # (t, y, x)

# "stack" is for (z, y, x); "time-lapse" restores each frame by itself, where too much moves.
for update in iter_denoise(video, kind="video", quality="fast"):
    print(f"{update.done:4.0%} {update.message}")

iio.imwrite("video.tif", update.result)  # the last update holds it
