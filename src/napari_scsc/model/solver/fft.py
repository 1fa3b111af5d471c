"""Planned real FFTs over fixed buffers: pyFFTW where it is, scipy.fft where it is not.

FFTW's measured plans are up to twice as fast as its estimated ones, but which plan wins depends on
the noise of the moment, and another plan rounds differently. So a plan is measured once a machine
and remembered (FFTW calls it wisdom): the same seed then gives the same bits in every process.
Where it cannot be remembered, the estimated plan is used, which is always the same.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike, NDArray

from napari_scsc.cache import cache_folder, make_cache_folder

_MAX_PLANNING_SECONDS = 2.0
_planner = threading.Lock()  # FFTW's planner and its wisdom are global


@functools.cache
def fftw() -> Any:
    """The module pyFFTW, or None. It brings half of dask along: loaded when an FFT is planned."""
    try:
        import pyfftw
    except ImportError:  # scipy.fft does the same, slower
        return None
    return pyfftw


def backend() -> str:
    """Return "pyfftw" or "scipy"; ``NAPARI_SCSC_FFT=scipy`` forces the latter."""
    wanted = os.environ.get("NAPARI_SCSC_FFT", "pyfftw").lower()
    return "pyfftw" if wanted != "scipy" and fftw() is not None else "scipy"


def fast_length(minimum: int) -> int:
    """Smallest even 7-smooth length that is not below ``minimum``: odd ones cost FFTW twice."""
    if minimum <= 1:
        return 1
    length = minimum + minimum % 2
    while not _is_smooth(length):
        length += 2
    return length


def _is_smooth(n: int) -> bool:
    for prime in (2, 3, 5, 7):
        while n % prime == 0:
            n //= prime
    return n == 1


class RealFFT:
    """Forward and inverse FFT between two buffers of its own.

    Attributes
    ----------
    space : ndarray, (batch, *shape), real
        What is transformed.
    spectrum : ndarray, (batch, *shape[:-1], shape[-1] // 2 + 1), complex
        Its half spectrum.
    """

    def __init__(self, batch: int, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        real = np.dtype(dtype)
        half = (*shape[:-1], shape[-1] // 2 + 1)
        self._shape = shape
        self._axes = tuple(range(1, len(shape) + 1))
        self._plans: tuple[Any, Any] | None = None
        if backend() == "pyfftw":
            self.space: NDArray[Any] = fftw().zeros_aligned((batch, *shape), real)
            self.spectrum: NDArray[Any] = fftw().zeros_aligned((batch, *half), _complex_type(real))
            self._plans = _find_plans(self.space, self.spectrum, self._axes)
        else:
            self.space = np.zeros((batch, *shape), real)
            self.spectrum = np.zeros((batch, *half), _complex_type(real))

    def forward(self) -> None:
        """Compute ``spectrum`` from ``space``."""
        if self._plans:
            self._plans[0].execute()
        else:
            self.spectrum[...] = scipy.fft.rfftn(self.space, axes=self._axes, workers=1)

    def inverse(self) -> None:
        """Compute ``space`` from ``spectrum``, times the number of points; spoils ``spectrum``."""
        if self._plans:
            self._plans[1].execute()
        else:
            self.space[...] = scipy.fft.irfftn(
                self.spectrum, s=self._shape, axes=self._axes, norm="forward", workers=1
            )


def _complex_type(real: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(real, np.complex64)


def _find_plans(
    space: NDArray[Any], spectrum: NDArray[Any], axes: tuple[int, ...]
) -> tuple[Any, Any]:
    """The plans, forward and inverse, between two buffers: remembered, or measured now."""
    key = f"{space.shape} {space.dtype.str} {fftw().__version__}"
    name = f"fftw-{hashlib.sha256(key.encode()).hexdigest()[:24]}.txt"
    with _planner:
        wisdom_before = fftw().export_wisdom()
        try:
            file = cache_folder() / name
            remembered = _import_wisdom(file)
            if not remembered:
                file.unlink(missing_ok=True)  # damaged, if it is there
                fftw().forget_wisdom()
                _make_plans(space, spectrum, axes, "FFTW_MEASURE")
                _export_wisdom(file)
                # Another process may have been first: its plan counts.
                remembered = _import_wisdom(file)
        except (OSError, RuntimeError):  # the latter where there is no home folder
            remembered = False
        if not remembered:
            fftw().forget_wisdom()
        plans = _make_plans(
            space, spectrum, axes, "FFTW_MEASURE" if remembered else "FFTW_ESTIMATE"
        )
        fftw().forget_wisdom()
        fftw().import_wisdom(wisdom_before)
        return plans


def _make_plans(
    space: NDArray[Any], spectrum: NDArray[Any], axes: tuple[int, ...], effort: str
) -> tuple[Any, Any]:
    options = {"axes": axes, "threads": 1, "planning_timelimit": _MAX_PLANNING_SECONDS}
    forward = fftw().FFTW(space, spectrum, flags=(effort,), **options)
    inverse = fftw().FFTW(
        spectrum,
        space,
        direction="FFTW_BACKWARD",
        flags=(effort, "FFTW_DESTROY_INPUT"),
        **options,
    )
    space[...] = 0  # measuring writes into the buffers
    spectrum[...] = 0
    return forward, inverse


def _import_wisdom(file: Path) -> bool:
    """Load a remembered plan; False where there is none or it is not usable."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return False
    fftw().forget_wisdom()
    parts = tuple(text.split(b"\0"))
    return len(parts) == 3 and all(fftw().import_wisdom(parts))


def _export_wisdom(file: Path) -> None:
    make_cache_folder()
    handle, temporary = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(b"\0".join(fftw().export_wisdom()))
        with contextlib.suppress(FileExistsError):
            if sys.platform == "win32":
                os.rename(temporary, file)
            else:
                os.link(temporary, file)  # unlike a rename, never replaces the first one
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def spectrum_size(shape: tuple[int, ...]) -> int:
    """Number of frequencies that a real FFT of that shape keeps."""
    return math.prod(shape[:-1]) * (shape[-1] // 2 + 1)
