"""The Python lines that do what the dock did, for napari's console."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from napari_scsc.data.axes import PRESETS, Axes
from napari_scsc.plugin.requests import LearnRequest, RestoreRequest
from napari_scsc.restore.methods import METHODS

_HOMES = {
    "napari_scsc": (
        "Axes",
        "FilterBank",
        "denoise",
        "estimate_noise",
        "inpaint",
        "iter_inpaint",
        "learn",
    ),
    "napari_scsc.plugin.layers": ("missing_from",),
}
"""What a script may have to import, by where it is imported from."""

_HEAD = '# For the console of napari, or a script in which "viewer" has these layers.'
_LEARNING_OPTIONS = ("sigma", "seed")  # those of a restoration that learning knows too


def learn_lines(request: LearnRequest) -> list[str]:
    """The lines that learn the same filters; they leave ``bank``."""
    images = ", ".join(f"viewer.layers[{source.name!r}].data" for source in request.sources)
    bank = {} if request.continued is None else {"bank": "bank"}
    axes = request.sources[0].axes
    return [f"bank = learn({_arguments(f'[{images}]', axes, bank, request.options)})"]


def restore_lines(request: RestoreRequest) -> list[str]:
    """The lines that restore the same layer; they leave ``result``."""
    name = request.source.name
    return [
        _image_line(name),
        f"result = {request.task}({_restore_arguments(request)})",
        f"# viewer.add_image(result, scale=viewer.layers[{name!r}].scale)",
    ]


def bank_lines(request: RestoreRequest) -> list[str]:
    """The lines that learn the filters which a restoration learned on the way; leave ``bank``."""
    if request.task == "denoise":
        options = {k: v for k, v in request.options.items() if k in _LEARNING_OPTIONS}
        method = request.options.get("method")
        if method is not None:
            options["model"] = METHODS[method].model
        image = f"viewer.layers[{request.source.name!r}].data"
        return [f"bank = learn({_arguments(image, request.source.axes, {}, options)})"]
    return [
        _image_line(request.source.name),
        f"*_, last = iter_inpaint({_restore_arguments(request)})",
        "bank = last.bank",
    ]


def make_script(lines: Iterable[str]) -> str:
    """The lines as a script, with the imports that they need."""
    text = "\n".join(lines)
    imports = []
    for module, names in _HOMES.items():
        used = [name for name in names if re.search(rf"(?<![\w.]){name}\b", text)]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
    return "\n".join([_HEAD, *imports, "", text, ""])


def _image_line(name: str) -> str:
    return f"image = viewer.layers[{name!r}].data"


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
        names["noise"] = f"estimate_noise({_arguments('image', request.source.axes, marked, {})})"
    return _arguments(first, request.source.axes, names, options)


def _arguments(first: str, axes: Axes, names: dict[str, str], options: dict[str, Any]) -> str:
    meaning = f"axes=Axes({axes.kind!r}, {axes.labels!r}, {axes.roles!r})"
    if PRESETS.get(axes.kind) == axes:
        meaning = f"kind={axes.kind!r}"
    given = [f"{name}={value}" for name, value in names.items()]
    return ", ".join([first, meaning, *given, *(f"{k}={v!r}" for k, v in options.items())])
