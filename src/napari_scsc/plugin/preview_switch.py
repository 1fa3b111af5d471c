"""The live preview as a switch of the dock."""

from __future__ import annotations

from typing import Any

from napari.layers import Image
from qtpy.QtCore import QObject

from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.live_preview import LivePreview
from napari_scsc.plugin.requests import RestoreRequest


class PreviewSwitch(QObject):
    """Has the preview follow the fields of a dock, and the dock tell of the preview.

    Parameters
    ----------
    dock : Dock
        Whose preview it is.
    """

    def __init__(self, dock: Any) -> None:
        super().__init__(dock)
        self._dock = dock
        self.live = LivePreview(
            dock.viewer, self._read_request, self, is_busy=lambda: dock.controller.is_busy
        )
        self.live.failed.connect(dock.runner.fail)
        self.live.noise_found.connect(dock.display.take_noise_in_view)
        self.live.told.connect(self.show_words)
        self.live.switched.connect(self._switched)
        section = dock.restore_section
        section.preview_switched.connect(
            lambda is_on: dock.attempt(lambda: self.live.switch(is_on))
        )
        section.settings_changed.connect(self.refresh)
        dock.source_section.changed.connect(self.refresh)
        dock.plots.filters.noise_marked.connect(self.refresh)
        # What is restored as a whole needs no preview.
        dock.runner.results_changed.connect(self._results_changed)

    @handler
    def refresh(self) -> None:
        """Follow the fields."""
        self._dock.attempt(self.live.refresh)

    @handler
    def show_words(self, words: str) -> None:
        """Say something about what is in view."""
        self._dock.compare_section.show_preview(self.live.layer)
        if not self._dock.busy:
            self._dock.run_section.say(words)

    def _read_request(self) -> tuple[Image, RestoreRequest]:
        layer, source = self._dock.source_section.first()
        return layer, self._dock.runner.restore_request(layer, source)

    @handler
    def _results_changed(self) -> None:
        self._switched(False)

    @handler
    def _switched(self, is_on: bool) -> None:
        self._dock.preview = is_on
        self._dock.compare_section.show_preview(self.live.layer)
