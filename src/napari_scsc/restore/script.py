"""Lines of Python that do again what was done, for people to read, to copy and to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from napari_scsc.data.axes import PRESETS, Axes

_HOMES = {
    "napari_scsc": (
        "Axes",
        "FilterBank",
        "Noise",
        "denoise",
        "estimate_noise",
        "inpaint",
        "iter_inpaint",
        "learn",
    ),
    "napari_scsc.io.formats": ("open_file",),
    "napari_scsc.noise.empty": ("EmptyNoise",),
}
"""What a script may have to import, by where it is imported from."""


def make_script(
    lines: Iterable[str], head: str = "", homes: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """The lines as a script, with the imports that they need; ``homes`` are further ones."""
    text = "\n".join(lines)
    imports = []
    for module, names in {**_HOMES, **(homes or {})}.items():
        used = [name for name in names if re.search(rf"(?<![\w.]){name}\b", text)]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
    if "np." in text:
        imports.insert(0, "import numpy as np")
    return "\n".join([*([head] if head else []), *imports, "", text, ""])


def format_arguments(
    first: str, axes: Axes, names: Mapping[str, str], options: Mapping[str, Any]
) -> str:
    """The arguments of a call: the first, the axes, variables by the argument they are for."""
    meaning = f"axes=Axes({axes.kind!r}, {axes.labels!r}, {axes.roles!r})"
    if PRESETS.get(axes.kind) == axes:
        meaning = f"kind={axes.kind!r}"
    given = [f"{name}={value}" for name, value in names.items()]
    return ", ".join([first, meaning, *given, *(f"{k}={v!r}" for k, v in options.items())])
