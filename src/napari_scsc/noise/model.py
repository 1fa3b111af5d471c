"""Noise: the noise of a data set, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.checks import check_float
from napari_scsc.errors import Message, message_from_json


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
        The noise of neighbouring pixels is alike: a denoiser for white noise leaves some of it.
    sure : bool
        Whether the figures can be relied upon; if not, the remarks say why.
    remarks : tuple of Message
        What stands out, and what to do about it; ``str(remark)`` is a sentence.
    """

    sigma: float
    gain: float
    offset: float
    correlated: bool
    sure: bool
    remarks: tuple[Message, ...]

    @property
    def depends_on_signal(self) -> bool:
        """Whether bright pixels are noisier than dark ones."""
        return self.gain > 0

    def variance(self, values: Array) -> Array:
        """The variance of the noise at pixels of these (noiseless) values, never negative."""
        return np.maximum(self.gain * np.asarray(values) + self.offset, 0)

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``from_json`` undoes it."""
        return {
            "sigma": self.sigma,
            "gain": self.gain,
            "offset": self.offset,
            "correlated": self.correlated,
            "sure": self.sure,
            "remarks": [remark.to_json() for remark in self.remarks],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Noise:
        """The noise that ``to_json`` wrote down; remarks of version 0.1 are plain strings."""
        return cls(
            sigma=check_float("sigma", values["sigma"], least=0),
            gain=check_float("gain", values["gain"]),
            offset=check_float("offset", values["offset"]),
            correlated=bool(values["correlated"]),
            sure=bool(values["sure"]),
            remarks=tuple(map(message_from_json, values["remarks"])),
        )
