"""What the dock is set to, as calls of the functions that learn and restore."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.axes import Axes
from napari_scsc.data.foreign_arrays import inspect_array
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape
from napari_scsc.learning.api import iter_learn
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin.layers import Snapshot, keep_values
from napari_scsc.restore.api import estimate_noise, iter_denoise, iter_inpaint
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.run.partial import Output
from napari_scsc.run.updates import FirstLook, RegionRestored, Updates

RESULT_WORDS: dict[RestoreTask, str] = {"denoise": "denoised", "inpaint": "filled"}
"""What the result of a task is called."""


@dataclass(frozen=True, slots=True)
class LearnRequest:
    """A call of ``iter_learn``.

    Attributes
    ----------
    sources : tuple of Snapshot
        The layers to learn from.
    options : dict
        The arguments that the dock is set to; what is left to the function is left out.
    continued : FilterBank, optional
        Filters to go on from.
    """

    sources: tuple[Snapshot, ...]
    options: dict[str, Any]
    continued: FilterBank | None = None

    def updates(self, cancellation: Cancellation) -> Updates:
        """Learn."""
        return iter_learn(
            [source.data for source in self.sources],
            axes=self.sources[0].axes,
            bank=self.continued,
            cancellation=cancellation,
            **self.options,
        )


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """A call of ``iter_denoise`` or ``iter_inpaint``.

    Attributes
    ----------
    task : {"denoise", "inpaint"}
        Which of them.
    source : Snapshot
        The layer to restore.
    options : dict
        The arguments that the dock is set to; what is left to the function is left out.
    bank : FilterBank, optional
        Filters to restore with; without, they are learned on the way.
    threads : int, optional
        How many; None is one for each core.
    find_missing : function
        Says where the image is missing: an array, or None. It is called in the worker.
    masks : tuple of str
        The same as expressions for a script.
    empty : array, optional
        Where the image shows background only: the noise is measured there.
    empty_layer : str
        The name of the layer that says so.
    members : tuple of Snapshot
        The layers that ``source`` joins; empty if it is one layer.
    """

    task: RestoreTask
    source: Snapshot
    options: dict[str, Any]
    bank: FilterBank | None = None
    threads: int | None = None
    find_missing: Callable[[], Array | None] = lambda: None
    masks: tuple[str, ...] = ()
    empty: Array | None = None
    empty_layer: str = ""
    members: tuple[Snapshot, ...] = ()

    @property
    def tells_error(self) -> bool:
        """Whether the errors of the result can be known."""
        return self.task == "denoise" and self.options.get("method", "scsc") == "scsc"

    def updates(self, out: Array | Output, cancellation: Cancellation) -> Updates:
        """Restore into ``out``; an array also takes every first estimate of a region."""
        options: dict[str, Any] = {
            "axes": self.source.axes,
            "bank": self.bank,
            "n_jobs": self.threads,
            "out": out,
            "cancellation": cancellation,
            # Kept with a result in memory, and no option: a script would have a pair to unpack.
            "error": self.tells_error and isinstance(out, np.ndarray),
            **self.options,
        }
        if self.empty is not None:
            options["noise"] = estimate_noise(
                self.source.data, empty=self.empty, axes=self.source.axes
            )
        if self.task == "denoise":
            updates = iter_denoise(self.source.data, **options)
        else:
            updates = iter_inpaint(self.source.data, self.find_missing(), **options)
        for update in updates:
            if isinstance(update, FirstLook | RegionRestored) and isinstance(out, np.ndarray):
                out[update.region] = update.values
            yield update


def keep_request(request: RestoreRequest) -> RestoreRequest:
    """The same with copies of the layers, as far as these can be copied."""
    members = tuple(keep_values(member) for member in request.members)
    # Channels in memory were copied when they were joined.
    source = request.source if members else keep_values(request.source)
    return replace(request, source=source, members=members)


def join_sources(sources: Sequence[Snapshot]) -> Snapshot:
    """Channels of one scene as one source, which filters span: a new first axis, and joint."""
    first = sources[0]
    for other in sources[1:]:
        if other.shape != first.shape or other.axes != first.axes:
            raise UserError(
                f"channels that are restored together have one shape and the same axes, but "
                f"{first.name} is {format_shape(first.shape)} and {other.name} "
                f"{format_shape(other.shape)}",
                remedy="restore each by itself",
            )
    wrapped = [wrap_image(source.data) for source in sources]
    if len({one.dtype for one in wrapped}) > 1:
        raise UserError(
            f"channels that are restored together have one type of values, and these have "
            f"{' and '.join(sorted({str(one.dtype) for one in wrapped}))}",
            remedy="restore each by itself",
        )
    axes = join_axes(first.axes)
    arrays = [inspect_array(source.data, "image")[0] for source in sources]
    if all(isinstance(array, np.ndarray) for array in arrays):
        data: Any = np.stack(arrays)
    else:
        import dask.array

        # Without a name of its own, dask would hash all values to make one.
        data = dask.array.stack([dask.array.asarray(a, name=False) for a in arrays])
    return replace(first, name=", ".join(s.name for s in sources), data=data, axes=axes)


def join_axes(axes: Axes, position: int = 0) -> Axes:
    """The axes of channels that are restored together, from those of each; where they lie."""
    labels, roles = list(axes.labels), list(axes.roles)
    labels.insert(position, "c" if "c" not in axes.labels else "channel")
    roles.insert(position, "joint")
    return Axes("custom", tuple(labels), tuple(roles))


def bank_fits(bank: FilterBank, source: Snapshot) -> bool:
    """Whether filters are for that kind of data."""
    pairs = list(zip(source.shape, source.axes.roles, strict=True))
    joint = tuple(n for n, role in pairs if role == "joint")
    shift = tuple(n for n, role in pairs if role == "shift")
    return (
        bank.joint == joint
        and len(bank.support) == len(shift)
        and all(s <= n for s, n in zip(bank.support, shift, strict=True))
    )
