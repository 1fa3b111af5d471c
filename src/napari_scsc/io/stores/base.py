"""What all stores have in common."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.errors import PathExistsError, Remedy, UserError, UserTypeError
from napari_scsc.io.atomic_files import made_beside
from napari_scsc.io.channels import Channel
from napari_scsc.io.filenames import format_bytes


@dataclass(frozen=True)
class Store(ABC):
    """An array that is written region by region, to a file or a folder; see ``store_for``.

    Attributes
    ----------
    path : Path
        Where it is, or will be.
    shape, chunks : tuple of int
        Lengths of the axes, and of the chunks that are written as a whole.
    dtype : numpy.dtype
        Type of the values, in the byte order of this machine.
    labels, units : tuple of str or None
        Names and units of the axes.
    scale : tuple of float or None
        Size of a pixel along each axis, in its unit.
    compressed : bool
        Whether chunks are compressed, where the format can.
    name : str
        Name of the image, where the format has a place for it.
    translation : tuple of float or None
        Where the first pixel lies along each axis, in its unit.
    channels : tuple of Channel
        One for each value of the axis of channels, or none.
    recipe : dict
        How the values came about, as JSON; empty if nothing is to be said.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    labels: tuple[str, ...] | None = None
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    compressed: bool = True
    name: str = ""
    translation: tuple[float, ...] | None = None
    channels: tuple[Channel, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def final_path(self) -> Path:
        """Where messages say that it is: a result in the making has no name of its own yet."""
        return final_path_of(self.path)

    def create(self) -> None:
        """Make it, empty (all values are 0); complete or not at all.

        Raises PathExistsError where something has that name already, and another OSError where the
        folder cannot be written to or the disk has too little room.
        """
        if os.path.lexists(self.path):
            raise PathExistsError(
                "there is something of that name already",
                remedy=Remedy.CHOOSE_ANOTHER_NAME,
                path=self.path,
            )
        with naming_path(self.final_path):
            self._check_room()
            with made_beside(self.path) as temporary:
                self._make(temporary)

    def write(self, region: Region, values: Any) -> None:
        """Write the values of a region.

        Parameters
        ----------
        region : tuple of slice
            One slice an axis, made of whole chunks; the last ones of an axis may be shorter. Nobody
            else may write to it at the same time.
        values : array
            Of the shape of the region. Its type is that of the store, or one of the same kind.
        """
        region = self._check_region(region)
        array = np.asarray(values)
        shape = tuple(s.stop - s.start for s in region)
        if array.shape != shape:
            raise UserError(
                f"the region has the shape {shape}, the values {array.shape}", path=self.final_path
            )
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise UserTypeError(
                f"holds {self.dtype}, the values are {array.dtype}", path=self.final_path
            )
        with naming_path(self.final_path):
            self._write(region, array.astype(self.dtype, copy=False))

    def finish(self) -> None:  # noqa: B027 - most formats have nothing left to do
        """Do what can be done only when all is written. Doing it again does no harm."""

    def shard_of(self, region: Region) -> tuple[int, ...] | None:
        """The place of the shard that a region of one chunk lies in; None where there is none."""
        return None

    def pack(self, shard: tuple[int, ...]) -> None:  # noqa: B027 - most formats have no shards
        """Combine the chunks of a shard into one file, once all of them are written."""

    @abstractmethod
    def open(self) -> Any:
        """The values, not read yet: a dask array over zarr, else a read-only memory map."""

    @abstractmethod
    def _make(self, path: Path) -> None:
        """Make it, empty, at another path."""

    @abstractmethod
    def _write(self, region: Region, values: Array) -> None:
        """Write a region that was checked."""

    @property
    def _n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def _check_room(self) -> None:
        """Fail now rather than after hours. How well values compress is not known beforehand."""
        free = shutil.disk_usage(self.path.parent).free
        if self._n_bytes > free:
            raise OSError(
                errno.ENOSPC,
                f"{format_bytes(self._n_bytes)} are needed, but the disk has {format_bytes(free)} "
                "left",
            )

    def _check_region(self, region: Region) -> Region:
        """The region with all its ends as numbers, if it consists of whole chunks."""
        if len(region) != len(self.shape):
            raise UserError(
                f"a region has {len(self.shape)} slices, not {region}", path=self.final_path
            )
        slices = []
        for part, n, chunk in zip(region, self.shape, self.chunks, strict=True):
            start, stop, step = part.indices(n)
            inside = all(end is None or 0 <= end <= n for end in (part.start, part.stop))
            ends = start % chunk == 0 and (stop % chunk == 0 or stop == n)
            if step != 1 or start >= stop or not inside or not ends:
                raise UserError(
                    f"{region} does not consist of whole chunks {self.chunks} of the shape "
                    f"{self.shape}",
                    path=self.final_path,
                )
            slices.append(slice(start, stop))
        return tuple(slices)


@contextlib.contextmanager
def naming_path(path: Path) -> Iterator[None]:
    """Let errors of the system name the path, where they name a temporary file or none."""
    try:
        yield
    except OSError as error:
        number, words = error.errno, error.strerror
        if number is None:  # so numpy says that fewer values were written than there are
            number, words = errno.ENOSPC, "not all could be written, as on a full disk"
        raise OSError(number, words, str(path)) from error


def final_path_of(path: Path) -> Path:
    """Where a result will be: until it is whole, it is in a folder that is called like it."""
    folder = path.parent
    is_partial = folder.suffix == ".partial" and path.name.startswith("result.")
    return folder.with_suffix("") if is_partial else path
