"""Slow and obviously right: what the fast code is compared with."""

from __future__ import annotations

import itertools

import numpy as np


def convolve(filters: np.ndarray, maps: np.ndarray, n_joint: int, shift: tuple[int, ...]):
    """sum_r B_r * Y_r at every point of the sample, by loops.

    ``maps`` is (R, *reach); the filter's middle lies on the map's value.
    """
    support = filters.shape[1 + n_joint :]
    out = np.zeros((*filters.shape[1 : 1 + n_joint], *shift))
    for place in itertools.product(*(range(n) for n in shift)):
        for m in itertools.product(*(range(h) for h in support)):
            # The map starts h - 1 - h // 2 points before the sample, and the filter's middle is
            # h // 2: the two add up to h - 1.
            source = tuple(p - i + h - 1 for p, i, h in zip(place, m, support, strict=True))
            values = maps[(slice(None), *source)]
            taps = filters[(slice(None), *[slice(None)] * n_joint, *m)]
            out[(*[slice(None)] * n_joint, *place)] += np.tensordot(values, taps, axes=(0, 0))
    return out


def matrix(filters: np.ndarray, n_joint: int, shift: tuple[int, ...]) -> np.ndarray:
    """The same as a matrix: (sample values, R x reach values)."""
    reach = tuple(n + h - 1 for n, h in zip(shift, filters.shape[1 + n_joint :], strict=True))
    columns = []
    for r in range(len(filters)):
        for place in itertools.product(*(range(n) for n in reach)):
            maps = np.zeros((len(filters), *reach))
            maps[(r, *place)] = 1
            columns.append(convolve(filters, maps, n_joint, shift).ravel())
    return np.array(columns).T


def objective(a, x, known, w, z, beta):
    """F of weights (R, K) and codes (K, points) with the matrix of the filters."""
    residual = known.ravel() * (a @ (w @ z).ravel() - x.ravel())
    return 0.5 * residual @ residual + beta * np.abs(z).sum()


def lasso(a, x, known, w, beta, iterations=20_000):
    """Plain proximal gradient with a fixed step, W fixed."""
    mask = known.ravel()
    n_base = w.shape[0]
    step = 1 / (np.linalg.norm(mask[:, None] * a, 2) ** 2 * np.linalg.norm(w, 2) ** 2)
    z = np.zeros((w.shape[1], a.shape[1] // n_base))
    for _ in range(iterations):
        residual = mask * (a @ (w @ z).ravel() - x.ravel())
        z = z - step * w.T @ (a.T @ residual).reshape(n_base, -1)
        z = np.sign(z) * np.maximum(np.abs(z) - step * beta, 0)
    return z


def alternating(a, x, known, w, beta, radius, iterations=20_000):
    """Plain alternating proximal gradient on Z and W, each with its own safe step."""
    mask = known.ravel()
    n_base = w.shape[0]
    norm = np.linalg.norm(mask[:, None] * a, 2) ** 2
    z = np.zeros((w.shape[1], a.shape[1] // n_base))
    for _ in range(iterations):
        step = 1 / (norm * np.linalg.norm(w, 2) ** 2)
        residual = mask * (a @ (w @ z).ravel() - x.ravel())
        z = z - step * w.T @ (a.T @ residual).reshape(n_base, -1)
        z = np.sign(z) * np.maximum(np.abs(z) - step * beta, 0)
        residual = mask * (a @ (w @ z).ravel() - x.ravel())
        gradient = (a.T @ residual).reshape(n_base, -1) @ z.T
        w = w - gradient / max(norm * np.linalg.norm(z, 2) ** 2, 1e-12)
        w = w * np.minimum(1, radius / np.maximum(np.linalg.norm(w, axis=0), 1e-12))
    return w, z
