"""Denoise a zarr into an OME-Zarr, block by block, in an amount of memory that you choose."""

import zarr

from napari_scsc import Output, denoise, samples

if __name__ == "__main__":
    frames = samples.video((16, 64, 64))  # stands for what does not fit into memory
    volume = zarr.create_array(
        "volume.zarr", shape=frames.shape, chunks=(8, 32, 32), dtype=frames.dtype
    )
    volume[:] = frames

    # Until it is whole, the result lies in clean.ome.zarr.partial; resume=True goes on with that.
    clean = denoise(
        volume,
        kind="video",
        quality="draft",  # some fifty times as quick as "fast": for a first look
        out=Output("clean.ome.zarr", scale=(0.5, 0.2, 0.2), units=("s", "um", "um")),
        memory="200 MB",
        resume=True,
        progress=lambda update: print(f"{update.done:4.0%} {update.message}"),
    )
    print(clean[8].mean().compute())  # the result is a lazy array of the file
