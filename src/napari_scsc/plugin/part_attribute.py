"""Attributes of a part as attributes of the whole."""

from __future__ import annotations

from typing import Any


class PartAttribute:
    """An attribute of a part as an attribute of the whole, such as ``dock.message``.

    Parameters
    ----------
    part : str
        The attribute of the whole that is the part.
    doc : str
        What it is.
    name : str, optional
        What the part calls it; the same name unless given.
    """

    def __init__(self, part: str, doc: str, name: str = "") -> None:
        self.part = part
        self.__doc__ = doc
        self._name = name

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, whole: Any, _owner: type | None = None) -> Any:
        return self if whole is None else getattr(getattr(whole, self.part), self._name)

    def __set__(self, whole: Any, value: Any) -> None:
        setattr(getattr(whole, self.part), self._name, value)
