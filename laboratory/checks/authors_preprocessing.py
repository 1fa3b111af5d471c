"""The preprocessing of the laboratory against the arrays that the paper's authors published."""

import numpy as np

from benchmarks.data import load_images
from laboratory.data_sets import load_authors_arrays
from laboratory.preprocessing import preprocess

# A few float32 steps at the size of the values; another JPEG decoder exceeds it.
_MAX_DIFFERENCE = 1e-6


def run(report, *, data, quick):
    axes = report.figure(columns=2)
    for ax, name in zip(axes, ("fruit", "city"), strict=True):
        folders = ((name, "train"), ("fruit_city_test",))
        for folder, theirs, part in zip(
            folders, load_authors_arrays(data, name), ("train", "test"), strict=True
        ):
            ours = np.stack([preprocess(image) for image in load_images(data, *folder)])
            difference = np.abs(ours - theirs).max(axis=(1, 2))
            report.add(
                set=name,
                part=part,
                images=len(ours),
                largest_difference=float(difference.max()),
                largest_value=float(np.abs(theirs).max()),
            )
            report.at_most(
                f"largest difference, {name} {part}", float(difference.max()), _MAX_DIFFERENCE
            )
            ax.plot(difference, "o-", label=part)
        ax.set(title=name, xlabel="image", ylabel="largest difference", yscale="log")
        ax.axhline(_MAX_DIFFERENCE, color="grey", linestyle=":")
        ax.legend()
