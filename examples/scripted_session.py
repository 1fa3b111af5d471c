"""Open napari with the dock, denoise by script, and go on by hand."""

import napari

import napari_scsc
from napari_scsc import samples

image = samples.noisy_tissue((128, 128))
viewer, dock = napari_scsc.open(image, name="tissue", scale=(0.2, 0.2), units=("um", "um"))
viewer.add_image(samples.noisy_tissue((128, 128), clean=True), name="clean", visible=False)

dock.sources = ["tissue"]
dock.quality = "fast"
dock.denoise()  # in the background
if not dock.wait(300) or dock.result is None:
    raise SystemExit(dock.message)

dock.reference = "clean"
dock.wait()
print(dock.result.name, dock.scores)

if __name__ == "__main__":
    napari.run()
