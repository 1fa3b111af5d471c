"""What the commands read and write: options about files, and what comes from a pipe."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.batch import inputs
from napari_scsc.batch.inputs import STANDARD_INPUT, find_axes, naming_inputs
from napari_scsc.batch.request import BatchRequest, BatchTask
from napari_scsc.errors import Remedy, UserError

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile


@dataclass(frozen=True, kw_only=True)
class FileRequest:
    """Which files a command reads and writes, and how: the options that are no job's business."""

    inputs: tuple[str, ...]
    kind: str | None
    axes: str | None
    key: str | None
    as_json: bool
    out: str = ""
    scheduler: str | None = None
    summary: str | None = None


def split_options(given: Mapping[str, Any]) -> tuple[FileRequest, dict[str, Any]]:
    """The options of a command: those about files, and those that are the job's."""
    names = {field.name for field in fields(FileRequest)}
    request = FileRequest(**{name: given[name] for name in given if name in names})
    return request, {name: given[name] for name in given if name not in names}


def make_batch_request(task: BatchTask, given: Mapping[str, Any]) -> BatchRequest:
    """The job that the options of a command ask for."""
    named = {field.name for field in fields(BatchRequest)}
    elsewhere = {"as_json", "scheduler", "summary", "missing"}
    options = {n: v for n, v in given.items() if n not in named | elsewhere and v is not None}
    files = {name: value for name, value in given.items() if name in named}
    return BatchRequest(task=task, mask=given.get("missing"), options=options, **files)


def make_temporary_folder() -> Path:
    """A folder that is there until the command ends."""
    return Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory()))


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at it, or types."""
    return stream is not None and stream.isatty()  # a closed one is None


def open_array(path: str, key: str | None = None) -> OpenedFile:
    """An input as a lazy array; what comes from a pipe is kept in a file meanwhile."""
    return inputs.open_array(str(_keep_standard_input()) if path == STANDARD_INPUT else path, key)


def _keep_standard_input() -> Path:
    """A file with what is piped in: it may be larger than the memory, and other processes read."""
    if is_terminal(sys.stdin):
        raise UserError("is a terminal, and '-' reads an array from a pipe or a file")
    place = make_temporary_folder() / "standard input.npy"
    with open(place, "wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if place.stat().st_size == 0:
        raise UserError("nothing came from it")
    return place


def open_input(path: str, request: FileRequest) -> tuple[OpenedFile, Axes]:
    """An input, and what its axes are."""
    image = open_array(path, request.key)
    return image, find_axes(image, request.kind, request.axes)


def open_alike(paths: list[str], request: FileRequest) -> tuple[list[OpenedFile], Axes]:
    """Inputs that are learned from together, and the axes that all of them have."""
    images: list[OpenedFile] = []
    shared: Axes | None = None
    for path in paths:
        with naming_inputs([path]):
            image, axes = open_input(path, request)
            shared = shared or axes
            if axes != shared:
                raise UserError(
                    f"the axes are {', '.join(axes.labels)} ({axes.kind}), but of the first "
                    f"input {', '.join(shared.labels)} ({shared.kind})",
                    remedy=Remedy.NAME_AXES,
                )
            images.append(image)
    assert shared is not None
    return images, shared
