"""Type aliases that the whole package shares, each said once."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""A numpy array of numbers of any type."""

Region = tuple[slice, ...]
"""A box of an array: one slice an axis."""

LayerData = tuple[Any, dict[str, Any], str]
"""A layer as napari's readers give it: data, arguments, and the type of the layer."""
