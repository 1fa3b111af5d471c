"""Groups of similar patches as samples of their own.

The patches of a group are so alike that a few mixtures of the base filters explain them all: the
personal dictionary W of the group is the orthonormal basis in which its members vary most. All is
done on the coefficients of the patches in an orthonormal basis of the base filters, (places, R),
of which the first ``n_flat`` are constant over the patch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.model.solver import kernels

_STRETCH = 16  # coefficients compared at a time
_IMPRECISE = 2e-5  # of the largest energy of a group: what single precision gets wrong, generously


def _np_match(
    coefficients: Array, places: tuple[int, int, int], references: Array, reach: Array, size: int
) -> Array:
    """For each reference place, the ``size`` places around it whose patches are most alike.

    ``references`` (n, 3) are places; the search goes ``reach`` places to either side of each.
    Returns (n, size) places, the nearest first: the reference itself, whatever else is as near.
    """
    offsets = np.stack(
        np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij"), -1
    ).reshape(-1, 3)
    strides = np.array([places[1] * places[2], places[2], 1])
    distances = np.full((len(references), len(offsets)), np.inf, coefficients.dtype)
    own = coefficients[references @ strides]
    for i, offset in enumerate(offsets):
        other = references + offset
        inside = ((other >= 0) & (other < places)).all(axis=1)
        difference = own[inside] - coefficients[other[inside] @ strides]
        distances[inside, i] = np.einsum("nr,nr->n", difference, difference)
    distances[:, len(offsets) // 2] = -1
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :size]
    return np.asarray((references[:, None] + offsets[nearest]) @ strides)


def _match(
    coefficients: Array, places: tuple[int, int, int], references: Array, reach: Array, size: int
) -> Array:
    found = np.empty((len(references), size), np.int64)
    distances = np.empty(size, coefficients.dtype)
    members = np.empty(size, np.int64)
    n_base = coefficients.shape[1]
    far = coefficients.dtype.type(np.inf)
    for group in range(len(references)):
        z, y, x = references[group]
        own = (z * places[1] + y) * places[2] + x
        reference = coefficients[own]
        n = 1
        members[0] = own
        distances[0] = -1
        for i in range(max(0, z - reach[0]), min(places[0], z + reach[0] + 1)):
            for j in range(max(0, y - reach[1]), min(places[1], y + reach[1] + 1)):
                for k in range(max(0, x - reach[2]), min(places[2], x + reach[2] + 1)):
                    place = (i * places[1] + j) * places[2] + k
                    if place == own:
                        continue
                    other = coefficients[place]
                    limit = distances[n - 1] if n == size else far
                    distance = coefficients.dtype.type(0)
                    # Most are found to be too far after the first, strongest coefficients.
                    for first in range(0, n_base, _STRETCH):
                        for r in range(first, min(first + _STRETCH, n_base)):
                            difference = reference[r] - other[r]
                            distance += difference * difference
                        if distance >= limit:
                            break
                    if distance >= limit:
                        continue
                    n = min(n + 1, size)
                    at = n - 1
                    while at > 0 and distances[at - 1] > distance:
                        distances[at] = distances[at - 1]
                        members[at] = members[at - 1]
                        at -= 1
                    distances[at] = distance
                    members[at] = place
        found[group] = members
    return found


def _threshold(
    noisy: Array,
    groups: Array,
    sigma: float,
    strength: float,
    n_flat: int,
    total: Array,
    weights: Array,
    first: int,
) -> None:
    """First pass: W from the noisy group itself, its singular values shrunk.

    The shrinkage is the one that loses least for a low-rank matrix in white noise (Gavish and
    Donoho 2017); ``strength`` scales the noise level it assumes. The mean of the group is kept,
    but for coefficients that are no larger than its noise; the flat ones stay. Adds the weighted
    estimates to ``total`` and the weights to ``weights``, whose rows are the places from
    ``first`` on.
    """
    n_groups, size = groups.shape
    n_base = noisy.shape[1]
    long, short = max(size, n_base), min(size, n_base)
    aspect = short / long
    noise = (strength * sigma) ** 2 * long
    faint = 2.4 * sigma / np.sqrt(size)
    for g in range(n_groups):
        x = noisy[groups[g]]
        mean = x.sum(axis=0) / noisy.dtype.type(size)
        x -= mean
        for r in range(n_flat, n_base):
            if abs(mean[r]) < faint:
                mean[r] = 0
        # The smaller of the two Gram matrices has the same energies.
        energies, vectors = np.linalg.eigh(x @ x.T if size <= n_base else x.T @ x)
        kept = 1.0
        for i in range(short):
            ratio = energies[i] / noise
            factor = 0.0
            if ratio > (1 + np.sqrt(aspect)) ** 2:
                factor = np.sqrt((ratio - aspect - 1) ** 2 - 4 * aspect) / ratio
            kept += factor * factor
            energies[i] = factor
        estimate = x
        if size <= n_base:
            estimate = (vectors * energies) @ (vectors.T @ x)
        else:
            estimate = (x @ (vectors * energies)) @ vectors.T
        weight = noisy.dtype.type(1 / kept)
        for n in range(size):
            place = groups[g, n] - first
            total[place] += weight * (mean + estimate[n])
            weights[place] += weight


def _directions(q: Array, negligible: float) -> Array:
    """Orthonormal directions (k, R) in which the rows of ``q`` vary more than a little."""
    few = q.shape[0] <= q.shape[1]
    # The smaller of the two Gram matrices has the same energies.
    energies, vectors = np.linalg.eigh(q @ q.T if few else q.T @ q)
    least = 0  # they ascend
    while least < len(energies) and energies[least] <= negligible:
        least += 1
    w = np.ascontiguousarray(vectors[:, least:].T)
    if few:
        w = (w @ q) / np.sqrt(energies[least:]).reshape(-1, 1)
    return w


directions = kernels.compile_all(directions=_directions).directions


def _wiener(
    noisy: Array,
    pilot: Array,
    groups: Array,
    sigma: float,
    n_flat: int,
    total: Array,
    weights: Array,
    first: int,
) -> None:
    """Second pass: W from the group of the pilot, each coefficient weighed by its power there.

    Adds the weighted estimates to ``total`` and the weights to ``weights``, whose rows are the
    places from ``first`` on.
    """
    n_groups, size = groups.shape
    n_base = noisy.shape[1]
    real = noisy.dtype.type
    noise = real((1.1 * sigma) ** 2)
    noise_of_mean = real(sigma**2 / size)
    negligible = 1e-3 * sigma**2
    for g in range(n_groups):
        x, q = noisy[groups[g]], pilot[groups[g]]
        mean = x.sum(axis=0) / real(size)
        mean_q = q.sum(axis=0) / real(size)
        x -= mean
        q -= mean_q
        # One factor for all: a factor each would depend on which basis of the span it is.
        square = real(0)
        for r in range(n_flat, n_base):
            square += mean_q[r] * mean_q[r]
        kept = square / (square + (n_base - n_flat) * noise_of_mean) if square > 0 else real(0)
        for r in range(n_flat, n_base):
            mean[r] *= kept
        largest = (q * q).sum()
        if largest * _IMPRECISE > sigma**2:
            # Beside such energies, single precision cannot tell those of the noise's size.
            w = directions(q.astype(np.float64), negligible).astype(noisy.dtype)
        else:
            w = directions(q, negligible)
        power = (q @ w.T) ** 2
        share = power / (power + noise)
        estimate = (share * (x @ w.T)) @ w
        weight = real(1 / (1 + (share * share).sum() / n_base))
        for n in range(size):
            place = groups[g, n] - first
            total[place] += weight * (mean + estimate[n])
            weights[place] += weight


_PLAIN = SimpleNamespace(match=_np_match, threshold=_threshold, wiener=_wiener)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "match": _match,
    "threshold": _threshold,
    "wiener": _wiener,
}
_COMPILED = kernels.compile_all(**_FUNCTIONS)


def get() -> Any:
    """Return match, threshold and wiener, compiled where numba is."""
    return kernels.choose(_PLAIN, _COMPILED)


_LOADING = 2.0  # seconds in which what an earlier run compiled is there
_started: list[float] = []  # when the warm-ups began that have not ended


def is_compiling() -> bool:
    """Whether the passes are being compiled, which happens once on a machine."""
    return any(time.monotonic() - start > _LOADING for start in tuple(_started))


def warm_up() -> None:
    """Compile, or load what an earlier run compiled: some fifteen seconds the first time ever."""
    start = time.monotonic()
    _started.append(start)
    try:
        _run_once()
    finally:
        _started.remove(start)


def _run_once() -> None:
    passes = get()
    coefficients = np.random.default_rng(0).standard_normal((25, 6)).astype(np.float32)
    total, weights = np.zeros_like(coefficients), np.zeros(25, np.float32)
    places, reach = (1, 5, 5), np.array([0, 2, 2])
    members = passes.match(coefficients, places, np.array([[0, 2, 2]]), reach, 4)
    passes.threshold(coefficients, members, 1.0, 1.0, 1, total, weights, 0)
    passes.wiener(coefficients, coefficients, members, 1.0, 1, total, weights, 0)
