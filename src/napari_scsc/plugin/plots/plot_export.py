"""What leaves the plots: files, and layers for napari."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence

import numpy as np

from napari_scsc._types import Array, LayerData
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.io.atomic_files import write_atomically

Table = Iterable[Sequence[str | int | float]]


def layer_data(
    values: Array, name: str, labels: Sequence[str], limit: float, plot: str
) -> LayerData:
    """Values as an image layer with the colours of the plots, white at zero."""
    ends = diverging(np.array([[-1.0, 0.0, 1.0]]))[0] / 255
    arguments = {
        "name": name,
        "rgb": False,
        "multiscale": False,
        "axis_labels": tuple(labels),
        "colormap": {"name": "blue white orange", "colors": ends},
        "contrast_limits": (-limit, limit),
        "interpolation2d": "nearest",
        "metadata": {"napari_scsc": {"plot": plot}},
    }
    return values, arguments, "image"


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write rows to ``path`` as CSV; complete, or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in table:
        writer.writerow([f"{v:.9g}" if isinstance(v, float) else v for v in row])
    write_atomically(path, text.getvalue().encode())
