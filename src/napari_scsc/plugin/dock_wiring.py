"""Who hears whom in the dock: its parts each other, and the dock its viewer."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QObject

from napari_scsc._types import LayerData
from napari_scsc.plugin.canvas_context import make_canvas_current
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.opening import open_paths
from napari_scsc.plugin.placing import add_beside


class DockWiring(QObject):
    """Connects the parts of a dock, and while it is attached the events of its viewer.

    Parameters
    ----------
    dock : Dock
        Whose parts they are.
    """

    def __init__(self, dock: Any) -> None:
        super().__init__(dock)
        self._dock = dock
        sections = (
            dock.source_section,
            dock.learn_section,
            dock.restore_section,
            dock.compare_section,
            dock.run_section,
            dock.batch_tab,
        )
        for part in (dock, *sections, dock.plots, dock.explainer):
            part.failed.connect(dock.runner.fail)
        dock.filters.changed.connect(self._show_state)
        dock.filters.told.connect(self._say)
        dock.compare_section.told.connect(dock.preview_switch.show_words)
        dock.compare_section.wipe.taken_back.connect(self._take_back)
        dock.source_section.changed.connect(dock.display.follow_sources)
        dock.source_section.others_changed.connect(self._list_others)
        dock.learn_section.wanted.connect(lambda: dock.attempt(dock.learn_or_stop))
        dock.restore_section.task_changed.connect(self._show_state)
        dock.restore_section.cost_changed.connect(self._show_state)
        dock.restore_section.sigma.typical_wanted.connect(dock.display.find_noise)
        dock.runner.noise_found.connect(dock.display.take_noise)
        dock.batch_tab.open_wanted.connect(self._open_result)
        dock.plots.layer_wanted.connect(self._add_beside)
        dock.plots.explaining_changed.connect(self.explaining_changed)

    def attach(self) -> None:
        """Listen to the viewer."""
        viewer = self._dock.viewer
        viewer.layers.events.removing.connect(self._layer_removing)
        viewer.layers.selection.events.active.connect(self._active_changed)
        viewer.events.theme.connect(self._theme_changed)
        self._theme_changed()
        self.explaining_changed(self._dock.plots.explaining)

    def detach(self) -> None:
        """Listen to it no more."""
        viewer = self._dock.viewer
        viewer.layers.events.removing.disconnect(self._layer_removing)
        viewer.layers.selection.events.active.disconnect(self._active_changed)
        viewer.events.theme.disconnect(self._theme_changed)

    # --- the viewer -----------------------------------------------------------------------------

    @handler
    def _layer_removing(self) -> None:
        make_canvas_current()

    @handler
    def _theme_changed(self, _event: Any = None) -> None:
        self._dock.display.recolour()

    @handler
    def _active_changed(self, event: Any) -> None:
        """Compare the result that is active in napari."""
        dock = self._dock
        result = dock.runner.result_in(event.value) if dock.link.attached else None
        if result is not None and result.noise is not None and not dock.busy:
            dock.compare_section.show_result(result)

    # --- parts of the dock ----------------------------------------------------------------------

    @handler
    def explaining_changed(self, is_explaining: bool) -> None:
        """Take clicks on the canvas, and outline groups there, while somebody looks at them."""
        self._dock.link.listen_to_clicks(is_explaining)
        self._dock.explainer.outlines.set_seen(is_explaining)

    @handler
    def _list_others(self) -> None:
        for section in (self._dock.restore_section, self._dock.compare_section):
            section.reset_choices()

    @handler
    def _show_state(self) -> None:
        self._dock.display.show_state()

    @handler
    def _say(self, text: str) -> None:
        self._dock.run_section.say(text)

    @handler
    def _take_back(self, text: str) -> None:
        if self._dock.message == text:
            self._dock.run_section.say("")

    @handler
    def _add_beside(self, made: LayerData) -> None:
        add_beside(self._dock.viewer, made)

    @handler
    def _open_result(self, result: str, source: str) -> None:
        open_paths(self._dock.viewer, (source, result))  # the result is to be on top
