"""Results as TIFF: for ImageJ, as OME-TIFF with coarser levels, or plain."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.errors import UserError
from napari_scsc.io.stores.base import naming_path
from napari_scsc.io.stores.flat import write_region
from napari_scsc.io.stores.levels import means_of, regions_of
from napari_scsc.io.stores.tiff_descriptions import DescribedTiff

_MAX_TIFF_BYTES = (1 << 32) - (1 << 20)  # that a classic TIFF can address, with some to spare
_MAX_PAGE_HEADER_BYTES = 640  # that TIFF adds to a page, and OME to its description
_OME_TYPES = tuple(map(np.dtype, ("i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8")))
_MAX_LENGTH_OF_ONE_LEVEL = 2048  # longer planes of an OME-TIFF have coarser levels
_MAX_COARSEST_LENGTH = 512
_MAX_BLOCK_BYTES = 8 << 20  # of a finer level that is read at once


@dataclass(frozen=True)
class TiffStore(DescribedTiff):
    """A TIFF file whose pages lie one after the other, uncompressed; BigTIFF above 4 GB.

    It is made for ImageJ where that has the type, the axes and the size, else OME-TIFF where that
    has the type and the axes. All else is written with a description of its shape that only
    tifffile reads. A single row of pixels is an image of one line.

    An OME-TIFF with large planes has coarser levels, as SubIFDs. They have their place from the
    start, and ``finish`` writes their values there.
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

    def finish(self) -> None:
        """Write the coarser levels, if there are any, from means of two by two pixels.

        In memory are a few rows of a plane at a time.
        """
        if len(self._level_shapes) == 1:
            return
        import tifffile

        with naming_path(self.final_path):
            with tifffile.TiffFile(self.path) as file:
                levels: Any = file.series[0].levels
                offsets = [int(level.dataoffset) for level in levels]
            for level in range(1, len(offsets)):
                self._write_level(level, offsets)

    def _write_level(self, level: int, offsets: list[int]) -> None:
        fine, coarse = self._level_shapes[level - 1 : level + 1]
        steps = [2 if letter in "YX" else 1 for letter in self.letters]
        for region in regions_of(coarse, self._row_chunks(fine, coarse)):
            source = np.memmap(self.path, self.dtype, "r", offsets[level - 1], fine)
            finer = tuple(
                slice(s.start * step, min(s.stop * step, n))
                for s, step, n in zip(region, steps, fine, strict=True)
            )
            values = means_of(np.asarray(source[finer]), steps)
            del source  # its pages count as memory of the process
            write_region(self.path, offsets[level], coarse, region, values)

    def _row_chunks(self, fine: tuple[int, ...], coarse: tuple[int, ...]) -> tuple[int, ...]:
        """Rows of one plane of a coarser level that few enough finer values go into."""
        y = self.letters.index("Y")
        row_bytes = math.prod(fine[y + 1 :]) * self.dtype.itemsize
        n_rows = max(1, _MAX_BLOCK_BYTES // (2 * row_bytes))
        return (*(1,) * y, min(n_rows, coarse[y]), *coarse[y + 1 :])

    def _make(self, path: Path) -> None:
        import tifffile

        options: dict[str, Any] = {"photometric": "minisblack"}
        shapes = self._level_shapes
        if self.letters.endswith("S"):
            options["planarconfig"] = "contig"
            if self.shape[-1] in (3, 4) and self.dtype in (np.uint8, np.uint16):
                options["photometric"] = "rgb"
        described, is_imagej = self._description()
        with tifffile.TiffWriter(
            path, bigtiff=self._is_big, imagej=is_imagej, ome=self._is_ome
        ) as file:
            options |= {"dtype": self.dtype}
            file.write(shape=shapes[0], subifds=len(shapes) - 1, **options, **described)
            for shape in shapes[1:]:
                file.write(shape=shape, subfiletype=1, **options)

    def _description(self) -> tuple[dict[str, Any], bool]:
        """What tifffile is to write into the tags, and whether that is for ImageJ."""
        if self._is_imagej:
            resolution = tuple(1 / self._along(letter)[0] for letter in "xy")
            return {"metadata": self._imagej_metadata(), "resolution": resolution}, True
        metadata = self._ome_metadata() if self._is_ome else self._plain_metadata()
        described: dict[str, Any] = {"metadata": metadata}
        if per := self._pixels_per_centimetre():
            described |= {"resolution": per, "resolutionunit": "CENTIMETER"}
        return described, False

    def _offset(self) -> int:
        import tifffile

        with tifffile.TiffFile(self.path) as file:
            first: Any = file.pages.first
            return int(first.dataoffsets[0])

    @property
    def _n_bytes(self) -> int:
        return sum(map(math.prod, self._level_shapes)) * self.dtype.itemsize

    @property
    def _is_big(self) -> bool:
        shapes = self._level_shapes
        n_pages = len(shapes) * math.prod(shapes[0][: -3 if self.letters.endswith("S") else -2])
        return self._n_bytes + n_pages * _MAX_PAGE_HEADER_BYTES > _MAX_TIFF_BYTES

    @property
    def _is_imagej(self) -> bool:
        n_bytes = math.prod(self.shape) * self.dtype.itemsize
        n_pages = math.prod(self.shape[:-2])
        is_small = n_bytes + n_pages * _MAX_PAGE_HEADER_BYTES <= _MAX_TIFF_BYTES
        return is_small and self._suits_imagej() and not self._is_named_ome()

    @property
    def _is_ome(self) -> bool:
        return self._suits_ome() and not self._is_imagej

    @property
    def _level_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the levels, the finest first; all but large OME-TIFF have one."""
        shape = self.shape if len(self.shape) > 1 else (1, *self.shape)
        return [shape, *self._coarser_shapes(shape)] if self._is_ome else [shape]

    def _coarser_shapes(self, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        y = self.letters.index("Y")
        if max(shape[y : y + 2]) <= _MAX_LENGTH_OF_ONE_LEVEL:
            return
        while max(shape[y : y + 2]) > _MAX_COARSEST_LENGTH:
            half = tuple(-(-n // 2) for n in shape[y : y + 2])
            shape = (*shape[:y], *half, *shape[y + 2 :])
            yield shape

    def _is_named_ome(self) -> bool:
        return bool(re.fullmatch(r"(?s).+\.ome\.tiff?", self.path.name.lower()))

    def _suits_imagej(self) -> bool:
        letters = self.letters
        along = [self._along(letter.lower()) for letter in letters if letter in "ZYX"]
        return (
            bool(re.fullmatch("T?Z?(C?YX|YXS)", letters))
            and self.dtype in (np.uint8, np.uint16, np.float32)
            and ("S" not in letters or (self.dtype == np.uint8 and self.shape[-1] == 3))
            and len({unit for _, unit in along}) == 1  # it has one unit for all
            and all(1e-6 < scale < 1e6 for scale, _ in along)
            and not self._start_of("t")
            and ("C" in letters or not any(channel.name for channel in self.channels))
        )

    def _suits_ome(self) -> bool:
        fits = re.fullmatch("[TCZ]{0,3}YX|[TZ]{0,2}YXS", self.letters)
        return self.dtype in _OME_TYPES and bool(fits) and min(self.scale or (1,)) > 0
