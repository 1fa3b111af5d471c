"""Layers as readers give them to napari."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LayerData = tuple[Any, dict[str, Any], str]


def image_layer(
    data: Any,
    name: str,
    labels: Sequence[str] | None,
    kind: str | None,
    rgb: bool = False,
    known: dict[str, Any] | None = None,
) -> LayerData:
    """A layer; its labels name the axes without that of the colours, as napari wants it."""
    arguments: dict[str, Any] = {"name": name, "rgb": rgb, "multiscale": False}
    arguments["metadata"] = {"napari_scsc": {"kind": kind, **(known or {})}}
    if labels:
        arguments["axis_labels"] = tuple(labels)
    return data, arguments, "image"
