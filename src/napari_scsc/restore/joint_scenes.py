"""Which joint values show the same scene.

Groups of patches are alike in what stands out most. Where that is another scene, a channel is put
together by others that know nothing of it, and is better off alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage
from scipy.sparse import csgraph

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.learning.models import patch_shape
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.basis import Basis, mixtures_above_noise
from napari_scsc.noise.working import WorkingValues

_FINE, _COARSE = 4, 16  # pixels along a side of means that tell structure from noise and shading
_MIN_LIKENESS = 0.3  # of the structure of two joint values, from which on they show one scene
_MARGIN = 0.05  # of the noise left in such means: what its level may be wrong by
_CERTAINTY = 2.0  # standard errors of the likeness
_TILES, _POINTS = 8, 1 << 16
_MAX_PATCHES = 20_000  # of which directions are found

SceneBases = tuple[tuple[tuple[int, ...], Basis], ...]


@dataclass(frozen=True)
class JointScenes:
    """The scenes that joint values show.

    Attributes
    ----------
    numbers : tuple of tuples of int
        The joint values of each scene, as if all joint axes were one; empty for one scene.
    tiles : list of ndarray, (C, *shift)
        White values in which they were found.
    sigma : float
        The level of their noise.
    """

    numbers: tuple[tuple[int, ...], ...]
    tiles: list[Array]
    sigma: float

    @classmethod
    def find(cls, samples: ImageSamples, working: WorkingValues, sigma: float) -> JointScenes:
        """Those of an image."""
        places = draw_tiles(samples, _POINTS * samples.n_joint, _TILES, seed=0)
        tiles = [
            here.whiten(here.to_work(samples.read(index, part)))
            for index, part in places
            for here in [working.at(index, part)]
            if not samples.missing(index, part).any()
        ]
        found = _find_scenes(tiles, sigma) if tiles else []
        return cls(tuple(found) if len(found) > 1 else (), tiles, sigma)

    def patch_shape(self, shift: tuple[int, ...]) -> tuple[int, ...] | None:
        """Lengths of filters for the scene that has least to say; None for one scene."""
        if not self.numbers:
            return None
        counts = [len(mixtures_above_noise(self._tiles_of(s), self.sigma)) for s in self.numbers]
        return patch_shape(shift, min(counts), noisy=False)

    def bases(self, bank: FilterBank) -> SceneBases:
        """The joint values of each scene and a basis for each, in the span of a bank."""
        return tuple((s, _basis_of(self._tiles_of(s), bank, s, self.sigma)) for s in self.numbers)

    def _tiles_of(self, numbers: tuple[int, ...]) -> list[Array]:
        return [tile[list(numbers)] for tile in self.tiles]


def _find_scenes(tiles: list[Array], sigma: float) -> list[tuple[int, ...]]:
    moments = np.zeros((len(tiles[0]), len(tiles[0])))
    count = 0
    for tile in tiles:
        structure = _structure_of(tile).reshape(len(tile), -1)
        moments += structure @ structure.T
        count += structure.shape[1]
    # The finer means hold the noise of their pixels, of which the coarser ones take a part.
    n_plane = min(2, tiles[0].ndim - 1)
    noise = count * sigma**2 * (_FINE**-n_plane - _COARSE**-n_plane)
    content = np.maximum(np.diag(moments) - (1 + _MARGIN) * noise, 0)
    limit = _MIN_LIKENESS * np.sqrt(np.outer(content, content))
    n_points = count / _FINE**n_plane
    errors = np.sqrt(np.outer(np.diag(moments), np.diag(moments)) / n_points)
    # Another scene is one that is certainly unlike: what noise hides stays with the rest.
    is_alike = abs(moments) + _CERTAINTY * errors > limit
    number, labels = csgraph.connected_components(is_alike, directed=False)
    return [tuple(np.flatnonzero(labels == n).tolist()) for n in range(number)]


def _structure_of(work: Array) -> Array:
    """What is coarser than noise and finer than shading."""
    n_plane = min(2, work.ndim - 1)
    sizes = [[1] * (work.ndim - n_plane) + [side] * n_plane for side in (_FINE, _COARSE)]
    fine, coarse = (ndimage.uniform_filter(work, size, mode="reflect") for size in sizes)
    return np.asarray(fine - coarse, np.float64)


def _basis_of(tiles: list[Array], bank: FilterBank, chosen: Sequence[int], sigma: float) -> Basis:
    """A basis for a scene in the span of a bank, beginning where its patches vary most."""
    basis = Basis.of_joint(bank, chosen).narrowed(tiles[0], sigma)
    lively = basis.vectors[basis.n_flat :].astype(np.float64)
    parts = [_patches_of(basis.project(tile), basis.patch, len(tiles)) for tile in tiles]
    coefficients = np.concatenate(parts) @ lively.T
    directions = np.linalg.eigh(coefficients.T @ coefficients)[1]
    vectors = np.vstack([basis.vectors[: basis.n_flat], directions[:, ::-1].T @ lively])
    return replace(basis, vectors=vectors.astype(np.float32))


def _patches_of(mixed: Array, patch: tuple[int, ...], n_tiles: int) -> Array:
    """Some of the patches (n, k * prod(patch)) of a tile (k, *shift)."""
    axes = tuple(range(1, mixed.ndim))
    windows = np.moveaxis(sliding_window_view(mixed, patch, axis=axes), 0, len(patch))
    places = windows.shape[: len(patch)]
    rng = np.random.default_rng(0)
    count = min(math.prod(places), _MAX_PATCHES // n_tiles)
    chosen = np.sort(rng.choice(math.prod(places), count, replace=False))
    return windows[np.unravel_index(chosen, places)].reshape(count, -1).astype(np.float64)
