"""Shell lines that do what the dock did, and where its layers came from: files, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from napari_scsc.batch.request import BatchRequest, command_line
from napari_scsc.data.axes import Axes
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import stem_of
from napari_scsc.plugin.requests import RESULT_WORDS, RestoreRequest, join_axes
from napari_scsc.plugin.script import has_values_of_file
from napari_scsc.run.origin import Origin


def restore_command(requests: Sequence[RestoreRequest], bank: str | None) -> str:
    """A line for each layer, or one for channels of one file that are restored together.

    ``bank`` is the file of the filters that were chosen, if some were.
    """
    return "\n".join(dict.fromkeys(_line(request, bank) for request in requests))


def _line(request: RestoreRequest, bank: str | None) -> str:
    for source in request.members or (request.source,):
        if source.path is None or not has_values_of_file(source):
            raise UserError(
                f"{source.name} does not come from a file that has its values: save it first, and "
                "open that file, or copy the script"
            )
    return _line_for_file(request, bank)


def find_origin(request: RestoreRequest, script: str) -> Origin:
    """What is known of where the image of a request comes from, for the recipe of its result."""
    path = None if request.members else request.source.path
    command = ""
    if path is not None and request.bank is None:  # else the recipe has the filters, and no file
        with suppress(UserError):
            command = _line_for_file(request, None)
    return Origin(path=path, command=command, script=script)


def _line_for_file(request: RestoreRequest, bank: str | None) -> str:
    path, axes = request.source.path, request.source.axes
    if request.members:
        path, axes = _joint_file(request)
    elif request.source.channel is not None:
        raise UserError(
            f"{request.source.name} is one channel of its file, and a command takes all of them: "
            "restore them together, or copy the script"
        )
    if request.masks or request.empty is not None:
        raise UserError("a mask that is a layer has no command: copy the script")
    word = RESULT_WORDS[request.task]
    return command_line(
        BatchRequest(
            inputs=(str(path),),
            out=f"{stem_of(Path(str(path)))}-{word}.tif",
            task=request.task,
            axes=axes,
            bank=bank,
            options=request.options,
        )
    )


def _joint_file(request: RestoreRequest) -> tuple[str, Axes]:
    """The file of which all channels are restored together, and its axes, the joint one in place.

    UserError if they are not all the channels of one file.
    """
    first = request.members[0]
    places = [(member.path, member.channel) for member in request.members]
    channel = first.channel
    if first.path is None or channel is None:
        raise UserError("layers that are restored together have no command: copy the script")
    all_of_them = [(first.path, channel._replace(number=n)) for n in range(channel.total)]
    if places != all_of_them:
        raise UserError(
            "a command restores all channels of one file together, and these are not all: copy "
            "the script"
        )
    return first.path, join_axes(first.axes, channel.axis)
