"""Groups of similar patches as samples of their own: the loops, compiled where numba is.

The patches of a group are so alike that a few mixtures of the base filters explain them all: the
personal dictionary W of the group is the orthonormal basis in which its members vary most.

All kernels know patches by their *place*, a number, and by their coefficients in an orthonormal
basis of the base filters, (places, R), of which the first ``n_flat`` are constant over the patch.
The values of a sample are a flat array; a patch is those at ``points[place] + offsets``. What
``numpy_kernels`` does is the same to rounding, and easier to read.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from napari_scsc.groups import match_kernel, numpy_kernels, shrink_kernels
from napari_scsc.model.solver import kernels

_PLAIN = SimpleNamespace(
    match=numpy_kernels.match, threshold=numpy_kernels.threshold, wiener=numpy_kernels.wiener
)
_COMPILED = SimpleNamespace(
    match=match_kernel.match, threshold=shrink_kernels.threshold, wiener=shrink_kernels.wiener
)


def get() -> Any:
    """Return match, threshold and wiener, compiled where numba is."""
    return kernels.choose(_PLAIN, _COMPILED)


def is_ready() -> bool:
    """Whether nothing needs to be compiled, or loaded, any more."""
    return get() is _PLAIN or all(function.signatures for function in vars(_COMPILED).values())
