"""Axes in words: what data are, and what is restored together."""

from __future__ import annotations

from collections.abc import Sequence

from napari_scsc.data.axes import COLOUR_COUNTS, Axes, Role, letter_of

_COUNTED = {"c": "channels", "z": "planes", "u": "views", "v": "views"}  # separate ones


def describe_axes(axes: Axes, shape: Sequence[int]) -> str:
    """Return what data with these axes are, in words that users know.

    Parameters
    ----------
    axes : Axes
        The axes, in the order of the array; those of length 1 are not mentioned.
    shape : sequence of int
        Lengths of the axes.

    Examples
    --------
    >>> from napari_scsc.data.axes import resolve
    >>> describe_axes(resolve((9, 2, 30, 64, 64), axes="tczyx"), (9, 2, 30, 64, 64))
    'time-lapse of stacks, 2 channels'
    """
    found = {
        role: [
            (letter_of(label), n)
            for label, r, n in zip(axes.labels, axes.roles, shape, strict=True)
            if r == role and n > 1
        ]
        for role in ("sample", "joint", "shift")
    }
    separate = found["sample"]
    what, counts = _describe_unit(axes, dict(found["joint"]), dict(found["shift"]))
    counts = [f"{n} {_COUNTED[letter]}" for letter, n in separate if letter in _COUNTED] + counts
    if "t" in dict(separate):
        what = "time-lapse" if what == "image" else f"time-lapse of {what}s"
    positions = [str(n) for letter, n in separate if letter not in ("t", *_COUNTED)]
    if positions:
        number = " x ".join(positions)
        article = "an" if what[0] in "aeiou" else "a"
        what = f"{number} images" if what == "image" else f"{number} positions of {article} {what}"
    if what == "image" and counts:
        return ", ".join(counts)
    return ", ".join([what, *counts])


def _describe_unit(
    axes: Axes, joint: dict[str, int], shift: dict[str, int]
) -> tuple[str, list[str]]:
    """What is restored at a time, as a noun, and what else there is to count in it."""
    what = "stack" if "z" in shift else "video" if "t" in shift else "image"
    if not {"y", "z", "t"} & set(shift):
        what = "line"
    if {"u", "v"} <= set(joint):
        what = "light field"
    joined = [
        f"{n} {_COUNTED.get(letter, 'values')}" for letter, n in joint.items() if letter != "c"
    ]
    counts = [] if what == "light field" else [f"{words} joined" for words in joined]
    n_bands = joint.get("c")
    if n_bands is None:
        return what, counts
    if n_bands in COLOUR_COUNTS and letter_of(axes.labels[-1]) == "c":
        return f"colour {what}", counts
    counts.append(f"{n_bands} bands")
    return ("multispectral" if what == "image" else what), counts


_TOGETHER: dict[Role, str] = {
    "sample": "each by itself",
    "joint": "joined",
    "shift": "together",
}


def explain_axes(axes: Axes) -> str:
    """Return what is restored together, and what is not.

    Examples
    --------
    >>> from napari_scsc.data.axes import resolve
    >>> explain_axes(resolve((9, 2, 30, 64, 64), axes="tczyx"))
    't, c each by itself; z, y, x together'
    >>> explain_axes(resolve((64, 64, 3), axes="yxc"))
    'c joined; y, x together'
    """
    parts = []
    for role, words in _TOGETHER.items():
        labels = [label for label, r in zip(axes.labels, axes.roles, strict=True) if r == role]
        if labels:
            parts.append(f"{', '.join(labels)} {words}")
    return "; ".join(parts)
