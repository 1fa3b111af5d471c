"""Which axis is shift, joint or sample: presets, and guesses from labels, names and shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from napari_scsc._types import Array

Role = Literal["shift", "joint", "sample"]


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of an array, in its own order.

    Attributes
    ----------
    kind : str
        Name of the preset, or "custom".
    labels : tuple of str
        One letter or word an axis.
    roles : tuple of {"shift", "joint", "sample"}
        Filters slide along a shift axis, span a joint axis whole, and know nothing of each other
        along a sample axis.
    """

    kind: str
    labels: tuple[str, ...]
    roles: tuple[Role, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.roles):
            raise ValueError(f"{len(self.labels)} labels for {len(self.roles)} axes")
        n_shift = self.roles.count("shift")
        if not 1 <= n_shift <= 4:
            raise ValueError(f"filters need 1 to 4 axes to slide along, but {n_shift} were given")

    def order(self) -> tuple[int, ...]:
        """Positions of the axes with sample axes first, then joint, then shift axes."""
        return tuple(
            i
            for role in ("sample", "joint", "shift")
            for i, r in enumerate(self.roles)
            if r == role
        )

    def to_samples(self, array: Array) -> Array:
        """View of the array as (sample..., joint..., shift...); ``from_samples`` undoes it."""
        return array.transpose(self.order())

    def from_samples(self, array: Array) -> Array:
        """View of what ``to_samples`` made, in the order that came in."""
        return array.transpose(tuple(np.argsort(self.order())))

    def count(self, role: Role) -> int:
        """How many axes have that role."""
        return self.roles.count(role)


def _axes(kind: str, letters: str, roles: str) -> Axes:
    names: dict[str, Role] = {"s": "shift", "j": "joint", "n": "sample"}
    return Axes(kind, tuple(letters), tuple(names[r] for r in roles))


PRESETS = {
    preset.kind: preset
    for preset in (
        _axes("image", "yx", "ss"),
        _axes("rgb", "yxc", "ssj"),
        _axes("video", "tyx", "sss"),
        _axes("stack", "zyx", "sss"),
        _axes("multispectral", "cyx", "jss"),
        _axes("light-field", "uvyx", "jjss"),
        _axes("time-lapse", "tyx", "nss"),
    )
}
"""Kinds of data, each with its axes in napari's order."""
# What labels mean, and which role such an axis has where no kind is given.
_MEANINGS: dict[str, tuple[str, Role]] = {
    **dict.fromkeys(("y", "row", "rows", "height"), ("y", "shift")),
    **dict.fromkeys(("x", "column", "columns", "col", "width"), ("x", "shift")),
    **dict.fromkeys(("z", "depth", "plane", "slice", "s"), ("z", "shift")),
    **dict.fromkeys(("t", "time", "frame", "frames"), ("t", "shift")),
    **dict.fromkeys(
        (
            "c",
            "ch",
            "channel",
            "channels",
            "band",
            "bands",
            "wavelength",
            "lambda",
            "λ",
            "w",
            "spectral",
            "rgb",
            "color",
            "colour",
        ),
        ("c", "joint"),
    ),
    **dict.fromkeys(("u", "view_u", "s_view"), ("u", "joint")),
    **dict.fromkeys(("v", "view_v", "t_view"), ("v", "joint")),
    **dict.fromkeys(("n", "p", "position", "scene", "sample", "i", "q", "m"), ("n", "sample")),
}
_WORDS = (
    ("light-field", ("light field", "lightfield", "light-field", "lytro", "lenslet")),
    ("multispectral", ("multispectral", "hyperspectral", "spectral", "bands")),
    ("time-lapse", ("time lapse", "timelapse", "time-lapse")),
    ("video", ("video", "movie", "film")),
    ("stack", ("stack", "volume", "zstack", "z-stack", "confocal", "tomogram")),
)


def resolve(
    shape: Sequence[int],
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    *,
    labels: Sequence[str] | None = None,
    name: str = "",
    rgb: bool = False,
) -> Axes:
    """Decide what the axes of an array of that shape are.

    Parameters
    ----------
    shape : sequence of int
        Lengths of the axes.
    kind : str, optional
        One of ``PRESETS``. Without it the kind is guessed.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the array's own order, such as ``"yxc"``; the kind says their roles.
        ``Axes`` says both.
    labels, name, rgb
        What a guess may use: labels that may be meaningless, a name, and whether the last axis
        is known to hold colours.
    """
    n = len(shape)
    if isinstance(axes, Axes):
        if len(axes.labels) != n:
            raise ValueError(
                f"axes has {len(axes.labels)} axes ({', '.join(axes.labels)}), but the array has "
                f"the shape {tuple(shape)}"
            )
        return axes
    if axes is not None:
        return _from_labels(tuple(axes), n, kind, rgb)
    if kind is not None:
        preset = _preset(kind)
        if len(preset.labels) != n:
            raise ValueError(
                f"{kind} data have {len(preset.labels)} axes ({', '.join(preset.labels)}), but the "
                f"array has the shape {tuple(shape)}: say which is which with axes=..."
            )
        return preset
    kept = long_axes(shape)
    if len(kept) < n:
        own = None if labels is None or len(labels) != n else [labels[i] for i in kept]
        found = resolve([shape[i] for i in kept], labels=own, name=name, rgb=rgb)
        return with_short_axes(found, shape)
    if labels is not None and len(labels) == n and all(_meaning(label) for label in labels):
        return _from_labels(tuple(labels), n, None, rgb)
    return _from_shape(tuple(shape), name, rgb)


