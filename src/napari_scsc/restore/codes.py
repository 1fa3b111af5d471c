"""Codes of an image of any size: the weights W and the sparse code Z of each of its blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_choice, check_float, check_int
from napari_scsc.data.axes import Axes
from napari_scsc.data.image import wrap_image
from napari_scsc.data.samples import ImageSamples, check_bank
from napari_scsc.data.scaling import ValueRange
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.solver.problem import Geometry
from napari_scsc.model.solver.problem_pool import ProblemPool
from napari_scsc.model.threads import single_threaded
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import WorkingValues
from napari_scsc.run.blending import lazy_results
from napari_scsc.run.block_grid import BlockGrid, TileBlock
from napari_scsc.run.tile_restorer import TileRestorer

SUFFIX = ".zarr"


@dataclass(frozen=True, slots=True)
class CodedBlock:
    """The code of one block.

    Attributes
    ----------
    region : tuple of slice
        Where it lies in the image.
    W : ndarray, (R, K)
        Its weights: its own filters are D = B W.
    Z : scipy.sparse.csr_array, (K, P)
        Its sparse code.
    reach : tuple of int
        Lengths of a code map, of which P is the product; see ``Code.Z``.
    smooth : ndarray, (C, *shift)
        What was split off before coding, in working values.
    """

    region: Region
    W: Array
    Z: Any
    reach: tuple[int, ...]
    smooth: Array


@dataclass(frozen=True)
class Codes:
    """The codes of an image, in a folder; see ``open_codes``. Nothing is read before it is needed.

    Attributes
    ----------
    path : Path
        The folder.
    bank : FilterBank
        The base filters B that all blocks share.
    shape, dtype, axes, scale, units
        Of the image.
    noise : Noise
        Its noise, in its units.
    beta : float
        Price of the code, in working values.
    n_filters : int
        K, the number of filters that each block has.
    n_nonzero : int
        How many values of all codes are not zero.
    size, overlap : tuple of int
        Lengths of a block on the shift axes, and how many points neighbours share at least.
    range : tuple of float
        Least and largest value of the image, which were 0 and 1 in working values unless the
        noise depends on brightness.
    precision : str
        Type of W and Z.
    """

    path: Path
    bank: FilterBank
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axes: Axes
    scale: tuple[float, ...] | None
    units: tuple[str, ...] | None
    noise: Noise
    beta: float
    n_filters: int
    n_nonzero: int
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    range: tuple[float, float]
    precision: str

    def __repr__(self) -> str:
        lengths = format_shape(self.shape)
        return f"Codes({self.n_blocks} blocks, {lengths} {self.axes.kind}, {self.density:.2%} set)"

    def __len__(self) -> int:
        return self.n_blocks

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return self._grid.n_blocks

    @property
    def density(self) -> float:
        """Share of the codes that is not zero."""
        return self.n_nonzero / (self.n_blocks * self.n_filters * math.prod(self.reach))

    @property
    def reach(self) -> tuple[int, ...]:
        """Lengths of the code maps of a block: filters also act from outside of it."""
        return self._geometry.reach

    def region(self, number: int) -> Region:
        """Where a block lies in the image."""
        block = self._block_at(number)
        region = self._samples.region(block.index, block.tile.region)
        return tuple(slice(*s.indices(n)[:2]) for s, n in zip(region, self.shape, strict=True))

    def block(self, number: int) -> CodedBlock:
        """The code of a block."""
        from scipy import sparse

        region = self.region(number)  # raises where there is none
        found = self.store.read(number)
        shape = (self.n_filters, math.prod(self.reach))
        rows = sparse.csr_array((found.values, found.positions, found.ends), shape)
        return CodedBlock(region, found.weights, rows, self.reach, found.smooth)

    def reconstruct(self, number: int | None = None) -> Any:
        """The image that the codes describe, as values of its type.

        Of one block by itself, as it lies at its region; of all blocks, blended where they
        overlap, as a dask array of which nothing is computed yet.
        """
        if number is None:
            return lazy_results(self._samples, self._decoder)[0]
        values = self._working_of(number).from_work(self.estimate(number), self.dtype)
        return self._samples.as_image(values)

    def estimate(self, number: int) -> Array:
        """What the code of a block says (C, *shift), in working values: smooth + B * (W Z)."""
        block = self.block(number)
        maps = (block.Z.T @ block.W.T).T  # (R, P): little but zeros are multiplied
        geometry = self._geometry
        filters = self.bank.filters
        with (
            single_threaded(),
            _problems(len(filters), self.precision).borrow(geometry, filters) as problem,
        ):
            problem.maps[...] = geometry.unreached(
                maps.reshape(len(maps), *self.reach), problem.dtype
            )
            problem.reconstruct()
            detail = geometry.crop(problem.residual)
        white = block.smooth + detail.reshape(block.smooth.shape)
        return self._working_of(number).colour(white)

    # --- what follows from it -------------------------------------------------------------------

    def _block_at(self, number: int) -> TileBlock:
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"there are {self.n_blocks} blocks, from 0 on, but none is {number}")
        return self._grid.block(number)

    @cached_property
    def _samples(self) -> ImageSamples:
        """The image without its values."""
        image = wrap_image(_NoValues(self.shape, self.dtype))
        return ImageSamples(image, self.axes, ValueRange(*self.range, n_known=1))

    def _working_of(self, number: int) -> WorkingValues:
        return self._working.at(self._block_at(number).index)

    @cached_property
    def _working(self) -> WorkingValues:
        return WorkingValues(self._samples, self.noise)

    @cached_property
    def _grid(self) -> BlockGrid:
        return BlockGrid.of(self._samples, self._decoder)

    @property
    def _decoder(self) -> _TileDecoder:
        return _TileDecoder(self._working, self.size, self.overlap, self)

    @cached_property
    def _geometry(self) -> Geometry:
        # The tiles of an image are all of one size.
        return Geometry(self.bank.joint, self.size, self.bank.support)

    @property
    def store(self) -> Any:
        """Where the blocks lie in the folder."""
        from napari_scsc.io.codes import CodeStore

        return CodeStore(
            path=self.path,
            n_blocks=self.n_blocks,
            n_base=self.bank.n_base,
            n_filters=self.n_filters,
            n_positions=math.prod(self.reach),
            tile=(self._samples.n_joint, *self.size),
            dtype=np.dtype(self.precision),
        )

    def _check(self) -> None:
        """Raise ValueError if the parts do not fit each other, or what is in the folder."""
        n_shift = self.axes.count("shift")
        for name in ("size", "overlap"):
            if len(getattr(self, name)) != n_shift:
                raise UserError(f"the {name} of blocks is {getattr(self, name)}")
        check_bank(self.bank, self._samples)
        self.store.check()

    def create(self) -> None:
        """Make the folder, with a place for every block."""
        header = {
            "image": {
                "shape": self.shape,
                "dtype": self.dtype.str,
                "range": self.range,
                "axes": asdict(self.axes),
                "scale": self.scale,
                "units": self.units,
            },
            "noise": self.noise.to_json(),
            "beta": self.beta,
            "n_filters": self.n_filters,
            "precision": self.precision,
            "blocks": {"size": self.size, "overlap": self.overlap},
            "bank": {
                "n_joint": self.bank.n_joint,
                "settings": dict(self.bank.settings),
                "info": dict(self.bank.info),
            },
            "written_by": f"napari-scsc {__version__}",
        }
        places = [self.region(n) for n in range(self.n_blocks)]
        shared = {
            "bank/filters": self.bank.filters,
            "start": np.array([[s.start for s in place] for place in places]),
            "stop": np.array([[s.stop for s in place] for place in places]),
        }
        if self.bank.weights is not None:
            shared["bank/weights"] = self.bank.weights
        self.store.create(header, shared)


def open_codes(path: str | os.PathLike[str]) -> Codes:
    """Open the codes that ``encode`` wrote; FileFormatError says what is wrong with others."""
    from napari_scsc.io import codes as stored

    header = stored.read_header(path)
    with reporting_damage(path):
        image, tiles, axes = header["image"], header["blocks"], header["image"]["axes"]
        filters = stored.read_array(path, "bank/filters")
        if filters is None:
            raise UserError("its filters are missing")
        codes = Codes(
            path=Path(path).absolute(),
            bank=FilterBank(
                filters, weights=stored.read_array(path, "bank/weights"), **header["bank"]
            ),
            shape=tuple(check_int("a length", n, 1) for n in image["shape"]),
            dtype=np.dtype(image["dtype"]).newbyteorder("="),
            axes=Axes(axes["kind"], tuple(axes["labels"]), tuple(axes["roles"])),
            scale=_as_tuple(image["scale"]),
            units=_as_tuple(image["units"]),
            noise=Noise.from_json(header["noise"]),
            beta=check_float("beta", header["beta"], above=0),
            n_filters=check_int("n_filters", header["n_filters"], 1),
            n_nonzero=check_int("n_nonzero", header["n_nonzero"], 0),
            size=tuple(check_int("a length", n, 1) for n in tiles["size"]),
            overlap=tuple(check_int("an overlap", n, 0) for n in tiles["overlap"]),
            range=(image["range"][0], image["range"][1]),
            precision=check_choice("precision", header["precision"], ("float32", "float64")),
        )
        codes._check()
    return codes


def _as_tuple(values: Any) -> Any:
    return None if values is None else tuple(values)


@lru_cache(maxsize=4)
def _problems(n_base: int, dtype: str) -> ProblemPool:
    return ProblemPool(n_base, np.dtype(dtype))


@dataclass(frozen=True)
class _NoValues:
    """Stands for an image of which only shape and type are known."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, region: Region) -> Array:
        raise TypeError("codes do not hold the values of their image")


@dataclass(frozen=True)
class _TileDecoder(TileRestorer):
    """Codes as a restorer: what makes an image of estimates makes one of codes."""

    working: WorkingValues
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    codes: Codes
    memory: int = 0
    bank: FilterBank | None = None

    @property
    def has_image(self) -> bool:
        """Codes know all but its values."""
        return False

    def estimates(
        self,
        samples: ImageSamples,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> Iterator[tuple[float, Array]]:
        """What the code of the block says."""
        yield 1.0, self.codes.estimate(self.codes._grid.number(index, part))
