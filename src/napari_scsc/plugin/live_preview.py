"""A preview that stays on: what is in view, restored again whenever the view or a field changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from napari.layers import Image
from qtpy.QtCore import QObject, QTimer, Signal

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import Cancellation
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import layers
from napari_scsc.plugin.controller import Ending
from napari_scsc.plugin.handlers import handler
from napari_scsc.plugin.jobs import Job, Outcome, Report
from napari_scsc.plugin.line_layer import LineLayer, lines_around, plane_of
from napari_scsc.plugin.parts import Part, run_parts
from napari_scsc.plugin.preview import is_part_of_view, move_looks, preview_region, read_part
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.restore.api import estimate_noise
from napari_scsc.run.updates import Finished, NoiseFound, Updates

_MILLISECONDS_OF_REST = 250  # after the last change of the view or a field
_FRAME_WIDTH = 3.0  # in pixels of the screen, however large the image is
_COLOURS = ("contrast_limits", "colormap", "gamma")

ReadRequest = Callable[[], tuple[Image, RestoreRequest]]


@dataclass
class _Part:
    """A part of a layer that is restored: what the worker reads, and what it has so far.

    Attributes
    ----------
    whole : RestoreRequest
        What the dock asks for.
    region : tuple of slice
        Which part of it.
    key : tuple
        What the values depend on.
    looks : dict
        Those of the layer of the preview.
    is_cut : bool
        Whether more is in view.
    noise : Noise, optional
        What was measured where the image shows background only; found in the worker.
    values : array, optional
        The result so far; the worker writes into it.
    """

    whole: RestoreRequest
    region: Region
    key: tuple[Any, ...]
    looks: dict[str, Any]
    is_cut: bool
    noise: Noise | None = None
    values: Array | None = field(default=None, repr=False)

    def updates(self, cancellation: Cancellation) -> Updates:
        """Read the part and restore it; all of it in the worker, for a lazy layer takes long."""
        request = self.whole
        source = replace(
            request.source, data=read_part(request.source.data, self.region, cancellation)
        )
        options = dict(request.options)
        if request.empty is not None:
            if self.noise is None:
                whole = request.source
                self.noise = estimate_noise(whole.data, empty=request.empty, axes=whole.axes)
            options["noise"] = self.noise
        cancellation.check()
        part = replace(
            request, source=source, options=options, find_missing=self._find_missing, empty=None
        )
        self.values = np.array(source.data)  # what is not restored yet looks as it is
        yield from part.updates(self.values, cancellation)

    def _find_missing(self) -> Array | None:
        missing = self.whole.find_missing()
        return None if missing is None else missing[self.region]


class _PreviewLayer:
    """The layer that shows a part, framed; one at a time, found again unless it was renamed."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._layer: Image | None = None
        self._frame = LineLayer(viewer, "preview · frame", _FRAME_WIDTH)

    def get(self) -> Image | None:
        """The layer, unless it is gone, or the user has taken it for himself by renaming it."""
        layer = self._layer
        if layer is None or layer not in self._viewer.layers:
            return None
        if layer.name != layer.metadata[layers.OURS]["name"]:
            self._frame.remove()
            self._layer = None
        return self._layer

    def is_removal_of(self, event: Any) -> bool:
        """Whether an event tells that somebody else has removed it."""
        return self._layer is not None and bool(event.value == self._layer)

    def show(self, part: _Part) -> None:
        """Show what there is of a part."""
        if part.values is None:
            return
        values = part.values.copy()  # the worker still writes into its own
        found = self.get()
        if found is not None and found.data.shape == values.shape:
            self.place(part)
            found.data = values
            return
        selected = set(self._viewer.layers.selection)
        self.remove()
        self._layer = self._add(part, values)
        self._viewer.layers.selection = {x for x in selected if x in self._viewer.layers}

    def place(self, part: _Part) -> None:
        """Move the layer to where its part of the source is by now."""
        layer = self.get()
        if layer is not None and part.values is not None:
            for name in layers.PLACE:
                if not np.array_equal(getattr(layer, name), part.looks[name]):
                    setattr(layer, name, part.looks[name])
            self._frame.redraw()

    def take_colours(self, source: Image) -> None:
        """Look as the source does."""
        layer = self.get()
        if layer is not None and not source.rgb:
            for name in _COLOURS:
                setattr(layer, name, getattr(source, name))

    def remove(self) -> None:
        """Remove the layer."""
        layer, self._layer = self.get(), None  # so that it is not taken for the user's wish
        self._frame.remove()
        if layer is not None:
            self._viewer.layers.remove(layer)

    def _add(self, part: _Part, values: Array) -> Image:
        source = replace(part.whole.source, looks=part.looks)
        recipe = {**part.whole.options, "region": [(s.start, s.stop) for s in part.region]}
        made = Image(values, **layers.result_arguments(source, layers.PREVIEW, recipe))
        self._viewer.layers.append(made)
        layers.sign(made)
        self._frame.show(made, lambda unit: self._lines_around(made, unit))
        return made

    def _lines_around(self, layer: Image, unit: float) -> Array:
        region = tuple(slice(0, n) for n in layer.data.shape[: layer.ndim])
        return lines_around(region, *plane_of(self._viewer.dims, layer), _FRAME_WIDTH * unit / 2)


