"""The numbers that the tabs show, and nothing of Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.rgb_pictures import diverging

_STEP = math.log(1.1)  # columns whose use differs by less count as equally used
_BARELY = 1e-3  # of the use of the most used column: what is less has no order
_CONSTANT = 1e-4  # of the largest value of a filter: what differs by less is equal


@dataclass(frozen=True, slots=True)
class PlottedBank:
    """What was given to the plots.

    Attributes
    ----------
    filters : ndarray, (R, *joint, *support)
        The base filters.
    weights : ndarray, (R, K), or None
        The weights beside them.
    use : ndarray, (K,), or None
        How much of the code each column of the weights has.
    """

    filters: Array
    weights: Array | None = None
    use: Array | None = None


@dataclass(frozen=True, slots=True)
class PlotContent:
    """What the tabs show.

    Attributes
    ----------
    filters : ndarray, (R, *others, y, x)
        The base filters; of a 1-D filter, y is 1 long.
    labels : tuple of str
        One for each axis after the first; empty for an axis that the filters do not have.
    n_joint : int
        How many of the axes after the first are joint axes.
    weights : ndarray, (R, K), or None
        The weights of a sample.
    order : ndarray of int, (K,)
        Columns of the weights, the most used first.
    by_use : bool
        Whether the use of the columns is known; else the longest is first.
    """

    filters: Array
    labels: tuple[str, ...]
    n_joint: int
    weights: Array | None
    order: Array
    by_use: bool

    @property
    def spectral(self) -> bool:
        """Whether the first of the others is a joint axis long enough for a curve."""
        return self.n_joint == 1 and self.filters.ndim > 3 and self.filters.shape[1] > 4

    def is_mean(self, number: int) -> bool:
        """Whether a filter is constant: within each joint value, all its values are equal."""
        filters = self.filters[number]
        spread = np.ptp(filters, axis=tuple(range(self.n_joint, filters.ndim))).max()
        largest = np.abs(filters).max()
        return bool(largest > 0 and spread <= _CONSTANT * largest)

    def picture(self, number: int, index: tuple[int, ...]) -> Array:
        """(y, x, 3) uint8: one filter at that position of the other axes."""
        filters = self.filters[number]
        return diverging(filters[index], float(largest_of(filters[None])[0]))

    def mosaic(self) -> Array:
        """(*others, y, x) float32: all filters, each over its largest magnitude."""
        return mosaic_of(self.filters)


class ColumnRanking:
    """Orders the columns of W by use; those that are used about as much keep their places.

    Live, columns would otherwise change places with every sample. Yet no column ever stands behind
    one that is used less than 1 / 1.2 times as much.
    """

    def __init__(self) -> None:
        self._levels: Array = np.zeros(0)
        self._order: Array = np.zeros(0, int)

    def order(self, use: Array) -> Array:
        """Columns, the most used first."""
        use = np.nan_to_num(use, posinf=0, neginf=0)
        largest = max(float(use.max(initial=0)), 1e-30)
        exact = np.log(np.maximum(use, _BARELY * largest)) / _STEP
        if exact.shape != self._levels.shape:
            self._levels, self._order = np.rint(exact), np.argsort(-use, kind="stable")
            return self._order
        # A column leaves its level when it is well outside, not when it crosses the border.
        self._levels = np.where(np.abs(exact - self._levels) < 0.75, self._levels, np.rint(exact))
        self._order = self._order[np.argsort(-self._levels[self._order], kind="stable")]
        return self._order


class PlotData:
    """What was given to the plots last, and the content made of it when it is wanted."""

    def __init__(self) -> None:
        self._ranking = ColumnRanking()
        self._n_joint: int | None = None
        self._labels: tuple[str, ...] | None = None
        self._given: PlottedBank | None = None
        self._content: PlotContent | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given."""
        return self._given is None

    @property
    def content(self) -> PlotContent | None:
        """What the tabs show."""
        if self._content is None and self._given is not None:
            self._content = _make_content(self._given, self._ranking, self._n_joint, self._labels)
        return self._content

    def set_axes(self, n_joint: int | None, labels: Sequence[str] | None) -> None:
        """Name the axes after the first: joint axes, then shift axes."""
        self._n_joint = n_joint
        self._labels = None if labels is None else tuple(labels)
        self._content = None

    def take(self, given: PlottedBank) -> None:
        """Show that from now on."""
        self._given, self._content = given, None

    def has_filters(self, filters: Array) -> bool:
        """Whether these are the filters that were given last."""
        return self._given is not None and np.array_equal(self._given.filters, filters)

    def clear(self) -> None:
        """Forget everything."""
        self._ranking = ColumnRanking()
        self._given = None
        self.set_axes(None, None)


