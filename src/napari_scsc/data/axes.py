"""What the axes of an array are: the role of each, presets a kind of data, and guesses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from napari_scsc._types import Array
from napari_scsc.checks import check_choice
from napari_scsc.choices import KINDS
from napari_scsc.errors import Remedy, UserError, UserTypeError

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
        Filters slide along a shift axis and span a joint axis whole. Along a sample axis lie
        samples that are restored each by itself.

    Examples
    --------
    Colours are joint, and come last here; what works on samples wants them first.

    >>> import numpy as np
    >>> axes = Axes("rgb", ("y", "x", "c"), ("shift", "shift", "joint"))
    >>> axes.to_samples(np.zeros((64, 48, 3))).shape
    (3, 64, 48)
    """

    kind: str
    labels: tuple[str, ...]
    roles: tuple[Role, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.roles):
            raise UserError(
                f"are {len(self.labels)} for {len(self.roles)} roles", argument="labels"
            )
        n_shift = self.roles.count("shift")
        if not 1 <= n_shift <= 4:
            raise UserError(f"filters need 1 to 4 axes to slide along, but {n_shift} were given")

    def order(self) -> tuple[int, ...]:
        """Positions of the axes with sample axes first, then joint, then shift axes."""
        return tuple(
            i
            for role in ("sample", "joint", "shift")
            for i, r in enumerate(self.roles)
            if r == role
        )

    def to_samples(self, array: Array) -> Array:
        """View of the array as (*sample, *joint, *shift); ``from_samples`` undoes it."""
        return array.transpose(self.order())

    def from_samples(self, array: Array) -> Array:
        """View of what ``to_samples`` made, in the order that came in."""
        return array.transpose(tuple(np.argsort(self.order())))

    def count(self, role: Role) -> int:
        """How many axes have that role."""
        return self.roles.count(role)


class _Kind(NamedTuple):
    """One row of ``_KINDS``."""

    labels: str  # one letter an axis, in napari's order
    roles: str  # one letter an axis: s for shift, j for joint, n for sample
    words: tuple[str, ...] = ()  # in the name of a file or layer, these tell the kind


# Each kind of ``choices.KINDS``. Words are looked for from top to bottom: a "time-lapse movie" is
# a time-lapse, so that kinds with more particular words stand first.
_KINDS = {
    "image": _Kind("yx", "ss"),
    "rgb": _Kind("yxc", "ssj"),
    "light-field": _Kind(
        "uvyx", "jjss", ("light field", "lightfield", "light-field", "lytro", "lenslet")
    ),
    "multispectral": _Kind("cyx", "jss", ("multispectral", "hyperspectral", "spectral", "bands")),
    "time-lapse": _Kind("tyx", "nss", ("time lapse", "timelapse", "time-lapse")),
    "video": _Kind("tyx", "sss", ("video", "movie", "film")),
    "stack": _Kind("zyx", "sss", ("stack", "volume", "zstack", "z-stack", "confocal", "tomogram")),
}
_ROLES: dict[str, Role] = {"s": "shift", "j": "joint", "n": "sample"}

PRESETS = {
    kind: Axes(kind, tuple(_KINDS[kind].labels), tuple(_ROLES[r] for r in _KINDS[kind].roles))
    for kind in KINDS
}
"""Kinds of data, each with its axes in napari's order."""

# The letter of an axis, its role where no kind is given, and the labels that files and layers have
# for it.
_LABELS: tuple[tuple[str, Role, str], ...] = (
    ("y", "shift", "y row rows height"),
    ("x", "shift", "x column columns col width"),
    ("z", "shift", "z depth plane slice s"),
    ("t", "shift", "t time frame frames"),
    (
        "c",
        "joint",
        "c ch channel channels band bands wavelength lambda λ w spectral rgb color colour",
    ),
    ("u", "joint", "u view_u s_view"),
    ("v", "joint", "v view_v t_view"),
    ("n", "sample", "n p position scene sample i q m"),
)
_MEANINGS = {label: (letter, role) for letter, role, labels in _LABELS for label in labels.split()}

# How roles are written after the label of an axis, as in "c:joint".
ROLE_WORDS: dict[Role, str] = {"shift": "slide", "joint": "joint", "sample": "separate"}
_ROLES_BY_WORD = {word: role for role, word in ROLE_WORDS.items()}

_MIN_SLIDING_POINTS = 5  # of an axis that nobody has named, for filters to slide along it
COLOUR_COUNTS = (3, 4)


