"""Live plots of what is learned: base filters B, weights W, how far it has come, and why.

Only Qt and pyqtgraph: no napari, and no option of pyqtgraph that other plugins would feel too.
"""

from __future__ import annotations

from napari_scsc.plugin.plots.plots_widget import Plots

__all__ = ["Plots"]
