"""The plots as one widget: what to show, when to draw it, and what can be taken away."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from qtpy.QtCore import QBuffer, QEvent, QSize, Signal
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QSizePolicy, QTabWidget, QVBoxLayout, QWidget

from napari_scsc._types import Array
from napari_scsc.errors import UserError, message_of
from napari_scsc.io.atomic_files import write_atomically
from napari_scsc.model.updates import SampleUpdate
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.part_attribute import PartAttribute
from napari_scsc.plugin.plots.explain_tab import ExplainTab
from napari_scsc.plugin.plots.filter_tab import FilterTab
from napari_scsc.plugin.plots.noise_tab import NoiseTab
from napari_scsc.plugin.plots.plot_buttons import PlotButtons, ask_path
from napari_scsc.plugin.plots.plot_content import PlotData, PlottedBank
from napari_scsc.plugin.plots.plot_export import write_table
from napari_scsc.plugin.plots.plot_tab import PlotTab
from napari_scsc.plugin.plots.plot_theme import scaled
from napari_scsc.plugin.plots.progress_tab import ProgressTab
from napari_scsc.plugin.plots.redraw_clock import RedrawClock
from napari_scsc.plugin.plots.tab_chooser import TabChooser
from napari_scsc.plugin.plots.weight_tab import WeightTab

if TYPE_CHECKING:
    from napari_scsc.restore.explain import Explanation
    from napari_scsc.restore.personal_dictionary import PersonalDictionary


class Plots(QWidget):
    """Base filters, weights, progress, noise and the explanation of a pixel, each in a tab.

    Call it from the thread of the GUI as often as you like: it keeps the newest update, redraws
    the visible tab at most ``rate`` times a second, and nothing while it is hidden.

    Signals: ``layer_wanted(object)`` has (data, arguments, "image") for a layer of napari;
    ``failed`` brings an error, or says what could not be saved; ``explaining_changed(bool)``: see
    ``explaining``.

    Parameters
    ----------
    parent : QWidget, optional
        Its parent.
    rate : float
        How often a second it redraws at the most.
    """

    rate = PartAttribute("clock", "Redraws a second, at the most.", is_settable=True)

    layer_wanted = Signal(object)
    failed = Signal(object)
    explaining_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None, *, rate: float = 12.0) -> None:
        super().__init__(parent)
        self.redraws = 0  # for whoever wants to know what the plots cost
        self.clock = RedrawClock(rate, self)
        self._data = PlotData()
        self.filters = FilterTab()
        self.weights = WeightTab()
        self.progress = ProgressTab()
        self.noise = NoiseTab()
        self.explain = ExplainTab()
        self._all_tabs: tuple[PlotTab, ...] = (
            self.filters,
            self.weights,
            self.progress,
            self.explain,
            self.noise,
        )
        self._stale: set[PlotTab] = set(self._all_tabs)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setAccessibleName("Live plots")
        for tab in self._all_tabs:
            self.tabs.setTabToolTip(self.tabs.addTab(tab, tab.title), tab.tip)
        self.chooser = TabChooser(self.tabs)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.buttons = PlotButtons()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.chooser)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self.buttons)
        # Methods and no lambdas, which would keep a widget alive that Qt has deleted.
        self.clock.due.connect(self._draw_visible_tab)
        self.tabs.currentChanged.connect(self._tab_changed)
        self.filters.positions.moved.connect(self._turn)
        self.explain.seen.connect(self.explaining_changed)
        self.explain.turned.connect(self._show_buttons)
        self.noise.changed.connect(self._turn)
        self.noise.changed.connect(self._show_buttons)
        self.buttons.to_layer.clicked.connect(self._send)
        self.buttons.save.clicked.connect(self._save)
        self._recolour()
        self._show_buttons()

    # --- what to show ---------------------------------------------------------------------------

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
        self._data.set_axes(n_joint, labels)
        self._renew(self._all_tabs)

    def show_update(self, update: SampleUpdate) -> None:
        """Show what one sample changed, its weights ordered by their use.

        Parameters
        ----------
        update : SampleUpdate
            From ``iter_fit``. Its arrays are kept and not copied: nobody may write to them.
        """
        self._data.take(PlottedBank(update.B, update.W, update.use))
        self.progress.append(update)
        self._renew(self._all_tabs)

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
            raise UserError(
                f"{len(labels)} labels ({', '.join(labels)}) for filters of the shape "
                f"{filters.shape}: there must be one for each axis after the first"
            )
        if weights is not None or not self._data.has_filters(filters):
            self._data.take(PlottedBank(filters, weights))
        self.set_axes(n_joint, labels)

    def show_explanation(
        self, explanation: Explanation | None, group: PersonalDictionary | None = None
    ) -> None:
        """Show which of the filters now shown made a pixel; None: how to choose one.

        With ``group``, also the personal dictionary of the patches like the one around it.
        """
        self.explain.explain(explanation, self._data.content, group)
        self._renew((self.explain,))

    def clear(self) -> None:
        """Forget everything that was shown."""
        self._data.clear()
        self.progress.forget()
        self.noise.show_noise(None)
        self.explain.explain(None, None)
        self._renew(self._all_tabs)

    # --- what can be taken away -----------------------------------------------------------------

    def mosaic_layer(self) -> Array:
        """The mosaic as shown, (*others, y, x) float32: each filter over its largest magnitude.

        Axes that have a slider come first. Between the filters lies one pixel of zeros.
        """
        content = self._data.content
        if content is None:
            raise UserError("there are no filters yet")
        return content.mosaic()

    def weights_table(self) -> Array:
        """The weights as shown, (R, K): the most used column first."""
        content = self._data.content
        if content is None or content.weights is None:
            raise UserError("there are no weights yet")
        return content.weights[:, content.order]

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Write the visible tab to ``path`` as PNG; complete, or not at all."""
        self._draw_visible_tab()
        buffer = QBuffer()
        if not self._tab.grab().save(buffer, "PNG"):
            raise OSError(f"{os.fspath(path)}: the picture could not be made")
        write_atomically(path, bytes(buffer.data().data()))

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write the numbers of the visible tab to ``path`` as CSV; complete, or not at all."""
        content = self._data.content
        if self._tab.is_empty(content):
            raise UserError("there is nothing to save yet")
        write_table(path, self._tab.table(content))

    @handler
    def _save(self) -> None:
        """Ask where to, and save there."""
        path = ask_path(self, f"{self._tab.title.lower()}.png")
        if path is None:
            return
        save = {".png": self.save_picture, ".csv": self.save_table}.get(path.suffix.lower())
        try:
            if save is None:
                raise UserError("its name must end in .png (a picture) or .csv (a table)")
            save(path)
        except Exception as error:  # nobody above would catch it: Qt calls this
            self.failed.emit(f"{path} was not saved: {message_of(error).text}")

    @handler
    def _send(self) -> None:
        content = self._data.content
        if not self._tab.no_layer(content):
            self.layer_wanted.emit(self._tab.layer(content))

    # --- drawing --------------------------------------------------------------------------------

    @property
    def _tab(self) -> PlotTab:
        """The tab that is to be seen."""
        index: int = self.tabs.currentIndex()
        return self._all_tabs[index]

    def _renew(self, tabs: Iterable[PlotTab]) -> None:
        """Redraw these as soon as the rate allows, if there is somebody to see it."""
        self._stale.update(tabs)
        self.updateGeometry()
        if self.isVisible() and self._tab in self._stale:
            self.clock.ask()

    @handler
    def _turn(self) -> None:
        """A slider was moved, or another noise found: all pictures are out of date."""
        self._renew(tab for tab in self._all_tabs if tab is not self.progress)

    @handler
    def _tab_changed(self) -> None:
        self._renew(())
        self._show_buttons()

    @handler
    def _draw_visible_tab(self) -> None:
        if self._tab in self._stale:
            self._stale.discard(self._tab)
            self.redraws += 1
            content = self._data.content
            # Other tabs show a slice of the filters too: the sliders must know their axes first.
            self.filters.positions.set_axes(content)
            self._tab.draw(content, self.filters.positions.index)
            self._show_buttons()

    @handler
    def _show_buttons(self) -> None:
        content = self._data.content
        nothing = "There is nothing to save yet" if self._tab.is_empty(content) else ""
        self.buttons.allow(self._tab.no_layer(content), nothing)
        self.buttons.to_layer.setVisible(self._tab.is_picture)

    def _recolour(self) -> None:
        for tab in self._all_tabs:
            tab.recolour(self.palette())

    @handler
    def showEvent(self, event: QShowEvent | None) -> None:
        """Catch up with what arrived while nobody was looking."""
        super().showEvent(event)
        self._renew(())

    @handler
    def hideEvent(self, event: QHideEvent | None) -> None:
        """Rest; closing hides too."""
        super().hideEvent(event)
        self.clock.stop()

    @handler
    def changeEvent(self, event: QEvent | None) -> None:
        """Follow the theme and the size of type."""
        super().changeEvent(event)
        changes = (QEvent.Type.PaletteChange, QEvent.Type.FontChange)
        is_change = event is not None and event.type() in changes
        if is_change and hasattr(self, "buttons"):  # Qt calls this in __init__ too
            self._recolour()
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """What fits a dock."""
        return QSize(340, self.minimumSizeHint().height() + (0 if self._data.is_empty else 80))

    def minimumSizeHint(self) -> QSize:
        """Little room while there is nothing to see."""
        return QSize(200, scaled(self, 130 if self._data.is_empty else 340))
