"""Denoising by groups: a thresholding pass, then a Wiener pass that takes its result as pilot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.groups import group_kernels
from napari_scsc.groups.draft import draft, weigh_by_pilot
from napari_scsc.groups.passes import Passes
from napari_scsc.groups.patches import PatchGrid
from napari_scsc.model.basis import Basis
from napari_scsc.model.threads import single_threaded

_PARTS_PER_PASS = 8  # a fixed number, so that the sums do not depend on threads
_REFERENCES_BETWEEN_CHECKS = 100  # a fifth of a second, where they take longest


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
        *_, result = self.estimates(sample, sigma, wanted)
        return result

    def estimates(
        self, sample: Array, sigma: float, wanted: Array | None = None
    ) -> Iterator[Array]:
        """What ``denoise`` has after each pass; the last one is its result."""
        if self._passes.is_draft:
            with single_threaded():
                estimate = draft(sample, self._basis, sigma, self._cancellation, self._map)
            yield estimate
            return
        grid = PatchGrid(len(sample), sample.shape[1:], self._basis.patch)
        references = self._references(grid, wanted)
        with single_threaded():
            noisy = grid.express(sample, self._basis.vectors)
            estimate = self._threshold(grid, sample, noisy, references, sigma)
            if not self._passes.second_size:
                # Groups err where a patch has few like it, patches by themselves elsewhere.
                alone = weigh_by_pilot(
                    sample, estimate, self._basis, sigma, wanted, self._cancellation, self._map
                )
                estimate = (estimate + alone) / 2
        yield estimate
        if self._passes.second_size:
            with single_threaded():
                estimate = self._wiener(grid, sample, noisy, references, estimate, sigma)
            yield estimate

    def _references(self, grid: PatchGrid, wanted: Array | None) -> Array:
        """Places (n, 3) of the reference patches; those only that touch what is wanted."""
        places = _three(grid.places, 1)
        step = [min(s, p) for s, p in zip(self._passes.step, self._basis.patch, strict=True)]
        found = reference_places(places, _three(step, 1))
        if wanted is None:
            return found
        touched = grid.touching(wanted).reshape(places)
        return np.asarray(found[touched[tuple(found.T)]])

    def _threshold(
        self, grid: PatchGrid, sample: Array, noisy: Array, references: Array, sigma: float
    ) -> Array:
        passes = self._passes
        return self._average(
            grid,
            sample,
            noisy,
            references,
            (passes.first_reach, passes.first_size),
            lambda members, *out: self._kernels.threshold(
                noisy, members, sigma, passes.strength, self._basis.n_flat, *out
            ),
        )

    def _wiener(
        self,
        grid: PatchGrid,
        sample: Array,
        noisy: Array,
        references: Array,
        pilot: Array,
        sigma: float,
    ) -> Array:
        passes = self._passes
        like = grid.express(pilot, self._basis.vectors)
        return self._average(
            grid,
            sample,
            like,
            references,
            (passes.second_reach, passes.second_size),
            lambda members, *out: self._kernels.wiener(
                noisy, like, members, sigma, self._basis.n_flat, *out
            ),
        )

    def _average(
        self,
        grid: PatchGrid,
        sample: Array,
        like: Array,
        references: Array,
        search: tuple[tuple[int, ...], int],
        fill: Callable[..., None],
    ) -> Array:
        """Match on the patches ``like``, fill the estimates of all groups in, and average them."""
        places = _three(grid.places, 1)
        reach = np.minimum(_three(search[0], 0), np.array(places) - 1)
        # No more than there are in the window of a corner.
        size = min(search[1], int(np.prod(reach + 1)))

        def average_part(part: Array) -> tuple[int, Array, Array]:
            pieces = [
                part[i : i + _REFERENCES_BETWEEN_CHECKS]
                for i in range(0, len(part), _REFERENCES_BETWEEN_CHECKS)
            ]
            groups = [
                self._kernels.match(like, places, piece, reach, size)
                for piece in self._checking(pieces)
            ]
            first = min(int(members.min()) for members in groups)
            last = max(int(members.max()) for members in groups) + 1
            total = np.zeros((last - first, like.shape[1]), like.dtype)
            weights = np.zeros(last - first, like.dtype)
            for members in self._checking(groups):
                fill(members, total, weights, first)
            return first, total, weights

        total = np.zeros_like(like)
        weights = np.zeros(len(like), like.dtype)
        parts = [part for part in np.array_split(references, _PARTS_PER_PASS) if len(part)]
        for first, part_total, part_weights in self._map(average_part, parts):
            total[first : first + len(part_total)] += part_total
            weights[first : first + len(part_total)] += part_weights
        self._cancellation.check()
        return grid.assemble(total, weights, self._basis.vectors, sample)

    def _checking(self, items: list[Array]) -> Iterator[Array]:
        """The items, with a check before each."""
        for item in items:
            self._cancellation.check()
            yield item


def reference_places(places: tuple[int, ...], step: tuple[int, ...]) -> Array:
    """Every ``step``-th place, and the last: patches of neighbours overlap or touch."""
    along = (np.unique([*range(0, n, s), n - 1]) for n, s in zip(places, step, strict=True))
    return np.stack(np.meshgrid(*along, indexing="ij"), -1).reshape(-1, 3)


def _three(lengths: Any, missing: int) -> tuple[int, ...]:
    """Lengths on three axes, the first of them missing."""
    return (missing,) * (3 - len(lengths)) + tuple(lengths)
