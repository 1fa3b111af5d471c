"""What denoising and inpainting have in common: options, updates, noise, tiles."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_scsc.checks import check_choice, check_float, check_int
from napari_scsc.choices import QUALITIES, Quality
from napari_scsc.data.samples import ImageSamples
from napari_scsc.model.bank import FilterBank

METHODS = ("scsc", "scsc-paper", "ocsc-paper")
_SHARE = 0.7  # of the memory for tiles: what is around them needs some too
_TOGETHER = 4  # tiles that fit into it, however little it is: as many cores have work
_LEAST_MEMORY = 10**8


@dataclass(frozen=True)
class Options:
    """The arguments that denoising and inpainting share, checked."""

    bank: FilterBank | None
    sigma: float | None
    strength: float
    quality: Quality
    method: str
    seed: int
    n_jobs: int
    out: Any
    memory: int | None
    resume: bool

    @classmethod
    def checked(
        cls,
        *,
        bank: Any,
        sigma: Any,
        strength: Any,
        quality: Any,
        method: Any,
        seed: Any,
        n_jobs: Any,
        out: Any,
        memory: Any,
        resume: Any,
    ) -> Options:
        """Refuse what is not allowed, naming it."""
        if bank is not None and not isinstance(bank, FilterBank):
            raise TypeError(f"bank must be a FilterBank, but is a {type(bank).__name__}")
        if sigma is not None:
            sigma = check_float("sigma", sigma, above=0)
        if resume and (out is None or hasattr(out, "shape")):
            raise ValueError("resume goes on with a file that was begun: say which one, out=...")
        quality = check_choice("quality", quality, QUALITIES)
        return cls(
            bank=bank,
            sigma=sigma,
            strength=check_float("strength", strength, above=0),
            quality=quality,
            method=check_choice("method", method, METHODS),
            seed=check_int("seed", seed, 0),
            n_jobs=cores() if n_jobs is None else check_int("n_jobs", n_jobs, 1),
            out=out,
            memory=memory_of(memory),
            resume=bool(resume),
        )

    @property
    def tile_memory(self) -> int | None:
        """Bytes that a tile may take, however many threads; None: what suits the passes."""
        return None if self.memory is None else round(_SHARE * self.memory / _TOGETHER)

    def at_a_time(self, tile_memory: int) -> int:
        """How many tiles of that size may be under way."""
        memory = self.memory
        if memory is None:
            import psutil

            memory = psutil.virtual_memory().available // 2
        return max(1, min(self.n_jobs, int(_SHARE * memory / tile_memory)))


def memory_of(memory: Any) -> int | None:
    """A number of bytes, or one with a unit such as "2 GB"."""
    if memory is None:
        return None
    from dask.utils import parse_bytes

    try:
        found = int(parse_bytes(memory))
    except (ValueError, TypeError):
        raise ValueError(f'memory must be like "2 GB", but is {memory!r}') from None
    if found < _LEAST_MEMORY:
        raise ValueError(f'memory must be at least "{_LEAST_MEMORY // 10**6} MB", not {memory!r}')
    return found


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_out(out: Any, source: ImageSamples) -> None:
    """Refuse an array that the result does not fit into."""
    shape, dtype = source.image.shape, source.image.dtype
    if hasattr(out, "shape") and (tuple(out.shape) != shape or np.dtype(out.dtype) != dtype):
        raise ValueError(
            f"out has the shape {tuple(out.shape)} and type {out.dtype}, the result {shape} "
            f"and {dtype}"
        )
