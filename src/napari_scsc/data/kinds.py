"""A kind of data as the axes of an array that may have more of them than the kind."""

from __future__ import annotations

from collections.abc import Sequence

from napari_scsc.data.axes import PRESETS, Axes, Role, letter_of, says_nothing


def apply_kind(
    kind: str, n: int, *, labels: Sequence[str] | None = None, rgb: bool = False
) -> Axes | None:
    """Return a kind as the axes of an array that may have more of them; None if it has fewer.

    The axes of the kind are those that are labelled so, if all of them are, and else the last ones.
    The others are separate, but for the colours of an RGB image, which are joint and come last.

    Examples
    --------
    >>> from napari_scsc.data.kinds import apply_kind
    >>> found = apply_kind("stack", 5, labels=("t", "c", "z", "y", "x"))
    >>> found.roles
    ('sample', 'sample', 'shift', 'shift', 'shift')
    >>> apply_kind("image", 3).labels
    ('axis 0', 'y', 'x')
    """
    preset = PRESETS[kind]
    if len(preset.labels) == n:
        return preset
    has_colours_besides = rgb and "c" not in preset.labels
    n_placed = n - has_colours_besides
    if len(preset.labels) > n_placed:
        return None
    said = list(labels) if labels is not None and len(labels) == n else [""] * n
    letters = [letter_of(label) for label in said[:n_placed]]
    places = list(range(n_placed - len(preset.labels), n_placed))
    if all(letters.count(label) == 1 for label in preset.labels):
        places = [letters.index(label) for label in preset.labels]
    names = [f"axis {i}" for i in range(n)]
    roles: list[Role] = ["sample"] * n
    for i, label, role in zip(places, preset.labels, preset.roles, strict=True):
        names[i], roles[i] = label, role
    if has_colours_besides:
        names[-1], roles[-1] = "c", "joint"
    for i, label in enumerate(said):
        if roles[i] == "sample" and i not in places and not says_nothing(label):
            names[i] = label if label not in names else names[i]
    return Axes("custom", tuple(names), tuple(roles))
