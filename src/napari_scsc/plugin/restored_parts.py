"""A part of a restoration: a layer, or channels that are restored together, and its results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.errors import Message
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin.command import find_origin
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.plugin.result_layer import ResultLayer, make_output
from napari_scsc.restore.bank_fit import BankFit, bank_fit
from napari_scsc.run.partial import Output
from napari_scsc.run.updates import Finished, RegionRestored, Updates


@dataclass
class PreparedPart:
    """A part of a restoration that is ready to run, and what has become of it.

    Attributes
    ----------
    request : RestoreRequest
        What is restored, and how.
    out : array or Output
        Where the values go.
    results : tuple of ResultLayer
        The layers that show it: one, or one for each channel.
    asks_for_fit : bool
        Whether its filters were learned from other images.
    """

    request: RestoreRequest
    out: Array | Output
    results: tuple[ResultLayer, ...]
    asks_for_fit: bool = False
    error: Exception | None = None
    is_begun: bool = False
    is_done: bool = False
    remarks: list[Message] = field(default_factory=list)
    fit: BankFit | None = None

    @property
    def sources(self) -> tuple[Snapshot, ...]:
        """The layers that are restored."""
        return self.request.members or (self.request.source,)

    @property
    def name(self) -> str:
        """What it is called while it runs."""
        return self.request.source.name

    def updates(self, cancellation: Cancellation) -> Updates:
        """Restore; called in the worker."""
        self.is_begun = True
        for update in self.request.updates(self.out, cancellation):
            if isinstance(update, RegionRestored) and update.is_final:
                for result in self.results:
                    result.restored.append(update.region)
            if isinstance(update, Finished):
                self.fit = self._find_fit(update, cancellation)
            yield update

    def take(self, viewer: Any, finished: Finished) -> None:
        """Show the results, which are whole."""
        self.is_done = True
        self.remarks = list(finished.remarks)
        for result in self.results:
            result.fit = self.fit
            result.take(viewer, finished)

    def break_off(self, viewer: Any, bank: FilterBank | None) -> None:
        """Mark the results as partial."""
        for result in self.results:
            result.break_off(viewer, bank)

    def _find_fit(self, finished: Finished, cancellation: Cancellation) -> BankFit | None:
        bank, noise = self.request.bank, finished.noise
        if bank is None or not self.asks_for_fit or noise is None:
            return None
        source = self.request.source
        return bank_fit(source.data, bank, axes=source.axes, noise=noise, cancellation=cancellation)


def prepare_part(
    request: RestoreRequest, wishes: Preferences, script: str, learned_from: frozenset[str]
) -> PreparedPart:
    """A request with the place for its results; ``learned_from`` are ids of layers."""
    out = make_output(request, wishes)
    origin = find_origin(request, script)
    if isinstance(out, Output):
        out = replace(out, origin=origin)
    members = request.members or (request.source,)
    results = []
    for number, member in enumerate(members):
        channel = number if request.members else None
        values = out[number] if request.members and isinstance(out, np.ndarray) else out
        results.append(ResultLayer(replace(request, source=member), values, origin, channel))
    is_own = all(member.layer_id in learned_from for member in members)
    return PreparedPart(request, out, tuple(results), asks_for_fit=not is_own)
