"""The Python lines that do what the dock did, for napari's console."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from napari_scsc.data.image import wrap_image
from napari_scsc.io.formats import open_file
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.requests import LearnRequest, RestoreRequest
from napari_scsc.restore import script
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.script import format_arguments

_HOMES = {"napari_scsc.plugin.layers": ("missing_from",)}
_HEAD = '# For the console of napari, or a script in which "viewer" has these layers.'
_LAYER = r"""viewer\.layers\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
_MAX_VALUES_COMPARED = 1 << 25
_LEARNING_OPTIONS = ("sigma", "seed")  # those of a restoration that learning knows too


def learn_lines(request: LearnRequest) -> list[str]:
    """The lines that learn the same filters; they leave ``bank``."""
    images = ", ".join(f"viewer.layers[{source.name!r}].data" for source in request.sources)
    bank = {} if request.continued is None else {"bank": "bank"}
    axes = request.sources[0].axes
    return [f"bank = learn({format_arguments(f'[{images}]', axes, bank, request.options)})"]


def restore_lines(requests: Sequence[RestoreRequest]) -> list[str]:
    """The lines that restore the same layers.

    They leave ``result``, or of several layers ``results``, by their names.
    """
    if len(requests) == 1:
        request = requests[0]
        name = (request.members or (request.source,))[0].name
        return [
            _image_line(request),
            f"result = {request.task}({_restore_arguments(request)})",
            f"# viewer.add_image(result, scale=viewer.layers[{name!r}].scale)",
        ]
    lines = ["results = {}"]
    for request in requests:
        call = f"{request.task}({_restore_arguments(request)})"
        lines += [_image_line(request), f"results[{request.source.name!r}] = {call}"]
    return lines


def bank_lines(request: RestoreRequest) -> list[str]:
    """The lines that learn the filters which a restoration learned on the way; leave ``bank``."""
    if request.task == "denoise":
        options = {k: v for k, v in request.options.items() if k in _LEARNING_OPTIONS}
        method = request.options.get("method")
        if method is not None:
            options["model"] = METHODS[method].model
        call = f"learn({format_arguments('image', request.source.axes, {}, options)})"
        return [_image_line(request), f"bank = {call}"]
    return [
        _image_line(request),
        f"*_, last = iter_inpaint({_restore_arguments(request)})",
        "bank = last.bank",
    ]


def make_script(lines: Iterable[str]) -> str:
    """The lines as a script, with the imports that they need."""
    lines = list(lines)
    return script.make_script(lines, _HEAD if "viewer" in "\n".join(lines) else "", _HOMES)


def _image_line(request: RestoreRequest) -> str:
    images = [f"viewer.layers[{s.name!r}].data" for s in request.members or (request.source,)]
    return f"image = np.stack([{', '.join(images)}])" if request.members else f"image = {images[0]}"


def read_from_files(script: str, sources: Iterable[Snapshot]) -> str:
    """The script with layers that came from files read from there, so that it runs by itself.

    Only where the file still has the values of the layer.
    """
    for source in sources:
        layer = f"viewer.layers[{source.name!r}].data"
        if layer in script and source.path is not None and has_values_of_file(source):
            place = "" if source.channel is None else str(source.channel)
            read = f"np.asarray(open_file({source.path!r}).array{place})"
            script = script.replace(layer, read)
            script = re.sub(rf"# viewer.add_image.*{re.escape(repr(source.name))}.*\n", "", script)
    body = [x for x in script.splitlines() if not x.startswith(("from ", "import ", _HEAD))]
    return make_script("\n".join(body).strip().splitlines())


@dataclass(frozen=True, slots=True)
class WrittenScript:
    """What does again what was done, and the ids of the layers that it names, by their names.

    Made by the dock when a job starts; layers may be renamed afterwards.
    """

    text: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def now(
        cls, text: str, viewer_layers: Iterable[Any], sources: Iterable[Snapshot]
    ) -> WrittenScript:
        """The script of a job that starts now, with sources that were taken before."""
        ids = {layer.name: str(layer.unique_id) for layer in viewer_layers}
        return cls(text, ids | {source.name: source.layer_id for source in sources})

    def by_present_names(self, viewer_layers: Iterable[Any]) -> str:
        """The script with layers as they are called by now."""
        return with_present_names(self.text, self.ids, viewer_layers)

    def from_files(self, viewer_layers: Iterable[Any], sources: Iterable[Snapshot]) -> str:
        """The same, with layers that came from files read from there."""
        read = replace(self, text=read_from_files(self.text, sources))
        return read.by_present_names(viewer_layers)


def with_present_names(script: str, ids: Mapping[str, str], viewer_layers: Iterable[Any]) -> str:
    """The script with layers as they are called by now; ``ids`` are those that it names."""
    names_now = {str(layer.unique_id): layer.name for layer in viewer_layers}

    def rename(found: re.Match[str]) -> str:
        old = str(ast.literal_eval(found[1]))
        return f"viewer.layers[{names_now.get(ids.get(old, ''), old)!r}]"

    return re.sub(_LAYER, rename, script)


def has_values_of_file(source: Snapshot) -> bool:
    """Whether the file of a layer has its values; of a large one, shape and type must do."""
    try:
        array = open_file(source.path or "").array
        if source.channel is not None:
            array = array[source.channel.place]
        image = wrap_image(source.data)
        if tuple(array.shape) != image.shape or np.dtype(array.dtype) != image.dtype:
            return False
        is_small = math.prod(image.shape) <= _MAX_VALUES_COMPARED
        return not is_small or np.array_equal(np.asarray(array), image.whole(), equal_nan=True)
    except (OSError, ValueError, TypeError):
        return False


def _restore_arguments(request: RestoreRequest) -> str:
    first = "image"
    if request.task == "inpaint":
        first += ", " + (" | ".join(f"({mask})" for mask in request.masks) or "None")
    names = {} if request.bank is None else {"bank": "bank"}
    options = dict(request.options)
    if request.empty is not None:
        options.pop("noise", None)
        layers = f"viewer.layers[{request.empty_layer!r}], viewer.layers[{request.source.name!r}]"
        marked = {"empty": f"missing_from({layers})"}
        names["noise"] = (
            f"estimate_noise({format_arguments('image', request.source.axes, marked, {})})"
        )
    return format_arguments(first, request.source.axes, names, options)
