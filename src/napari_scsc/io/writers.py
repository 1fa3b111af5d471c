"""The writer of napari: a layer of filters back into the filter bank that it shows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def write_bank(path: str | os.PathLike[str], data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write the filter bank that an image layer shows to ``path``; complete, or not at all.

    The layer must come from a bank: its metadata hold it. Returns the paths that were written.
    """
    from napari_scsc.model.bank import FilterBank

    entry = dict(attributes.get("metadata") or {}).get("napari_scsc")
    bank = entry.get("bank") if isinstance(entry, dict) else None
    name = attributes.get("name", "this layer")
    # Not ValueError: napari takes that for "no writer", and reports nothing to the user.
    if not isinstance(bank, FilterBank):
        raise TypeError(
            f"{name!r} is not a layer of filters: *.scsc files hold filter banks only. Learn "
            "filters from it first, or save it as an image, such as *.tif"
        )
    if np.shape(data) != bank.filters.shape or not np.array_equal(np.asarray(data), bank.filters):
        raise TypeError(
            f"{name!r} no longer shows the filters that it came with: save it as an image, such as "
            "*.tif, or open the filter bank again"
        )
    bank.save(path)
    return [os.fspath(path)]
