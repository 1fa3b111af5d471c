"""Noise: the noise of a data set, and what is to be said of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.checks import check_float, check_int
from napari_scsc.errors import Message, message_from_json
from napari_scsc.noise.remarks import CLEAN

Rows = tuple[tuple[float, ...], ...]

FLOOR_SHARE = 0.5
"""Of the least level of the noise that was seen: its floor, which hardly a dark pixel reaches."""


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a data set, in the units of its values.

    Attributes
    ----------
    sigma : float
        Standard deviation; where it depends on the signal, the root mean square over the data.
    gain, offset : float
        The variance is ``gain * value + offset``. With a gain of 0 it is the same everywhere; the
        offset of photon noise over a pedestal is negative.
    correlated : bool
        Whether the noise of neighbouring pixels is alike; ``lags``, ``rows`` and ``columns`` say
        how.
    sure : bool
        Whether the figures can be relied upon; if not, the remarks say why.
    remarks : tuple of Message
        What stands out, and what to do about it; ``str(remark)`` is a sentence.
    lags : tuple of tuples of float
        Correlation of the noise of two pixels, by their distance along the last two shift axes: 1
        at the distance 0. Empty for white noise.
    depth : tuple of float
        The same along the shift axis before those.
    rows, columns, frames : float
        Standard deviation of an error that all pixels of a row, or of a column, share, or that a
        pixel has in all frames (a fixed pattern); it is part of ``sigma``, not of ``lags``.
    joint : tuple of Noise
        The noise of each joint value (band, channel, view), where they differ.
    shared : tuple of tuples of float
        Correlation of the noise between joint values; empty if they share none.
    samples : tuple of Noise
        The noise of samples, where those that are restored one by one differ.
    sample_counts : tuple of int
        How many of them there are along each sample axis; each stands for as many samples.
    outliers : float
        Share of the pixels that stand out of all pixels around them (hot, dead, cosmic rays).
    outlier_limit : float
        Noise levels from which on such a pixel is replaced before anything else is done; 0: none
        is.
    mean : float
        Mean of the values that were looked at.
    frame_levels : tuple of float
        Standard deviation in each frame, or plane, along the first of three shift axes, where they
        differ.
    limits : tuple of float
        Least and largest value, where a few others lie so far beyond that they hide the rest: those
        are left as they are. Empty if there are none.
    floor : float
        Standard deviation that the noise of dark pixels has at least, where it depends on the
        signal.
    """

    sigma: float
    gain: float
    offset: float
    correlated: bool
    sure: bool
    remarks: tuple[Message, ...]
    lags: Rows = ()
    depth: tuple[float, ...] = ()
    rows: float = 0.0
    columns: float = 0.0
    frames: float = 0.0
    joint: tuple[Noise, ...] = ()
    shared: Rows = ()
    samples: tuple[Noise, ...] = ()
    sample_counts: tuple[int, ...] = ()
    outliers: float = 0.0
    outlier_limit: float = 0.0
    mean: float = math.nan
    frame_levels: tuple[float, ...] = ()
    limits: tuple[float, ...] = ()
    floor: float = 0.0

    @classmethod
    def of_camera(cls, gain: float, black: float = 0.0, read_noise: float = 0.0) -> Noise:
        """The noise of a camera that was calibrated.

        Parameters
        ----------
        gain : float
            What one photon (or electron) adds to the value.
        black : float
            The value without light.
        read_noise : float
            Standard deviation of the noise without light, in photons.
        """
        gain = check_float("gain", gain, above=0)
        black = check_float("black", black)
        variance = (gain * check_float("read_noise", read_noise, least=0)) ** 2
        # The level of one photon more, for a camera without any noise in the dark.
        sigma = math.sqrt(variance + gain**2)
        floor = FLOOR_SHARE * math.sqrt(variance)
        return cls(sigma, gain, variance - gain * black, False, True, (), floor=floor)

    @property
    def is_clean(self) -> bool:
        """Whether the data were seen well, and have none."""
        return self.sigma == 0 and any(remark in CLEAN for remark in self.remarks[:1])

    @property
    def depends_on_signal(self) -> bool:
        """Whether bright pixels are noisier than dark ones."""
        return self.gain > 0

    def variance(self, values: Array) -> Array:
        """The variance of the noise at pixels of these (noiseless) values."""
        return np.maximum(self.gain * np.asarray(values) + self.offset, self.floor**2)

    @property
    def levels(self) -> tuple[float, ...]:
        """Standard deviation for each joint value, sample or frame; empty if they do not differ."""
        return tuple(part.sigma for part in self.joint or self.samples) or self.frame_levels

    @property
    def black(self) -> float:
        """The value without light: where the variance is 0, unless there is read noise."""
        return -self.offset / self.gain if self.gain > 0 and self.offset < 0 else 0.0

    @property
    def read_noise(self) -> float:
        """Standard deviation of the noise without light, in photons; 0 where it cannot be told."""
        return math.sqrt(max(self.offset, 0.0)) / self.gain if self.gain > 0 else 0.0

    @property
    def photons(self) -> float:
        """Photons at the mean of the values; NaN unless the noise grows with the signal."""
        return (self.mean - self.black) / self.gain if self.gain > 0 else math.nan

    def without_correlation(self) -> Noise:
        """The same noise, as if no pixel shared any of it with its neighbours."""
        return replace(self, correlated=False, lags=(), depth=(), rows=0.0, columns=0.0, frames=0.0)

    def without_frame_levels(self) -> Noise:
        """The same noise, as if all frames had the same."""
        return replace(self, frame_levels=())

    def as_white(self) -> Noise:
        """The same noise, as if no value shared any of it with another."""
        return replace(
            self.without_correlation(),
            shared=(),
            joint=tuple(part.as_white() for part in self.joint),
            samples=tuple(part.as_white() for part in self.samples),
        )

    def scaled(self, width: float, low: float) -> Noise:
        """The noise of ``values * width + low``, if this is the noise of ``values``."""
        gain = self.gain * width
        return replace(
            self,
            sigma=self.sigma * width,
            gain=gain,
            offset=self.offset * width**2 - gain * low,
            rows=self.rows * width,
            columns=self.columns * width,
            frames=self.frames * width,
            joint=tuple(part.scaled(width, low) for part in self.joint),
            samples=tuple(part.scaled(width, low) for part in self.samples),
            mean=self.mean * width + low,
            frame_levels=tuple(level * width for level in self.frame_levels),
            limits=tuple(limit * width + low for limit in self.limits),
            floor=self.floor * width,
        )

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``from_json`` undoes it."""
        return {
            "sigma": self.sigma,
            "gain": self.gain,
            "offset": self.offset,
            "correlated": self.correlated,
            "sure": self.sure,
            "remarks": [remark.to_json() for remark in self.remarks],
            "lags": self.lags,
            "depth": self.depth,
            "rows": self.rows,
            "columns": self.columns,
            "frames": self.frames,
            "joint": [part.to_json() for part in self.joint],
            "shared": self.shared,
            **self._samples_to_json(),
            "outliers": self.outliers,
            "outlier_limit": self.outlier_limit,
            "mean": None if math.isnan(self.mean) else self.mean,
            "frame_levels": self.frame_levels,
            "limits": self.limits,
            "floor": self.floor,
        }

    def _samples_to_json(self) -> dict[str, Any]:
        """The noise of samples: each once, however many share it, and which one each has."""
        known = {id(part): part for part in self.samples}
        order = {number: place for place, number in enumerate(known)}
        return {
            "samples": [part.to_json() for part in known.values()],
            "sample_numbers": [order[id(part)] for part in self.samples],
            "sample_counts": self.sample_counts,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Noise:
        """The noise that ``to_json`` wrote down; version 0.1 wrote less of it."""
        mean = values.get("mean")
        samples = tuple(map(cls.from_json, values.get("samples", ())))
        numbers = values.get("sample_numbers", range(len(samples)))
        numbers = [check_int("sample_numbers", n, 0, len(samples) - 1) for n in numbers]
        return cls(
            sigma=check_float("sigma", values["sigma"], least=0),
            gain=check_float("gain", values["gain"]),
            offset=check_float("offset", values["offset"]),
            correlated=bool(values["correlated"]),
            sure=bool(values["sure"]),
            remarks=tuple(map(message_from_json, values["remarks"])),
            lags=rows_of(values.get("lags", ())),
            depth=tuple(map(float, values.get("depth", ()))),
            rows=check_float("rows", values.get("rows", 0.0), least=0),
            columns=check_float("columns", values.get("columns", 0.0), least=0),
            frames=check_float("frames", values.get("frames", 0.0), least=0),
            joint=tuple(map(cls.from_json, values.get("joint", ()))),
            shared=rows_of(values.get("shared", ())),
            samples=tuple(samples[n] for n in numbers),
            sample_counts=tuple(map(int, values.get("sample_counts", ()))),
            outliers=check_float("outliers", values.get("outliers", 0.0), least=0),
            outlier_limit=check_float("outlier_limit", values.get("outlier_limit", 0.0), least=0),
            mean=math.nan if mean is None else check_float("mean", mean),
            frame_levels=_floats_of(values, "frame_levels", above=0),
            limits=_floats_of(values, "limits"),
            floor=check_float("floor", values.get("floor", 0.0), least=0),
        )


def _floats_of(values: Mapping[str, Any], name: str, **bounds: float) -> tuple[float, ...]:
    """Numbers that JSON has under a name, if it has any."""
    return tuple(check_float(name, value, **bounds) for value in values.get(name, ()))


def rows_of(values: Iterable[Iterable[float]]) -> Rows:
    """A matrix as JSON has it, as tuples."""
    return tuple(tuple(map(float, row)) for row in values)


def rounded_rows(values: Array) -> Rows:
    """A matrix as JSON has it, with as many digits as mean something."""
    return rows_of(np.round(values, 5).tolist())
