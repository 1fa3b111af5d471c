"""The few fused loops that numpy cannot do well: numba where it is, numpy where it is not.

Both give the same result within rounding. Large arrays are passed whole with the columns to work
on, because a slice would hide from the compiler that the last axis is contiguous.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.solver.prox import soft_threshold

Array = NDArray[Any]

try:
    import numba
except ImportError:  # numpy does the same, slower
    numba = None


def backend() -> str:
    """Return "numba" or "numpy"; ``NAPARI_SCSC_KERNELS=numpy`` forces the latter."""
    wanted = os.environ.get("NAPARI_SCSC_KERNELS", "numba").lower()
    return "numba" if numba is not None and wanted != "numpy" else "numpy"


def get() -> Any:
    """Return the kernels of the backend in force, as a namespace of functions."""
    return _COMPILED if backend() == "numba" else _NUMPY


# --- numpy -----------------------------------------------------------------------------------


def _np_shrink(
    grad: Array,
    z: Array,
    previous: Array,
    first: int,
    last: int,
    a: float,
    step: float,
    beta: float,
) -> tuple[float, float]:
    """One proximal step of the columns ``first:last`` of Z from their extrapolated point.

    v = z + a (z - previous); the new value, written over ``previous``, is
    soft(v - step * grad, step * beta); ``grad`` is overwritten by v.
    Returns <grad, new - v> and ||new - v||^2.
    """
    width = last - first
    g = grad[:, :width]
    now, old = z[:, first:last], previous[:, first:last]
    v = now + now.dtype.type(a) * (now - old)
    new = soft_threshold(v - now.dtype.type(step) * g, now.dtype.type(step * beta))
    change = (new - v).astype(np.float64)
    inner = float(np.einsum("kp,kp->", g, change))
    square = float(np.einsum("kp,kp->", change, change))
    old[...] = new
    g[...] = v
    return inner, square


def _np_extrapolate(
    out: Array, z: Array, previous: Array, first: int, last: int, a: float
) -> float:
    """Write z + a (z - previous) of the columns ``first:last`` to ``out``; return its l1 norm."""
    now, old = z[:, first:last], previous[:, first:last]
    v = out[:, : last - first]
    np.subtract(now, old, out=v)
    v *= now.dtype.type(a)
    v += now
    return float(np.abs(v).sum(dtype=np.float64))


def _np_synthesise(filters: Array, maps: Array, out: Array) -> None:
    """out_c = sum_r filters_rc maps_r, per frequency: (R, C, F), (R, F) -> (C, F)."""
    np.einsum("rcf,rf->cf", filters, maps, out=out)


def _np_correlate(filters: Array, residual: Array, out: Array) -> None:
    """out_r = sum_c conj(filters_rc) residual_c: (R, C, F), (C, F) -> (R, F)."""
    np.einsum("rcf,cf->rf", filters.conj(), residual, out=out)


def _np_residual(reconstruction: Array, sample: Array, mask: Array) -> float:
    """Turn the reconstruction into mask * (reconstruction - sample); return half its square."""
    reconstruction -= sample
    reconstruction *= mask
    flat = reconstruction.reshape(-1).astype(np.float64)
    return 0.5 * float(flat @ flat)


def _np_accumulate(h: Array, g: Array, maps: Array, sample: Array, keep: float, add: float) -> None:
    """H = keep H + add conj(Y) Y^T and G = keep G + add conj(Y) x^T, per frequency, in place."""
    h *= h.real.dtype.type(keep)
    g *= h.real.dtype.type(keep)
    for r, y in enumerate(np.conj(maps) * maps.real.dtype.type(add)):
        h[r] += y * maps
        g[r] += y * sample


def _np_solve(inverse: Array, right: Array, out: Array) -> None:
    """out_rc = sum_s inverse_rs right_sc, per frequency: (R, R, F), (R, C, F) -> (R, C, F)."""
    for row, target in zip(inverse, out, strict=True):
        np.einsum("sf,scf->cf", row, right, out=target)


_NUMPY = SimpleNamespace(
    shrink=_np_shrink,
    extrapolate=_np_extrapolate,
    synthesise=_np_synthesise,
    correlate=_np_correlate,
    residual=_np_residual,
    accumulate=_np_accumulate,
    solve=_np_solve,
)

# --- numba: the same functions, in the same order -----------------------------------------------
# Rows are sliced before the inner loop: an index that might be negative cannot be vectorised.

_STRETCH = 512  # frequencies at a time, so that a target stays in the nearest cache


def _shrink(
    grad: Array,
    z: Array,
    previous: Array,
    first: int,
    last: int,
    a: float,
    step: float,
    beta: float,
) -> tuple[float, float]:
    real = z.dtype.type
    forward, back = real(1 + a), real(-a)
    length, threshold = real(step), real(step * beta)
    inner, square = 0.0, 0.0
    for k in range(z.shape[0]):
        gradient, now, old = grad[k], z[k, first:last], previous[k, first:last]
        row_inner, row_square = real(0), real(0)
        for p in range(now.shape[0]):
            g = gradient[p]
            v = forward * now[p] + back * old[p]
            u = v - length * g
            # Written out: min() and max() would also have to order a NaN.
            clipped = u if u < threshold else threshold
            clipped = clipped if clipped > -threshold else -threshold
            new = u - clipped
            change = new - v
            row_inner += g * change
            row_square += change * change
            old[p] = new
            gradient[p] = v
        inner += row_inner
        square += row_square
    return inner, square


def _extrapolate(out: Array, z: Array, previous: Array, first: int, last: int, a: float) -> float:
    real = z.dtype.type
    forward, back = real(1 + a), real(-a)
    norm = 0.0
    for k in range(z.shape[0]):
        target, now, old = out[k], z[k, first:last], previous[k, first:last]
        row = real(0)
        for p in range(now.shape[0]):
            v = forward * now[p] + back * old[p]
            row += abs(v)
            target[p] = v
        norm += row
    return norm


def _synthesise(filters: Array, maps: Array, out: Array) -> None:
    n_base, n_joint, size = filters.shape
    for first in range(0, size, _STRETCH):
        last = min(first + _STRETCH, size)
        for c in range(n_joint):
            target = out[c, first:last]
            target[:] = 0
            for r in range(n_base):
                b, y = filters[r, c, first:last], maps[r, first:last]
                for f in range(target.shape[0]):
                    target[f] += b[f] * y[f]


def _correlate(filters: Array, residual: Array, out: Array) -> None:
    n_base, n_joint, size = filters.shape
    for first in range(0, size, _STRETCH):
        last = min(first + _STRETCH, size)
        for r in range(n_base):
            target = out[r, first:last]
            target[:] = 0
            for c in range(n_joint):
                b, x = filters[r, c, first:last], residual[c, first:last]
                for f in range(target.shape[0]):
                    target[f] += np.conj(b[f]) * x[f]


def _residual(reconstruction: Array, sample: Array, mask: Array) -> float:
    total = 0.0
    for c in range(sample.shape[0]):
        target, x, m = reconstruction[c], sample[c], mask[c if mask.shape[0] > 1 else 0]
        for p in range(x.shape[0]):
            value = m[p] * (target[p] - x[p])
            target[p] = value
            total += np.float64(value) * np.float64(value)
    return 0.5 * total


def _accumulate(h: Array, g: Array, maps: Array, sample: Array, keep: float, add: float) -> None:
    real = h.real.dtype.type
    old, new = real(keep), real(add)
    n_base, size = maps.shape
    for first in range(0, size, _STRETCH):
        last = min(first + _STRETCH, size)
        for r in range(n_base):
            y = maps[r, first:last]
            for s in range(n_base):
                target, other = h[r, s, first:last], maps[s, first:last]
                for f in range(target.shape[0]):
                    target[f] = old * target[f] + new * (np.conj(y[f]) * other[f])
            for c in range(sample.shape[0]):
                target, x = g[r, c, first:last], sample[c, first:last]
                for f in range(target.shape[0]):
                    target[f] = old * target[f] + new * (np.conj(y[f]) * x[f])


def _solve(inverse: Array, right: Array, out: Array) -> None:
    n_base, n_joint, size = right.shape
    for first in range(0, size, _STRETCH):
        last = min(first + _STRETCH, size)
        for r in range(n_base):
            for c in range(n_joint):
                target = out[r, c, first:last]
                target[:] = 0
                for s in range(n_base):
                    row, column = inverse[r, s, first:last], right[s, c, first:last]
                    for f in range(target.shape[0]):
                        target[f] += row[f] * column[f]


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    # No "nnan" or "ninf": a NaN must stay a NaN, so that it is found and not hidden.
    relaxed = {"contract", "reassoc", "nsz", "arcp"}
    jit: Callable[..., Any] = numba.njit(nogil=True, cache=True, fastmath=relaxed)(function)
    return jit


_COMPILED = _NUMPY
if numba is not None:
    _COMPILED = SimpleNamespace(
        shrink=_compile(_shrink),
        extrapolate=_compile(_extrapolate),
        synthesise=_compile(_synthesise),
        correlate=_compile(_correlate),
        residual=_compile(_residual),
        accumulate=_compile(_accumulate),
        solve=_compile(_solve),
    )
