"""Looking for similar patches: compiled. ``numpy_kernels.match`` says what it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.model.solver.kernels import compiled

_BLOCK = 16  # candidates that are looked at one by one only if the nearest of them is near enough
_FAR = 0x7F800000  # the bits of infinity
_KEYS_PER_MEMBER = 3  # candidates kept before all but the nearest are dropped


@compiled
def _outwards(n: int) -> int:
    """0, 1, -1, 2, -2, ...: what lies near comes first."""
    return (n + 1) // 2 if n % 2 else -(n // 2)


@compiled
def _select(keys: Array, n: int, size: int) -> None:
    """Order ``keys[:n]`` so that the ``size`` smallest come first (quickselect)."""
    low, high = 0, n - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if size - 1 <= j:
            high = j
        elif size - 1 >= i:
            low = i
        else:
            return


@compiled
def _sort(keys: Array, n: int) -> None:
    for m in range(1, n):
        key, at = keys[m], m
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@compiled
def match(planes: Array, references: Array, reach: Array, size: int) -> Array:
    """The nearest places; see ``numpy_kernels``."""
    n_z, n_y, n_planes, n_x = planes.shape
    height, width = 2 * reach[1] + 1, 2 * reach[2] + 1
    distances = np.empty((width + _BLOCK - 1) // _BLOCK * _BLOCK, np.float32)
    # Of numbers that are not negative, the bits are ordered as the numbers are. A key is a
    # distance and, behind it, when the candidate was met: equal ones stay in that order.
    bits = distances.view(np.int32)
    full = _KEYS_PER_MEMBER * size + _BLOCK
    keys = np.empty(full + _BLOCK, np.int64)
    own = np.empty(n_planes, np.float32)
    found = np.empty((len(references), size), np.int64)
    far = np.float32(np.inf)
    for group in range(len(references)):
        z, y, x = references[group, 0], references[group, 1], references[group, 2]
        first, last = max(0, x - reach[2]), min(n_x, x + reach[2] + 1)
        length = last - first
        for r in range(n_planes):
            own[r] = planes[z, y, r, x]
        keys[0] = 0  # the reference itself
        n: Any = np.int64(1)  # a plain 1 would compile _select for constants, too
        limit = np.int32(_FAR)
        for row in range((2 * reach[0] + 1) * height):
            i, j = z + _outwards(row // height), y + _outwards(row % height)
            if i < 0 or i >= n_z or j < 0 or j >= n_y:
                continue
            for k in range(length):
                distances[k] = 0
            for k in range(length, len(distances)):
                distances[k] = far
            candidates = planes[i, j]
            for r in range(0, n_planes, 4):
                a, b = candidates[r, first:last], candidates[r + 1, first:last]
                c, d = candidates[r + 2, first:last], candidates[r + 3, first:last]
                for k in range(length):
                    p, q = a[k] - own[r], b[k] - own[r + 1]
                    s, t = c[k] - own[r + 2], d[k] - own[r + 3]
                    distances[k] += (p * p + q * q) + (s * s + t * t)
            if row == 0:
                distances[x - first] = far
            met = row * width + first - x + reach[2] + 1
            for block in range(0, length, _BLOCK):
                nearest = limit
                for k in range(block, block + _BLOCK):
                    nearest = min(nearest, bits[k])
                if nearest >= limit:
                    continue
                for k in range(block, block + _BLOCK):
                    keys[n] = (np.int64(bits[k]) << 32) | (met + k)
                    n += np.int64(bits[k] < limit)  # nothing that a processor must guess
                if n >= full:
                    _select(keys, n, size)
                    n = size
                    farthest = keys[0]
                    for m in range(1, size):
                        farthest = max(farthest, keys[m])
                    limit = np.int32(farthest >> 32)
        _select(keys, n, size)
        _sort(keys, size)
        found[group, 0] = (z * n_y + y) * n_x + x
        for m in range(1, size):
            met = (keys[m] & 0xFFFFFFFF) - 1
            row = met // width
            i, j = z + _outwards(row // height), y + _outwards(row % height)
            found[group, m] = (i * n_y + j) * n_x + x + met % width - reach[2]
    return found
