"""Results as files with all values one after the other; of these, .npy."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from napari_scsc._types import Array, Region
from napari_scsc.io.stores.base import Store


@dataclass(frozen=True)
class FlatStore(Store):
    """One file that holds the values in order, from some position on."""

    def open(self) -> Any:
        """The values as a memory map that cannot be written to."""
        return np.memmap(self.path, self.dtype, "r", self._offset(), self.shape)

    def _write(self, region: Region, values: Array) -> None:
        write_region(self.path, self._offset(), self.shape, region, values)

    @abstractmethod
    def _offset(self) -> int:
        """Where in the file the values begin."""


def write_region(
    path: Path, offset: int, shape: tuple[int, ...], region: Region, values: Array
) -> None:
    """Write a region of an array that begins at an offset of a file, in C order."""
    # Not through a memory map: on a full disk that ends the process instead of raising, and
    # its pages count as memory of the process.
    values = np.ascontiguousarray(values)
    cut_axes = [axis for axis, n in enumerate(values.shape) if n < shape[axis]]
    axis = cut_axes[-1] if cut_axes else 0  # from there on, what is written lies together
    steps = [math.prod(shape[i + 1 :]) * values.itemsize for i in range(values.ndim)]
    start = offset + sum(s.start * n for s, n in zip(region, steps, strict=True))
    with open(path, "r+b", buffering=0) as stream:
        for index in np.ndindex(values.shape[:axis]):
            stream.seek(start + sum(i * n for i, n in zip(index, steps, strict=False)))
            run = values[index].reshape(-1).view(np.uint8).data
            while run:  # the system may take less than all at a time
                run = run[stream.write(run) :]


@dataclass(frozen=True)
class NpyStore(FlatStore):
    """A .npy file."""

    def _make(self, path: Path) -> None:
        npy.open_memmap(path, mode="w+", dtype=self.dtype, shape=self.shape)

    def _offset(self) -> int:
        return int(npy.open_memmap(self.path, mode="r").offset)
