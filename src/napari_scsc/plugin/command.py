"""Shell lines that do what the dock did, and where its layers came from: files, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import stem_of
from napari_scsc.plugin.requests import RESULT_WORDS, RestoreRequest
from napari_scsc.plugin.script import has_values_of_file
from napari_scsc.run.origin import Origin


def restore_command(requests: Sequence[RestoreRequest], bank: str | None) -> str:
    """A line for each layer; ``bank`` is the file of the filters that were chosen, if some were."""
    return "\n".join(_line(request, bank) for request in requests)


def _line(request: RestoreRequest, bank: str | None) -> str:
    source = request.source
    if request.members:
        raise UserError("channels that are restored together have no command: copy the script")
    if source.path is None or not has_values_of_file(source):
        raise UserError(
            f"{source.name} does not come from a file that has its values: save it first, and open "
            "that file, or copy the script"
        )
    return _line_for_file(request, source.path, bank)


def find_origin(request: RestoreRequest, script: str) -> Origin:
    """What is known of where the image of a request comes from, for the recipe of its result."""
    path = None if request.members else request.source.path
    command = ""
    if path is not None and request.bank is None:  # else the recipe has the filters, and no file
        with suppress(UserError):
            command = _line_for_file(request, path, None)
    return Origin(path=path, command=command, script=script)


def _line_for_file(request: RestoreRequest, path: str, bank: str | None) -> str:
    if request.masks or request.empty is not None:
        raise UserError("a mask that is a layer has no command: copy the script")
    word = RESULT_WORDS[request.task]
    return command_line(
        BatchRequest(
            inputs=(path,),
            out=f"{stem_of(Path(path))}-{word}.tif",
            task=request.task,
            axes=request.source.axes,
            bank=bank,
            options=request.options,
        )
    )