class LivePreview(QObject):
    """Shows what is in view restored, framed, as a layer of our own; while it is switched on.

    It follows the view, the sliders and the values of the source, and what ``refresh`` tells it
    of. One part is restored at a time: a newer one stops the one before. It runs beside the jobs
    of the dock, and leaves the selection of layers alone.

    Parameters
    ----------
    viewer : napari.Viewer
        Whose view it follows.
    read_request : function
        Gives the layer that the dock is about, and what the fields ask for with it.
    parent : QObject
        The dock.
    is_busy : function
        Says whether a restoration runs: the preview then takes one thread only.

    Signals
    -------
    failed : Exception
        What went wrong, once for each change.
    noise_found : Noise
        The noise of the part in view.
    told : str
        How it goes, for the user.
    switched : bool
        It was switched on or off, perhaps by the user's removing the layer.
    """

    failed = Signal(object)
    noise_found = Signal(object)
    told = Signal(str)
    switched = Signal(bool)

    def __init__(
        self,
        viewer: Any,
        read_request: ReadRequest,
        parent: QObject | None = None,
        *,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(parent)
        self._viewer, self._read_request, self._is_busy = viewer, read_request, is_busy
        self._is_on = False
        self._source: Image | None = None
        self._shown = _PreviewLayer(viewer)
        self._part: _Part | None = None  # what is shown, or is being made
        self._job: Job | None = None
        self._n_data = self._n_fields = 0  # how often the values, or a mask, may have changed
        self._last_error = ""
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_MILLISECONDS_OF_REST)
        self._rest.timeout.connect(self._start)

    @property
    def is_on(self) -> bool:
        """Whether it is switched on."""
        return self._is_on

    @property
    def layer(self) -> Image | None:
        """The layer of the preview, if there is one."""
        return self._shown.get()

    @property
    def running(self) -> bool:
        """Whether something is being restored, or will be soon."""
        return self._job is not None or self._rest.isActive()

    def switch(self, on: bool) -> None:
        """Show a preview from now on, or remove it."""
        if on == self._is_on:
            return
        self._is_on = on
        if on:
            self._connect(True)
            self._last_error = ""
            self._rest.start(0)
        else:
            self._connect(False)
            self._rest.stop()
            self._stop_job()
            self._leave_source()
        self.switched.emit(on)

    def refresh(self) -> None:
        """Follow the fields of the dock: another layer, noise, strength, quality, mask or axes."""
        self._n_fields += 1
        self._last_error = ""
        self._ask()

    def close(self) -> None:
        """Switch it off for good."""
        self.switch(False)

    # --- following ------------------------------------------------------------------------------

    def _connect(self, yes: bool) -> None:
        viewer = self._viewer
        camera, dims = viewer.scene.camera.events, viewer.dims.events
        view = (camera.center, camera.zoom, dims.current_step, dims.order, dims.ndisplay)
        for signal in view:
            (signal.connect if yes else signal.disconnect)(self._ask)
        removed = viewer.layers.events.removed
        (removed.connect if yes else removed.disconnect)(self._on_removed)

    def _connect_source(self, layer: Image, yes: bool) -> None:
        events = layer.events
        for name in ("scale", "translate", "rotate", "shear", "affine"):
            signal = getattr(events, name)
            (signal.connect if yes else signal.disconnect)(self._ask)
        (events.data.connect if yes else events.data.disconnect)(self._on_data)
        for name in _COLOURS:
            signal = getattr(events, name)
            (signal.connect if yes else signal.disconnect)(self._on_colours)

    @handler
    def _ask(self, _event: Any = None) -> None:
        """Look again what there is to restore, when the view has come to rest."""
        if self._is_on:
            self._rest.start(_MILLISECONDS_OF_REST)

    @handler
    def _on_data(self, _event: Any = None) -> None:
        self._n_data += 1
        self._ask()

    @handler
    def _on_colours(self, _event: Any = None) -> None:
        if self._source is not None:
            self._shown.take_colours(self._source)

    @handler
    def _on_removed(self, event: Any) -> None:
        if self._shown.is_removal_of(event):
            self.switch(False)  # the user wants it no more
        elif event.value == self._source:
            self._stop_job()
            self._leave_source()
            self._ask()

    def _follow_source(self, layer: Image) -> None:
        if layer != self._source:
            self._leave_source()
            self._source = layer
            self._connect_source(layer, True)

    def _leave_source(self) -> None:
        """Remove the preview, and listen to its source no more."""
        if self._source is not None:
            self._connect_source(self._source, False)
        self._source = self._part = None
        self._shown.remove()

    # --- restoring ------------------------------------------------------------------------------

    @handler
    def _start(self) -> None:
        """Restore what is in view now, unless that is what was restored last."""
        if not self._is_on:
            return
        try:
            layer, request = self._read_request()
            self._follow_source(layer)
            part = self._make_part(layer, request)
        except Exception as error:  # the user is told, whatever it was
            self._stop_job()
            self._fail(error)
            return
        before = self._part
        if before is not None and before.key == part.key:
            before.looks, before.is_cut = part.looks, part.is_cut
            self._shown.place(before)
            return
        if self._job is not None:
            self._stop_job()  # and begin again when it has ended
            return
        if before is not None and before.key[:2] == part.key[:2]:
            part.noise = before.noise
        self._part = part
        self._job = Job("Preview", partial(run_parts, (Part(part.updates),)), self)
        self._job.reported.connect(self._show_report)
        self._job.ended.connect(self._end)
        self.told.emit("Preview ...")
        self._job.start()

    def _make_part(self, layer: Image, request: RestoreRequest) -> _Part:
        region = preview_region(request.source, layer, self._viewer)
        has_mask = request.task == "inpaint" or request.empty is not None
        bank = None if request.bank is None else request.bank.id
        with np.printoptions(threshold=10**9):  # the whole of every array
            options = repr(sorted(request.options.items()))
        key = (
            (request.source.layer_id, id(request.source.data), self._n_data),
            self._n_fields if has_mask else None,  # nobody knows whether the mask is the same
            region,
            request.task,
            request.source.axes,
            options,
            bank,
        )
        threads = 1 if self._is_busy() else request.threads
        return _Part(
            replace(request, threads=threads),
            region,
            key,
            move_looks(request.source.looks, region, layer.ndim),
            is_part_of_view(region, layer, self._viewer),
        )

    def _stop_job(self) -> None:
        if self._job is not None:
            self._job.cancellation.cancel()

    @handler
    def _show_report(self, report: Report) -> None:
        part = self._part
        if not self._is_current or part is None:
            return
        update = report.newest.update
        if isinstance(update, NoiseFound | Finished) and update.noise is not None:
            self.noise_found.emit(update.noise)
        if report.changed:
            self._shown.show(part)

    @handler
    def _end(self, outcome: Outcome) -> None:
        job, part, was_current = self._job, self._part, self._is_current
        self._job = None
        if job is not None:
            job.deleteLater()
        if not self._is_on:
            return
        if not was_current:  # it was stopped for another one
            self._part = None
            self._rest.start(0)
        elif outcome.error is not None:
            self._part = None
            self._fail(outcome.error)
        elif part is not None and outcome.ending is Ending.DONE:
            self._shown.show(part)
            self.told.emit(_describe(part))

    @property
    def _is_current(self) -> bool:
        """Whether what the job restores is still wanted."""
        return self._is_on and self._job is not None and not self._job.cancellation.is_cancelled

    def _fail(self, error: Exception) -> None:
        """Tell it, once: the view will be moved again."""
        if repr(error) != self._last_error:
            self._last_error = repr(error)
            self.failed.emit(error)


def _describe(part: _Part) -> str:
    """What is shown, for the user."""
    lengths = [s.stop - s.start for s in part.region]
    shape = " x ".join(str(n) for n in lengths if n > 1)
    more = "; zoom in to see more of the view" if part.is_cut else ""
    return f"Preview of {shape} pixels{more}"
