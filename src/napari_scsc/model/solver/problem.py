"""One sample and the base filters: geometry, forward, adjoint, objective, mask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.model.solver import kernels
from napari_scsc.model.solver.fft import RealFFT, fast_length, spectrum_size


@dataclass(frozen=True)
class Geometry:
    """Where a sample lies in the padded box in which it is convolved.

    A filter of length h reaches h - 1 points beyond the sample. The box is at least that much
    longer on each shift axis, and what lies outside the sample is missing data, not zeros: the
    convolution is circular, but no wrapped value ever meets a measured one. Along one shift axis::

        0       h-1-h//2                      n+h-1   fast length
        |-----------|----------- n -----------|---|-------|
                    '------- inside ----------'
        '------------------ reach ----------------'
        '-------------------------- box ------------------'

    Attributes
    ----------
    joint, shift : tuple of int
        Lengths of the axes of a sample.
    support : tuple of int
        Lengths of the filters on the shift axes.
    """

    joint: tuple[int, ...]
    shift: tuple[int, ...]
    support: tuple[int, ...]

    @cached_property
    def n_joint(self) -> int:
        """C, the number of joint values a pixel has."""
        return math.prod(self.joint)

    @cached_property
    def box(self) -> tuple[int, ...]:
        """Lengths of the padded shift axes: fast for the FFT."""
        return tuple(fast_length(n) for n in self.reach)

    @cached_property
    def size(self) -> int:
        """P, the number of points of the box."""
        return math.prod(self.box)

    @cached_property
    def n_frequencies(self) -> int:
        """How many frequencies the half spectrum of the box has."""
        return spectrum_size(self.box)

    @cached_property
    def reach(self) -> tuple[int, ...]:
        """Lengths of the region in which a code can touch the sample."""
        return tuple(n + h - 1 for n, h in zip(self.shift, self.support, strict=True))

    @cached_property
    def inside(self) -> tuple[slice, ...]:
        """The sample's place in the box."""
        starts = tuple(h - 1 - h // 2 for h in self.support)
        return tuple(slice(o, o + n) for o, n in zip(starts, self.shift, strict=True))

    @cached_property
    def _reached(self) -> tuple[slice, ...]:
        return (slice(None), *(slice(0, n) for n in self.reach))

    def around_origin(self, n_base: int) -> tuple[Array, ...]:
        """Where the support of filters centred on the origin lies in an array (R, C, *box)."""
        places = ((np.arange(h) - h // 2) % n for h, n in zip(self.support, self.box, strict=True))
        return np.ix_(np.arange(n_base), np.arange(self.n_joint), *places)

    def pad(self, sample: Array, dtype: DTypeLike) -> Array:
        """(*joint, *shift) -> (C, P), zero outside."""
        out = np.zeros((math.prod(sample.shape[: -len(self.box)]), *self.box), dtype)
        out[(slice(None), *self.inside)] = sample.reshape(len(out), *self.shift)
        return out.reshape(len(out), -1)

    def crop(self, padded: Array) -> Array:
        """(C, P) -> (*joint, *shift)."""
        boxed = padded.reshape(self.n_joint, *self.box)[(slice(None), *self.inside)]
        return boxed.reshape(*self.joint, *self.shift).copy()

    def reached(self, maps: Array) -> Array:
        """(K, P) -> (K, *reach): the part of the code maps that touches the sample."""
        return maps.reshape(len(maps), *self.box)[self._reached].copy()

    def unreached(self, codes: Array, dtype: DTypeLike) -> Array:
        """(K, *reach) -> (K, P), zero outside."""
        out = np.zeros((len(codes), *self.box), dtype)
        out[self._reached] = codes
        return out.reshape(len(codes), -1)


def filter_spectra(filters: Array, geometry: Geometry) -> Array:
    """(R, *joint, *support) -> (R, C, F), each filter centred on the origin of the box."""
    boxed = np.zeros((len(filters), geometry.n_joint, *geometry.box), filters.dtype)
    around = geometry.around_origin(len(filters))
    boxed[around] = filters.reshape(len(filters), geometry.n_joint, *geometry.support)
    spectra = scipy.fft.rfftn(boxed, axes=tuple(range(2, boxed.ndim)), workers=1)
    return np.ascontiguousarray(spectra.reshape(len(filters), geometry.n_joint, -1))


class Problem:
    """f(Y) = 1/2 || M . (B * Y - x) ||^2 of one sample, and its gradient, in buffers of its own.

    ``maps`` (R, P) holds Y before ``evaluate`` and the gradient after ``gradient``. The buffers
    serve one sample after the other: ``set_filters`` and ``set_sample`` change what is in them.
    """

    def __init__(self, geometry: Geometry, n_base: int, dtype: DTypeLike) -> None:
        self.geometry = geometry
        self.dtype = np.dtype(dtype)
        self._kernels = kernels.get()
        self._base = RealFFT(n_base, geometry.box, dtype)
        self._joint = RealFFT(geometry.n_joint, geometry.box, dtype)
        self.maps: Array = self._base.space.reshape(n_base, -1)
        self.residual: Array = self._joint.space.reshape(geometry.n_joint, -1)
        self._base_spectrum = self._base.spectrum.reshape(n_base, -1)
        self._joint_spectrum = self._joint.spectrum.reshape(geometry.n_joint, -1)

    def set_filters(self, filters: Array) -> None:
        """Take base filters (R, *joint, *support)."""
        spectra = filter_spectra(filters.astype(self.dtype, copy=False), self.geometry)
        self.largest_gain = _largest_gain(spectra)
        # The inverse FFT does not divide by the number of points: the filters do.
        self._spectra = spectra / self.dtype.type(self.geometry.size)

    def set_sample(self, sample: Array, mask: Array | None) -> None:
        """Take a sample (*joint, *shift); mask: True where it was measured."""
        if mask is None:
            mask = np.ones(self.geometry.shift, bool)
        else:
            sample = np.where(mask, sample, 0)
        self.mask: Array = self.geometry.pad(mask, self.dtype)
        self.sample: Array = self.geometry.pad(sample, self.dtype)
        self.n_measured = np.count_nonzero(self.mask) * len(self.sample) // len(self.mask)

    @property
    def nbytes(self) -> int:
        """Memory that its buffers take."""
        plans = (self._base, self._joint)
        return sum(plan.space.nbytes + plan.spectrum.nbytes for plan in plans)

    def reconstruct(self) -> None:
        """Compute B * Y from ``maps`` into ``residual``."""
        self._base.forward()
        self._kernels.synthesise(self._spectra, self._base_spectrum, self._joint_spectrum)
        self._joint.inverse()

    def evaluate(self) -> float:
        """Return f of the Y in ``maps``; leaves the residual M . (B * Y - x)."""
        self.reconstruct()
        return float(self._kernels.residual(self.residual, self.sample, self.mask))

    def gradient(self) -> None:
        """Compute the gradient B^T * residual into ``maps``."""
        self._joint.forward()
        self._kernels.correlate(self._spectra, self._joint_spectrum, self._base_spectrum)
        self._base.inverse()

    def gradient_at_zero(self) -> None:
        """Compute the gradient at Y = 0 into ``maps``."""
        np.negative(self.sample, out=self.residual)
        self.gradient()

    def statistics(self) -> tuple[Array, Array, Array]:
        """Spectra of Y (R, F) and of the filled sample (C, F), and the reconstruction (C, P).

        The history needs a complete sample: what is missing is filled by the reconstruction,
        which majorises the masked objective.
        """
        self.reconstruct()
        maps = self._base_spectrum.copy()
        reconstruction = self.residual.copy()
        np.copyto(self.residual, self.mask * (self.sample - reconstruction) + reconstruction)
        self._joint.forward()
        return maps, self._joint_spectrum.copy(), reconstruction


def _largest_gain(spectra: Array) -> float:
    """max over frequencies of the squared operator norm of the filters, (R, C, F)."""
    n_base, n_joint, _ = spectra.shape
    if n_joint == 1 or n_base == 1:
        return float((np.abs(spectra) ** 2).sum(axis=(0, 1)).max())
    # Power iterations at all frequencies at once: enough digits for a step that is tested anyway.
    # They start at random, because filters with a symmetry are orthogonal to any simple vector.
    start = np.random.default_rng(0).standard_normal((2, n_base, spectra.shape[2]))
    v = (start[0] + 1j * start[1]).astype(spectra.dtype)
    gain = np.zeros(spectra.shape[2])
    for _ in range(7):
        forward = np.einsum("rcf,rf->cf", spectra, v)
        v = np.einsum("rcf,cf->rf", spectra.conj(), forward)
        gain = np.sqrt((np.abs(v) ** 2).sum(axis=0))
        v /= np.maximum(gain, np.finfo(gain.dtype).tiny)
    return float(gain.max())
