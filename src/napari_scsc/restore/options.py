"""What ``denoise``, ``inpaint`` and their ``iter_`` forms can be told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from napari_scsc.checks import check_choice, check_float, check_int, check_seed
from napari_scsc.choices import NOISE_WISHES, OUTLIER_WISHES
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.storage import is_within_storage, shares_storage
from napari_scsc.errors import Remedy, UserError, UserTypeError
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.empty import EmptyNoise, measure_dark
from napari_scsc.noise.find import NoiseWish
from napari_scsc.noise.model import Noise
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.quality import QUALITIES, Quality
from napari_scsc.run.partial import Output

MIN_MEMORY = 10**8  # bytes
MAX_STRENGTH = 1e6  # beyond, products of levels leave the floats
_MOST_MEMORY = 1 << 62
_TILE_SHARE = 0.7  # of the memory is for tiles: what is around them needs some too
_TILES_IN_MEMORY = 4  # fit into it, however little it is: as many cores have work


class RestoreKeywords(TypedDict, total=False):
    """The fields of ``RestoreOptions``, for type checkers."""

    kind: str | None
    axes: str | Sequence[str] | Axes | None
    bank: FilterBank | None
    sigma: float | None
    noise: Any
    noise_filters: Sequence[int]
    outliers: str
    saturation: bool | float
    strength: float
    quality: Quality
    method: str
    seed: int
    rng: Any
    n_jobs: int | None
    out: Any
    error: bool
    memory: int | str | None
    resume: bool


@dataclass(frozen=True, kw_only=True)
class RestoreOptions:
    """The options of a restoration, checked.

    Parameters
    ----------
    kind : str, optional
        "image", "rgb", "video", "stack", "multispectral", "light-field" or "time-lapse".
        Guessed from labels and shape where that is possible.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the image's own order, such as "yxc", or "tczyx", of which each time
        point and channel is by itself. "n" is any axis whose positions are, and may occur several
        times. A role can stand after a label, as in "t, c:joint, z, y, x": ``slide``, ``joint`` or
        ``separate``. ``Axes`` says all of it.
    bank : FilterBank, optional
        Filters learned elsewhere. Without it they are learned from the image. The method "scsc"
        restores in all directions in which the image stands above its noise, those of the bank and
        those that it lacks, so that any bank that fits does as well as none; an image of few
        patches is left to a bank of ``model="patches"``. The other methods code with the bank.
    sigma : float, optional
        Standard deviation of the noise, in the units of the image. Without it, ``denoise``
        estimates the noise, which may depend on brightness, and ``inpaint`` keeps the known values
        as they are, to the bit; with it, ``inpaint`` denoises them as well.
    noise : {"auto", "white", "correlated"}, float, Noise or array
        What is taken for noise. "auto" estimates it: its level, its growth with brightness, what
        neighbouring pixels, rows, columns, channels share of it. "white" is the same as if they
        shared nothing, "correlated" as if neighbours did share some, where they may. A number is
        ``sigma``; a ``Noise`` is what ``estimate_noise`` returns, of this or of another image of
        the kind; an array is a dark frame, or several.
    noise_filters : sequence of int
        Filters of ``bank``, by their number, that show noise (a pattern of the detector): what lies
        along them is taken away. For ``denoise`` with a bank of ``model="patches"``.
    outliers : {"auto", "fill", "keep"}
        Whether pixels that stand out of all pixels around them (hot, dead, hit by cosmic rays) are
        replaced before ``denoise`` begins; "auto" does so where there are certainly such.
    saturation : bool or float
        For ``inpaint``: the value at which the detector saturates, True for the largest of the
        image. Values as large are missing, and are filled with no less than that.
    strength : float
        1 takes away the noise that is there; less is gentler, more is smoother.
    quality : {"draft", "fast", "balanced"}
        What to spend: about 1 : 2 : 5 in time. Fast is 0.1 to 0.2 dB behind balanced on
        photographs, a draft another 0.5 dB.
    method : {"scsc", "scsc-paper", "ocsc-paper"}
        "scsc" groups similar patches, each group with weights of its own. The others are the
        inference of the paper, and of its predecessor, for comparison.
    seed : int, optional
        The same seed gives the same result. 0 unless given.
    rng : int, numpy.random.Generator, SeedSequence or BitGenerator, optional
        Instead of ``seed``, as in SciPy: a number is the seed, anything else draws one. Unlike
        there, None is the seed 0.
    n_jobs : int, optional
        Threads; all cores unless given. The result does not depend on it.
    out : path, Output or array, optional
        Where the result goes. A path that ends in .zarr, .ome.zarr, .tif or .npy: it is computed
        block by block in bounded memory, by whatever scheduler dask has, and the file appears
        when it is whole; returned is a lazy array of it. An array of the shape and type of the
        image (numpy, zarr) that shares no values with it: it is filled, and returned. Without it,
        the result is like the image: of a dask array, a lazy dask array, for which only noise and
        filters were found.
    error : bool
        Also find the standard error of each value, in the units of the image: ``denoise`` then
        returns the pair (result, error). Beside a result that goes to a file ``cells.zarr`` it goes
        to ``cells.error.zarr``. Offered by ``denoise`` with the method "scsc".
    memory : int or str, optional
        How much to take for a result that goes to a file, such as "2 GB".
    resume : bool
        Go on with a file that was begun, and broke off.
    """

    kind: str | None = None
    axes: str | Sequence[str] | Axes | None = None
    bank: FilterBank | None = None
    sigma: float | None = None
    noise: Any = "auto"
    noise_filters: Sequence[int] = ()
    outliers: str = "auto"
    saturation: bool | float = False
    strength: float = 1.0
    quality: Quality = "balanced"
    method: str = "scsc"
    seed: int = None  # type: ignore[assignment]  # once checked, a number
    rng: Any = None
    n_jobs: int | None = None
    out: Any = None
    error: bool = False
    memory: int | str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        check_bank_type(self.bank)
        check_choice("quality", self.quality, QUALITIES)
        check_choice("outliers", self.outliers, OUTLIER_WISHES)
        check_choice("method", self.method, tuple(METHODS))
        values: dict[str, Any] = {
            "strength": _check_strength(self.strength),
            "seed": check_seed(self.seed, self.rng),
            "rng": None,  # a generator would draw again for a copy
            "memory": parse_memory(self.memory),
            "resume": bool(self.resume),
            "error": bool(self.error),
        }
        values |= _check_noise(self.sigma, self.noise)
        values["noise_filters"] = _check_noise_filters(self.noise_filters, self.bank)
        if not isinstance(self.saturation, bool):
            values["saturation"] = check_float("saturation", self.saturation)
        if self.n_jobs is not None:
            values["n_jobs"] = check_int("n_jobs", self.n_jobs, 1)
        if isinstance(self.out, str | os.PathLike):
            values["out"] = Output(self.out)
        elif not (self.out is None or isinstance(self.out, Output)):
            _check_can_be_written(self.out)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.resume and self.output is None:
            raise UserError("goes on with a file", argument="resume", remedy=Remedy.NAME_OUTPUT)

    @property
    def noise_wish(self) -> NoiseWish:
        """What ``find_noise`` takes."""
        wish: NoiseWish = self.noise if self.sigma is None else self.sigma
        return wish

    @property
    def output(self) -> Output | None:
        """The file that the result goes to; None if it goes to an array."""
        return self.out if isinstance(self.out, Output) else None

    @property
    def n_threads(self) -> int:
        """How many threads compute."""
        return self.n_jobs or count_cores()

    @property
    def tile_memory(self) -> int | None:
        """Bytes that a tile may take, however many threads; None: what suits the passes."""
        memory = self.memory
        assert not isinstance(memory, str)
        return None if memory is None else round(_TILE_SHARE * memory / _TILES_IN_MEMORY)

    def tiles_at_a_time(self, tile_memory: int) -> int:
        """How many tiles that take so many bytes may be under way."""
        memory = self.memory
        if memory is None:
            import psutil

            memory = psutil.virtual_memory().available // 2
        assert not isinstance(memory, str)
        return max(1, min(self.n_threads, int(_TILE_SHARE * memory / tile_memory)))

    def check_out(self, samples: ImageSamples) -> None:
        """Refuse an array that the result does not fit into, and one that is read meanwhile."""
        shape, dtype, out = samples.image.shape, samples.image.dtype, self.out
        if hasattr(out, "shape") and (tuple(out.shape) != shape or np.dtype(out.dtype) != dtype):
            raise UserError(
                f"has the shape {tuple(out.shape)} and type {out.dtype}, the result {shape} and "
                f"{dtype}",
                argument="out",
            )
        sources = samples.image.sources
        if self.output is not None:
            path = Path(self.output.path).absolute()
            is_read = any(is_within_storage(source, path) for source in sources)
            what = "is the image or the mask that is read, or lies in its folder"
        else:
            is_read = out is not None and any(shares_storage(source, out) for source in sources)
            what = "is the image or the mask that is read, or shares values with it"
        if is_read:
            raise UserError(what, argument="out", remedy=Remedy.CHOOSE_ANOTHER_OUTPUT)

    def check_error(self, task: str) -> None:
        """Refuse to tell the error of what cannot tell it."""
        if self.error and (task != "denoise" or self.method != "scsc"):
            what = f"{task} with the method {self.method!r}"
            raise UserError(
                f"is not known of {what}",
                argument="error",
                remedy=Remedy.DENOISE_FOR_ERROR,
            )

    def fingerprint(self) -> dict[str, Any]:
        """The options that the result depends on."""
        names = (
            "sigma",
            "outliers",
            "saturation",
            "strength",
            "quality",
            "method",
            "seed",
            "error",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "noise_filters": list(self.noise_filters),
            "noise": self.noise if isinstance(self.noise, str) else repr(self.noise),
            "bank": None if self.bank is None else self.bank.id,
            "memory": self.tile_memory,
        }


def _check_can_be_written(out: Any) -> None:
    """Refuse what is neither a path nor an array that takes values: before hours of work."""
    if not all(hasattr(out, name) for name in ("shape", "dtype", "__setitem__")):
        raise UserTypeError(
            f"must be a path or an array that can be written to, but is {out!r:.80}",
            argument="out",
        )
    is_fixed = isinstance(out, np.ndarray) and not out.flags.writeable
    file_mode = getattr(getattr(out, "file", None), "mode", None)  # of HDF5
    if is_fixed or getattr(out, "read_only", False) is True or file_mode == "r":
        raise UserError(
            "can only be read", argument="out", remedy="open it for writing, or copy it"
        )


def _check_noise(sigma: Any, noise: Any) -> dict[str, Any]:
    """Both options, checked: a number is a sigma, an array a dark frame."""
    if isinstance(noise, int | float | np.number) and not isinstance(noise, bool):
        if sigma is not None:
            raise UserError("is given twice, as sigma and as noise", argument="noise")
        sigma, noise = noise, "auto"
    if sigma is not None:
        sigma = check_float("sigma", sigma, above=0)
        if not (isinstance(noise, str) and noise == "auto"):
            raise UserError(
                "says what the noise is, and so does sigma", argument="noise", remedy="give one"
            )
    if isinstance(noise, str):
        check_choice("noise", noise, NOISE_WISHES)
    elif not isinstance(noise, Noise | EmptyNoise):
        noise = measure_dark(noise)
    return {"sigma": sigma, "noise": noise}


def _check_noise_filters(numbers: Any, bank: FilterBank | None) -> tuple[int, ...]:
    if isinstance(numbers, str) or not isinstance(numbers, Sequence | np.ndarray):
        raise UserTypeError(
            f"must be numbers of filters, but is {numbers!r}", argument="noise_filters"
        )
    checked = tuple(sorted({check_int("noise_filters", number, 0) for number in numbers}))
    if checked and bank is None:
        raise UserError(
            "names filters of a bank, and there is none",
            argument="noise_filters",
            remedy="give one",
        )
    return checked


def check_bank_type(bank: Any, *, is_needed: bool = False) -> None:
    """Refuse what is no filter bank."""
    if not (isinstance(bank, FilterBank) or (bank is None and not is_needed)):
        raise UserTypeError(
            f"must be a FilterBank, but is a {type(bank).__name__}", argument="bank"
        )


def _check_strength(strength: Any) -> float:
    found = check_float("strength", strength, above=0)
    if found > MAX_STRENGTH:
        raise UserError(f"must be at most {MAX_STRENGTH:g}, but is {found:g}", argument="strength")
    return found


def parse_memory(memory: Any) -> int | None:
    """A number of bytes, or one with a unit such as "2 GB"."""
    if memory is None:
        return None
    from dask.utils import parse_bytes

    try:
        found = int(parse_bytes(memory))
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise UserError(f'must be like "2 GB", but is {memory!r:.40}', argument="memory") from None
    if found < MIN_MEMORY:
        least = f"{MIN_MEMORY // 10**6} MB"
        raise UserError(f'must be at least "{least}", not {memory!r}', argument="memory")
    return min(found, _MOST_MEMORY)


def count_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