def _make_content(
    given: PlottedBank, ranking: ColumnRanking, n_joint: int | None, labels: tuple[str, ...] | None
) -> PlotContent:
    """What the tabs show of what was given."""
    filters, weights = given.filters, given.weights
    n_axes = filters.ndim - 1
    if labels is None or len(labels) != n_axes:
        labels = _usual_labels(n_axes, n_joint)
    filters = np.nan_to_num(filters, posinf=0, neginf=0)  # a colour for everything
    if n_axes == 1:
        filters, labels = filters[:, None], ("", *labels)
    n_joint = min(n_joint or 0, n_axes)
    if weights is None:
        return PlotContent(filters, labels, n_joint, None, np.zeros(0, int), by_use=False)
    weights = np.nan_to_num(weights, posinf=0, neginf=0) + 0.0  # no minus before a zero
    if given.use is None:
        return PlotContent(filters, labels, n_joint, weights, _by_length(weights), by_use=False)
    return PlotContent(filters, labels, n_joint, weights, ranking.order(given.use), by_use=True)


def _usual_labels(n_axes: int, n_joint: int | None) -> tuple[str, ...]:
    """Names for axes that nobody has named."""
    if n_joint is None or not 1 <= n_axes - n_joint <= 4:
        others = tuple(f"axis {i}" for i in range(1, n_axes - 1))
        return (*others, "y", "x")[-n_axes:]
    joint = {1: ("c",), 2: ("u", "v")}.get(n_joint, tuple(f"joint {i}" for i in range(n_joint)))
    return (*joint, *("t", "z", "y", "x")[n_joint - n_axes :])


def _by_length(weights: Array) -> Array:
    """Columns of W, the longest first; equal ones stay in their order."""
    energy = np.square(weights).sum(axis=0)
    # Most columns lie on the border of the ball: rounding errors shall not shuffle them.
    steps = np.round(energy / max(energy.max(initial=0), 1e-30), 3)
    return np.argsort(-steps, kind="stable")


def largest_of(filters: Array) -> Array:
    """(R,): the largest magnitude of each filter, and something to divide by if that is zero."""
    return np.asarray(np.maximum(np.abs(filters.reshape(len(filters), -1)).max(axis=1), 1e-30))


def columns_of(count: int, height: int, width: int) -> int:
    """How many filters lie side by side, so that the mosaic is about a square."""
    return min(count, math.ceil(math.sqrt(count * (height + 1) / (width + 1))))


def arrange(tiles: Array, fill: int) -> Array:
    """(R, y, x, ...) -> one mosaic, row by row, with one pixel of ``fill`` around each tile."""
    count, height, width, *rest = tiles.shape
    columns = columns_of(count, height, width)
    rows = math.ceil(count / columns)
    cells = np.full((rows, height + 1, columns, width + 1, *rest), fill, tiles.dtype)
    down, right = np.divmod(np.arange(count), columns)
    cells[down, 1:, right, 1:] = tiles
    out = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1, *rest), fill, tiles.dtype)
    out[:-1, :-1] = cells.reshape(rows * (height + 1), columns * (width + 1), *rest)
    return out


def mosaic_of(filters: Array) -> Array:
    """(R, *others, y, x) -> (*others, y, x) float32, each filter over its largest magnitude."""
    scales = largest_of(filters).reshape(-1, *[1] * (filters.ndim - 1))
    tiles = np.moveaxis(filters / scales, 0, -3).astype(np.float32)
    others, (count, height, width) = tiles.shape[:-3], tiles.shape[-3:]
    pictures = [arrange(one, 0) for one in tiles.reshape(-1, count, height, width)]
    return np.stack(pictures).reshape(*others, *pictures[0].shape)


def place_text(labels: Sequence[str], place: Sequence[int | None]) -> str:
    """Say where something is, such as "y 34, x 50, mean of c"."""
    pairs = [(label, i) for label, i in zip(labels, place, strict=True) if label]
    return ", ".join(f"mean of {label}" if i is None else f"{label} {i}" for label, i in pairs)


def sum_of_filters(column: Array, terms: int = 3) -> str:
    """The largest terms of a column of W, such as "0.83 B 3 - 0.31 B 7"."""
    sizes = np.abs(column)
    order = np.argsort(-sizes, kind="stable")
    # What is a hundredth of the largest cannot be seen in the composed filter.
    largest = [int(r) for r in order if sizes[r] > 0.01 * sizes[order[0]]]
    if not largest:
        return "0"
    first, *others = largest[:terms]
    text = f"{column[first]:.2g}_B_{first}"
    for r in others:
        # A hyphen would let a line end after it.
        sign = "\N{MINUS SIGN}" if column[r] < 0 else "+"
        text += f" {sign}_{abs(column[r]):.2g}_B_{r}"
    if len(largest) > terms:
        text += " +_\N{HORIZONTAL ELLIPSIS}"
    return text.replace("_", "\N{NO-BREAK SPACE}")  # lines break between terms
