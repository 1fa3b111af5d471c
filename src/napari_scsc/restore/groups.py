"""Groups of similar patches as samples of their own.

The patches of a group are so alike that a few mixtures of the base filters explain them all: the
personal dictionary W of the group is the orthonormal basis in which its members vary most. All is
done on the coefficients of the patches in an orthonormal basis of the base filters, (places, R).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.solver import kernels

Array = NDArray[Any]


def _match(
    coefficients: Array, places: tuple[int, int, int], step: Array, reach: Array, size: int
) -> Array:
    """For each reference place, the ``size`` places around it whose patches are most alike.

    References lie every ``step`` places, and at the ends; the search goes ``reach`` places to
    either side. Returns (references, size) places, the nearest first: the reference itself.
    """
    counts = [(places[axis] + step[axis] - 2) // step[axis] + 1 for axis in range(3)]
    found = np.empty((counts[0] * counts[1] * counts[2], size), np.int64)
    distances = np.empty(size, coefficients.dtype)
    members = np.empty(size, np.int64)
    group = 0
    for a in range(counts[0]):
        z = min(a * step[0], places[0] - 1)
        for b in range(counts[1]):
            y = min(b * step[1], places[1] - 1)
            for c in range(counts[2]):
                x = min(c * step[2], places[2] - 1)
                own = (z * places[1] + y) * places[2] + x
                reference = coefficients[own]
                # Itself first, whatever else is just as near: every place must be covered.
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
                            distance = coefficients.dtype.type(0)
                            for r in range(reference.shape[0]):
                                difference = reference[r] - other[r]
                                distance += difference * difference
                            if n == size and distance >= distances[n - 1]:
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
                group += 1
    return found


def _threshold(
    noisy: Array, groups: Array, sigma: float, strength: float, total: Array, weights: Array
) -> None:
    """First pass: W from the noisy group itself, its singular values shrunk.

    The shrinkage is the one that loses least for a low-rank matrix in white noise (Gavish and
    Donoho 2017); ``strength`` scales the noise level it assumes. The mean of the group is kept,
    but for coefficients that are no larger than its noise; the constant (the first) stays.
    Adds the weighted estimates to ``total`` (places, R), and the weights to ``weights``.
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
        for r in range(1, n_base):
            if abs(mean[r]) < faint:
                mean[r] = 0
        energies, vectors = np.linalg.eigh(x @ x.T)
        kept = 1.0
        for i in range(size):
            ratio = energies[i] / noise
            factor = 0.0
            if ratio > (1 + np.sqrt(aspect)) ** 2:
                factor = np.sqrt((ratio - aspect - 1) ** 2 - 4 * aspect) / ratio
            kept += factor * factor
            energies[i] = factor
        estimate = (vectors * energies) @ (vectors.T @ x)
        weight = noisy.dtype.type(1 / kept)
        for n in range(size):
            total[groups[g, n]] += weight * (mean + estimate[n])
            weights[groups[g, n]] += weight


def _wiener(
    noisy: Array, pilot: Array, groups: Array, sigma: float, total: Array, weights: Array
) -> None:
    """Second pass: W from the group of the pilot, each coefficient weighed by its power there.

    Adds the weighted estimates to ``total`` (places, R), and the weights to ``weights``.
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
        for r in range(1, n_base):
            power = mean_q[r] * mean_q[r]
            mean[r] *= power / (power + noise_of_mean)
        energies, vectors = np.linalg.eigh(q @ q.T)
        first = 0  # the eigenvalues ascend
        while first < size and energies[first] <= negligible:
            first += 1
        lengths = np.sqrt(energies[first:])
        used = np.ascontiguousarray(vectors[:, first:])
        w = (used.T @ q) / lengths.reshape(-1, 1)
        power = (used * lengths) ** 2
        share = power / (power + noise)
        estimate = (share * (x @ w.T)) @ w
        weight = real(1 / (1 + (share * share).sum() / n_base))
        for n in range(size):
            total[groups[g, n]] += weight * (mean + estimate[n])
            weights[groups[g, n]] += weight


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "match": _match,
    "threshold": _threshold,
    "wiener": _wiener,
}
_PLAIN = SimpleNamespace(**_FUNCTIONS)
_COMPILED = kernels.compile_all(**_FUNCTIONS)


def get() -> Any:
    """Return match, threshold and wiener, compiled where numba is."""
    return kernels.choose(_PLAIN, _COMPILED)
