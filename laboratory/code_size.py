"""How large a code is: all numbers that a sample has for itself.

What is smaller than a hundredth of the largest value is what an unfinished code still holds: it
adds nothing to the reconstruction and would vanish with more iterations, so it does not count.
"""

from dataclasses import dataclass

import numpy as np

SIGNIFICANT_SHARE = 0.01  # of the largest value
PARALLEL_COSINE = 0.999  # of two columns of W, up to their sign: beyond it they are one filter


@dataclass(frozen=True)
class CodeSize:
    """What a code is made of."""

    values: int  # of the maps, those that count
    side_numbers: int  # besides: weights or filters that the sample has for itself
    tiny: float  # share of the non-zeros that were too small to count
    length: float  # median of the filters that are used; 1 if none is

    @property
    def numbers(self):
        """All that the sample has for itself."""
        return self.values + self.side_numbers


def measure_code_size(model, code):
    """The size of a code that ``model.encode`` made."""
    n_nonzero = np.count_nonzero(code.Z)
    weights, maps = merge_parallel_columns(code.W, code.Z)
    counts = is_significant(maps).reshape(len(maps), -1).sum(axis=1)
    used = counts > 0
    return CodeSize(
        values=int(counts.sum()),
        side_numbers=_count_side_numbers(model, code, int(used.sum())),
        tiny=1 - np.count_nonzero(is_significant(code.Z)) / n_nonzero if n_nonzero else 0.0,
        length=_median_length(compose_filters(model, code, weights[:, used])),
    )


def is_significant(maps):
    """Where the values are that count."""
    magnitude = np.abs(maps)
    return magnitude > SIGNIFICANT_SHARE * magnitude.max(initial=0)


def merge_parallel_columns(weights, maps):
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
        nearest = int(np.argmax(np.abs(cosines))) if kept else None
        if nearest is None or abs(cosines[nearest]) <= PARALLEL_COSINE:
            kept.append(k)
            sums.append(maps[k].copy())
        else:
            sums[nearest] += cosines[nearest] * (lengths[k] / lengths[kept[nearest]]) * maps[k]
    return weights[:, kept], np.array(sums).reshape(len(kept), *maps.shape[1:])


def compose_filters(model, code, weights):
    """The filters that these columns of weights stand for, (K, *joint, *support)."""
    base = getattr(code, "filters", None)  # those that were fitted to the sample
    if base is None:
        base = getattr(model, "model", model).bank.filters
    return np.tensordot(weights.T, base, axes=1)


def _count_side_numbers(model, code, n_used):
    """R weights of each column that is used, or each filter that was fitted to the sample."""
    if getattr(code, "filters", None) is not None:
        return n_used * int(np.prod(code.filters.shape[1:])) if code.is_refitted else 0
    has_weights = getattr(model, "model", model).settings.weights == "sample"
    return n_used * len(code.W) if has_weights else 0


def _median_length(filters):
    if not len(filters):
        return 1.0
    return float(np.median(np.linalg.norm(filters.reshape(len(filters), -1), axis=1)))
