"""The shell lines that do what the dock did, where its layers came from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import stem_of
from napari_scsc.plugin.requests import RESULT_WORDS, RestoreRequest
from napari_scsc.plugin.script import has_values_of_file


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
    if request.masks or request.empty is not None:
        raise UserError("a mask that is a layer has no command: copy the script")
    word = RESULT_WORDS[request.task]
    return command_line(
        BatchRequest(
            inputs=(source.path,),
            out=f"{stem_of(Path(source.path))}-{word}.tif",
            task=request.task,
            axes=source.axes,
            bank=bank,
            options=request.options,
        )
    )
