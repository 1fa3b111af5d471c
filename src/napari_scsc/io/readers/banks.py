"""Filter banks as layers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_scsc.data import axes as axes_of
from napari_scsc.io.readers.layer import LayerData, image_layer

if TYPE_CHECKING:
    from napari_scsc.model.bank import FilterBank


def read_bank(path: str | os.PathLike[str]) -> list[LayerData]:
    """A filter bank as an image layer (filter, joint axes, shift axes) that can be saved again.

    Its metadata hold the bank, its id and its path. FileFormatError says what is wrong with a file
    that is not a bank.
    """
    from napari_scsc.errors import FileFormatError
    from napari_scsc.model.bank import FilterBank

    place = Path(path)
    try:
        bank = FilterBank.load(place)
    except FileFormatError as error:
        if "checkpoint'" not in str(error):
            raise
        learner = "LatticeSCSC" if "lattice checkpoint'" in str(error) else "SCSC"
        raise FileFormatError(
            f"{place}: this is a checkpoint, from which learning goes on, and not a filter bank. "
            f"In a script, {learner}.resume(path) reads it, and .bank.save(path) saves its filters"
        ) from None
    return [bank_layer(bank, place.stem, str(place.resolve()))]


def bank_layer(bank: FilterBank, name: str, path: str = "") -> LayerData:
    """A bank as an image layer, which can be saved as a bank and becomes that of the dock."""
    from napari_scsc.data import pictures

    limit = float(np.abs(bank.filters).max()) or 1.0
    known = {"bank": bank, "id": bank.id, "path": path, "n_joint": bank.n_joint}
    data, arguments, layer_type = image_layer(
        bank.filters, name, filter_labels(bank), "filter bank", known=known
    )
    ends = pictures.diverging(np.array([[-1.0, 0.0, 1.0]]))[0] / 255
    arguments["colormap"] = {"name": "blue white orange", "colors": ends}
    arguments["contrast_limits"] = (-limit, limit)
    arguments["interpolation2d"] = "nearest"
    return data, arguments, layer_type


def filter_labels(bank: Any) -> tuple[str, ...]:
    """Labels of the axes of the filters of a bank: "filter", the joint axes, the shift axes."""
    n_shift = len(bank.support)
    preset = axes_of.PRESETS.get(str(bank.info.get("kind")))
    if preset and (preset.count("joint"), preset.count("shift")) == (bank.n_joint, n_shift):
        order = preset.order()[preset.count("sample") :]
        return ("filter", *(preset.labels[i] for i in order))
    joint = tuple(f"joint {i + 1}" for i in range(bank.n_joint))
    plane = ("y", "x")[-n_shift:]
    return ("filter", *joint, *(f"shift {i + 1}" for i in range(n_shift - len(plane))), *plane)
