"""The plots as one widget: what to show, when to draw it, and what can be taken away."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from qtpy.QtCore import QBuffer, QEvent, QSize, QTimer, Signal
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QSizePolicy, QTabWidget, QVBoxLayout, QWidget

from napari_scsc.io.atomic_files import write_atomically
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.plots.plot_buttons import PlotButtons, ask_path
from napari_scsc.plugin.plots.plot_content import Array, PlotContent, ColumnRanking, PlottedBank, make_plot_content
from napari_scsc.plugin.plots.explain_tab import ExplainTab
from napari_scsc.plugin.plots.plot_export import write_table
from napari_scsc.plugin.plots.filter_tab import FilterTab
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.progress_tab import ProgressTab
from napari_scsc.plugin.plots.weight_tab import WeightTab

if TYPE_CHECKING:
    from napari_scsc.restore.explain import Explanation


class Plots(QWidget):
    """Base filters, weights, progress and the explanation of a pixel, each in a tab.

    Call it from the thread of the GUI as often as you like: it keeps the newest update, redraws
    the visible tab at most ``rate`` times a second, and nothing while it is hidden.

    Signals: ``layer_wanted(object)`` has (data, arguments, "image") for a layer of napari;
    ``failed(str)`` says what could not be saved; ``explaining_changed(bool)``: see ``explaining``.

    Parameters
    ----------
    parent : QWidget, optional
        Its parent.
    rate : float
        How often a second it redraws at the most.
    """

    layer_wanted = Signal(object)
    failed = Signal(str)
    explaining_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None, *, rate: float = 12.0) -> None:
        super().__init__(parent)
        self.rate = rate
        self.redraws = 0  # for whoever wants to know what the plots cost
        self._n_joint: int | None = None
        self._labels: tuple[str, ...] | None = None
        self._source: PlottedBank | None = None
        self._ranking = ColumnRanking()
        self._content: PlotContent | None = None
        self._drawn_at = -math.inf
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._redraw)

        self.filters = FilterTab()
        self.weights = WeightTab()
        self.progress = ProgressTab()
        self.explain = ExplainTab()
        self._panels: tuple[PlotTab, ...] = (self.filters, self.weights, self.progress, self.explain)
        self._stale = set(range(len(self._panels)))
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setAccessibleName("Live plots")
        for panel in self._panels:
            self.tabs.setTabToolTip(self.tabs.addTab(panel, panel.title), panel.tip)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.buttons = PlotButtons()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self.buttons)
        self._connect()
        self._recolour()
        self._show_buttons()

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._schedule)
        self.tabs.currentChanged.connect(self._show_buttons)
        self.filters.positions.moved.connect(self._turn)
        self.explain.seen.connect(self.explaining_changed)
        self.buttons.to_layer.clicked.connect(self._send)
        self.buttons.save.clicked.connect(self._save)

    # --- what to show ---------------------------------------------------------------------------

    @property
    def rate(self) -> float:
        """Redraws a second, at the most."""
        return self._rate

    @rate.setter
    def rate(self, value: float) -> None:
        if not 0 < value < math.inf:
            raise ValueError(f"rate must be a positive number of redraws a second, not {value!r}")
        self._rate = float(value)

    @property
    def explaining(self) -> bool:
        """Whether the tab that explains a pixel is to be seen."""
        return bool(self.explain.isVisible())

    def set_axes(self, n_joint: int, labels: Sequence[str] | None = None) -> None:
        """Say what the axes of the filters in the updates to come are.

        Parameters
        ----------
        n_joint : int
            How many of the axes after the first are joint axes.
        labels : sequence of str, optional
            One for each axis after the first: joint axes, then shift axes.
        """
        self._n_joint = n_joint
        self._labels = None if labels is None else tuple(labels)
        self._renew()

    def show_update(self, update: SampleUpdate) -> None:
        """Show what one sample changed, its weights ordered by their use.

        Parameters
        ----------
        update : SampleUpdate
            From ``iter_fit``. Its arrays are kept and not copied: nobody may write to them.
        """
        self._source = PlottedBank(update.B, update.W, update.use)
        self.progress.append(update)
        self._renew()

    def show_bank(
        self,
        filters: Array,
        n_joint: int,
        labels: Sequence[str] | None = None,
        *,
        weights: Array | None = None,
    ) -> None:
        """Show filters (R, *joint, *support) that were not just learned; the curves stay.

        ``weights`` (R, K) are those to show beside them. Without, those of the last update stay
        if the filters are its own, and else none are shown.
        """
        if labels is not None and len(labels) != filters.ndim - 1:
            raise ValueError(
                f"{len(labels)} labels ({', '.join(labels)}) for filters of the shape "
                f"{filters.shape}: there must be one for each axis after the first"
            )
        known = self._source
        if weights is not None or known is None or not np.array_equal(known.filters, filters):
            self._source = PlottedBank(filters, weights)
        self.set_axes(n_joint, labels)

    def show_explanation(self, explanation: Explanation | None) -> None:
        """Show which of the filters now shown made a pixel; None: how to choose one."""
        self.explain.explain(explanation, self._current())
        self._stale.add(self._panels.index(self.explain))
        self._schedule()

    def clear(self) -> None:
        """Forget everything that was shown."""
        self._source = None
        self._ranking = ColumnRanking()
        self._n_joint = self._labels = None
        self.progress.forget()
        self.explain.explain(None, None)
        self._renew()

    # --- what can be taken away -----------------------------------------------------------------

    def mosaic_layer(self) -> Array:
        """The mosaic as shown, (*others, y, x) float32: each filter over its largest magnitude.

        Axes that have a slider come first. Between the filters lies one pixel of zeros.
        """
        content = self._current()
        if content is None:
            raise ValueError("there are no filters yet")
        return content.mosaic()

    def weights_table(self) -> Array:
        """The weights as shown, (R, K): the most used column first."""
        content = self._current()
        if content is None or content.weights is None:
            raise ValueError("there are no weights yet")
        return content.weights[:, content.order]

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Write the visible tab to ``path`` as PNG; complete, or not at all."""
        self._draw_visible_tab()
        buffer = QBuffer()
        if not self._panel.grab().save(buffer, "PNG"):
            raise OSError(f"{os.fspath(path)}: the picture could not be made")
        write_atomically(path, bytes(buffer.data().data()))

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write the numbers of the visible tab to ``path`` as CSV; complete, or not at all."""
        if self._panel.is_empty(self._current()):
            raise ValueError("there is nothing to save yet")
        write_table(path, self._panel.table(self._current()))

    def _save(self) -> None:
        """Ask where to, and save there."""
        path = ask_path(self, f"{self._panel.title.lower()}.png")
        if path is None:
            return
        try:
            self._save_to(path)
        except OSError as error:
            self.failed.emit(f"{path} was not saved: {error.strerror or error}")
        except Exception as error:  # nobody above would catch it: Qt calls this
            self.failed.emit(f"{path} was not saved: {error}")

    def _save_to(self, path: Path) -> None:
        write_as = {".png": self.save_picture, ".csv": self.save_table}.get(path.suffix.lower())
        if write_as is None:
            raise ValueError("its name must end in .png (a picture) or .csv (a table)")
        write_as(path)

    def _send(self) -> None:
        content = self._current()
        if not self._panel.no_layer(content):
            self.layer_wanted.emit(self._panel.layer(content))

    # --- drawing --------------------------------------------------------------------------------

    @property
    def _panel(self) -> PlotTab:
        """The tab that is to be seen."""
        index: int = self.tabs.currentIndex()
        return self._panels[index]

    def _renew(self) -> None:
        """Something arrived: every tab is out of date."""
        self._content = None
        self._stale = set(range(len(self._panels)))
        self.updateGeometry()
        self._schedule()

    def _turn(self) -> None:
        """A slider was moved, and every picture of a filter turns."""
        self._stale |= {self._panels.index(p) for p in self._panels if p is not self.progress}
        self._schedule()

    def _schedule(self) -> None:
        """Redraw as soon as the rate allows, if there is somebody to see it."""
        wanted = self.isVisible() and self.tabs.currentIndex() in self._stale
        if wanted and not self._timer.isActive():
            wait = max(0.0, self._drawn_at + 1 / self._rate - time.monotonic())
            self._timer.start(math.ceil(1000 * wait))

    def _redraw(self) -> None:
        if self.isVisible():
            self._drawn_at = time.monotonic()
            self._draw_visible_tab()

    def _draw_visible_tab(self) -> None:
        index = self.tabs.currentIndex()
        if index in self._stale:
            self._stale.discard(index)
            self.redraws += 1
            # Other tabs show a slice of the filters too: the sliders must know their axes first.
            self.filters.positions.set_axes(self._current())
            self._panel.draw(self._current(), self.filters.positions.index)
            self._show_buttons()

    def _show_buttons(self) -> None:
        content = self._current()
        nothing = "There is nothing to save yet" if self._panel.is_empty(content) else ""
        self.buttons.allow(self._panel.no_layer(content), nothing)
        self.buttons.to_layer.setVisible(self._panel.is_picture)

    def _current(self) -> PlotContent | None:
        """The newest content, made when it is wanted and not when it arrives."""
        if self._content is None and self._source is not None:
            self._content = make_plot_content(self._source, self._ranking, self._n_joint, self._labels)
        return self._content

    def _recolour(self) -> None:
        for panel in self._panels:
            panel.recolour(self.palette())

    def showEvent(self, event: QShowEvent | None) -> None:
        """Catch up with what arrived while nobody was looking."""
        super().showEvent(event)
        self._schedule()

    def hideEvent(self, event: QHideEvent | None) -> None:
        """Rest; closing hides too."""
        super().hideEvent(event)
        self._timer.stop()

    def changeEvent(self, event: QEvent | None) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        palette_changed = event is not None and event.type() == QEvent.Type.PaletteChange
        if palette_changed and hasattr(self, "buttons"):  # Qt calls this in __init__ too
            self._recolour()

    def sizeHint(self) -> QSize:
        """What fits a dock."""
        return QSize(340, self.minimumSizeHint().height() + (80 if self._source else 0))

    def minimumSizeHint(self) -> QSize:
        """Little room while there is nothing to see."""
        return QSize(200, 130 if self._source is None else 340)
