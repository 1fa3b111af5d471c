"""How the package reads each kind of file, as far as what a file says can reach."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_samples import SECRET

from napari_scsc import SCSC, FilterBank, LatticeSCSC, open_codes
from napari_scsc.batch.inputs import find_axes, holds_codes
from napari_scsc.errors import UserError
from napari_scsc.io.formats import list_fields, open_all, open_file
from napari_scsc.io.layers import read_layers, to_layers
from napari_scsc.model.container import read_kind


class SecretShown(Exception):
    """Pixels of a file that was not the one that was opened."""


_MOST_BYTES = 1 << 20  # that are read at once, of what a file says it holds
_SIDE = 24


def _look(array: Any) -> None:
    """Read a corner of an array, and its middle."""
    shape = tuple(array.shape)
    corner = tuple(slice(0, min(n, _SIDE)) for n in shape)
    middle = tuple(slice(n // 2, min(n // 2 + _SIDE, n)) for n in shape)
    parts = [corner, middle]
    if math.prod(shape) * np.dtype(array.dtype).itemsize <= _MOST_BYTES:
        parts.append(tuple(slice(None) for _ in shape))
    for part in parts:
        if math.prod(s.stop - s.start if s.stop else 1 for s in part) > _MOST_BYTES:
            part = tuple(slice(0, 2) for _ in shape)
        values = np.asarray(array[part])
        if values.size > 4 and (values == SECRET).mean() > 0.2:
            raise SecretShown(f"{SECRET:#x} at {part}")


def open_and_look(path: Path) -> None:
    opened = open_file(path)
    with suppress(UserError):  # the axes of anything need not be clear
        find_axes(opened, None, None)
    _look(opened.array)


def open_layers(path: Path) -> None:
    for opened in open_all(path):
        to_layers(opened)
        _look(opened.array)
        for level in opened.coarser:
            _look(level)


def list_all_fields(path: Path) -> None:
    holds_codes(str(path))
    for key in list_fields(path)[:4]:
        _look(open_file(path, key).array)


def _load_bank(path: Path) -> None:
    read_kind(path)
    FilterBank.load(path)


def _decode(path: Path) -> None:
    codes = open_codes(path)
    if codes.n_blocks < 1000 and math.prod(codes.shape) <= _MOST_BYTES:
        codes.estimate(0)


Readers = tuple[Callable[[Path], Any], ...]
read_image: Readers = (open_and_look, open_layers, list_all_fields)
READERS: dict[str, Readers] = {
    "bank": (_load_bank, read_layers),
    "checkpoint": (SCSC.resume, SCSC.notes, read_kind),
    "lattice": (LatticeSCSC.resume, LatticeSCSC.notes, read_kind),
    "codes": (_decode, list_all_fields),
}
