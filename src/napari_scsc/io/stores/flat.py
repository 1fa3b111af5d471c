"""Results as files with all values one after the other: .npy and TIFF."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from napari_scsc._types import Array, Region
from napari_scsc.data.axes import letter_of
from napari_scsc.errors import UserError
from napari_scsc.io.stores.base import Store
from napari_scsc.io.units import METRES, SYMBOLS, WORDS

_MAX_TIFF_BYTES = (1 << 32) - (1 << 20)  # that a classic TIFF can address, with some to spare
_MAX_PAGE_HEADER_BYTES = 512  # that TIFF adds to a page
_OME_TYPES = tuple(map(np.dtype, ("i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8")))


@dataclass(frozen=True)
class FlatStore(Store):
    """One file that holds the values in order, from some position on."""

    def open(self) -> Any:
        """The values as a memory map that cannot be written to."""
        return np.memmap(self.path, self.dtype, "r", self._offset(), self.shape)

    def _write(self, region: Region, values: Array) -> None:
        # Not through a memory map: on a full disk that ends the process instead of raising, and
        # its pages count as memory of the process.
        values = np.ascontiguousarray(values)
        cut_axes = [axis for axis, n in enumerate(values.shape) if n < self.shape[axis]]
        axis = cut_axes[-1] if cut_axes else 0  # from there on, what is written lies together
        steps = [math.prod(self.shape[i + 1 :]) * self.dtype.itemsize for i in range(values.ndim)]
        start = self._offset() + sum(s.start * n for s, n in zip(region, steps, strict=True))
        with open(self.path, "r+b", buffering=0) as stream:
            for index in np.ndindex(values.shape[:axis]):
                stream.seek(start + sum(i * n for i, n in zip(index, steps, strict=False)))
                run = values[index].reshape(-1).view(np.uint8).data
                while run:  # the system may take less than all at a time
                    run = run[stream.write(run) :]

    @abstractmethod
    def _offset(self) -> int:
        """Where in the file the values begin."""


@dataclass(frozen=True)
class NpyStore(FlatStore):
    """A .npy file."""

    def _make(self, path: Path) -> None:
        npy.open_memmap(path, mode="w+", dtype=self.dtype, shape=self.shape)

    def _offset(self) -> int:
        return int(npy.open_memmap(self.path, mode="r").offset)


@dataclass(frozen=True)
class TiffStore(FlatStore):
    """A TIFF file whose pages lie one after the other, uncompressed; BigTIFF above 4 GB.

    It is made for ImageJ where that has the type, the axes and the size, else OME-TIFF where that
    has the type and the axes. All else is written with a description of its shape that only
    tifffile reads. A single row of pixels is an image of one line.
    """

    def __post_init__(self) -> None:
        if self._is_named_ome() and not self._suits_ome():
            raise UserError(
                "OME-TIFF holds integers of up to 32 bits, float32 and float64, and the axes t, c, "
                f"z, in any order, before y, x; this is {self.dtype} with the axes "
                f"({', '.join(self.labels or ())})",
                remedy="write a .tif without .ome, which holds any",
                path=self.final_path,
            )

    def _make(self, path: Path) -> None:
        import tifffile

        letters = self._letters()
        shape = self.shape if len(self.shape) > 1 else (1, *self.shape)
        has_colours = letters.endswith("S")
        n_pages = math.prod(shape[:-3] if has_colours else shape[:-2])
        is_big = self._n_bytes + n_pages * _MAX_PAGE_HEADER_BYTES > _MAX_TIFF_BYTES
        options: dict[str, Any] = {"photometric": "minisblack", "bigtiff": is_big}
        if has_colours:
            options["planarconfig"] = "contig"
            if shape[-1] in (3, 4) and self.dtype in (np.uint8, np.uint16):
                options["photometric"] = "rgb"
        if self._suits_imagej() and not is_big and not self._is_named_ome():
            options |= {"imagej": True, "metadata": self._imagej_metadata()}
            options["resolution"] = tuple(1 / self._along(letter)[0] for letter in "xy")
        else:
            if self._suits_ome():
                options |= {"ome": True, "metadata": self._ome_metadata()}
            else:
                options["metadata"] = self._plain_metadata()
            if per := self._per_centimetre():
                options |= {"resolution": per, "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(path, shape=shape, dtype=self.dtype, **options)

    def _offset(self) -> int:
        import tifffile

        with tifffile.TiffFile(self.path) as file:
            first: Any = file.pages.first
            return int(first.dataoffsets[0])

    def _is_named_ome(self) -> bool:
        return bool(re.fullmatch(r"(?s).+\.ome\.tiff?", self.path.name.lower()))

    def _letters(self) -> str:
        """One letter an axis as TIFF has them, S for the colours of a pixel; empty if unknown."""
        if len(self.shape) == 1:
            return "YX"
        labels = self.labels or (("y", "x") if len(self.shape) == 2 else ())
        letters = [letter_of(label).upper() for label in labels]
        if not all(letters) or len(set(letters)) < len(letters):
            return ""
        return re.sub("YXC$", "YXS", "".join(letters))

    def _along(self, letter: str) -> tuple[float, str]:
        """Scale and unit along an axis; 1 and "pixel" where nothing is known."""
        n = len(self.shape)
        letters = [letter_of(label) for label in self.labels or [""] * (n - 2) + ["y", "x"][-n:]]
        if self.scale is None or letter not in letters:
            return 1.0, "pixel"
        i = letters.index(letter)
        return self.scale[i], self.units[i] if self.units else "pixel"

    def _per_centimetre(self) -> tuple[float, ...] | None:
        """Pixels in a centimetre along x and y, where TIFF can say it."""
        found = [self._along(letter) for letter in "xy"]
        if any(unit not in METRES for _, unit in found):
            return None
        per = tuple(0.01 / (scale * METRES[unit]) for scale, unit in found)
        # A resolution is a ratio of two integers of 32 bits.
        return per if all(1e-3 < p < 1e9 for p in per) else None

    def _suits_imagej(self) -> bool:
        letters = self._letters()
        along = [self._along(letter.lower()) for letter in letters if letter in "ZYX"]
        return (
            bool(re.fullmatch("T?Z?(C?YX|YXS)", letters))
            and self.dtype in (np.uint8, np.uint16, np.float32)
            and ("S" not in letters or (self.dtype == np.uint8 and self.shape[-1] == 3))
            and len({unit for _, unit in along}) == 1  # it has one unit for all
            and all(1e-6 < scale < 1e6 for scale, _ in along)
        )

    def _imagej_metadata(self) -> dict[str, Any]:
        unit = self._along("x")[1]
        metadata: dict[str, Any] = {"axes": self._letters()}
        metadata["unit"] = SYMBOLS.get(unit, unit).replace("µ", "u")
        if "Z" in self._letters():
            metadata["spacing"] = self._along("z")[0]
        time, unit = self._along("t")
        if unit in WORDS["time"]:
            metadata |= {"finterval": time, "tunit": SYMBOLS[unit].replace("µ", "u")}
        return metadata

    def _suits_ome(self) -> bool:
        fits = re.fullmatch("[TCZ]{0,3}YX|[TZ]{0,2}YXS", self._letters())
        return self.dtype in _OME_TYPES and bool(fits) and min(self.scale or (1,)) > 0

    def _ome_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"axes": self._letters(), "Name": self.name}
        for letter in "XYZ":
            scale, unit = self._along(letter.lower())
            if (scale, unit) != (1, "pixel") and unit not in WORDS["time"]:
                metadata[f"PhysicalSize{letter}"] = scale
                metadata[f"PhysicalSize{letter}Unit"] = SYMBOLS.get(unit, unit)
        time, unit = self._along("t")
        if unit in WORDS["time"]:
            metadata |= {"TimeIncrement": time, "TimeIncrementUnit": SYMBOLS[unit]}
        return metadata

    def _plain_metadata(self) -> dict[str, Any]:
        known = {"axes": self._letters(), "scale": self.scale, "units": self.units}
        if len(self.shape) == 1:
            return {"axes": "YX"}
        return {key: value for key, value in known.items() if value}
