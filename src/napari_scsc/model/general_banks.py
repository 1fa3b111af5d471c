"""Filters that come with the package: for a first look, until the user's data are learned from."""

from __future__ import annotations

from importlib import resources

from napari_scsc.checks import check_choice
from napari_scsc.model.bank import FilterBank

GENERAL_BANK_KINDS = ("image", "rgb", "video")
"""Kinds of data that there are general filters for."""

# By the lengths of the joint axes and the number of shift axes.
_KINDS_BY_SHAPE = {((), 2): "image", ((3,), 2): "rgb", ((), 3): "video"}


def general_bank(kind: str = "image") -> FilterBank:
    """Filters that suit any picture a little, learned from synthetic ones.

    Those that ``learn`` finds in your own data suit them better, and take a second.

    Parameters
    ----------
    kind : {"image", "rgb", "video"}
        "video" is for stacks too.

    Returns
    -------
    FilterBank
        Orthonormal filters.

    Examples
    --------
    >>> from napari_scsc import general_bank
    >>> general_bank("rgb").joint
    (3,)
    """
    check_choice("kind", kind, GENERAL_BANK_KINDS)
    with resources.as_file(resources.files(__package__) / "banks" / f"{kind}.scsc") as path:
        return FilterBank.load(path)


def general_bank_for(joint: tuple[int, ...], shift: tuple[int, ...]) -> FilterBank | None:
    """The general filters for data of that shape; None where there are none."""
    kind = _KINDS_BY_SHAPE.get((joint, len(shift)))
    bank = None if kind is None else general_bank(kind)
    fits = bank is not None and all(s <= n for s, n in zip(bank.support, shift, strict=True))
    return bank if fits else None
