"""What the plots ask of each of their tabs."""

from __future__ import annotations

from qtpy.QtGui import QPalette
from qtpy.QtWidgets import QWidget

from napari_scsc._types import LayerData
from napari_scsc.plugin.plots.plot_content import PlotContent
from napari_scsc.plugin.plots.plot_export import Table


class PlotTab(QWidget):
    """A tab: it draws the content, and gives its numbers away."""

    title = ""
    tip = ""
    is_picture = True
    """Whether it may become a layer."""

    def draw(self, content: PlotContent | None, index: tuple[int, ...]) -> None:
        """Show the content, at that position of the axes that have a slider."""
        raise NotImplementedError

    def recolour(self, palette: QPalette) -> None:
        """Take the colours of the window."""
        raise NotImplementedError

    def is_empty(self, content: PlotContent | None) -> bool:
        """Whether there is nothing to save."""
        raise NotImplementedError

    def table(self, content: PlotContent | None) -> Table:
        """Its numbers, with a row of names before them; only if it is not empty."""
        raise NotImplementedError

    def no_layer(self, content: PlotContent | None) -> str:
        """Why it cannot be sent to napari as a layer; empty if it can."""
        raise NotImplementedError

    def layer(self, content: PlotContent | None) -> LayerData:
        """What is shown, as a layer; only if there is no reason against it."""
        raise NotImplementedError
