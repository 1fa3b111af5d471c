"""The few fused loops that numpy cannot do well: numba where it is, numpy where it is not.

Both give the same result within rounding.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cache import find_problem
from napari_scsc.model.solver.prox import soft_threshold

numba: Any
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
    return choose(_NUMPY, _COMPILED)


def choose(plain: Any, compiled: Any) -> Any:
    """Return the one of two namespaces of functions that the backend in force asks for."""
    return compiled if backend() == "numba" else plain


def _np_descend(
    gradient: Array, z: Array, y: Array, first: int, step: float, beta: float, a: float
) -> tuple[float, float, float, float]:
    """One proximal step of a block of columns of Z, and the extrapolation from it.

    From the point y, new = soft(y - step * gradient, step * beta); then y becomes
    new + a (new - z) and z becomes new, in the columns of z and y from ``first`` on that
    ``gradient`` covers.

    Returns <gradient, new - y>, ||new - y||^2 and the l1 norms of new and of the next y.
    """
    block = slice(first, first + gradient.shape[1])
    now, at = z[:, block], y[:, block]
    real = z.dtype.type
    new = soft_threshold(at - real(step) * gradient, real(step * beta))
    change = (new - at).astype(np.float64)
    slope = float(np.einsum("kp,kp->", gradient, change))
    square = float(np.einsum("kp,kp->", change, change))
    np.copyto(at, new + real(a) * (new - now))
    np.copyto(now, new)
    norm, norm_y = (float(np.abs(v).sum(dtype=np.float64)) for v in (new, at))
    return slope, square, norm, norm_y


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
    descend=_np_descend,
    synthesise=_np_synthesise,
    correlate=_np_correlate,
    residual=_np_residual,
    accumulate=_np_accumulate,
    solve=_np_solve,
)
_FREQUENCIES_PER_BLOCK = 512  # at a time: a target stays in the nearest cache


def _descend(
    gradient: Array, z: Array, y: Array, first: int, step: float, beta: float, a: float
) -> tuple[float, float, float, float]:
    real = z.dtype.type
    length, threshold, momentum = real(step), real(step * beta), real(a)
    slope, square, norm, norm_y = 0.0, 0.0, 0.0, 0.0
    last = first + gradient.shape[1]
    for k in range(z.shape[0]):
        grad, now, at = gradient[k], z[k, first:last], y[k, first:last]
        row_slope, row_square, row_norm, row_norm_y = real(0), real(0), real(0), real(0)
        for p in range(grad.shape[0]):
            v = at[p]
            u = v - length * grad[p]
            # Written out: min() and max() would also have to order a NaN.
            clipped = u if u < threshold else threshold
            clipped = clipped if clipped > -threshold else -threshold
            new = u - clipped
            following = new + momentum * (new - now[p])
            change = new - v
            row_slope += grad[p] * change
            row_square += change * change
            row_norm += abs(new)
            row_norm_y += abs(following)
            now[p] = new
            at[p] = following
        slope += row_slope
        square += row_square
        norm += row_norm
        norm_y += row_norm_y
    return slope, square, norm, norm_y


def _synthesise(filters: Array, maps: Array, out: Array) -> None:
    n_base, n_joint, size = filters.shape
    for first in range(0, size, _FREQUENCIES_PER_BLOCK):
        last = min(first + _FREQUENCIES_PER_BLOCK, size)
        for c in range(n_joint):
            target = out[c, first:last]
            target[:] = 0
            for r in range(n_base):
                b, y = filters[r, c, first:last], maps[r, first:last]
                for f in range(target.shape[0]):
                    target[f] += b[f] * y[f]


def _correlate(filters: Array, residual: Array, out: Array) -> None:
    n_base, n_joint, size = filters.shape
    for first in range(0, size, _FREQUENCIES_PER_BLOCK):
        last = min(first + _FREQUENCIES_PER_BLOCK, size)
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
    for first in range(0, size, _FREQUENCIES_PER_BLOCK):
        last = min(first + _FREQUENCIES_PER_BLOCK, size)
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
    for first in range(0, size, _FREQUENCIES_PER_BLOCK):
        last = min(first + _FREQUENCIES_PER_BLOCK, size)
        for r in range(n_base):
            for c in range(n_joint):
                target = out[r, c, first:last]
                target[:] = 0
                for s in range(n_base):
                    row, column = inverse[r, s, first:last], right[s, c, first:last]
                    for f in range(target.shape[0]):
                        target[f] += row[f] * column[f]


def compile_all(**functions: Callable[..., Any]) -> SimpleNamespace:
    """Compile with numba, where it is, to run without the interpreter's lock."""
    return SimpleNamespace(**{name: compiled(function) for name, function in functions.items()})


def _may_keep() -> bool:
    """Whether compiled code may be kept: numba loads what it finds in the folder, and runs it."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return not folder or find_problem(Path(folder)) is None


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile one function; a decorator."""
    if numba is None:
        return function
    # No "nnan" or "ninf": a NaN must stay a NaN, so that it is found and not hidden.
    relaxed = {"contract", "reassoc", "nsz", "arcp"}
    options = {"nogil": True, "fastmath": relaxed}
    jit: Callable[..., Any]
    try:
        jit = numba.njit(cache=_may_keep(), **options)(function)
    except RuntimeError:  # no folder to keep compiled code in: compile again in each process
        jit = numba.njit(**options)(function)
    return jit


_COMPILED = compile_all(
    descend=_descend,
    synthesise=_synthesise,
    correlate=_correlate,
    residual=_residual,
    accumulate=_accumulate,
    solve=_solve,
)
