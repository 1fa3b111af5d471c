"""What the dock shows: what its buttons do, and what was found of the images."""

from __future__ import annotations

from typing import Any

from napari.utils.theme import get_theme
from qtpy.QtGui import QColor

from napari_scsc.noise.model import Noise
from napari_scsc.plugin import preferences
from napari_scsc.plugin.controller import Event, State
from napari_scsc.plugin.cost import duration, find_cost, in_bytes, layers_half_way
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.jobs import Background
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.plugin.sections.form_widgets import set_accent
from napari_scsc.restore.api import estimate_noise
from napari_scsc.restore.quality import QUALITIES

_FINDING = "Finding the noise ..."


class DockDisplay:
    """Keeps buttons, costs, noise and colours of a dock as its layers, fields and jobs are.

    Parameters
    ----------
    dock : Dock
        Whose parts they are.
    """

    def __init__(self, dock: Any) -> None:
        self._dock, self.failed = dock, dock.failed
        self._told_of: tuple[str, ...] = ()  # ids of the layers that messages are about
        self._noises: dict[str, Noise] = {}  # that were found, by the ids of the layers
        self._finding = Background(dock)
        self._finding.failed.connect(dock.failed)

    def forget(self) -> None:
        """Forget what was found."""
        self._noises.clear()
        self._dock.restore_section.show_noise(None)

    @handler
    def follow_sources(self) -> None:
        """Be about the layers that are ticked now."""
        dock, ids = self._dock, self._ids
        if ids != self._told_of:  # what was said was about other images
            dock.restore_section.set_target(ids)
            self._show_noise()
            if not dock.busy:
                dock.run_section.say("")
        self._told_of = ids
        dock.restore_section.reset_choices()
        dock.compare_section.reset_choices()
        self.show_state()

    @handler
    def take_noise(self, layer_id: str, noise: Noise) -> None:
        """Show the noise of a layer, as long as that is ticked."""
        self._noises[layer_id] = noise
        self._show_noise()

    @handler
    def take_noise_in_view(self, noise: Noise) -> None:
        """The same, found by the preview."""
        section = self._dock.restore_section
        is_found = not section.sigma.value and not section.inpaints  # and not given
        if self._ids and is_found and not self._dock.busy:
            self.take_noise(self._ids[0], noise)

    @property
    def busy(self) -> bool:
        """Whether the noise is being found, for a step up from *auto*."""
        return self._finding.running

    @handler
    def find_noise(self) -> None:
        """Find the noise of the first ticked layer, and have the field begin with it."""
        dock = self._dock
        layer, source = dock.source_section.first()
        empty = dock.restore_section.empty_in(layer)
        if not dock.busy:
            dock.run_section.say(_FINDING)
        self._finding.run(
            lambda: estimate_noise(source.data, empty=empty, axes=source.axes),
            lambda noise: self._begin_with(source.layer_id, noise),
        )

    def _begin_with(self, layer_id: str, noise: Noise) -> None:
        dock, field = self._dock, self._dock.restore_section.sigma
        if dock.message == _FINDING:
            dock.run_section.say("" if noise.sigma > 0 else "No noise was found: type its level")
        self.take_noise(layer_id, noise)
        if noise.sigma > 0 and self._ids[:1] == (layer_id,) and not field.value:
            field.native.stepBy(1)

    @property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self._dock.source_section.picker.ticked)

    def _show_noise(self) -> None:
        found = [self._noises[layer_id] for layer_id in self._ids if layer_id in self._noises]
        self._dock.restore_section.show_noise(found[0] if found else None)

    def show_state(self) -> None:
        """Which buttons can be pressed, and what they will do."""
        dock = self._dock
        problem = dock.source_section.problem()
        controller, run = dock.controller, dock.run_section
        state = controller.state
        run.show_paused(controller.is_paused)
        dock.learn_section.show_state(
            problem or controller.refusal(Event.LEARN), state is State.LEARNING
        )
        if state is State.STOPPING:
            run.show_button("Stopping ...", "What was done so far stays", "")
        elif state is State.IDLE:
            run.show_button(*self._describe_task(problem), problem)
        else:
            words = "Stop" if state is State.RESTORING else "Stop learning"
            run.show_button(words, "Stop; what was done so far stays", "")
        dock.menu.show_state()

    def _describe_task(self, problem: str) -> tuple[str, str]:
        """What the main button says, and its tooltip; the seconds of each quality beside it."""
        dock, section = self._dock, self._dock.restore_section
        verb = "Fill" if section.inpaints else "Denoise"
        if problem:
            section.show_seconds({})
            return verb, problem
        sources, wishes = dock.source_section.snapshots(), preferences.read_preferences()
        options = {"quality": section.quality.value, "method": section.method_name}
        requests = [RestoreRequest(section.task_name, source, options) for source in sources]
        n_layers = layers_half_way(dock.viewer, requests)
        seconds = {
            quality: sum(find_cost(one, wishes, quality, n_layers).seconds for one in requests)
            for quality in QUALITIES
        }
        section.show_seconds({name: duration(value) for name, value in seconds.items()})
        dock.learn_section.show_bank(dock.filters.bank_for(sources[0]))
        count = f" {len(sources)} layers" if len(sources) > 1 else ""
        names = ", ".join(source.name for source in sources)
        memory = in_bytes(sum(find_cost(request, wishes).memory for request in requests))
        tip = f"{names}\nInto new layers; yours stay as they are. Needs {memory} of memory"
        return f"{verb}{count} · {duration(seconds[section.quality.value])}", tip

    def recolour(self, _event: Any = None) -> None:
        """Take the accent colour of the theme; the frame that of text, to be seen around it too."""
        dock, theme = self._dock, get_theme(self._dock.viewer.theme)
        accent = QColor(*theme.current.as_rgb_tuple()[:3])
        for button in (dock.run_section.main_button, dock.batch_tab.start_button):
            set_accent(button, accent)
        dock.focus_frame.colour = QColor(*theme.text.as_rgb_tuple()[:3])
