"""Noise of joint values: whether it differs between them, and what of it they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import fft

from napari_scsc._types import Array
from napari_scsc.noise import remarks
from napari_scsc.noise.cosine_patches import FAST, SLOW
from napari_scsc.noise.model import Noise, Rows, rounded_rows

_MIN_LEVEL_RATIO = 1.4  # of the largest to the least, from which on joint values differ
_MIN_SHARED_RATIO = 1.05  # the same where they share noise, which is taken apart by its levels
_SIDE = 8  # pixels along a side of the blocks in which shared noise is looked for
_FLAT_SHARES = (0.03, 0.12)  # of the blocks, the flattest
_MIN_BLOCKS = 24
_MIN_SHARED = 0.25  # mean correlation between joint values, from which on they share noise
_MAX_GROWTH = 1.25  # of the correlation, from the flattest blocks to more: texture grows


def as_seen(own: Sequence[Noise], pooled: Noise) -> list[Noise]:
    """The noises, with one model for all in place of those of which nothing was seen."""
    return [pooled if remarks.UNSEEN in part.remarks else part for part in own]


def differ(own: Sequence[Noise], pooled: Noise, shared: Rows = ()) -> bool:
    """Whether joint values have noise of their own, beside one model for all of them.

    They do where some certainly have none, but not for want of anything to see. Of noise that they
    share, as channels made of one do, brightness explains nothing.
    """
    is_clean = [part.is_clean for part in own]
    if any(part.sigma > 0 for part in own) and (pooled.sigma == 0 or any(is_clean)):
        return True
    if shared:
        levels = [part.sigma for part in own]
        return min(levels) > 0 and max(levels) > _MIN_SHARED_RATIO * min(levels)
    ratios = [
        part.sigma / expected
        for part in own
        if part.sigma > 0 and (expected := float(pooled.variance(np.array(part.mean))) ** 0.5) > 0
    ]
    return len(ratios) > 1 and max(ratios) > _MIN_LEVEL_RATIO * min(ratios)


def some_constant(own: Sequence[Noise]) -> bool:
    """Whether some joint values are the same everywhere, as in an opaque alpha channel."""
    return any(part.sigma > 0 for part in own) and any(
        remarks.CONSTANT in part.remarks for part in own
    )


def raise_levels(own: Sequence[Noise]) -> list[Noise]:
    """The noises, those that are none with the mean level of the others.

    With less than that, joint values without noise would alone say which patches are alike.
    """
    levels = [part.sigma for part in own if part.sigma > 0]
    level = sum(levels) / max(1, len(levels))
    return [
        part if part.sigma > 0 else replace(part, sigma=level, gain=0.0, offset=level**2)
        for part in own
    ]


def shared_noise(tiles: Sequence[Array]) -> Rows:
    """Correlation (C, C) of the noise between joint values of tiles (C, *shift); () if none.

    Fast cosines of the flattest blocks are compared, which the slow ones choose.
    """
    slow, fast = [], []
    for tile in tiles:
        if tile.ndim < 3 or min(tile.shape[-2:]) < _SIDE or not np.isfinite(tile).all():
            continue
        blocks = _cosines_of_blocks(tile.reshape(len(tile), -1, *tile.shape[-2:]))
        row, column = np.divmod(np.arange(_SIDE**2), _SIDE)
        speed = (row + column) / (2 * _SIDE - 2)
        slow.append(blocks[..., (speed > SLOW) & (speed <= FAST)])
        fast.append(blocks[..., speed > FAST])
    if not slow:
        return ()
    slow_all, fast_all = np.concatenate(slow, axis=1), np.concatenate(fast, axis=1)
    if slow_all.shape[1] < _MIN_BLOCKS / _FLAT_SHARES[-1]:
        return ()
    powers = np.square(slow_all).mean(axis=2)
    levels = np.quantile(powers, 0.1, axis=1, keepdims=True)
    order = np.argsort((powers / np.maximum(levels, 1e-30)).sum(axis=0))
    found = []
    for share in _FLAT_SHARES:
        chosen = order[: max(_MIN_BLOCKS, int(share * len(order)))]
        values = fast_all[:, chosen].reshape(len(fast_all), -1)
        size = np.sqrt(np.maximum(np.square(values).mean(axis=1), 1e-30))
        found.append((values @ values.T) / values.shape[1] / np.outer(size, size))
    apart = ~np.eye(len(found[0]), dtype=bool)
    few, many = (float(np.abs(one[apart]).mean()) for one in found)
    if few < _MIN_SHARED or many > _MAX_GROWTH * few:
        return ()
    return rounded_rows(found[0])


def _cosines_of_blocks(planes: Array) -> Array:
    """(C, blocks, cosines) of blocks side by side in planes (C, n, y, x)."""
    c, n, rows, columns = planes.shape
    rows, columns = rows // _SIDE, columns // _SIDE
    cut = planes[..., : rows * _SIDE, : columns * _SIDE]
    blocks = cut.reshape(c, n, rows, _SIDE, columns, _SIDE).swapaxes(3, 4)
    cosines = fft.dctn(blocks, axes=(-2, -1), norm="ortho")
    return np.asarray(cosines).reshape(c, n * rows * columns, _SIDE**2)