def check_kind_of(axes: Axes, kind: str | None) -> None:
    """Refuse a kind beside axes that say another."""
    if kind is not None and kind != axes.kind:
        raise UserError(
            f"is {kind!r}, but the axes that are given are those of {axes.kind!r}",
            argument="kind",
            remedy="leave one of them out",
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
    """Return what the axes of an array of that shape are, as said or as guessed.

    Parameters
    ----------
    shape : sequence of int
        Lengths of the axes.
    kind : str, optional
        One of ``PRESETS``. Without it the kind is guessed.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the array's own order, such as ``"yxc"``; the kind says their roles,
        and without a kind the labels do: see below. A label can have a role of its own, as in
        ``"t, c:joint, z, y, x"``: ``slide``, ``joint`` or ``separate``. ``"n"`` is separate, and
        may occur several times. ``Axes`` says both.
    labels, name, rgb
        What a guess may use: labels that may be meaningless, a name, and whether the last axis
        is known to hold colours.

    Raises
    ------
    UserError
        If kind, axes and shape do not fit together, or nothing tells the kind.

    Notes
    -----
    Labels that no kind has, positions not counted, have these roles: as soon as there is more than
    one axis besides y and x, each time point (t) and each channel (c) is separate; colours, which
    come last, are joint.

    Examples
    --------
    >>> resolve((64, 64, 3)).kind
    'rgb'
    >>> resolve((64, 64, 31), kind="multispectral", axes="yxc").roles
    ('shift', 'shift', 'joint')
    >>> resolve((9, 2, 30, 64, 64), axes="tczyx").roles
    ('sample', 'sample', 'shift', 'shift', 'shift')
    >>> resolve((2, 30, 64, 64), axes="c:joint, z, y, x").roles
    ('joint', 'shift', 'shift', 'shift')
    """
    n = len(shape)
    if isinstance(axes, Axes):
        if len(axes.labels) != n:
            raise UserError(
                f"has {len(axes.labels)} axes ({', '.join(axes.labels)}), but the array has "
                f"the shape {tuple(shape)}",
                argument="axes",
            )
        check_kind_of(axes, kind)
        return axes
    if axes is not None:
        return _from_labels(split_axes(axes), tuple(shape), kind, rgb)
    if kind is not None:
        preset = _preset(kind)
        if len(preset.labels) != n:
            raise UserError(
                f"{kind} data have {len(preset.labels)} axes ({', '.join(preset.labels)}), but the "
                f"array has the shape {tuple(shape)}",
                remedy=Remedy.NAME_AXES,
            )
        return preset
    kept = long_axes(shape)
    if labels is not None and len(labels) != n:
        labels = None
    if len(kept) < n:
        kept_labels = None if labels is None else [labels[i] for i in kept]
        found = resolve([shape[i] for i in kept], labels=kept_labels, name=name, rgb=rgb)
        return with_short_axes(found, shape, labels)
    if labels is not None and all(_meaning(label) for label in labels):
        return _from_labels(tuple(labels), tuple(shape), None, rgb)
    return _from_shape(tuple(shape), name, rgb)


def split_axes(axes: str | Sequence[str]) -> tuple[str, ...]:
    """One item an axis, as ``resolve`` takes them: letters, or words between commas or spaces."""
    if isinstance(axes, str) and re.search(r"[\s,:]", axes):
        return tuple(re.sub(r"\s*:\s*", ":", axes).replace(",", " ").split())
    labels: tuple[Any, ...] = tuple(axes) if hasattr(axes, "__iter__") else (axes,)
    if not all(isinstance(label, str) for label in labels):
        raise UserTypeError(
            f"must be labels of the axes, such as 'tyx', but is {axes!r:.80}", argument="axes"
        )
    return labels


def propose_axes(
    shape: Sequence[int], *, labels: Sequence[str] | None = None, name: str = "", rgb: bool = False
) -> Axes:
    """Return axes that work for an array of that shape, though nobody may have labelled it.

    They are what ``resolve`` finds. Where it finds nothing, the last two axes are y and x. The one
    before them slides if it is longer than four points, and those before are separate.

    Parameters
    ----------
    shape : sequence of int
        Lengths of the axes: two or more.
    labels, name, rgb
        See ``resolve``.

    Returns
    -------
    Axes
        Each with a label of its own: ``"axis 0"`` where there is none.

    Examples
    --------
    >>> propose_axes((50, 64, 64)).kind
    'stack'
    >>> proposed = propose_axes((9, 2, 64, 64))
    >>> proposed.labels, proposed.roles
    (('axis 0', 'axis 1', 'y', 'x'), ('sample', 'sample', 'shift', 'shift'))
    """
    try:
        return resolve(shape, labels=labels, name=name, rgb=rgb)
    except UserError:
        lengths = [shape[i] for i in long_axes(shape)]
        found = with_short_axes(_by_position(lengths, rgb), shape)
    names = list(found.labels)
    if labels is not None and len(labels) == len(names):
        for i, label in enumerate(labels):
            if not says_nothing(label) and label not in names:
                names[i] = label
    return replace(found, labels=tuple(names))


def _by_position(shape: Sequence[int], rgb: bool) -> Axes:
    """What axes without labels are likely to be, by their places."""
    n = len(shape) - rgb
    if n == 3 and not rgb and shape[0] >= _MIN_SLIDING_POINTS:
        return PRESETS["stack"]
    names = [*(f"axis {i}" for i in range(n - 2)), "y", "x"]
    roles: list[Role] = [*(_ROLES["n"] for _ in range(n - 2)), "shift", "shift"]
    if n > 2 and shape[n - 3] >= _MIN_SLIDING_POINTS:
        names[-3], roles[-3] = "z", "shift"
    if rgb:
        names, roles = [*names, "c"], [*roles, "joint"]
    return Axes("custom", tuple(names), tuple(roles))


def long_axes(shape: Sequence[int]) -> list[int]:
    """Positions of the axes that are longer than 1; of all, if none is.

    Files of microscopes have all five axes, of which only some mean something.
    """
    return [i for i, n in enumerate(shape) if n > 1] or list(range(len(shape)))


def with_short_axes(found: Axes, shape: Sequence[int], labels: Sequence[str] | None = None) -> Axes:
    """Axes of the whole array, from those of its ``long_axes``: the others become sample axes.

    ``labels`` are names for all of them; a sample axis keeps its name.
    """
    names: list[str] = []
    roles: list[Role] = []
    taken = {label for label in found.labels if letter_of(label)}
    kept = dict(zip(long_axes(shape), zip(found.labels, found.roles, strict=True), strict=True))
    for i, said in enumerate(labels or [""] * len(shape)):
        label, role = kept.get(i, ("", "sample"))
        # Each position by itself: that does not change what the axis is.
        if letter_of(label) in ("n", "") and not says_nothing(said) and said not in taken:
            names.append(said)
        else:
            names.append(label if letter_of(label) else f"axis {i}")
        roles.append(role)
        taken.add(names[-1])
    return Axes(found.kind, tuple(names), tuple(roles))


def _preset(kind: str) -> Axes:
    return PRESETS[check_choice("kind", kind, KINDS)]


def says_nothing(label: str) -> bool:
    """Whether a label is none, or a number that stands for one."""
    # Numbers are napari's where there is no label, and those with a word before them our own.
    return re.fullmatch(r"((axis )?-?\d+)?", label) is not None


def _meaning(label: str) -> tuple[str, Role] | None:
    if says_nothing(label):
        return None
    label = label.strip().lower()
    return _MEANINGS.get("n" if re.fullmatch(r"n\d+", label) else label)


def letter_of(label: str) -> str:
    """The letter that an axis of that label is known by; empty where the label says nothing."""
    meaning = _meaning(label)
    return meaning[0] if meaning else ""


def _from_labels(
    items: tuple[str, ...], shape: tuple[int, ...], kind: str | None, rgb: bool
) -> Axes:
    """Axes with these labels, of that kind or of the one that the labels tell."""
    listed = ", ".join(items)
    if len(items) != len(shape):
        raise UserError(
            f"names {len(items)} axes ({listed}), the array has {len(shape)}", argument="axes"
        )
    said = [_label_and_role(item, listed) for item in items]
    letters = tuple(letter_of(label) for label, _ in said)
    labels = _with_positions_told_apart(letters)
    if len(set(labels)) < len(labels):
        raise UserError(f"names the same axis twice: {listed}", argument="axes")
    if kind is not None:
        return _of_kind(_preset(kind), labels, listed, any(role for _, role in said))
    preset = _preset_with(tuple(letter for letter in letters if letter != "n"), rgb)
    if preset is not None and "n" not in letters:
        found = _reordered(preset, labels)
    else:
        found = Axes("custom", labels, _usual_roles(letters, shape, preset, rgb))
    if not any(role for _, role in said):
        return found
    roles = tuple(role or usual for (_, role), usual in zip(said, found.roles, strict=True))
    return Axes(_kind_with(labels, roles), labels, roles)


def _label_and_role(item: str, listed: str) -> tuple[str, Role | None]:
    """The label of an item of ``axes``, and the role that stands after it, if there is one."""
    label, colon, word = item.partition(":")
    if not letter_of(label):
        known = ", ".join(sorted({letter for letter, _ in _MEANINGS.values()}))
        raise UserError(
            f"cannot be {listed}: {label!r} is not known; known are {known}", argument="axes"
        )
    if not colon:
        return label, None
    if word.lower() not in _ROLES_BY_WORD:
        raise UserError(
            f"cannot be {listed}: {word!r} is no role of an axis; roles are "
            f"{', '.join(_ROLES_BY_WORD)}",
            argument="axes",
        )
    return label, _ROLES_BY_WORD[word.lower()]


def _with_positions_told_apart(letters: tuple[str, ...]) -> tuple[str, ...]:
    """The letters with n, n2, n3 for several axes of positions."""
    labels = list(letters)
    for number, i in enumerate([i for i, letter in enumerate(letters) if letter == "n"][1:], 2):
        labels[i] = f"n{number}"
    return tuple(labels)


def _of_kind(preset: Axes, labels: tuple[str, ...], listed: str, says_roles: bool) -> Axes:
    if says_roles:
        raise UserError(
            f"says roles ({listed}), and so does kind", argument="axes", remedy="give one"
        )
    if sorted(preset.labels) != sorted(labels):
        raise UserError(
            f"names {listed}, but {preset.kind} data have the axes {', '.join(preset.labels)}",
            argument="axes",
        )
    return _reordered(preset, labels)


def _usual_roles(
    letters: tuple[str, ...], shape: tuple[int, ...], preset: Axes | None, rgb: bool
) -> tuple[Role, ...]:
    """The roles of axes that are no kind, or positions of a kind.

    As soon as there is more than one axis besides y and x, each time point and each channel is
    separate; colours, which come last, are joint.
    """
    role = {letter: usual for letter, usual, _ in _LABELS}
    if preset is not None:
        role |= dict(zip(preset.labels, preset.roles, strict=True))
    elif len(set(letters) - {"y", "x", "n"}) > 1:
        has_colours = letters[-1] == "c" and (rgb or shape[-1] in COLOUR_COUNTS)
        role |= {"t": "sample", "c": "joint" if has_colours else "sample"}
    return tuple(role[letter] for letter in letters)


def _kind_with(labels: tuple[str, ...], roles: tuple[Role, ...]) -> str:
    """The kind that has these axes with these roles, in any order."""
    said = sorted(zip(labels, roles, strict=True))
    for kind, preset in PRESETS.items():
        if sorted(zip(preset.labels, preset.roles, strict=True)) == said:
            # Colours and bands differ in their place alone.
            if kind in ("rgb", "multispectral") and (kind == "rgb") != (labels[-1] == "c"):
                continue
            return kind
    return "custom"


def _preset_with(letters: tuple[str, ...], rgb: bool) -> Axes | None:
    """The kind that has exactly these axes; frames are a video unless somebody says otherwise."""
    for preset in PRESETS.values():
        if sorted(preset.labels) == sorted(letters) and preset.kind != "time-lapse":
            is_colours = preset.kind == "rgb" or rgb
            if "c" in letters and is_colours != (letters[-1] == "c"):
                continue
            return preset
    return None


def _reordered(preset: Axes, letters: tuple[str, ...]) -> Axes:
    role = dict(zip(preset.labels, preset.roles, strict=True))
    return Axes(preset.kind, letters, tuple(role[letter] for letter in letters))


def _from_shape(shape: tuple[int, ...], name: str, rgb: bool) -> Axes:
    """A guess from the lengths of the axes and the words of a name; raises where it is open."""
    n = len(shape)
    if n == 1:
        return Axes("custom", ("x",), ("shift",))
    if n == 2:
        return PRESETS["image"]
    if n == 3 and rgb:
        return PRESETS["rgb"]
    spoken = name.lower().replace("_", " ")
    for kind, row in _KINDS.items():
        if len(row.labels) == n and any(word in spoken for word in row.words):
            return PRESETS[kind]
    if n == 3 and shape[2] in COLOUR_COUNTS and min(shape[:2]) > 8:
        return PRESETS["rgb"]
    if n == 4 and shape[0] == shape[1] and 2 <= shape[0] <= 17 and min(shape[2:]) > 2 * shape[0]:
        return PRESETS["light-field"]
    kinds = [k for k, p in PRESETS.items() if len(p.labels) == n and k != "rgb"]
    if kinds:
        raise UserError(
            f"an array of the shape {shape} can be {_either(kinds)}",
            remedy=Remedy.SAY_KIND_OR_AXES,
        )
    raise UserError(f"an array of the shape {shape} has no usual kind", remedy=Remedy.NAME_AXES)


def _either(words: Sequence[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