def long_axes(shape: Sequence[int]) -> list[int]:
    """Positions of the axes that are longer than 1; of all, if none is.

    Files of microscopes have all five axes, of which only some mean something.
    """
    return [i for i, n in enumerate(shape) if n > 1] or list(range(len(shape)))


def with_short_axes(found: Axes, shape: Sequence[int], labels: Sequence[str] | None = None) -> Axes:
    """Axes of the whole array, from those of its ``long_axes``: the others are sample axes.

    ``labels`` are names for all of them; a sample axis keeps its name.
    """
    names = list(labels or (f"axis {i}" for i in range(len(shape))))
    roles: list[Role] = ["sample"] * len(shape)
    for i, label, role in zip(long_axes(shape), found.labels, found.roles, strict=True):
        roles[i] = role
        # Each position by itself: that does not change what the axis is.
        if label != "n" or labels is None or names[i] in found.labels:
            names[i] = label
    return Axes(found.kind, tuple(names), tuple(roles))


def _preset(kind: str) -> Axes:
    try:
        return PRESETS[kind]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, PRESETS))
        raise ValueError(f"kind must be one of {known}, but is {kind!r}") from None


def _meaning(label: str) -> tuple[str, Role] | None:
    if re.fullmatch(r"-?\d+", label):  # napari's way of saying that there is no label
        return None
    return _MEANINGS.get(label.strip().lower())


def letter_of(label: str) -> str:
    """The letter that an axis of that label is known by; empty where the label says nothing."""
    meaning = _meaning(label)
    return meaning[0] if meaning else ""


def _from_labels(labels: tuple[str, ...], n: int, kind: str | None, rgb: bool) -> Axes:
    if len(labels) != n:
        raise ValueError(f"axes names {len(labels)} axes ({', '.join(labels)}), the array has {n}")
    meanings = [_meaning(label) for label in labels]
    for label, meaning in zip(labels, meanings, strict=True):
        if meaning is None:
            known = ", ".join(sorted({m for m, _ in _MEANINGS.values()}))
            raise ValueError(f"axes: {label!r} is not known; known are {known}")
    letters = tuple(m[0] for m in meanings if m)
    if len(set(letters)) < n:
        raise ValueError(f"axes: {', '.join(labels)} names the same axis twice")
    if kind is None:
        for preset in PRESETS.values():
            if sorted(preset.labels) == sorted(letters) and preset.kind != "time-lapse":
                is_colours = preset.kind == "rgb" or rgb
                if "c" in letters and is_colours != (letters[-1] == "c"):
                    continue
                return _reordered(preset, letters)
        return Axes("custom", letters, tuple(m[1] for m in meanings if m))
    preset = _preset(kind)
    if sorted(preset.labels) != sorted(letters):
        raise ValueError(
            f"{kind} data have the axes {', '.join(preset.labels)}, but axes names "
            f"{', '.join(labels)}"
        )
    return _reordered(preset, letters)


def _reordered(preset: Axes, letters: tuple[str, ...]) -> Axes:
    role = dict(zip(preset.labels, preset.roles, strict=True))
    return Axes(preset.kind, letters, tuple(role[letter] for letter in letters))


def _from_shape(shape: tuple[int, ...], name: str, rgb: bool) -> Axes:
    n = len(shape)
    if n == 1:
        return Axes("custom", ("x",), ("shift",))
    if n == 2:
        return PRESETS["image"]
    if n == 3 and rgb:
        return PRESETS["rgb"]
    spoken = name.lower().replace("_", " ")
    for kind, words in _WORDS:
        if len(PRESETS[kind].labels) == n and any(word in spoken for word in words):
            return PRESETS[kind]
    if n == 3 and shape[2] in (3, 4) and min(shape[:2]) > 8:
        return PRESETS["rgb"]
    if n == 4 and shape[0] == shape[1] and 2 <= shape[0] <= 17 and min(shape[2:]) > 2 * shape[0]:
        return PRESETS["light-field"]
    kinds = [k for k, p in PRESETS.items() if len(p.labels) == n and k != "rgb"]
    if kinds:
        raise ValueError(
            f"an array of the shape {shape} can be {_either(kinds)}: say which with kind=..., "
            "or name its axes with axes=..."
        )
    raise ValueError(
        f"an array of the shape {shape} has no usual kind: name its axes with axes=..."
    )


def _either(words: Sequence[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
