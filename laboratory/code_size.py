"""How large a code is: all numbers that a sample has for itself.

What is smaller than a hundredth of the largest value is what an unfinished code still holds: it
adds nothing to the reconstruction and would vanish with more iterations, so it does not count.
"""

from dataclasses import dataclass

import numpy as np

LEAST = 0.01  # of the largest value
PARALLEL = 0.999  # |cosine| of two columns of W, from which on they are one filter


@dataclass(frozen=True)
class Size:
    """What a code is made of."""

    values: int  # of the maps, those that count
    own: int  # numbers besides: weights or filters of the sample's own
    tiny: float  # share of the non-zeros that were too small to count
    length: float  # median of the filters that are used; 1 if none is

    @property
    def numbers(self):
        return self.values + self.own


def size_of(model, code):
    """The size of a code that ``model.encode`` made."""
    every = np.count_nonzero(code.Z)
    weights, maps = merged(code.W, code.Z)
    counts = counted(maps).reshape(len(maps), -1).sum(axis=1)
    used = counts > 0
    return Size(
        values=int(counts.sum()),
        own=_own_numbers(model, code, int(used.sum())),
        tiny=1 - np.count_nonzero(counted(code.Z)) / every if every else 0.0,
        length=_median_length(filters_of(model, code, weights[:, used])),
    )


def counted(maps):
    """Where the values are that count."""
    magnitude = np.abs(maps)
    return magnitude > LEAST * magnitude.max(initial=0)


def merged(weights, maps):
    """W (R, K') and maps (K', ...) in which all maps of parallel columns are one.

    Two such filters are one filter: a value that is split among them costs as much as one that is
    not, and must not count twice. Columns of zeros say nothing and are left out.
    """
    lengths = np.linalg.norm(weights, axis=0)
    directions = weights / np.maximum(lengths, 1e-30)
    kept, sums = [], []
    for k in np.argsort(-lengths, kind="stable"):  # the longest of them stays
        if lengths[k] == 0:
            break
        cosines = directions[:, k] @ directions[:, kept]
        like = int(np.argmax(np.abs(cosines))) if kept else None
        if like is None or abs(cosines[like]) <= PARALLEL:
            kept.append(k)
            sums.append(maps[k].copy())
        else:
            sums[like] += cosines[like] * (lengths[k] / lengths[kept[like]]) * maps[k]
    return weights[:, kept], np.array(sums).reshape(len(kept), *maps.shape[1:])


def filters_of(model, code, weights):
    """The filters that these columns of weights stand for, (K, *joint, *support)."""
    base = getattr(code, "filters", None)  # those that were fitted to the sample
    if base is None:
        base = getattr(model, "model", model).bank.filters
    return np.tensordot(weights.T, base, axes=1)


def _own_numbers(model, code, n_used):
    """R weights of each column that is used, or each filter that was fitted to the sample."""
    if getattr(code, "filters", None) is not None:
        return n_used * int(np.prod(code.filters.shape[1:])) if code.is_refitted else 0
    has_weights = getattr(model, "model", model).settings.weights == "sample"
    return n_used * len(code.W) if has_weights else 0


def _median_length(filters):
    if not len(filters):
        return 1.0
    return float(np.median(np.linalg.norm(filters.reshape(len(filters), -1), axis=1)))
