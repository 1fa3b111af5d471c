"""A mosaic of filters that can be pointed at."""

from __future__ import annotations

from typing import Any

import numpy as np
from qtpy.QtCore import Signal

from napari_scsc._types import Array
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.plots import plot_theme as theme
from napari_scsc.plugin.plots.plot_content import arrange, columns_of, largest_of
from napari_scsc.plugin.plots.plot_widgets import Picture


class FilterMosaic(Picture):
    """Filters side by side, each with its own scale, white at zero.

    Says which one the mouse is over, and draws a frame around one.
    """

    over = Signal(int, int, int)  # filter, and the pixel y, x of it under the mouse

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.tiles: Array = np.zeros((1, 1, 1))
        """The filters as shown, (R, y, x)."""
        self.pointed.connect(self._point)

    def show_filters(self, filters: Array, index: tuple[int, ...]) -> None:
        """Show filters (R, *others, y, x) at that position of the other axes."""
        here: tuple[Any, ...] = (slice(None), *index)
        self.tiles = filters[here]
        scales = largest_of(filters).reshape(-1, 1, 1)
        picture = arrange(diverging(self.tiles / scales, 1.0), theme.SEPARATOR)
        self.show_picture(_without_rest(picture, self.tiles.shape))

    def outline_filter(self, number: int) -> None:
        """Draw a frame around a filter."""
        _, height, width = self.tiles.shape
        down, right = divmod(number, columns_of(*self.tiles.shape))
        self.outline(right * (width + 1), down * (height + 1), width + 2, height + 2, inset=0.5)

    def neighbour(self, number: int, down: int, right: int) -> int:
        """The filter so many steps from another; that one itself if there is none."""
        target = number + right + down * columns_of(*self.tiles.shape)
        return target if 0 <= target < len(self.tiles) else number

    @handler
    def _point(self, row: int, column: int) -> None:
        count, height, width = self.tiles.shape
        (down, y), (right, x) = divmod(row, height + 1), divmod(column, width + 1)
        number = down * columns_of(count, height, width) + right
        # The first pixel of each cell is the line between filters.
        if x > 0 and y > 0 and number < count:
            self.over.emit(number, y - 1, x - 1)


def _without_rest(picture: Array, shape: tuple[int, ...]) -> Array:
    """RGB -> RGBA, in which the room that the last row of tiles leaves can be seen through."""
    count, height, width = shape
    rest = count % columns_of(count, height, width)
    out = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
    if rest:
        out[-height - 1 :, rest * (width + 1) + 1 :, 3] = 0
    return out
