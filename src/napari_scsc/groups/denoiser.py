"""Denoising by groups: a thresholding pass, then Wiener passes that take its result as pilot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.groups import group_kernels
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.groups.patches import Mapping, PatchGrid
from napari_scsc.model.basis import Basis
from napari_scsc.model.threads import single_threaded

_PARTS_PER_PASS = 8  # a fixed number, so that the sums do not depend on threads
_REFERENCES_BETWEEN_CHECKS = 200  # a twentieth of a second, where they take longest
_LEAST_WEIGHT = np.float32(1e-3)  # no patch has less: what is less comes from rounding
N_COMPARED = 24  # leading coefficients: in the others, noise tells patches apart
# Where Lanczos begins: anything will do that no group is orthogonal to.
_START = np.random.default_rng(0).standard_normal(1 << 10).astype(np.float32)

_N_TALLIES = 3  # of a patch: its weight; and that times its variance, and its alikes
_ERROR_PER_SHARE = 1.95  # squared, beside what the shares say: the pilot has seen the same noise
_ERROR_PER_PATCH = 0.15  # in variances of the noise: what a group leaves out, in all of a patch

PutBack = Callable[[Array, Array, int, Array], None]


@dataclass(frozen=True)
class GroupEstimate:
    """What a pass makes of a sample, and what is known of its error.

    Attributes
    ----------
    values : ndarray, (C, *shift)
        The estimate.
    """

    values: Array
    _grid: PatchGrid
    _norm: Array
    _variances: Array
    _alikes: Array
    _sigma: float

    @property
    def error(self) -> Array:
        """The standard error (*shift,) of the values, the same for all C.

        The groups tell how much of the noise their shares let through. The two constants between
        that and the error, which also is what groups leave out, were measured on photographs
        (``benchmarks/calibration.py``). Where no group was, it is the noise.
        """
        rest = _ERROR_PER_PATCH / self._grid.length
        variance = _ERROR_PER_SHARE * self._mean(self._variances, 1.0) + rest
        return np.asarray(self._sigma * np.sqrt(np.minimum(variance, 1)), np.float32)

    @property
    def support(self) -> Array:
        """How many patches of a group are like its reference as far as noise can tell, (*shift,).

        The mean over the groups that made a point. It is 1 where a structure is seen only once.
        """
        return self._mean(self._alikes, 1.0)

    def _mean(self, tallies: Array, elsewhere: float) -> Array:
        is_covered = self._norm > _LEAST_WEIGHT
        mean = self._grid.cover(tallies) / np.where(is_covered, self._norm, 1)
        return np.where(is_covered, mean, np.float32(elsewhere))


class GroupDenoiser:
    """The passes over one sample (C, *shift) with one to three shift axes.

    Parts of a pass run in the executor, if there is one; the result is the same without.
    ``cancellation`` is checked often.
    """

    def __init__(
        self,
        basis: Basis,
        passes: Passes,
        executor: Executor | None = None,
        cancellation: Cancellation = NEVER,
    ) -> None:
        self._basis, self._passes = basis, passes
        self._map = map if executor is None else executor.map
        self._cancellation = cancellation
        self._kernels = group_kernels.get()

    def denoise(self, sample: Array, sigma: float, wanted: Array | None = None) -> Array:
        """Take white noise of level ``sigma`` away; each patch of the result lies in the basis.

        ``wanted`` (*shift,) says where the result matters; elsewhere it may be the sample itself.
        """
        *_, last = self.estimates(sample, sigma, wanted)
        return last.values

    def estimates(
        self, sample: Array, sigma: float, wanted: Array | None = None
    ) -> Iterator[GroupEstimate]:
        """What ``denoise`` has after each pass; the values of the last one are its result."""
        grid = PatchGrid(len(sample), sample.shape[1:], self._basis.patch)
        touched = None if wanted is None else grid.touching(wanted)
        # All passes use the same memory: new one is slow.
        room = np.empty((math.prod(grid.places), len(self._basis.vectors)), np.float32)
        with single_threaded():
            estimate = self._threshold(grid, sample, touched, sigma, room)
        yield estimate
        for group_pass in self._passes.wiener:
            with single_threaded():
                estimate = self._wiener(
                    grid, sample, touched, group_pass, estimate.values, sigma, room
                )
            yield estimate

    def _threshold(
        self, grid: PatchGrid, sample: Array, touched: Array | None, sigma: float, room: Array
    ) -> GroupEstimate:
        basis, passes = self._basis, self._passes
        noisy = grid.express(sample, basis.vectors, self._map, room)

        def put_back(members: Array, total: Array, first: int, tallies: Array) -> None:
            size = members.shape[1]  # a small sample has smaller groups than asked for
            start = _START[:size] / np.linalg.norm(_START[:size])
            self._kernels.threshold(
                noisy, members, sigma, passes.strength, basis.vectors, basis.n_flat, start,
                grid.points, grid.offsets, total, first, tallies,
            )  # fmt: skip

        return self._average(grid, sample, noisy, touched, passes.threshold, put_back, sigma)

    def _wiener(
        self,
        grid: PatchGrid,
        sample: Array,
        touched: Array | None,
        group_pass: GroupPass,
        pilot: Array,
        sigma: float,
        room: Array,
    ) -> GroupEstimate:
        basis = self._basis
        values = np.ascontiguousarray(np.moveaxis(sample, 0, -1)).ravel()
        like = grid.express(pilot, basis.vectors, self._map, room)

        def put_back(members: Array, total: Array, first: int, tallies: Array) -> None:
            self._kernels.wiener(
                values, like, members, sigma, basis.vectors, basis.n_flat,
                grid.points, grid.offsets, total, first, tallies,
            )  # fmt: skip

        return self._average(grid, sample, like, touched, group_pass, put_back, sigma)

    def _average(
        self,
        grid: PatchGrid,
        sample: Array,
        like: Array,
        touched: Array | None,
        group_pass: GroupPass,
        put_back: PutBack,
        sigma: float,
    ) -> GroupEstimate:
        """Match on the coefficients ``like``, put the patches of all groups back, and average."""
        places = _three(grid.places, 1)
        references = self._references(places, touched, group_pass)
        reach = np.minimum(_three(group_pass.reach, 0), np.array(places) - 1)
        # No more than there are in the window of a corner.
        size = min(group_pass.size, int(np.prod(reach + 1)))
        planes = planes_of(like, places, mapping=self._map)

        def average_part(part: Array) -> tuple[int, Array, Array]:
            pieces = np.array_split(part, -(-len(part) // _REFERENCES_BETWEEN_CHECKS))
            groups = []
            for piece in pieces:
                self._cancellation.check()
                groups.append(self._kernels.match(planes, piece, reach, size))
            starts = grid.points[np.concatenate(groups)]
            first, last = int(starts.min()), int(starts.max()) + int(grid.offsets.max()) + 1
            total = np.zeros(last - first, np.float32)
            tallies = np.zeros((_N_TALLIES, last - first), np.float32)
            for members in groups:
                self._cancellation.check()
                put_back(members, total, first, tallies)
            return first, total, tallies

        total = np.zeros(sample.size, np.float32)
        tallies = np.zeros((_N_TALLIES, sample.size), np.float32)
        parts = [part for part in np.array_split(references, _PARTS_PER_PASS) if len(part)]
        for first, part_total, part_tallies in self._map(average_part, parts):
            total[first : first + len(part_total)] += part_total
            tallies[:, first : first + len(part_total)] += part_tallies
        self._cancellation.check()
        tallies = tallies.reshape(_N_TALLIES, *grid.shift, grid.n_joint)[..., 0]
        norm = grid.cover(tallies[0])
        sums = np.moveaxis(total.reshape(*grid.shift, grid.n_joint), -1, 0)
        is_covered = norm > _LEAST_WEIGHT
        average = sums / np.where(is_covered, norm, 1)
        values = np.where(is_covered, average, sample)
        return GroupEstimate(values, grid, norm, tallies[1], tallies[2], sigma)

    def _references(
        self, places: tuple[int, ...], touched: Array | None, group_pass: GroupPass
    ) -> Array:
        """Places (n, 3) of the reference patches; those only that touch what is wanted."""
        step = map(min, group_pass.step, self._basis.patch)
        found = reference_places(places, _three(tuple(step), 1))
        if touched is None:
            return found
        return np.asarray(found[touched.reshape(places)[tuple(found.T)]])


def reference_places(places: tuple[int, ...], step: tuple[int, ...]) -> Array:
    """Every ``step``-th place, and the last: patches of neighbours overlap or touch."""
    along = (np.unique([*range(0, n, s), n - 1]) for n, s in zip(places, step, strict=True))
    return np.stack(np.meshgrid(*along, indexing="ij"), -1).reshape(-1, 3)


def planes_of(
    coefficients: Array,
    places: tuple[int, ...],
    n_compared: int = N_COMPARED,
    mapping: Mapping = map,
) -> Array:
    """What patches are compared by: their first coefficients, as planes (z, y, P, x)."""
    n_compared = min(n_compared, coefficients.shape[1])
    n_rows, n_x = places[0] * places[1], places[2]
    planes = np.empty((n_rows, -(-n_compared // 4) * 4, n_x), np.float32)
    compared = coefficients[:, :n_compared].reshape(n_rows, n_x, n_compared)

    def fill(rows: slice) -> None:
        planes[rows, :n_compared] = compared[rows].swapaxes(1, 2)
        planes[rows, n_compared:] = 0

    step = -(-n_rows // _PARTS_PER_PASS)
    for _ in mapping(fill, [slice(i, i + step) for i in range(0, n_rows, step)]):
        pass
    return planes.reshape(*places[:2], -1, n_x)


def _three(lengths: Any, missing: int) -> tuple[int, ...]:
    """Lengths on three axes, the first of them missing."""
    return (missing,) * (3 - len(lengths)) + tuple(lengths)
