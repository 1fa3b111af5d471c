"""The history: statistics of all samples seen, whose size does not depend on their number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.model.solver import kernels
from napari_scsc.model.solver.problem import Geometry


class History:
    """Running means over the samples, per frequency of the half spectrum (equations 14 and 15).

        H = mean of conj(Y~) Y~^T   (R, R, F)
        G = mean of conj(Y~) x~^T   (R, C, F)

    with Y~ (R, F) the spectrum of W Z and x~ (C, F) that of the sample. Updated in place.
    """

    def __init__(self, n_base: int, geometry: Geometry, dtype: DTypeLike) -> None:
        kind = np.result_type(dtype, np.complex64)
        self.h: Array = np.zeros((n_base, n_base, geometry.n_frequencies), kind)
        self.g: Array = np.zeros((n_base, geometry.n_joint, geometry.n_frequencies), kind)
        self.count = 0.0
        """How many samples the means stand for: all, or fewer when old ones are forgotten."""

    @staticmethod
    def terms(maps: Array, sample: Array, geometry: Geometry) -> tuple[Array, Array]:
        """What ``update`` takes of one sample: the spectra themselves."""
        return maps, sample

    def arrays(self) -> dict[str, Array]:
        """What a checkpoint keeps."""
        return {"h": self.h, "g": self.g}

    def update(self, batch: Sequence[tuple[Array, Array]], forget: float = 0.0) -> None:
        """Take in coded samples one after the other, as their ``terms``.

        ``forget`` is the share of the weight of all earlier samples that each one takes away.
        """
        for maps, sample in batch:
            kept = self.count * (1 - forget)
            self.count = kept + 1
            keep, add = kept / self.count, 1 / self.count
            kernels.get().accumulate(self.h, self.g, maps, sample, keep, add)
